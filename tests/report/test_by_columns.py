"""A release that read every column by itself is told by noise / spread, objective, unresolved columns and reach."""

import json
import re

import numpy as np
import pytest
from pages import Page, by_columns, refused, released

from dimfree import SeededNoise, release_mean, release_means
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs, Gaussian, OnlyGaussian
from dimfree.report.context import code_of
from dimfree.report.page import report_html
from dimfree.report.summary import MOST_NAMED, column_rows, gathered
from dimfree.results.mean_table import MeanTable
from dimfree.results.tables import mean_csv

MIXED = (0.02, 1.0, 5000.0)
NAMES = ("trace", "score", "cells")


def rows_of(release):
    return dict(column_rows(release))


def test_noise_over_spread_leads_and_is_at_the_unfavourable_end():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), columns=NAMES)
    rows = column_rows(release)
    assert [what for what, _ in rows] == ["noise / spread", "objective", "unresolved", "intervals", "reach"]
    low, most = 0.1 * np.exp(0.2), 0.2 * np.exp(0.2)
    assert rows[0][1] == f"at most {low:.2g} of the spread in half of the columns, {most:.2g} in the worst (cells)"
    assert rows[1][1].startswith("relative: every column")
    assert rows[2][1] == "no column"
    assert rows_of(by_columns(MIXED, objective="total"))["objective"].startswith("total: the error over all columns")
    assert column_rows(released([1.0])) == column_rows(refused("Too few.")) == []
    assert "a usual record lies at about 2" in rows_of(by_columns((1.0, 1.0, 1.0, 1.0)))["reach"]


def test_unresolved_columns_are_named_and_left_out_of_the_figures():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), columns=NAMES, unresolved=[2])
    rows = rows_of(release)
    assert rows["unresolved"].startswith("cells: spread not learned, or only zeros seen")
    assert rows["noise / spread"].endswith("0.12 in the worst (score)")
    assert "of the 2 columns whose spread was learned" in rows["noise / spread"]
    every = rows_of(by_columns(MIXED, unresolved=[0, 1, 2]))
    assert every["noise / spread"] == "not known: no column's spread was learned"
    many = rows_of(by_columns(np.geomspace(1e-4, 1e4, 300), unresolved=range(100)))
    assert many["unresolved"].count("column ") == MOST_NAMED
    assert f"and {100 - MOST_NAMED} more (release.resolved)" in many["unresolved"]


def test_page_leads_with_noise_over_spread_and_shows_the_reach_of_every_column():
    page = Page(report_html(by_columns(MIXED, columns=NAMES)))
    assert page.text.index("noise / spread ≤ 0.061") < page.text.index("privacy loss")
    assert "Noise: at most 0.061 of the spread in half of the columns, 0.061 in the worst" in page.text
    assert "counts in full within" in page.text
    assert "score ≤ 0.061 precise 3.000 ± 0.132 −3.0 to 9.0" in page.text
    assert "|mean| / noise" not in page.text.split("Noise against spread")[1].split("Signs")[0]


def test_mixed_units_are_drawn_in_spreads_and_no_distance_over_all_is_stated():
    mixed, alike = by_columns(MIXED, columns=NAMES), by_columns((1.0, 2.0, 3.0), columns=NAMES)
    assert MeanTable(mixed, 0.95).mixed
    few = by_columns((1.0, 1e3, 1.0, 1.0, 1.0), unresolved=[0, 2, 3])  # known columns
    assert not any(MeanTable(each).mixed for each in (alike, few, released([1.0, 1e9])))
    page = Page(report_html(mixed))
    assert "no distance over all of them is stated" in page.text
    assert "off the mean, in spreads of the column" in page.text
    assert "15 000" in page.text.replace("\u202f", " ").split("The released mean")[1].split("Columns differ in")[0]
    assert "in Euclidean distance" in Page(report_html(alike)).text


def test_bars_in_spreads_are_those_of_the_release_over_the_low_end_of_the_spread():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), unresolved=[1])
    drawn = MeanTable(release, 0.95).ends_in_spreads()
    low, high = release.confidence_interval(0.95)
    half = (high - low) / 2 / (np.array(MIXED) * np.exp(-0.2))
    np.testing.assert_allclose(drawn["high"], np.where([True, False, True], half, 0.0))
    np.testing.assert_allclose(drawn["low"], -drawn["high"])
    np.testing.assert_allclose(drawn["mean"], 0.0, atol=1e-9)


