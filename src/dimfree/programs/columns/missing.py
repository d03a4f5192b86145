"""on_missing="column": the share of people who have an entry in each column, from two noisy counts of missing ones.

The share divides sums of offsets from a centre, so that its error enters the mean only times the distance of the mean
from that centre: a coarse release is enough. Letters: q = shares of missing entries; n̂ = released number of records;
d = columns.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import SCORE_SENSITIVITY
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.shrinkage import denoised
from dimfree.progress import during


@during("missing entries")
def count_missing(state: ColumnState) -> ColumnState:
    """The state that knows which share of the records has an entry in each column (P22)."""
    setting, d = state.setting, state.setting.view.dimension
    share = float(np.clip(1 / (c.MISSING_ERROR * setting.count) ** 2 / state.precision, *c.MISSING_SHARES))
    state, found = state.release(share, setting.view.missing)
    missing, stddev = found.value / setting.count, found.stddev / setting.count
    overall = _standing_out(missing, stddev)
    norm = missing_norm(overall, d, _affordable_norm(state))
    state, counts = state.release(c.MISSING_COUNTS_SHARE, lambda mu: setting.view.missing_by_column(norm, mu))
    by_column, noise = counts.value / setting.count, counts.stddev / setting.count
    present, variance = _present(by_column, noise, overall)
    lost = _lost(missing - counts.value.mean() / setting.count, math.hypot(stddev, noise / math.sqrt(d)))
    return replace(state, present=present, present_stddev=np.sqrt(variance + stddev**2 + lost**2))


def missing_norm(overall: float, columns: int, affordable: float = 0.0) -> float:
    """The norm of a record's missing entries: twice the mean number of them, and one more, count in full. Public.

    More, up to all of them, where the noise allows it (`affordable`): then no record counts less than it should.
    """
    return math.sqrt(min(columns, max(1 + 2 * overall * columns, affordable**2)))


def _affordable_norm(state: ColumnState) -> float:
    """The norm with which the share of each column has noise of MISSING_COUNTS_ERROR. Public."""
    mu = math.sqrt(c.MISSING_COUNTS_SHARE * state.precision) / SCORE_SENSITIVITY[state.setting.relation]
    return c.MISSING_COUNTS_ERROR * state.setting.count * mu


def _lost(deficit: float, noise: float) -> float:
    """By how much less is missing, on average, by column than in all, beyond the noise: records that miss more than the
    norm. It is added to every column alike; how much of it one column lost is not known."""
    return math.sqrt(max(deficit**2 - noise**2, 0.0)) if deficit > 0 else 0.0


def _present(missing: Floats, noise: float, overall: float) -> tuple[Floats, Floats]:
    """(shares of present entries, their variances): as far apart as the noise lets columns be told apart, about the
    overall share, which is known better; no column is taken to have fewer entries than their noise."""
    apart, variance = denoised(missing, np.full(len(missing), noise**2))
    present = 1 - (apart - apart.mean() + overall)
    return np.clip(present, min(1.0, noise), 1.0), variance


def _standing_out(share: float, noise: float) -> float:
    """A share of missing entries, drawn towards none as far as the noise explains it: most tables miss few entries."""
    return min(share - noise**2 / share, 1.0) if share > noise else 0.0
