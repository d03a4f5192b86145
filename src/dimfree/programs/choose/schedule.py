"""The public schedule of refinement steps: number, precision, coordinates. Reads no record.

Letters: A = covariance after rescaling, with eigenvalues a_i; V = variance per coordinate of the current estimate; N =
that of one step's output; p = precision mu² of a release; k = size of the refined block.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import chdtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import StableChoice


@dataclass(frozen=True)
class Moments:
    """Traces of A, A², A³ over a block of k coordinates; a clipping radius depends on these alone."""

    size: int
    first: float
    second: float
    third: float

    @classmethod
    def of(cls, spectrum: Floats) -> "Moments":
        return cls(len(spectrum), float(spectrum.sum()), float((spectrum**2).sum()), float((spectrum**3).sum()))

    def radius(self, level: Floats | float, center_variance: Floats | float) -> Floats:
        """Return the `level`-quantile of |y - c| for Gaussian y and a center with noise of the given variance."""
        mean = self.first + self.size * center_variance
        variance = 2 * self.second + 4 * center_variance * self.first + 2 * self.size * center_variance**2
        skewness = (8 * self.third + 24 * center_variance * self.second) / variance**1.5
        freedom = 8 / skewness**2  # the chi-square distribution with this skewness
        beyond = (chdtri(freedom, 1 - level) - freedom) / np.sqrt(2 * freedom)
        return np.sqrt(mean + np.sqrt(variance) * beyond)

    @property
    def effective_rank(self) -> float:
        return self.first**2 / self.second


@dataclass(frozen=True)
class Schedule:
    """A division of a branch's precision: the core, then refinement steps on a block of the largest coordinates."""

    core: StableChoice
    core_mu: float
    step_mus: tuple[float, ...]
    length_mu: float  # of the length histogram; 0: none
    shell_mu: float  # of the shell between the median length and the radius; 0: none
    weights: tuple[float, ...]  # of the core and each step in the answer: predicted precisions; they sum to 1
    block: int  # number of the largest coordinates that are refined
    error: float  # predicted squared error in the original space, noise only
    early: float = 1.0  # share of the records that all steps but the last read; below 1 the last one alone counts

    @property
    def counted_precision(self) -> float:
        """The precision of all steps that count in the answer."""
        return sum(mu**2 for mu, weight in zip(self.step_mus, self.weights[1:], strict=True) if weight)


def choose_length_share(widest: float) -> float:
    """Choose the share of the length histogram: more if few coordinates, `widest` = Σσ / max σ, are as wide."""
    return float(np.clip(c.LENGTH_SHARE / math.sqrt(widest), *c.LENGTH_SHARES))


def choose_shell_share(weights: Floats) -> float:
    """Choose the share of the shell; 0 if it would be too large.

    `weights` w: weight of a squared error in each coordinate. The squared length of a shell has noise
    √(2Σw²)(R - ρ)²/p at a share p, and (R² - ρ²)Σw is saved: their ratio falls with Σw/√Σw².
    """
    share = c.SHELL_SHARE * float(np.linalg.norm(weights)) / float(weights.sum())
    return share if share <= c.MAX_SHELL_SHARE else 0.0


def choose_clip_level(count: float, epsilon: float, rank: float, precision: float) -> float:
    """Choose the share of records left unclipped: 95%, less if noise matters more than bias (P8).

    The clipping bias must stay below the noise: sqrt(clipped) against sqrt(rank / precision). Few records may all lie
    on one side of the center, and what is clipped is missing from the next center, too: 95% again.
    """
    if count * math.sqrt(precision) < c.MIN_LEARNING_RECORDS:
        return 1 - c.MIN_CLIPPED_SHARE
    clipped = min(c.MAX_CLIPPED_SHARE, max(c.MIN_CLIPPED_SHARE, c.CLIPPED_COUNT / (max(count, 1.0) * epsilon)))
    return 1 - min(clipped, rank / (precision * max(count, 1.0)))


def accept_variance(least: float, sampling: float) -> float:
    """Return the largest acceptable noise variance: far below the sampling error, a little more saves passes."""
    return least + c.NEGLIGIBLE_VARIANCE * sampling if least < c.SMALL_NOISE_VARIANCE * sampling else least


