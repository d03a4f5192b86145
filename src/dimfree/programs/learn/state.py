"""The state of a run after its core, where the shape is learned. Every step takes a state and returns a new one.

A state holds released values and public numbers, and the setting through which mechanisms see the records. Letters: P
= precision of the branch, λ = friend radius, σ = standard deviations.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel import Ball, Basis, Block, Lookout, Released, View
from dimfree.programs.choose.constants import GUESSED_LOG_VARIANCE
from dimfree.programs.choose.core import are_few, core_alone
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.learn.population import Lengths
from dimfree.programs.learn.principal_directions import Spikes
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.spreads import VarianceRelease

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class StageSetting:
    """What all stages of a run share: the records, public numbers and the source of noise."""

    view: View
    count: float  # released or public number of records
    count_stddev: float = 0.0  # of a released count; 0: public
    whole: "StageSetting | None" = None  # of all records, where these are a sample of them

    @property
    def relation(self) -> Neighbours:
        return self.view.relation

    @property
    def final_count(self) -> float:
        """The released or public number of all records, where these are a sample."""
        return self.count if self.whole is None else self.whole.count

    def on_sample(self, view: View, rate: float) -> "StageSetting":
        """Of a sample: as many records as its public rate leaves, give or take what the coins do (P16)."""
        if rate >= 1:
            return self
        coins = math.sqrt(rate * (1 - rate) * self.count) if self.count_stddev else 0.0
        off = math.hypot(rate * self.count_stddev, coins)
        return replace(self, view=view, count=rate * self.count, count_stddev=off, whole=self)

    def of_all(self) -> "StageSetting":
        """Of all records, in the same coordinates."""
        if self.whole is None:
            return self
        return replace(self.whole, view=self.view.of_all())

    @property
    def moves(self) -> int:
        """By how many balls' radii one neighbour moves a clipped sum."""
        return 1 if self.relation is Neighbours.ADD_REMOVE else 2


@dataclass(frozen=True)
class Start:
    """What is fixed once the core is released."""

    precision: float  # P
    farthest: float  # 2 λ: honest records lie no farther apart
    trace: float  # a guess of tr Σ


@dataclass(frozen=True)
class Directions:
    """Directions found in a released matrix, and the centre and scale that records were seen from."""

    spikes: Spikes
    seen_from: Lookout


