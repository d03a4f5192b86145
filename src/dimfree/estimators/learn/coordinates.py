"""The stages after the core with a choice of coordinates: look where records point, choose, go on there (P11, P12).

Everything here works on released values; the records are seen by the mechanisms alone. Proof:
proofs/estimators/learn/coordinates.md. Letters: P = precision of the branch, n̂ = released number of records, D = what
the noise's shape has on its diagonal.
"""

import math
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.learn.forecasts import BLURRED, DCT, LEARNED, OWN, SPHERICAL, WORTH, Forecasts, Look
from dimfree.estimators.learn.principal_directions import (
    Spikes,
    coordinate_shares,
    coordinate_weights,
    found_spikes,
    promised_gain,
)
from dimfree.estimators.learn.variances import SMALL_NOISE, Learner
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.bases.learned import LearnedAxes
from dimfree.mechanisms.directions import Lookout
from dimfree.mechanisms.outer_sum import noisy_outer_sum, outer_sum

SCALAR_SHARE = 0.003  # of P, for each number asked
BASIS_SHARE = 0.05  # of P, for the matrix of directions


@dataclass
class Menu:
    """What a learner does when the coordinates are left to it."""

    learner: Learner
    turning: bool = True  # whether other axes than the records' own may be chosen

    def learn(self) -> None:
        """Recentre, ask, choose, and go on in the coordinates chosen; nothing is asked where noise matters little."""
        self.learner.words["basis"] = OWN
        ways = {OWN: self._own_axes, DCT: self._cosine, LEARNED: self._learned, SPHERICAL: self._spherical}
        if self.learner.setting.space.dimension == 1 or self.learner.noise_over_sampling() <= SMALL_NOISE:
            self.learner.learn()
        else:
            self.learner.recentre()
            ways[self._ask()]()

    def _ask(self) -> str:
        learner = self.learner
        look = self._look(np.ones_like(learner.stddev))
        if look.off > BLURRED:
            return OWN
        coordinates = look.coordinates(learner.known, self._scalar)
        forecasts = Forecasts(*coordinates, look.together(learner.known, self._scalar, self._basis_mu()))
        chosen = forecasts.best() if self.turning else forecasts.without_turning()
        learner.words |= forecasts.words() | {"basis": chosen}
        return chosen

    def _own_axes(self) -> None:
        """The diagonal path; between its rounds a look at whether the rescaled coordinates move together."""
        learner = self.learner
        learner.first_round()
        spread = learner.stddev
        gain = self._look(np.sqrt(spread)).together(learner.known, self._scalar, self._basis_mu())
        learner.words["forecast_refined"] = gain
        if self.turning and gain >= WORTH and self._directions(spread):
            learner.run_stages(1.0)
        else:
            learner.last_round()

    def _cosine(self) -> None:
        self.learner.move_to(Cosine(self.learner.setting.space.dimension))
        self.learner.first_round()
        self.learner.last_round()

    def _learned(self) -> None:
        self._measure()
        if not self._directions(np.ones_like(self.learner.stddev)):
            self.learner.words["basis"] = SPHERICAL
        self.learner.run_stages(1.0)

    def _spherical(self) -> None:
        self._measure()
        self.learner.run_stages(1.0)

    def _measure(self) -> None:
        """Variances of the columns for the error bars; their mean is that of a spherical shape."""
        learner = self.learner
        own = learner.measure_own()
        learner.stddev = np.full_like(learner.stddev, math.sqrt(float(own.variances.mean())))

    def _directions(self, spread: Floats) -> bool:
        """One release of the matrix of directions (P12); whether the coordinates it gives are worth moving to."""
        learner, setting = self.learner, self.learner.setting
        lookout = Lookout(learner.centre()[0], np.sqrt(spread))
        outer = outer_sum(setting.space, lookout)
        found = noisy_outer_sum(outer, learner.spend(BASIS_SHARE), setting.relation, noise=setting.noise)
        learner.known.events.append(found.event)
        noise = found.event.stddev * found.event.step
        spikes = found_spikes(found.value, noise, setting.count, spread / spread.sum())
        gain = promised_gain(spikes, spread)
        learner.words |= {"promised_gain": gain, "directions": len(spikes.shares)}
        if gain >= WORTH:
            learner.lookout = lookout
            self._move_along(spikes, spread)
        return gain >= WORTH

    def _move_along(self, spikes: Spikes, spread: Floats) -> None:
        learner, weights = self.learner, coordinate_weights(spikes, spread)
        total = float((learner.stddev**2 / spread).sum())
        stddev = np.sqrt(coordinate_shares(spikes, len(spread)) * total) * weights
        learner.words["basis"], learner.spikes = LEARNED, spikes
        learner.own = learner.own or learner.look
        learner.move_to(LearnedAxes(spikes.directions, np.sqrt(spread), weights), stddev)

    def _look(self, scale: Floats) -> Look:
        learner = self.learner
        return Look.from_centre(learner.setting, learner.centre(), learner.stddev, scale)

    def _scalar(self) -> float:
        return self.learner.spend(SCALAR_SHARE)

    def _basis_mu(self) -> float:
        return math.sqrt(BASIS_SHARE * self.learner.precision)
