"""Single passes over an array in memory: seconds of one thread's processor, and by the clock on all cores."""

import os
import time
from collections.abc import Callable

import numpy as np

from benchmarks.speed.clocks import Row, best, row
from dimfree._types import Floats
from dimfree.data.records import as_records, open_records, require_valid
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball, clipped_sum
from dimfree.kernel.statistics.length_histogram import length_counts
from dimfree.kernel.statistics.scores import Scoring, total_scores
from dimfree.kernel.statistics.soft_histogram import Magnitudes, Offsets, soft_histograms
from dimfree.shapes import Isotropic
from dimfree.threads import cores

BAR = 4.0  # means
_THREADS = "DIMFREE_THREADS"


def passes(X: Floats, stddevs: Floats) -> list[Row]:
    """Against X.mean(0) by the same clock."""
    rows = []
    for name, clock, threads in (("one thread, processor", time.process_time, 1), ("all cores", time.perf_counter, 0)):
        os.environ[_THREADS] = str(threads or cores())
        mean = best(lambda: X.mean(0), 5, clock)
        rows.append(row(f"X.mean(0), {X.shape[0]} × {X.shape[1]}, {name}", mean, "s"))
        for what, work in kinds(X, stddevs).items():
            took = best(work, 3, clock)
            rows.append(row(f"{what}, {name}", took / mean, "means", BAR, took))
        del os.environ[_THREADS]
    return rows


def kinds(X: Floats, stddevs: Floats) -> dict[str, Callable[[], object]]:
    """About 3 % of the records are outside the ball; a tenth of the scores are beyond 1, as in releases."""
    space, centre, every = Space(open_records(X), Isotropic(1.0)), X[:1000].mean(0), np.arange(X.shape[1])
    lengths = np.linalg.norm((X[:1000] - centre) / np.sqrt(stddevs), axis=1)
    ball = Ball(centre, np.sqrt(stddevs), float(np.quantile(lengths, 0.97)))
    scoring = Scoring(centre, 1.6 * stddevs, float(np.sqrt(X.shape[1])))
    return {
        "a look at every row": lambda: require_valid(as_records(X), "raise"),
        "clipped sum": lambda: clipped_sum(space, ball),
        "lengths": lambda: length_counts(space, ball, ball.radius * np.geomspace(0.1, 10, 60)),
        "scores": lambda: total_scores(space, scoring, 1.0),
        "cells about a centre": lambda: soft_histograms(space, Offsets(centre, stddevs), every),
        "cells of magnitudes": lambda: soft_histograms(space, Magnitudes(), every),
    }
