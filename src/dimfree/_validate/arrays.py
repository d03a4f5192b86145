"""Checks of arrays: rank, finite entries, lengths. The entries may be private: no error quotes one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidParameter, raise_alone


def as_array(name: str, value: object) -> NDArray[Any]:
    """As a NumPy array. NumPy's own error may quote entries, so it is replaced."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001 - see above
        raise_alone(InvalidParameter(f"Expected {name} to be one array of numbers, not lists of different lengths."))


def as_floats(name: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """The same in float64; larger numbers become infinite."""
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(all="ignore"):  # a warning or exception could reveal entries
            return np.asarray(array, dtype=np.float64)
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameter(f"Expected {name} to hold real numbers alone: pass .astype(float)."))


def check_array(name: str, value: object, *, rank: int) -> NDArray[np.float64]:
    """A read-only float64 copy of an array of finite real numbers with this rank and no empty axis."""
    raw = as_array(name, value)
    if any(map(np.ma.is_masked, [value, *(value if isinstance(value, list | tuple) else ())])):
        raise InvalidParameter(f"Expected {name} without masked entries: fill them with what is publicly known.")
    if raw.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to hold real numbers alone: pass .astype(float).")
    if raw.ndim != rank or raw.size == 0:
        raise InvalidParameter(f"Expected {name} to be a non-empty array of rank {rank}, got rank {raw.ndim}.")
    with np.errstate(all="ignore"):  # an extended-precision number past float64 becomes inf and is refused below
        array = np.array(raw, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        raise InvalidParameter(f"Expected {name} to be finite; it holds NaN or infinite entries: replace them.")
    array.setflags(write=False)
    return array


def check_rank(name: str, rank: int, allowed: Sequence[int]) -> None:
    """An array of a rank a shape can act on."""
    if rank not in allowed:
        raise InvalidParameter(f"Expected {name} of rank {' or '.join(map(str, allowed))}, got rank {rank}.")


def check_lengths(name: str, length: int, partner: str, wanted: int) -> None:
    """Two parameters that go entry by entry have the same length."""
    if length != wanted:
        raise InvalidParameter(f"Expected {name} with one entry per {partner}, {wanted} in all.")


def check_integers(name: str, value: object) -> NDArray[np.int64]:
    """A vector of 64-bit integers, possibly empty. The entries may be private: an error states the type only."""
    array = as_array(name, value)
    if array.ndim != 1 or not (array.size == 0 or np.can_cast(array.dtype, np.int64)) or array.dtype == np.bool_:
        raise InvalidParameter(f"Expected {name} to be a vector of 64-bit integers: pass {name}.astype(numpy.int64).")
    return array.astype(np.int64)


def check_reals(name: str, value: object) -> NDArray[np.float64]:
    """A vector of real numbers, possibly empty. The entries may be private: an error states the type only."""
    array = as_array(name, value)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to be a vector of real numbers: pass {name}.astype(float).")
    with np.errstate(all="ignore"):  # a warning or exception could reveal entries
        return array.astype(np.float64)


def check_increasing(name: str, value: object) -> NDArray[np.float64]:
    """A read-only, non-empty vector of finite numbers, each above the one before."""
    grid = check_array(name, value, rank=1)
    if not (grid[1:] > grid[:-1]).all():
        raise InvalidParameter(f"Expected {name} to increase strictly: pass numpy.unique({name}).")
    return grid
