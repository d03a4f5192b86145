"""The exact law of code that only compares its noise: thresholds are summed over, not run one by one.

The code gets draws of unknown value. A draw that is converted to an int becomes a threshold, coded as a number far from
all counts. A draw that is compared with a threshold branches the path. The code itself decides what is compared with
what, and asks for the scales. The probability of a path is a product of sums, one for each threshold.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.audit.noise_doubles import BranchingNoise, Law, Masses
from dimfree.noise import Noise

_FAR = 2**40  # between two thresholds; counts stay far below it


@dataclass(frozen=True, eq=False)
class UnknownDraw:
    """A draw plus a whole number."""

    noise: "ComparedNoise"
    place: int  # which of its draws
    shift: int = 0

    def __add__(self, more: int) -> "UnknownDraw":
        return UnknownDraw(self.noise, self.place, self.shift + more)

    __radd__ = __add__

    def __int__(self) -> int:
        return (self.place + 1) * _FAR + self.shift

    def __ge__(self, bar: int) -> bool:
        return self.noise.reaches(self, bar)


@dataclass(frozen=True)
class Comparison:
    """draw >= threshold + least, and whether it was."""

    draw: int
    least: int
    reached: bool


class ComparedNoise(BranchingNoise):
    """Laplace draws that are compared, or are thresholds; `asked` are their scales."""

    def __init__(self, choices: list[int]) -> None:
        super().__init__(choices, lambda scale: {})
        self.asked: list[float] = []
        self.told: dict[int, list[Comparison]] = defaultdict(list)  # by threshold; -1 is no draw at all

    def laplace(self, scale: float, size: int) -> NDArray[Any]:
        self.asked += [scale] * size
        first = len(self.asked) - size
        return np.array([UnknownDraw(self, first + each) for each in range(size)], dtype=object)

    def reaches(self, draw: UnknownDraw, bar: int) -> bool:
        threshold = round(bar / _FAR) - 1
        reached = self._branch([1.0, 1.0]) == 1
        self.told[threshold].append(Comparison(draw.place, bar - (threshold + 1) * _FAR - draw.shift, reached))
        return reached


@dataclass
class Tails:
    """P(Z >= threshold + least) for the noise of every scale, each computed once."""

    masses: Callable[[float], Masses]
    known: dict[tuple[float, float | None, int, bool], Floats] = field(default_factory=dict)

    def lifts(self, scale: float | None) -> Mapping[int, float]:
        return {0: 1.0} if scale is None else self.masses(scale)

    def chance(self, scale: float, lift: float | None, least: int, reached: bool) -> Floats:
        key = scale, lift, least, reached
        if key not in self.known:
            edges, masses = least + np.array(list(self.lifts(lift))), self.masses(scale)
            self.known[key] = (
                tail(masses, edges) if reached else tail({-z: mass for z, mass in masses.items()}, 1 - edges)
            )
        return self.known[key]

    def probability(self, noise: ComparedNoise) -> float:
        """Of the path taken: thresholds are independent, and so are draws given them."""
        compared = [each.draw for told in noise.told.values() for each in told]
        if len(set(compared)) < len(compared) or set(compared) & set(noise.told):
            raise ValueError("A draw was compared twice, or is a threshold itself; its law is not known here.")
        return math.prod(self._given(noise, place, told) for place, told in noise.told.items())

    def _given(self, noise: ComparedNoise, place: int, told: list[Comparison]) -> float:
        lift = None if place < 0 else noise.asked[place]
        left = np.array(list(self.lifts(lift).values()))
        for each in told:
            left = left * self.chance(noise.asked[each.draw], lift, each.least, each.reached)
        return float(left.sum())


def compared_law(mechanism: Callable[[Noise], Hashable], masses: Callable[[float], Masses]) -> Law:
    """{output: probability}; `masses(scale)` is the distribution of the noise, taken as complete."""
    tails, found = Tails(masses), defaultdict[Hashable, list[float]](list)
    choices: list[int] = []
    while True:
        noise = ComparedNoise(choices)
        found[mechanism(noise)].append(tails.probability(noise))
        while choices and choices[-1] == 1:
            choices.pop()
        if not choices:
            return {outcome: math.fsum(parts) for outcome, parts in found.items()}
        choices[-1] += 1


def tail(masses: Masses, least: NDArray[np.int64]) -> Floats:
    """P(Z >= least)."""
    places = np.array(sorted(masses))
    above = np.append(np.cumsum(np.array([masses[z] for z in sorted(masses)])[::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(places, least)])
