"""The field on the same records: every contestant gets the same draws, budget and neighboring relation."""

import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.contestants import Contestant
from benchmarks.worlds import Priors, World
from dimfree._types import Floats
from dimfree.simulation import public_simulation


@dataclass(frozen=True)
class Point:
    """A world, its number of records, and the guarantee of all contestants."""

    world: World
    count: int
    epsilon: float
    delta: float
    neighbors: str = "add-remove"


@dataclass(frozen=True, kw_only=True)
class Score:
    """One contestant at one point: an error for each trial that was answered."""

    name: str
    told: str
    private: bool
    errors: tuple[float, ...]
    refusals: int
    seconds: float  # of one trial
    remark: str = ""  # why it could not take part; empty where it could

    @property
    def quartiles(self) -> tuple[float, float, float] | None:
        """(lower quartile, median, upper quartile) of the answered trials; None where there is none."""
        if not self.errors:
            return None
        low, middle, high = np.quantile(self.errors, [0.25, 0.5, 0.75])
        return float(low), float(middle), float(high)

    @property
    def typical(self) -> float:
        """The median over all trials; a refusal counts as an infinite error."""
        return float(np.median([*self.errors, *[math.inf] * self.refusals])) if not self.remark else math.inf

    @property
    def words(self) -> str:
        """The median error for a table, or why there is none."""
        if self.remark or self.quartiles is None:
            return self.remark or "refused"
        share = f" ({self.refusals} of {len(self.errors) + self.refusals} refused)" if self.refusals else ""
        return f"{self.quartiles[1]:.3g}{share}"


def score_of(row: dict[str, object]) -> Score:
    """A stored score; older pages say more of the point than is needed."""
    fields = {name: row[name] for name in Score.__dataclass_fields__}
    return Score(**{**fields, "errors": tuple(row["errors"])})  # type: ignore[arg-type, call-overload]


def scored(
    point: Point, whom: Sequence[Contestant], trials: int, seed: int, tell: Callable[[str], None] = lambda _: None
) -> list[Score]:
    """Every contestant at one point. In each trial all of them get the same records."""
    tallies = [_Tally(contestant) for contestant in whom]
    for trial in range(trials):
        words = [seed, trial, point.count, zlib.crc32(point.world.name.encode())]  # on no budget and no contestant
        X, known = point.world.draw(point.count, public_simulation(words))
        X.setflags(write=False)
        for tally in tallies:
            tell(f"{point.world.name}, n = {point.count}, draw {trial + 1}: {tally.contestant.name}")
            own = zlib.crc32(f"{seed} {trial} {tally.contestant.name}".encode())  # noise that no other one moves
            tally.add(point, X.view(), known, own)
        del X  # before the next one is drawn: the largest take gigabytes
    return [tally.score(trials) for tally in tallies]


@dataclass
class _Tally:
    """The errors of one contestant at one point so far."""

    contestant: Contestant
    errors: list[float] = field(default_factory=list)
    seconds: float = 0.0
    remark: str = ""

    def add(self, point: Point, X: Floats, known: Priors, seed: int) -> None:
        """Run one trial. No error is added where the contestant refused or cannot take part."""
        if point.neighbors not in self.contestant.proved:
            self.remark = f"no proof for {point.neighbors}"
            return
        started = time.perf_counter()
        found = self.contestant.answer(X, known, point.epsilon, point.delta, point.neighbors, seed)
        self.seconds += time.perf_counter() - started
        self.errors += [] if found is None else [float(np.linalg.norm(found - known.mean))]

    def score(self, trials: int) -> Score:
        return Score(
            name=self.contestant.name,
            told=self.contestant.told,
            private=self.contestant.private,
            errors=tuple(self.errors),
            refusals=0 if self.remark else trials - len(self.errors),
            seconds=self.seconds / trials,
            remark=self.remark,
        )
