"""A basis that the caller writes down: an orthonormal matrix, dense or sparse, or an operator that stands for one.

The ROWS of the matrix are the basis vectors: coordinate k of a rotated record is row k times the record, T x.
Records are rotated by a product that treats each of them alone, bit for bit. Proofs: proofs/rows/bases.md,
exact_product.md.
"""

from functools import cached_property
from typing import Any

import numpy as np

from dimfree import _validate
from dimfree._types import Floats
from dimfree.data import sparse
from dimfree.errors import raise_alone
from dimfree.kernel.rows.bases.basis import Basis, unit_rows
from dimfree.kernel.rows.exact_product import SlicedMatrix

LARGEST_WRITTEN_OUT = 6000  # columns: what is not an array already becomes one of 288 MB, and its slices five of them
_LAST_BITS = 1e-13  # an excess of T T' over I that rounding alone explains
_STEPS = 6  # each squares what is left of the excess


class Given(Basis):
    """A (d, d) matrix with orthonormal rows, within 1e-6; used is the orthonormal one nearest to it.

    As pickled it takes along that matrix: another machine would find it with other last bits.
    """

    name = "given"

    def __init__(self, matrix: object, dimension: int) -> None:
        self.dimension = self.width = dimension
        written = _written_out(matrix, dimension)
        self.matrix = _nearest_orthonormal(*_validate.check_rotation("basis", written, dimension))
        self.matrix.setflags(write=False)
        self.rotated(np.zeros((1, dimension)))  # slices it now, before several threads would

    def rotated(self, rows: Floats) -> Floats:
        return self._sliced.product(rows)

    def restored(self, vector: Floats) -> Floats:
        return vector @ self.matrix

    def diagonal(self, variances: Floats) -> Floats:
        return variances @ self.matrix**2

    @cached_property
    def _sliced(self) -> SlicedMatrix:
        """Cut without rounding, so it is the same wherever it is cut."""
        return SlicedMatrix(self.matrix.T)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_sliced"}


def _written_out(given: Any, dimension: int) -> object:
    """An array, or what should become one."""
    if not (sparse.issparse(given) or isinstance(given, sparse.linalg.LinearOperator)):
        return given
    _validate.check_square("basis", given.shape, dimension)
    _validate.check_written_out("basis", dimension, LARGEST_WRITTEN_OUT)
    return given.toarray() if sparse.issparse(given) else _columns_of(given)


def _columns_of(operator: Any) -> object:
    """T itself, from T applied to the unit vectors, which are public."""
    try:
        return np.concatenate([operator.matmat(units.T) for units in unit_rows(operator.shape[1])], axis=1)
    except Exception as error:  # noqa: BLE001 - what it says may quote what the operator holds
        raise_alone(_validate.reject_operator("basis", error))


def _nearest_orthonormal(matrix: Floats, excess: Floats) -> Floats:
    """The polar factor, to the last bits, by Newton's iteration; `excess` is T T' - I of the matrix."""
    for _ in range(_STEPS):
        if np.abs(excess).max() <= _LAST_BITS:
            break
        matrix = matrix - excess @ matrix / 2
        excess = matrix @ matrix.T - np.eye(len(matrix))
    return np.array(matrix)
