"""What `basis=` may be: a name, a matrix or operator, a Basis; and the basis that it stands for."""

from collections.abc import Callable, Sequence
from typing import Any

import scipy.sparse as sparse
from scipy.sparse.linalg import LinearOperator

from dimfree import _validate
from dimfree.bases.basis import Basis
from dimfree.bases.cosine import Cosine
from dimfree.bases.given import Given
from dimfree.bases.haar import Haar
from dimfree.bases.hadamard import Hadamard

AUTO = "auto"  # chosen among several by what is released on the way
NAMED: dict[str, Callable[[int], Basis]] = {"dct": Cosine, "hadamard": Hadamard, "haar": Haar}


def check_basis(basis: Any) -> None:
    """What can be said before the table is opened: it is a known name, or something that may hold a matrix."""
    if isinstance(basis, str):
        _validate.check_choice("basis", basis, (AUTO, *NAMED))
        return
    matrix = isinstance(basis, Sequence) or hasattr(basis, "__array__") or sparse.issparse(basis)
    if not (basis is None or matrix or isinstance(basis, Basis | LinearOperator)):
        raise _validate.reject_basis(basis, NAMED)


def as_basis(basis: Any, dimension: int) -> Basis:
    """The basis for records of this width. None and "auto" stand for none yet: they are the caller's to deal with."""
    if isinstance(basis, str):
        return NAMED[_validate.check_choice("basis", basis, tuple(NAMED))](dimension)
    if isinstance(basis, Basis):
        _validate.check_square("basis", (basis.dimension, basis.dimension), dimension)
        return basis
    check_basis(basis)
    return Given(basis, dimension)
