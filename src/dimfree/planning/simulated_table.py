"""A table of few simulated records that stand for many: real programs run on it, and no person is in it.

m records stand for n: whatever the kernel adds up is multiplied by n/m before noise is added. A secret sample has the
same records, which then stand for fewer. The records come in pairs about their mean and have the exact variances, so
that the error of an answer about that mean is noise and bias; the sampling error is known in closed form.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Branch
from dimfree.data.blocks import Mask
from dimfree.data.records import Records
from dimfree.kernel import Lookout, OuterProducts, Pairs, PrivateTable, RingPairs, Session, View
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import Phase
from dimfree.noise import SeededNoise
from dimfree.planning.spectra import DISTANCE
from dimfree.shapes import Shape
from dimfree.simulation import public_simulation

SEED = 20250607
ENTRIES, LEAST_ROWS, MOST_ROWS = 2**17, 96, 2048  # of a simulated table
PAIRED, MULTIPLIED = 512, 128  # records whose distances are taken, and whose outer products: their cost is square


class MirroredNoise(SeededNoise):
    """Seeded noise, or its mirror image: the error of two such runs that is linear in the noise cancels."""

    def __init__(self, seed: int, sign: int) -> None:
        super().__init__(seed)
        self._sign = sign

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self._sign * super().gaussian(stddev, size)


def simulated_records(stddevs: Floats, count: int, draw: int) -> tuple[Floats, Floats]:
    """(records that stand for `count`, their mean): Gaussian, far from zero, so that shrinking gains nothing."""
    coins, columns = public_simulation([SEED, draw]), len(stddevs)
    rows = min(count, max(LEAST_ROWS, min(MOST_ROWS, ENTRIES // columns)))
    half = coins.normal(size=(max(1, rows // 2), columns))
    half *= stddevs / np.sqrt((half**2).mean(axis=0))
    direction = coins.normal(size=columns)
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    return mean + np.stack([half, -half], axis=1).reshape(-1, columns), mean


class SimulatedTable(PrivateTable):
    """Simulated records that stand for `count`."""

    __slots__ = ("_count",)

    def __init__(
        self, rows: Floats, count: int, shape: Shape, budget: Budget, relation: Neighbours, noise: SeededNoise
    ) -> None:
        super().__init__(Space(Records(rows, None), shape), budget, relation, noise)
        self._count = count

    @property
    def public_count(self) -> int:
        return self._count

    def _session(self, branches: Calibration) -> Session:
        return SimulatedSession(self._count, self._space, self._noise, self.budget, self.relation, branches)


class SimulatedSession(Session):
    """A run on simulated records, each of which stands for so many `times`. Its stability test passes."""

    __slots__ = ("_times", "_whole")

    def __init__(self, count: int, space: Space, *rest: Any) -> None:
        self._times, self._whole = count / space.count, self
        super().__init__(space, *rest)

    def standing_for(self, times: float) -> "SimulatedSession":
        """The same run, in which each record stands for so many."""
        part = _Part.__new__(_Part)
        for name in Session.__slots__:
            if name != "_phase":
                setattr(part, name, getattr(self, name))
        part._times, part._whole = times, self._whole
        return part

    def take(self, branch: Branch) -> View:
        super().take(branch)
        return SimulatedView(self, self._space)

    def _exact(self, statistic: Any) -> Any:
        return self._times * statistic

    def _test(self, statistic: int) -> bool:
        self._phase = Phase.SPENDING
        return True

    def _public_count(self) -> float:
        return float(round(self._exact(self._space.count)))


class _Part(SimulatedSession):
    """Shares the phase of the whole, as it shares its charges."""

    __slots__ = ()

    @property
    def _phase(self) -> Phase:
        return self._whole._phase

    @_phase.setter
    def _phase(self, phase: Phase) -> None:
        self._whole._phase = phase


class SimulatedView(View):
    """Simulated records in some coordinates."""

    __slots__ = ()
    _session: SimulatedSession

    def of_all(self) -> View:
        return SimulatedView(self._session._whole, super().of_all()._space)

    def nested_samples(self, rates: tuple[float, float], sizes: tuple[int, int], capacity: int) -> tuple[View, View]:
        core, early = (self._sampled(min(rate, 1.0)) for rate in rates)
        return early, core._fewer(PAIRED)

    def poisson_sample(self, rate: float) -> View:
        return self._sampled(min(rate, 1.0))

    def pairs(self, capacity: int) -> Pairs:
        return super().pairs(0)

    def ring(self, capacity: int) -> RingPairs:
        return super().ring(0)

    def outer_products(self, lookout: Lookout) -> OuterProducts:
        """Columns are uncorrelated: what two have in common by chance grows with the root of the number of records."""
        fewer = self._fewer(MULTIPLIED)
        products, root = View.outer_products(fewer, lookout), np.sqrt(fewer._session._times)
        exact = products._outer
        products._outer = cache(lambda: _beside_divided(exact(), root))
        return products

    def _sampled(self, rate: float) -> "SimulatedView":
        return SimulatedView(self._session.standing_for(rate * self._session._times), self._space)

    def _fewer(self, most: int) -> "SimulatedView":
        """The first records, which stand for all."""
        if self._space.count <= most:
            return self
        first = self._space.records.chosen(np.arange(self._space.count) < most)
        session = self._session.standing_for(self._session._times * self._space.count / most)
        return SimulatedView(session, replace(self._space, records=first, _kept=[]))

    def _with(self, space: Space, among: Mask | None) -> View:
        return SimulatedView(self._session, space, among)


def _beside_divided(outer: Integers, root: float) -> Integers:
    beside = outer / root
    np.fill_diagonal(beside, outer.diagonal())
    return np.rint(beside).astype(np.int64)
