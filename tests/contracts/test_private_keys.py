"""release_means(keys="private"): which groups exist is released, charged, and tells of nobody who stands alone."""

import json
import logging
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from recording import RecordingNoise
from routes import with_options

from dimfree.accounting.events import Unlisted
from dimfree.accounting.several_runs import Runs, runs_of
from dimfree.data.people.labels import split_groups
from dimfree.errors import InvalidFile, InvalidParameter, InvalidRecords, OutOfMemory, RefusedRelease
from dimfree.ledger.ledger import Ledger
from dimfree.noise import SeededNoise
from dimfree.release_groups import release_means
from dimfree.report.page import registry_json, report_html
from dimfree.results.composed import compose
from dimfree.results.grouped import Means
from dimfree.shapes import Isotropic

SIZES = {"north": 701, "south": 911, "secret-161803": 3, "secret-271828": 1, None: 53}
PROMISE = {"epsilon": 4.0, "delta": 1e-4, "failure_probability": 1e-6}


@pytest.fixture
def frame(rng):
    regions = [region for region, size in SIZES.items() for _ in range(size)]
    values = rng.normal(size=(len(regions), 2))
    found = pd.DataFrame({"age": values[:, 0], "region": pd.Series(regions, dtype=object), "income": values[:, 1]})
    return found.sample(frac=1, random_state=1).reset_index(drop=True)


def release(X, groups="region", **changes):
    given = {**PROMISE, "noise": SeededNoise(5), **changes}
    return release_means(X, **with_options(groups=groups, keys="private", **given))


WAYS = {"relative": {}, "known": {"shape": Isotropic(1.0)}, "learned": {"objective": "total"}}


@pytest.fixture(params=["relative", *(pytest.param(name, marks=pytest.mark.slow) for name in ("known", "learned"))])
def way(request):
    return WAYS[request.param]


def test_large_groups_are_named_in_the_order_of_their_names(frame, way):
    means = release(frame, **way)
    assert list(means) == list(release(frame[::-1], **way)) == ["north", "south"]
    assert means.refused == ()
    assert 2 < means.least_people < 60
    text = means.to_json() + str(vars(means)) + repr(means) + means.statement() + means._repr_html_()
    assert "secret" not in text
    assert "How many groups are not named is not told." in means.statement()


def test_every_release_is_charged_the_search_and_no_more_than_promised(frame, way):
    means = release(frame, **way)
    for each in means.values():
        assert isinstance(each.ledger, Runs)
        (branch,) = each.ledger.runs[0].menu
        assert isinstance(branch, Unlisted)
        assert each.ledger.runs[0] == means.key_costs.runs[0]
        assert [event.purpose for event in each.ledger.runs[0].after] == ["which groups exist"]
        assert each.ledger.delta() <= means.guarantee.delta
    assert means.key_costs.delta() <= means.guarantee.delta
    for run, begun in zip(runs_of(means.ledger), means.key_costs.runs, strict=True):
        assert (run.budget, run.before, run.menu) == (begun.budget, begun.before, begun.menu)


def test_nothing_is_named_and_all_is_charged(frame, way):
    few = frame[frame["region"].isin(["secret-161803", "secret-271828"])]
    none, some = release(few, **way), release(frame, **way)
    assert (len(none), none.refused, list(none)) == (0, (), [])
    assert none.key_costs == some.key_costs
    assert none.ledger == none.key_costs
    assert none.overall is None
    assert Means.from_json(none.to_json()).to_json() == none.to_json()
    assert none.statement().startswith("No group had enough people to be named: ")
    assert compose([none]).epsilon(1e-4) == compose([some]).epsilon(1e-4) <= 4.0
    assert compose([none]).added == compose([some]).added == pytest.approx((4.0, 1e-4))  # one promise
    assert "No group" in none._repr_html_()
    assert "No group" in report_html(none)
    assert "No group had enough" in registry_json(none, written=date(2026, 1, 1))
    with pytest.raises(RefusedRelease):
        none.to_frame()


def test_a_ledger_is_charged_before_and_the_same_whatever_is_found(frame, tmp_path):
    rows = []
    for place, table in enumerate((frame, frame[:5])):
        with Ledger(tmp_path / f"{place}.db", "study", epsilon=9.0, delta=1e-3) as ledger:
            release(table, ledger=ledger, noise=None)
            rows.append(ledger.account())
    assert rows[0] == rows[1]


