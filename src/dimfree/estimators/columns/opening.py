"""Centre and spread of every column, from noisy soft histograms alone: no bounds, no units, no location is asked for.

First the magnitude of each column, over 45 decades; then where its records lie, in steps of that magnitude; then
closer, for narrow columns far from zero. All looks are Gaussian (P19); which columns are looked at again follows from
released values (P17). Proof: proofs/estimators/columns.md.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.data.progress import during
from dimfree.estimators.choose.constants import (
    AWAY,
    CLOSER,
    CLOSER_SHARE,
    FAR_MAGNITUDE,
    FLOAT_RESOLUTION,
    LARGEST_MAGNITUDE,
    LEAST_BEHIND,
    LOOK_SHARES,
    LOOK_STRENGTH,
    MAGNITUDE_SHARE,
    MOST_LOOKS,
    MOST_MAGNITUDE_LOOKS,
    NARROW,
    NEARLY_ONE_STDDEV,
    NOTHING_BUT,
    RARE_STDDEV,
    SPREAD_TAIL,
    STAYED_BEHIND,
    SURE_MAGNITUDE,
    UNCERTAIN_LOG_VARIANCE,
    VALID_COUNT_SHARE,
)
from dimfree.estimators.columns.reading import Places, read_magnitudes, read_places, read_rare
from dimfree.estimators.columns.state import ColumnState
from dimfree.mechanisms.count import noisy_valid_count
from dimfree.mechanisms.soft_histogram import Cells, Magnitudes, Offsets, noisy_histograms

Which = NDArray[np.intp]


def count_valid(state: ColumnState) -> ColumnState:
    """The state whose number of records is that of the valid ones: invalid ones are in no histogram and no sum."""
    setting = state.setting
    state, found = state.release(
        VALID_COUNT_SHARE, lambda mu: noisy_valid_count(setting.space, mu, noise=setting.noise)
    )
    stddev = state.events[-1].stddev * state.events[-1].step
    return replace(state, setting=replace(setting, count=max(found, stddev, 1.0), count_stddev=stddev))


@during("columns")
def learn_columns(state: ColumnState) -> ColumnState:
    """Centre, spread and their uncertainty, of every column (P19)."""
    state, magnitudes, rare = _magnitudes(state)
    off = (magnitudes == 0) | (magnitudes >= LARGEST_MAGNITUDE)
    magnitudes[off & (magnitudes > 0)] = FAR_MAGNITUDE  # so that such a column leaves the length of a record alone
    state = replace(
        state,
        stddev=np.where(magnitudes > 0, magnitudes * np.sqrt(np.where(rare > 0, rare, 1.0)), RARE_STDDEV),
        log_variance=np.full(len(magnitudes), 2 * UNCERTAIN_LOG_VARIANCE),
        unseen=off,
    )
    return _places(state, magnitudes, np.flatnonzero(~off & (rare == 0)))


def look_share(state: ColumnState) -> float:
    """Of P, for one look at all columns: enough to tell a twentieth of the records from none, as far as that pays."""
    return float(np.clip((LOOK_STRENGTH / state.strength) ** 2, *LOOK_SHARES))


def _look(
    state: ColumnState, cells: Cells, which: Which, share: float, purpose: str
) -> tuple[ColumnState, Floats, Floats]:
    """(the state that has paid a share of P, shares of records, noise of one cell) of these columns."""
    setting, counts_of = state.setting, state.counts[which]
    state, counts = state.release(
        share,
        lambda mu: noisy_histograms(setting.space, cells, which, mu, setting.relation, purpose, noise=setting.noise),
    )
    event = state.events[-1]
    return state, counts / counts_of[:, None], event.stddev * event.step / counts_of


def _magnitudes(state: ColumnState) -> tuple[ColumnState, Floats, Floats]:
    """Of every column, 0 where only zeros were seen; and where few other entries were, their share of the records.

    Columns in doubt, and those that show hardly anything but zeros, are looked at again, with the most that a look may
    cost: they are few. It ends when a share of P is spent. Looks count by their precision.
    """
    d, share = state.setting.space.dimension, look_share(state)
    which, magnitudes, rare = np.arange(d), np.zeros(d), np.zeros(d)
    total, weight = np.zeros((d, Magnitudes.cells)), np.zeros(d)
    least = state.left - MAGNITUDE_SHARE * state.precision
    for look in range(1, MOST_MAGNITUDE_LOOKS + 1):
        part = share * len(which) / d
        if not len(which) or state.left - part * state.precision < least:
            break
        state, seen, noise = _look(state, Magnitudes(), which, part, "magnitudes of the columns")
        total[which] += seen / noise[:, None] ** 2
        weight[which] += 1 / noise**2
        mean, noise = total[which] / weight[which, None], 1 / np.sqrt(weight[which])
        found, sureness = read_magnitudes(mean, noise, state.miscount[which])
        zeros, (others, few) = found == 0, read_rare(mean, noise)
        magnitudes[which], rare[which] = np.where(zeros, others, found), np.where(zeros, few, 0.0)
        which = which[(sureness < SURE_MAGNITUDE) | (zeros & (look == 1))]
        share = LOOK_SHARES[1]
    return state, magnitudes, rare


def _places(state: ColumnState, magnitudes: Floats, which: Which) -> ColumnState:
    """Look after look, each closer, at narrow columns away from zero, until a share of P is spent."""
    d, share, width = len(magnitudes), look_share(state), magnitudes.copy()
    behind, looks, least = np.zeros(d), np.zeros(d), state.left - (share + CLOSER_SHARE) * state.precision
    noise = np.full(d, np.inf)
    while len(which) and len(state.events) < MOST_LOOKS:
        part = share * len(which) / d
        if state.left - part * state.precision < least:
            break
        cells = Offsets(state.centre[which], width[which])
        state, shares, noise[which] = _look(state, cells, which, part, "places of the columns")
        seen = read_places(shares, noise[which], state.miscount[which])
        state = _moved(state, which, width[which], seen)
        width[which] *= np.minimum(1.0, CLOSER * np.hypot(seen.spread, np.sqrt(seen.variance)))
        away = np.abs(state.centre[which]) > AWAY * width[which]
        narrow = away & (seen.spread < NARROW)
        looks[which[narrow]] += 1
        behind[which[narrow]] += seen.aside[narrow]
        again = away & ((seen.spread < NARROW) | (seen.log_variance > UNCERTAIN_LOG_VARIANCE))
        which = which[again & (width[which] > FLOAT_RESOLUTION * np.abs(state.centre[which]))]
    state = replace(state, one_value=state.narrow & (np.abs(state.centre) > AWAY * width))
    return _with_rare(_with_atoms(state, behind / np.maximum(looks, 1), looks, noise, magnitudes))


def _moved(state: ColumnState, which: Which, width: Floats, seen: Places) -> ColumnState:
    """The state with what a look of this width has told of the columns `which`."""
    centre, variance = state.centre.copy(), state.centre_variance.copy()
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    centre[which] += width * seen.centre
    variance[which] = width**2 * seen.variance
    stddev[which], log_variance[which] = width * seen.spread, seen.log_variance
    narrow = state.narrow.copy()
    narrow[which] = seen.narrowest > SPREAD_TAIL
    state = replace(state, centre=centre, centre_variance=variance, narrow=narrow)
    return replace(state, stddev=stddev, log_variance=log_variance)


def _with_atoms(state: ColumnState, share: Floats, looks: Floats, noise: Floats, magnitudes: Floats) -> ColumnState:
    """Where a share of the records was left behind while looking closer, they may lie a whole magnitude away."""
    noise_of_mean = noise / np.sqrt(np.maximum(looks, 1))
    left = (looks > 0) & (share > np.hypot(STAYED_BEHIND * noise_of_mean, LEAST_BEHIND))
    wide = np.maximum(state.stddev, np.sqrt(np.maximum(share, 0.0)) * magnitudes)
    return replace(state, stddev=np.where(left, wide, state.stddev))


def _with_rare(state: ColumnState) -> ColumnState:
    """A column that shows nothing but ones may be an indicator whose few zeros were not seen."""
    error = np.sqrt(state.centre_variance)
    ones = (np.abs(state.centre - 1) < np.maximum(4 * error, 0.02)) & (state.stddev < NOTHING_BUT)
    return replace(
        state,
        stddev=np.where(ones, NEARLY_ONE_STDDEV, state.stddev),
        narrow=state.narrow | ones,
        one_value=state.one_value | ones,
        centre_variance=np.where(ones, np.minimum(state.centre_variance, 0.02**2), state.centre_variance),
    )
