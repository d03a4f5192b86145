"""The public choice of the recentring stages: how many, how precise, on which coordinates. Sees no record.

Letters: A = covariance after rescaling, with eigenvalues a_i; V = variance per coordinate of what is known of the
mean; N = that of one stage's output; p = precision mu² of a release; k = size of the recentred block.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import chdtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import StableChoice


@dataclass(frozen=True)
class Moments:
    """Traces of A, A², A³ over a block of k coordinates; all that a clipping radius depends on."""

    size: int
    first: float
    second: float
    third: float

    @classmethod
    def of(cls, spectrum: Floats) -> "Moments":
        return cls(len(spectrum), float(spectrum.sum()), float((spectrum**2).sum()), float((spectrum**3).sum()))

    def radius(self, level: Floats | float, centre_variance: Floats | float) -> Floats:
        """The `level`-quantile of |y - c| for Gaussian y and a centre that is off by noise of the given variance."""
        mean = self.first + self.size * centre_variance
        variance = 2 * self.second + 4 * centre_variance * self.first + 2 * self.size * centre_variance**2
        skewness = (8 * self.third + 24 * centre_variance * self.second) / variance**1.5
        freedom = 8 / skewness**2  # the chi-square law with this skewness
        beyond = (chdtri(freedom, 1 - level) - freedom) / np.sqrt(2 * freedom)
        return np.sqrt(mean + np.sqrt(variance) * beyond)

    @property
    def effective_rank(self) -> float:
        return self.first**2 / self.second


@dataclass(frozen=True)
class Schedule:
    """One way to spend a branch's precision: the core first, then stages on a block of the largest coordinates."""

    core: StableChoice
    core_mu: float
    stage_mus: tuple[float, ...]
    look_mu: float  # for the look at the records' lengths; 0: none
    shell_mu: float  # for the shell between their median and the radius; 0: none
    weights: tuple[float, ...]  # of the core and each stage in the answer: predicted precisions; they sum to 1
    block: int  # how many of the largest coordinates are recentred
    error: float  # predicted squared error in the original space, noise only
    early: float = 1.0  # share of the records that all stages but the last see; after less than 1 that one alone counts

    @property
    def counted_precision(self) -> float:
        """Of all stages that count in the answer."""
        return sum(mu**2 for mu, weight in zip(self.stage_mus, self.weights[1:], strict=True) if weight)


def look_share(widest: float) -> float:
    """Of the precision, for the look at the lengths: more where few coordinates, `widest` = Σσ / max σ, are as wide."""
    return float(np.clip(c.LENGTH_LOOK / math.sqrt(widest), *c.LENGTH_LOOK_SHARES))


def shell_share(weights: Floats) -> float:
    """Of the precision, for the shell; 0 where that would take too large a share.

    `weights` w: what a squared error in each coordinate counts. The squared length of a shell has noise
    √(2Σw²)(R - ρ)²/p at a share p, and (R² - ρ²)Σw is saved: their ratio falls with Σw/√Σw².
    """
    share = c.SHELL_SHARE * float(np.linalg.norm(weights)) / float(weights.sum())
    return share if share <= c.SHELL_MOST else 0.0


def clip_level(count: float, epsilon: float, rank: float, precision: float) -> float:
    """The share of honest records left unclipped: 95 %, less where noise matters more than bias (P8).

    What clipping removes must stay below the noise: sqrt(clipped) against sqrt(rank / precision). With few records all
    of them may lie on one side of the centre, and what is clipped is missing from the next centre, too: 95 % again.
    """
    if count * math.sqrt(precision) < c.FEW:
        return 1 - c.CLIPPED_LEAST
    clipped = min(c.CLIPPED_MOST, max(c.CLIPPED_LEAST, c.CLIPPED_COUNT / (max(count, 1.0) * epsilon)))
    return 1 - min(clipped, rank / (precision * max(count, 1.0)))


def good_enough(least: float, sampling: float) -> float:
    """The largest acceptable noise variance: far below the sampling error, a little more saves passes."""
    return least + c.UNSEEN_VARIANCE * sampling if least < c.SMALL_NOISE_VARIANCE * sampling else least


