"""release_group_means(groups="private"): which groups exist is released, charged, and tells of nobody who stands
alone."""

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
from dimfree.errors import (
    InvalidDataError,
    InvalidFileError,
    InvalidParameterError,
    OutOfMemoryError,
    RefusedReleaseError,
)
from dimfree.ledger.ledger import PrivacyLedger
from dimfree.noise import SeededNoise
from dimfree.release_groups import release_group_means
from dimfree.report.page import render_registry, render_report
from dimfree.results.composed import compose
from dimfree.results.grouped import GroupMeans
from dimfree.shapes import IsotropicCovariance

SIZES = {"north": 701, "south": 911, "secret-161803": 3, "secret-271828": 1, None: 53}
PROMISE = {"epsilon": 4.0, "delta": 1e-4, "failure_probability": 1e-6}


@pytest.fixture
def frame(rng):
    regions = [region for region, size in SIZES.items() for _ in range(size)]
    values = rng.normal(size=(len(regions), 2))
    found = pd.DataFrame({"age": values[:, 0], "region": pd.Series(regions, dtype=object), "income": values[:, 1]})
    return found.sample(frac=1, random_state=1).reset_index(drop=True)


def release(X, by="region", **changes):
    given = {**PROMISE, "noise": SeededNoise(5), **changes}
    return release_group_means(X, **with_options(by=by, groups="private", **given))


WAYS = {"relative": {}, "known": {"covariance": IsotropicCovariance(1.0)}, "learned": {"objective": "total"}}


@pytest.fixture(params=["relative", *(pytest.param(name, marks=pytest.mark.slow) for name in ("known", "learned"))])
def way(request):
    return WAYS[request.param]


def test_large_groups_are_named_in_the_order_of_their_names(frame, way):
    means = release(frame, **way)
    assert list(means) == list(release(frame[::-1], **way)) == ["north", "south"]
    assert means.refused == ()
    assert 2 < means.min_group_size < 60
    text = means.to_json() + str(vars(means)) + repr(means) + means.statement() + means._repr_html_()
    assert "secret" not in text
    assert "The number of other groups is not released." in means.statement()


def test_every_release_is_charged_the_search_and_no_more_than_promised(frame, way):
    means = release(frame, **way)
    for each in means.values():
        assert isinstance(each.charges, Runs)
        (branch,) = each.charges.runs[0].branches
        assert isinstance(branch, Unlisted)
        assert each.charges.runs[0] == means.key_charges.runs[0]
        assert [event.purpose for event in each.charges.runs[0].after] == ["which groups exist"]
        assert each.charges.delta() <= means.guarantee.delta
    assert means.key_charges.delta() <= means.guarantee.delta
    for run, begun in zip(runs_of(means.charges), means.key_charges.runs, strict=True):
        assert (run.budget, run.before, run.branches) == (begun.budget, begun.before, begun.branches)


def test_nothing_is_named_and_all_is_charged(frame, way):
    few = frame[frame["region"].isin(["secret-161803", "secret-271828"])]
    none, some = release(few, **way), release(frame, **way)
    assert (len(none), none.refused, list(none)) == (0, (), [])
    assert none.key_charges == some.key_charges
    assert none.charges == none.key_charges
    assert none.overall is None
    assert GroupMeans.from_json(none.to_json()).to_json() == none.to_json()
    assert none.statement().startswith("No group had enough people to be released: ")
    assert compose([none]).epsilon(1e-4) == compose([some]).epsilon(1e-4) <= 4.0
    assert compose([none]).added == compose([some]).added == pytest.approx((4.0, 1e-4))  # one promise
    assert "No group" in none._repr_html_()
    assert "No group" in render_report(none)
    assert "No group had enough" in render_registry(none, written=date(2026, 1, 1))
    with pytest.raises(RefusedReleaseError):
        none.to_frame()


def test_a_ledger_is_charged_before_and_the_same_whatever_is_found(frame, tmp_path):
    rows = []
    for place, table in enumerate((frame, frame[:5])):
        with PrivacyLedger(tmp_path / f"{place}.db", "study", epsilon=9.0, delta=1e-3) as ledger:
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
    means = release(X, by=keys, privacy_unit=people, objective="relative")
    assert list(means) == ["a"]  # b: the first key of one person alone
    assert means.guarantee.privacy_unit == "person"


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
    odd = {"missing": "complete-case", "objective": "relative", "noise": RecordingNoise()}
    assert list(release(rng.normal(size=(len(keys), 2)), by=keys, **odd)) == names


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
    with pytest.raises(InvalidDataError) as found:
        release(frame, noise=noise, missing="raise")
    assert noise.asked == []
    assert "secret" not in str(found.value)
    assert list(release(frame, missing="complete-case")) == ["north", "south"]


@pytest.mark.parametrize("keys", ["private", ["north", "south"]])
@pytest.mark.parametrize("max_contributions", [None, 2])
def test_a_person_whose_total_is_no_float_is_refused_before_the_ledger_is_charged(
    frame, tmp_path, keys, max_contributions
):
    frame["who"] = np.arange(len(frame)) // 2
    frame["region"] = np.where(frame["who"] % 2, "north", "south")
    frame.loc[:1, "age"] = 1.7e308
    given = {
        "by": "region",
        "groups": keys,
        "privacy_unit": "who",
        "max_contributions": max_contributions,
        "epsilon": 4.0,
        "delta": 1e-4,
    }
    with PrivacyLedger(tmp_path / "one.db", "study", epsilon=9.0, delta=1e-3, privacy_unit="who") as ledger:
        with pytest.raises(InvalidDataError, match="finite"):
            release_group_means(frame, ledger=ledger, **given)
        assert ledger.account().debits == 0


@pytest.mark.parametrize("keys", ["private", ["north", "south"]])
def test_a_full_memory_tells_nothing_of_the_groups(frame, monkeypatch, keys):
    """NumPy's own text names the shape of the array: how many people or keys there are, or how many in one group."""

    def full(*given, **options):
        raise MemoryError("Unable to allocate an array with shape (271828, 2)")

    where = "kernel.groups.count_keys" if keys == "private" else "kernel.views.sum_clipped"
    monkeypatch.setattr(f"dimfree.{where}", full)
    with pytest.raises(OutOfMemoryError) as caught:
        release_group_means(frame, by="region", groups=keys, epsilon=4.0, delta=1e-4, noise=SeededNoise(5))
    assert "271828" not in str(caught.value)


def test_a_search_that_is_forged_or_breaks_the_guarantee_is_refused(frame):
    means = release(frame)
    costs, document = means.key_charges, json.loads(means.to_json())
    document["key_charges"]["runs"][0]["branches"][0]["kind"] = "bounded"
    without = {name: value for name, value in document.items() if name != "key_charges"}
    for forged in (document, without):
        with pytest.raises(InvalidFileError):
            GroupMeans.from_json(json.dumps(forged))
    for wrong, said in ((costs.runs[1:], "begin with the partition selection"), (costs.runs[:1], "charged")):
        with pytest.raises(InvalidParameterError, match=said):
            replace(means, key_charges=replace(costs, runs=wrong))
    with pytest.raises(InvalidParameterError, match="charged"):
        replace(means, key_charges=None)
