"""Where openings.py opens tables: the worlds, sizes and budgets, and one draw of each.

Named spectra, correlated columns, and samples of real tables, whose truth is the mean of the whole.
"""

import math
import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import DISTANCE, SPECTRA, Floats, draw
from dimfree.accounting.precision import largest_mu

COUNTS = (220, 300, 400, 600, 1000, 2000, 4000)
DIMENSIONS, REAL_DIMENSIONS = (4, 8, 16, 32, 64, 100, 200, 500), (8, 32, 85, 200, 500)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
REAL = {"people": 2504, "mice": 1814, "cells": 2700, "cells, scaled": 2700, "survey": 4000}  # rows of each
WIDEST = {"survey": 85}  # columns of those with fewer than 500
LEAST, MOST = 25.0, 2.5  # [n·mu; today's threshold of columns]: what lies outside is not in question


@dataclass(frozen=True)
class Opened:
    """One world at one size and budget."""

    world: str
    n: int
    d: int
    epsilon: float

    def coins(self, trial: int) -> np.random.Generator:
        """Of the records: the same at every budget."""
        return np.random.default_rng([zlib.crc32(self.world.encode()), self.n, self.d, trial])


def _far(d: int, coins: np.random.Generator) -> Floats:
    direction = coins.normal(size=d)
    return direction * (DISTANCE * math.sqrt(d) / float(np.linalg.norm(direction)))


def _neighbors(d: int, n: int, coins: np.random.Generator) -> tuple[Floats, Floats]:
    """AR(1) with correlation .95, variances 1."""
    X = coins.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = 0.95 * X[:, j - 1] + math.sqrt(1 - 0.95**2) * X[:, j]
    mean = _far(d, coins)
    return X + mean, mean


def _factors(d: int, n: int, coins: np.random.Generator) -> tuple[Floats, Floats]:
    """Five common factors hold nine tenths of every variance, which is 1; the rest is noise."""
    loadings = np.random.default_rng(d).normal(size=(5, d))
    loadings *= math.sqrt(0.9) / np.linalg.norm(loadings, axis=0)
    X, mean = coins.normal(size=(n, 5)) @ loadings + math.sqrt(0.1) * coins.normal(size=(n, d)), _far(d, coins)
    return X + mean, mean


CORRELATED = {"AR(1) .95": _neighbors, "factors": _factors}


@cache
def _table(data: str, world: str, d: int) -> Floats:
    """Columns of a real table, the same at every draw."""
    name, _, scaled = world.partition(", ")
    rows = np.load(data)[name].astype(np.float64)
    chosen = np.random.default_rng(d).permutation(rows.shape[1])[:d]
    return rows[:, chosen] / (rows[:, chosen].std(axis=0) if scaled else 1.0)


def drawn(cell: Opened, trial: int, data: str | None) -> tuple[Floats, Floats, Floats]:
    """(records, mean, standard deviations)."""
    coins = cell.coins(trial)
    if cell.world in SPECTRA:
        stddevs = SPECTRA[cell.world](cell.d)
        return *draw(stddevs, cell.n, coins), stddevs
    if cell.world in CORRELATED:
        return *CORRELATED[cell.world](cell.d, cell.n, coins), np.ones(cell.d)
    rows = _table(str(data), cell.world, cell.d)
    return rows[coins.choice(len(rows), cell.n, replace=False)], rows.mean(axis=0), rows.std(axis=0)


def cells(data: str | None) -> list[Opened]:
    """All that is in question: not too few records for all, nor so many that columns are beyond doubt."""
    synthetic = [(w, n, d) for w in (*SPECTRA, *CORRELATED) for n in COUNTS for d in DIMENSIONS]
    synthetic = [at for at in synthetic if at[0] != "S1" or at[2] > 10]  # up to there S1 is S4
    real = [(w, n, d) for w, rows in REAL.items() for n in COUNTS for d in REAL_DIMENSIONS if n <= 0.8 * rows]
    real = [at for at in real if at[2] <= WIDEST.get(at[0], 500)]
    every = [Opened(w, n, d, epsilon) for w, n, d in (*synthetic, *(real if data else ())) for epsilon in EPSILONS]
    return [cell for cell in every if _in_question(cell)]


def _in_question(cell: Opened) -> bool:
    strength = cell.n * largest_mu(cell.epsilon, DELTA)
    return strength > LEAST and strength / math.sqrt(cell.d) < MOST * float(np.clip(5 * cell.d, 50, 300))
