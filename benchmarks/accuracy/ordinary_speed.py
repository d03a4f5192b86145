"""Seconds of one release in a fresh process, for ordinary.py: the first one, which fills caches, and later ones."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.accuracy.ordinary_contestants import OURS, RELATIVE
from benchmarks.accuracy.ordinary_tables import Generator, clinical, decades
from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import Floats
from dimfree import SystemNoise, release_mean

EPSILON = 1.0
LATER = 5  # releases after the first one
POINTS: dict[str, tuple[Callable[[Generator], Floats], float]] = {  # name: (table, seconds that were asked for)
    "600 × 20": (clinical(600), 0.3),
    "10000 × 500": (decades("lognormal", 10_000, 500), 5.0),
}


def speed(name: str, seed: int) -> dict[str, Any]:
    """In a process of its own, so that no cache is warm."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(timed, name, seed).result()


def timed(name: str, seed: int) -> dict[str, Any]:
    """Private noise; imports are not counted."""
    make, limit = POINTS[name]
    X = make(np.random.default_rng(seed))
    SystemNoise().gaussian(2.0**24, 1)  # imports OpenDP
    seconds = []
    for _ in range(1 + LATER):
        start = time.perf_counter()
        release = release_mean(X, epsilon=EPSILON, delta=DELTA, **OURS[RELATIVE].keywords)
        seconds.append(time.perf_counter() - start)
    later = float(np.median(seconds[1:]))
    return {"name": name, "limit": limit, "first": seconds[0], "later": later, "refused": release.refused}
