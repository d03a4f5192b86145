"""The state of a run after its core: estimates of the mean and of the variances. Steps return new states.

A state holds released values and public numbers, and the setting through which queries read the records. Letters: P =
precision of the branch, λ = friend radius, σ = SDs, N = noise variance of an output, α = its weight in the answer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors
from dimfree.kernel import Ball, Basis, Block, DirectionCenter, Released, View
from dimfree.programs.choose.constants import GUESSED_LOG_VARIANCE
from dimfree.programs.choose.core import core_alone, has_few_records
from dimfree.programs.learn.principal_directions import Spikes
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.shrinkage import VarianceRelease, denoise
from dimfree.programs.learn.tail import Lengths

T = TypeVar("T")


@dataclass(frozen=True)
class Output:
    """One released vector: value, and noise variance per coordinate (infinite if not released).

    `weight` is α, chosen before the output was released; 0: it serves the next center, not the answer. `offset`: of the
    value from its center, which was divided by the released number of records, not by the true one.
    """

    value: Floats
    variance: Floats
    weight: Floats | float = 0.0
    offset: Floats | float = 0.0


@dataclass(frozen=True)
class Knowledge:
    """All outputs so far, and the number of refinement steps, in any coordinates."""

    outputs: tuple[Output, ...] = ()
    steps: int = 0

    @classmethod
    def of(cls, output: Output, steps: int = 0) -> "Knowledge":
        """Make the knowledge of one output."""
        return cls((output,), steps)

    def add_step(self, output: Output) -> "Knowledge":
        """Add the output of one more refinement step."""
        return Knowledge((*self.outputs, output), self.steps + 1)

    @cached_property
    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance) of the average of all outputs, weighted by inverse variance (P8)."""
        weights = [1 / output.variance for output in self.outputs]
        total = np.sum(weights, axis=0)
        parts = [weight / total * output.value for weight, output in zip(weights, self.outputs, strict=True)]
        return _freeze(np.sum(parts, axis=0), 1 / total)

    @cached_property
    def center(self) -> tuple[Floats, Floats]:
        """The denoised average, which is the next center, and its posterior variance."""
        return _freeze(*denoise(*self.combined))

    def answer(self) -> tuple[Floats, Floats, Floats]:
        """Compute (value, noise variance, offset): Σ√(α_i/N_i)·y_i/λ with λ = Σ√(α_i/N_i).

        Its noise has variance 1/λ², exactly, as Σα_i = 1 (P21).
        """
        counted = [each for each in self.outputs if np.any(each.weight)]
        roots = [np.sqrt(each.weight / each.variance) for each in counted]
        total = np.sum(roots, axis=0)
        shares = [root / total for root in roots]
        value = np.sum([share * each.value for share, each in zip(shares, counted, strict=True)], axis=0)
        offset = np.sum([share * each.offset for share, each in zip(shares, counted, strict=True)], axis=0)
        return value, total**-2.0, offset


