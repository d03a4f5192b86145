"""Tasks sent to the active Dask scheduler, results in order, with a limit on waiting and one sentence for a loss.

The scheduler is threads, processes, or a cluster when a distributed Client is active. A task lost with its worker is
computed again by another; tasks draw no random numbers, so the result is the same. Messages of the scheduler or of a
worker may quote records: only the kind of the error is reported.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from dimfree._validate import install_command
from dimfree.data.boundary import boundary
from dimfree.data.cluster.partitions import Failure
from dimfree.data.cluster.workers import ANSWER, Client, check_workers, threads_of
from dimfree.errors import DimfreeError, InvalidParameter, InvalidRecords, LostWorkers
from dimfree.progress import heard

PATIENCE = 30.0  # seconds without any worker, or for a scheduler to answer
_TICK = 0.1  # seconds between two reports of progress
_LOOK = 1.0  # seconds between two checks of the workers

Task: TypeAlias = Any  # dask's Delayed; dask ships no types

_LOST = (
    "The work was lost with the workers ({kind}): too many of them died, or the scheduler or their memory gave way. "
    "Nothing was released."
)
_GRAPH = (
    "The table's own dask graph failed with {kind}; details are hidden because they may quote records. Compute the "
    "table alone to see them, mend it and try again. Nothing was released."
)
_NOBODY = "The scheduler has had no workers for {seconds:g} seconds, or is gone: start some and try again. {nothing}"
_NOTHING = "Nothing was released."


def computed(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    """The results in the order of the tasks, which are so many rows each; the first failure is raised."""
    if not tasks:
        return []
    client = client_in_force()
    check_workers(client)  # some may have come since the table was opened
    results = _here(tasks, sizes) if client is None else _on_cluster(client, tasks, sizes)
    for result in results:
        if isinstance(result, Failure):
            raise result.error()
    return results


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
    nobody = (
        f"No scheduler answers at {address!r}: expected the address of a running dask scheduler, such as "
        f"tcp://host:8786. {_NOTHING}"
    )
    with boundary(lambda _: LostWorkers(nobody)):
        # not as dask's default: it would stay that if connecting fails or closing takes long
        client = Client(address, timeout=PATIENCE / 3, name="dimfree", set_as_default=False)
    try:
        with dask.config.set(scheduler=client):
            yield _threads(client)
    finally:
        with suppress(Exception):
            client.close(timeout=ANSWER)


def _threads(client: Client) -> int:
    until = time.monotonic() + PATIENCE
    while not (workers := threads_of(client)):
        if time.monotonic() > until:
            raise LostWorkers(_NOBODY.format(seconds=PATIENCE, nothing=_NOTHING))
        time.sleep(_TICK)
    check_workers(client)
    return sum(workers.values())


def _here(tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    import dask
    from dask.callbacks import Callback

    of_key, done, total = {task.key: size for task, size in zip(tasks, sizes, strict=True)}, 0, sum(sizes)

    def finished(key: Any, *_: Any) -> None:
        nonlocal done
        if key in of_key:
            done += of_key[key]
            heard(done, total)

    with boundary(_hidden), Callback(posttask=finished):
        return list(dask.compute(*tasks, traverse=False))


def _hidden(error: BaseException) -> DimfreeError:
    """Our tasks raise nothing: workers that died, or the caller's own graph, which may quote records."""
    kind = type(error).__name__
    return LostWorkers(_LOST.format(kind=kind)) if isinstance(error, BrokenProcessPool) else _of_graph(kind)


def _of_graph(kind: str) -> InvalidRecords:
    return InvalidRecords(_GRAPH.format(kind=kind))


def _on_cluster(client: Client, tasks: Sequence[Task], sizes: Sequence[int]) -> list[Any]:
    futures: list[Any] = []
    with boundary(_hidden):  # a warning of the size of what is sent tells how many rows there are
        try:
            futures = client.compute(list(tasks), traverse=False)
            return _gathered(client, futures, sizes)
        except BaseException as error:
            raised = _raised(futures, error)
            with suppress(Exception, asyncio.CancelledError):
                client.cancel(futures)
            if isinstance(error, LostWorkers | KeyboardInterrupt | SystemExit):
                raise
            if not raised:
                raise LostWorkers(_LOST.format(kind=type(error).__name__)) from None
            if isinstance(error, MemoryError):
                raise
            raise _of_graph(type(error).__name__) from None


def _raised(futures: Sequence[Any], error: BaseException) -> bool:
    """A task raised this on a worker that lives. Our tasks raise nothing, so it is one of the caller's own graph."""
    from distributed.scheduler import KilledWorker

    return not isinstance(error, KilledWorker) and any(future.status == "error" for future in futures)


def _gathered(client: Client, futures: list[Any], sizes: Sequence[int]) -> list[Any]:
    """The results, as soon as all are there; a cluster without workers is waited for until patience ends."""
    done: list[int] = []  # appended to by the client's threads
    for future, size in zip(futures, sizes, strict=True):
        future.add_done_callback(lambda _, size=size: done.append(size))
    results = asyncio.run_coroutine_threadsafe(_all(client, futures), client.loop.asyncio_loop)
    watch, told, total = _Watch(client), 0, sum(sizes)
    try:
        while not _ready(results):
            watch.look()
            if told < (told := sum(done)):
                heard(told, total)
    finally:
        results.cancel()
    heard(total, total)
    return results.result()


async def _all(client: Client, futures: list[Any]) -> list[Any]:
    return list(await client.gather(futures, asynchronous=True))


def _ready(results: Any) -> bool:
    with suppress(TimeoutError):
        results.exception(timeout=_TICK)
    return bool(results.done())


class _Watch:
    """Loses patience with a cluster that has no workers."""

    def __init__(self, client: Client) -> None:
        self._client, self._seen = client, time.monotonic()
        self._next = self._seen + _LOOK

    def look(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        if threads_of(self._client):
            self._seen = time.monotonic()
        elif now - self._seen > PATIENCE:
            raise LostWorkers(_NOBODY.format(seconds=PATIENCE, nothing=_NOTHING))
        self._next = time.monotonic() + _LOOK