def test_the_noisiest_columns_come_first_where_not_all_are_shown():
    over = np.full(300, 0.05)
    over[77] = 0.5
    release = by_columns(np.geomspace(1e-4, 1e4, 300), over=over, unresolved=[200])
    reading = MeanTable(release, 0.95)
    assert reading.foremost()[:2].tolist() == [200, 77]
    assert {77, 200} <= set(reading.drawn_places(20).tolist())
    text = report_html(release)
    assert len(text) < 400_000
    assert "60 of 300 coordinates: the noisiest beside their spread." in Page(text).text


def test_a_real_release_says_all_of_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(60, 12, 800), rng.lognormal(1, 1, 800), rng.normal(2e5, 5e4, 800), np.zeros(800)])
    release = release_mean(X, epsilon=4.0, delta=1e-6, objective="relative", noise=SeededNoise(1))
    rows = rows_of(release)
    assert rows["unresolved"].startswith("column 3: spread not learned")
    assert re.match(r"at most 0\.\d+ of the spread in half of the 3 columns", rows["noise / spread"])
    page = Page(report_html(release))
    assert "no refusal that depends on their values" in page.text
    assert "what is kept small" in page.text
    for purpose in ("magnitudes of the columns", "distances of the records from the centre"):
        assert purpose in page.text


def test_a_refusal_and_charges_have_words_of_their_own():
    events = (Gaussian("places of the columns", 1e7, 1e8, 3, 1.0), Gaussian("mean", 1e7, 1e8, 3, 1.0))
    costs = Costs(Budget(1.0, 1e-6), Neighbours.ADD_REMOVE, (), (OnlyGaussian(0.2),), chosen=0, after=events)
    assert [what for what, *_ in gathered(costs)] == [
        "everything below, together",
        "where the records lie in each column",
        "mean of all records, within reach",
    ]
    page = Page(report_html(refused("Too few records for objective='relative'.", method="columns")))
    assert "--objective total" in page.text
    assert "square root of their number" in page.text


@pytest.mark.parametrize("count", [4, 600])
def test_a_page_of_groups_that_learn_for_themselves_says_so(rng, count):
    """Also where no group was named: nobody gave a spread, and the call that is shown can be made."""
    given = {"epsilon": 1.0, "delta": 1e-6, "on_missing": "column", "noise": SeededNoise(1)}
    means = release_means(rng.normal(size=(count, 2)), groups=["a"] * count, keys="private", **given)
    page = report_html(means)
    assert len(means) == (count > 100)
    assert "learned<small>by each group</small>" in page
    assert "covariance=" not in code_of(means)
    assert 'on_missing="column"' in code_of(means)
    if means:  # a length over ages and incomes would be the length of the incomes alone
        X = rng.normal(size=(600, 2)) * [1.0, 1e4]
        more = {"epsilon": 1.0, "delta": 1e-6, "objective": "relative", "noise": SeededNoise(1)}
        mixed = release_means(X, groups=["a"] * 600, keys=["a"], **more)
        table = Page(report_html(mixed)).text.partition("A coordinate is")[0]
        assert "noise / spread" in table
        assert "drawn to scale" not in table


def test_columns_that_look_like_one_value_are_named_and_have_no_interval():
    release = by_columns([1.0, 2.0, 3.0], columns=("age", "site", "bmi"), one_value=(1,))
    assert rows_of(release)["no interval"].startswith("site: no interval: records may lie farther out")
    assert "one value" not in rows_of(by_columns([1.0, 2.0]))
    text = report_html(release)
    assert text.count("no interval: records may lie farther out") >= 2  # in the summary and in the row of the column
    assert "inf" not in re.findall(r"[a-z]+", " ".join(Page(text).words))
    assert "no interval: records may lie farther out" in release._repr_html_()
    assert release._repr_html_().count("± ") == 2


@pytest.mark.parametrize("spread", [[1.0] * 3, [1.0, 1e4, 1e8], [2.0], [1.0] * 40])
def test_no_bar_is_drawn_where_there_is_no_interval(spread):
    release = by_columns(spread, one_value=tuple(range(0, len(spread), 2)))
    for kind in ("mean", "noise") if len(spread) > 1 else ("mean",):
        json.dumps(release.plot(kind).to_dict(), allow_nan=False)
    frame = release.to_frame()
    assert frame["ci_low"].isna().tolist() == frame["ci_high"].isna().tolist() == release.one_value.tolist()
    cells = [line.split(",") for line in mean_csv(release).splitlines()[1:]]
    assert [cell[3] == cell[4] == "" for cell in cells] == release.one_value.tolist()
