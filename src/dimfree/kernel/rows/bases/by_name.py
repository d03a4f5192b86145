"""What `basis=` may be: a name, a matrix or an operator; and the basis that it stands for."""

from collections.abc import Callable, Sequence
from typing import Any

from dimfree import _validate
from dimfree.data import sparse
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.bases.given import Given

AUTO = "auto"  # chosen among several by what is released on the way
NAMED: dict[str, Callable[[int], Basis]] = {"dct": Cosine}


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
    """The basis for records of this width. None and "auto" stand for none yet: they are the caller's to deal with.

    With `columns`, the names of the records: a frame with other names, or with these in another order, is refused.
    """
    dimension = _validate.check_count("dimension", dimension)
    if isinstance(basis, str):
        if basis not in NAMED:
            raise _validate.reject_basis(basis, NAMED)
        return NAMED[basis](dimension)
    check_basis(basis)
    _validate.check_same_columns("basis", _names(basis), columns)
    return Given(basis, dimension)


def _names(frame: Any) -> tuple[str, ...] | None:
    """Of the columns of a frame; None for what has none."""
    arrow = type(frame).__module__.partition(".")[0] == "pyarrow"  # whose columns are the numbers themselves
    names = getattr(frame, "column_names" if arrow else "columns", None)
    return None if names is None else tuple(map(str, names))
