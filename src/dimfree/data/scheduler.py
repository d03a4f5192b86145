"""Send tasks to the active Dask scheduler and return results in order, with a time limit and one error for losses.

A task lost with its worker is computed again; tasks draw no random numbers. Messages of a scheduler may quote records,
so only the class of an error is reported.
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
from dimfree.errors import ClusterError, DimfreeError, InvalidDataError, InvalidParameterError
from dimfree.progress import report_progress

PATIENCE = 30.0  # seconds without any worker, or for a scheduler to answer
ANSWER = 10.0  # seconds for a scheduler to list its workers
_TICK = 0.1  # seconds between progress reports
_CHECK = 1.0  # seconds between checks of the workers

Task: TypeAlias = Any  # dask's Delayed; dask ships no types
Client: TypeAlias = Any  # distributed's

_LOST = (
    "The cluster lost the work ({kind}): too many workers died, or the scheduler or its memory failed. Start workers "
    "with more memory and try again. Nothing was released."
)
_NOTHING = "Nothing was released."
_VERSION = "dimfree:__version__"
_checked: "weakref.WeakKeyDictionary[Client, set[str]]" = weakref.WeakKeyDictionary()  # workers with our version


def compute_tasks(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    if not tasks:
        return []
    client = find_client()
    check_workers(client)  # some may have joined since the table was opened
    with boundary(_reword_task_error):  # a warning about the size of a task reveals the number of rows
        return _in_process(tasks, sizes) if client is None else _on_cluster(client, tasks, sizes)


def find_client() -> Client | None:
    """Return the distributed Client that dask uses; None for a scheduler in this process."""
    from dask.base import get_scheduler

    try:
        owner = getattr(get_scheduler(), "__self__", None)
    except RuntimeError:
        raise ClusterError(f"Dask is configured for a cluster without a Client: connect one. {_NOTHING}") from None
    return owner if hasattr(owner, "scheduler_info") else None


@contextmanager
def connect_scheduler(address: str) -> Iterator[int]:
    """Send all work in this context to the scheduler at an address; yield the number of its workers' threads."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise InvalidParameterError(
            f"`scheduler` needs distributed: install it with {install_command('dask')}."
        ) from None
    need = "pass the address of a running dask scheduler, such as tcp://host:8786"
    silent = f"No scheduler answers at {address!r}: {need}. {_NOTHING}"
    with boundary(lambda _: ClusterError(silent)):
        # not as dask's default, which would remain if connecting fails or closing takes long
        client = Client(address, timeout=PATIENCE / 3, name="dimfree", set_as_default=False)
    try:
        with dask.config.set(scheduler=client):
            until = time.monotonic() + PATIENCE
            while not (workers := count_threads(client)):
                if time.monotonic() > until:
                    raise _no_workers()
                time.sleep(_TICK)
            check_workers(client)
            yield sum(workers.values())
    finally:
        with suppress(Exception):
            client.close(timeout=ANSWER)


def count_threads(client: Client) -> dict[str, int]:
    """Return the number of threads by worker address; empty if the scheduler does not answer."""
    try:
        return dict(client.sync(client.scheduler.ncores, callback_timeout=ANSWER))
    except Exception:  # noqa: BLE001 - a scheduler that is gone fails in many ways
        return {}


def check_workers(client: Client | None) -> None:
    """Require the dimfree version of this process on every worker; each is checked once, without using dimfree."""
    if client is None:
        return
    same, own = _checked.setdefault(client, set()), resolve_name(_VERSION)
    found: dict[str, Any] = {}
    if others := sorted(set(count_threads(client)) - same):
        with suppress(Exception):  # a scheduler that is gone fails when it receives work
            found = dict(client.run(resolve_name, _VERSION, workers=others, on_error="return"))
    for address, version in found.items():
        if isinstance(version, OSError):
            continue  # gone meanwhile
        if version != own:
            other = f"dimfree {version}" if isinstance(version, str) else "no dimfree"
            if isinstance(version, Exception) and not isinstance(version, ModuleNotFoundError):
                other = f"a dimfree that does not load ({type(version).__name__})"
            raise ClusterError(
                f"The worker at {address} has {other}, but this process has dimfree {own}: install dimfree {own} on "
                f"every worker. {_NOTHING}"
            )
        same.add(address)


def _no_workers() -> ClusterError:
    since = f"The scheduler has had no workers for {PATIENCE:g} seconds, or is gone"
    return ClusterError(f"{since}: start workers and try again. {_NOTHING}")


def _in_process(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    import dask
    from dask.callbacks import Callback

    of_key, done, total = {task.key: size for task, size in zip(tasks, sizes, strict=True)}, 0, sum(sizes)

    def finish(key: Any, *_: Any) -> None:
        nonlocal done
        if key in of_key:
            done += of_key[key]
            report_progress(done, total)

    with Callback(posttask=finish):
        return list(dask.compute(*tasks, traverse=False))


def _reword_task_error(error: BaseException) -> DimfreeError:
    """Reword an error of dead workers or of the caller's own graph, which may quote records; our tasks raise none."""
    kind = type(error).__name__
    if isinstance(error, BrokenProcessPool):
        return ClusterError(_LOST.format(kind=kind))
    return InvalidDataError(
        f"The dask graph of the table failed with {kind}; details are hidden because they may quote records. Compute "
        f"the table separately to see them, fix it and try again. {_NOTHING}"
    )


def _on_cluster(client: Client, tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    from distributed.scheduler import KilledWorker

    futures: list[Any] = []
    try:
        futures = client.compute(list(tasks), traverse=False)
        return _gather(client, futures, sizes)
    except BaseException as error:
        # raised by a task on a living worker: our tasks raise nothing, so it comes from the caller's own graph
        raised = not isinstance(error, KilledWorker) and any(future.status == "error" for future in futures)
        with suppress(Exception, asyncio.CancelledError):
            client.cancel(futures)
        if raised or isinstance(error, ClusterError | KeyboardInterrupt | SystemExit):
            raise
        raise ClusterError(_LOST.format(kind=type(error).__name__)) from None


def _gather(client: Client, futures: list[Any], sizes: Sequence[int]) -> list[Any]:
    """Return all results; wait for a cluster without workers up to PATIENCE."""
    done: list[int] = []  # the client's threads append to it
    for future, size in zip(futures, sizes, strict=True):
        future.add_done_callback(lambda _, size=size: done.append(size))

    async def gather() -> list[Any]:
        return list(await client.gather(futures, asynchronous=True))

    results = asyncio.run_coroutine_threadsafe(gather(), client.loop.asyncio_loop)
    seen = checked = time.monotonic()  # last time that workers existed, and were checked
    reported, total = 0, sum(sizes)
    try:
        while not results.done():
            with suppress(TimeoutError):
                results.exception(timeout=_TICK)
            if (now := time.monotonic()) >= checked + _CHECK:
                if count_threads(client):
                    seen = now
                elif now - seen > PATIENCE:
                    raise _no_workers()
                checked = time.monotonic()
            if reported < (reported := sum(done)):
                report_progress(reported, total)
    finally:
        results.cancel()
    report_progress(total, total)
    return results.result()
