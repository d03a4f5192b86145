"""Broken twins: one line of a mechanism is wrong, and the replay of whole runs must say so."""

import numpy as np
import pytest
from audit.broken import changed_line
from replay.neighbours import neighbours
from replay.ways import ADDED, BOTH, WAYS, Way, grouped, ordinary

from dimfree.accounting import events
from dimfree.core import basic, stable, subsample
from dimfree.data import records
from dimfree.estimators import opening
from dimfree.estimators.columns import last
from dimfree.estimators.columns import opening as columns_opening
from dimfree.estimators.learn import variances
from dimfree.geometry import clip
from dimfree.mechanisms import (
    clipped_sum,
    count,
    directions,
    friend_radius,
    gaussian_histogram,
    length_histogram,
    outer_sum,
    scores,
    search,
    soft_histogram,
)
from dimfree.mechanisms.paper import group_means

SEEN = "clipped_total(ball.seen(rows),"
ABOUT_THE_BATCH = "clipped_total(ball.seen(rows - np.nanmean(np.where(np.isfinite(rows), rows, np.nan), axis=0)),"
COUNTED = "noisy_count(run.records.count,"
NAN_TWICE = "noisy_count(2 * run.records.count - sum(len(rows) for rows in run.space.valid_blocks()),"

INVALID_EVERYWHERE = (
    "return total.reshape(len(which), cells.cells) + STEP * (space.count - sum(map(len, space.valid_blocks())))"
)

LINES = {  # name -> function, a line of it, what is written there instead, where it shows
    "0.7 of a clipped sum": (
        clipped_sum.noisy_clipped_mean,
        "charged_gaussian(moves * 2**bits,",
        "charged_gaussian(0.7 * moves * 2**bits,",
        "stable, diagonal",
    ),
    "0.7 of a search": (
        search.noisy_crossing,
        "charged_gaussian(sensitivity",
        "charged_gaussian(0.7 * sensitivity",
        "auto",
    ),
    "0.7 of a count": (events.counted_records, 'records", COUNT', 'records", 0.7 * COUNT', "stable, diagonal"),
    "0.7 of a total": (count.noisy_total, "sensitivity * COUNT_STEPS", "0.7 * sensitivity * COUNT_STEPS", "soft"),
    "0.7 of the scores": (scores.noisy_scores, "charged_gaussian(moves", "charged_gaussian(0.7 * moves", "auto"),
    "0.7 of a number": (
        directions.noisy_number,
        "charged_gaussian(moves,",
        "charged_gaussian(0.7 * moves,",
        "menu, smooth",
    ),
    "0.7 of the outer products": (
        outer_sum.noisy_outer_sum,
        "_UNIT * MOVES",
        "_UNIT * 0.7 * MOVES",
        "menu, correlated",
    ),
    "0.7 of the group means": (group_means.noisy_group_means, "moves = 2 *", "moves = 1.4 *", "variance profile"),
    "0.7 of the friend average": (
        friend_radius.friend_average_sensitivity,
        "return float(moves)",
        "return 0.7 * float(moves)",
        "stable, learned scale",
    ),
    "rounding after clipping": (clip._shortened, "np.trunc(", "np.rint(", "stable, diagonal"),
    "no number beyond the cap": (clip._held, "np.clip(steps, -_CAP, _CAP, out=steps)", "pass", "stable, diagonal"),
    "a NaN row counts twice": (opening.released_size, COUNTED, NAN_TWICE, "stable, diagonal"),
    "offsets from the mean of the batch": (clipped_sum._clipped_total, SEEN, ABOUT_THE_BATCH, "stable, isotropic"),
    "divided by the true count": (
        clipped_sum.noisy_clipped_mean,
        "event.step / count",
        "event.step / space.count",
        "stable, diagonal",
    ),
    "half the noise": (
        clipped_sum.noisy_clipped_mean,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
        "stable, diagonal",
    ),
    "the bit is offered twice its statistic": (stable.stability, "return k\n", "return 2 * k\n", "stable, diagonal"),
    "a search that nobody pays": (
        variances._released_scores,
        "charge(unit, measured)",
        "charge(measured)",
        "auto",
    ),
    "0.7 of a soft histogram": (
        soft_histogram.noisy_histograms,
        "charged_gaussian(moves * 2**bits,",
        "charged_gaussian(0.7 * moves * 2**bits,",
        "columns, relative",
    ),
    "soft cells of norm √2": (soft_histogram._weighed, "(_HERE, _NEXT)", "(_HERE, _HERE)", "columns, relative"),
    "an invalid row is in every cell": (
        soft_histogram.soft_histograms,
        "return total.reshape(len(which), cells.cells)",
        INVALID_EVERYWHERE,
        "columns, relative",
    ),
    "magnitudes in units of the largest entry": (
        soft_histogram._where,
        "cells.places(rows[tile], ALL)",
        "cells.places(rows[tile] / np.abs(rows).max(), ALL)",
        "columns, relative",
    ),
    "0.7 of the lengths": (
        length_histogram.noisy_length_counts,
        "charged_gaussian(moves * 2**bits,",
        "charged_gaussian(0.7 * moves * 2**bits,",
        "columns, relative",
    ),
    "a record is in all cells up to its length": (
        length_histogram._counts_of,
        'np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1)',
        "np.append((lengths[:, None] > edges).sum(axis=0), len(lengths))",
        "columns, relative",
    ),
    "a radius from the records": (
        last.clipping_radius,
        "return widened(max(outer_radius(tail, state.widest, mu), state.length, ones), wide, tail)",
        "return max(state.length, min(1e6, float(next(state.setting.space.valid_blocks())[:, 0].max())))",
        "columns, one",
    ),
    "columns chosen by the records": (
        columns_opening.learn_columns,
        "magnitudes, np.flatnonzero(~off & (rare == 0))",
        "magnitudes + 1, np.flatnonzero(np.vstack(list(state.setting.space.valid_blocks())).any(axis=0))",
        "columns, few",
    ),
    "0.7 of the group keys": (
        gaussian_histogram.publishing,
        "charged_gaussian(moves,",
        "charged_gaussian(0.7 * moves,",
        "groups, private",
    ),
    "an early sample of a fixed size": (
        subsample.poisson_samples,
        "[coins < int(rate * _COIN) for rate in rates]",
        "[np.argsort(np.argsort(coins)) < int(rate * 300) for rate in rates]",
        "columns, early sample",
    ),
    "no space for the last records of an early sample": (
        records.Records.held,
        "gathered(parts, shape, np.float64 if self.streams else some.dtype)",
        "gathered(parts, shape, np.float64 if self.streams else some.dtype)[: capacity // 2]",
        "columns, early sample",
    ),
    "amplified by an early sample": (
        clipped_sum.noisy_clipped_mean,
        "charged_gaussian(moves * 2**bits,",
        "charged_gaussian(moves * 2**bits * min(1, space.count / 250),",
        "columns, early sample",
    ),
    "an early mean over the true number of the sample": (
        clipped_sum.noisy_clipped_mean,
        "event.step / count",
        "event.step / min(count, space.count)",
        "auto, early sample",
    ),
    "a steeper filter": (basic.keep, "2 * counts - n", "5 * counts - 3 * n", "basic"),
}
EXCHANGED = {
    "an exchange for an arrival": (
        clipped_sum.noisy_clipped_mean,
        "CHANGED_RECORDS[relation]",
        "1",
        "stable, diagonal",
    ),
    "√k for √(2k)": (
        soft_histogram.noisy_histograms,
        "len(which) * CHANGED_RECORDS[relation]",
        "len(which)",
        "columns, relative",
    ),
    "an exchange of lengths for an arrival": (
        length_histogram.noisy_length_counts,
        "CHANGED_RECORDS[relation]",
        "1",
        "columns, relative",
    ),
    "an exchange of scores for an arrival": (scores.noisy_scores, "MOVES[relation]", "1.0", "menu, uneven"),
}
SEED = 3
FAR = {"the bit is offered twice its statistic", "a steeper filter"}  # seen where many records lie apart


