"""A function applied to many blocks on all cores, results in the order of the blocks. It changes the speed only.

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

_MOST = 8  # with more threads the memory is the bottleneck
_MOST_ASKED = 256  # every thread holds blocks
_KEPT_BYTES = 2**24  # more than what is allocated and freed again for a block of rows

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use, at most eight; the environment variable DIMFREE_THREADS says otherwise."""
    asked = os.environ.get("DIMFREE_THREADS", "")
    if re.fullmatch(r"0*[1-9][0-9]{0,8}", asked, re.ASCII):
        return min(int(asked), _MOST_ASKED)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST)


@cache
def _keep_freed_memory() -> None:
    """The C library hands memory back to the system after every block, which costs more than the arithmetic, until it
    has once seen a block as large as this freed. None of it is ever touched."""
    np.empty(_KEPT_BYTES, dtype=np.uint8)


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """function(item) for every item, in their order; at most a few items are held at a time."""
    _keep_freed_memory()
    coming = iter(items)
    first = list(islice(coming, 2))
    several, coming = len(first) > 1, chain(iter(first), coming)
    del first  # the iterator lets go of its list when it ends: no block is held to the end
    if threads < 2 or not several:
        yield from map(function, coming)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in coming:
            # NumPy's error state is a context variable: without a copy a thread would warn, and speak of records.
            waiting.append(pool.submit(copy_context().run, function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # also where nobody wants the rest: an error, an interrupt, a reader that has seen enough
        pool.shutdown(cancel_futures=True)
