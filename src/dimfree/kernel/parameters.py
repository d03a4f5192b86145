"""Parameters that a program may pass: public numbers, and instances of a closed set of classes.

Each is read once, into the kernel's own memory, before a charge. No sensitivity is proved for other numbers; an array
of another length would give every record its own parameter; an error that only some records cause would reveal them.
"""

import math
from copy import copy
from fractions import Fraction
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import OnlyGaussian, Tested
from dimfree.accounting.ladder import Ladder
from dimfree.kernel.rows.bases import Basis, Given, LearnedAxes
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.soft_histogram import Cells, Magnitudes, Offsets
from dimfree.kernel.statistics.stable import THOUSANDTHS
from dimfree.kernel.statistics.unit_vectors import DirectionCenter
from dimfree.shapes import Covariance, DenseCovariance, DiagonalCovariance, IsotropicCovariance, LowRankCovariance

Value = TypeVar("Value")
EXPONENT = 100  # a precision is within 1e±100, so that no noise leaves the floats
NORMS = (1e-100, 1e100)  # whose steps are not 0, and have reciprocals
RADII = (1e-130, 1e130)  # within which distances are decided exactly (proofs/statistics/friends.md)
SHAPES = (DiagonalCovariance, IsotropicCovariance, DenseCovariance, LowRankCovariance)
BASES = (Cosine, LearnedAxes)


class KernelError(RuntimeError):
    """A query exceeds the budget of its branch, comes in the wrong phase, or has a parameter that no proof covers."""


class RangeError(KernelError, ValueError):
    """A number passed to a query is outside the range that its proof covers. Extreme released numbers lead here."""


def finite(name: str, value: object) -> float:
    """Return one finite number as a 64-bit float: sums of shorter ones would stop growing."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RangeError(f"{name} must be a finite number.")
    return found


def positive(name: str, value: object, *, infinite: bool = False) -> float:
    """Return one positive and finite number; with `infinite` also infinity, for no limit."""
    found = math.inf if infinite and isinstance(value, float) and value == math.inf else finite(name, value)
    if not found > 0:
        raise RangeError(f"{name} must be positive{'' if infinite else ' and finite'}.")
    return found


def precision(value: object) -> float:
    """Return the precision of a release, mu."""
    return within("mu", value, 10.0**-EXPONENT, 10.0**EXPONENT)


def within(name: str, value: object, low: float, high: float) -> float:
    """Return one number between two others, both included."""
    found = finite(name, value)
    if not low <= found <= high:
        raise RangeError(f"{name} must be from {low:g} to {high:g}.")
    return found


def whole(name: str, value: object, *, least: int | None = None) -> int:
    """Return one Python integer: shorter ones would wrap."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool | np.timedelta64):
        raise KernelError(f"{name} must be a whole number.")
    found = int(value)
    if least is not None and found < least:
        raise RangeError(f"{name} must be at least {least}.")
    return found


def share(value: object) -> Fraction:
    """Return a share in (0, 1), exactly."""
    found = value if type(value) is Fraction else Fraction(finite("share", value))
    if not 0 < float(found) < 1:
        raise RangeError("share must be between 0 and 1.")
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


def vector(name: str, values: object, width: int) -> Floats:
    """Return one finite number for each of `width` coordinates, or one for all of them."""
    found = _fitting(name, values, width, scalar=True)
    if not np.isfinite(found).all():
        raise RangeError(f"{name} must be finite.")
    return found


def scales(name: str, values: object, width: int, *, scalar: bool = True) -> Floats:
    """Return one positive number for each of `width` coordinates; an infinite one leaves its coordinate out."""
    found = _fitting(name, values, width, scalar=scalar)
    if not (found > 0).all():
        raise RangeError(f"{name} must be positive.")
    return found


def _fitting(name: str, values: object, width: int, *, scalar: bool) -> Floats:
    found = floats(name, values)
    if found.shape != (width,) and not (scalar and found.ndim == 0):
        raise KernelError(f"{name} must have one number for each coordinate.")
    return found[()]


def rising(name: str, values: object) -> Floats:
    """Return positive, finite and strictly rising numbers, so that the position of others among them is defined."""
    found = floats(name, values)
    if found.ndim != 1 or not len(found):
        raise KernelError(f"{name} must be a list of numbers.")
    if not ((found > 0) & np.isfinite(found)).all() or not (np.diff(found) > 0).all():
        raise RangeError(f"{name} must be positive, finite and rising.")
    return found


