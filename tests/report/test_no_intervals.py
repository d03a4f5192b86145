"""If the population is not modelled there are no intervals: pictures, cards, pages say so and draw nothing infinite."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pages import by_columns

import dimfree
from dimfree.noise import SeededNoise
from dimfree.report.page import report_html
from dimfree.report.summary import column_rows
from dimfree.results.confidence_sets import UNMEASURED
from dimfree.results.mean_table import MeanTable

pytest.importorskip("altair")
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "noise": SeededNoise(3)}


def test_what_is_shown_says_that_no_interval_is_given():
    release = by_columns([1.0, 20.0, 0.0625])
    release = replace(release, error_model=replace(release.error_model, records=None))
    reading = MeanTable(release, 0.95)
    assert reading.without.all()
    assert np.array_equal(reading.ends["low"], release.mean)
    assert reading.clear == 0
    assert "the population is not modelled" in release._repr_html_()
    assert json.dumps(json.loads(release.plot().to_json()), allow_nan=False)
    page = report_html(release)
    assert "No interval is given for the population mean" in page
    assert "inf of" not in page
    assert "± inf" not in page
    assert dict(column_rows(release))["intervals"].startswith("No interval is given")
    frame = release.to_frame()
    assert frame["ci_low"].isna().all()
    assert set(frame["ci_covers"]) == {"no interval"}


@pytest.mark.parametrize("column", ["normal", "indicator"])
def test_one_column_of_few_records_has_an_interval_and_says_what_it_leaves_out(column, rng):
    """Too few records lie far out to see a tail."""
    rows = rng.normal(5.0, 1.0, 600) if column == "normal" else (rng.random(600) < 0.5).astype(float)
    release = dimfree.release_mean(rows[:, None], **PROMISE)
    low, high = release.confidence_interval()
    assert (low < rows.mean() < high).all()
    assert release.error_model.unmeasured
    assert UNMEASURED in report_html(release).replace("&#39;", "'")
    assert UNMEASURED in release._repr_html_()


def test_a_sure_sign_of_the_sample_mean_follows_the_wider_intervals(rng):
    release = dimfree.release_mean(rng.normal(5.0, 1.0, (3000, 6)), **PROMISE)
    clipping = release.error_model.clipping
    assert 0 < clipping < 1
    plain = MeanTable(replace(release, error_model=replace(release.error_model, clipping=0.0)), 0.95)
    assert MeanTable(release, 0.95).threshold == pytest.approx(plain.threshold * np.hypot(1, clipping))
