"""A release is a public function of the lattice points that were released, bit for bit.

The noisy integers of a first run are recorded; in a second run, on another table, the noise is such that the same
integers come out. Both releases must then be equal to the last bit. A float computed from a record, or from the exact
number of records, would make them differ.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.calls import ROWS, Call, calls, table
from dimfree.kernel.statistics.count import noisy_count
from dimfree.simulation import public_simulation

_STEPS = round(1 / noisy_count(0, 1.0, noise=ZeroNoise()).event.step)  # to one record
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd: its multiples are all over the 64 bits
_NUDGE = 1e-9  # of a record: every search goes the same way, the low bits do not


@dataclass(eq=False)
class SettledNoise:
    """Noise that is chosen when it is added, so that the sum is that of the first run."""

    settle: Callable[[Any], Any]
    size: int

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.zeros(self.size, dtype=np.int64) if part is self else part for part in inputs]
        outcome = getattr(ufunc, method)(*plain, **options)
        return self.settle(outcome) if ufunc is np.add else outcome


@dataclass
class ReplayNoise:
    """Public draws. Vectors come out as noted; single numbers make up for `fewer` records in this run.

    The first `totals` single Gaussians are totals of the records, and so is the first Laplace draw; the others belong
    to searches and votes, which on tables so alike end the same way.
    """

    totals: int
    fewer: int = 0
    notes: list[Any] = field(default_factory=list)
    private: bool = False
    _read: int = 0
    _singles: int = 0

    def gaussian(self, stddev: float, size: int) -> Any:
        if size > 1:
            return SettledNoise(self._settle, size)
        self._singles += 1
        return np.array([self.fewer * _STEPS if self._singles <= self.totals else 0])

    def laplace(self, scale: float, size: int) -> Integers:
        self._singles += 1
        return np.full(size, self.fewer if self._singles == 1 else 0)

    def coin(self, numerator: int, denominator: int) -> bool:
        return True

    def below(self, bound: int, size: int) -> Integers:
        """By position alone: a record present in both runs meets the same coins."""
        return (np.arange(size, dtype=np.uint64) * _SPREAD % np.uint64(bound)).astype(np.int64)

    def _settle(self, outcome: Any) -> Any:
        if self._read == len(self.notes):
            noise = public_simulation(self._read).integers(-(2**22), 2**22, np.shape(outcome))
            self.notes.append(outcome + noise)
        self._read += 1
        return self.notes[self._read - 1]


_TOTALS = {"paper": 3, "stable, replace-one": 0, "auto, replace-one": 0, "auto": 2, "unknown scale": 2}


def lattice_points(wanted: Mapping[str, Call] | None = None) -> list[str]:
    """Tables that differ in every record's low bits, in one whole record, or by one record, tell nothing more."""
    return [
        f"{name}: more than the lattice points tells apart {pair}"
        for name, call in (calls() if wanted is None else wanted).items()
        for pair, same in _pairs(call, _TOTALS.get(name, 1), "replace-one" in name)
        if not same
    ]


def _pairs(call: Call, totals: int, same_size: bool) -> Iterator[tuple[str, bool]]:
    here = table(ROWS)
    first = ReplayNoise(totals)
    expected = call(here, noise=first).to_json()
    for pair, there in _others(here, same_size):
        second = ReplayNoise(totals, len(here) - len(there), first.notes)
        yield pair, call(there, noise=second).to_json() == expected


def _others(here: Floats, same_size: bool) -> Iterator[tuple[str, Floats]]:
    yield "the low bits of the records", here * (1 + _NUDGE * public_simulation(9).normal(size=here.shape))
    moved = here.copy()
    moved[-1] += np.pi / 30
    yield "one record", moved
    if not same_size:
        yield "one record more", here[:-1]
