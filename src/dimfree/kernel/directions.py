"""Queries about the directions of the records from a public center: three scalars, the sum of outer products."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.events import charge_gaussian
from dimfree.kernel.parameters import precision
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.session import Released, Sealed, Session
from dimfree.kernel.statistics.unit_vectors import CROSS, DIAGONAL, EVEN, OUTER_SENSITIVITY, STEPS, UNIT, whole_length
from dimfree.progress import during


class Directions(Sealed):
    """Three numbers from one pass over the directions; the sensitivity is 0.3, 1 and 1 under both relations (P11)."""

    __slots__ = ("_seen", "_session")

    def __init__(self, session: Session, read: Callable[[], Integers]) -> None:
        self._session, self._seen = session, cache(read)  # after the first charge

    def unevenness(self, mu: float) -> Released[float]:
        """Release |Σ k·u∘u|₂: large if a few coordinates hold the offsets. The sensitivity is 0.3: no term is negative,
        so that the length is shortest without the record, and replacing a record changes it no more."""
        purpose = "unevenness of the coordinates"
        return self._session._release_number(lambda: whole_length(self._seen()[:-2]), BALL, EVEN / BALL, mu, purpose)

    def weight(self, mu: float) -> Released[float]:
        """Release Σ k, the normalizer; sensitivity 1."""
        purpose = "weight of the coordinates"
        return self._session._release_number(lambda: int(self._seen()[-2]), STEPS, 1 / STEPS, mu, purpose)

    def l1_norm(self, mu: float) -> Released[float]:
        """Release Σ |T u|₁/√D: small if directions have few large coordinates in T; sensitivity 1."""
        return self._session._release_number(
            lambda: int(self._seen()[-1]), STEPS, 1 / STEPS, mu, "l1 norm in the basis"
        )


class OuterProducts(Sealed):
    """Two releases of one exact matrix A = Σ u·uᵀ, of sensitivity 1 in the Frobenius norm, or √2 (P11, P12)."""

    __slots__ = ("_dimension", "_outer", "_session")

    def __init__(self, session: Session, read: Callable[[], Integers], dimension: int) -> None:
        self._session, self._dimension = session, dimension
        self._outer = cache(read)  # after the first charge

    def off_diagonal_norm(self, mu: float) -> Released[float]:
        """Release |A - diag A|_F; leaving the diagonal out shortens a difference of two sums (P11)."""

        def number() -> int:
            off_diagonal = self._outer().copy()
            np.fill_diagonal(off_diagonal, 0)
            return whole_length(off_diagonal) * STEPS // UNIT

        moves = math.ceil(STEPS * OUTER_SENSITIVITY[self._session.relation])
        return self._session._release_number(number, moves, 1 / STEPS, mu, "off-diagonal norm of the directions")

    @during("basis")
    def matrix(self, mu: float) -> Released[Floats]:
        """Release A with symmetric noise: variance s² on the diagonal, about s²/2 off it (P12): equal noise in the half
        matrix (29·A_ii, 41·A_ij), i < j, which is no longer than 29 times the whole. Row by row, for memory."""
        mu = precision(mu)
        size, session = self._dimension, self._session
        moves = math.ceil(DIAGONAL * UNIT * OUTER_SENSITIVITY[session.relation])
        charged = session._charge(charge_gaussian(moves, mu, size * (size + 1) // 2, 1 / (DIAGONAL * UNIT), "basis"))
        outer, drawn = session._exact(self._outer()), charged.draw(charged.event.dimension)
        noisy, start = np.zeros((size, size)), 0
        for row in range(size):
            weights = np.full(size - row, CROSS)
            weights[0] = DIAGONAL
            noisy[row, row:] = (outer[row, row:] * weights + drawn[start : start + size - row]) / weights
            start += size - row
        return Released((noisy + np.triu(noisy, 1).T) / UNIT, charged.event)
