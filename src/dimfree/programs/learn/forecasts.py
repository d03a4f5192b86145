"""A few released numbers, and the gain each forecasts: noise of a spherical shape over that of a better one (P11).

Every number is a Gaussian release of its own and is read on the unfavourable side. Letters: u = direction of a record
from the centre, n̂ = released number of records, P = precision of the branch, T = a public orthonormal transform.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import OUTER_SENSITIVITY, Cosine, Directions, Lookout, Released, View
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.principal_directions import smallest_share
from dimfree.programs.learn.state import StageSetting, State

SPHERICAL, OWN, DCT, LEARNED = "spherical", "own axes", "dct", "learned"


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
        return name if gain >= max(c.WORTH, self.own) else self.without_rotation()

    def without_rotation(self) -> str:
        """Spherical noise only where the own axes surely gain little: a wrong choice of it costs far more than a wrong
        choice of the own axes."""
        return SPHERICAL if self.own_at_best < c.LITTLE else OWN

    def numbers(self) -> dict[str, float]:
        """As they stand in `Release.parameters`."""
        return {"forecast_own_axes": self.own, "forecast_dct": self.dct, "forecast_learned": self.learned}


@dataclass(frozen=True, repr=False)
class Sample:
    """Some records as seen from the centre, for as many numbers as are asked. The sample is private, its rate public.

    Data-independent subsample; sensitivity unchanged.
    """

    setting: StageSetting
    seen_from: Lookout  # centre and scale
    centre_error: float  # the centre's own squared error, over a record's squared length, both in units of the scale
    rate: float
    view: View

    @classmethod
    def from_centre(
        cls, setting: StageSetting, centre: tuple[Floats, Floats], stddev: Floats, scale: Floats
    ) -> "Sample":
        """From a centre and its variance; `scale` is what every coordinate is divided by."""
        place, blur = centre
        rate = _rate(setting)
        error = float((blur / scale**2).sum()) / float(((stddev**2 + blur) / scale**2).sum())
        return cls(setting, Lookout(place, scale), error, rate, setting.view.poisson_sample(rate))

    @property
    def count(self) -> float:
        return max(self.setting.count * self.rate, 1.0)

    def axes(self, state: State) -> tuple[State, tuple[float, float, float]]:
        """Gains forecast for the diagonal of the own axes, at worst and at best, and of the cosine transform."""
        seen = self._sighting()
        state, uneven = state.release(c.SCALAR_SHARE, seen.unevenness)
        state, weight = state.release(c.SCALAR_SHARE, seen.weight)
        worst = self._own(max(_low(uneven), 0.0) / max(_high(weight), 1.0))
        best = self._own(_high(uneven) / max(_low(weight), 1.0))
        state, rotated = self.cosine(state, seen)
        return state, (worst, best, rotated)

    def _sighting(self, *, spread_alone: bool = False) -> Directions:
        return self.view.directions(self.seen_from, Cosine.here(self.view.dimension), spread_alone=spread_alone)

    def cosine(self, state: State, seen: Directions | None = None) -> tuple[State, float]:
        """Gain forecast for the diagonal of the cosine transform; 0 where there is none in so many dimensions."""
        if Cosine.here(self.setting.view.dimension) is None:
            return state, 0.0
        seen = self._sighting(spread_alone=True) if seen is None else seen
        state, spread = state.release(c.SCALAR_SHARE, seen.spread)
        fewest = (self.setting.count - c.PESSIMISM * self.setting.count_stddev) * self.rate
        gain = c.NORMAL_ABSOLUTE * fewest / max(_high(spread), 1.0)
        return state, float(np.clip(gain, 0.0, math.sqrt(self.setting.view.dimension)))

    def _own(self, uneven: float) -> float:
        """(|p|₂·√d)^{1/4}, p = shares of the squared length in each coordinate, without the centre's own error: that
        adds `centre_error` of an isotropic Gaussian vector's shares, whose squares average 3/d²."""
        dimension, off = self.setting.view.dimension, min(self.centre_error, c.BLURRED)
        seen = uneven**2 * dimension - 2 * off * (1 - off) - 3 * off**2
        return float((max(seen, 0.0) / (1 - off) ** 2) ** 0.125)

    def one_direction(self, state: State, basis_mu: float) -> tuple[State, float]:
        """Gain of a basis learned at `basis_mu` if one direction held all correlation; 0: not admissible (P12)."""
        setting, dimension = self.setting, self.setting.view.dimension
        if not 1 < dimension <= c.MOST_COLUMNS:
            return state, 0.0
        state, found = state.release(c.SCALAR_SHARE, self.view.outer_products(self.seen_from).togetherness)
        share = self._share(max(_low(found), 0.0) / self.count)
        least = smallest_share(dimension, basis_mu / OUTER_SENSITIVITY[setting.relation], setting.count)
        if share < max(c.CLEARLY_CORRELATED * least, c.LEAST_CORRELATION):
            return state, 0.0
        return state, 1 / (math.sqrt(share / dimension) + math.sqrt(1 - share))

    def _share(self, seen: float) -> float:
        """Without what the centre's own error and the number of records alone would show."""
        return min(math.sqrt(max(seen**2 - self.centre_error**2 - 1 / self.count, 0.0)), c.MOST_SHARE)


def _rate(setting: StageSetting) -> float:
    """Which share of the records is looked at; public."""
    dimension = setting.view.dimension
    narrow = dimension <= c.MOST_COLUMNS
    enough = min(c.FORECAST_RECORDS, c.FORECAST_PRODUCTS / dimension**2) if narrow else c.FORECAST_RECORDS
    return min(1.0, enough / max(setting.count, 1.0))


def _low(found: Released[float]) -> float:
    return found.value - c.PESSIMISM * found.stddev


def _high(found: Released[float]) -> float:
    return found.value + c.PESSIMISM * found.stddev
