"""The kernel's border: what programs ask and what they are told, noted once and told again without the kernel."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import SEARCH_STEPS, Costs, Gaussian
from dimfree.kernel import OUTER_SENSITIVITY, Basis, NoisyCounts, Released
from dimfree.kernel.session import Sealed
from dimfree.noise import SeededNoise
from dimfree.shapes import Covariance

PUBLIC = Released | Gaussian | Costs | Budget | Neighbors | Covariance | Basis | float | int | str | None
ROUNDING = 1 + 1e-9  # of released floats


@dataclass(frozen=True)
class Handle:
    """An object of the kernel, as a transcript names it."""

    number: int


class Border:
    """An object of the kernel as programs see it. `inner`: the object itself, if it is there to be asked."""

    def __init__(self, inner: Any, transcript: "Transcript", number: int) -> None:
        self.__dict__.update(_inner=inner, _transcript=transcript, _number=number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        methods, inner = self._transcript.methods, self._inner
        if inner is not None and not isinstance(getattr(type(inner), name), property):
            methods.add(name)
        return partial(self._asked, name) if name in methods else self._asked(name)

    def _asked(self, name: str, *given: Any, **named: Any) -> Any:
        own = None if self._inner is None else getattr(self._inner, name)
        if name in self._transcript.methods and own is not None:
            own = own(*given, **named)
        return self._transcript.answer((self._number, name, frozen((given, named))), own, self._inner)


@dataclass
class Transcript:
    """The calls of a run in order, with their answers; `notes` fill in the first run and answer later ones.

    Attributes
    ----------
    shares : dict
        Where a second kernel is asked too: by purpose, the largest move of an answer over its sensitivity.
    """

    relation: Neighbors
    notes: list[tuple[Any, Any]] = field(default_factory=list)
    methods: set[str] = field(default_factory=set)
    recorded: bool = False
    asked: int = 0
    shares: dict[str, float] = field(default_factory=dict)
    _borders: dict[int, Border] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)

    def again(self) -> "Transcript":
        return Transcript(self.relation, self.notes, self.methods, recorded=True, shares=self.shares)

    def root(self, inner: Any) -> Border:
        """The table, or the groups, that the run begins with."""
        return self._told(Handle(0), inner) if self.recorded else self._told(self._kept(inner), inner)

    def answer(self, question: Any, own: Any, inner: Any) -> Any:
        if not self.recorded:
            self.notes.append((question, self._kept(own)))
        before, kept = self.notes[self.asked]
        assert before == question, "the program asked for something else, although it was told the same"
        self.asked += 1
        if self.recorded and inner is not None:
            self._compare(question[1], kept, own, inner)
        return self._told(kept, own)

    def _kept(self, answer: Any) -> Any:
        """A copy; of an object of the kernel its number."""
        if isinstance(answer, tuple):
            return tuple(map(self._kept, answer))
        if isinstance(answer, Sealed):
            return Handle(self._numbers.setdefault(id(answer), len(self._numbers)))
        assert isinstance(answer, PUBLIC), f"{type(answer)} is no released or public value"
        return copy.deepcopy(answer)

    def _told(self, kept: Any, own: Any) -> Any:
        if isinstance(kept, tuple):
            return tuple(self._told(each, None if own is None else own[k]) for k, each in enumerate(kept))
        if isinstance(kept, Handle):
            return self._borders.setdefault(kept.number, Border(own, self, kept.number))
        return copy.deepcopy(kept)

    def _compare(self, name: str, kept: Any, own: Any, inner: Any) -> None:
        """Both answers have the same noise: they differ by what the statistic moves."""
        if isinstance(kept, Released):
            assert own.event == kept.event
            apart, moves = np.linalg.norm(kept.value - own.value) / kept.event.step, kept.event.sensitivity
            if kept.event.purpose == "basis":  # its step is that of the weighted half of a matrix
                apart, moves = np.linalg.norm(kept.value - own.value), OUTER_SENSITIVITY[self.relation]
            self._moved(kept.event.purpose, float(apart), moves)
        elif isinstance(inner, NoisyCounts) and name == "at":
            apart = abs(kept - own) * SEARCH_STEPS * inner.event.dimension**0.5  # of all answers together
            self._moved(inner.event.purpose, apart, inner.event.sensitivity)
        elif name == "count":
            self._moved("number of records", abs(kept - own), 1.0)
        elif not isinstance(own, Sealed | tuple):
            assert frozen(own) == frozen(kept), name

    def _moved(self, purpose: str, apart: float, moves: float) -> None:
        assert apart <= moves * ROUNDING, f"{purpose} moves by {apart / moves} times its sensitivity"
        self.shares[purpose] = max(self.shares.get(purpose, 0.0), apart / moves)


def frozen(value: Any) -> Any:
    """The value to the last bit, as something that can be compared."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, tuple | list):
        return tuple(map(frozen, value))
    if isinstance(value, Mapping):
        return tuple((key, frozen(each)) for key, each in value.items())
    if value is None or isinstance(value, int | str | Fraction | Enum | Handle):
        return value
    names = getattr(value, "_parts", vars(value))  # of a shape, what it is made of
    return type(value), frozen({name: vars(value)[name] for name in sorted(names)})


@dataclass
class Scripted:
    """Seeded noise whose draws are noted, or those of a first run; coins come to heads.

    `removed`: the place of the record that the first table had more; its secret coins leave with it.
    """

    removed: int | None = None
    script: list[tuple[Any, Any]] = field(default_factory=list)
    first: bool = True
    private: bool = False
    drawn: int = 0
    seeded: SeededNoise = field(default_factory=lambda: SeededNoise(7))

    def gaussian(self, stddev: float, size: int) -> Any:
        return self._next(("gaussian", stddev, size), lambda: self.seeded.gaussian(stddev, size))[1]

    def below(self, bound: int, size: int) -> Any:
        (_, _, before), coins = self._next(("below", bound, size), lambda: self.seeded.below(bound, size))
        return coins if size == before else np.delete(coins, self.removed)

    def coin(self, numerator: int, denominator: int) -> bool:
        (_, before, _), heads = self._next(("coin", numerator, denominator), lambda: True)
        assert before == numerator, "the test is as likely to pass"
        return heads

    def _next(self, asked: Any, draw: Callable[[], Any]) -> Any:
        if self.first:
            self.script.append((asked, draw()))
        found = self.script[self.drawn]
        assert found[0][0] == asked[0]
        self.drawn += 1
        return found


class NoNoise:
    """Of a run whose answers are there already."""

    private = False
