"""All distances among some records: searches for how far apart they are, then the core's mean behind its test."""

from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel.counts import NoisyCounts
from dimfree.kernel.numbers import RADII, precision, thousandths, whole, within
from dimfree.kernel.numbers import share as checked_share
from dimfree.kernel.released import KernelError, Released, Sealed
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.session import Session
from dimfree.kernel.statistics import stable
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.kernel.statistics.shares import excess, share_sensitivity
from dimfree.kernel.statistics.weighted_mean import mean_event, rounded_mean


class Pairs(Sealed):
    """The pairs of some records: noisy counts of friends, and one stability test with its mean."""

    __slots__ = ("_pairs", "_session")

    def __init__(self, session: Session, pairs: PairDistances) -> None:
        self._session = session
        self._pairs: PairDistances | None = pairs

    def friends(self, share: Fraction, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: the average number of friends at a radius, less a share of all records (M5')."""
        part, _ = checked_share("share", share), self._open_pairs()

        def exact(radius: float) -> int:
            pairs = self._open_pairs()  # the test overwrites their rows
            n = pairs.count
            return excess(Fraction(pairs.friend_pairs(radius), n) if n else 1, n, part)

        moves = share_sensitivity(part, self._session.relation)
        return NoisyCounts(self._session, lambda: exact, answers, moves, mu, "friend radius", RADII)

    def core_mean(
        self, radius: float, full_share: Fraction, tolerated: int, floor: int | None, mu: float
    ) -> Released[Floats] | None:
        """Release the mean of the records that agree, if the stability test passes; else None, and the session closes.

        The test and its mean are one query: the sensitivity follows from `floor` + 3, the least size of the larger of
        two stable neighbors under add/remove (P5'), or from the public size (P5). Neither is an argument of its own.

        Parameters
        ----------
        radius : float
            Records at most so far apart are friends.
        full_share : Fraction
            b: the share of friends from which a record has full weight.
        tolerated : int
            B: the largest value of the stability statistic.
        floor : int or None
            n₀, chosen by public and released numbers; None under replace-one.
        mu : float
            The precision of the mean.
        """
        session, pairs = self._session, self._open_pairs()
        relation, public = session.relation, session.relation is Neighbours.REPLACE_ONE
        if public != (floor is None):
            raise KernelError("A floor is given under add-remove, and only there.")
        radius, mu, full_share = within("radius", radius, *RADII), precision(mu), thousandths("full_share", full_share)
        tolerated, floor = whole("tolerated", tolerated), None if floor is None else whole("floor", floor)
        least = int(session._exact(pairs.count)) if floor is None else floor + 3
        if not stable.admissible(least, full_share, tolerated, relation):
            raise KernelError("No sensitivity is proved for this core.")
        moves = stable.core_sensitivity(least, full_share, tolerated, relation) * RADIUS
        event, bits = mean_event(moves, mu, pairs.rows.shape[1], radius / RADIUS, "mean")
        session._check_after_test(event)
        self._pairs = None  # its rows are overwritten below
        counts, integers = pairs.friend_counts(radius), pairs.in_steps(radius)
        statistic = stable.stability(counts, full_share, tolerated, relation)  # P4, P13
        if floor is not None:
            statistic = stable.capped_by_count(statistic, integers.count, floor)  # P5'
        if not session._test(statistic):  # P6
            return None
        charged = session._charge(event)
        weights = stable.weights(counts, stable.start_share(integers.count, relation), full_share)
        # invalid records and those off the grid come last and add nothing, whatever their weight
        exact = rounded_mean(integers.values, weights[: len(integers.values)], bits)
        noisy = exact + charged.draw(len(exact))  # Python integers: the float below sees only this sum
        return Released(noisy.astype(np.float64) * event.step, event)

    def _open_pairs(self) -> PairDistances:
        if self._pairs is None:
            raise KernelError("The test is made; nothing more is asked of these pairs.")
        return self._pairs
