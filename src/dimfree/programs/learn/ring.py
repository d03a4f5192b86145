"""Variances and the friend radius before any centre is known, from neighbours on the secret ring (P15, P16).

Letters: σ = standard deviations of the coordinates; λ = friend radius, of records divided by the root of σ; τ = noise
of a mean score.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel import RING_SENSITIVITY, Block, Released, RingPairs, pair_scoring, share_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.learn.scale import answers, crossing, geometric_grid, inside, widened
from dimfree.programs.learn.shrinkage import learned_variances
from dimfree.programs.learn.spreads import VarianceRelease
from dimfree.programs.learn.state import StageSetting, Start, State
from dimfree.programs.learn.variances import score_norm
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
    def scale(self) -> Floats:
        """Leaves the named coordinates out."""
        return np.where(self.unnamed, 1.0, np.inf)

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
    for mu in _round_mus(setting, typical.event.mu, dimension):
        before, peeled = np.count_nonzero(peeled.unnamed), _round(setting, peeled, mu, typical.value)
        if peeled.settled or np.count_nonzero(peeled.unnamed) == before:
            break
    radius = _friend_radius(setting, np.sqrt(peeled.moments))
    return RingShape(
        stddev=np.sqrt(peeled.moments),
        log_variance=peeled.log_variance,
        radius=radius,
        farthest=c.RING_FARTHEST * typical.value,
        found=inside(typical.value, grid),
        scores=peeled.scores,
    )


def _round_mus(setting: RingSetting, spent: float, dimension: int) -> list[float]:
    """Of the scores in each round: what the searches and λ leave."""
    searches = setting.search_mu(len(_units(1.0, dimension))) ** 2 + setting.search_mu(len(_rests(1.0))) ** 2
    left = (1 - c.RING_RADIUS_LOOK) * setting.mu**2 - spent**2 - len(c.RING_ROUNDS) * searches
    return [math.sqrt(share * left) * (1 - 1e-9) for share in c.RING_ROUNDS]


def _units(rest: float, unnamed: int) -> Floats:
    """The variance that scores one, from a part of the average one up to the whole rest and more."""
    return rest / unnamed * geometric_grid(1 / c.RING_UNIT_REACH, c.RING_UNIT_REACH * unnamed, c.RING_UNIT_STEP)


def _rests(typical: float) -> Floats:
    return typical * geometric_grid(*c.RING_REST_GRID, c.RING_LENGTH_STEP)


def _round(setting: RingSetting, peeled: Peeled, mu: float, typical: float) -> Peeled:
    """Scores of the coordinates not yet named; those that stand out are named; how large the rest is."""
    which = np.flatnonzero(peeled.unnamed)
    scored, unit = _scored(setting, peeled, mu, len(which))
    mean, tau = scored.value[which] / setting.count, scored.stddev / setting.count
    learned = learned_variances(mean, tau, unit)
    head = learned.second_moments > c.RING_STANDS_OUT * tau * unit
    moments, log_variance, unnamed = peeled.moments.copy(), peeled.log_variance.copy(), peeled.unnamed.copy()
    moments[which], log_variance[which], unnamed[which] = learned.second_moments, learned.log_stddev_variance, ~head
    rest = 0.0
    if unnamed.any():
        grid = _rests(typical)
        mu = setting.search_mu(len(grid))
        seen = setting.length(np.where(unnamed, 1.0, np.inf), c.MEDIAN_SHARE, grid, mu)
        rest = seen.value**2 / 2
        moments[unnamed] *= rest / moments[unnamed].sum()
    release = VarianceRelease(moments[which], None, mean, tau, np.full(len(which), unit), which)
    return Peeled(moments, log_variance, unnamed, rest, (*peeled.scores, release))


def _scored(setting: RingSetting, peeled: Peeled, mu: float, unnamed: int) -> tuple[Released[Floats], float]:
    """(noisy scores, the variance that scores one)."""
    scoring = pair_scoring(peeled.scale, score_norm(setting.count * mu / RING_SENSITIVITY[setting.relation], unnamed))
    grid, ring = _units(peeled.rest, unnamed), setting.ring
    unit_mu = setting.search_mu(len(grid))
    counts = ring.unclipped_scores(scoring, c.MEDIAN_SHARE, grid, answers(grid), unit_mu)
    unit = crossing(counts, grid, float(c.MEDIAN_SHARE), setting.count) / c.RING_UNIT_OVER
    return ring.scores(scoring, unit, mu), unit


def _friend_radius(setting: RingSetting, stddev: Floats) -> float:
    """λ as by `learn_radius`, with neighbours on the ring in place of all pairs."""
    guess, root = math.sqrt(2 * float(stddev.sum())), np.sqrt(stddev)
    grid = guess * geometric_grid(*c.RING_RADIUS_GRID, c.RADIUS_STEP)
    middle = setting.length(root, c.MEDIAN_SHARE, grid, setting.search_mu(len(grid)))
    mu = math.sqrt(c.RING_RADIUS_LOOK * setting.mu**2 - middle.event.mu**2) * (1 - 1e-9)
    wide = setting.length(root, c.WIDE_SHARE, middle.value * np.array(c.WIDE_RATIOS), mu)
    unsure = share_sensitivity(c.WIDE_SHARE, setting.relation) / mu / setting.count
    return widened(middle.value, wide.value, unsure)


def state_after_core(
    setting: StageSetting,
    mean: Released[Floats],
    precision: float,
    share: float,
    shape: RingShape,
    block: Block,
) -> State:
    """As `State.after_core`, with the ring's variances; outside the block the core's mean is the answer (P21).

    The core worked on records divided by the root of σ.
    """
    root = np.sqrt(shape.stddev)
    weight = np.ones_like(root)
    weight[slice(None) if block is None else block] = 0.0
    core = Output(mean.value * root, (mean.stddev * root) ** 2, weight)
    return State(
        setting=setting,
        start=Start(precision, shape.farthest, float((shape.stddev**2).sum())),
        known=Knowledge.of(core),
        left=precision * (1 - share),
        stddev=shape.stddev,
        log_variance=shape.log_variance,
        block=block,
        ring_scores=shape.scores,
    )
