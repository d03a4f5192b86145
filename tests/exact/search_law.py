"""The exact law of the two searches for a radius and of the bit behind them: the code itself, once for every course.

Of every answer the sign alone is kept, a function of it, and one count is asked for each halving: so few courses
are left that all can be followed. The noise below sees the statistic when the noise is added to it, and goes both
ways in turn, each with its probability; the bit forks likewise. A course ends where the mean would be drawn.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
from scipy.special import ndtr

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.data.records import as_records
from dimfree.kernel import Pairs, Session
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.distances import PairDistances
from dimfree.programs import unknown
from dimfree.programs.choose.core import HonestModel, Size, StableChoice
from dimfree.programs.learn.scale import learn_radius
from dimfree.shapes import Diagonal

SEARCH_SHARE, FAILURE = 0.03, 0.0035  # a last branch whose searches tell about as much as its bit
WINDOW = (0.3, 6.0)
NEGLIGIBLE = 1e-13  # the probability of a course that is not followed
RESERVED = 2**40  # larger than any statistic here

Law = dict[Hashable, float]


class Passed(Exception):
    """The bit came up heads, and the mean is about to be drawn."""


@dataclass(eq=False)
class Sign:
    """Noise whose sum with a whole number is only asked for its sign."""

    forks: "Forks"
    stddev: float

    def __getitem__(self, place):
        return self

    def __radd__(self, statistic: int) -> int:
        """P(statistic + Z >= 0): halfway between two steps the continuous law agrees to 1e-13, so wide is the noise."""
        return RESERVED if self.forks.fork(float(ndtr((statistic + 0.5) / self.stddev))) else -RESERVED

    def __array_ufunc__(self, *_, **__):
        raise Passed


@dataclass
class Forks:
    """One course; `ahead` says which way it goes at each fork, and the way after is the likelier one."""

    ahead: tuple[bool, ...] = ()
    course: list[bool] = field(default_factory=list)
    probability: float = 1.0
    open: list[tuple[bool, ...]] = field(default_factory=list)
    private: bool = False

    def gaussian(self, stddev: float, size: int) -> Sign:
        return Sign(self, stddev)

    def coin(self, numerator: int, denominator: int) -> bool:
        return self.fork(numerator / denominator)

    def fork(self, chance: float) -> bool:
        place = len(self.course)
        way = self.ahead[place] if place < len(self.ahead) else chance >= 0.5
        if place >= len(self.ahead) and self.probability * min(chance, 1 - chance) > NEGLIGIBLE:
            self.open.append((*self.course, not way))
        self.course.append(way)
        self.probability *= chance if way else 1 - chance
        return way


def whole(number):
    """`int`, as the search sees it: noise that is not added yet stays as it is."""
    return number if isinstance(number, Sign) else int(number)


@dataclass
class Remembered:
    """Distances that are counted once for each radius."""

    pairs: PairDistances
    known: dict[float, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return self.pairs.count

    @property
    def rows(self) -> np.ndarray:
        return self.pairs.rows

    def friend_pairs(self, radius: float) -> int:
        if radius not in self.known:
            self.known[radius] = self.pairs.friend_pairs(radius)
        return self.known[radius]

    def friend_counts(self, radius: float) -> np.ndarray:
        return self.pairs.friend_counts(radius)

    def in_steps(self, radius: float) -> np.ndarray:
        """Of a copy: the rows are asked again."""
        return replace(self.pairs, rows=self.pairs.rows.copy()).in_steps(radius)


@dataclass(frozen=True)
class Setting:
    """What is public: the budget's branch for so many records, and what the core was chosen to be."""

    relation: Neighbours
    budget: Budget
    looked_at: float
    core: StableChoice

    @classmethod
    def smallest(cls, epsilon: float, delta: float, relation: Neighbours) -> "Setting":
        """That of the smallest table that is not refused."""
        budget = Budget(epsilon, delta)
        calibrate = calibrate_private_count if relation is Neighbours.ADD_REMOVE else calibrate_public_count
        menu = calibrate(budget, FAILURE, search_share=SEARCH_SHARE)
        run = SimpleNamespace(relation=relation, failure=FAILURE, window=WINDOW, model=HonestModel.unknown(0.03))
        for records in range(4, 400):
            core = unknown.choose_core(run, menu, Size(float(records), menu.count_stddev, 4096))
            if core is not None:
                return cls(relation, budget, float(records), core)
        raise AssertionError("no table is large enough")


def law(setting: Setting, table: np.ndarray) -> Law:
    """{course: probability} of all signs and the bit; what is missing is negligible."""
    space = Space(as_records(table), Diagonal(np.ones(table.shape[1])))
    valid = table[np.isfinite(table).all(axis=1)]
    pairs = Remembered(PairDistances.of(valid, len(table) - len(valid)))
    found, waiting = {}, [()]
    while waiting:
        noise = Forks(waiting.pop())
        _follow(setting, space, pairs, noise)
        found[tuple(noise.course)] = noise.probability
        waiting += noise.open
    assert math.isclose(math.fsum(found.values()), 1.0, abs_tol=1e-8)
    return found


def _follow(setting: Setting, space: Space, pairs: Remembered, noise: Forks) -> None:
    """As in `unknown._release_by_pairs`, between the released counts and the mean."""
    core, relation = setting.core, setting.relation
    session = Session(space, noise, setting.budget, relation, Calibration(None, (core.branch,)))
    session.take(core.branch)
    asked = Pairs(session, pairs)
    learned = learn_radius(asked, WINDOW, setting.looked_at, unknown.search_parts(core.branch, relation)[1], relation)
    if not learned.found:
        return
    try:
        mean = asked.core_mean(learned.radius, core.full_share, core.budget, core.floor, 0.9 * core.branch.mu)
        assert mean is None
    except Passed:
        return