def caught(way: Way, relation: str) -> bool:
    """Whether some pair of neighbouring tables complains."""
    table = way.table(np.random.default_rng(1))
    return any(way.replayed(pair, relation, SEED).complaints for pair in neighbours(table, relation, 17))


def crowded(way: Way) -> bool:
    """The same among records of which a third lies apart, each from all others."""
    table = way.table(np.random.default_rng(1))
    for far in range(1, len(table) // 2, 3):
        apart = table.copy()
        apart[-far:] += 1e3 * np.arange(1, far + 1)[:, None]
        pairs = neighbours(apart, "add-remove", 17, ("far", "the mean"))
        if any(way.replayed(pair, "add-remove", SEED).complaints for pair in pairs):
            return True
    return False


@pytest.mark.parametrize("name", LINES)
def test_twin_is_caught(name, monkeypatch):
    *line, way = LINES[name]
    changed_line(monkeypatch, *line)
    assert crowded(WAYS[way]) if name in FAR else caught(WAYS[way], ADDED[0])


@pytest.mark.parametrize("name", EXCHANGED)
def test_twin_under_replace_one_is_caught(name, monkeypatch):
    *line, way = EXCHANGED[name]
    changed_line(monkeypatch, *line)
    assert caught(WAYS[way], BOTH[1])


@pytest.mark.parametrize("way", ["stable, diagonal", "basic"])
def test_the_right_ones_pass_where_many_lie_apart(way):
    """The partner of the twins that show there only."""
    assert not crowded(WAYS[way])


def test_groups_by_the_place_of_a_row_are_caught():
    """When a record leaves, all behind it are in another group."""

    def call(table, neighbours, **rest):
        marked = np.column_stack([np.where(np.arange(len(table)) % 2, 1.0, -1.0), table])
        return grouped(covariance=np.ones(marked.shape[1]))(marked, neighbours, **rest)

    way = Way(call, ordinary)
    table = ordinary(np.random.default_rng(1), rows=300)
    (pair,) = neighbours(table, "add-remove", 17, ("the mean",))
    assert way.replayed(pair, "add-remove", SEED).complaints
