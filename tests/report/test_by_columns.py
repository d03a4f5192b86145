"""The report of the per-column estimator: noise / SD, objective, columns without an estimated SD, clipping."""

import json
import re

import numpy as np
import pytest
from pages import Page, by_columns, refused, released

from dimfree import release_group_means, release_mean
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs, Gaussian, OnlyGaussian
from dimfree.report.context import write_code
from dimfree.report.page import render_report
from dimfree.report.summary import MAX_NAMED, describe_columns, gather_charges
from dimfree.results.mean_table import MeanTable
from dimfree.results.tables import format_csv
from dimfree.testing import SeededNoise

MIXED = (0.02, 1.0, 5000.0)
NAMES = ("trace", "score", "cells")


def rows_of(release):
    return dict(describe_columns(release))


def test_noise_over_sd_leads_and_uses_the_lower_bound_of_the_sd():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), columns=NAMES)
    rows = describe_columns(release)
    assert [what for what, _ in rows] == ["noise / SD", "objective", "SD not estimated", "intervals", "clipping"]
    low, most = 0.1 * np.exp(0.2), 0.2 * np.exp(0.2)
    assert rows[0][1] == f"at most {low:.2g} in half of the columns, {most:.2g} in the worst (cells)"
    assert rows[1][1].startswith("relative: the error of every column")
    assert rows[2][1] == "no column"
    assert rows_of(by_columns(MIXED, objective="total"))["objective"].startswith("total: the error over all columns")
    assert describe_columns(released([1.0])) == describe_columns(refused("Too few.")) == []
    assert "a typical record lies at 2." in rows_of(by_columns((1.0, 1.0, 1.0, 1.0)))["clipping"]


def test_unresolved_columns_are_named_and_left_out_of_the_figures():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), columns=NAMES, unresolved=[2])
    rows = rows_of(release)
    assert rows["SD not estimated"].startswith("cells: no estimate")
    assert rows["noise / SD"].endswith("0.12 in the worst (score)")
    assert "of the 2 columns with an estimated SD" in rows["noise / SD"]
    every = rows_of(by_columns(MIXED, unresolved=[0, 1, 2]))
    assert every["noise / SD"] == "unknown, because no SD could be estimated"
    many = rows_of(by_columns(np.geomspace(1e-4, 1e4, 300), unresolved=range(100)))
    assert many["SD not estimated"].count("column ") == MAX_NAMED
    assert f"and {100 - MAX_NAMED} more (release.resolved)" in many["SD not estimated"]


def test_page_leads_with_noise_over_sd_and_shows_the_clipping_of_every_column():
    page = Page(render_report(by_columns(MIXED, columns=NAMES)))
    assert page.text.index("noise / SD ≤ 0.061") < page.text.index("budget ε")
    assert "Noise / SD: at most 0.061 in half of the columns, 0.061 in the worst" in page.text
    assert "not clipped within" in page.text
    assert "score ≤ 0.061 precise 3.000 ± 0.132 −3.0 to 9.0" in page.text
    assert "|mean| / noise" not in page.text.split("Noise relative to the SD")[1].split("Signs")[0]


def test_mixed_units_are_drawn_in_spreads_and_no_distance_over_all_is_stated():
    mixed, alike = by_columns(MIXED, columns=NAMES), by_columns((1.0, 2.0, 3.0), columns=NAMES)
    assert MeanTable(mixed, 0.95).mixed
    few = by_columns((1.0, 1e3, 1.0, 1.0, 1.0), unresolved=[0, 2, 3])  # known columns
    assert not any(MeanTable(each).mixed for each in (alike, few, released([1.0, 1e9])))
    page = Page(render_report(mixed))
    assert "there is no distance over all columns" in page.text
    assert "difference from the mean, in SDs of the column" in page.text
    assert (
        "15 000"
        in page.text.replace("\u202f", " ").split("Released means")[1].split("have different units, so each")[0]
    )
    assert "(Euclidean distance" in Page(render_report(alike)).text


