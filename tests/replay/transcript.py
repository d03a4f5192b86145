"""One transcript, two tables: noise that sees every statistic before it is noised, and releases the same numbers twice.

A `Draw` stands for numbers that are not drawn yet. When a mechanism adds it to its statistic, the statistic is written
down and the sum is settled: in the first run by seeded noise, in the second by what the first run released. So the
second run takes the same public path on another table, and every statistic can be compared with its counterpart.
Secret coins belong to records: in the second run each record keeps its own, the record that left takes its coin away.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dimfree.kernel.statistics.secret_ring import KEY
from dimfree.noise import SeededNoise


class Diverged(AssertionError):
    """The second run asked for something else than the first although all released numbers were the same."""


@dataclass
class Entry:
    """One thing that was asked of the noise. Parts are keyed by where they begin in the draw."""

    kind: str
    scale: float
    size: int
    statistics: dict[int, list[int]] = field(default_factory=dict)
    outcomes: dict[int, Any] = field(default_factory=dict)

    @property
    def asked(self):
        return self.kind, self.scale, self.size

    def statistic(self) -> list[int]:
        found = [number for start in sorted(self.statistics) for number in self.statistics[start]]
        assert len(found) == self.size, "a draw was not added to a statistic of its own size"
        return found


@dataclass(eq=False)
class Draw:
    """`size` numbers of an entry from `start` on; settled when they are added to a statistic."""

    entry: Entry
    settle: Callable[[int, Any], Any]
    start: int
    size: int

    def __getitem__(self, place):
        if isinstance(place, slice):
            begin, end, _ = place.indices(self.size)
            return Draw(self.entry, self.settle, self.start + begin, end - begin)
        return Draw(self.entry, self.settle, self.start + place, 1)

    def __radd__(self, statistic: int) -> int:
        """One whole number of Python."""
        return self._added(statistic, [int(statistic)])

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        others = [part for part in inputs if part is not self]
        assert (ufunc, method, len(others)) == (np.add, "__call__", 1), "noise is added, and nothing else"
        return self._added(others[0], [int(number) for number in np.ravel(others[0])])

    def _added(self, statistic, numbers):
        assert self.start not in self.entry.statistics, "a draw was added twice"
        self.entry.statistics[self.start] = numbers
        outcome = self.settle(self.start, statistic)
        self.entry.outcomes[self.start] = outcome
        return outcome


def kept_whole(number):
    """`int`, as the mechanisms see it: a draw that is not settled stays one."""
    return number if isinstance(number, Draw) else int(number)


@dataclass(eq=False)
class Filter:
    """Coins of the paper's filter, one for each record; settled when they are compared with their thresholds."""

    settle: Callable[[np.ndarray], np.ndarray]

    def __lt__(self, thresholds):
        return self.settle(thresholds)


@dataclass
class Kept:
    """The filter's thresholds, in parts of the number of records, whom it kept, and where one record less stood."""

    thresholds: list[int]
    mask: np.ndarray
    left: int | None = None


@dataclass
class Vote:
    """What a vote was asked about, its public setting, and its outcome."""

    counts: dict
    setting: tuple
    outcome: Any


@dataclass
class Run:
    """What both runs write down, in order."""

    private: bool = False
    entries: list[Entry] = field(default_factory=list)
    filters: list[Kept] = field(default_factory=list)
    votes: list[Vote] = field(default_factory=list)
    layouts: list[np.ndarray] = field(default_factory=list)
    averages: list[tuple] = field(default_factory=list)  # (distance of the lower bound, events) of Algorithm 1

    def _entry(self, *asked) -> Entry:
        self.entries.append(Entry(*asked))
        return self.entries[-1]


