"""Queries about pairs of records: all distances among them, with the core's mean behind its test; a secret ring.

The distance between records is searched as the point where a count less a share of all turns positive (M5', P15):
- S(u) - q·n, S(u) the average number of friends at the radius u, S = 1 for no records (proofs/statistics/friends.md);
- #{pairs on the ring with a property} - q·m, m the number of pairs (proofs/statistics/secret_ring.md).
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import parameters as public
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import NoisyCounts, Released, Sealed, Session
from dimfree.kernel.statistics import stable
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.friends import RADIUS
from dimfree.kernel.statistics.scores import ScoreLengths, Scoring, total_scores
from dimfree.kernel.statistics.secret_ring import RING_SENSITIVITY, ring_lengths


def share_sensitivity(share: Fraction, relation: Neighbors) -> float:
    """Return the sensitivity of a count less a share, in records or pairs: max(1 + q, 2 - q), or 2 under replace-one.
    One grid step is added for rounding down to the grid."""
    moves = max(1 + share, 2 - share) if relation is Neighbors.ADD_REMOVE else Fraction(2)
    return float(moves) + 1 / SEARCH_STEPS


def excess(counted: Fraction | int, of: int, share: Fraction) -> int:
    """Return the count less the share of all, in grid steps, rounded down. Private."""
    return math.floor((counted - share * of) * SEARCH_STEPS)


class Pairs(Sealed):
    """The pairs of some records: noisy counts of friends, and one stability test with its mean."""

    __slots__ = ("_pairs", "_session")

    def __init__(self, session: Session, pairs: PairDistances) -> None:
        self._session = session
        self._pairs: PairDistances | None = pairs

    def friends(self, share: Fraction, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: the average number of friends at a radius, less a share of all records (M5')."""
        part, _ = public.share(share), self._open_pairs()

        def exact(radius: float) -> int:
            pairs = self._open_pairs()  # the test overwrites their rows
            n = pairs.count
            return excess(Fraction(pairs.friend_pairs(radius), n) if n else 1, n, part)

        moves = share_sensitivity(part, self._session.relation)
        return NoisyCounts(self._session, lambda: exact, answers, moves, mu, "friend radius", public.RADII)

    def core_mean(
        self, radius: float, full_share: Fraction, tolerated: int, floor: int | None, mu: float
    ) -> Released[Floats] | None:
        """Release the mean of the records that agree, if the stability test passes; else None, and the session closes.
        The test and its mean are one query: the sensitivity follows from `floor` + 3, the least size of the larger of
        two stable neighbors under add-remove (P5'), or from the public size (P5). Neither is an argument.
        Records at most `radius` apart are friends; `full_share` is b, `tolerated` is B, `floor` is n₀, chosen by public
        and released numbers (None under replace-one), and `mu` the precision of the mean."""
        session, pairs, relation = self._session, self._open_pairs(), self._session.relation
        if (relation is Neighbors.REPLACE_ONE) != (floor is None):
            raise KernelError("`floor` is given under add-remove, and only there.")
        radius, mu = public.within("radius", radius, *public.RADII), public.precision(mu)
        full_share, tolerated = public.thousandths("full_share", full_share), public.whole("tolerated", tolerated)
        floor = None if floor is None else public.whole("floor", floor)
        least = int(session._exact(pairs.count)) if floor is None else floor + 3
        if not stable.admissible(least, full_share, tolerated, relation):
            raise KernelError("No sensitivity is proved for these parameters of the core.")
        moves = stable.core_sensitivity(least, full_share, tolerated, relation) * RADIUS
        event, bits = stable.mean_event(moves, mu, pairs.rows.shape[1], radius / RADIUS, "mean")
        session._check_after_test(event)
        self._pairs = None  # its rows are overwritten below
        n, counts, values = pairs.count, pairs.friend_counts(radius), pairs.in_steps(radius)
        statistic = stable.stability(counts, full_share, tolerated, relation)  # P4, P13
        if floor is not None:
            statistic = stable.cap_by_count(statistic, n, floor)  # P5'
        if not session._test(statistic):  # P6
            return None
        charged = session._charge(event)
        weights = stable.weights(counts, stable.start_share(n, relation), full_share)
        # invalid records and those off the grid come last and add nothing, whatever their weight
        exact = stable.round_mean(values, weights[: len(values)], bits)
        noisy = exact + charged.draw(len(exact))  # Python integers: the float below sees only this sum
        return Released(noisy.astype(np.float64) * event.step, event)

    def _open_pairs(self) -> PairDistances:
        if self._pairs is None:
            raise KernelError("The stability test is made; these pairs answer nothing more.")
        return self._pairs


class RingPairs(Sealed):
    """The pairs of neighbors on a secret ring, of which one record changes three; queries without a center."""

    __slots__ = ("_ring", "_session")

    def __init__(self, session: Session, ring: Space) -> None:
        self._session, self._ring = session, ring

    @property
    def dimension(self) -> int:
        return self._ring.dimension

    def lengths(self, scale: Floats, share: Fraction, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: #{pairs no longer than a radius} - share·#{pairs} (P15)."""
        units, part = public.scales("scale", scale, self.dimension, scalar=False), public.share(share)

        def read() -> Callable[[float], int]:
            lengths = np.sort(ring_lengths(self._ring, units))
            return lambda at: excess(int(np.searchsorted(lengths, at, side="right")), len(lengths), part)

        moves = share_sensitivity(part, self._session.relation)
        return NoisyCounts(self._session, read, answers, moves, mu, "lengths on the ring")

    def count_unclipped(self, scoring: Scoring, share: Fraction, grid: Floats, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: #{pairs that keep their whole score at a unit of a grid} - share·#{pairs} (P15)."""
        units, part, ring = public.rising("grid", grid), public.share(share), self._ring
        scoring = public.scoring(scoring, self.dimension)

        def read() -> Callable[[float], int]:
            lengths = ScoreLengths(ring, scoring)
            lengths.clipped(lengths.likely_unit(units, 1 - float(part)))
            return lambda unit: excess(ring.count - lengths.clipped(unit), ring.count, part)

        moves, domain = share_sensitivity(part, self._session.relation), (float(units[0]), float(units[-1]))
        return NoisyCounts(self._session, read, answers, moves, mu, "unit of the ring's scores", domain)

    def scores(self, scoring: Scoring, unit: float, mu: float) -> Released[Floats]:
        """Release Σ over the pairs of clipped scores: two pairs disappear and one appears, so √5, or 2√2 (P15)."""
        unit, scoring = public.positive("unit", unit), public.scoring(scoring, self.dimension)
        moves, step = BALL * RING_SENSITIVITY[self._session.relation] * (1 + 1e-15), scoring.norm / BALL
        statistic = partial(total_scores, self._ring, scoring, unit)
        return self._session._release(statistic, self.dimension, moves, step, mu, "variances on the ring")
