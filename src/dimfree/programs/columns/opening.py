"""Pilot estimates: center and SD of every column from noisy soft histograms, without bounds, units or locations.

First the magnitude of each column, over 45 decades; then its location, in steps of that magnitude; then closer
histograms of narrow columns far from zero. All histograms are Gaussian releases (P19); released values decide which
columns are measured again (P17).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Booleans, Floats
from dimfree.kernel import Cells, Magnitudes, Offsets
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.reading import Locations, MagnitudeReading, read_magnitudes, read_places
from dimfree.programs.columns.state import ColumnState
from dimfree.progress import during

Which = NDArray[np.intp]


def count_valid(state: ColumnState) -> ColumnState:
    """Release the number of valid records: invalid ones are in no histogram and no sum."""
    setting = state.setting
    state, found = state.release(c.VALID_COUNT_SHARE, setting.view.valid_count)
    count = max(found.value, found.stddev, 1.0)
    return replace(state, setting=replace(setting, count=count, count_stddev=found.stddev))


@during("columns")
def learn_columns(state: ColumnState) -> ColumnState:
    """Estimate center, SD and their uncertainty of every open column (P19)."""
    state, magnitudes, far = _measure_magnitudes(state)
    large = magnitudes >= c.MAX_MAGNITUDE
    off, far = (magnitudes == 0) | large, np.where(large, 0.0, far)
    magnitudes[large] = c.FAR_MAGNITUDE  # so that such a column does not change the length of a record
    seen = np.where(magnitudes > 0, magnitudes, np.where(far > 0, 0.0, c.RARE_STDDEV))
    unseen = off & (far == 0) & ~state.declared
    magnitudes[state.declared] = state.stddev[state.declared] / Offsets.middle  # the first histogram spans their range
    state = replace(state, stddev=np.where(state.declared, state.stddev, seen), unseen=unseen)
    state = _locate_columns(state, magnitudes, np.flatnonzero(state.open & (~off | state.declared)))
    return replace(state, stddev=np.hypot(state.stddev, far))


def choose_pilot_share(state: ColumnState) -> float:
    """Choose the share of P of one histogram of all columns: enough to detect a twentieth of the records."""
    return float(np.clip((c.PILOT_SNR / state.snr) ** 2, *c.PILOT_SHARES))


def _release_histograms(
    state: ColumnState, cells: Cells, which: Which, share: float, purpose: str
) -> tuple[ColumnState, Floats, Floats]:
    """Release histograms of these columns: (state, shares of records, noise of one cell)."""
    setting, counts_of = state.setting, state.counts[which]
    state, counts = state.release(share, lambda mu: setting.view.histograms(cells, which, mu, purpose))
    return state, counts.value / counts_of[:, None], counts.stddev / counts_of


def _measure_magnitudes(state: ColumnState) -> tuple[ColumnState, Floats, Floats]:
    """Estimate the magnitude of the bulk of every column, and the root mean square of values far beyond the bulk.

    Both are 0 if there are no such values. Doubtful columns, and those of mostly zeros, are measured again at the
    maximum share, until a share of P is spent; histograms are weighted by precision. A far group counts only if it was
    detected twice, and if ignoring it likely costs more than the noise that it adds.
    """
    d, share = state.setting.view.dimension, choose_pilot_share(state)
    which, magnitudes, far = np.flatnonzero(~state.declared), np.zeros(d), np.zeros(d)
    most = int(state.open.sum())
    total, weight = np.zeros((d, Magnitudes.cells)), np.zeros(d)
    least, suspected = state.left - c.MAGNITUDE_SHARE * state.precision, np.zeros(d, dtype=np.bool_)
    for query in range(1, c.MAX_MAGNITUDE_QUERIES + 1):
        part = share * len(which) / max(most, 1)
        if not len(which) or state.left - part * state.precision < least:
            break
        state, counts, noise = _release_histograms(state, Magnitudes(), which, part, "magnitudes of the columns")
        total[which] += counts / noise[:, None] ** 2
        weight[which] += 1 / noise**2
        seen = read_magnitudes(total[which] / weight[which, None], 1 / np.sqrt(weight[which]), state.miscount[which])
        group, odds = seen.far_magnitude * np.sqrt(seen.far_share), seen.far_odds - _weigh_false_alarm(state, seen)
        believed = (odds >= c.FAR_ODDS) & suspected[which]
        magnitudes[which], far[which] = seen.magnitude, np.where(believed, group, 0.0)
        doubtful = (seen.far_odds > c.DOUBTFUL_ODDS) & ~believed
        suspected[which] = doubtful
        which = which[(seen.sureness < c.SURE_MAGNITUDE) | doubtful | ((seen.magnitude == 0) & (query == 1))]
        share = c.PILOT_SHARES[1]
    return state, magnitudes, far


def _weigh_false_alarm(state: ColumnState, seen: MagnitudeReading) -> Floats:
    """Return the log of the cost of a falsely detected far group, over the cost of ignoring a true one.

    Its scale over that of the bulk is a factor of noise; ignoring it biases the mean by a share of its own SD.
    """
    bulk = np.where(seen.magnitude > 0, seen.magnitude, 1.0)
    noise = seen.far_magnitude / bulk / state.snr
    return np.maximum(np.log(np.maximum(noise, 1e-300)), 0.0)


def _locate_columns(state: ColumnState, magnitudes: Floats, which: Which) -> ColumnState:
    """Release histograms, each closer, of narrow columns away from zero, until a share of P is spent.

    They also show columns that are likely constant, and records outside the closer histograms.
    """
    d, most, share, width = len(magnitudes), int(state.open.sum()), choose_pilot_share(state), magnitudes.copy()
    behind, queries, least = (
        np.zeros((d, 2)),
        np.zeros(d),
        state.left - (share + c.CLOSER_PILOT_SHARE) * state.precision,
    )
    noise, atoms = np.full(d, np.inf), np.zeros(d, dtype=np.bool_)
    while len(which) and state.releases < c.MAX_PILOT_QUERIES:
        part = share * len(which) / most
        if state.left - part * state.precision < least:
            break
        cells = Offsets(state.center[which], width[which])
        state, shares, noise[which] = _release_histograms(state, cells, which, part, "locations of the columns")
        closer, decades = width[which] < magnitudes[which], np.log10(magnitudes[which] / width[which])
        seen = read_places(shares, noise[which], state.miscount[which], state.declared[which] & ~closer)
        state = _update_columns(state, which, width[which], seen)
        width[which] *= np.minimum(1.0, c.CLOSER_FACTOR * np.hypot(seen.sd, np.sqrt(seen.variance)))
        away = state.declared[which] | (np.abs(state.center[which]) > c.AWAY_DISTANCE * width[which])
        # few columns are so narrow
        odds = seen.without_interval / np.maximum(1 - seen.without_interval, 1e-300) * (1 + decades**2)
        atoms[which] = away & (odds > 1)
        unclear = (seen.log_variance > c.UNCERTAIN_LOG_VARIANCE) | (closer & (odds > c.DOUBTFUL_ONE_VALUE))
        again = away & ((seen.sd < c.NARROW_WIDTH) | unclear)
        inside = again & closer & (np.abs(seen.center) + 2 * seen.sd < Offsets.middle - 1)  # not in the end cells
        queries[which[inside]] += 1
        behind[which[inside]] += shares[inside][:, [0, -1]]
        which = which[again]
        # other values that the noise hides may lie anywhere within declared ends: one value is looked at no closer
        coarse = np.where(state.declared & atoms, np.minimum(noise, 1.0) * magnitudes, 0.0)
        finest = width[which] <= np.maximum(c.FLOAT_RESOLUTION * np.abs(state.center), coarse)[which]
        atoms[which[finest]] = True
        which = which[~finest]
    return _add_outlying(state, behind / np.maximum(queries, 1)[:, None], atoms, queries, noise, magnitudes)


def _update_columns(state: ColumnState, which: Which, width: Floats, seen: Locations) -> ColumnState:
    """Update the columns `which` by a histogram of this width."""
    center, variance = state.center.copy(), state.center_variance.copy()
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    center[which] += width * seen.center
    variance[which] = width**2 * seen.variance
    stddev[which], log_variance[which] = width * seen.sd, seen.log_variance
    narrow = state.narrow.copy()
    narrow[which] = seen.narrowest > c.SD_TAIL
    state = replace(state, center=center, center_variance=variance, narrow=narrow)
    return replace(state, stddev=stddev, log_variance=log_variance)


def _add_outlying(
    state: ColumnState, shares: Floats, atoms: Booleans, queries: Floats, noise: Floats, magnitudes: Floats
) -> ColumnState:
    """Add the second moment of records outside the closer histograms: they may lie a whole magnitude away.

    `shares`: of the records in the first and last cell, a mean over closer histograms; they count if they exceed the
    noise. A column that is likely constant may have other values that the noise hides: its scale covers as many of them
    as the noise of that mean.
    """
    noise = noise / np.sqrt(np.maximum(queries, 1))
    seen = np.where(shares > np.hypot(c.OUTLYING_DEVIATIONS * noise, c.MIN_OUTLYING_SHARE)[:, None], shares, 0.0).sum(
        axis=1
    )
    away = np.where((queries > 0) & (seen > 0), seen, np.where(atoms, np.hypot(noise, c.MIN_OUTLYING_SHARE), 0.0))
    wide = np.sqrt(np.minimum(away, 1.0)) * np.where(state.declared & atoms, state.farthest, magnitudes)
    state = replace(state, stddev=np.maximum(state.stddev, np.where(away > 0, wide, 0.0)))
    return replace(state, narrow=state.narrow | atoms, without_interval=atoms)
