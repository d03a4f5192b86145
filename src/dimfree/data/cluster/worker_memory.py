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
    """Freed memory is kept inside this block; False where that is not possible."""
    if TRIMMED not in os.environ:
        yield True
        return
    asked = _set(_KEPT, _KEPT)
    try:
        yield asked
    finally:
        if asked:
            _set(_as_number(os.environ.get(TRIMMED, "")), _USUAL)


def _set(trim: int, mmap: int) -> bool:
    mallopt = _mallopt()
    return mallopt is not None and bool(mallopt(_TRIM, trim)) and bool(mallopt(_MMAP, mmap))


@cache
def _mallopt() -> Any:
    """glibc's function, or None in a process without one."""
    try:
        library = ctypes.CDLL(None)
        return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
    except (OSError, TypeError, AttributeError):
        return None


def _as_number(text: str) -> int:
    return min(int(text), _KEPT) if text.isascii() and text.isdigit() else _USUAL