@dataclass(frozen=True)
class _Choice:
    """The input of a schedule; equal inputs share a cached schedule."""

    cores: tuple[StableChoice, ...]
    eigenvalues: bytes
    count: float
    level: float
    relation: Neighbors
    blocks: bool
    length_share: float  # share of the precision for the length histogram, if a step follows the core
    early: float

    @cached_property
    def spectrum(self) -> Floats:
        return np.frombuffer(self.eigenvalues)

    def try_shares(self, size: int, steps: int, ratio: float) -> list[Schedule]:
        """Find the best share for each core, all else fixed: V <- 1/(1/V + 1/N) for every core and share at once."""
        totals = [core.branch.mu**2 * (1 - 1e-9) for core in self.cores]
        shares, length_share = (c.SCHEDULE_CORE_SHARES, self.length_share) if steps else (np.ones(1), 0.0)
        shell = choose_shell_share(self.spectrum[:size]) * (1 - length_share) if length_share else 0.0
        rest = np.array(totals)[:, None] * (1 - shares - length_share - shell)
        weights = ratio ** np.arange(steps)
        weights = weights / weights.sum() if steps else weights
        moments, sensitivity = Moments.of(self.spectrum[:size]), 1 if self.relation is Neighbors.ADD_REMOVE else 2
        squares = np.array([(core.radius * core.sensitivity) ** 2 for core in self.cores])
        first = squares[:, None] / (np.array(totals)[:, None] * shares)
        variance, precisions = first, [1 / first]
        seen = np.append(np.full(max(steps - 1, 0), self.early * self.count), self.count)  # records of each step
        for weight, records in zip(weights, seen, strict=False):
            step = (sensitivity * moments.radius(self.level, variance) / records) ** 2 / (rest * weight)
            variance = 1 / (1 / variance + 1 / step)
            precisions.append(1 / step)
        counted = np.array(precisions)
        counted[: steps if self.early < 1 else max(1, steps + 1 - c.COUNTED_STEPS) if length_share else 0] = 0.0
        error = moments.first / counted.sum(axis=0) + first * float(self.spectrum[size:].sum())
        return [
            Schedule(
                core,
                math.sqrt(total * shares[best]),
                tuple(float(math.sqrt(rest[place, best] * weight)) for weight in weights),
                math.sqrt(total * length_share),
                math.sqrt(total * shell),
                tuple(float(each) for each in counted[:, place, best] / counted[:, place, best].sum()),
                size,
                float(error[place, best]),
                self.early,
            )
            for place, (core, total, best) in enumerate(zip(self.cores, totals, error.argmin(axis=1), strict=True))
        ]


def choose_schedule(
    cores: list[StableChoice],
    spectrum: Floats,
    count: float,
    level: float,
    relation: Neighbors,
    *,
    blocks: bool,
    with_lengths: bool = False,
    early: float = 1.0,
) -> Schedule | None:
    """Choose the schedule with the least predicted error, perhaps without steps; None without a core.

    Of those that are good enough, the one with the fewest steps, since each reads the records once or twice.

    `with_lengths`: lengths are released, and the last COUNTED_STEPS steps alone count in the answer. `early`: the share
    of the records that all steps but the last read.
    """
    length_share = choose_length_share(float(spectrum.sum() / spectrum.max())) if with_lengths else 0.0
    eigenvalues = np.ascontiguousarray(spectrum, dtype=np.float64).tobytes()
    return _best(_Choice(tuple(cores), eigenvalues, count, level, relation, blocks, length_share, early))


@lru_cache(maxsize=16)  # replace-one chooses twice: first for the refusal
def _best(choice: _Choice) -> Schedule | None:
    d, ratios = len(choice.spectrum), c.STEP_RATIOS if choice.early >= 1 else c.SAMPLED_STEP_RATIOS
    steps = range(c.BLOCK_SIZES + 1) if choice.blocks else [c.BLOCK_SIZES]
    sizes = sorted({min(d, max(1, round(d ** (i / c.BLOCK_SIZES)))) for i in steps})
    rows = [
        choice.try_shares(size, steps, ratio)
        for steps in range(c.MAX_STEPS + 1)
        for ratio in (ratios if steps > 1 else (1.0,))
        for size in (sizes if steps else sizes[-1:])
        if choice.cores
    ]
    candidates = [schedule for of_one_core in zip(*rows, strict=True) for schedule in of_one_core]
    least = min((schedule.error for schedule in candidates), default=0.0)
    enough = accept_variance(least, float(np.square(choice.spectrum).sum()) / max(choice.count, 1.0))
    promising = (schedule for schedule in candidates if schedule.error <= enough)
    return min(promising, key=lambda schedule: (len(schedule.step_mus), schedule.error), default=None)
