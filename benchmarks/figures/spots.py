"""How far off an estimator is at one place: the sampling part in closed form, the private part measured.

A place is a spectrum, d, n and ε. The error is sqrt(tr Σ / n + p²): the first term is the expected squared error of the
sample mean, exactly; p is the distance of the release from the sample mean of its own records.
Of several draws the median counts, a refusal being infinitely far off.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

from benchmarks.accuracy.running import DELTA
from benchmarks.contestants import Contestant, contestants_named
from benchmarks.worlds import Priors, Synthetic
from dimfree._types import Floats
from dimfree.planning.question import spectrum

_IN_MEMORY = 200_000_000  # entries
_BLOCK = 10_000_000


class Task(Protocol):
    """A piece of work that a figure needs: hashable, and all that its result depends on but for the seed."""

    def measure(self, seed: int) -> dict[str, Any]: ...

    @property
    def name(self) -> str: ...

    @property
    def entries(self) -> int:
        """Of the largest table that it may draw: what time and memory go with."""
        ...


@dataclass(frozen=True)
class Spot:
    """The named estimators on the same draws of n records."""

    spectrum: str
    dimension: int
    count: int
    epsilon: float
    names: tuple[str, ...]
    draws: int

    @property
    def name(self) -> str:
        whom = ", ".join(self.names)
        return f"{self.spectrum}, d = {self.dimension}, n = {self.count}, ε = {self.epsilon:g}: {whom}; {self.draws}"

    @property
    def entries(self) -> int:
        return self.count * self.dimension

    def measure(self, seed: int) -> dict[str, Any]:
        """{"errors": {name: error}, "private": {name: p of every draw}}; None stands for a refusal."""
        whom = contestants_named(self.names)
        private: dict[str, list[float | None]] = {contestant.name: [] for contestant in whom}
        for draw in range(self.draws):
            with TemporaryDirectory() as folder:
                X, known = self._drawn(self._coins(seed, draw), Path(folder))
                sample = X.mean(axis=0)
                for contestant in whom:
                    private[contestant.name].append(self._private(contestant, X, known, sample, seed + draw))
                del X  # before the next one is drawn: the largest take gigabytes
        errors = {name: self.error(parts) for name, parts in private.items()}
        return {"errors": errors, "private": private}

    def error(self, parts: Sequence[float | None]) -> float | None:
        """The root of the expected squared error; None where most draws were refused."""
        middle = float(np.median([math.inf if part is None else part for part in parts]))
        found = math.hypot(sampling_error(self.spectrum, self.dimension, self.count), middle)
        return found if math.isfinite(found) else None

    def _private(self, contestant: Contestant, X: Floats, known: Priors, sample: Floats, seed: int) -> float | None:
        coins = zlib.crc32(f"{seed} {contestant.name}".encode())
        found = contestant.answer(X, known, self.epsilon, DELTA, "add-remove", coins)
        return None if found is None else float(np.linalg.norm(found - sample))

    def _drawn(self, coins: np.random.Generator, folder: Path) -> tuple[Floats, Priors]:
        """The records, read-only; the largest tables in a file, so that memory is left for the estimators."""
        world = Synthetic(self.spectrum, self.dimension)
        if self.entries <= _IN_MEMORY:
            X, known = world.draw(self.count, coins)
            X.setflags(write=False)
            return X, known
        _, known = world.draw(0, coins)  # the mean; the records follow from the same coins, block by block
        file = np.lib.format.open_memmap(folder / "X.npy", "w+", shape=(self.count, self.dimension))
        step = max(1, _BLOCK // self.dimension)
        for start in range(0, self.count, step):
            rows = file[start : start + step]
            rows[:] = coins.normal(size=rows.shape) * known.stddevs + known.mean
        file.flush()
        del file
        return np.load(folder / "X.npy", mmap_mode="r"), known

    def _coins(self, seed: int, draw: int) -> np.random.Generator:
        """The records of a draw do not depend on who is asked, nor on the budget."""
        world = zlib.crc32(f"{self.spectrum}, d = {self.dimension}".encode())
        return np.random.default_rng([seed, draw, self.count, world])


def sampling_error(name: str, dimension: int, count: int) -> float:
    """Root of the expected squared error of the mean of this many records."""
    return float(np.linalg.norm(spectrum(name, dimension))) / math.sqrt(count)
