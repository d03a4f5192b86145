"""Where no tail was seen there are no error bars: pictures, cards and pages say so, and draw nothing infinite."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dimfree
from dimfree.noise import SeededNoise
from dimfree.report.by_columns import column_rows
from dimfree.report.page import report_html
from dimfree.results.reading import Reading

pytest.importorskip("altair")
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "noise": SeededNoise(3)}


def without_bars(rng):
    """One column of few records; and one beside a constant, in which the bars were taken away."""
    table = np.column_stack([rng.normal(5.0, 1.0, 600), np.full(600, 5.0)])
    both = dimfree.release_mean(table, objective="total", **PROMISE)
    yield dimfree.release_mean(table[:, :1], **PROMISE)
    yield replace(both, _error_model=replace(both.error_model, clipping=np.inf))


def test_what_is_shown_says_that_no_bars_are_claimed(rng):
    for release in without_bars(rng):
        reading = Reading.of(release, 0.95)
        assert reading.without.all()
        assert np.array_equal(reading.low, release.unbiased_mean)
        assert np.isinf(reading.threshold)
        assert "too few records lie far out" in release._repr_html_()
        drawn = release.plot().to_json()
        assert json.dumps(json.loads(drawn), allow_nan=False)
        page = report_html(release)
        assert "No error bars are claimed" in page
        assert "inf of" not in page
        assert "± inf" not in page
        assert dict(column_rows(release))["error bars"].startswith("No error bars")


def test_a_sure_sign_follows_the_wider_intervals(rng):
    release = dimfree.release_mean(rng.normal(5.0, 1.0, (3000, 6)), **PROMISE)
    clipping = release.error_model.clipping
    assert 0 < clipping < 1
    plain = Reading.of(replace(release, _error_model=replace(release.error_model, clipping=0.0)), 0.95)
    assert Reading.of(release, 0.95).threshold == pytest.approx(plain.threshold * np.hypot(1, clipping))
