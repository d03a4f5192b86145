"""The words beside a release: what parameters mean, where there is no interval, and the plan; or why there is none."""

import json
from dataclasses import replace

import numpy as np
import pytest
from pages import Page, by_columns, released
from routes import with_options

import dimfree
from dimfree.bases import NAMED
from dimfree.kernel.rows.bases import Given
from dimfree.noise import SeededNoise
from dimfree.programs.learn.coordinates import LEARNED, OWN, SPHERICAL
from dimfree.report.context import MAX_SIMULATED, Planned, describe_parameters, predict_noise
from dimfree.report.page import render_report
from dimfree.report.rendering import load_words
from dimfree.report.summary import describe_columns
from dimfree.results.confidence_sets import UNMEASURED
from dimfree.results.error_model import EstimatedDirections, EstimatedVariances
from dimfree.results.mean_table import MeanTable


def page_of(release):
    return Page(render_report(release))


def found_directions(shares, angles, **parameters):
    """A release whose noise followed so many directions."""
    found = EstimatedDirections(np.eye(8)[: len(shares)], np.array(shares), np.radians(angles), np.ones(8))
    shape = EstimatedVariances(np.ones(8), np.zeros(8), found)
    return replace(released(np.zeros(8), method="auto", **parameters), estimated_variances=shape)


def meanings(release):
    return {name: meaning for name, _, meaning in describe_parameters(release)}


def test_the_basis_is_told_by_its_value():
    chosen = (SPHERICAL, OWN, LEARNED, Given.name, *NAMED)
    told = [meanings(released([1.0], method="auto", basis=name))["basis"] for name in chosen]
    assert len(set(told)) == len(chosen) == len(load_words()["bases"])
    assert told[0] == "equal noise in all columns: no other noise covariance was predicted to reduce it"
    assert all(load_words()["parameters"]["basis"] not in text for text in told)
    assert meanings(released([1.0], basis="unheard of"))["basis"] == load_words()["parameters"]["basis"]


def test_directions_are_told_with_shares_and_angles_rounded_up():
    release = found_directions([0.32, 0.16, 0.004], [10.2, 23.0, 90.0], basis="learned", directions=3)
    told = (
        "32% of the variance, angle at most 11°; 16% of the variance, angle at most 23°; "
        "below 1% of the variance, angle at most 90°"
    )
    assert meanings(release)["directions"] == f"directions that are stronger than the noise: {told}"
    assert told in page_of(release).text


def test_many_directions_are_cut_short_and_left_out_ones_named():
    many = found_directions(np.full(8, 0.1), np.full(8, 30.0), basis="learned", directions=8)
    assert meanings(many)["directions"].count("angle") == 5
    assert meanings(many)["directions"].endswith("; and 3 more")
    fewer = found_directions([0.3], [5.0], basis="learned", directions=2)
    assert meanings(fewer)["directions"].endswith("error of the released center are left out")
    none = released([1.0], method="auto", basis="learned", directions=1)
    assert meanings(none)["directions"].endswith(
        "noise: those that are mostly error of the released center are left out"
    )
    unused = released([1.0], method="auto", basis="own axes", directions=1)
    assert meanings(unused)["directions"].endswith("; not used, because their predicted gain is too small")


pytest.importorskip("altair")
GIVEN = {"epsilon": 1.0, "delta": 1e-6, "noise": SeededNoise(3)}


def test_what_is_shown_says_that_no_interval_is_given():
    release = by_columns([1.0, 20.0, 0.0625])
    release = replace(release, error_model=replace(release.error_model, records=None))
    reading = MeanTable(release, 0.95)
    assert reading.without.all()
    assert np.array_equal(reading.ends["low"], release.mean)
    assert reading.clear == 0
    assert "the population is not modeled" in release._repr_html_()
    assert json.dumps(json.loads(release.plot().to_json()), allow_nan=False)
    page = render_report(release)
    assert "No interval is given for the population mean" in page
    assert "inf of" not in page
    assert "± inf" not in page
    assert dict(describe_columns(release))["intervals"].startswith("No interval is given")
    frame = release.to_frame()
    assert frame["ci_low"].isna().all()
    assert set(frame["ci_covers"]) == {"no interval"}