@dataclass(frozen=True)
class _Choice:
    """All that a schedule depends on; equal choices share a cached schedule."""

    cores: tuple[StableChoice, ...]
    eigenvalues: bytes
    count: float
    level: float
    relation: Neighbours
    blocks: bool
    look: float  # share of the precision for the look at the records' lengths, if a stage follows the core
    early: float

    @cached_property
    def spectrum(self) -> Floats:
        return np.frombuffer(self.eigenvalues)

    def tried(self, size: int, stages: int, ratio: float) -> list[Schedule]:
        """The best share for each core, all else fixed: V <- 1/(1/V + 1/N) for every core and share at once."""
        totals = [core.branch.mu**2 * (1 - 1e-9) for core in self.cores]
        shares, look = (c.SCHEDULE_CORE_SHARES, self.look) if stages else (np.ones(1), 0.0)
        shell = shell_share(self.spectrum[:size]) * (1 - look) if look else 0.0
        rest = np.array(totals)[:, None] * (1 - shares - look - shell)
        weights = ratio ** np.arange(stages)
        weights = weights / weights.sum() if stages else weights
        moments, moves = Moments.of(self.spectrum[:size]), 1 if self.relation is Neighbours.ADD_REMOVE else 2
        squares = np.array([(core.radius * core.sensitivity) ** 2 for core in self.cores])
        first = squares[:, None] / (np.array(totals)[:, None] * shares)
        variance, precisions = first, [1 / first]
        seen = np.append(np.full(max(stages - 1, 0), self.early * self.count), self.count)  # records, by each stage
        for weight, records in zip(weights, seen, strict=False):
            stage = (moves * moments.radius(self.level, variance) / records) ** 2 / (rest * weight)
            variance = 1 / (1 / variance + 1 / stage)
            precisions.append(1 / stage)
        counted = np.array(precisions)
        counted[: stages if self.early < 1 else max(1, stages + 1 - c.COUNTED_STAGES) if look else 0] = 0.0
        error = moments.first / counted.sum(axis=0) + first * float(self.spectrum[size:].sum())
        return [
            Schedule(
                core,
                math.sqrt(total * shares[best]),
                tuple(float(math.sqrt(rest[place, best] * weight)) for weight in weights),
                math.sqrt(total * look),
                math.sqrt(total * shell),
                tuple(float(each) for each in counted[:, place, best] / counted[:, place, best].sum()),
                size,
                float(error[place, best]),
                self.early,
            )
            for place, (core, total, best) in enumerate(zip(self.cores, totals, error.argmin(axis=1), strict=True))
        ]


def best_schedule(
    cores: list[StableChoice],
    spectrum: Floats,
    count: float,
    level: float,
    relation: Neighbours,
    *,
    blocks: bool,
    looked: bool = False,
    early: float = 1.0,
) -> Schedule | None:
    """The schedule with the least predicted error; zero stages are among the candidates. None without a core.

    Of those that are good enough, the one with the fewest stages: each is a pass or two over the records.

    `looked`: the records' lengths are looked at, and the last COUNTED_STAGES stages alone count in the answer. `early`:
    the share of the records that all stages but the last see.
    """
    look = look_share(float(spectrum.sum() / spectrum.max())) if looked else 0.0
    eigenvalues = np.ascontiguousarray(spectrum, dtype=np.float64).tobytes()
    return _best(_Choice(tuple(cores), eigenvalues, count, level, relation, blocks, look, early))


@lru_cache(maxsize=16)  # replace-one asks twice: first whether to refuse
def _best(choice: _Choice) -> Schedule | None:
    d, ratios = len(choice.spectrum), c.STAGE_RATIOS if choice.early >= 1 else c.EARLY_RATIOS
    steps = range(c.BLOCK_SIZES + 1) if choice.blocks else [c.BLOCK_SIZES]
    sizes = sorted({min(d, max(1, round(d ** (i / c.BLOCK_SIZES)))) for i in steps})
    rows = [
        choice.tried(size, stages, ratio)
        for stages in range(c.MOST_STAGES + 1)
        for ratio in (ratios if stages > 1 else (1.0,))
        for size in (sizes if stages else sizes[-1:])
        if choice.cores
    ]
    candidates = [schedule for of_one_core in zip(*rows, strict=True) for schedule in of_one_core]
    least = min((schedule.error for schedule in candidates), default=0.0)
    enough = good_enough(least, float(np.square(choice.spectrum).sum()) / max(choice.count, 1.0))
    promising = (schedule for schedule in candidates if schedule.error <= enough)
    return min(promising, key=lambda schedule: (len(schedule.stage_mus), schedule.error), default=None)
