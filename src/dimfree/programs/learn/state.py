"""The state of a run after its core: what is known of the mean, and of the shape. Steps return new states.

A state holds released values and public numbers, and the setting through which queries see the records. Letters: P =
precision of the branch, λ = friend radius, σ = standard deviations, N = noise variance of an output, α = its weight in
the answer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.kernel import Ball, Basis, Block, Lookout, Released, View
from dimfree.programs.choose.constants import GUESSED_LOG_VARIANCE
from dimfree.programs.choose.core import are_few, core_alone
from dimfree.programs.learn.principal_directions import Spikes
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.shrinkage import VarianceRelease, denoised
from dimfree.programs.learn.tail import Lengths

T = TypeVar("T")


@dataclass(frozen=True)
class Output:
    """One released vector: value, and noise variance per coordinate (infinite where it says nothing).

    `weight` is α, chosen before the output was drawn; 0: it serves the next centre, not the answer. `offset` is how far
    the value lies from its centre: it was divided by the released number of records, not by the true one.
    """

    value: Floats
    variance: Floats
    weight: Floats | float = 0.0
    offset: Floats | float = 0.0


@dataclass(frozen=True)
class Knowledge:
    """All outputs so far, and how many stages there were, in whatever coordinates."""

    outputs: tuple[Output, ...] = ()
    stages: int = 0

    @classmethod
    def of(cls, output: Output, stages: int = 0) -> "Knowledge":
        """One output alone."""
        return cls((output,), stages)

    def add_stage(self, output: Output) -> "Knowledge":
        """With the output of one more stage."""
        return Knowledge((*self.outputs, output), self.stages + 1)

    @cached_property
    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance) of the average by inverse variance of all outputs (P8)."""
        weights = [1 / output.variance for output in self.outputs]
        total = np.sum(weights, axis=0)
        parts = [weight / total * output.value for weight, output in zip(weights, self.outputs, strict=True)]
        return _fixed(np.sum(parts, axis=0), 1 / total)

    @cached_property
    def centre(self) -> tuple[Floats, Floats]:
        """The denoised average, which is the next centre, and its posterior variance."""
        return _fixed(*denoised(*self.combined))

    def answer(self) -> tuple[Floats, Floats, Floats]:
        """(value, noise variance, offset): Σ√(α_i/N_i)·y_i/λ with λ = Σ√(α_i/N_i).

        Its noise has variance 1/λ², exactly, as Σα_i = 1 (P21).
        """
        counted = [each for each in self.outputs if np.any(each.weight)]
        roots = [np.sqrt(each.weight / each.variance) for each in counted]
        total = np.sum(roots, axis=0)
        shares = [root / total for root in roots]
        value = np.sum([share * each.value for share, each in zip(shares, counted, strict=True)], axis=0)
        offset = np.sum([share * each.offset for share, each in zip(shares, counted, strict=True)], axis=0)
        return value, total**-2.0, offset


