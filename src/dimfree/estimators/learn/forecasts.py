"""A few released numbers, and what each forecasts: the noise of a spherical shape over that of a better one (P11).

Every number is a Gaussian release of its own and is read on the unfavourable side. The records are seen by the
mechanisms alone. Letters: u = direction of a record from the centre, n̂ = released number of records, P = precision.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.core.subsample import poisson_sample
from dimfree.data.blocks import Mask
from dimfree.estimators.learn.principal_directions import MOST_COLUMNS, smallest_share
from dimfree.estimators.learn.stages import Knowledge, StageSetting
from dimfree.geometry.bases.cosine import Cosine
from dimfree.mechanisms import Measured
from dimfree.mechanisms.directions import Lookout, Sighting, noisy_spread, noisy_unevenness, noisy_weight, sighted
from dimfree.mechanisms.outer_sum import MOVES, noisy_togetherness, outer_sum

SPHERICAL, OWN, DCT, LEARNED = "spherical", "own axes", "dct", "learned"
WORTH = 1.03  # a gain below this is not worth other coordinates
LITTLE = 1.1  # a gain of the own axes that is surely below this is not worth learning their variances
BLURRED = 0.7  # of a record's squared length, seen from the centre, that is the centre's own error: nothing is told
_PESSIMISM = 1.5  # deviations of its noise by which a number is read on the unfavourable side
_NORMAL = 0.8  # E|g|, g standard normal: |T u|₁/√D of a direction without any preference
_LEAST_TOGETHER, _CLEARLY = 0.15, 2.0  # of n̂, and times the weakest share that would be found: admissible (P12)
_MOST_SHARE = 0.98
_LOOKED_AT, _PRODUCTS = 20_000, 2e11  # records, and products of two coordinates, that tell enough

Spend = Callable[[], float]  # the mu of one number


@dataclass(frozen=True)
class Forecasts:
    """How many times less noise than spherical each choice promises, read on the unfavourable side; at most 1: nothing
    to gain. `own_at_best` is read on the favourable side."""

    own: float
    own_at_best: float
    dct: float
    learned: float

    def best(self) -> str:
        name, gain = max(((DCT, self.dct), (LEARNED, self.learned)), key=lambda each: each[1])
        return name if gain >= max(WORTH, self.own) else self.without_turning()

    def without_turning(self) -> str:
        """The own axes are given up for spherical noise only where they surely gain little: a wrong step away from them
        costs far more than one to them."""
        return SPHERICAL if self.own_at_best < LITTLE else OWN

    def words(self) -> dict[str, float | str]:
        return {"forecast_own_axes": self.own, "forecast_dct": self.dct, "forecast_learned": self.learned}


@dataclass(frozen=True, repr=False)
class Look:
    """Some records as seen from the centre, for as many numbers as are asked. The sample is private, its rate public.

    Coins are drawn without regard to what a record says, so nothing moves by more than with all records.
    """

    setting: StageSetting
    lookout: Lookout
    off: float  # the centre's own squared error, over a record's squared length, both in the lookout's units
    rate: float
    sampled: Mask | None

    @classmethod
    def from_centre(cls, setting: StageSetting, centre: tuple[Floats, Floats], stddev: Floats, scale: Floats) -> "Look":
        """From a centre and its blur; `scale` is what every coordinate is divided by."""
        place, blur = centre
        rate = _rate(setting)
        sampled = None if rate >= 1 else poisson_sample(setting.space.count, rate, setting.noise)
        off = float((blur / scale**2).sum()) / float(((stddev**2 + blur) / scale**2).sum())
        return cls(setting, Lookout(place, scale), off, rate, sampled)

    @property
    def count(self) -> float:
        return max(self.setting.count * self.rate, 1.0)

    def coordinates(self, known: Knowledge, spend: Spend) -> tuple[float, float, float]:
        """Gains forecast for the diagonal of the own axes, at worst and at best, and of the cosine transform."""
        setting, dimension = self.setting, self.setting.space.dimension
        cosine = Cosine.here(dimension)
        seen = sighted(setting.space, self.lookout, cosine, self.sampled)
        uneven = noisy_unevenness(seen, spend(), noise=setting.noise)
        weight = noisy_weight(seen, spend(), noise=setting.noise)
        known.events += [uneven.event, weight.event]
        worst = self._own(max(_low(uneven), 0.0) / max(_high(weight), 1.0))
        best = self._own(_high(uneven) / max(_low(weight), 1.0))
        return worst, best, 0.0 if cosine is None else self._cosine(seen, known, spend())

    def _cosine(self, seen: Sighting, known: Knowledge, mu: float) -> float:
        spread = noisy_spread(seen, mu, noise=self.setting.noise)
        known.events.append(spread.event)
        fewest = (self.setting.count - _PESSIMISM * self.setting.count_stddev) * self.rate
        return float(np.clip(_NORMAL * fewest / max(_high(spread), 1.0), 0.0, math.sqrt(self.setting.space.dimension)))

    def _own(self, uneven: float) -> float:
        """(|p|₂·√d)^{1/4}, p = shares of the squared length in each coordinate, without the centre's own error: that
        adds `off` of an isotropic Gaussian vector's shares, whose squares average 3/d²."""
        dimension, off = self.setting.space.dimension, min(self.off, BLURRED)
        seen = uneven**2 * dimension - 2 * off * (1 - off) - 3 * off**2
        return float((max(seen, 0.0) / (1 - off) ** 2) ** 0.125)

    def together(self, known: Knowledge, spend: Spend, basis_mu: float) -> float:
        """The gain forecast for a learned basis, as if a single direction held all that is seen; 0: not admissible."""
        dimension = self.setting.space.dimension
        if not 1 < dimension <= MOST_COLUMNS:
            return 0.0
        outer = outer_sum(self.setting.space, self.lookout, self.sampled)
        found = noisy_togetherness(outer, spend(), self.setting.relation, noise=self.setting.noise)
        known.events.append(found.event)
        share = self._share(max(_low(found), 0.0) / self.count)
        least = smallest_share(dimension, basis_mu / MOVES[self.setting.relation], self.setting.count)
        if share < max(_CLEARLY * least, _LEAST_TOGETHER):
            return 0.0
        return 1 / (math.sqrt(share / dimension) + math.sqrt(1 - share))

    def _share(self, seen: float) -> float:
        """Without what the centre's own error and the number of records alone would show."""
        return min(math.sqrt(max(seen**2 - self.off**2 - 1 / self.count, 0.0)), _MOST_SHARE)


def _rate(setting: StageSetting) -> float:
    """Which share of the records to look at; public."""
    dimension = setting.space.dimension
    enough = min(_LOOKED_AT, _PRODUCTS / dimension**2) if dimension <= MOST_COLUMNS else _LOOKED_AT
    return min(1.0, enough / max(setting.count, 1.0))


def _noise(found: Measured[float]) -> float:
    return _PESSIMISM * found.event.stddev * found.event.step


def _low(found: Measured[float]) -> float:
    return found.value - _noise(found)


def _high(found: Measured[float]) -> float:
    return found.value + _noise(found)
