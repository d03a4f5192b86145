"""Mechanisms broken in place: one line of the real code is changed, and everybody who imported it runs the change."""

import inspect
import textwrap

from dimfree.accounting import events
from dimfree.core import soft
from dimfree.mechanisms import (
    bit,
    count,
    directions,
    gaussian,
    group_keys,
    length_histogram,
    missing,
    outer_sum,
    ring_lengths,
    ring_scores,
    search,
    soft_histogram,
)
from dimfree.mechanisms.paper import laplace_count, sparse_vector, stable_histogram

_CLIPPED = "clipped_total(directions, EVEN, _squared)"
_WHOLE = "np.rint(_squared(directions, slice(None), EVEN / BALL)).sum(axis=0).astype(np.int64)"
_SORTED = "sorted(np.flatnonzero(counts).tolist(), key=lambda place: public_order(keys[place]))"
_SPENT = "            lifted = bar + int(noise.laplace(scale, 1)[0])  # redrawn after a positive answer\n"
_GAPS_CLIPPED = "clipped_total(rows, norm, _ones_where_missing)"
_GAPS_WHOLE = (
    "np.rint(_ones_where_missing(getattr(rows, 'toarray', lambda: rows)(), slice(None), norm / BALL))"
    ".sum(axis=0).astype(np.int64)"
)

LINES = {  # name -> function, a line of it, what is written there instead
    "a threshold is not redrawn": (sparse_vector._first_above, _SPENT, ""),
    "half the noise on the counts": (sparse_vector._first_above, "laplace(2 * scale,", "laplace(scale,"),
    "stretches for half the price": (sparse_vector.sparse_scale, "return 2 * most", "return most"),
    "half the noise of a mean": (gaussian.noisy_mean, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "half the sensitivity of a mean": (gaussian.mean_event, "charged_gaussian(steps,", "charged_gaussian(steps / 2,"),
    "half a record": (events.counted_records, 'records", COUNT_STEPS,', 'records", COUNT_STEPS / 2,'),
    "half the noise of a bisection": (search.noisy_search, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "half the noise of a search": (search.noisy_crossing, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "counts priced apart": (
        search.noisy_crossing,
        "sensitivity * STEPS * math.sqrt(asked), mu",
        "sensitivity * STEPS, mu",
    ),
    "half the noise of the ring's scores": (
        ring_scores.noisy_ring_scores,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
    ),
    "two of √5": (ring_scores.noisy_ring_scores, "BALL * RING_MOVES[relation]", "BALL * 2.0"),
    "an exchange of pairs for a removal": (
        ring_lengths.pair_count_sensitivity,
        "Fraction(2)",
        "max(1 + share, 2 - share)",
    ),
    "a removal changes one pair": (ring_lengths.pair_count_sensitivity, "max(1 + share, 2 - share)", "Fraction(1)"),
    "half the epsilon": (laplace_count.laplace_count, 'records", epsilon)', 'records", epsilon / 2)'),
    "a cheap lone item": (
        stable_histogram.publishing_threshold,
        "math.log(delta)",
        "math.log(10 * delta)",
    ),
    "a threshold lower by one person": (group_keys.published_keys, "count >= least", "count >= least - 2**bits"),
    "a key is published if seen": (group_keys.published_keys, "if count >= least", "if count is not None"),
    "keys in the order of appearance": (group_keys.published_keys, _SORTED, "np.flatnonzero(counts).tolist()"),
    "an exchange of keys for an arrival": (group_keys.published_keys, "moved_counts(1, relation)", "1"),
    "squares are not clipped": (directions._sums_of, _CLIPPED, _WHOLE),
    "directions are too long": (directions.unit_steps, "LENGTH * _SHORTER", "1.01 * LENGTH * _SHORTER"),
    "a weight without an end": (directions._weights, "where=lengths > 0), 1.0)", "where=lengths > 0), 9.0)"),
    "half the noise of a number": (directions.noisy_number, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "an exchange for an arrival": (outer_sum.noisy_togetherness, "MOVES[relation]", "1.0"),
    "half the noise of a soft histogram": (
        soft_histogram.noisy_histograms,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
    ),
    "√k for √(2k)": (soft_histogram.noisy_histograms, "len(which) * CHANGED_RECORDS[relation]", "len(which)"),
    "soft cells of norm √2": (soft_histogram._weighed, "(_HERE, _NEXT)", "(_HERE, _HERE)"),
    "half the noise of the missing entries": (
        missing.noisy_missing_counts,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
    ),
    "an exchange of missing entries for an arrival": (missing.noisy_missing_counts, "MOVES[relation]", "1.0"),
    "missing entries are not clipped": (missing._clipped_missing, _GAPS_CLIPPED, _GAPS_WHOLE),
    "one entry for all": (missing.noisy_missing, "charged_gaussian(d * 2**bits", "charged_gaussian(2**bits"),
    "half the noise of the lengths": (
        length_histogram.noisy_length_counts,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
    ),
    "an exchange of lengths for an arrival": (
        length_histogram.noisy_length_counts,
        "CHANGED_RECORDS[relation]",
        "1",
    ),
    "a record is in all cells up to its length": (
        length_histogram._counts_of,
        'np.bincount(np.searchsorted(edges, lengths, side="left"), minlength=len(edges) + 1)',
        "np.append((lengths[:, None] > edges).sum(axis=0), len(lengths))",
    ),
    "half the noise of the valid records": (
        count.noisy_valid_count,
        "gaussian(event.stddev,",
        "gaussian(event.stddev / 2,",
    ),
    "one rung too high": (bit.passes, "numerator(statistic)", "numerator(statistic + 1)"),
}


def broken(monkeypatch, name):
    """Break one thing by its name."""
    if name == "half the total":
        return monkeypatch.setattr(soft, "TOTAL_SENSITIVITY", soft.TOTAL_SENSITIVITY / 2)
    return changed_line(monkeypatch, *LINES[name])


def changed_line(monkeypatch, function, right, wrong):
    """The function with one line of it written otherwise, for everybody who imported it."""
    function = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) == 1
    scope = dict(function.__globals__)
    exec(source.replace(right, wrong), scope)
    return monkeypatch.setattr(function, "__code__", inspect.unwrap(scope[function.__name__]).__code__)
