"""What public numbers must be: each is read once, into the kernel's own memory, before anything is charged.

No sensitivity is proved for other numbers, an array of another length would give every record a parameter of its own,
and an error that only some records cause would reveal them.
"""

import math
from fractions import Fraction
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.kernel.released import KernelError, RangeError
from dimfree.kernel.statistics.stable import THOUSANDTHS

Places = NDArray[np.intp]
EXPONENT = 100  # a precision is within 1e±100, so that no noise leaves the floats
NORMS = (1e-100, 1e100)  # whose steps are not 0, and have reciprocals
RADII = (1e-130, 1e130)  # within which distances are decided exactly (proofs/statistics/friends.md)


def finite(name: str, value: object) -> float:
    """Return one finite number as a float of 64 bits: sums of shorter ones would stop growing."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RangeError(f"{name} must be a finite number.")
    return found


def positive(name: str, value: object, *, infinite: bool = False) -> float:
    """Return one positive and finite number, or an `infinite` one, which limits nothing."""
    found = math.inf if infinite and isinstance(value, float) and value == math.inf else finite(name, value)
    if not found > 0:
        raise RangeError(f"{name} must be positive{'' if infinite else ' and finite'}.")
    return found


def precision(value: object) -> float:
    """Return the precision of a release, mu."""
    found = positive("mu", value)
    if not 10.0**-EXPONENT <= found <= 10.0**EXPONENT:
        raise RangeError(f"mu must be within 1e±{EXPONENT}.")
    return found


def within(name: str, value: object, low: float, high: float) -> float:
    """Return one number between two others, both included."""
    found = finite(name, value)
    if not low <= found <= high:
        raise RangeError(f"{name} must be from {low:g} to {high:g}.")
    return found


def whole(name: str, value: object, *, least: int | None = None) -> int:
    """Return one whole number of Python's: shorter ones would wrap."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.timedelta64):
        raise KernelError(f"{name} must be a whole number.")
    found = int(value)
    if least is not None and found < least:
        raise RangeError(f"{name} must be at least {least}.")
    return found


def share(name: str, value: object) -> Fraction:
    """Return a share in (0, 1), exactly."""
    found = value if type(value) is Fraction else Fraction(finite(name, value))
    if not 0 < float(found) < 1:
        raise RangeError(f"{name} must be between 0 and 1.")
    return found


def thousandths(name: str, value: object) -> Fraction:
    """Return a share in whole thousandths: with them, thresholds and weights fit 64 bits."""
    if type(value) is not Fraction or THOUSANDTHS % value.denominator:
        raise KernelError(f"{name} must be a Fraction in whole thousandths.")
    return value


def floats(name: str, values: object) -> Floats:
    """Return a copy of an array as plain 64-bit floats."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise KernelError(f"{name} must be numbers.") from None


def vector(name: str, values: object, width: int, *, scalar: bool = True) -> Floats:
    """Return one finite number for each of `width` coordinates, or one for all of them."""
    return _shaped(name, floats(name, values), width, scalar=scalar, limit="finite")


def scales(name: str, values: object, width: int, *, scalar: bool = True) -> Floats:
    """Return one positive number for each of `width` coordinates; an infinite one leaves its coordinate out."""
    return _shaped(name, floats(name, values), width, scalar=scalar, limit="positive")


def _shaped(name: str, found: Floats, width: int, *, scalar: bool, limit: str) -> Floats:
    if found.shape != (width,) and not (scalar and found.ndim == 0):
        raise KernelError(f"{name} must have one number for each coordinate.")
    if not (np.isfinite(found) if limit == "finite" else found > 0).all():
        raise RangeError(f"{name} must be {limit}.")
    return found[()]


def rising(name: str, values: object) -> Floats:
    """Return positive, finite and strictly rising numbers: where others lie among them is decided one by one."""
    found = floats(name, values)
    if found.ndim != 1 or not len(found):
        raise KernelError(f"{name} must be a list of numbers.")
    if not ((found > 0) & np.isfinite(found)).all() or not (np.diff(found) > 0).all():
        raise RangeError(f"{name} must be positive, finite and rising.")
    return found


def places(name: str, values: object, width: int) -> Places:
    """Return different positions among `width` coordinates, at least one."""
    found = np.array(values) if isinstance(values, np.ndarray | list | tuple) else np.empty(0)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise KernelError(f"{name} must be a list of positions.")
    if not ((found >= 0) & (found < width)).all() or len(np.unique(found)) < len(found):
        raise KernelError(f"{name} must be different positions among the coordinates.")
    return found.astype(np.intp)
