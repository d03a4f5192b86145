"""Convert `basis=`, a name, a matrix or an operator, to a basis of the kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimfree import _validate
from dimfree._types import Floats
from dimfree.data.extras import sparse
from dimfree.errors import InvalidParameterError, raise_alone
from dimfree.kernel.rows.bases import KEPT_BYTES, Basis, Given, identity_rows
from dimfree.kernel.rows.cosine import Cosine

AUTO = "auto"  # chosen by released values
NAMED: dict[str, Callable[[int], Basis]] = {"dct": Cosine}
MAX_DENSE_COLUMNS = 6000  # an operator becomes an array of 288 MB, its slices five of them
_LAST_BITS = 1e-13  # an excess of T T' over I that rounding alone explains
_STEPS = 6  # each squares what is left of the excess


def check_basis(basis: Any) -> None:
    """Check, before the table is opened, that the basis is a known name or may hold a matrix."""
    if isinstance(basis, str):
        if basis not in (AUTO, *NAMED):
            raise _validate.reject_basis(basis, (AUTO, *NAMED))
        return
    matrix = isinstance(basis, Sequence) or hasattr(basis, "__array__") or sparse.issparse(basis)
    if not (basis is None or matrix or isinstance(basis, sparse.linalg.LinearOperator)):
        raise _validate.reject_basis(basis, (AUTO, *NAMED))


def as_basis(basis: Any, dimension: int, columns: Sequence[str] | None = None) -> Basis:
    """Return the basis for records of this width, neither None nor "auto"; a frame must have the names `columns`."""
    dimension = _validate.check_count("dimension", dimension)
    if isinstance(basis, str):
        if basis not in NAMED:
            raise _validate.reject_basis(basis, NAMED)
        return NAMED[basis](dimension)
    check_basis(basis)
    arrow = type(basis).__module__.partition(".")[0] == "pyarrow"  # its attribute `columns` holds the values
    names = getattr(basis, "column_names" if arrow else "columns", None)  # of a frame
    _validate.check_same_columns("basis", None if names is None else tuple(map(str, names)), columns)
    return Given(_nearest_orthonormal(*_validate.check_rotation("basis", _write_out(basis, dimension), dimension)))


def _write_out(given: Any, dimension: int) -> object:
    """Convert a sparse matrix or an operator to an array; return anything else unchanged."""
    if not (sparse.issparse(given) or isinstance(given, sparse.linalg.LinearOperator)):
        return given
    _validate.check_square("basis", given.shape, dimension)
    _validate.require(
        dimension <= MAX_DENSE_COLUMNS,
        f"`basis` as a sparse matrix or an operator must have at most {MAX_DENSE_COLUMNS} columns, got {dimension}: it "
        "becomes an array, so that no foreign code runs on records. Use 'dct' or an array. No budget was charged.",
    )
    if sparse.issparse(given):
        return given.toarray()
    try:  # T itself, from T applied to the unit vectors, which are public
        return np.concatenate([given.matmat(units.T) for units in identity_rows(given.shape[1])], axis=1)
    except Exception as error:  # noqa: BLE001 - its text may quote the operator's values
        kind = type(error).__name__
        raise_alone(
            InvalidParameterError(
                f"`basis` must be a matrix or operator for real vectors; it raised {kind}. No budget was charged."
            )
        )


def _nearest_orthonormal(matrix: Floats, excess: Floats) -> Floats:
    """Compute the polar factor to the last bits by Newton's iteration; `excess` is T T' - I of the matrix."""
    for _ in range(_STEPS):
        if np.abs(excess).max() <= _LAST_BITS:
            break
        matrix = matrix - excess @ matrix / 2
        excess = matrix @ matrix.T - np.eye(len(matrix))
    return np.array(matrix)


def describe_memory(width: int) -> str:
    """Describe the memory of a rotated table: a rotation fills the zeros of a sparse row."""
    return (
        f"Rotated rows are dense, {8 * width} bytes each ({width} coordinates of 8 bytes): up to "
        f"{KEPT_BYTES / 2**30:g} GiB of them are kept in memory, more are computed again in every pass."
    )
