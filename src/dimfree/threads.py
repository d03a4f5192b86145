"""Apply a function to many blocks on all cores, with results in the order of the blocks. Only the speed changes.

NumPy releases the interpreter lock inside its loops, so threads are enough; no block is copied to another process.
"""

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import chain, islice
from typing import TypeVar

import numpy as np

_MAX_THREADS = 8  # with more threads the memory is the bottleneck
_MAX_REQUESTED = 256  # every thread holds blocks
_RESERVED_BYTES = 2**24  # more than what is allocated and freed again for a block of rows

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of cores to use, up to eight; the environment variable DIMFREE_THREADS overrides it."""
    requested = os.environ.get("DIMFREE_THREADS", "")
    if re.fullmatch(r"0*[1-9][0-9]{0,8}", requested, re.ASCII):
        return min(int(requested), _MAX_REQUESTED)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MAX_THREADS)


@cache
def _keep_freed_memory() -> None:
    """Free one large block, after which the C library keeps freed memory instead of returning it to the system.

    Returning it after every block costs more than the arithmetic. The large block is never touched.
    """
    np.empty(_RESERVED_BYTES, dtype=np.uint8)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield function(item) for every item, in their order; only a few items are held at a time."""
    _keep_freed_memory()
    coming = iter(items)
    first = list(islice(coming, 2))
    several, coming = len(first) > 1, chain(iter(first), coming)
    del first  # an iterator releases its list at its end: no block is held to the end
    if threads < 2 or not several:
        yield from map(function, coming)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in coming:
            # NumPy's error state is a context variable: without a copy a thread would warn, and reveal records.
            waiting.append(pool.submit(copy_context().run, function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # also after an error, an interrupt, or if the caller stops early
        pool.shutdown(cancel_futures=True)