@dataclass(frozen=True, repr=False)
class State:
    """What is known, the precision left, the spread, and the coordinates in use."""

    setting: StageSetting
    start: Start
    known: Knowledge
    left: float  # precision not yet spent
    stddev: Floats  # σ, as learned so far
    log_variance: Floats  # how uncertain ln σ is
    block: Block = None  # the coordinates that stages work on; the others have the core's mean
    ball: Ball | None = None  # of the last stage
    scores: VarianceRelease | None = None  # the last variance release, in the coordinates of that time
    own_scores: VarianceRelease | None = None  # the same in the original coordinates, where the stages use others
    ring_scores: tuple[VarianceRelease, ...] = ()  # those of the ring, ahead of the core; later ones overrule them
    directions: Directions | None = None
    lengths: Lengths | None = None  # as looked at before the stages of the answer
    choices: Mapping[str, float | str] = field(default_factory=dict)  # public: what was chosen, and the forecasts

    @classmethod
    def after_core(
        cls,
        setting: StageSetting,
        mean: Released[Floats],
        precision: float,
        share: float,
        learned: LearnedRadius,
    ) -> "State":
        """Equal variances, and the core's output as the first thing known; the core took `share` of the precision."""
        dimension = setting.view.dimension
        typical = np.full(dimension, learned.trace / dimension)
        variance = np.full(dimension, (mean.stddev) ** 2)
        alone = core_alone(setting.final_count, math.sqrt(precision), setting.relation, dimension)
        known = Knowledge.of(Output(mean.value, variance, float(alone)))  # P21: all of the answer, or none
        start = Start(precision, 2 * learned.radius, learned.trace)
        unknown = np.full(dimension, math.inf)
        return cls(setting, start, known, precision * (1 - share), np.sqrt(typical), unknown)

    @property
    def precision(self) -> float:
        return self.start.precision

    @property
    def from_ring(self) -> bool:
        """Whether the ring has told the variances of the coordinates in use: those of the records."""
        return bool(self.ring_scores) and self.setting.view.basis is None

    def seen(self, coordinates: Floats) -> Floats:
        """Those in the block."""
        return coordinates if self.block is None else coordinates[self.block]

    @property
    def few(self) -> bool:
        """Whether there are too few records to learn anything beside their mean."""
        return are_few(self.setting.final_count, math.sqrt(self.precision), self.setting.relation)

    @property
    def core_alone(self) -> bool:
        """Whether the core's own mean is the answer, in every coordinate."""
        return bool(np.all(self.known.outputs[0].weight))

    @property
    def rank(self) -> float:
        """How many coordinates of the block share the spread of a record."""
        stddev = self.seen(self.stddev)
        return float(stddev.sum() ** 2 / (stddev**2).sum())

    @property
    def widest(self) -> float:
        """How many coordinates as wide as the widest one of the block would have all of its spread."""
        stddev = self.seen(self.stddev)
        return float(stddev.sum() / stddev.max())

    @property
    def sampling_error(self) -> float:
        """The length of the sample mean's own error in the block, by the variances learned."""
        return float(np.linalg.norm(self.seen(self.stddev))) / math.sqrt(self.setting.final_count)

    def noise_over_sampling(self) -> float:
        """Noise of one spherical release of all records with all precision, over the sampling error."""
        count = self.setting.final_count
        return self.setting.moves * math.sqrt(len(self.stddev) / max(count, 1.0) / self.precision)

    def centre(self) -> tuple[Floats, Floats]:
        """The denoised combination of what is known, and its posterior variance."""
        return self.known.outputs.centre

    def in_original(self) -> tuple[Floats, Floats]:
        """The combination in the original coordinates: value, and noise variance."""
        value, variance = self.known.combined()
        basis = self.setting.view.basis
        return (value, variance) if basis is None else (basis.restored(value), basis.diagonal(variance))

    def spend(self, share: float) -> tuple["State", float]:
        """Without a share of P, or what is left of it, and the mu of that share."""
        taken = min(share * self.precision, self.left)
        return replace(self, left=self.left - taken), math.sqrt(taken)

    def release(self, share: float, query: Callable[[float], Released[T]]) -> tuple["State", Released[T]]:
        """What a query releases at the mu of a share of P; the state has paid for it."""
        state, mu = self.spend(share)
        return state, query(mu)

    def choose(self, **choices: float | str) -> "State":
        """With public facts about what was chosen."""
        return replace(self, choices={**self.choices, **choices})

    def on_all(self) -> "State":
        """About all records, where a sample was looked at so far."""
        return replace(self, setting=self.setting.of_all())

    def move_to(self, basis: Basis, stddev: Floats | None = None) -> "State":
        """In other coordinates, with standard deviations there (None: equal ones, of a rotation).

        What was known is one output there, which serves the centre alone.
        """
        value, variance = self.known.combined()
        equal = math.sqrt(float((self.stddev**2).sum()) / basis.width)
        return replace(
            self,
            setting=in_coordinates(self.setting, basis, basis.width),
            known=Knowledge.of(Output(basis.moved(value), basis.moved_variances(variance)), self.known.stages),
            stddev=np.full(basis.width, equal) if stddev is None else stddev,
            log_variance=np.full(basis.width, GUESSED_LOG_VARIANCE),
            ball=None,
            scores=None,
        )


def in_coordinates(setting: StageSetting, basis: Basis | None, width: int) -> StageSetting:
    """The same records in the coordinates of a basis (None: their own), unscaled."""
    return replace(setting, view=setting.view.rotated(basis, width))
