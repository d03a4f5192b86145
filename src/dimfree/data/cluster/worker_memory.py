"""The memory of a worker during a task: freed arrays stay with the process until the task is done.

Dask's nanny sets MALLOC_TRIM_THRESHOLD_ so that idle workers look small. Every array of a pass would then be returned
to the system and allocated again, which doubles the time. This changes the speed only; on systems other than Linux
with glibc nothing is done.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

TRIMMED = "MALLOC_TRIM_THRESHOLD_"
_TRIM, _MMAP = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
_KEPT = 2**25  # bytes; glibc takes no more for the second
_USUAL = 2**17  # glibc's own threshold for either


@contextmanager
def freed_memory_kept() -> Iterator[bool]:
    """Freed memory is kept inside this block; False if that is not possible."""
    limit, mallopt = os.environ.get(TRIMMED), _mallopt()
    if limit is None or mallopt is None:
        yield limit is None
        return
    kept = bool(mallopt(_TRIM, _KEPT)) and bool(mallopt(_MMAP, _KEPT))
    try:
        yield kept
    finally:
        mallopt(_TRIM, min(int(limit), _KEPT) if limit.isascii() and limit.isdigit() else _USUAL)
        mallopt(_MMAP, _USUAL)


@cache
def _mallopt() -> Any:
    """glibc's function, or None in a process without one."""
    try:
        library = ctypes.CDLL(None)
        return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
    except (OSError, TypeError, AttributeError):
        return None