def _freeze(value: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Make arrays read-only, since many steps share them."""
    value.setflags(write=False)
    variance.setflags(write=False)
    return value, variance


@dataclass(frozen=True, repr=False)
class StepSetting:
    """The records of all steps of a run, and their public or released number."""

    view: View
    count: float
    count_stddev: float = 0.0  # of a released count; 0: public
    whole: "StepSetting | None" = None  # of all records, if these are a sample of them

    @property
    def relation(self) -> Neighbors:
        return self.view.relation

    @property
    def final_count(self) -> float:
        """The number of all records, even if these are a sample."""
        return self.count if self.whole is None else self.whole.count

    @property
    def sensitivity(self) -> int:
        """The sensitivity of a clipped sum, in radii."""
        return 1 if self.relation is Neighbors.ADD_REMOVE else 2

    def on_sample(self, view: View, rate: float) -> "StepSetting":
        """Return the setting of a sample; its count has the error of the coins (P16)."""
        if rate >= 1:
            return self
        coins = math.sqrt(rate * (1 - rate) * self.count) if self.count_stddev else 0.0
        off = math.hypot(rate * self.count_stddev, coins)
        return replace(self, view=view, count=rate * self.count, count_stddev=off, whole=self)

    def of_all(self) -> "StepSetting":
        """Return the setting of all records, in the same coordinates."""
        return self if self.whole is None else replace(self.whole, view=self.view.of_all())

    def rotate(self, basis: Basis | None, width: int) -> "StepSetting":
        """Return the same records in the coordinates of a basis (None: their own), unscaled."""
        return replace(self, view=self.view.rotate(basis, width))


@dataclass(frozen=True, repr=False)
class State:
    """The estimates, the remaining precision, the SDs, and the coordinates in use."""

    setting: StepSetting
    precision: float  # P
    farthest: float  # 2 λ: largest distance between typical records
    trace: float  # an estimate of tr Σ
    known: Knowledge
    left: float  # remaining precision
    stddev: Floats  # σ, as estimated so far
    log_variance: Floats  # of ln σ
    block: Block = None  # the coordinates of the refinement steps; the others keep the core's mean
    ball: Ball | None = None  # of the last step
    scores: VarianceRelease | None = None  # the last variance release, in the coordinates of that time
    own_scores: VarianceRelease | None = None  # the same in the original coordinates, if the steps use others
    ring_scores: tuple[VarianceRelease, ...] = ()  # those of the ring, before the core; later ones replace them
    directions: tuple[Spikes, DirectionCenter] | None = None  # and their center and scale
    lengths: Lengths | None = None  # of the length histogram
    choices: Mapping[str, float | str] = field(default_factory=dict)  # public: choices and forecasts

    @classmethod
    def after_core(
        cls, setting: StepSetting, mean: Released[Floats], precision: float, share: float, learned: LearnedRadius
    ) -> "State":
        """Start with equal variances and the core's output; the core took `share` of the precision."""
        dimension = setting.view.dimension
        alone = core_alone(setting.final_count, math.sqrt(precision), setting.relation, dimension)
        core = Output(mean.value, np.full(dimension, mean.stddev**2), float(alone))  # P21: all of the answer, or none
        stddev, unknown = np.sqrt(np.full(dimension, learned.trace / dimension)), np.full(dimension, math.inf)
        farthest, left = 2 * learned.radius, precision * (1 - share)
        return cls(setting, precision, farthest, learned.trace, Knowledge.of(core), left, stddev, unknown)

    @property
    def center(self) -> tuple[Floats, Floats]:
        """The denoised combination of all outputs, and its posterior variance."""
        return self.known.center

    @property
    def from_ring(self) -> bool:
        """Whether the variances of the coordinates in use, those of the records, are from the ring."""
        return bool(self.ring_scores) and self.setting.view.basis is None

    @property
    def few(self) -> bool:
        """Whether there are too few records to estimate anything but their mean."""
        return has_few_records(self.setting.final_count, math.sqrt(self.precision), self.setting.relation)

    @property
    def core_alone(self) -> bool:
        """Whether the core's own mean is the answer, in every coordinate."""
        return bool(np.all(self.known.outputs[0].weight))

    def in_block(self, coordinates: Floats) -> Floats:
        """Select the coordinates in the block."""
        return coordinates if self.block is None else coordinates[self.block]

    @property
    def rank(self) -> float:
        """The effective number of coordinates of the block, by SDs."""
        stddev = self.in_block(self.stddev)
        return float(stddev.sum() ** 2 / (stddev**2).sum())

    @property
    def widest(self) -> float:
        """The sum of the SDs of the block over the largest one."""
        stddev = self.in_block(self.stddev)
        return float(stddev.sum() / stddev.max())

    @property
    def sampling_error(self) -> float:
        """The length of the sampling error in the block, by the estimated variances."""
        return float(np.linalg.norm(self.in_block(self.stddev))) / math.sqrt(self.setting.final_count)

    def noise_over_sampling(self) -> float:
        """Return the noise of one spherical release of all records with all precision, over the sampling error."""
        return self.setting.sensitivity * math.sqrt(
            len(self.stddev) / max(self.setting.final_count, 1.0) / self.precision
        )

    def in_original(self) -> tuple[Floats, Floats]:
        """Return the combination in the original coordinates: value, and noise variance."""
        (value, variance), basis = self.known.combined, self.setting.view.basis
        return (value, variance) if basis is None else (basis.restore_answer(value), basis.diagonal(variance))

    def spend(self, share: float) -> tuple["State", float]:
        """Take a share of P, or the remaining precision; return the state and the mu of the share."""
        taken = min(share * self.precision, self.left)
        return replace(self, left=self.left - taken), math.sqrt(taken)

    def release(self, share: float, query: Callable[[float], Released[T]]) -> tuple["State", Released[T]]:
        """Release a query at the mu of a share of P, which the state pays."""
        state, mu = self.spend(share)
        return state, query(mu)

    def choose(self, **choices: float | str) -> "State":
        """Add public choices."""
        return replace(self, choices={**self.choices, **choices})

    def move_to(self, basis: Basis, stddev: Floats | None = None) -> "State":
        """Move to other coordinates, with SDs there (None: equal ones); earlier outputs serve the center alone."""
        value, variance = self.known.combined
        equal = math.sqrt(float((self.stddev**2).sum()) / basis.width)
        return replace(
            self,
            setting=self.setting.rotate(basis, basis.width),
            known=Knowledge.of(Output(basis.move_vector(value), basis.move_variances(variance)), self.known.steps),
            stddev=np.full(basis.width, equal) if stddev is None else stddev,
            log_variance=np.full(basis.width, GUESSED_LOG_VARIANCE),
            ball=None,
            scores=None,
        )
