"""The tail of the record lengths, by a released histogram, and the clipping radius that follows.

Uses public and released numbers only; no proof rests on it. Letters: z = a record's offset from the center, rescaled;
R = clipping radius; E(R) = sum over records of (|z| - R)+. Beyond a large radius, most lengths follow a generalized
Pareto distribution, here called a law (Pickands, Balkema, de Haan), with a scale and a shape: below 0 for bounded
lengths, near 0 for exponential tails, 1/3 for Student's t with 3 degrees of freedom. Noisy counts rarely decide which,
so a posterior over a grid of laws is kept.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c


def make_length_edges(rank: float) -> Floats:
    """Make public edges of a length histogram over the predicted length: close about 1, closer at high rank."""
    first = max(c.MIN_LENGTH_STEP, c.LENGTH_STEP / math.sqrt(rank))
    farthest = max(c.MIN_LAST_LENGTH_EDGE, c.LAST_LENGTH_EDGE / math.sqrt(rank))
    below, above = (_make_growing_steps(first, math.log(end)) for end in (1 / c.FIRST_LENGTH_EDGE, farthest))
    return np.asarray(np.exp(np.concatenate([-below[:0:-1], above])))


def _make_growing_steps(first: float, end: float) -> Floats:
    """Make points from 0 to `end`; each step is longer than the one before, up to a maximum."""
    steps = np.minimum(c.MAX_LENGTH_STEP, first * c.LENGTH_STEP_GROWTH ** np.arange(math.ceil(end / first)))
    places = np.concatenate([[0.0], np.cumsum(steps)])
    places = places[: np.count_nonzero(places < end) + 1]
    return np.asarray(places * (end / places[-1]))


@dataclass(frozen=True)
class LengthCounts:
    """A released length histogram."""

    edges: Floats  # (K,), positive and rising, K >= 2, in the unit of the lengths
    counts: Floats  # (K + 1,), noisy: below edges[0], between edges, beyond edges[-1]
    stddev: float  # of the noise of a cell
    total: float  # released number of records
    total_stddev: float  # of its noise; 0 under replace-one

    @property
    def noise(self) -> float:
        """SD of an empty cell; at least 1 record, so that exact counts can be used, too."""
        return max(self.stddev, 1.0)

    def beyond(self) -> Floats:
        """Estimate the number of records beyond 0 and beyond each edge, (K + 1,), falling.

        Counts from the total outwards and from the last cell inwards, weighted by their variances.
        """
        cells = np.arange(len(self.counts))
        outwards, outwards_var = self.total - np.cumsum(self.counts) + self.counts, self.noise**2 * cells
        inwards, inwards_var = np.cumsum(self.counts[::-1])[::-1], self.noise**2 * (cells[::-1] + 1)
        share = inwards_var / (inwards_var + outwards_var + self.total_stddev**2)
        return np.minimum.accumulate(np.maximum(share * outwards + (1 - share) * inwards, 0.0))


@dataclass(frozen=True)
class Tail:
    """The posterior of the records beyond any radius. M laws, J cells beyond `start`."""

    start: float  # the laws hold beyond this radius
    knots: Floats  # radii from 0 to start
    number: Floats  # likely number of records beyond each knot, bumps included
    ends: Floats  # (J,) outer ends of the cells, the locations of their bumps
    bumps: Floats  # (J,) records beyond the fit
    shape: Floats  # (M,)
    scale: Floats  # (M,)
    amount: Floats  # (M,) records beyond start, bumps left out
    weight: Floats  # (M,) posterior probability
    noise: float  # SD of a cell, in records
    resolved: bool = True  # whether enough records lie beyond start to fit a law

    @classmethod
    def fit(cls, seen: LengthCounts, rank: float, predicted: float) -> "Tail":
        """Compute the posterior given the counts, with a prior flat in log scale.

        Laws begin at the radius where the records beyond, m, are k SDs of noise and sampling: m² = k²(noise² + m).
        """
        beyond, edges, k = seen.beyond(), seen.edges, c.TAIL_DEVIATIONS
        share = c.TAIL_SHARE * rank / (rank + c.TAIL_SHARE_RANK)
        most, enough = share * beyond[0], k * (k / 2 + math.hypot(k / 2, seen.noise))
        least, resolved = min(most, enough), bool(enough <= most or rank >= c.TAIL_UNSEEN_RANK)
        first = int(np.clip(np.count_nonzero(beyond > least) - 1, 1, len(edges) - 1))  # the first cell beyond start
        start, ends = float(edges[first - 1]), np.append(edges[first:], edges[-1] ** 2 / edges[-2])
        # A law narrower than half a cell would locate records that may lie anywhere in the cell; equal lengths lie at
        # its end.
        scales = np.geomspace((ends[0] - start) / 2, 2 * max(ends[0], predicted), c.TAIL_SCALES)
        shape, scale = (each.ravel() for each in np.meshgrid(c.TAIL_SHAPES, scales))
        scale = np.maximum(scale, -shape * (ends[0] - start))
        survival = _compute_survival(shape, (edges[first - 1 :, None] - start) / scale)
        cells = -np.diff(survival, axis=0, append=0.0).T  # (M, J); the last one is open
        middle, sd = c.TAIL_SHAPE_PRIOR
        prior = np.maximum(-0.5 * ((shape - middle) / sd) ** 2, c.MIN_TAIL_LOG_PRIOR)
        weight, amount, bumps = _fit_posterior_and_bumps(cells, seen.counts[first:], seen.noise, prior)
        knots, number = np.append(0.0, edges[:first]), np.maximum(beyond[: first + 1], 1e-3)
        return cls(start, knots, number, ends, bumps, shape, scale, amount, weight, seen.noise, resolved)

    @property
    def last_edge(self) -> float:
        """The last edge: beyond it records were only counted."""
        return float(self.ends[-2])

    def _laws(self, outer: Floats) -> Floats:
        """Compute E(R) of each law, without bumps, (radii, M), for R from `start` on."""
        past = (outer - self.start)[:, None]
        mean = np.maximum(self.scale + self.shape * past, 0.0) / (1 - self.shape)  # of |z| - R, given that it is > 0
        return np.asarray(self.amount * _compute_survival(self.shape, past / self.scale) * mean)

    def excess(self, radii: Floats, level: float) -> Floats:
        """Compute the `level` quantile of the posterior of E(R), for each R; within `start`, by the counts."""
        outer = np.append(np.maximum(radii, self.start), self.start)
        far = self._quantile(self._laws(outer), level) + np.maximum(self.ends - outer[:, None], 0.0) @ self.bumps
        near = np.interp(radii, self.knots, np.log(np.maximum(far[-1] + self._inner(), 1e-300)))
        return np.where(radii < self.start, np.exp(near), far[:-1])

    def excesses(self, radii: Floats) -> Floats:
        """Compute E(R) by each law, (radii, M)."""
        outer = np.maximum(radii, self.start)
        near, bumps = (
            np.interp(radii, self.knots, self._inner()),
            np.maximum(self.ends - outer[:, None], 0.0) @ self.bumps,
        )
        return np.asarray(self._laws(outer) + (near + bumps)[:, None])

    def _inner(self) -> Floats:
        """Compute the part of E(R) between each knot and `start`; numbers fall exponentially between knots."""
        falls = np.log(self.number[:-1] / self.number[1:])
        means = np.where(falls > 1e-9, -np.diff(self.number) / np.maximum(falls, 1e-9), self.number[1:])
        return np.append(np.cumsum((np.diff(self.knots) * means)[::-1])[::-1], 0.0)

    def beyond(self, radii: Floats, level: float) -> Floats:
        """Compute the `level` quantile of the posterior of the number of records beyond R, for each R."""
        past = np.maximum(radii - self.start, 0.0)[:, None]
        laws = self._quantile(self.amount * _compute_survival(self.shape, past / self.scale), level)
        far = laws + (self.ends > radii[:, None]) @ self.bumps
        near = np.exp(np.interp(radii, self.knots, np.log(self.number)))
        return np.where(radii < self.start, np.maximum(near, far), far)

    def bound_clipped(self, radius: float) -> float | None:
        """Bound the number of records beyond a radius, by laws and noise of a cell (97.5%); None within `start`."""
        hidden = float(ndtri(c.MAX_CLIPPED_LEVEL)) * self.noise
        return None if radius < self.start else hidden + float(self.beyond(np.array([radius]), c.MAX_CLIPPED_LEVEL)[0])

    def _quantile(self, laws: Floats, level: float) -> Floats:
        order = np.argsort(laws, axis=1)
        below = np.count_nonzero(np.cumsum(self.weight[order], axis=1) < level, axis=1)
        at = np.take_along_axis(order, np.minimum(below, laws.shape[1] - 1)[:, None], axis=1)
        return np.take_along_axis(laws, at, axis=1)[:, 0]


def _compute_survival(shape: Floats, distance: Floats) -> Floats:
    """Compute the share of a law (shape not 0) beyond a distance from its start, in scales."""
    return np.asarray(np.maximum(1 + shape * distance, 0.0) ** (-1 / shape))


def _fit_posterior_and_bumps(
    cells: Floats, counts: Floats, noise: float, prior: Floats
) -> tuple[Floats, Floats, Floats]:
    """Fit (weight, amount, bumps); cells far above the laws (outliers, atoms) are excluded, outermost first."""
    used = np.ones(len(counts))
    for _ in counts:
        weight, amount = _posterior(cells, counts, noise, used, prior)
        mean = (weight * amount) @ cells
        above = counts - mean > c.BUMP_DEVIATIONS * np.sqrt(noise**2 + mean)
        if not (used * above).any():
            break
        used[np.flatnonzero(used * above)[-1]] = 0.0
    return weight, amount, above * (counts - mean)


def _posterior(cells: Floats, counts: Floats, noise: float, used: Floats, prior: Floats) -> tuple[Floats, Floats]:
    """Fit (weight, amount) of each law: by likelihood and least squares; an amount is at least the noise."""
    crowd = max(noise, float(counts @ used))
    variance = noise**2 + crowd * cells + (c.TAIL_MODEL_ERROR * crowd * cells) ** 2
    ours = used * cells / variance
    precision = (ours * cells).sum(axis=1) + crowd**-2.0
    amount = np.maximum(ours @ counts / precision, used.all() * precision**-0.5)
    misfit = used * ((counts - amount[:, None] * cells) ** 2 / variance + np.log(variance))
    log_weight = prior - misfit.sum(axis=1) / 2
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum(), amount


def find_outer_radius(tail: Tail, rank: float, mu: float, power: float = c.OUTER_BIAS_POWER) -> float:
    """Find the smallest radius, up to the last edge, with a likely clipping bias of at most b lengths of the noise."""
    b = min(c.MAX_OUTER_BIAS, c.OUTER_BIAS * rank**power)
    low, high = 0.0, tail.last_edge
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (low, middle) if estimate_likely_bias(tail, middle, rank, mu) <= b else (middle, high)
    return high


def estimate_likely_bias(tail: Tail, radius: float, rank: float, mu: float) -> float:
    """Estimate a likely bound of the clipping bias of the sum, over the length √rank·R/mu of its noise."""
    return float(tail.excess(np.array([radius]), c.OUTER_LEVEL)[0]) * mu / (math.sqrt(rank) * radius)


def minimize_loss(tail: Tail, rank: float, mu: float, predicted: float, total: float) -> tuple[float, float]:
    """Find (radius of the least expected √(bias² + noise²), the RMS bias there in lengths of the noise).

    If the noise of a cell is a large part of all records, the radius is shrunk to the usual one.
    """
    radii = np.geomspace(c.MIN_RADIUS * tail.last_edge, tail.last_edge, c.RADIUS_CANDIDATES)
    noise = math.sqrt(rank) * radii / mu
    ratio = c.COHERENCE * tail.excesses(radii) / noise[:, None]
    unusual = np.log(radii / (c.USUAL_LENGTH * predicted)) ** 2
    doubt = c.RADIUS_DOUBT * tail.noise / total
    best = int((np.log(noise * (np.hypot(1.0, ratio) @ tail.weight)) + doubt * unusual).argmin())
    return float(radii[best]), math.sqrt(float(ratio[best] ** 2 @ tail.weight))


def allow_for_bias(tail: Tail, radius: float, rank: float, mu: float) -> float:
    """Return the clipping bias that intervals allow for, in SDs of the noise; a constant if no tail is resolved."""
    return min(estimate_likely_bias(tail, radius, rank, mu), c.MAX_OUTER_BIAS) if tail.resolved else c.UNSEEN_BIAS


@dataclass(frozen=True)
class Lengths:
    """The released lengths about the center of a ball, and its clipping radius."""

    tail: Tail
    ball: Ball
    bias: float = 0.0  # of clipping, in SDs of the noise of the answer

    @property
    def some_unmeasured(self) -> bool:
        """Whether there are outlying records in the open last cell, or in one that reaches the column bound."""
        unmeasured = self.tail.ends >= min(float(self.tail.ends[-1]), self.ball.cap * (1 - 1e-9))  # may be an edge
        return bool((self.tail.bumps[unmeasured] > 0).any())
