"""Stages in a shape that is learned on the way: variances, stages, better variances, better stages (P8, P10).

Works on released values; the records are seen by the mechanisms alone. Proof: proofs/estimators/learn/variances.md.
Letters: c = centre, PV = its posterior variance, σ = standard deviations, mm = sqrt(σ² + PV): spread of a record about
the centre; P = precision of the branch, p = that of a stage; ρ = clipping radius.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.data.progress import during
from dimfree.estimators.choose.stages import good_enough
from dimfree.estimators.learn.principal_directions import Spikes
from dimfree.estimators.learn.scale import LearnedRadius
from dimfree.estimators.learn.shrinkage import denoised, learned_variances
from dimfree.estimators.learn.spreads import VarianceLook
from dimfree.estimators.learn.stages import (
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
from dimfree.geometry.bases.basis import Basis
from dimfree.geometry.shape import Diagonal
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.directions import Lookout
from dimfree.mechanisms.scores import MOVES, Scoring, noisy_scores, noisy_unit
from dimfree.mechanisms.search import geometric_grid, queries

FIRST_ROUND = 0.25  # of P, for the stages before variances are learned again
LOSS = 0.1  # learning the variances again pays above this uncertainty
SMALL_NOISE = 0.2  # of the sampling error: less noise would lower the whole error by two per cent at most
_RECENTRED = 24.0  # of d/(n̂²·P): leaves the centre a twentieth of a record's squared length away
_RECENTRE_SHARES = (0.005, 0.05)
_RECENTRE_STAGES = 2
_NEAR = 0.1
_UNCLIPPED = 0.8
_UNIT_SHARES = (0.005, 0.02)
_VARIANCE_SHARES = (0.02, 0.10)  # of P, at least and at most
_SEARCH_SHARES = (0.01, 0.02)
_FLOOR = 0.15  # of a second moment, that subtracting the centre's own blur leaves at least
_RATIOS = (1.5, 2.5, 4.0, 8.0)
_MOST_STAGES = 5
_AUDIBLE = (1.2, 2.0)  # nothing is known of the tails: rather a wider ball than a biased mean where lengths differ
_ALIKE_RANKS = (25.0, 200.0)  # between these lengths begin to be alike: a missed query is worse than a narrower ball
_BELOW_SAMPLING, _MOST_ROOM = 0.5, 3.0
_OWN_SHARES = (0.01, 0.01)  # of P, for variances that serve the error bars alone
_GUESSED = 0.01  # variance of ln σ of coordinates whose standard deviations follow from others
_ALIKE = 1e-9
_WEIGHTY = 0.05  # of P: a stage of at least this searches its radius


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
    look: VarianceLook | None = None  # the last variance release, in the coordinates of the time
    ratio: float = 1.0  # last found: clipping radius over the predicted length of a record
    window: tuple[float, float] = WINDOW  # where to look for it next
    own: VarianceLook | None = None  # of the original coordinates, where the stages use others
    early: Floats | None = None  # noise variances of what was known before the coordinates changed, if not all alike
    spikes: Spikes | None = None
    lookout: Lookout | None = None  # where directions were looked for from
    words: dict[str, float | str] = field(default_factory=dict)  # public: what was chosen, and why

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
    def clipping(self) -> Floats:
        """How far clipping may have moved the answer, beyond what symmetric records would notice."""
        return (1 - 0.5 / _lean(self._rank)) * self.known.allowed_bias()

    @property
    def _rank(self) -> float:
        """How many coordinates share the spread of a record."""
        return float(self.stddev.sum() ** 2 / (self.stddev**2).sum())

    def learn(self) -> None:
        """A better centre; variances, a first round of stages; variances again if that pays; the last round with all
        that is left. Where noise is small beside the sampling error, passes are saved instead."""
        if self.noise_over_sampling() > SMALL_NOISE:
            self.recentre()
        self.first_round()
        self.last_round()

    def recentre(self) -> None:
        """Spherical stages, unless the centre is near already: what records say of the shape is told from there."""
        if self.off() <= _NEAR:
            return
        wanted = _RECENTRED * self.setting.space.dimension / (self.setting.count**2 * self.precision)
        share = float(np.clip(wanted, *_RECENTRE_SHARES))
        self.run_stages(share * self.precision / self.left, _RECENTRE_STAGES, round_=True)

    def off(self) -> float:
        """The centre's own squared error over a record's squared distance from it."""
        _, blur = self.centre()
        return float(blur.sum() / (blur.sum() + (self.stddev**2).sum()))

    def first_round(self) -> None:
        self.learn_variances()
        self.run_stages(FIRST_ROUND * self.precision / self.left)

    def last_round(self) -> None:
        if self.own is None and self.setting.space.basis is not None:
            self.measure_own()
        if self.loss() > LOSS:
            self.learn_variances()
        self.run_stages(1.0)

    def measure_own(self) -> VarianceLook:
        """Variances of the original coordinates, for error bars alone: the noise will not have their shape."""
        value, variance = self.answer_so_far()
        setting = replace(
            self.setting, space=replace(self.setting.space, basis=None, shape=_ones(len(value)), _kept=[])
        )
        own = replace(self, setting=setting, known=Knowledge([Output(value, variance)], [], [[1.0]]))
        own.stddev = np.full(len(value), math.sqrt(self.trace / len(value)))
        own.learn_variances(_OWN_SHARES)
        assert own.look is not None  # just learned
        self.left, self.own = own.left, own.look
        self.known.events += own.known.events
        return self.own

    def move_to(self, basis: Basis, stddev: Floats | None = None) -> None:
        """Go on in other coordinates, with standard deviations there (None: equal ones, of a rotation)."""
        value, variance = self.known.combined()
        bias = self.known.allowed_bias() ** 2
        self.early = variance if np.ptp(variance) > _ALIKE * variance.mean() else None
        moved = [basis.moved_variances(part) for part in (variance, bias)]
        self.known = Knowledge([Output(basis.moved(value), *moved)], self.known.events, [[1.0]])
        space = replace(self.setting.space, basis=basis, shape=_ones(basis.width), _kept=[])
        self.setting = replace(self.setting, space=space)
        equal = math.sqrt(float((self.stddev**2).sum()) / basis.width)
        self.stddev = np.full(basis.width, equal) if stddev is None else stddev
        self.log_variance, self.look = np.full(basis.width, _GUESSED), None
        self.ratio, self.window = 1.0, WINDOW

    def answer_so_far(self) -> tuple[Floats, Floats]:
        """What is known of the mean in the original coordinates: value, and noise variance."""
        value, variance = self.known.combined()
        basis = self.setting.space.basis
        return (value, variance) if basis is None else (basis.restored(value), basis.diagonal(variance))

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
    def learn_variances(self, shares: tuple[float, float] = _VARIANCE_SHARES) -> None:
        """One variance release about the denoised centre (P10), and what it says of σ."""
        setting, dimension = self.setting, self.setting.space.dimension
        centre, blur = self.centre()
        mu = self.spend(float(np.clip(50 * dimension / (setting.count**2 * self.precision), *shares)))
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
        scores, units = measured.value / setting.count, unit.value * self.stddev**2
        learned = learned_variances(scores, noise, units)
        before = self.stddev**2 * _lean(self._rank) ** 2
        self.stddev = np.sqrt(np.maximum(learned.second_moments - blur, _FLOOR * learned.second_moments))
        self.known.allow(self.stddev**2 * _lean(self._rank) ** 2 / before)
        self.log_variance = learned.log_stddev_variance
        self.look = VarianceLook(self.stddev**2, centre, scores, noise, units)
        self.ratio, self.window = 1.0, WINDOW  # found in another shape

    def _norm(self, mu: float) -> float:
        """C: no longer than the noise of a sum allows a common coordinate to stand out, nor than a score gets."""
        dimension, moves = self.setting.space.dimension, MOVES[self.setting.relation]
        audible = 0.6 * self.setting.count * mu / moves / math.sqrt(2 * math.log(max(dimension, 2)))
        return min(audible, 1.6 * math.sqrt(dimension))

    def run_stages(self, share: float, most: int = _MOST_STAGES, *, round_: bool = False) -> None:
        """Stages in the learned shape with a share of what is left; those that weigh search their radius.

        `round_`: with exactly spherical noise, which is the same in all coordinates, now and after any rotation.
        """
        rank = self._rank
        for planned in self._plan(share * self.left, rank, most):
            centre, blur = self.centre()
            middle = np.sqrt(self.stddev**2 + (blur.mean() if round_ else blur))
            ball = Ball(centre, np.sqrt(middle), self.ratio * math.sqrt(float(middle.sum())))
            clipping = unsearched(self.stddev**2)
            if planned.search_mu:
                reach = self.farthest + math.sqrt(float(blur.sum()))
                looked = RadiusSearch.balanced(planned.search_mu, planned.mu, rank, reach, self.window, _audible(rank))
                ball = replace(ball, radius=searched_radius(self.setting, self.known, ball, looked))
                self.ratio, self.window = ball.radius / math.sqrt(float(middle.sum())), NARROW
                room = self._room(ball, planned.mu)
                ball = replace(ball, radius=room * ball.radius)
                clipping = searched(looked, self.setting.count, self.stddev**2, _lean(rank) / room**2)
            self.left -= planned.mu**2 + planned.search_mu**2
            stage(self.setting, self.known, ball, planned.mu, clipping, f"stage {self._stages + 1}")

    @property
    def _stages(self) -> int:
        """So far, in whatever coordinates."""
        return sum(event.purpose.startswith("stage ") for event in self.known.events)

    def _room(self, ball: Ball, mu: float) -> float:
        """How much wider a ball may be: where its noise is far below the sampling error, bias is the greater worry."""
        count, scale = self.setting.count, np.broadcast_to(ball.scale, self.stddev.shape)
        noise = self._moves * ball.radius * float(np.linalg.norm(scale)) / (count * mu)
        return float(np.clip(_BELOW_SAMPLING * self._sampling / noise, 1.0, _MOST_ROOM))

    def noise_over_sampling(self) -> float:
        """How large the noise of one spherical release of all precision would be beside the sampling error."""
        return self._moves * math.sqrt(len(self.stddev) / max(self.setting.count, 1.0) / self.precision)

    @property
    def _sampling(self) -> float:
        """The length of the sample mean's own error, by the variances learned."""
        return float(np.linalg.norm(self.stddev)) / math.sqrt(self.setting.count)

    @property
    def _moves(self) -> int:
        return 1 if self.setting.relation is Neighbours.ADD_REMOVE else 2

    def _plan(self, budget: float, rank: float, most: int = _MOST_STAGES) -> list["Planned"]:
        """Up to five stages of geometric precisions, whichever is predicted to leave the least error.

        Of those that are good enough, the one with the fewest stages: each is a pass or two over the records.
        """
        search = float(np.clip(10 / rank, *_SEARCH_SHARES)) * self.precision
        (_, variance), (_, blur) = self.known.combined(), self.centre()
        plans: list[tuple[float, list[Planned]]] = []
        for count in range(1, most + 1):
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
                looked = RadiusSearch.balanced(
                    planned.search_mu, planned.mu, rank, math.inf, self.window, _audible(rank)
                )
                clipping = searched(looked, self.setting.count, self.stddev**2, _lean(rank))
            variance = 1 / (1 / variance + 1 / (output + clipping.bias))
        return float(variance.sum())


def _ones(width: int) -> Diagonal:
    return Diagonal(np.ones(width))


def _audible(rank: float) -> float:
    """How many deviations of a query's noise the excess aimed at is: with two of them few queries go astray."""
    return float(np.interp(rank, _ALIKE_RANKS, _AUDIBLE))


def _lean(rank: float) -> float:
    """With few coordinates, a skewed law may have all its clipped records on one side, two deviations out."""
    return 0.5 + 1.5 / math.sqrt(rank)


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and that of the search of its radius (0: none)."""

    mu: float
    search_mu: float
