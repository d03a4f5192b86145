"""Neighbors on a secret ring: one record more or less changes three pairs at most (P15)."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.kernel.counts import NoisyCounts
from dimfree.kernel.numbers import positive, rising, scales
from dimfree.kernel.numbers import share as checked_share
from dimfree.kernel.parameters import checked_scoring
from dimfree.kernel.released import Released, Sealed
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.session import Session
from dimfree.kernel.statistics.scores import Scoring, lengths_of, total_scores
from dimfree.kernel.statistics.secret_ring import RING_SENSITIVITY, Ring
from dimfree.kernel.statistics.shares import excess, share_sensitivity


class RingPairs(Sealed):
    """The pairs of neighbors on a secret ring, and the queries that need no center."""

    __slots__ = ("_ring", "_session")

    def __init__(self, session: Session, ring: Ring) -> None:
        self._session, self._ring = session, ring

    @property
    def dimension(self) -> int:
        return self._ring.space.dimension

    def lengths(self, scale: Floats, share: Fraction, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: #{pairs no longer than a radius} - share·#{pairs} (P15)."""
        units, part, ring = (
            scales("scale", scale, self.dimension, scalar=False),
            checked_share("share", share),
            self._ring,
        )

        def read() -> Callable[[float], int]:
            lengths = np.sort(ring.lengths(units))
            return lambda at: excess(int(np.searchsorted(lengths, at, side="right")), len(lengths), part)

        return NoisyCounts(self._session, read, answers, self._moves(part), mu, "lengths on the ring")

    def unclipped_scores(self, scoring: Scoring, share: Fraction, grid: Floats, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: #{pairs that keep their whole score at a unit} - share·#{pairs} (P15).

        `grid` decides what is computed ahead, and between which units answers are given.
        """
        units, part, ring = rising("grid", grid), checked_share("share", share), self._ring
        scoring = checked_scoring(scoring, self.dimension)

        def read() -> Callable[[float], int]:
            lengths = lengths_of(ring.space, scoring, units)
            lengths.look(lengths.likely_unit(units, 1 - float(part)))
            return lambda unit: excess(ring.count - lengths.clipped(unit), ring.count, part)

        domain = float(units[0]), float(units[-1])
        return NoisyCounts(self._session, read, answers, self._moves(part), mu, "unit of the ring's scores", domain)

    def scores(self, scoring: Scoring, unit: float, mu: float) -> Released[Floats]:
        """Release Σ over the pairs of clipped scores: two pairs go and one comes, so √5, or 2√2 (P15)."""
        unit, scoring = positive("unit", unit), checked_scoring(scoring, self.dimension)
        moves, step = BALL * RING_SENSITIVITY[self._session.relation] * (1 + 1e-15), scoring.norm / BALL
        statistic = partial(total_scores, self._ring.space, scoring, unit)
        return self._session._release_finely(statistic, self.dimension, moves, step, mu, "variances on the ring")

    def _moves(self, share: Fraction) -> float:
        return share_sensitivity(share, self._session.relation)
