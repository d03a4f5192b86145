"""What `basis=` may be: a name, a matrix or an operator; and the basis of the kernel that it stands for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimfree import _validate
from dimfree._types import Floats
from dimfree.data.extras import sparse
from dimfree.errors import InvalidParameter, raise_alone
from dimfree.kernel.rows.bases import KEPT_BYTES, Basis, Given, unit_rows
from dimfree.kernel.rows.cosine import Cosine

AUTO = "auto"  # chosen among several by what is released on the way
NAMED: dict[str, Callable[[int], Basis]] = {"dct": Cosine}
LARGEST_WRITTEN_OUT = 6000  # columns: what is not an array already becomes one of 288 MB, and its slices five of them
_LAST_BITS = 1e-13  # an excess of T T' over I that rounding alone explains
_STEPS = 6  # each squares what is left of the excess


def check_basis(basis: Any) -> None:
    """What can be said before the table is opened: it is a known name, or something that may hold a matrix."""
    if isinstance(basis, str):
        if basis not in (AUTO, *NAMED):
            raise _validate.reject_basis(basis, (AUTO, *NAMED))
        return
    matrix = isinstance(basis, Sequence) or hasattr(basis, "__array__") or sparse.issparse(basis)
    if not (basis is None or matrix or isinstance(basis, sparse.linalg.LinearOperator)):
        raise _validate.reject_basis(basis, (AUTO, *NAMED))


def as_basis(basis: Any, dimension: int, columns: Sequence[str] | None = None) -> Basis:
    """The basis for records of this width, neither None nor "auto"; a frame has to have their names, `columns`."""
    dimension = _validate.check_count("dimension", dimension)
    if isinstance(basis, str):
        if basis not in NAMED:
            raise _validate.reject_basis(basis, NAMED)
        return NAMED[basis](dimension)
    check_basis(basis)
    arrow = type(basis).__module__.partition(".")[0] == "pyarrow"  # whose columns are the numbers themselves
    names = getattr(basis, "column_names" if arrow else "columns", None)  # of a frame
    _validate.check_same_columns("basis", None if names is None else tuple(map(str, names)), columns)
    return Given(_nearest_orthonormal(*_validate.check_rotation("basis", _written_out(basis, dimension), dimension)))


def _written_out(given: Any, dimension: int) -> object:
    """An array, or what should become one, of an operator or a sparse matrix."""
    if not (sparse.issparse(given) or isinstance(given, sparse.linalg.LinearOperator)):
        return given
    _validate.check_square("basis", given.shape, dimension)
    _validate.require(
        dimension <= LARGEST_WRITTEN_OUT,
        f"`basis` as a sparse matrix or an operator is for at most {LARGEST_WRITTEN_OUT} columns, got {dimension}: it "
        "is written out, so that no code but the library's own runs on records. Use 'dct' or an array.",
    )
    if sparse.issparse(given):
        return given.toarray()
    try:  # T itself, from T applied to the unit vectors, which are public
        return np.concatenate([given.matmat(units.T) for units in unit_rows(given.shape[1])], axis=1)
    except Exception as error:  # noqa: BLE001 - what it says may quote what the operator holds
        kind = type(error).__name__
        raise_alone(
            InvalidParameter(f"`basis` must be a matrix or operator for real vectors; on one it raised {kind}.")
        )


def _nearest_orthonormal(matrix: Floats, excess: Floats) -> Floats:
    """The polar factor, to the last bits, by Newton's iteration; `excess` is T T' - I of the matrix."""
    for _ in range(_STEPS):
        if np.abs(excess).max() <= _LAST_BITS:
            break
        matrix = matrix - excess @ matrix / 2
        excess = matrix @ matrix.T - np.eye(len(matrix))
    return np.array(matrix)


def memory_needed(width: int) -> str:
    """One sentence. A rotation fills the zeros of a sparse row, so it costs there what a dense table always costs."""
    return (
        f"Rotated rows are dense, {8 * width} bytes each ({width} coordinates of 8 bytes): up to "
        f"{KEPT_BYTES / 2**30:g} GiB of them are kept in memory, more are made anew in every pass."
    )
