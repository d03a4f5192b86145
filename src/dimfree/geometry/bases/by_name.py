"""What `basis=` may be: a name, a matrix or operator, a Basis; and the basis that it stands for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimfree import _validate
from dimfree._types import Floats
from dimfree.data import sparse
from dimfree.errors import raise_alone
from dimfree.geometry.bases.basis import Basis
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.bases.given import Given
from dimfree.geometry.bases.haar import Haar
from dimfree.geometry.bases.hadamard import Hadamard

AUTO = "auto"  # chosen among several by what is released on the way
_TOLERANCE = 1e-6
_PACES, _LENGTHS = np.array([1.0, 1.7, 2.3]), np.array([1.0, 1e3, 1e-3])  # of the rows that a caller's basis is shown
_PLACES = ((1, 4, 2), (11, 0, 6))  # of these rows in two batches, of five rows and of twelve
_NEIGHBOURS = np.ldexp(1.0, [0, 900, -1070, 3, -500])  # sizes of the others there, huge and subnormal ones too
_NOT_ROW_BY_ROW = "a row came out of `rotated` with other bits in a batch, beside other rows, than alone"
NAMED: dict[str, Callable[[int], Basis]] = {"dct": Cosine, "hadamard": Hadamard, "haar": Haar}


def check_basis(basis: Any) -> None:
    """What can be said before the table is opened: it is a known name, or something that may hold a matrix."""
    if isinstance(basis, str):
        if basis not in (AUTO, *NAMED):
            raise _validate.reject_basis(basis, (AUTO, *NAMED))
        return
    matrix = isinstance(basis, Sequence) or hasattr(basis, "__array__") or sparse.issparse(basis)
    if not (basis is None or matrix or isinstance(basis, Basis | sparse.linalg.LinearOperator)):
        raise _validate.reject_basis(basis, (AUTO, *NAMED))


def as_basis(basis: Any, dimension: int, columns: Sequence[str] | None = None) -> Basis:
    """The basis for records of this width. None and "auto" stand for none yet: they are the caller's to deal with.

    With `columns`, the names of the records: a frame with other names, or with these in another order, is refused.
    """
    dimension = _validate.check_count("dimension", dimension)
    if isinstance(basis, str):
        if basis not in NAMED:
            raise _validate.reject_basis(basis, NAMED)
        return NAMED[basis](dimension)
    if isinstance(basis, Basis):
        return _kept(basis, dimension)
    check_basis(basis)
    _validate.check_same_columns("basis", _names(basis), columns)
    return Given(basis, dimension)


def _names(frame: Any) -> tuple[str, ...] | None:
    """Of the columns of a frame; None for what has none."""
    arrow = type(frame).__module__.partition(".")[0] == "pyarrow"  # whose columns are the numbers themselves
    names = getattr(frame, "column_names" if arrow else "columns", None)
    return None if names is None else tuple(map(str, names))


def _kept(basis: Basis, dimension: int) -> Basis:
    """The same basis, once it has kept its promises on public vectors: what fails later would have spent a budget."""
    own = getattr(basis, "dimension", 0)
    _validate.check_square("basis", (own, own), dimension)
    try:
        with np.errstate(all="ignore"):
            broken = _broken_promise(basis)
    except Exception as error:  # noqa: BLE001 - what it says may quote what the basis holds
        raise_alone(_validate.reject_own_basis(basis, f"it raised {type(error).__name__}"))
    if broken:
        raise _validate.reject_own_basis(basis, broken)
    return basis


def _broken_promise(basis: Basis) -> str | None:
    """Three rows alone, and among others of all sizes at other places: twenty rows in all."""
    if not isinstance(getattr(basis, "name", None), str):
        return "its `name` is no text"
    rows = _LENGTHS[:, None] * np.sin(np.outer(_PACES, np.arange(1.0, basis.dimension + 1)))
    alone = [basis.rotated(row[None].copy()) for row in rows]
    if any(np.shape(found) != (1, basis.width) for found in alone):
        return f"`rotated` gave another shape than (rows, width), here (1, {basis.width})"
    if not np.isfinite(alone).all():
        return "`rotated` gave numbers that are not finite"
    for row, found in zip(rows, alone, strict=True):
        back = basis.restored(found[0].copy())
        if np.shape(back) != row.shape or not np.linalg.norm(back - row) <= _TOLERANCE * np.linalg.norm(row):
            return f"`restored` does not undo `rotated`, within {_TOLERANCE:g} of a vector's length"
    return None if all(_row_by_row(basis, rows, alone, places) for places in _PLACES) else _NOT_ROW_BY_ROW


def _row_by_row(basis: Basis, rows: Floats, alone: list[Floats], places: tuple[int, ...]) -> bool:
    """Whether the rows at these places of a batch have the bits that they have alone."""
    batch = np.resize(_NEIGHBOURS, max(places) + 1)[:, None] * np.cos(np.arange(1.0, basis.dimension + 1))
    batch[list(places)] = rows
    found = basis.rotated(batch)
    return found.shape == (len(batch), basis.width) and all(
        found[place].tobytes() == own[0].tobytes() for place, own in zip(places, alone, strict=True)
    )
