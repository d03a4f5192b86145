"""Everything about clipping radii: where they are searched, with which target, and what clipping does to an output.

One private step: `searched_radius`, a noisy search over E(ρ), the excess of the records' lengths over ρ (P8). The rest
is a function of public and released numbers. Proof: proofs/estimators/learn/stages.md (S2, S4).
Letters: ρ = clipping radius; z = a record's offset from the centre, rescaled; E = excess, in records; E* = its target.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.data.blocks import Rows
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import (
    BALANCED_EXCESS,
    CLIPPED_CENTRE_SHARE,
    EXCESS_CENTRE_SHARE,
    MOST_WIDER,
    ONE_SIDED_FEW,
    ONE_SIDED_MANY,
    RADIUS_STEP,
    RADIUS_WINDOW,
    TARGET_DEVIATIONS,
    TARGET_DEVIATIONS_BY_RANK,
    TARGET_RANKS,
    UNSEARCHED_BIAS,
    UNSEARCHED_CENTRE_SHARE,
    WIDENED_NOISE,
)
from dimfree.geometry.clip import BALL, norms
from dimfree.geometry.space import Space
from dimfree.mechanisms import Measured
from dimfree.mechanisms.clipped_sum import Ball
from dimfree.mechanisms.search import STEPS, count_stddev, geometric_grid, noisy_search
from dimfree.noise import Noise


@dataclass(frozen=True)
class RadiusGuess:
    """Where the next radius is expected: its ratio to the predicted length of a record, and the search window."""

    ratio: float = 1.0
    window: tuple[float, float] = RADIUS_WINDOW


@dataclass(frozen=True)
class RadiusSearch:
    """One search for a clipping radius: its precision, its target and its window. Public."""

    mu: float
    target: float  # E*: the excess, in records, at which bias and noise balance
    farthest: float  # records beyond this distance from the centre, before rescaling, are left out
    window: tuple[float, float] = RADIUS_WINDOW

    @classmethod
    def balanced(
        cls,
        mu: float,
        stage_mu: float,
        effective_rank: float,
        farthest: float,
        window: tuple[float, float] = RADIUS_WINDOW,
        deviations: float = TARGET_DEVIATIONS,
    ) -> "RadiusSearch":
        """With the target that balances bias and noise, at least `deviations` of a query's noise."""
        cells = len(search_grid(window)) - 1
        noise = count_stddev(cells, 1.0, mu)
        target = max(BALANCED_EXCESS * math.sqrt(effective_rank) / stage_mu, deviations * noise)
        return cls(mu, target, farthest, window)


def search_grid(window: tuple[float, float]) -> Floats:
    """The candidates for a clipping radius, over the predicted one. Public."""
    return geometric_grid(*window, RADIUS_STEP)


def searched_radius(space: Space, ball: Ball, search: RadiusSearch, *, noise: Noise) -> Measured[float]:
    """The radius near ball.radius at which E(ρ) = Σ min(1, (|z|/ρ - 1)₊) falls to its target; sensitivity 1 (P8)."""
    grid = ball.radius * search_grid(search.window)
    lengths = _lengths(space, ball, float(grid[-1]), search.farthest)

    def shortfall(radius: float) -> int:
        return round(search.target * STEPS) - excess(lengths, radius)

    return noisy_search(shortfall, grid, 1.0, search.mu, "clipping radius", noise=noise)


def excess(lengths: Floats, radius: float) -> int:
    """E(ρ) in units of 1/STEPS: whole numbers, so that the order of the records does not matter. Private."""
    over = np.nan_to_num(np.clip(lengths / radius - 1, 0.0, 1.0))
    return int(np.floor(over * STEPS).astype(np.int64).sum())


@during("clipping radius")
def _lengths(space: Space, ball: Ball, largest: float, farthest: float) -> Floats:
    """|z_j| of every record; zero for an invalid one, and for one whose raw distance is over `farthest`. Private."""
    near = _surely_near(ball, largest, farthest)
    raw = Ball(ball.centre, 1.0, farthest).before(space.units)
    return space.listed(partial(_lengths_of, ball.before(space.units), raw, largest, near))


def _lengths_of(ball: Ball, raw: Ball, largest: float, near: float, rows: Rows) -> Floats:
    lengths = norms(ball.seen(rows), 2 * largest, ball.offsets)
    doubtful = np.flatnonzero(~(lengths <= near))
    if len(doubtful):
        distances = norms(rows[doubtful], 2 * raw.radius, raw.offsets)
        lengths[doubtful[~(distances <= raw.radius)]] = 0.0
    return lengths


def _surely_near(ball: Ball, largest: float, farthest: float) -> float:
    """A record of at most this |z| is not beyond `farthest`: raw distances are at most |z| times the largest scale.

    Both are rounded to whole steps, coordinate by coordinate: a root of d steps covers that twice over.
    """
    if ball.block is not None or not 1e-280 < min(largest, farthest) <= max(largest, farthest) < 1e280:
        return -1.0  # |z| does not cover all coordinates, or the numbers leave the range of floats
    blur = math.sqrt(len(ball.centre)) * 2 / BALL + 1e-9
    near = farthest * (1 - blur) / float(np.max(ball.scale)) - largest * blur
    return min(near, 4 * largest)  # beyond it a coordinate may have been held at the cap


def target_deviations(rank: float) -> float:
    """Target excess of an unknown shape, in standard deviations of the query noise, by effective rank."""
    return float(np.interp(rank, TARGET_RANKS, TARGET_DEVIATIONS_BY_RANK))


def one_sided(rank: float) -> float:
    """How far, in σ, shortened records may lie on one side: with few coordinates a skewed law may put all there."""
    return ONE_SIDED_MANY + ONE_SIDED_FEW / math.sqrt(rank)


def widening(noise: float, sampling_error: float) -> float:
    """By which factor a ball is widened to lower its bias, where its noise is far below the sampling error."""
    return float(np.clip(WIDENED_NOISE * sampling_error / noise, 1.0, MOST_WIDER))


@dataclass(frozen=True)
class Clipping:
    """What clipping is allowed to do to an output: bias² per coordinate, and the share of the centre's noise kept."""

    bias: Floats | float = 0.0
    centre_share: float = 0.0


def trusted(level: float) -> Clipping:
    """A radius from the model: the few records beyond it are shortened by some tenths, on all sides alike."""
    return Clipping(centre_share=CLIPPED_CENTRE_SHARE * (1 - level))


def unsearched(variances: Floats | float) -> Clipping:
    """A radius from a model that is not trusted."""
    return Clipping((UNSEARCHED_BIAS / 2) ** 2 * variances, UNSEARCHED_CENTRE_SHARE)


def searched(search: RadiusSearch, count: float, variances: Floats | float, side: float = ONE_SIDED_MANY) -> Clipping:
    """A searched radius: E* records' worth of shortening, of the bias and of the centre's own noise alike.

    `side` says how far, in standard deviations, that shortening may all lie on one side.
    """
    share = min(1.0, search.target / count)  # at the upper end of its cell E is about half of E*
    return Clipping((side * share) ** 2 * variances, EXCESS_CENTRE_SHARE * share)
