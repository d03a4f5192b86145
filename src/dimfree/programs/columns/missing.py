"""missing="available-case": the share of records with a value in each column, from two noisy counts.

The share divides sums of offsets from a center, so its error enters the mean only times the distance of the mean from
that center: a coarse release suffices. Letters: q = shares of missing values; n̂ = released number of records;
d = columns.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree._types import Floats
from dimfree.kernel import SCORE_SENSITIVITY
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.shrinkage import denoise
from dimfree.progress import during


@during("missing entries")
def count_missing(state: ColumnState) -> ColumnState:
    """Release the share of the records with a value in each column (P22)."""
    setting, d = state.setting, state.setting.view.dimension
    share = float(np.clip(1 / (c.MISSING_ERROR * setting.count) ** 2 / state.precision, *c.MISSING_SHARES))
    state, found = state.release(share, setting.view.missing)
    missing, stddev = found.value / setting.count, found.stddev / setting.count
    overall = _shrink_to_zero(missing, stddev)
    norm = choose_missing_norm(overall, d, _find_affordable_norm(state))
    state, counts = state.release(c.MISSING_COUNTS_SHARE, lambda mu: setting.view.missing_by_column(norm, mu))
    by_column, noise = counts.value / setting.count, counts.stddev / setting.count
    present, variance = _estimate_present(by_column, noise, overall)
    lost = _estimate_lost(missing - counts.value.mean() / setting.count, math.hypot(stddev, noise / math.sqrt(d)))
    return replace(state, present=present, present_stddev=np.sqrt(variance + stddev**2 + lost**2))


def choose_missing_norm(overall: float, columns: int, affordable: float = 0.0) -> float:
    """Choose the clipping norm of a record's missing values: twice their mean number, plus one, count in full. Public.

    More, up to all of them, if the noise allows it (`affordable`): then no record is clipped.
    """
    return math.sqrt(min(columns, max(1 + 2 * overall * columns, affordable**2)))


def _find_affordable_norm(state: ColumnState) -> float:
    """Return the norm with which the share of each column has noise of MISSING_COUNTS_ERROR. Public."""
    mu = math.sqrt(c.MISSING_COUNTS_SHARE * state.precision) / SCORE_SENSITIVITY[state.setting.relation]
    return c.MISSING_COUNTS_ERROR * state.setting.count * mu


def _estimate_lost(deficit: float, noise: float) -> float:
    """Estimate the share that clipped records hide: the total count less the counts by column, beyond the noise.

    It is added to every column alike, since its division among columns is unknown.
    """
    return math.sqrt(max(deficit**2 - noise**2, 0.0)) if deficit > 0 else 0.0


def _estimate_present(missing: Floats, noise: float, overall: float) -> tuple[Floats, Floats]:
    """Estimate (shares of present values, their variances): columns are shrunk to the more precise overall share.

    No share is below its noise.
    """
    apart, variance = denoise(missing, np.full(len(missing), noise**2))
    present = 1 - (apart - apart.mean() + overall)
    return np.clip(present, min(1.0, noise), 1.0), variance


def _shrink_to_zero(share: float, noise: float) -> float:
    """Shrink a share of missing values towards 0 as far as the noise explains it: most tables have few."""
    return min(share - noise**2 / share, 1.0) if share > noise else 0.0
