"""The discrete cosine transform over the order of the columns: smooth records have few large coordinates in it.

The transform is SciPy's, of batches of one fixed form, whose rows it treats alike; a batch is filled up with zero rows.
Public batches show whether the bits of a row are the same at every position and next to any other rows, and whether
two machines compute the same bits. Proof: proofs/rows/bases.md.
Notation: T_ki = sqrt(2/d)·cos(π·k·(2i + 1)/(2d)), the row k = 0 over √2; T is orthonormal.
"""

import hashlib
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy  # its parts load when they are first used

from dimfree._types import Floats
from dimfree.errors import ClusterError, InvalidParameterError
from dimfree.kernel.rows.bases import Basis

# Rows of a batch, a power of two: whole lanes of any processor, so that every row is computed alike.
_MIN_ROWS, _MAX_ROWS = 8, 1024
_CELLS = 2**14  # entries of a batch: it stays in a core's cache
_SPREAD = 2654435761  # odd, so multiples modulo 2^32 go through all residues
_EXPONENTS = (0, -1070, 900, -500, 3)  # of other rows of a batch: subnormal, huge, small, of the same size
_UNEVEN = (
    "basis='dct' is not private on this machine: its SciPy rounds the cosine transform of a record differently "
    "depending on the other records. Use a released build of SciPy, or an orthonormal matrix as basis. No budget was "
    "charged."
)
_OTHERWISE = (
    "The cosine transform has other last bits here than on the machine that chose basis='dct', which would reveal the "
    "machine of a record; nothing was released. Give all workers the same SciPy on the same kind of processor, or use "
    "an orthonormal matrix as basis, with the same products on all machines."
)


class Cosine(Basis):
    """DCT-II, orthonormal, any d. After unpickling it first checks that it computes the same bits."""

    name = "dct"

    def __init__(self, dimension: int) -> None:
        self.dimension = self.width = dimension
        self._witness = _witness(dimension)
        if self._witness is None:
            raise InvalidParameterError(_UNEVEN)

    @classmethod
    def here(cls, dimension: int) -> "Cosine | None":
        """Return the transform; None if the SciPy of this machine does not treat rows alike."""
        return None if _witness(dimension) is None else cls(dimension)

    def rotate(self, rows: Floats) -> Floats:
        if _witness(self.dimension) != self._witness:  # computed once in every process
            raise ClusterError(_OTHERWISE)
        found = np.empty((len(rows), self.width))
        batch = _batch_rows(self.width)
        with np.errstate(all="ignore"):  # a warning could reveal records
            for start in range(0, len(rows), batch):
                some = rows[start : start + batch]
                filled = np.zeros((batch, self.width))  # a whole batch, the last rows zero
                filled[: len(some)] = some
                found[start : start + batch] = _transform(filled)[: len(some)]
        return found

    def restore_answer(self, vector: Floats) -> Floats:
        with _use_scipy():
            return np.asarray(scipy.fft.idct(vector, type=2, norm="ortho", axis=-1))

    def diagonal(self, variances: Floats) -> Floats:
        """Return Σ_k v_k·T_ki²: since 2·cos² α = 1 + cos 2α, a cosine sum at doubled frequencies, in one transform.
        They are means of the variances, hence between the least and the largest, to about 1e-15 of the largest."""
        size = self.dimension
        doubled = np.zeros(size)  # Σ_k a_k·cos(π·j·(2i + 1)/(2d)) with j = 2k; cos of 2d - j is the negative
        frequency = 2 * np.arange(1, size)
        low, high = frequency < size, frequency > size
        np.add.at(doubled, frequency[low], variances[1:][low])
        np.add.at(doubled, 2 * size - frequency[high], -variances[1:][high])
        unnormed = doubled * size * np.where(np.arange(size) == 0, 2.0, 1.0)
        with _use_scipy():
            waves = scipy.fft.idct(unnormed, type=2)
        return np.clip((variances.sum() + waves) / size, variances.min(), variances.max())


@lru_cache(maxsize=16)
def _witness(dimension: int) -> str | None:
    return witness(_transform, _batch_rows(dimension), dimension)


def _batch_rows(dimension: int) -> int:
    """Return the number of rows of a batch: a power of two that d alone decides."""
    wanted = max(1, _CELLS // dimension)
    return min(max(1 << (wanted.bit_length() - 1), _MIN_ROWS), _MAX_ROWS)


def _transform(batch: Floats) -> Floats:
    with _use_scipy():
        return np.asarray(scipy.fft.dct(batch, type=2, norm="ortho", axis=1, workers=1))


def _use_scipy() -> "scipy.fft.set_backend":
    """Use SciPy's own implementation, not a replacement that the process has chosen that was not checked."""
    return scipy.fft.set_backend("scipy", only=True)


def witness(transform: Callable[[Floats], Floats], rows: int, columns: int) -> str | None:
    """Return a digest that identifies a transform of batches of one fixed form by its bits on public vectors.
    None if the same row has other bits at another position or with other rows in its batch."""
    seen, other = _public(columns, 1), _public(columns, 2)
    scales = np.ldexp(1.0, np.resize(_EXPONENTS, rows))[:, None]
    alone = transform(np.tile(seen, (rows, 1)))
    found = [alone[:1]]
    for first in (0, 1):  # the row in every other place, with rows of all sizes between
        with np.errstate(under="ignore"):
            mixed = scales * other
        mixed[first::2] = seen
        found.append(transform(mixed))
        if any(row.tobytes() != alone[0].tobytes() for row in (*alone, *found[-1][first::2])):
            return None
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


def _public(columns: int, number: int) -> Floats:
    """Return fixed numbers in [-1/2, 1/2), made of whole ones: the same everywhere."""
    steps = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_SPREAD * number + 2) % np.uint64(2**32)
    return np.ldexp(steps.astype(np.float64), -32) - 0.5