def test_bars_in_spreads_are_those_of_the_release_over_the_low_end_of_the_spread():
    release = by_columns(MIXED, over=np.array([0.05, 0.1, 0.2]), unresolved=[1])
    drawn = MeanTable(release, 0.95).scale_ends()
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
    assert reading.rank_places()[:2].tolist() == [200, 77]
    assert {77, 200} <= set(reading.choose_places(20).tolist())
    text = render_report(release)
    assert len(text) < 400_000
    assert "60 of 300 columns: those with the largest noise / SD." in Page(text).text


def test_a_real_release_says_all_of_it():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(60, 12, 800), rng.lognormal(1, 1, 800), rng.normal(2e5, 5e4, 800), np.zeros(800)])
    release = release_mean(X, epsilon=4.0, delta=1e-6, objective="relative", noise=SeededNoise(1))
    rows = rows_of(release)
    assert rows["SD not estimated"].startswith("column 3: no estimate")
    assert re.match(r"at most 0\.\d+ in half of the 3 columns", rows["noise / SD"])
    page = Page(render_report(release))
    assert "so no refusal depends on the values of the records" in page.text
    assert "what is minimized" in page.text
    for purpose in ("magnitudes of the columns", "distances of the records from the center"):
        assert purpose in page.text


def test_a_refusal_and_charges_have_words_of_their_own():
    events = (Gaussian("locations of the columns", 1e7, 1e8, 3, 1.0), Gaussian("mean", 1e7, 1e8, 3, 1.0))
    costs = Costs(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, (), (OnlyGaussian(0.2),), chosen=0, after=events)
    assert [what for what, *_ in gather_charges(costs)] == [
        "all charges below, together",
        "location of each column",
        "mean of all records after clipping",
    ]
    page = Page(render_report(refused("Too few records for objective='relative'.", method="columns")))
    assert "--objective total" in page.text
    assert "square root of their number" in page.text


@pytest.mark.parametrize("count", [4, 600])
def test_a_page_of_groups_that_learn_for_themselves_says_so(rng, count):
    """Also where no group was named: nobody gave a covariance, and the call that is shown can be made."""
    given = {"epsilon": 1.0, "delta": 1e-6, "missing": "available-case", "noise": SeededNoise(1)}
    means = release_group_means(rng.normal(size=(count, 2)), by=["a"] * count, groups="private", **given)
    page = render_report(means)
    assert len(means) == (count > 100)
    assert "estimated<small>in each group</small>" in page
    assert "covariance=" not in write_code(means)
    assert 'missing="available-case"' in write_code(means)
    if means:  # a length over ages and incomes would be the length of the incomes alone
        X = rng.normal(size=(600, 2)) * [1.0, 1e4]
        more = {"epsilon": 1.0, "delta": 1e-6, "objective": "relative", "noise": SeededNoise(1)}
        mixed = release_group_means(X, by=["a"] * 600, groups=["a"], **more)
        table = Page(render_report(mixed)).text.partition("A column is")[0]
        assert "noise / SD" in table
        assert "drawn to scale" not in table


def test_columns_that_look_like_one_value_are_named_and_have_no_interval():
    release = by_columns([1.0, 2.0, 3.0], columns=("age", "site", "bmi"), without_interval=(1,))
    assert rows_of(release)["no interval"].startswith("site: no interval: records may lie beyond")
    assert "one value" not in rows_of(by_columns([1.0, 2.0]))
    text = render_report(release)
    assert text.count("no interval: records may lie beyond") >= 2  # in the summary and in the row of the column
    assert "inf" not in re.findall(r"[a-z]+", " ".join(Page(text).words))
    assert "no interval: records may lie beyond" in release._repr_html_()
    assert release._repr_html_().count("± ") == 2


@pytest.mark.parametrize("sd", [[1.0] * 3, [1.0, 1e4, 1e8], [2.0], [1.0] * 40])
def test_no_bar_is_drawn_where_there_is_no_interval(sd):
    release = by_columns(sd, without_interval=tuple(range(0, len(sd), 2)))
    for kind in ("mean", "noise") if len(sd) > 1 else ("mean",):
        json.dumps(release.plot(kind).to_dict(), allow_nan=False)
    frame = release.to_frame()
    assert frame["ci_low"].isna().tolist() == frame["ci_high"].isna().tolist() == release.without_interval.tolist()
    cells = [line.split(",") for line in format_csv(release).splitlines()[1:]]
    assert [cell[3] == cell[4] == "" for cell in cells] == release.without_interval.tolist()
