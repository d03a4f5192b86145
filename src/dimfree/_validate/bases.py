"""Checks of what defines a basis: orthonormal matrices, operators, and classes of the caller."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.arrays import check_array
from dimfree._validate.quoting import quoted
from dimfree.errors import InvalidParameter


def check_square(name: str, shape: Sequence[int], dimension: int) -> None:
    """A matrix that maps records of so many columns to as many coordinates."""
    if tuple(shape) != (dimension, dimension):
        raise InvalidParameter(
            f"Expected {name} of shape ({dimension}, {dimension}), a row for each basis vector and a column for each "
            "column of the records."
        )


def check_rotation(name: str, value: object, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A (d, d) matrix T whose rows are orthonormal within 1e-6, and T T' - I."""
    if getattr(value, "dtype", np.dtype(np.float64)).kind == "c":
        raise InvalidParameter(f"Expected {name} to be real, got complex entries: 'dct' is a real relative.")
    matrix = check_array(name, value, rank=2)
    check_square(name, matrix.shape, dimension)
    with np.errstate(all="ignore"):
        excess = matrix @ matrix.T - np.eye(dimension)
    if not np.abs(excess).max() <= 1e-6:
        raise InvalidParameter(
            f"Expected {name} to be orthonormal: every row of length 1 and perpendicular to the others, within 1e-6. "
            f"Pass numpy.linalg.qr({name}.T)[0].T if its rows span what you mean."
        )
    return matrix, excess


def check_written_out(name: str, dimension: int, most: int) -> None:
    """Not too wide for a matrix of its own."""
    if dimension > most:
        raise InvalidParameter(
            f"Expected at most {most} columns with {name} as a sparse matrix or an operator, got {dimension}: it is "
            "written out, so that no code but the library's own runs on records. Use 'dct' or an array."
        )


def reject_operator(name: str, error: Exception) -> InvalidParameter:
    """The error for an operator that cannot be applied to the unit vectors."""
    return InvalidParameter(
        f"Expected {name} to be a matrix or operator for real vectors; on one it raised {type(error).__name__}."
    )


def reject_basis(value: object, names: Iterable[str]) -> InvalidParameter:
    """The error for something that is no basis."""
    listed = ", ".join(repr(name) for name in names)
    return InvalidParameter(
        f"Expected basis to be {listed}, or an orthonormal (d, d) matrix or scipy LinearOperator whose rows are the "
        f"basis vectors, or None for the columns as they are, got {quoted(value)}."
    )
