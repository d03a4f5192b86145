"""The public choice of the recentring stages: how many, how precise, on which coordinates. Sees no record.

Letters: A = covariance after rescaling, with eigenvalues a_i; V = variance per coordinate of what is known of the
mean; N = that of one stage's output; p = precision mu² of a release; k = size of the recentred block.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Tested
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
    def branch(self) -> Tested:
        return self.core.branch

    @property
    def counted_precision(self) -> float:
        """Of all stages that count in the answer."""
        return sum(mu**2 for mu, weight in zip(self.stage_mus, self.weights[1:], strict=True) if weight)


def look_share(widest: float) -> float:
    """Of the precision, for the look at the records' lengths: more where one coordinate may make a record long.

    `widest` is Σσ over the largest σ: as many coordinates as wide as the widest one would have all of the spread.
    """
    return float(np.clip(c.LENGTH_LOOK / math.sqrt(widest), *c.LENGTH_LOOK_SHARES))


def shell_share(weights: Floats) -> float:
    """Of the precision, for the shell: the noise of a squared bias stays far below what a smaller radius saves.

    `weights`: what a squared error in each coordinate counts. The squared length of a shell has noise √(2Σw²)(R - ρ)²/p
    at a share p, and (R² - ρ²)Σw is saved: their ratio falls with Σw/√Σw². 0 where that would take too large a share.
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
    """The largest acceptable noise variance: where noise is far below the sampling error, a little more noise is
    accepted for fewer passes over the records."""
    return least + c.UNSEEN_VARIANCE * sampling if least < c.SMALL_NOISE_VARIANCE * sampling else least


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
    most = c.MOST_STAGES
    share = look_share(float(spectrum.sum() / spectrum.max())) if looked else 0.0
    eigenvalues = np.ascontiguousarray(spectrum, dtype=np.float64).tobytes()
    return _best(tuple(cores), eigenvalues, count, level, relation, blocks, most, share, early)


@lru_cache(maxsize=16)  # replace-one asks twice: first whether to refuse
def _best(
    cores: tuple[StableChoice, ...],
    eigenvalues: bytes,
    count: float,
    level: float,
    relation: Neighbours,
    blocks: bool,
    most: int,
    share: float,
    early: float,
) -> Schedule | None:
    spectrum = np.frombuffer(eigenvalues)
    sizes = _block_sizes(spectrum) if blocks else [len(spectrum)]
    rows = [
        _try(cores, spectrum, size, count, level, relation, stages, ratio, share, early)
        for stages in range(most + 1)
        for ratio in ((c.STAGE_RATIOS if early >= 1 else c.EARLY_RATIOS) if stages > 1 else (1.0,))
        for size in (sizes if stages else sizes[-1:])
        if cores
    ]
    candidates = [schedule for of_one_core in zip(*rows, strict=True) for schedule in of_one_core]
    least = min((schedule.error for schedule in candidates), default=0.0)
    enough = good_enough(least, float(np.square(spectrum).sum()) / max(count, 1.0))
    return min(
        (schedule for schedule in candidates if schedule.error <= enough),
        key=lambda schedule: (len(schedule.stage_mus), schedule.error),
        default=None,
    )


def _block_sizes(spectrum: Floats) -> list[int]:
    d = len(spectrum)
    return sorted({min(d, max(1, round(d ** (i / c.BLOCK_SIZES)))) for i in range(c.BLOCK_SIZES + 1)})


def _try(
    cores: tuple[StableChoice, ...],
    spectrum: Floats,
    size: int,
    count: float,
    level: float,
    relation: Neighbours,
    stages: int,
    ratio: float,
    look_share: float,
    early: float,
) -> list[Schedule]:
    """The best share for each core, all else fixed: V <- 1/(1/V + 1/N) for every core and share at once."""
    totals = [core.branch.mu**2 * (1 - 1e-9) for core in cores]
    shares = c.SCHEDULE_CORE_SHARES if stages else np.ones(1)
    look = look_share if stages else 0.0
    shell = shell_share(spectrum[:size]) * (1 - look) if look else 0.0
    rest = np.array(totals)[:, None] * (1 - shares - look - shell)
    weights = ratio ** np.arange(stages)
    weights = weights / weights.sum() if stages else weights
    moments, moves = Moments.of(spectrum[:size]), 1 if relation is Neighbours.ADD_REMOVE else 2
    squares = np.array([(core.radius * core.sensitivity) ** 2 for core in cores])
    first = squares[:, None] / (np.array(totals)[:, None] * shares)
    variance, precisions = first, [1 / first]
    seen = np.append(np.full(max(stages - 1, 0), early * count), count)  # records, by each stage
    for weight, records in zip(weights, seen, strict=False):
        stage = (moves * moments.radius(level, variance) / records) ** 2 / (rest * weight)
        variance = 1 / (1 / variance + 1 / stage)
        precisions.append(1 / stage)
    counted = np.array(precisions)
    counted[: len(counted) - 1 if early < 1 else max(1, len(counted) - c.COUNTED_STAGES) if look else 0] = 0.0
    error = moments.first / counted.sum(axis=0) + first * float(spectrum[size:].sum())
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
            early,
        )
        for place, (core, total, best) in enumerate(zip(cores, totals, error.argmin(axis=1).tolist(), strict=True))
    ]
