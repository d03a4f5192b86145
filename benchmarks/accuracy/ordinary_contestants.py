"""Who is tried by ordinary.py: releases of ours with their keywords, and the peers of ordinary_peers.py.

Everything that says how a route is asked for stands in OURS; change it there.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.ordinary_cells import OrdinaryCell
from benchmarks.accuracy.ordinary_peers import PEERS
from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import Floats
from dimfree import Options, Release, release_mean

RELATIVE, TOTAL, CORE = "relative", "total", "core"
RELATIVE_UNITS, CORE_UNITS, EXACT = "relative, true units", "core, true units", "relative, exact noise"


@dataclass(frozen=True)
class Ours:
    """Keywords of release_mean; whether columns are first divided by their true deviations; which noise."""

    keywords: dict[str, Any] = field(default_factory=dict)
    true_units: bool = False
    exact: bool = False  # the system's noise, not a seeded one


_RELATIVE, _TOTAL = {"objective": "relative"}, {"objective": "total"}
_CORE = {**_TOTAL}  # the core route, whatever the number of records would choose
OURS: dict[str, Ours] = {
    RELATIVE: Ours(_RELATIVE),
    EXACT: Ours(_RELATIVE, exact=True),
    TOTAL: Ours(_TOTAL),
    CORE: Ours(_CORE),
    RELATIVE_UNITS: Ours(_RELATIVE, true_units=True),
    CORE_UNITS: Ours(_CORE, true_units=True),
}
ON_TABLES = (RELATIVE, TOTAL, CORE, RELATIVE_UNITS, CORE_UNITS, *PEERS)
ON_LAWS = (TOTAL, CORE, RELATIVE)


@dataclass(frozen=True)
class Answer:
    """What a contestant said: its error in every column of the table (None: refused), and how long it took.

    Of ours also the release, and the records in the units in which it was made; `units` leads back to the table.
    """

    error: Floats | None
    seconds: float
    release: Release | None = None
    units: Floats | None = None


def answer(name: str, X: Floats, cell: OrdinaryCell, draw: int) -> Answer:
    """One contestant on one draw."""
    if name in PEERS:
        start = time.perf_counter()
        error = PEERS[name].error(X, cell.epsilon, DELTA, cell.generator(draw, name))
        return Answer(error, time.perf_counter() - start)
    return _ours(OURS[name], X, cell.epsilon, None if OURS[name].exact else cell.noise(draw, name))


def _ours(ours: Ours, X: Floats, epsilon: float, noise: Any) -> Answer:
    units = stddevs(X) if ours.true_units else np.ones(X.shape[1])
    units[units == 0] = 1.0
    table = X / units if ours.true_units else X
    start = time.perf_counter()
    release = release_mean(table, epsilon=epsilon, delta=DELTA, noise=noise, **ours.keywords)
    seconds = time.perf_counter() - start
    error = None if release.refused else (release.mean - table.mean(axis=0)) * units
    return Answer(error, seconds, release, units)


def stddevs(X: Floats) -> Floats:
    """Of the columns; exactly 0 where a column is constant, whatever its mean rounds to."""
    return np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0)
