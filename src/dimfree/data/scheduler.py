"""Tasks sent to the active Dask scheduler, results in order, with a limit on waiting and one sentence for a loss.

A task lost with its worker is computed again; tasks draw no random numbers. Messages of a scheduler may quote records:
only the kind of an error is reported.
"""

import asyncio
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pkgutil import resolve_name
from typing import Any, TypeAlias

from dimfree._validate import install_command
from dimfree.data.boundary import boundary
from dimfree.errors import DimfreeError, InvalidParameter, InvalidRecords, LostWorkers
from dimfree.progress import heard

PATIENCE = 30.0  # seconds without any worker, or for a scheduler to answer
ANSWER = 10.0  # seconds for a scheduler to list its workers
_TICK = 0.1  # seconds between two reports of progress
_LOOK = 1.0  # seconds between two checks of the workers

Task: TypeAlias = Any  # dask's Delayed; dask ships no types
Client: TypeAlias = Any  # distributed's

_LOST = (
    "The work was lost with the workers ({kind}): too many of them died, or the scheduler or their memory gave way. "
    "Nothing was released."
)
_NOTHING = "Nothing was released."
_VERSION = "dimfree:__version__"
_checked: "weakref.WeakKeyDictionary[Client, set[str]]" = weakref.WeakKeyDictionary()  # workers with our version


def computed(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    if not tasks:
        return []
    client = client_in_force()
    check_workers(client)  # some may have come since the table was opened
    with boundary(_hidden):  # a warning of the size of what is sent tells how many rows there are
        return _in_process(tasks, sizes) if client is None else _on_cluster(client, tasks, sizes)


def client_in_force() -> Client | None:
    """The distributed Client to which dask would hand its work; None for a scheduler in this process."""
    from dask.base import get_scheduler

    try:
        owner = getattr(get_scheduler(), "__self__", None)
    except RuntimeError:
        raise LostWorkers(f"Dask is set to work on a cluster, but has no Client: connect one. {_NOTHING}") from None
    return owner if hasattr(owner, "scheduler_info") else None


@contextmanager
def connected(address: str) -> Iterator[int]:
    """All work in here goes to the scheduler at this address; gives the number of its workers' threads."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InvalidParameter(f"scheduler needs distributed: install it with {install_command('dask')}.") from None
    need = "expected the address of a running dask scheduler, such as tcp://host:8786"
    nobody = f"No scheduler answers at {address!r}: {need}. {_NOTHING}"
    with boundary(lambda _: LostWorkers(nobody)):
        # not as dask's default: it would stay that if connecting fails or closing takes long
        client = Client(address, timeout=PATIENCE / 3, name="dimfree", set_as_default=False)
    try:
        with dask.config.set(scheduler=client):
            until = time.monotonic() + PATIENCE
            while not (workers := threads_of(client)):
                if time.monotonic() > until:
                    raise _no_workers()
                time.sleep(_TICK)
            check_workers(client)
            yield sum(workers.values())
    finally:
        with suppress(Exception):
            client.close(timeout=ANSWER)


def threads_of(client: Client) -> dict[str, int]:
    """Threads by the address of a worker; none if the scheduler does not answer."""
    try:
        return dict(client.sync(client.scheduler.ncores, callback_timeout=ANSWER))
    except Exception:  # noqa: BLE001 - a scheduler that is gone fails in many ways
        return {}


def check_workers(client: Client | None) -> None:
    """Require of every worker the dimfree of this process; each is asked once, by a function that needs none."""
    if client is None:
        return
    same, own = _checked.setdefault(client, set()), resolve_name(_VERSION)
    found: dict[str, Any] = {}
    if others := sorted(set(threads_of(client)) - same):
        with suppress(Exception):  # a scheduler that is gone is noticed by whoever hands it work
            found = dict(client.run(resolve_name, _VERSION, workers=others, on_error="return"))
    for address, version in found.items():
        if isinstance(version, OSError):
            continue  # gone meanwhile
        if version != own:
            other = f"dimfree {version}" if isinstance(version, str) else "no dimfree"
            if isinstance(version, Exception) and not isinstance(version, ModuleNotFoundError):
                other = f"a dimfree that does not load ({type(version).__name__})"
            raise LostWorkers(
                f"The worker at {address} has {other}, and this process has dimfree {own}: install dimfree {own} on "
                f"every worker. {_NOTHING}"
            )
        same.add(address)


def _no_workers() -> LostWorkers:
    since = f"The scheduler has had no workers for {PATIENCE:g} seconds, or is gone"
    return LostWorkers(f"{since}: start some and try again. {_NOTHING}")


def _in_process(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    import dask
    from dask.callbacks import Callback

    of_key, done, total = {task.key: size for task, size in zip(tasks, sizes, strict=True)}, 0, sum(sizes)

    def finished(key: Any, *_: Any) -> None:
        nonlocal done
        if key in of_key:
            done += of_key[key]
            heard(done, total)

    with Callback(posttask=finished):
        return list(dask.compute(*tasks, traverse=False))


def _hidden(error: BaseException) -> DimfreeError:
    """Our tasks raise nothing: workers that died, or the caller's own graph, which may quote records."""
    kind = type(error).__name__
    if isinstance(error, BrokenProcessPool):
        return LostWorkers(_LOST.format(kind=kind))
    return InvalidRecords(
        f"The table's own dask graph failed with {kind}; details are hidden because they may quote records. Compute "
        f"the table alone to see them, mend it and try again. {_NOTHING}"
    )


def _on_cluster(client: Client, tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    from distributed.scheduler import KilledWorker

    futures: list[Any] = []
    try:
        futures = client.compute(list(tasks), traverse=False)
        return _gathered(client, futures, sizes)
    except BaseException as error:
        # raised by a task on a worker that lives: our tasks raise nothing, so it is one of the caller's own graph
        raised = not isinstance(error, KilledWorker) and any(future.status == "error" for future in futures)
        with suppress(Exception, asyncio.CancelledError):
            client.cancel(futures)
        if raised or isinstance(error, LostWorkers | KeyboardInterrupt | SystemExit):
            raise
        raise LostWorkers(_LOST.format(kind=type(error).__name__)) from None


def _gathered(client: Client, futures: list[Any], sizes: Sequence[int]) -> list[Any]:
    """The results, as soon as all are there; a cluster without workers is waited for until patience ends."""
    done: list[int] = []  # appended to by the client's threads
    for future, size in zip(futures, sizes, strict=True):
        future.add_done_callback(lambda _, size=size: done.append(size))

    async def gather() -> list[Any]:
        return list(await client.gather(futures, asynchronous=True))

    results = asyncio.run_coroutine_threadsafe(gather(), client.loop.asyncio_loop)
    seen = looked = time.monotonic()  # workers were seen, and looked for
    told, total = 0, sum(sizes)
    try:
        while not results.done():
            with suppress(TimeoutError):
                results.exception(timeout=_TICK)
            if (now := time.monotonic()) >= looked + _LOOK:
                if threads_of(client):
                    seen = now
                elif now - seen > PATIENCE:
                    raise _no_workers()
                looked = time.monotonic()
            if told < (told := sum(done)):
                heard(told, total)
    finally:
        results.cancel()
    heard(total, total)
    return results.result()