def _fixed(value: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Many steps hold the same arrays: none may write to them."""
    value.setflags(write=False)
    variance.setflags(write=False)
    return value, variance


@dataclass(frozen=True, repr=False)
class StageSetting:
    """What all stages of a run share: the records, and their public or released number."""

    view: View
    count: float
    count_stddev: float = 0.0  # of a released count; 0: public
    whole: "StageSetting | None" = None  # of all records, where these are a sample of them

    @property
    def relation(self) -> Neighbours:
        return self.view.relation

    @property
    def final_count(self) -> float:
        """The number of all records, where these are a sample."""
        return self.count if self.whole is None else self.whole.count

    @property
    def moves(self) -> int:
        """By how many balls' radii one neighbour moves a clipped sum."""
        return 1 if self.relation is Neighbours.ADD_REMOVE else 2

    def on_sample(self, view: View, rate: float) -> "StageSetting":
        """Of a sample: as many records as its public rate leaves, give or take what the coins do (P16)."""
        if rate >= 1:
            return self
        coins = math.sqrt(rate * (1 - rate) * self.count) if self.count_stddev else 0.0
        off = math.hypot(rate * self.count_stddev, coins)
        return replace(self, view=view, count=rate * self.count, count_stddev=off, whole=self)

    def of_all(self) -> "StageSetting":
        """Of all records, in the same coordinates."""
        return self if self.whole is None else replace(self.whole, view=self.view.of_all())

    def rotated(self, basis: Basis | None, width: int) -> "StageSetting":
        """The same records in the coordinates of a basis (None: their own), unscaled."""
        return replace(self, view=self.view.rotated(basis, width))


@dataclass(frozen=True, repr=False)
class State:
    """What is known, the precision left, the standard deviations, and the coordinates in use."""

    setting: StageSetting
    precision: float  # P
    farthest: float  # 2 λ: honest records lie no farther apart
    trace: float  # a guess of tr Σ
    known: Knowledge
    left: float  # precision not yet spent
    stddev: Floats  # σ, as learned so far
    log_variance: Floats  # how uncertain ln σ is
    block: Block = None  # the coordinates that stages work on; the others have the core's mean
    ball: Ball | None = None  # of the last stage
    scores: VarianceRelease | None = None  # the last variance release, in the coordinates of that time
    own_scores: VarianceRelease | None = None  # the same in the original coordinates, where the stages use others
    ring_scores: tuple[VarianceRelease, ...] = ()  # those of the ring, ahead of the core; later ones overrule them
    directions: tuple[Spikes, Lookout] | None = None  # and the centre and scale that they were seen from
    lengths: Lengths | None = None  # as looked at before the stages of the answer
    choices: Mapping[str, float | str] = field(default_factory=dict)  # public: what was chosen, and the forecasts

    @classmethod
    def after_core(
        cls, setting: StageSetting, mean: Released[Floats], precision: float, share: float, learned: LearnedRadius
    ) -> "State":
        """Equal variances, and the core's output as the first thing known; the core took `share` of the precision."""
        dimension = setting.view.dimension
        alone = core_alone(setting.final_count, math.sqrt(precision), setting.relation, dimension)
        core = Output(mean.value, np.full(dimension, mean.stddev**2), float(alone))  # P21: all of the answer, or none
        stddev, unknown = np.sqrt(np.full(dimension, learned.trace / dimension)), np.full(dimension, math.inf)
        farthest, left = 2 * learned.radius, precision * (1 - share)
        return cls(setting, precision, farthest, learned.trace, Knowledge.of(core), left, stddev, unknown)

    @property
    def centre(self) -> tuple[Floats, Floats]:
        """The denoised combination of what is known, and its posterior variance."""
        return self.known.centre

    @property
    def from_ring(self) -> bool:
        """Whether the variances of the coordinates in use, those of the records, are from the ring."""
        return bool(self.ring_scores) and self.setting.view.basis is None

    @property
    def few(self) -> bool:
        """Whether there are too few records to learn anything but their mean."""
        return are_few(self.setting.final_count, math.sqrt(self.precision), self.setting.relation)

    @property
    def core_alone(self) -> bool:
        """Whether the core's own mean is the answer, in every coordinate."""
        return bool(np.all(self.known.outputs[0].weight))

    def seen(self, coordinates: Floats) -> Floats:
        """Those in the block."""
        return coordinates if self.block is None else coordinates[self.block]

    @property
    def rank(self) -> float:
        """How many coordinates of the block share the standard deviations of a record."""
        stddev = self.seen(self.stddev)
        return float(stddev.sum() ** 2 / (stddev**2).sum())

    @property
    def widest(self) -> float:
        """How many coordinates as wide as the widest one of the block would have all standard deviations."""
        stddev = self.seen(self.stddev)
        return float(stddev.sum() / stddev.max())

    @property
    def sampling_error(self) -> float:
        """The length of the sample mean's own error in the block, by the variances learned."""
        return float(np.linalg.norm(self.seen(self.stddev))) / math.sqrt(self.setting.final_count)

    def noise_over_sampling(self) -> float:
        """Noise of one spherical release of all records with all precision, over the sampling error."""
        return self.setting.moves * math.sqrt(len(self.stddev) / max(self.setting.final_count, 1.0) / self.precision)

    def in_original(self) -> tuple[Floats, Floats]:
        """The combination in the original coordinates: value, and noise variance."""
        (value, variance), basis = self.known.combined, self.setting.view.basis
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

    def move_to(self, basis: Basis, stddev: Floats | None = None) -> "State":
        """In other coordinates, with SDs there (None: equal ones); what was known serves the centre alone."""
        value, variance = self.known.combined
        equal = math.sqrt(float((self.stddev**2).sum()) / basis.width)
        return replace(
            self,
            setting=self.setting.rotated(basis, basis.width),
            known=Knowledge.of(Output(basis.moved(value), basis.moved_variances(variance)), self.known.stages),
            stddev=np.full(basis.width, equal) if stddev is None else stddev,
            log_variance=np.full(basis.width, GUESSED_LOG_VARIANCE),
            ball=None,
            scores=None,
        )
