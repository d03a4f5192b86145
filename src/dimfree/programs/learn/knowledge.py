"""What is known of the mean: all released vectors, their average, which is the next centre, and the answer (P8, P21).

Released values and public numbers only. Letters: N = noise variance of an output, α = its weight in the answer, V =
noise variance of the answer; all per coordinate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dimfree._types import Floats
from dimfree.programs.learn.shrinkage import denoised


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


class Outputs(tuple[Output, ...]):
    """Some outputs, and what every step asks of them again: computed once."""

    @cached_property
    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance) of their average by inverse variance (P8)."""
        weights = [1 / output.variance for output in self]
        total = _sum(weights)
        value = _sum(weight / total * output.value for weight, output in zip(weights, self, strict=True))
        return _fixed(value), _fixed(1 / total)

    @cached_property
    def centre(self) -> tuple[Floats, Floats]:
        """The denoised average, and its posterior variance."""
        value, variance = denoised(*self.combined)
        return _fixed(value), _fixed(variance)


@dataclass(frozen=True)
class Combination:
    """The answer: its value, the variance of its noise, and how far it lies from the centres of its outputs."""

    value: Floats
    variance: Floats
    offset: Floats


@dataclass(frozen=True)
class Knowledge:
    """All outputs so far, and how many stages there were, in whatever coordinates."""

    outputs: Outputs = field(default_factory=Outputs)
    stages: int = 0

    @classmethod
    def of(cls, output: Output, stages: int = 0) -> "Knowledge":
        """One output alone."""
        return cls(Outputs([output]), stages)

    def add_stage(self, output: Output) -> "Knowledge":
        """With the output of one more stage."""
        return Knowledge(Outputs([*self.outputs, output]), self.stages + 1)

    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance) of the average by inverse variance of all outputs: the next centre (P8)."""
        return self.outputs.combined

    def answer(self) -> Combination:
        """Σ√(α_i/N_i)·y_i/λ with λ = Σ√(α_i/N_i): its noise has variance 1/λ², exactly, as Σα_i = 1 (P21)."""
        counted = [each for each in self.outputs if np.any(each.weight)]
        roots = [np.sqrt(each.weight / each.variance) for each in counted]
        total = _sum(roots)
        shares = [root / total for root in roots]
        value = _sum(share * each.value for share, each in zip(shares, counted, strict=True))
        offset = _sum(share * each.offset for share, each in zip(shares, counted, strict=True))
        return Combination(value, total**-2.0, offset)

    def miscounted(self, stddev: float, count: float) -> float:
        """The squared error of the last output, in expectation, from dividing by the released number of records."""
        return float(np.sum(np.square(self.outputs[-1].offset))) * (stddev / count) ** 2


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.sum(list(parts), axis=0)


def _fixed(values: Floats) -> Floats:
    """Many steps hold the same array: none may write to it."""
    values.setflags(write=False)
    return values
