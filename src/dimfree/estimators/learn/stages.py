"""Recentring (P8): each stage clips around everything released so far, and every output counts in the end.

Everything here works on released values; the records are seen by the mechanisms alone. Proof:
proofs/estimators/learn/stages.md. Letters: N = noise variance of an output, V = that of the combination, both per
coordinate.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.data.blocks import Rows
from dimfree.data.progress import during
from dimfree.estimators.choose.stages import SEARCHED_STAGES, Moments, Schedule
from dimfree.geometry.clip import BALL, norms
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball, Block, noisy_clipped_mean
from dimfree.mechanisms.search import STEPS, count_stddev, geometric_grid, noisy_search
from dimfree.noise import Noise

WINDOW = (0.4, 6.0)  # of the searched radius over the predicted one
NARROW = (0.6, 1.7)  # over one that was found before in the same shape
_RATIO = 1.08
AUDIBLE = 1.5  # an excess of so many deviations of a query is told from none
_UNSEARCHED_BIAS = 0.3  # allowed for a radius that was not searched


@dataclass(frozen=True)
class Output:
    """One released vector: value, noise variance per coordinate (infinite where it says nothing), allowed bias².

    `pull` is the share of its centre's noise that clipping passes on into the output.
    """

    value: Floats
    variance: Floats
    bias: Floats | float = 0.0
    pull: Floats | float = 0.0


@dataclass
class Knowledge:
    """All outputs so far and what they cost; their weighted average is centre and final answer (P8)."""

    outputs: list[Output] = field(default_factory=list)
    events: list[Gaussian] = field(default_factory=list)
    _shares: list[list[Floats | float]] = field(default_factory=list)  # of every output's fresh noise in each output

    def add(self, output: Output, *events: Gaussian) -> None:
        earlier = [output.pull * share for share in self._combined_shares()]
        self._shares.append([*earlier, 1.0])
        self.outputs.append(output)
        self.events.extend(events)

    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance): the average by inverse variance, bias allowed for, and the variance of its noise."""
        weights = self._weights()
        value = _sum(weight * output.value for weight, output in zip(weights, self.outputs, strict=True))
        shares = zip(self._combined_shares(), self.outputs, strict=True)
        return value, _sum(share**2 * np.minimum(output.variance, 1e300) for share, output in shares)

    def allow(self, factors: Floats) -> None:
        """Bias was allowed for by variances that are known better now: so many times as much, from here on."""
        self.outputs = [replace(output, bias=output.bias * factors) for output in self.outputs]

    def fresh(self) -> tuple[Floats, Floats]:
        """How much of the first output is in the combination, and the noise variance of all the others in it."""
        shares = self._combined_shares()
        others = zip(shares[1:], self.outputs[1:], strict=True)
        return shares[0], _sum([np.zeros_like(shares[0]), *(share**2 * output.variance for share, output in others)])

    def allowed_bias(self) -> Floats:
        """What the outputs' allowances add up to if they all point the same way."""
        return _sum(weight * np.sqrt(output.bias) for weight, output in zip(self._weights(), self.outputs, strict=True))

    def _weights(self) -> list[Floats]:
        weights = [1 / (output.variance + output.bias) for output in self.outputs]
        total = _sum(weights)
        return [weight / total for weight in weights]

    def _combined_shares(self) -> list[Floats]:
        """How much of each output's fresh noise is in the combination."""
        weights = self._weights()
        return [
            _sum(
                weight * shares[index]
                for weight, shares in zip(weights, self._shares, strict=True)
                if index < len(shares)
            )
            for index in range(len(self.outputs))
        ]


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.sum(list(parts), axis=0)


@dataclass(frozen=True)
class StageSetting:
    """What all stages of a run share: public numbers and the door to noise."""

    space: Space
    count: float  # released or public number of records
    relation: Neighbours
    noise: Noise
    count_stddev: float = 0.0  # of a released count; 0: public


def stage(setting: StageSetting, known: Knowledge, ball: Ball, mu: float, clipping: "Clipping", purpose: str) -> None:
    """Clip around the ball's centre, sum, and add the output to what is known (P8)."""
    with during(purpose):
        measured = noisy_clipped_mean(
            setting.space, ball, setting.count, mu, setting.relation, purpose, noise=setting.noise
        )
    offset, variance = np.zeros(setting.space.dimension), np.full(setting.space.dimension, np.inf)
    block = slice(None) if ball.block is None else ball.block
    stretch = np.broadcast_to(ball.scale, offset.shape)[block]
    offset[block] = measured.value * stretch
    variance[block] = (measured.event.stddev * measured.event.step / setting.count * stretch) ** 2
    known.add(Output(ball.centre + offset, variance, clipping.bias, clipping.pull), measured.event)


