"""Stages in a shape that is learned on the way: variances, stages, better variances, better stages (P8, P10).

Works on released values; the records are seen by the mechanisms alone. Proof: proofs/adapt.md.
Letters: c = centre, PV = its posterior variance, σ = standard deviations, mm = sqrt(σ² + PV): spread of a record about
the centre; P = precision of the branch, p = that of a stage; ρ = clipping radius.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dimfree.beliefs import LearnedShape
from dimfree.budget import Neighbours
from dimfree.learn import denoised, learned_variances
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.scores import MOVES, Scoring, noisy_scores, noisy_unit
from dimfree.mechanisms.search import geometric_grid, queries
from dimfree.scale import LearnedRadius
from dimfree.schedule import good_enough
from dimfree.sources.progress import during
from dimfree.stages import (
    NARROW,
    WINDOW,
    Knowledge,
    Output,
    RadiusSearch,
    StageSetting,
    searched,
    searched_radius,
    stage,
    unsearched,
)

FIRST_ROUND = 0.25  # of P, for the stages before variances are learned again
LOSS = 0.1  # learning the variances again pays above this uncertainty
_UNCLIPPED = 0.8
_UNIT_SHARES = (0.005, 0.02)
_VARIANCE_SHARES = (0.02, 0.10)  # of P, at least and at most
_SEARCH_SHARES = (0.005, 0.02)
_FLOOR = 0.15  # of a second moment, that subtracting the centre's own blur leaves at least
_RATIOS = (1.5, 2.5, 4.0, 8.0)
_MOST_STAGES = 5
_AUDIBLE = 1.2  # nothing is known of the tails: rather a wider ball than a biased mean
_BELOW_SAMPLING, _MOST_ROOM = 0.5, 3.0
_WEIGHTY = 0.05  # of P: a stage of at least this searches its radius

Floats = NDArray[np.float64]


@dataclass
class Learner:
    """The pass branch after the core: what is known, and how much precision is left."""

    setting: StageSetting
    known: Knowledge
    precision: float
    left: float
    farthest: float  # 2 λ: honest records lie no farther apart
    trace: float
    stddev: Floats
    log_variance: Floats
    blurred: Floats | float = 0.0  # by how much ln σ was lowered for the centre's own blur, which is uncertain, too
    ratio: float = 1.0  # last found: clipping radius over the predicted length of a record
    window: tuple[float, float] = WINDOW  # where to look for it next

    @classmethod
    def after_core(
        cls, setting: StageSetting, mean: Measured[Floats], precision: float, share: float, learned: LearnedRadius
    ) -> "Learner":
        """Equal variances to begin with; the core's output is the first thing known."""
        dimension = setting.space.dimension
        typical = np.full(dimension, learned.trace / dimension)
        known = Knowledge()
        variance = np.full(dimension, (mean.event.stddev * mean.event.step) ** 2)
        known.add(Output(mean.value, variance, unsearched(typical).bias), mean.event)
        left = precision * (1 - share)
        no_idea = np.full(dimension, math.inf)
        return cls(setting, known, precision, left, 2 * learned.radius, learned.trace, np.sqrt(typical), no_idea)

    @property
    def shape(self) -> LearnedShape:
        return LearnedShape(self.stddev**2, np.sqrt(self.log_variance + self.blurred**2))

    @property
    def clipping(self) -> Floats:
        """How far clipping may have moved the answer, beyond what symmetric records would notice."""
        return (1 - 0.5 / _lean(self._rank)) * self.known.allowed_bias()

    @property
    def _rank(self) -> float:
        """How many coordinates share the spread of a record."""
        return float(self.stddev.sum() ** 2 / (self.stddev**2).sum())

    def learn(self) -> None:
        """Variances, a first round of stages; variances again if that pays; the last round with all that is left."""
        self.learn_variances()
        self.run_stages(FIRST_ROUND * self.precision / self.left)
        if self.loss() > LOSS:
            self.learn_variances()
        self.run_stages(1.0)

    def loss(self) -> float:
        """How uncertain the shape is, where it matters: what a second look could mend."""
        return float((self.stddev * self.log_variance).sum() / self.stddev.sum())

    def spend(self, share: float) -> float:
        """The mu of a share of P, taken from what is left."""
        taken = min(share * self.precision, self.left)
        self.left -= taken
        return math.sqrt(taken)

    def centre(self) -> tuple[Floats, Floats]:
        return denoised(*self.known.combined())

    @during("variances")
    def learn_variances(self) -> None:
        """One variance release about the denoised centre (P10), and what it says of σ."""
        setting, dimension = self.setting, self.setting.space.dimension
        centre, blur = self.centre()
        mu = self.spend(float(np.clip(50 * dimension / (setting.count**2 * self.precision), *_VARIANCE_SHARES)))
        scoring = Scoring(centre, self.stddev, self._norm(mu))
        middle = float(((self.trace / dimension + blur) / self.stddev**2).mean())
        grid = middle * geometric_grid(1e-3, 1e5, 1.35)
        allowed = (1 - _UNCLIPPED) * setting.count
        unit_share = queries(len(grid) - 1) / (0.05 * setting.count) ** 2 / self.precision  # off by 5 % of the records
        unit_mu = self.spend(float(np.clip(unit_share, *_UNIT_SHARES)))
        unit = noisy_unit(setting.space, scoring, allowed, grid, unit_mu, noise=setting.noise)
        measured = noisy_scores(setting.space, scoring, unit.value, mu, setting.relation, noise=setting.noise)
        self.known.events += [unit.event, measured.event]
        noise = measured.event.stddev * measured.event.step / setting.count
        learned = learned_variances(measured.value / setting.count, noise, unit.value * self.stddev**2)
        self.stddev = np.sqrt(np.maximum(learned.second_moments - blur, _FLOOR * learned.second_moments))
        self.log_variance = learned.log_stddev_variance
        self.blurred = 0.5 * np.log(learned.second_moments / self.stddev**2)
        self.ratio, self.window = 1.0, WINDOW  # found in another shape

    def _norm(self, mu: float) -> float:
        """C: no longer than the noise of a sum allows a common coordinate to stand out, nor than a score gets."""
        dimension, moves = self.setting.space.dimension, MOVES[self.setting.relation]
        audible = 0.6 * self.setting.count * mu / moves / math.sqrt(2 * math.log(max(dimension, 2)))
        return min(audible, 1.6 * math.sqrt(dimension))

    def run_stages(self, share: float) -> None:
        """Stages in the learned shape with a share of what is left; those that weigh search their radius."""
        rank = self._rank
        for planned in self._plan(share * self.left, rank):
            centre, blur = self.centre()
            middle = np.sqrt(self.stddev**2 + blur)
            ball = Ball(centre, np.sqrt(middle), self.ratio * math.sqrt(float(middle.sum())))
            clipping = unsearched(self.stddev**2)
            if planned.search_mu:
                reach = self.farthest + math.sqrt(float(blur.sum()))
                looked = RadiusSearch.balanced(planned.search_mu, planned.mu, rank, reach, self.window, _AUDIBLE)
                ball = replace(ball, radius=searched_radius(self.setting, self.known, ball, looked))
                self.ratio, self.window = ball.radius / math.sqrt(float(middle.sum())), NARROW
                room = self._room(ball, planned.mu)
                ball = replace(ball, radius=room * ball.radius)
                clipping = searched(looked, self.setting.count, self.stddev**2, _lean(rank) / room**2)
            self.left -= planned.mu**2 + planned.search_mu**2
            stage(self.setting, self.known, ball, planned.mu, clipping, f"stage {len(self.known.outputs)}")

    def _room(self, ball: Ball, mu: float) -> float:
        """How much wider a ball may be: where its noise is far below the sampling error, bias is the greater worry."""
        count, scale = self.setting.count, np.broadcast_to(ball.scale, self.stddev.shape)
        noise = self._moves * ball.radius * float(np.linalg.norm(scale)) / (count * mu)
        return float(np.clip(_BELOW_SAMPLING * self._sampling / noise, 1.0, _MOST_ROOM))

    @property
    def _sampling(self) -> float:
        """The length of the sample mean's own error, by the variances learned."""
        return float(np.linalg.norm(self.stddev)) / math.sqrt(self.setting.count)

    @property
    def _moves(self) -> int:
        return 1 if self.setting.relation is Neighbours.ADD_REMOVE else 2

    def _plan(self, budget: float, rank: float) -> list["Planned"]:
        """Up to five stages of geometric precisions, whichever is predicted to leave the least error.

        Of those that are good enough, the one with the fewest stages: each is a pass or two over the records.
        """
        search = float(np.clip(10 / rank, *_SEARCH_SHARES)) * self.precision
        (_, variance), (_, blur) = self.known.combined(), self.centre()
        plans: list[tuple[float, list[Planned]]] = []
        for count in range(1, _MOST_STAGES + 1):
            for ratio in _RATIOS if count > 1 else (1.0,):
                shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
                plan = [self._planned(p, search, last=p == shares[-1]) for p in shares]
                plans.append((self._predicted(plan, rank, variance, blur), plan))
        enough = good_enough(min(error for error, _ in plans), self._sampling**2)
        return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]

    def _planned(self, precision: float, search: float, *, last: bool) -> "Planned":
        """A stage that weighs, or is the last, gives a little of its precision for a search of its radius."""
        if precision < _WEIGHTY * self.precision and not last:
            return Planned(math.sqrt(precision), 0.0)
        search = min(search, precision / 4)
        return Planned(math.sqrt(precision - search), math.sqrt(search))

    def _predicted(self, plan: list["Planned"], rank: float, variance: Floats, blur: Floats) -> float:
        """The squared error after a plan, by the recursion V <- 1/(1/V + 1/(N + bias²))."""
        shrunk = blur / variance
        for planned in plan:
            middle = np.sqrt(self.stddev**2 + shrunk * variance)
            output = middle * middle.sum() * (self._moves / self.setting.count / planned.mu) ** 2
            clipping = unsearched(self.stddev**2)
            if planned.search_mu:
                looked = RadiusSearch.balanced(planned.search_mu, planned.mu, rank, math.inf, self.window, _AUDIBLE)
                clipping = searched(looked, self.setting.count, self.stddev**2, _lean(rank))
            variance = 1 / (1 / variance + 1 / (output + clipping.bias))
        return float(variance.sum())


def _lean(rank: float) -> float:
    """With few coordinates, a skewed law may have all its clipped records on one side, two deviations out."""
    return 0.5 + 1.5 / math.sqrt(rank)


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and that of the search of its radius (0: none)."""

    mu: float
    search_mu: float
