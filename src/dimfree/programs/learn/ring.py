"""Variances and the friend radius before any center is estimated, from neighbors on the secret ring (P15, P16).

And the public choices that follow: the core's share, the coordinates of the refinement steps. Letters: P = precision
of the branch; σ = SDs of the coordinates; λ = friend radius, of records divided by the root of σ; τ = noise of
a mean score; V = variance of the core's mean in each coordinate; N = that of one step's output.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.budget import Neighbors
from dimfree.kernel import RING_SENSITIVITY, Block, Released, RingPairs, pair_scoring, share_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.schedule import choose_length_share
from dimfree.programs.learn.scale import count_answers, find_crossing, is_inside, make_geometric_grid, widen_radius
from dimfree.programs.learn.shrinkage import VarianceRelease, choose_score_norm, learn_moments
from dimfree.programs.learn.state import Knowledge, Output, State, StepSetting
from dimfree.progress import during


@dataclass(frozen=True)
class RingShape:
    """σ, the uncertainty of ln σ, and λ in coordinates divided by the root of σ. Released values."""

    stddev: Floats
    log_variance: Floats
    radius: float
    farthest: float  # largest distance between typical records, in their own units
    found: bool  # whether the typical distance lies inside the window
    scores: tuple[VarianceRelease, ...]  # for each coordinate its last release


@dataclass(frozen=True, repr=False)
class RingSetting:
    """The setting of all releases on the ring; together they cost mu."""

    ring: RingPairs
    count: float  # number of records on it: public, or released
    mu: float
    relation: Neighbors

    def search_mu(self, cells: int) -> float:
        """Choose mu of one search for a median over so many cells: rarely wrong, and a limited part of the whole."""
        sensitivity = share_sensitivity(c.MEDIAN_SHARE, self.relation)
        needed = math.sqrt(c.RING_CLEARANCE + 2 * math.log(cells)) * sensitivity / (0.5 * self.count)
        return min(needed, math.sqrt(c.MAX_RING_SEARCH_SHARE) * self.mu)

    def length(self, scale: Floats, share: Fraction, grid: Floats, mu: float) -> Released[float]:
        """Release the distance that this share of all neighbors does not exceed."""
        counts = self.ring.lengths(scale, share, count_answers(grid), mu)
        return Released(find_crossing(counts, grid, float(share), self.count), counts.event)


@dataclass(frozen=True)
class PartialVariances:
    """Variances so far: coordinates above the noise are named; `rest` is the sum of the others' variances."""

    moments: Floats
    log_variance: Floats
    unnamed: Booleans
    rest: float
    scores: tuple[VarianceRelease, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the rest is small relative to the named coordinates, for any division of it."""
        named = float(np.sqrt(self.moments[~self.unnamed]).sum())
        return math.sqrt(np.count_nonzero(self.unnamed) * self.rest) <= c.MAX_RING_REST * named


@during("variances")
def learn_by_ring(setting: RingSetting, window: tuple[float, float]) -> RingShape:
    """Release a typical distance, rounds of variances, and λ in coordinates divided by the root of σ."""
    dimension, grid = setting.ring.dimension, make_geometric_grid(*window, c.RING_LENGTH_STEP)
    typical = setting.length(np.ones(dimension), c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
    trace = typical.value**2 / 2
    peeled = PartialVariances(
        np.full(dimension, trace / dimension), np.zeros(dimension), np.full(dimension, True), trace
    )
    searches = (
        setting.search_mu(len(_make_unit_grid(1.0, dimension))) ** 2 + setting.search_mu(len(_make_rest_grid(1.0))) ** 2
    )
    left = (1 - c.RING_RADIUS_SHARE) * setting.mu**2 - typical.event.mu**2 - len(c.RING_ROUNDS) * searches
    for share in c.RING_ROUNDS:
        before, mu = np.count_nonzero(peeled.unnamed), math.sqrt(share * left) * (1 - 1e-9)
        peeled = _run_round(setting, peeled, mu, typical.value)
        if peeled.settled or np.count_nonzero(peeled.unnamed) == before:
            break
    stddev, found = np.sqrt(peeled.moments), is_inside(typical.value, grid)
    radius, farthest = _measure_friend_radius(setting, stddev), c.MAX_RING_DISTANCE * typical.value
    return RingShape(stddev, peeled.log_variance, radius, farthest, found, peeled.scores)


def _make_unit_grid(rest: float, unnamed: int) -> Floats:
    """Return candidates for the variance that scores one: part of the average, up to the whole rest and more."""
    return rest / unnamed * make_geometric_grid(1 / c.RING_UNIT_RANGE, c.RING_UNIT_RANGE * unnamed, c.RING_UNIT_STEP)


def _make_rest_grid(typical: float) -> Floats:
    return typical * make_geometric_grid(*c.RING_REST_GRID, c.RING_LENGTH_STEP)


def _run_round(setting: RingSetting, peeled: PartialVariances, mu: float, typical: float) -> PartialVariances:
    """Release scores of the unnamed coordinates, name those above the noise, and release the rest."""
    which, ring, count = np.flatnonzero(peeled.unnamed), setting.ring, setting.count
    scale = np.where(peeled.unnamed, 1.0, np.inf)  # leaves the named coordinates out
    scoring = pair_scoring(scale, choose_score_norm(count * mu / RING_SENSITIVITY[setting.relation], len(which)))
    grid = _make_unit_grid(peeled.rest, len(which))
    counts = ring.count_unclipped(scoring, c.MEDIAN_SHARE, grid, count_answers(grid), setting.search_mu(len(grid)))
    # the variance that scores one
    unit = find_crossing(counts, grid, float(c.MEDIAN_SHARE), count) / c.RING_UNIT_FACTOR
    scored = ring.scores(scoring, unit, mu)
    mean, tau = scored.value[which] / count, scored.stddev / count
    learned = learn_moments(mean, tau, unit)
    head = learned.second_moments > c.RING_DETECTION * tau * unit
    moments, log_variance, unnamed = peeled.moments.copy(), peeled.log_variance.copy(), peeled.unnamed.copy()
    moments[which], log_variance[which], unnamed[which] = learned.second_moments, learned.log_stddev_variance, ~head
    rest = 0.0
    if unnamed.any():
        grid = _make_rest_grid(typical)
        seen = setting.length(np.where(unnamed, 1.0, np.inf), c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
        rest = seen.value**2 / 2
        moments[unnamed] *= rest / moments[unnamed].sum()
    release = VarianceRelease(moments[which], None, mean, tau, np.full(len(which), unit), which)
    return PartialVariances(moments, log_variance, unnamed, rest, (*peeled.scores, release))


def _measure_friend_radius(setting: RingSetting, stddev: Floats) -> float:
    """Release λ like `learn_radius`, with neighbors on the ring in place of all pairs."""
    guess, root = math.sqrt(2 * float(stddev.sum())), np.sqrt(stddev)
    grid = guess * make_geometric_grid(*c.RING_RADIUS_GRID, c.RADIUS_STEP)
    middle = setting.length(root, c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
    mu = math.sqrt(c.RING_RADIUS_SHARE * setting.mu**2 - middle.event.mu**2) * (1 - 1e-9)
    wide = setting.length(root, c.WIDE_SHARE, middle.value * np.array(c.WIDE_RATIOS), mu)
    unsure = share_sensitivity(c.WIDE_SHARE, setting.relation) / mu / setting.count
    return widen_radius(middle.value, wide.value, unsure)


def plan_core(sensitivity: float, stddev: Floats, precision: float, strength: float) -> tuple[float, int, Block]:
    """Choose (core's share of P, number of coordinates of the steps, these coordinates) of the least predicted error.

    The core alone answers outside the block of the largest coordinates, refinement steps inside it. Coordinates come in
    groups of similar σ, which grow with the rank. `sensitivity`: of the core's mean; `strength`: n over the sensitivity
    of a clipped sum.
    """
    edges = np.unique(np.round(np.geomspace(1, len(stddev) + 1, c.RING_BINS)).astype(int)) - 1
    sizes = np.diff(edges).astype(np.float64)
    levels = np.add.reduceat(np.sort(stddev)[::-1], edges[:-1]) / sizes
    ends, sums = np.cumsum(sizes), np.cumsum(levels * sizes)
    length_shares = np.array([choose_length_share(rank) for rank in sums**2 / np.cumsum(levels**2 * sizes)])
    best = (math.inf, c.RING_CORE_SHARES[0], len(stddev))
    for share in c.RING_CORE_SHARES:
        core = sensitivity**2 / (share * precision) * levels
        outside = float((core * sizes).sum()) - np.cumsum(core * sizes)
        left = precision * (1 - share - length_shares)
        within = np.min(
            [_predict_errors(core, levels, sizes, left, each, strength) for each in _list_divisions()], axis=0
        )
        k = int(np.argmin(within + outside))
        best = min(best, (float(within[k] + outside[k]), share, int(ends[k])))
    _, share, size = best
    return share, size, None if size == len(stddev) else np.sort(np.argsort(-stddev, kind="stable")[:size])


@cache
def _list_divisions() -> list[Floats]:
    """List shares of the precision of each step, (division, step), for each number of steps."""
    parts = (
        np.array([ratio ** np.arange(count) for ratio in (c.STEP_RATIOS if count > 1 else (1.0,))])
        for count in range(1, c.MAX_STEPS)
    )
    return [each / each.sum(axis=1, keepdims=True) for each in parts]


def _predict_errors(
    core: Floats, levels: Floats, sizes: Floats, left: Floats, ratios: Floats, strength: float
) -> Floats:
    """Sum the variances over each block, by V <- 1/(1/V + 1/N) for the best division; axes: block, division, group."""
    members = np.tri(len(sizes))[:, None] * sizes
    variance, answer = np.broadcast_to(core, (len(sizes), len(ratios), len(sizes))), np.zeros(1)
    for ratio in ratios.T:
        middle = np.sqrt(levels**2 + variance)
        output = middle * (middle * members).sum(axis=2, keepdims=True)
        gained = (strength**2 * np.outer(left, ratio))[..., None] / output
        variance, answer = 1 / (1 / variance + gained), answer + gained
    return np.asarray((members / answer).sum(axis=2).min(axis=1))


def start_after_core(
    setting: StepSetting, mean: Released[Floats], precision: float, share: float, shape: RingShape, block: Block
) -> State:
    """Start after the core with the ring's variances; outside the block the core's mean is the answer (P21)."""
    root = np.sqrt(shape.stddev)
    weight = np.ones_like(root)
    weight[slice(None) if block is None else block] = 0.0
    return State(
        setting=setting,
        precision=precision,
        farthest=shape.farthest,
        trace=float((shape.stddev**2).sum()),
        known=Knowledge.of(Output(mean.value * root, (mean.stddev * root) ** 2, weight)),
        left=precision * (1 - share),
        stddev=shape.stddev,
        log_variance=shape.log_variance,
        block=block,
        ring_scores=shape.scores,
    )
