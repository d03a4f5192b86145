"""Loss distributions on one grid of losses, composed by dp-accounting (M9).

A curve is replaced by the chords between its values at some levels ("connect the dots"), which lie above it; the
chords are the curve of a discrete distribution of losses, and those compose by convolution. What the Fourier
transforms may lose is added back. Proof: proofs/accounting/composition.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TRANSFORM = 12 * 2.0**-52  # error of one convolution, per sqrt(length)·log2(length)
_FLOOR = 1e-13  # everything else that is rounded; no delta below ten times this is promised
_LEVEL = 1e-12  # relative shift of the level against the rounding of losses


@dataclass(frozen=True)
class Dots:
    """A discrete distribution of privacy losses whose profile is nowhere below that of the release."""

    atoms: Any  # dp-accounting's PLDPmf
    lost: float = 0.0  # a bound on the mass misplaced by rounding

    @classmethod
    def connecting(
        cls, curve: Callable[[NDArray[np.float64]], NDArray[np.float64]], steps: NDArray[np.int64], interval: float
    ) -> "Dots":
        """Chords of `curve`, convex in e^x, between the levels steps · interval; above the last one it is constant."""
        from dp_accounting.pld import pld_pmf  # slow to import, needed only here

        values = curve(np.asarray(steps * interval, dtype=np.float64))
        falling = np.maximum.accumulate(values[::-1])[::-1]  # rounding may have made it rise; the larger is kept
        with np.errstate(over="ignore"):  # levels hundreds apart: the chord is flat
            return cls(pld_pmf.create_pmf_pessimistic_connect_dots(interval, steps, falling))

    def then(self, other: "Dots") -> "Dots":
        """Both in sequence; the second may depend on the output of the first."""
        from dp_accounting.pld import pld_pmf

        atoms = pld_pmf.compose_pmfs(self.atoms, other.atoms)
        return Dots(atoms, self.lost + other.lost + _lost(atoms.size, 1))

    def repeated(self, times: int) -> "Dots":
        """The same release, `times` times."""
        if times == 1:
            return self
        atoms = self.atoms.self_compose(times)
        return Dots(atoms, times * self.lost + _lost(max(atoms.size, self.atoms.size), times))

    def delta(self, level: float) -> float:
        """The curve at one level, rounded up."""
        found = float(self.atoms.get_delta_for_epsilon(level - _LEVEL * (1 + abs(level))))
        return min(1.0, found * (1 + 1e-12) + self.lost + _FLOOR)


def _lost(size: int, times: int) -> float:
    """The mass that one convolution, or a power, may misplace; transforms are padded to at most twice the size."""
    length = 2.0 * size + 2
    return _TRANSFORM * (times + 1) * math.sqrt(length) * math.log2(length)


def between(edge: float, interval: float) -> NDArray[np.int64]:
    """All steps from -edge to edge, rounded outwards."""
    last = math.ceil(edge / interval)
    return np.arange(-last, last + 1, dtype=np.int64)


def around(edge: float, interval: float) -> NDArray[np.int64]:
    """The steps next to -edge and to edge, where a curve bends that is a chord in between."""
    below, above = math.floor(edge / interval), math.ceil(edge / interval)
    return np.unique(np.array([-above, -below, below, above], dtype=np.int64))
