"""Pictures and cards for notebooks: every name escaped or cleaned, few marks for many columns, clear errors."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from pages import HOSTILE, common

from dimfree.accounting.budget import Budget, explain_large_delta
from dimfree.errors import InvalidParameterError, RefusedReleaseError
from dimfree.results.error_model import ErrorModel
from dimfree.results.grouped import GroupMeans
from dimfree.results.mean_table import describe_large_delta
from dimfree.results.plot import MAX_DRAWN
from dimfree.results.release import Release
from dimfree.results.tables import MAX_ROWS, encode_picture


def a_release(d=4, columns=None, sd=1.0, refused=False, **more):
    fixed = common(d, columns, **more)
    if refused:
        return Release.from_refusal("Too few <rows>.", **fixed)
    known = {} if sd is None else {"record_stddev": sd * np.arange(1.0, d + 1), "records": 400.0}
    model, mean = ErrorModel(**known), np.linspace(-1.0, 1.0, d)
    return Release.released(mean=mean, noise_stddev=np.full(d, 0.15), error_model=model, **fixed)


def values_of(chart) -> list[dict]:
    """Every row of data in a chart."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


@pytest.mark.parametrize("kind", ["mean", "noise"])
@pytest.mark.parametrize("d", [1, 4, 31, 5000])
def test_any_number_of_columns_has_a_picture(kind, d):
    chart = a_release(d).plot(kind)
    assert max(map(len, chart.to_dict()["datasets"].values())) == max(min(d, MAX_DRAWN), 2 * (kind == "noise"))
    told = {row["name"] for row in values_of(chart) if "name" in row}
    assert len(told) == min(d, MAX_DRAWN)
    assert (f"{MAX_DRAWN} of {d} columns" in json.dumps(chart.to_dict()["title"])) == (d > MAX_DRAWN)


def test_the_intervals_are_those_of_the_release():
    release = a_release()
    low, high = release.confidence_interval(0.8)
    rows = [row for row in values_of(release.plot(level=0.8)) if "low" in row][:4]
    assert [row["low"] for row in rows] == low.tolist()
    assert [row["high"] for row in rows] == high.tolist()
    assert [row["mean"] for row in rows] == release.mean.tolist()
    rows = [row for row in values_of(release.plot(level=0.8, target="sample")) if "low" in row][:4]
    assert [row["low"] for row in rows] == release.confidence_interval(0.8, target="sample")[0].tolist()
    assert "sample mean" in release.plot(target="sample").to_dict()["title"]["text"]
    rows = [row for row in values_of(a_release(sd=2.0).plot("noise")) if "verdict" in row]
    assert [(row["SD"], row["noise"]) for row in rows] == [(2.0 * k, 0.15) for k in (1, 2, 3, 4)]
    assert {row["verdict"] for row in rows} == {"precise"}


def test_what_cannot_be_drawn_is_said(monkeypatch):
    with pytest.raises(InvalidParameterError, match="`kind` must be 'mean'"):
        a_release(sd=None).plot("noise")
    with pytest.raises(InvalidParameterError, match="kind"):
        a_release().plot("pie")
    with pytest.raises(RefusedReleaseError):
        a_release(refused=True).plot()

    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "dimfree.results.plot")
    with pytest.raises(InvalidParameterError, match=r"pip install 'altair>="):
        a_release().plot()


def test_altair_is_imported_by_a_plot_alone():
    code = "import sys, dimfree.results.grouped, dimfree.report.page; assert 'altair' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------------------------ groups


def test_groups_have_a_panel_for_each_column_and_a_row_each():
    one = a_release(3, ("age", "income", "score"))
    means = GroupMeans(one.guarantee, {"north": one, "east": one, "south": a_release(3, refused=True)})
    drawn = means.plot(level=0.9).to_dict()
    assert [panel["title"] for panel in drawn["concat"]] == ["age", "income", "score"]
    assert "90% confidence intervals of the population mean" in drawn["title"]["text"]
    assert drawn["title"]["subtitle"] == "2 of 3 groups"
    rows = drawn["datasets"][drawn["concat"][1]["layer"][0]["data"]["name"]]
    assert [row["group"] for row in rows] == ["north", "east"]
    low, high = one.confidence_interval(0.9)
    assert [(row["mean"], row["low"], row["high"]) for row in rows] == [(one.mean[1], low[1], high[1])] * 2


def test_many_groups_and_columns_are_cut_and_no_mean_is_no_picture():
    one, no = a_release(50), a_release(refused=True)
    drawn = GroupMeans(one.guarantee, {f"g{k:02d}": one for k in range(40)}).plot().to_dict()
    assert drawn["title"]["subtitle"] == "30 of 40 groups, 12 of 50 columns"
    assert len(drawn["concat"]) == 12
    long = GroupMeans(one.guarantee, {"a" * 30 + end: one for end in "xyz"}).plot().to_dict()
    (rows, *_) = long["datasets"].values()
    assert len({row["group"] for row in rows}) == 3
    with pytest.raises(RefusedReleaseError, match="All groups were refused"):
        GroupMeans(no.guarantee, {"north": no}).plot()


# ------------------------------------------------------------------------------------------------ cards


def test_the_card_has_a_verdict_for_each_column():
    shown = a_release(4, ("a", "b", "c", "d"), sd=0.1)._repr_html_()
    assert "epsilon = 1.0, delta = 1e-06" in shown
    assert [shown.count(f"<td style='text-align:left'>{word}</td>") for word in ("lost in noise", "rough")] == [1, 3]


def test_names_on_the_card_are_escaped():
    shown = a_release(len(HOSTILE), HOSTILE)._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "\u202e" not in shown
    shown.encode("utf-8")
    picture = encode_picture(a_release(4, ("<script>alert(1)</script>", "a\ud800b", "\u202eevil", "")).plot(), ".svg")
    assert b"<script>" not in picture
    refused = a_release(refused=True)
    assert "Refused" in refused._repr_html_()
    assert "Too few &lt;rows&gt;." in refused._repr_html_()
    groups = GroupMeans(refused.guarantee, {"<b>north": a_release(), "south": refused})._repr_html_()
    assert "&lt;b&gt;north" in groups
    assert "1 of 2 groups released" in groups
    wide = a_release(5000)._repr_html_()
    assert f"{MAX_ROWS} of 5000 columns" in wide
    assert len(wide) < 10_000


# ------------------------------------------------------------------------------------------------ a large delta


@pytest.mark.parametrize(("delta", "records", "warned"), [(1e-6, 1e4, False), (1e-5, 1e4, True), (1e-3, 50, False)])
def test_delta_is_compared_with_one_over_the_released_count(delta, records, warned):
    assert (explain_large_delta(delta, records) is not None) == warned
    release = a_release()
    stated = replace(release.guarantee, delta=delta)
    costs = replace(release.charges, budget=Budget(1.0, delta), branches=())
    release = replace(release, guarantee=stated, charges=costs)
    assert describe_large_delta(release) is None, "no count was released"
    assert (describe_large_delta(replace(release, parameters={"count": records})) is not None) == warned
    assert describe_large_delta(replace(release, parameters={"count": -3.0})) is None
