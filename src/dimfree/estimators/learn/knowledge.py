"""What is known of the mean: all released vectors, their average by inverse variance, and the noise of it (P8).

Released values and public numbers only. Proof: proofs/estimators/learn/stages.md (S3). Letters: N = noise variance of
an output, V = that of the combination, both per coordinate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.events import Gaussian


@dataclass(frozen=True)
class Output:
    """One released vector: value, noise variance per coordinate (infinite where it says nothing), allowed bias².

    `centre_share` is the share of the noise of its centre that clipping leaves in the output.
    """

    value: Floats
    variance: Floats
    bias: Floats | float = 0.0
    centre_share: Floats | float = 0.0


@dataclass(frozen=True)
class Knowledge:
    """All outputs so far and what they cost; their weighted average is the next centre and the final answer (P8)."""

    outputs: tuple[Output, ...] = ()
    events: tuple[Gaussian, ...] = ()
    _shares: tuple[tuple[Floats | float, ...], ...] = ()  # of every output's fresh noise in each output

    @classmethod
    def of(cls, output: Output, *events: Gaussian) -> "Knowledge":
        """One output alone, with the events charged so far."""
        return cls((output,), events, ((1.0,),))

    def add(self, output: Output, *events: Gaussian) -> "Knowledge":
        """With one more output, and what it cost."""
        shares: list[Floats | float] = [output.centre_share * share for share in self._combined_shares()]
        return Knowledge((*self.outputs, output), (*self.events, *events), (*self._shares, (*shares, 1.0)))

    def charge(self, *events: Gaussian) -> "Knowledge":
        """With what was drawn for something else than an output."""
        return replace(self, events=(*self.events, *events))

    def rescale_bias(self, factors: Floats) -> "Knowledge":
        """Rescale earlier bias allowances by new/old variance."""
        return replace(self, outputs=tuple(replace(each, bias=each.bias * factors) for each in self.outputs))

    def combined(self) -> tuple[Floats, Floats]:
        """(value, variance): the average by inverse variance plus allowed bias², and the variance of its noise."""
        weights = self._weights()
        value = _sum(weight * output.value for weight, output in zip(weights, self.outputs, strict=True))
        shares = zip(self._combined_shares(), self.outputs, strict=True)
        return value, _sum(share**2 * np.minimum(output.variance, 1e300) for share, output in shares)

    def fresh(self) -> tuple[Floats, Floats]:
        """The share of the first output in the combination, and the noise variance of all the others in it."""
        shares = self._combined_shares()
        others = zip(shares[1:], self.outputs[1:], strict=True)
        return shares[0], _sum([np.zeros_like(shares[0]), *(share**2 * output.variance for share, output in others)])

    def allowed_bias(self) -> Floats:
        """The bias of the combination if the allowed biases of all outputs have the same sign."""
        return _sum(weight * np.sqrt(output.bias) for weight, output in zip(self._weights(), self.outputs, strict=True))

    def stages(self) -> int:
        """How many stages have been charged, in whatever coordinates."""
        return sum(event.purpose.startswith("stage ") for event in self.events)

    def _weights(self) -> list[Floats]:
        weights = [1 / (output.variance + output.bias) for output in self.outputs]
        total = _sum(weights)
        return [weight / total for weight in weights]

    def _combined_shares(self) -> list[Floats]:
        """The share of each output's fresh noise in the combination."""
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
