"""A basis that the caller writes down, as an orthonormal matrix (`dimfree.bases`).

The ROWS of the matrix are the basis vectors: coordinate k of a rotated record is row k times the record, T x.
Records are rotated by a product that treats each of them alone, bit for bit. Proofs: proofs/rows/bases.md,
exact_product.md.
"""

from functools import cached_property
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.exact_product import SlicedMatrix


class Given(Basis):
    """A (d, d) matrix with orthonormal rows, pickled as it is: another machine would find it with other last bits."""

    name = "given"

    def __init__(self, matrix: Floats) -> None:
        self.matrix = np.array(matrix, dtype=np.float64)
        self.matrix.setflags(write=False)
        self.dimension = self.width = len(self.matrix)
        self.rotated(np.zeros((1, self.dimension)))  # slices it now, before several threads would

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
