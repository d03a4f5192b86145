"""A table of a few simulated records, each of which stands for many: the real estimators run on it to plan a study.

m records stand for n: every sum of the kernel is multiplied by n/m before noise is added. A secret sample has the same
records, which then stand for fewer. The records come in pairs about their mean and have the exact variances, so the
error of an answer about that mean is noise and bias; the sampling error is known in closed form.

The table draws its records and its noise from public seeds, and accepts neither: no real record and no private coin can
enter it. It overrides, of the kernel: the session (`_exact`: records stand for many; `_charge`: each
purpose has its own noise; `_test`: the stability test passes); and the samples of a view, which take no records away.
"""

from dataclasses import replace
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Branch, Gaussian
from dimfree.data.blocks import Mask
from dimfree.data.records import Records
from dimfree.kernel import DirectionCenter, OuterProducts, Pairs, PrivateTable, RingPairs, Session, View
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import ChargedNoise, Phase
from dimfree.noise import SeededNoise
from dimfree.planning.question import DISTANCE
from dimfree.shapes import Covariance
from dimfree.simulation import public_simulation

SEED = 20250607
ENTRIES, MIN_ROWS, MAX_ROWS = 2**17, 96, 2048  # of a simulated table
PAIRED, MULTIPLIED = 512, 128  # number of records for distances, and for outer products: the cost is quadratic


class MirroredNoise(SeededNoise):
    """Seeded noise, or its mirror image: the error of two such runs that is linear in the noise cancels."""

    def __init__(self, seed: int, sign: int) -> None:
        super().__init__(seed)
        self._seed, self._sign = seed, sign
        self._streams = dict[str, MirroredNoise]()

    def gaussian(self, stddev: float, size: int) -> Integers:
        return self._sign * super().gaussian(stddev, size)

    def stream(self, purpose: str) -> "MirroredNoise":
        """Return the noise of one purpose, which does not depend on the draws of others."""
        seed = self._seed + (crc32(purpose.encode()) << 32)
        return self._streams.setdefault(purpose, MirroredNoise(seed, self._sign))


def simulate_records(stddevs: Floats, count: int, draw: int) -> tuple[Floats, Floats]:
    """Simulate (records that stand for `count`, their mean): Gaussian, far from zero: shrinkage gains nothing."""
    coins, columns = public_simulation([SEED, draw]), len(stddevs)
    rows = min(count, max(MIN_ROWS, min(MAX_ROWS, ENTRIES // columns)))
    half = coins.normal(size=(max(1, rows // 2), columns))
    half *= stddevs / np.sqrt((half**2).mean(axis=0))
    direction = coins.normal(size=columns)
    mean = direction * (DISTANCE * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    return mean + np.stack([half, -half], axis=1).reshape(-1, columns), mean


class SimulatedTable(PrivateTable):
    """Simulated records that stand for `count`, and simulated noise; `mean` is that of the records."""

    __slots__ = ("_count", "mean")

    def __init__(
        self,
        stddevs: Floats,
        count: int,
        shape: Covariance,
        budget: Budget,
        relation: Neighbors,
        draw: int = 0,
        sign: int = 1,
    ) -> None:
        rows, self.mean = simulate_records(stddevs, count, draw)
        super().__init__(Space(Records(rows, None), shape), budget, relation, MirroredNoise(SEED + draw, sign))
        self._count = count

    @property
    def public_count(self) -> int:
        return self._count

    def _session(self, branches: Calibration) -> Session:
        return SimulatedSession(self._count, self._space, self._noise, self.budget, self.relation, branches)


class SimulatedSession(Session):
    """A run on simulated records, each of which stands for `times` records. Its stability test passes."""

    __slots__ = ("_times", "_whole")

    def __init__(self, count: int, space: Space, *rest: Any) -> None:
        self._times, self._whole = count / space.count, self
        super().__init__(space, *rest)

    def standing_for(self, times: float) -> "SimulatedSession":
        """Return the same run, with the same charges, in which each record stands for `times` records."""
        part = _Part.__new__(_Part)
        for name in Session.__slots__:
            if name != "_phase":
                setattr(part, name, getattr(self, name))
        part._times, part._whole = times, self._whole
        return part

    def take(self, branch: Branch) -> View:
        super().take(branch)
        return SimulatedView(self, self._space)

    def _charge(self, event: Gaussian) -> ChargedNoise:
        super()._charge(event)
        assert isinstance(self._noise, MirroredNoise)  # `SimulatedTable`
        return ChargedNoise(event, self._noise.stream(event.purpose))

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

    def draw_nested_samples(
        self, rates: tuple[float, float], sizes: tuple[int, int], capacity: int
    ) -> tuple[View, View]:
        core, early = (self._sampled(rate) for rate in rates)
        return early, core._fewer(PAIRED)

    def poisson_sample(self, rate: float) -> View:
        return self._sampled(rate)

    def pairs(self, capacity: int) -> Pairs:
        return super().pairs(0)

    def ring(self, capacity: int) -> RingPairs:
        return super().ring(0)

    def outer_products(self, lookout: DirectionCenter) -> OuterProducts:
        """Scale products of two columns by the root of the number of records, since columns are uncorrelated."""
        fewer = self._fewer(MULTIPLIED)
        products, root = View.outer_products(fewer, lookout), np.sqrt(fewer._session._times)
        exact = products._outer

        def weaker() -> Integers:
            outer = exact()
            divided = outer / root
            np.fill_diagonal(divided, outer.diagonal())
            return np.rint(divided).astype(np.int64)

        products._outer = cache(weaker)
        return products

    def _sampled(self, rate: float) -> "SimulatedView":
        return SimulatedView(self._session.standing_for(min(rate, 1.0) * self._session._times), self._space)

    def _fewer(self, most: int) -> "SimulatedView":
        """Return the first records, which stand for all."""
        if self._space.count <= most:
            return self
        first = self._space.records.select_rows(np.arange(self._space.count) < most)
        session = self._session.standing_for(self._session._times * self._space.count / most)
        return SimulatedView(session, replace(self._space, records=first))

    def _with(self, space: Space, among: Mask | None) -> View:
        return SimulatedView(self._session, space, among)