def places(name: str, values: object, width: int) -> NDArray[np.intp]:
    """Return different positions among `width` coordinates, at least one."""
    found = np.array(values) if isinstance(values, np.ndarray | list | tuple) else np.empty(0)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
        raise KernelError(f"{name} must be a list of positions.")
    if not ((found >= 0) & (found < width)).all() or len(np.unique(found)) < len(found):
        raise KernelError(f"{name} must be different positions among the coordinates.")
    return found.astype(np.intp)


def ball(value: Ball, width: int) -> Ball:
    _of_class(value, Ball)
    block = None if value.block is None else places("block", value.block, width)
    cap = positive("cap", value.cap, infinite=True)
    return Ball(*_check_center(value, width), positive("radius", value.radius), block, cap)


def scoring(value: Scoring, width: int) -> Scoring:
    _of_class(value, Scoring)
    return Scoring(*_check_center(value, width), positive("norm", value.norm))


def direction_center(value: DirectionCenter, width: int) -> DirectionCenter:
    return DirectionCenter(*_check_center(_of_class(value, DirectionCenter), width))


def cells(value: Cells, width: int) -> Magnitudes | Offsets:
    _of_class(value, Magnitudes, Offsets)
    return Offsets(*_check_center(value, width)) if isinstance(value, Offsets) else Magnitudes()


def _check_center(value: Ball | Scoring | DirectionCenter | Offsets, width: int) -> tuple[Floats, Floats]:
    return vector("center", value.center, width), scales("scale", value.scale, width)


def shape(value: Covariance, width: int, *, apart: bool) -> Covariance:
    """Return a known covariance; with `apart` only one that does not mix coordinates."""
    _of_class(value, *(SHAPES[:2] if apart else SHAPES))
    if value.dimension not in (None, width):
        raise KernelError("The covariance must have as many coordinates as the records.")
    return value


def check_classes(shape: Covariance, basis: Basis | None) -> None:
    """Refuse a covariance or a basis that brings code of its own."""
    _of_class(shape, *SHAPES)
    if basis is not None:
        _of_class(basis, *BASES, Given)


def basis(value: Basis | None, width: int) -> Basis | None:
    """Return a copy of a basis with this number of coordinates, without attributes that a program set on it."""
    if value is None:
        return None
    found = copy(_of_class(value, *BASES))
    if any(callable(getattr(type(found), name, None)) for name in vars(found)):
        raise KernelError("A query accepts the kernel's own classes, not others.")
    fits = found.has_parts_of(width) if isinstance(found, LearnedAxes) else True
    if whole("dimension", found.dimension) != width or not fits:
        raise KernelError("The basis must have as many coordinates as the records.")
    return Cosine(width) if isinstance(found, Cosine) else found


def branches(branches: Calibration) -> Calibration:
    """Return the same branches, rebuilt: the profile of another class could differ from that of its releases."""
    _of_class(branches, Calibration)
    if type(branches.tested) is not tuple or type(branches.ringed) is not tuple:
        raise KernelError("Branches must be tuples.")
    count, untested = branches.count_stddev, branches.untested
    return Calibration(
        None if count is None else positive("count_stddev", count),
        tuple(map(_check_tested, branches.tested)),
        None if untested is None else OnlyGaussian(positive("mu", _of_class(untested, OnlyGaussian).mu)),
        tuple(map(_check_tested, branches.ringed)),
    )


def _check_tested(branch: Tested) -> Tested:
    """Return a branch with integer rungs: another coin would fail at some values of the statistic alone."""
    mu = positive("mu", _of_class(branch, Tested).mu)
    rungs = getattr(_of_class(branch.ladder, Ladder), "rungs", None)
    if type(rungs) is not tuple or any(type(rung) is not int or rung < 0 for rung in rungs):
        raise KernelError("A ladder must have whole rungs, at least 0.")
    try:
        ladder = Ladder(rungs)
    except ValueError as error:
        raise KernelError(str(error)) from None
    return Tested(ladder, mu, within("search_mu", branch.search_mu, 0.0, 10.0**EXPONENT))


def _of_class(value: Value, *classes: type) -> Value:
    """Refuse all but instances of exactly these classes: subclasses bring code of their own."""
    if type(value) not in classes:
        raise KernelError("A query accepts the kernel's own classes, not others.")
    return value
