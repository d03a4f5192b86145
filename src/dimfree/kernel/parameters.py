"""The closed set of classes whose code sees records; each instance is made anew from numbers that the proofs cover."""

from copy import copy
from typing import TypeVar

from dimfree._types import Floats
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Branch, OnlyGaussian, Tested
from dimfree.accounting.ladder import Ladder
from dimfree.kernel.numbers import places, positive, scales, vector, whole, within
from dimfree.kernel.released import KernelError
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.bases.given import Given
from dimfree.kernel.rows.bases.learned import LearnedAxes
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.soft_histogram import Cells, Magnitudes, Offsets
from dimfree.kernel.statistics.unit_vectors import Lookout
from dimfree.shapes import Dense, Diagonal, Isotropic, LowRank, Shape

Value = TypeVar("Value")
LARGEST = 1e100  # of a precision
SHAPES = (Diagonal, Isotropic, Dense, LowRank)
BASES = (Cosine, LearnedAxes)


def checked_ball(value: Ball, width: int) -> Ball:
    _of_class(value, Ball)
    block = None if value.block is None else places("block", value.block, width)
    cap = positive("cap", value.cap, infinite=True)
    return Ball(*_centered(value, width), positive("radius", value.radius), block, cap)


def checked_scoring(value: Scoring, width: int) -> Scoring:
    _of_class(value, Scoring)
    return Scoring(*_centered(value, width), positive("norm", value.norm))


def checked_lookout(value: Lookout, width: int) -> Lookout:
    _of_class(value, Lookout)
    return Lookout(*_centered(value, width))


def checked_cells(value: Cells, width: int) -> Magnitudes | Offsets:
    """Return cells for so many columns."""
    _of_class(value, Magnitudes, Offsets)
    return Offsets(*_centered(value, width)) if isinstance(value, Offsets) else Magnitudes()


def checked_shape(value: Shape, width: int, *, apart: bool) -> Shape:
    """Return a shape for so many coordinates; `apart`: only one that does not mix them."""
    _of_class(value, *(SHAPES[:2] if apart else SHAPES))
    if value.dimension not in (None, width):
        raise KernelError("The shape must have as many coordinates as the records.")
    return value


def check_classes(shape: Shape, basis: Basis | None) -> None:
    """Refuse a shape or a basis that brings code of its own."""
    _of_class(shape, *SHAPES)
    if basis is not None:
        _of_class(basis, *BASES, Given)


def checked_basis(value: Basis | None, width: int) -> Basis | None:
    """Return a basis of so many coordinates; no attribute that a program sets on its own instance is in the copy."""
    if value is None:
        return None
    _of_class(value, *BASES)
    found = copy(value)
    if any(callable(getattr(type(found), name, None)) for name in vars(found)):
        raise KernelError("A query takes the kernel's own classes, not others.")
    fits = found.has_parts_of(width) if isinstance(found, LearnedAxes) else True
    if whole("dimension", found.dimension) != width or not fits:
        raise KernelError("The basis must have as many coordinates as the records.")
    return Cosine(width) if isinstance(found, Cosine) else found


def checked_branches(branches: Calibration) -> Calibration:
    """Return the same branches, made anew: a profile that another class states would not be that of its releases."""
    _of_class(branches, Calibration)
    if type(branches.tested) is not tuple or type(branches.ringed) is not tuple:
        raise KernelError("Branches are tuples.")
    return Calibration(
        None if branches.count_stddev is None else positive("count_stddev", branches.count_stddev),
        tuple(map(_checked_tested, branches.tested)),
        None if branches.untested is None else OnlyGaussian(_mu_of(branches.untested, OnlyGaussian)),
        tuple(map(_checked_tested, branches.ringed)),
    )


def _checked_tested(branch: Tested) -> Tested:
    mu = _mu_of(branch, Tested)
    return Tested(_checked_ladder(branch.ladder), mu, within("search_mu", branch.search_mu, 0.0, LARGEST))


def _mu_of(branch: Branch, kind: type[Branch]) -> float:
    return positive("mu", _of_class(branch, kind).mu)


def _checked_ladder(ladder: Ladder) -> Ladder:
    """Return a ladder of whole numbers: a coin of another kind would fail at some values of the statistic alone."""
    rungs = getattr(_of_class(ladder, Ladder), "rungs", None)
    if type(rungs) is not tuple or any(type(rung) is not int or rung < 0 for rung in rungs):
        raise KernelError("A ladder has whole rungs.")
    try:
        return Ladder(rungs)
    except ValueError as error:
        raise KernelError(str(error)) from None


def _of_class(value: Value, *classes: type) -> Value:
    """Refuse all but instances of these very classes: subclasses bring code of their own."""
    if type(value) not in classes:
        raise KernelError("A query takes the kernel's own classes, not others.")
    return value


def _centered(value: Ball | Scoring | Lookout | Offsets, width: int) -> tuple[Floats, Floats]:
    return vector("center", value.centre, width), scales("scale", value.scale, width)