@pytest.mark.parametrize("column", ["normal", "indicator"])
def test_one_column_of_few_records_has_an_interval_and_says_what_it_leaves_out(column, rng):
    """Too few records lie far out to see a tail."""
    rows = rng.normal(5.0, 1.0, 600) if column == "normal" else (rng.random(600) < 0.5).astype(float)
    release = dimfree.release_mean(rows[:, None], **GIVEN)
    low, high = release.confidence_interval()
    assert (low < rows.mean() < high).all()
    assert release.error_model.unmeasured
    assert UNMEASURED in render_report(release).replace("&#39;", "'")
    assert UNMEASURED in release._repr_html_()


def test_a_sure_sign_of_the_sample_mean_follows_the_wider_intervals(rng):
    release = dimfree.release_mean(rng.normal(5.0, 1.0, (3000, 6)), **GIVEN)
    clipping_bias = release.error_model.clipping_bias
    assert 0 < clipping_bias < 1
    plain = MeanTable(replace(release, error_model=replace(release.error_model, clipping_bias=0.0)), 0.95)
    assert MeanTable(release, 0.95).threshold == pytest.approx(plain.threshold * np.hypot(1, clipping_bias))


STDDEVS = np.array([1.0, 0.5, 0.25])


def known(**options):
    rng = np.random.default_rng(0)
    noise = dimfree.testing.SeededNoise(1)
    table = rng.normal(size=(3000, 3)) * STDDEVS
    return dimfree.release_mean(
        table, **with_options(epsilon=1.0, delta=1e-6, covariance=STDDEVS**2, noise=noise, **options)
    )


@pytest.mark.parametrize("tails", ["heavy", "gaussian"])
def test_plan_is_that_of_the_same_public_numbers(tails):
    release = known(tails=tails)
    found = predict_noise(release, {"tails": tails, "epsilon": 3.0})
    count = round(release.parameters["count"])
    wanted = dimfree.plan(n=count, spectrum=STDDEVS, epsilon=1.0, delta=1e-6, knowledge="covariance", tails=tails)
    assert isinstance(found, Planned)
    assert found.noise == pytest.approx(wanted.prediction.noise, rel=1e-12)
    assert found.sampling == pytest.approx(wanted.prediction.sampling, rel=1e-12)
    assert found.actual == pytest.approx(np.sqrt((release.noise_stddev**2).sum()), rel=1e-12)
    assert found.count == count


def test_dense_covariance_is_planned_along_its_own_directions():
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    table = np.random.default_rng(0).normal(size=(3000, 3)) * STDDEVS @ turn.T
    options = {"epsilon": 1.0, "delta": 1e-6, "noise": dimfree.testing.SeededNoise(1)}
    release = dimfree.release_mean(table, covariance=turn * STDDEVS**2 @ turn.T, **options)
    found = predict_noise(release, {})
    wanted = dimfree.plan(n=found.count, spectrum=STDDEVS, epsilon=1.0, delta=1e-6, knowledge="covariance")
    assert found.noise == pytest.approx(wanted.prediction.noise, rel=1e-6)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (released([1.0], method="basic"), "no prediction for the method"),
        (released([1.0], method="stable"), "states neither"),
        (released([1.0], method="stable", sd=1.0, records=9.0), "states neither"),  # no released count
        (released([1.0], method="auto", sd=1.0, records=9.0, count=3.0), "is a refusal"),
        (released(np.ones(MAX_SIMULATED + 1), method="auto", sd=1.0, count=9e3), "takes too long"),
        (released([1.0], method="stable", sd=1e200, count=9e3), "outside the range of the prediction"),
    ],
)
def test_no_plan_says_why(release, said):
    assert said in predict_noise(release, {})