@dataclass(frozen=True)
class RadiusSearch:
    """How to look for a clipping radius: the precision of the search and the excess aimed at."""

    mu: float
    target: float  # E*: the excess, in records, at which bias and noise balance
    farthest: float  # raw distance from the centre beyond which a record is no reason to widen the ball
    window: tuple[float, float] = WINDOW

    @classmethod
    def balanced(
        cls,
        mu: float,
        stage_mu: float,
        effective_rank: float,
        farthest: float,
        window: tuple[float, float] = WINDOW,
        audible: float = AUDIBLE,
    ) -> "RadiusSearch":
        cells = len(search_grid(window)) - 1
        noise = count_stddev(cells, 1.0, mu)
        target = max(0.4 * math.sqrt(effective_rank) / stage_mu, audible * noise)
        return cls(mu, target, farthest, window)


def search_grid(window: tuple[float, float]) -> Floats:
    """Where a clipping radius is looked for, over the predicted one. Public."""
    return geometric_grid(*window, _RATIO)


def searched_radius(setting: StageSetting, known: Knowledge, ball: Ball, search: RadiusSearch) -> float:
    """The radius near ball.radius at which E(ρ) = Σ min(1, (|z|/ρ - 1)₊) falls to its target; sensitivity 1 (P8)."""
    grid = ball.radius * search_grid(search.window)
    lengths = _lengths(setting.space, ball, float(grid[-1]), search.farthest)

    def shortfall(radius: float) -> int:
        return round(search.target * STEPS) - excess(lengths, radius)

    found = noisy_search(shortfall, grid, 1.0, search.mu, "clipping radius", noise=setting.noise)
    known.events.append(found.event)
    return found.value


def excess(lengths: Floats, radius: float) -> int:
    """E(ρ) in units of 1/STEPS: whole numbers, so that the sum has no order."""
    over = np.nan_to_num(np.clip(lengths / radius - 1, 0.0, 1.0))
    return int(np.floor(over * STEPS).astype(np.int64).sum())


@during("clipping radius")
def _lengths(space: Space, ball: Ball, largest: float, farthest: float) -> Floats:
    """|z_j| of every record; zero for an invalid one, and where its raw distance from the centre is over `farthest`."""
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
        return -1.0  # |z| does not see all coordinates, or floats end here
    blur = math.sqrt(len(ball.centre)) * 2 / BALL + 1e-9
    near = farthest * (1 - blur) / float(np.max(ball.scale)) - largest * blur
    return min(near, 4 * largest)  # beyond it a coordinate may have been held at the cap


@dataclass(frozen=True)
class Clipping:
    """What clipping is allowed to do to an output: bias² per coordinate, and the share of the centre's noise kept."""

    bias: Floats | float = 0.0
    pull: float = 0.0


def trusted(level: float) -> Clipping:
    """A radius from the model: the few records beyond it are shortened by some tenths, on all sides alike."""
    return Clipping(pull=0.3 * (1 - level))


def unsearched(variances: Floats | float) -> Clipping:
    """A radius from a model that is not trusted."""
    return Clipping((_UNSEARCHED_BIAS / 2) ** 2 * variances, 0.05)


def searched(search: RadiusSearch, count: float, variances: Floats | float, lean: float = 0.5) -> Clipping:
    """A searched radius: E* records' worth of shortening, of the bias and of the centre's own noise alike.

    `lean` says how far, in standard deviations, that shortening may all lie on one side.
    """
    share = min(1.0, search.target / count)  # at the upper end of its cell E is about half of E*
    return Clipping((lean * share) ** 2 * variances, 0.5 * share)


@dataclass(frozen=True)
class Honest:
    """What is believed of honest records in this space: public."""

    spectrum: Floats  # eigenvalues of the covariance, descending
    coordinates: Floats  # variance of each coordinate
    searched: bool  # whether radii are searched rather than trusted to the model
    farthest: float  # distance between records of the core, at most

    def largest(self, size: int) -> Block:
        """The `size` coordinates of largest variance."""
        return None if size == len(self.coordinates) else np.sort(np.argsort(-self.coordinates)[:size])


def recentre(setting: StageSetting, known: Knowledge, schedule: Schedule, honest: Honest, level: float) -> None:
    """The stages of a schedule, one after the other, each around everything known before it (P8)."""
    moments, block = Moments.of(honest.spectrum[: schedule.block]), honest.largest(schedule.block)
    for index, mu in enumerate(schedule.stage_mus):
        centre, variance = known.combined()
        spread = float((variance if block is None else variance[block]).mean())
        ball = Ball(centre, 1.0, float(moments.radius(level, spread)), block)
        clipping = unsearched(honest.coordinates) if honest.searched else trusted(level)
        if honest.searched and index >= len(schedule.stage_mus) - SEARCHED_STAGES:
            farthest = honest.farthest + math.sqrt(float(variance.sum()))
            search = RadiusSearch.balanced(schedule.search_mu, mu, moments.effective_rank, farthest)
            ball = replace(ball, radius=searched_radius(setting, known, ball, search))
            clipping = searched(search, setting.count, honest.coordinates)
        stage(setting, known, ball, mu, clipping, f"stage {index + 1}")
