"""Variances and the friend radius before any centre is known, from neighbours on the secret ring (P15, P16).

And the public choices that follow: the core's share, the coordinates of the stages. Letters: P = precision of the
branch; σ = standard deviations of the coordinates; λ = friend radius, of records divided by the root of σ; τ = noise of
a mean score; V = variance of the core's mean in each coordinate; N = that of one stage's output.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel import RING_SENSITIVITY, Block, Released, RingPairs, pair_scoring, share_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.stages import look_share
from dimfree.programs.learn.scale import answers, crossing, geometric_grid, inside, widened
from dimfree.programs.learn.shrinkage import VarianceRelease, learned_variances, score_norm
from dimfree.programs.learn.state import Knowledge, Output, StageSetting, State
from dimfree.progress import during


@dataclass(frozen=True)
class RingShape:
    """σ, how uncertain ln σ is, λ in that shape, and what all of it cost. Released values."""

    stddev: Floats
    log_variance: Floats
    radius: float
    farthest: float  # honest records lie no farther apart, in their own units
    found: bool  # whether the typical distance lies inside the window
    scores: tuple[VarianceRelease, ...]  # for each coordinate the last release that it was in


@dataclass(frozen=True, repr=False)
class RingSetting:
    """What all releases on the ring share; together they cost mu."""

    ring: RingPairs
    count: float  # number of records on it: public, or released
    mu: float
    relation: Neighbours

    def search_mu(self, cells: int) -> float:
        """Of one search for a median over so many cells: rarely wrong, and never more than a part of the whole."""
        moves = share_sensitivity(c.MEDIAN_SHARE, self.relation)
        needed = math.sqrt(c.RING_SURE + 2 * math.log(cells)) * moves / (0.5 * self.count)
        return min(needed, math.sqrt(c.RING_SEARCH_MOST) * self.mu)

    def length(self, scale: Floats, share: Fraction, grid: Floats, mu: float) -> Released[float]:
        """The distance that this share of all neighbours does not exceed."""
        counts = self.ring.lengths(scale, share, answers(grid), mu)
        return Released(crossing(counts, grid, float(share), self.count), counts.event)


@dataclass(frozen=True)
class Peeled:
    """Variances so far: coordinates are named once they stand out; `rest` is the sum of the others' variances."""

    moments: Floats
    log_variance: Floats
    unnamed: Booleans
    rest: float
    scores: tuple[VarianceRelease, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether the rest matters little beside what is named, however it is shared out."""
        named = float(np.sqrt(self.moments[~self.unnamed]).sum())
        return math.sqrt(np.count_nonzero(self.unnamed) * self.rest) <= c.RING_SMALL_REST * named


@during("variances")
def learn_by_ring(setting: RingSetting, window: tuple[float, float]) -> RingShape:
    """A typical distance; rounds of variances; λ in the shape learned."""
    dimension, grid = setting.ring.dimension, geometric_grid(*window, c.RING_LENGTH_STEP)
    typical = setting.length(np.ones(dimension), c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
    trace = typical.value**2 / 2
    peeled = Peeled(np.full(dimension, trace / dimension), np.zeros(dimension), np.full(dimension, True), trace)
    searches = setting.search_mu(len(_units(1.0, dimension))) ** 2 + setting.search_mu(len(_rests(1.0))) ** 2
    left = (1 - c.RING_RADIUS_LOOK) * setting.mu**2 - typical.event.mu**2 - len(c.RING_ROUNDS) * searches
    for share in c.RING_ROUNDS:
        before, mu = np.count_nonzero(peeled.unnamed), math.sqrt(share * left) * (1 - 1e-9)
        peeled = _round(setting, peeled, mu, typical.value)
        if peeled.settled or np.count_nonzero(peeled.unnamed) == before:
            break
    stddev, found = np.sqrt(peeled.moments), inside(typical.value, grid)
    radius, farthest = _friend_radius(setting, stddev), c.RING_FARTHEST * typical.value
    return RingShape(stddev, peeled.log_variance, radius, farthest, found, peeled.scores)


def _units(rest: float, unnamed: int) -> Floats:
    """The variance that scores one, from a part of the average one up to the whole rest and more."""
    return rest / unnamed * geometric_grid(1 / c.RING_UNIT_REACH, c.RING_UNIT_REACH * unnamed, c.RING_UNIT_STEP)


def _rests(typical: float) -> Floats:
    return typical * geometric_grid(*c.RING_REST_GRID, c.RING_LENGTH_STEP)


def _round(setting: RingSetting, peeled: Peeled, mu: float, typical: float) -> Peeled:
    """Scores of the coordinates not yet named; those that stand out are named; how large the rest is."""
    which, ring, count = np.flatnonzero(peeled.unnamed), setting.ring, setting.count
    scale = np.where(peeled.unnamed, 1.0, np.inf)  # leaves the named coordinates out
    scoring = pair_scoring(scale, score_norm(count * mu / RING_SENSITIVITY[setting.relation], len(which)))
    grid = _units(peeled.rest, len(which))
    counts = ring.unclipped_scores(scoring, c.MEDIAN_SHARE, grid, answers(grid), setting.search_mu(len(grid)))
    unit = crossing(counts, grid, float(c.MEDIAN_SHARE), count) / c.RING_UNIT_OVER  # the variance that scores one
    scored = ring.scores(scoring, unit, mu)
    mean, tau = scored.value[which] / count, scored.stddev / count
    learned = learned_variances(mean, tau, unit)
    head = learned.second_moments > c.RING_STANDS_OUT * tau * unit
    moments, log_variance, unnamed = peeled.moments.copy(), peeled.log_variance.copy(), peeled.unnamed.copy()
    moments[which], log_variance[which], unnamed[which] = learned.second_moments, learned.log_stddev_variance, ~head
    rest = 0.0
    if unnamed.any():
        grid = _rests(typical)
        seen = setting.length(np.where(unnamed, 1.0, np.inf), c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
        rest = seen.value**2 / 2
        moments[unnamed] *= rest / moments[unnamed].sum()
    release = VarianceRelease(moments[which], None, mean, tau, np.full(len(which), unit), which)
    return Peeled(moments, log_variance, unnamed, rest, (*peeled.scores, release))


def _friend_radius(setting: RingSetting, stddev: Floats) -> float:
    """λ as by `learn_radius`, with neighbours on the ring in place of all pairs."""
    guess, root = math.sqrt(2 * float(stddev.sum())), np.sqrt(stddev)
    grid = guess * geometric_grid(*c.RING_RADIUS_GRID, c.RADIUS_STEP)
    middle = setting.length(root, c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
    mu = math.sqrt(c.RING_RADIUS_LOOK * setting.mu**2 - middle.event.mu**2) * (1 - 1e-9)
    wide = setting.length(root, c.WIDE_SHARE, middle.value * np.array(c.WIDE_RATIOS), mu)
    unsure = share_sensitivity(c.WIDE_SHARE, setting.relation) / mu / setting.count
    return widened(middle.value, wide.value, unsure)


def plan_core(moves: float, stddev: Floats, precision: float, strength: float) -> tuple[float, int, Block]:
    """(the core's share of P, the number of coordinates of the stages, these coordinates) of the least predicted error.

    The core alone answers outside the block of the largest coordinates, stages inside it. Coordinates come in groups of
    like σ, which grow with the rank. `moves`: of the core's mean, in the shape of σ. `strength`: n over what one
    neighbour moves a clipped sum by.
    """
    edges = np.unique(np.round(np.geomspace(1, len(stddev) + 1, c.RING_BINS)).astype(int)) - 1
    sizes = np.diff(edges).astype(np.float64)
    levels = np.add.reduceat(np.sort(stddev)[::-1], edges[:-1]) / sizes
    ends, spread = np.cumsum(sizes), np.cumsum(levels * sizes)
    looks = np.array([look_share(rank) for rank in spread**2 / np.cumsum(levels**2 * sizes)])
    best = (math.inf, c.RING_CORE_SHARES[0], len(stddev))
    for share in c.RING_CORE_SHARES:
        core = moves**2 / (share * precision) * levels
        outside = float((core * sizes).sum()) - np.cumsum(core * sizes)
        left = precision * (1 - share - looks)
        inside = np.min([_stages_errors(core, levels, sizes, left, each, strength) for each in _ratios()], axis=0)
        k = int(np.argmin(inside + outside))
        best = min(best, (float(inside[k] + outside[k]), share, int(ends[k])))
    _, share, size = best
    return share, size, None if size == len(stddev) else np.sort(np.argsort(-stddev, kind="stable")[:size])


@cache
def _ratios() -> list[Floats]:
    """Shares of the precision that each stage has, (division, stage), for each number of stages."""
    parts = (
        np.array([ratio ** np.arange(count) for ratio in (c.STAGE_RATIOS if count > 1 else (1.0,))])
        for count in range(1, c.MOST_STAGES)
    )
    return [each / each.sum(axis=1, keepdims=True) for each in parts]


def _stages_errors(
    core: Floats, levels: Floats, sizes: Floats, left: Floats, ratios: Floats, strength: float
) -> Floats:
    """Σ of the variances over each block, by V <- 1/(1/V + 1/N) for the best division; axes: block, division, group."""
    members = np.tri(len(sizes))[:, None] * sizes
    variance, answer = np.broadcast_to(core, (len(sizes), len(ratios), len(sizes))), np.zeros(1)
    for ratio in ratios.T:
        middle = np.sqrt(levels**2 + variance)
        output = middle * (middle * members).sum(axis=2, keepdims=True)
        gained = (strength**2 * np.outer(left, ratio))[..., None] / output
        variance, answer = 1 / (1 / variance + gained), answer + gained
    return np.asarray((members / answer).sum(axis=2).min(axis=1))


def state_after_core(
    setting: StageSetting, mean: Released[Floats], precision: float, share: float, shape: RingShape, block: Block
) -> State:
    """As `State.after_core`, with the ring's variances; outside the block the core's mean is the answer (P21)."""
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
