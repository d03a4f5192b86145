"""Centre and spread of every column, from noisy soft histograms alone: no bounds, no units, no location is asked for.

First the magnitude of each column, over 45 decades; then where its records lie, in steps of that magnitude; then
closer, for narrow columns far from zero. All looks are Gaussian (P19); which columns are looked at again follows from
released values (P17).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Booleans, Floats
from dimfree.kernel import Cells, Magnitudes, Offsets
from dimfree.programs.choose import constants as c
from dimfree.programs.columns.reading import Places, Seen, read_magnitudes, read_places
from dimfree.programs.columns.state import ColumnState
from dimfree.progress import during

Which = NDArray[np.intp]


def count_valid(state: ColumnState) -> ColumnState:
    """The state whose number of records is that of the valid ones: invalid ones are in no histogram and no sum."""
    setting = state.setting
    state, found = state.release(c.VALID_COUNT_SHARE, setting.view.valid_count)
    count = max(found.value, found.stddev, 1.0)
    return replace(state, setting=replace(setting, count=count, count_stddev=found.stddev))


@during("columns")
def learn_columns(state: ColumnState) -> ColumnState:
    """Centre, spread and their uncertainty, of every column that is looked at (P19)."""
    state, magnitudes, far = _magnitudes(state)
    large = magnitudes >= c.LARGEST_MAGNITUDE
    off, far = (magnitudes == 0) | large, np.where(large, 0.0, far)
    magnitudes[large] = c.FAR_MAGNITUDE  # so that such a column leaves the length of a record alone
    seen = np.where(magnitudes > 0, magnitudes, np.where(far > 0, 0.0, c.RARE_STDDEV))
    unseen = off & (far == 0) & ~state.declared
    magnitudes[state.declared] = state.stddev[state.declared] / Offsets.middle  # the first look spans their range
    state = replace(state, stddev=np.where(state.declared, state.stddev, seen), unseen=unseen)
    state = _places(state, magnitudes, np.flatnonzero(state.open & (~off | state.declared)))
    return replace(state, stddev=np.hypot(state.stddev, far))


def look_share(state: ColumnState) -> float:
    """Of P, for one look at all columns: enough to tell a twentieth of the records from none, as far as that pays."""
    return float(np.clip((c.LOOK_STRENGTH / state.strength) ** 2, *c.LOOK_SHARES))


def _look(
    state: ColumnState, cells: Cells, which: Which, share: float, purpose: str
) -> tuple[ColumnState, Floats, Floats]:
    """(the state that has paid a share of P, shares of records, noise of one cell) of these columns."""
    setting, counts_of = state.setting, state.counts[which]
    state, counts = state.release(share, lambda mu: setting.view.histograms(cells, which, mu, purpose))
    return state, counts.value / counts_of[:, None], counts.stddev / counts_of


def _magnitudes(state: ColumnState) -> tuple[ColumnState, Floats, Floats]:
    """Of every column the magnitude of its bulk, 0 where that is zeros; and the root mean square, over all records, of
    the entries that are seen far beyond the bulk, 0 where none are.

    Columns in doubt, and those that show hardly anything but zeros, are looked at again, with the most that a look may
    cost: they are few. It ends when a share of P is spent. Looks count by their precision. A far group enters only if
    it was looked at twice, and if leaving it out would likely cost more than what it adds to the noise if it is none.
    """
    d, share = state.setting.view.dimension, look_share(state)
    which, magnitudes, far = np.flatnonzero(~state.declared), np.zeros(d), np.zeros(d)
    most = int(state.open.sum())
    total, weight = np.zeros((d, Magnitudes.cells)), np.zeros(d)
    least, suspected = state.left - c.MAGNITUDE_SHARE * state.precision, np.zeros(d, dtype=np.bool_)
    for look in range(1, c.MOST_MAGNITUDE_LOOKS + 1):
        part = share * len(which) / max(most, 1)
        if not len(which) or state.left - part * state.precision < least:
            break
        state, counts, noise = _look(state, Magnitudes(), which, part, "magnitudes of the columns")
        total[which] += counts / noise[:, None] ** 2
        weight[which] += 1 / noise**2
        seen = read_magnitudes(total[which] / weight[which, None], 1 / np.sqrt(weight[which]), state.miscount[which])
        group, odds = seen.far_magnitude * np.sqrt(seen.far_share), seen.far_odds - _false_alarm(state, seen)
        believed = (odds >= c.FAR_ODDS) & suspected[which]
        magnitudes[which], far[which] = seen.magnitude, np.where(believed, group, 0.0)
        doubtful = (seen.far_odds > c.DOUBTFUL_ODDS) & ~believed
        suspected[which] = doubtful
        which = which[(seen.sureness < c.SURE_MAGNITUDE) | doubtful | ((seen.magnitude == 0) & (look == 1))]
        share = c.LOOK_SHARES[1]
    return state, magnitudes, far


def _false_alarm(state: ColumnState, seen: Seen) -> Floats:
    """The logarithm of what a far group costs if it is none, over what leaving it out costs if it is one.

    Its scale over that of the bulk is a factor of noise; left out, the mean is off by a share of its own spread.
    """
    bulk = np.where(seen.magnitude > 0, seen.magnitude, 1.0)
    noise = seen.far_magnitude / bulk / state.strength
    return np.maximum(np.log(np.maximum(noise, 1e-300)), 0.0)


def _places(state: ColumnState, magnitudes: Floats, which: Which) -> ColumnState:
    """Look after look, each closer, at narrow columns away from zero, until a share of P is spent.

    Columns that are likely one value, and what closer looks left behind, are found on the way.
    """
    d, most, share, width = len(magnitudes), int(state.open.sum()), look_share(state), magnitudes.copy()
    behind, looks, least = np.zeros((d, 2)), np.zeros(d), state.left - (share + c.CLOSER_SHARE) * state.precision
    noise, atoms = np.full(d, np.inf), np.zeros(d, dtype=np.bool_)
    while len(which) and state.releases < c.MOST_LOOKS:
        part = share * len(which) / most
        if state.left - part * state.precision < least:
            break
        cells = Offsets(state.centre[which], width[which])
        state, shares, noise[which] = _look(state, cells, which, part, "places of the columns")
        closer, decades = width[which] < magnitudes[which], np.log10(magnitudes[which] / width[which])
        seen = read_places(shares, noise[which], state.miscount[which], state.declared[which] & ~closer)
        state = _moved(state, which, width[which], seen)
        width[which] *= np.minimum(1.0, c.CLOSER * np.hypot(seen.spread, np.sqrt(seen.variance)))
        away = state.declared[which] | (np.abs(state.centre[which]) > c.AWAY * width[which])
        odds = seen.one_value / np.maximum(1 - seen.one_value, 1e-300) * (1 + decades**2)  # few columns are so narrow
        atoms[which] = away & (odds > 1)
        unclear = (seen.log_variance > c.UNCERTAIN_LOG_VARIANCE) | (closer & (odds > c.DOUBTFUL_ONE_VALUE))
        again = away & ((seen.spread < c.NARROW) | unclear)
        inside = again & closer & (np.abs(seen.centre) + 2 * seen.spread < Offsets.middle - 1)  # not in the end cells
        looks[which[inside]] += 1
        behind[which[inside]] += shares[inside][:, [0, -1]]
        which = which[again]
        # a share of entries that the noise hides may lie anywhere within the declared ends
        least_width = np.where(state.declared, np.minimum(noise, 1.0) * magnitudes, 0.0)
        finest = width[which] <= np.maximum(c.FLOAT_RESOLUTION * np.abs(state.centre), least_width)[which]
        atoms[which[finest]] = True
        which = which[~finest]
    return _with_hidden(state, behind / np.maximum(looks, 1)[:, None], atoms, looks, noise, magnitudes)


def _moved(state: ColumnState, which: Which, width: Floats, seen: Places) -> ColumnState:
    """The state with what a look of this width has told of the columns `which`."""
    centre, variance = state.centre.copy(), state.centre_variance.copy()
    stddev, log_variance = state.stddev.copy(), state.log_variance.copy()
    centre[which] += width * seen.centre
    variance[which] = width**2 * seen.variance
    stddev[which], log_variance[which] = width * seen.spread, seen.log_variance
    narrow = state.narrow.copy()
    narrow[which] = seen.narrowest > c.SPREAD_TAIL
    state = replace(state, centre=centre, centre_variance=variance, narrow=narrow)
    return replace(state, stddev=stddev, log_variance=log_variance)


def _with_hidden(
    state: ColumnState, shares: Floats, atoms: Booleans, looks: Floats, noise: Floats, magnitudes: Floats
) -> ColumnState:
    """Add the second moment of records that closer looks left behind: they may lie a whole magnitude away.

    `shares`: of the records in the first and last cell, a mean over closer looks. They count if they stand out of the
    noise. A column that is likely one value, as far as the looks resolve it, may have other values that the noise
    hides: its scale covers as many of them as the noise of that mean.
    """
    noise = noise / np.sqrt(np.maximum(looks, 1))
    seen = np.where(shares > np.hypot(c.STAYED_BEHIND * noise, c.LEAST_BEHIND)[:, None], shares, 0.0).sum(axis=1)
    away = np.where((looks > 0) & (seen > 0), seen, np.where(atoms, np.hypot(noise, c.LEAST_BEHIND), 0.0))
    wide = np.sqrt(np.minimum(away, 1.0)) * magnitudes
    state = replace(state, stddev=np.maximum(state.stddev, np.where(away > 0, wide, 0.0)))
    return replace(state, narrow=state.narrow | atoms, one_value=atoms)