def test_a_person_is_in_the_group_of_the_first_row_that_has_a_key(rng):
    """Named or not: a person whose first key is not named is in no group."""
    people = np.repeat(np.arange(600), 2)
    keys = np.tile(np.array(["a", "b"], dtype=object), 600)
    keys[:2], keys[2] = ["alone", "a"], None
    X = rng.normal(size=(1200, 2))
    _, labels, forms = split_groups(X, keys, None)
    assert set(forms) == {"a", "b", "alone"}
    assert labels[2] == -1
    means = release(X, groups=keys, unit=people, objective="relative")
    assert list(means) == ["a"]  # b: the first key of one person alone
    assert means.guarantee.unit == "person"


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ([3, 3.0, "3", " 3 "], [3]),
        ([10, 9, -1], [-1, 9, 10]),
        (["b", "a", "Z"], ["Z", "a", "b"]),
        (["x", 10, 9], ["9", "10", "x"]),
        (["007", "7", "12E7"], ["7", "007", "12E7"]),
        ([None, "", "NA", float("nan"), 0.5, ("a", 1), b"\xff", "\ud800", "y"], ["y"]),
        ([date(2020, 1, 31), "2020-01-31", pd.Timestamp("2020-01-31")], ["2020-01-31"]),
        ([123456789012345678], ["123456789012345678"]),
    ],
)
def test_names_are_forms_of_keys_in_their_own_order(rng, entries, names):
    keys = entries * 100
    odd = {"on_missing": "drop", "objective": "relative", "noise": RecordingNoise()}
    assert list(release(rng.normal(size=(len(keys), 2)), groups=keys, **odd)) == names


def test_nothing_but_names_is_logged_or_told(frame, caplog, capsys):
    steps = []
    with caplog.at_level(logging.DEBUG):
        release(frame, tell=lambda *step: steps.append(step))
    out = capsys.readouterr()
    assert "secret" not in caplog.text + out.out + out.err + str(steps)
    assert steps == [("group 1", 0, 2), ("group 2", 1, 2)]


def test_an_invalid_row_of_any_key_is_refused_before_noise_is_drawn(frame):
    frame.loc[frame["region"] == "secret-271828", "age"] = np.nan
    noise = RecordingNoise()
    with pytest.raises(InvalidRecords) as found:
        release(frame, noise=noise, on_missing="raise")
    assert noise.asked == []
    assert "secret" not in str(found.value)
    assert list(release(frame, on_missing="drop")) == ["north", "south"]


@pytest.mark.parametrize("keys", ["private", ["north", "south"]])
@pytest.mark.parametrize("unit_rows", [None, 2])
def test_a_person_whose_total_is_no_float_is_refused_before_the_ledger_is_charged(frame, tmp_path, keys, unit_rows):
    frame["who"] = np.arange(len(frame)) // 2
    frame["region"] = np.where(frame["who"] % 2, "north", "south")
    frame.loc[:1, "age"] = 1.7e308
    given = {"groups": "region", "keys": keys, "unit": "who", "unit_rows": unit_rows, "epsilon": 4.0, "delta": 1e-4}
    with Ledger(tmp_path / "one.db", "study", epsilon=9.0, delta=1e-3, unit="who") as ledger:
        with pytest.raises(InvalidRecords, match="finite"):
            release_means(frame, ledger=ledger, **given)
        assert ledger.account().debits == 0


@pytest.mark.parametrize("keys", ["private", ["north", "south"]])
def test_a_full_memory_tells_nothing_of_the_groups(frame, monkeypatch, keys):
    """NumPy's own text names the shape of the array: how many people or keys there are, or how many in one group."""

    def full(*given, **options):
        raise MemoryError("Unable to allocate an array with shape (271828, 2)")

    where = "kernel.groups.key_counts" if keys == "private" else "kernel.views.clipped_sum"
    monkeypatch.setattr(f"dimfree.{where}", full)
    with pytest.raises(OutOfMemory) as caught:
        release_means(frame, groups="region", keys=keys, epsilon=4.0, delta=1e-4, noise=SeededNoise(5))
    assert "271828" not in str(caught.value)


def test_a_search_that_is_forged_or_breaks_the_guarantee_is_refused(frame):
    means = release(frame)
    costs, document = means.key_costs, json.loads(means.to_json())
    document["key_costs"]["runs"][0]["menu"][0]["kind"] = "bounded"
    without = {name: value for name, value in document.items() if name != "key_costs"}
    for forged in (document, without):
        with pytest.raises(InvalidFile):
            Means.from_json(json.dumps(forged))
    for wrong, said in ((costs.runs[1:], "begin with the search"), (costs.runs[:1], "charged")):
        with pytest.raises(InvalidParameter, match=said):
            replace(means, key_costs=replace(costs, runs=wrong))
    with pytest.raises(InvalidParameter, match="charged"):
        replace(means, key_costs=None)
