"""A digest that identifies an external transform by its bits on public vectors.

The transform is given batches of one fixed form only. Public batches show whether the bits of a row are the same in
every place and next to any other rows, and whether two machines compute the same. Proof: proofs/rows/bases.md.
"""

import hashlib
from collections.abc import Callable

import numpy as np

from dimfree._types import Floats

Transform = Callable[[Floats], Floats]  # of a batch (rows, columns) of fixed form

_SPREAD = 2654435761  # odd, so multiples modulo 2^32 go through all residues
_EXPONENTS = (0, -1070, 900, -500, 3)  # of neighbours: subnormal, huge, small, of the same size


def witness(transform: Transform, rows: int, columns: int) -> str | None:
    """The digest; None where the same row has other bits in another place or beside other rows."""
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
    """Fixed numbers in [-1/2, 1/2), made of whole ones: the same everywhere."""
    steps = np.arange(1, columns + 1, dtype=np.uint64) * np.uint64(_SPREAD * number + 2) % np.uint64(2**32)
    return np.ldexp(steps.astype(np.float64), -32) - 0.5