@dataclass
class FirstRun(Run):
    """Seeded noise. `heads` is what every bit comes to; `first` is the noise of the first number, if given."""

    seed: int = 0
    heads: bool = True
    first: int | None = None
    coins: list[tuple[int, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.noise = SeededNoise(self.seed)

    def gaussian(self, stddev: float, size: int) -> Draw:
        return self._drawn("gaussian", stddev, size)

    def laplace(self, scale: float, size: int) -> Draw:
        return self._drawn("laplace", scale, size)

    def _drawn(self, kind: str, scale: float, size: int) -> Draw:
        drawn = getattr(self.noise, kind)(scale, size)
        if self.first is not None and not self.entries:
            drawn = np.full(size, self.first)

        def settle(start, statistic):
            if isinstance(statistic, int):
                return statistic + int(drawn[start])
            return statistic + drawn[start : start + len(statistic)]

        return Draw(self._entry(kind, scale, size), settle, 0, size)

    def coin(self, numerator: int, denominator: int) -> bool:
        self._entry("coin", denominator, 1).statistics[0] = [numerator]
        return self.heads

    def below(self, bound: int, size: int):
        coins = self.noise.below(bound, size)
        if bound == size:
            return Filter(lambda thresholds: self._filtered(thresholds, coins < thresholds))
        self.coins.append((bound, coins))
        return coins

    def _filtered(self, thresholds, mask):
        self.filters.append(Kept([int(part) for part in thresholds], mask))
        return mask

    def voted(self, counts, setting, mechanism):
        self.votes.append(Vote(counts, setting, mechanism(self.noise)))
        return self.votes[-1].outcome

    def laid_out(self, count, groups, size, slots):
        self.layouts.append(slots(count, groups, size, self.noise))
        return self.layouts[-1]


@dataclass
class SecondRun(Run):
    """The first run's outcomes on another table: without the record in place `removed`, or with another one there.

    `flipped`: where the filter decides otherwise than in the first run, counted among the first run's records.
    """

    first: FirstRun = field(default_factory=FirstRun)
    removed: int | None = None
    valid: np.ndarray | None = None  # which records of the first table are
    valid_there: np.ndarray | None = None  # the same of the second table
    near: np.ndarray | None = None  # which of them a core's grid reaches
    flipped: int | None = None
    _coins: int = 0

    def gaussian(self, stddev: float, size: int) -> Draw:
        return self._replayed("gaussian", stddev, size)

    def laplace(self, scale: float, size: int) -> Draw:
        return self._replayed("laplace", scale, size)

    def _replayed(self, *asked) -> Draw:
        before = self._counterpart(*asked)

        def settle(start, statistic):
            if start not in before.outcomes:
                raise Diverged("the parts of a draw begin elsewhere")
            return before.outcomes[start]

        return Draw(self._entry(*asked), settle, 0, before.size)

    def coin(self, numerator: int, denominator: int) -> bool:
        self._counterpart("coin", denominator, 1)
        self._entry("coin", denominator, 1).statistics[0] = [numerator]
        return self.first.heads

    def _counterpart(self, *asked) -> Entry:
        place = len(self.entries)
        if place >= len(self.first.entries) or self.first.entries[place].asked != asked:
            raise Diverged(f"draw {place + 1} is another one: {asked}")
        return self.first.entries[place]

    def below(self, bound: int, size: int):
        if bound == size:
            return Filter(self._filtered)
        expected, coins = self.first.coins[self._coins]
        self._coins += 1
        if bound == KEY:
            return self._ring_keys(coins)
        here = coins if self.removed is None else np.delete(coins, self.removed)
        if (expected, len(here)) != (bound, size):
            raise Diverged("the secret coins are others")
        return here

    def _ring_keys(self, keys):
        """Valid records of both tables keep their keys (P16); one that was not valid before has any key."""
        everyone = np.zeros(len(self.valid), dtype=np.int64)
        everyone[self.valid] = keys
        there = everyone if self.removed is None else np.delete(everyone, self.removed)
        return there[self.valid_there]

    def _filtered(self, thresholds):
        """The same records are kept, and one that took the place of another if it can be."""
        mask, left = self.first.filters[len(self.filters)].mask.copy(), None
        if self.flipped is not None:
            mask[self.flipped] = ~mask[self.flipped]
        if self.removed is None:
            mask &= thresholds > 0
        else:
            left = self._place(self._half(False), invalid_last=True)
            mask = mask if left is None else np.delete(mask, left)
        self.filters.append(Kept([int(part) for part in thresholds], mask, left))
        return mask

    def voted(self, counts, setting, mechanism):
        before = self.first.votes[len(self.votes)]
        self.votes.append(Vote(counts, setting, before.outcome))
        return before.outcome

    def laid_out(self, count, groups, size, slots):
        """As in proofs/paper/grouping.md: the record that left gives its slot to nobody, or to one left out."""
        layout = self.first.layouts[len(self.layouts)]
        if self.removed is not None:
            layout = without(layout, self._place(self._half(True)), count)
        self.layouts.append(layout)
        return layout

    def _place(self, inside: np.ndarray, *, invalid_last: bool = False) -> int | None:
        """Where the record that left stood among those inside; None: nowhere."""
        if not inside[self.removed]:
            return None
        order = np.argsort(~self._listed_first(), kind="stable") if invalid_last else np.arange(len(self.valid))
        return int(np.flatnonzero(order[inside[order]] == self.removed)[0])

    def _listed_first(self) -> np.ndarray:
        """A core lists records off its grid last, with the invalid ones; Algorithm 2 holds them at its edge."""
        return self.valid if self.first.coins else self.valid & self.near

    def _half(self, first: bool) -> np.ndarray:
        """The records of a half in Algorithm 2, which begins with a coin for each; elsewhere all of them."""
        if not self.first.coins:
            return np.ones(len(self.valid), dtype=bool)
        bound, coins = self.first.coins[0]
        return (coins < bound // 2) == first


def without(layout, place, count):
    """The layout of `count` records, one less than before; `place` is the one that left (None: it was not there)."""
    if place is None:
        return layout
    left_out = np.setdiff1d(np.arange(count + 1), np.append(layout, place))
    instead = left_out[0] if len(left_out) else -1
    moved = np.where(layout == place, instead, layout)
    return np.where(moved > place, moved - 1, moved)
