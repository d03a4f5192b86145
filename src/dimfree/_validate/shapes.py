"""Checks of what defines a shape: variances, covariance matrices, directions, and whether it fits the records."""

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.arrays import check_array
from dimfree._validate.quoting import quoted
from dimfree.errors import InvalidParameter

_FLAT_REMEDY = (
    "Add a small public floor (for example 1e-6 of the largest variance), use LowRank(basis, variances, tail) with a"
    " tail above 0, or drop or project out the constant directions before the release, as the paper's remark on"
    " singular covariances says."
)
_KINDS = "Isotropic(scale), Diagonal(variances), Dense(covariance) or LowRank(basis, variances, tail)"


def check_variances(name: str, value: object) -> NDArray[np.float64]:
    """A read-only vector of finite variances, all above zero."""
    variances = check_array(name, value, rank=1)
    if variances.min() <= 0:
        raise InvalidParameter(f"Expected every entry of {name} above 0. {_FLAT_REMEDY}")
    return variances


def check_symmetric(name: str, value: object) -> NDArray[np.float64]:
    """A read-only square matrix, positive on the diagonal, symmetric within 1e-8 of the two standard deviations."""
    matrix = check_array(name, value, rank=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(f"Expected {name} to be square. Pass (d, d), or (d,) variances.")
    root = np.sqrt(check_variances(f"the diagonal of {name}", np.diagonal(matrix)))
    with np.errstate(all="ignore"):
        symmetric = np.abs(matrix - matrix.T) <= 1e-8 * (root * root[:, None])
    if not symmetric.all():
        raise InvalidParameter(
            f"Expected {name} to be symmetric; {name}[i, j] and {name}[j, i] differ by more than 1e-8 of the standard"
            f" deviations. Pass ({name} + {name}.T) / 2 if that is what you mean."
        )
    return matrix


def check_definite(name: str, eigenvalues: NDArray[np.float64]) -> None:
    """The smallest eigenvalue is larger than rounding, 4 d 2**-52 of the largest."""
    smallest, largest = float(eigenvalues.min()), float(eigenvalues.max())
    if not smallest > 4 * eigenvalues.size * np.finfo(np.float64).eps * largest:
        raise InvalidParameter(
            f"Expected {name} to be positive definite; its smallest eigenvalue is zero or negative, up to rounding."
            f" {_FLAT_REMEDY}"
        )


def check_orthonormal(name: str, value: object) -> NDArray[np.float64]:
    """A read-only (d, k) matrix, k <= d, whose columns are orthonormal within 1e-6."""
    basis = check_array(name, value, rank=2)
    if basis.shape[1] > basis.shape[0]:
        raise InvalidParameter(f"Expected {name} of shape (d, k) with k <= d. Pass {name}.T?")
    with np.errstate(all="ignore"):
        excess = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()
    if not excess <= 1e-6:
        raise InvalidParameter(
            f"Expected {name} to have orthonormal columns (unit length, pairwise perpendicular within 1e-6)."
            f" Pass numpy.linalg.qr({name})[0], and variances along those directions."
        )
    return basis


def check_magnitude(name: str, spectrum: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations whose powers stay in the range of floats."""
    if not 1e-60 < float(spectrum.max()) < 1e60:
        raise InvalidParameter(f"Expected {name} with a largest standard deviation in (1e-60, 1e60): change the units.")
    return spectrum


def check_dimension(name: str, own: int, wanted: int) -> None:
    """A shape and the records have the same number of columns."""
    if own != wanted:
        raise InvalidParameter(f"Expected {name} for {wanted} dimension(s): pass one with an entry per column.")


def check_width(name: str, own: int, wanted: int) -> None:
    """What a shape is applied to has as many columns as the shape."""
    if own != wanted:
        raise InvalidParameter(f"Expected {name} to fit a shape for {wanted} dimension(s).")


def check_exactly_one(covariance: object, shape: object) -> None:
    """One of covariance= and shape= says what is publicly known about the spread of the records."""
    if covariance is None and shape is None:
        raise InvalidParameter(
            f"Expected covariance= as (d,) variances or a (d, d) matrix that is publicly known, or shape= as {_KINDS}."
        )
    if covariance is not None and shape is not None:
        raise InvalidParameter("Expected covariance= or shape=, not both. Drop one of them.")


def reject_shape(name: str, value: object) -> InvalidParameter:
    """The error for something that is no shape."""
    return InvalidParameter(f"Expected {name} to be {_KINDS}, or 'auto' to learn it, got {quoted(value)}.")


def reject_covariance(value: object, wanted: int) -> InvalidParameter:
    """The error for a covariance= that is neither variances nor a matrix."""
    if isinstance(value, str):
        return reject_shape("covariance", value)
    return InvalidParameter(
        f"Expected covariance as ({wanted},) variances or a ({wanted}, {wanted}) matrix, got {quoted(value)}. "
        "Pass a shape object as shape=, and one variance for all directions as shape=Isotropic(scale), scale its "
        "standard deviation."
    )
