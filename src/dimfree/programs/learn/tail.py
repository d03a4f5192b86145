"""How far out records lie, read from a released histogram of their lengths; and the clipping radius that follows.

Sees public and released numbers only; no proof rests on it. Letters: z = a record's offset from the centre, rescaled;
R = clipping radius; E(R) = sum over records of (|z| - R)+. Beyond a large radius, lengths of most laws follow a
generalised Pareto law (Pickands, Balkema, de Haan) with a scale and a shape: below 0 for bounded lengths, near 0 for
exponential tails, 1/3 for Student's t with 3 degrees of freedom. Noisy counts rarely decide which, so a posterior over
a grid of laws is kept.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c


def length_edges(rank: float) -> Floats:
    """Public: edges of a histogram of lengths over the predicted one: close about 1, the closer the higher the rank."""
    first = max(c.LENGTH_STEP_LEAST, c.LENGTH_STEP / math.sqrt(rank))
    farthest = max(c.LENGTH_FARTHEST_LEAST, c.LENGTH_FARTHEST / math.sqrt(rank))
    below, above = (_growing_steps(first, math.log(end)) for end in (1 / c.LENGTH_NEAREST, farthest))
    return np.asarray(np.exp(np.concatenate([-below[:0:-1], above])))


def _growing_steps(first: float, end: float) -> Floats:
    """From 0 to `end`: each step is longer than the one before, up to the longest."""
    steps = np.minimum(c.LENGTH_STEP_MOST, first * c.LENGTH_STEP_GROWTH ** np.arange(math.ceil(end / first)))
    places = np.concatenate([[0.0], np.cumsum(steps)])
    places = places[: np.count_nonzero(places < end) + 1]
    return np.asarray(places * (end / places[-1]))


@dataclass(frozen=True)
class LengthCounts:
    """A released histogram of record lengths."""

    edges: Floats  # (K,), positive and rising, K >= 2, in the unit of the lengths
    counts: Floats  # (K + 1,), noisy: below edges[0], between edges, beyond edges[-1]
    stddev: float  # of the noise of a cell
    total: float  # released number of records
    total_stddev: float  # of its noise; 0 under replace-one

    @property
    def noise(self) -> float:
        """Standard deviation of a cell that holds nobody; at least 1 record, so that exact counts can be read, too."""
        return max(self.stddev, 1.0)

    def beyond(self) -> Floats:
        """(K + 1,): likely number of records beyond 0 and beyond each edge, falling.

        Counted from the total outwards and from the last cell inwards, weighed by their variances.
        """
        cells = np.arange(len(self.counts))
        outwards, outwards_var = self.total - np.cumsum(self.counts) + self.counts, self.noise**2 * cells
        inwards, inwards_var = np.cumsum(self.counts[::-1])[::-1], self.noise**2 * (cells[::-1] + 1)
        share = inwards_var / (inwards_var + outwards_var + self.total_stddev**2)
        return np.minimum.accumulate(np.maximum(share * outwards + (1 - share) * inwards, 0.0))


@dataclass(frozen=True)
class Tail:
    """What a released histogram says of the records beyond any radius. M laws, J cells beyond `start`."""

    start: float  # the laws hold beyond this radius
    knots: Floats  # radii from 0 to start
    number: Floats  # likely number of records beyond each knot, bumps included
    ends: Floats  # (J,) outer ends of the cells: where their bumps are taken to lie
    bumps: Floats  # (J,) records that the laws do not explain
    shape: Floats  # (M,)
    scale: Floats  # (M,)
    amount: Floats  # (M,) records beyond start, bumps left out
    weight: Floats  # (M,) posterior probability
    noise: float  # standard deviation of a cell, in records
    told: bool = True  # whether as many records lie beyond start as tell a law

    @classmethod
    def fitted(cls, seen: LengthCounts, rank: float, predicted: float) -> "Tail":
        """The posterior given the counts, flat in log scale before: what noise hides stays possible.

        Laws begin where the records beyond, m, are k deviations of noise and sampling: m² = k²(noise² + m).
        """
        beyond, edges, k = seen.beyond(), seen.edges, c.TAIL_DEVIATIONS
        share = c.TAIL_SHARE * rank / (rank + c.TAIL_SHARE_RANK)
        most, enough = share * beyond[0], k * (k / 2 + math.hypot(k / 2, seen.noise))
        least, told = min(most, enough), bool(enough <= most or rank >= c.TAIL_UNSEEN_RANK)
        first = int(np.clip(np.count_nonzero(beyond > least) - 1, 1, len(edges) - 1))  # the first cell beyond start
        start, ends = float(edges[first - 1]), np.append(edges[first:], edges[-1] ** 2 / edges[-2])
        # A law narrower than half a cell would place a lump of records that may lie anywhere in its cell; equal lengths
        # lie at its end.
        scales = np.geomspace((ends[0] - start) / 2, 2 * max(ends[0], predicted), c.TAIL_SCALES)
        shape, scale = (each.ravel() for each in np.meshgrid(c.TAIL_SHAPES, scales))
        scale = np.maximum(scale, -shape * (ends[0] - start))
        survival = _survival(shape, (edges[first - 1 :, None] - start) / scale)
        cells = -np.diff(survival, axis=0, append=0.0).T  # (M, J); the last one is open
        middle, spread = c.TAIL_SHAPE_PRIOR
        prior = np.maximum(-0.5 * ((shape - middle) / spread) ** 2, c.TAIL_EQUAL_PRIOR)
        weight, amount, bumps = _posterior_and_bumps(cells, seen.counts[first:], seen.noise, prior)
        knots, number = np.append(0.0, edges[:first]), np.maximum(beyond[: first + 1], 1e-3)
        return cls(start, knots, number, ends, bumps, shape, scale, amount, weight, seen.noise, told)

    @property
    def last_edge(self) -> float:
        """Beyond this radius records were only counted."""
        return float(self.ends[-2])

    def _laws(self, outer: Floats) -> Floats:
        """E(R) of each law, bumps left out, (radii, M), for R from `start` on."""
        past = (outer - self.start)[:, None]
        mean = np.maximum(self.scale + self.shape * past, 0.0) / (1 - self.shape)  # of |z| - R, given that it is > 0
        return np.asarray(self.amount * _survival(self.shape, past / self.scale) * mean)

    def excess(self, radii: Floats, level: float) -> Floats:
        """The `level` quantile of the posterior of E(R), for each R; within `start`, by the counts."""
        outer = np.append(np.maximum(radii, self.start), self.start)
        far = self._quantile(self._laws(outer), level) + np.maximum(self.ends - outer[:, None], 0.0) @ self.bumps
        near = np.interp(radii, self.knots, np.log(np.maximum(far[-1] + self._inner(), 1e-300)))
        return np.where(radii < self.start, np.exp(near), far[:-1])

    def excesses(self, radii: Floats) -> Floats:
        """E(R) by each law, (radii, M)."""
        outer = np.maximum(radii, self.start)
        near, bumps = (
            np.interp(radii, self.knots, self._inner()),
            np.maximum(self.ends - outer[:, None], 0.0) @ self.bumps,
        )
        return np.asarray(self._laws(outer) + (near + bumps)[:, None])

    def _inner(self) -> Floats:
        """The part of E(R) between each knot and `start`: numbers fall like exponentials between knots."""
        falls = np.log(self.number[:-1] / self.number[1:])
        means = np.where(falls > 1e-9, -np.diff(self.number) / np.maximum(falls, 1e-9), self.number[1:])
        return np.append(np.cumsum((np.diff(self.knots) * means)[::-1])[::-1], 0.0)

    def beyond(self, radii: Floats, level: float) -> Floats:
        """The `level` quantile of the posterior of the number of records beyond R, for each R."""
        past = np.maximum(radii - self.start, 0.0)[:, None]
        laws = self._quantile(self.amount * _survival(self.shape, past / self.scale), level)
        far = laws + (self.ends > radii[:, None]) @ self.bumps
        near = np.exp(np.interp(radii, self.knots, np.log(self.number)))
        return np.where(radii < self.start, np.maximum(near, far), far)

    def most_beyond(self, radius: float) -> float | None:
        """How many records may lie beyond a radius, by laws and noise of a cell (97.5 %); None within `start`."""
        hidden = float(ndtri(c.MOST_BEYOND)) * self.noise
        return None if radius < self.start else hidden + float(self.beyond(np.array([radius]), c.MOST_BEYOND)[0])

    def _quantile(self, laws: Floats, level: float) -> Floats:
        order = np.argsort(laws, axis=1)
        below = np.count_nonzero(np.cumsum(self.weight[order], axis=1) < level, axis=1)
        at = np.take_along_axis(order, np.minimum(below, laws.shape[1] - 1)[:, None], axis=1)
        return np.take_along_axis(laws, at, axis=1)[:, 0]


def _survival(shape: Floats, distance: Floats) -> Floats:
    """Share of a law (shape not 0) beyond a distance from its start, in scales."""
    return np.asarray(np.maximum(1 + shape * distance, 0.0) ** (-1 / shape))


def _posterior_and_bumps(cells: Floats, counts: Floats, noise: float, prior: Floats) -> tuple[Floats, Floats, Floats]:
    """(weight, amount, bumps): cells far above the laws (outliers, atoms) are left out, the outermost first."""
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
    """(weight, amount) of each law: by likelihood and least squares; an amount is at least what noise may hide."""
    crowd = max(noise, float(counts @ used))
    variance = noise**2 + crowd * cells + (c.TAIL_MODEL_ERROR * crowd * cells) ** 2
    ours = used * cells / variance
    precision = (ours * cells).sum(axis=1) + crowd**-2.0
    amount = np.maximum(ours @ counts / precision, used.all() * precision**-0.5)
    misfit = used * ((counts - amount[:, None] * cells) ** 2 / variance + np.log(variance))
    log_weight = prior - misfit.sum(axis=1) / 2
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum(), amount


def outer_radius(tail: Tail, rank: float, mu: float, power: float = c.OUTER_BIAS_POWER) -> float:
    """Smallest radius, at most the last edge, where clipping likely moves the sum by at most b lengths of its noise."""
    b = min(c.OUTER_BIAS_MOST, c.OUTER_BIAS * rank**power)
    low, high = 0.0, tail.last_edge
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (low, middle) if likely_bias(tail, middle, rank, mu) <= b else (middle, high)
    return high


def likely_bias(tail: Tail, radius: float, rank: float, mu: float) -> float:
    """How far clipping at R likely moves the sum, at most, over the length √rank·R/mu of the noise of the sum."""
    return float(tail.excess(np.array([radius]), c.OUTER_LEVEL)[0]) * mu / (math.sqrt(rank) * radius)


def radius_of_least_loss(tail: Tail, rank: float, mu: float, predicted: float, total: float) -> tuple[float, float]:
    """(the radius of the least expected √(bias² + noise²), the RMS bias there, in lengths of the noise).

    Where the noise of a cell is a large part of all records, a radius is drawn towards the usual one.
    """
    radii = np.geomspace(c.LEAST_RADIUS * tail.last_edge, tail.last_edge, c.RADII)
    noise = math.sqrt(rank) * radii / mu
    ratio = c.COHERENCE * tail.excesses(radii) / noise[:, None]
    unusual = np.log(radii / (c.USUAL_LENGTH * predicted)) ** 2
    doubt = c.RADIUS_DOUBT * tail.noise / total
    best = int((np.log(noise * (np.hypot(1.0, ratio) @ tail.weight)) + doubt * unusual).argmin())
    return float(radii[best]), math.sqrt(float(ratio[best] ** 2 @ tail.weight))


def bias_in_bars(tail: Tail, radius: float, rank: float, mu: float) -> float:
    """The likely bias of clipping that intervals allow for, in noise deviations; a constant if no tail is seen."""
    return min(likely_bias(tail, radius, rank, mu), c.OUTER_BIAS_MOST) if tail.told else c.UNSEEN_BIAS


@dataclass(frozen=True)
class Lengths:
    """What was released of the records' lengths about the centre of a ball, at whose radius they are clipped."""

    tail: Tail
    ball: Ball
    bias: float = 0.0  # of clipping, in deviations of the noise of the answer

    @property
    def some_unmeasured(self) -> bool:
        """Whether records stand out in the last cell, which is open, or in one that reaches the cap of an entry."""
        unmeasured = self.tail.ends >= min(float(self.tail.ends[-1]), self.ball.cap * (1 - 1e-9))  # may be an edge
        return bool((self.tail.bumps[unmeasured] > 0).any())
