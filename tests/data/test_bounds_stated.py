"""Public bounds are part of what a release states, and of what a ledger keeps of it, wherever it is made."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dimfree
from dimfree.data.read import read_table
from dimfree.noise import SeededNoise

HELD = {"age": (0.0, 1.0)}
STATED = {"age": [0.0, 1.0]}


@pytest.fixture
def path(tmp_path):
    values = np.random.default_rng(3).standard_normal((1500, 2)) + [5, -1]
    frame = pd.DataFrame(values, columns=["age", "income"])
    frame.assign(person=np.arange(1500) // 2, region=["north", "south"] * 750).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def coordinates(path, **given):
    return read_table(path, columns=["age", "income"], **given)


def known(**given):
    return {"epsilon": 4.0, "delta": 1e-6, "covariance": np.ones(2), "noise": SeededNoise(1), **given}


def parameters_in(ledger):
    return [entry.content["parameters"] for entry in ledger.entries() if "parameters" in entry.content]


def test_a_release_from_python_states_them(path):
    release = dimfree.release_mean(coordinates(path, bounds=HELD), **known())
    assert json.loads(release.parameters["bounds"]) == STATED
    assert "bounds" not in dimfree.release_mean(coordinates(path), **known()).parameters
    assert dimfree.Release.from_json(release.to_json()).parameters == release.parameters


@pytest.mark.parametrize(
    "more", [{"privacy_unit": np.arange(1500) // 2}, {"missing": "complete-case"}, {"device": "cpu"}]
)
def test_whatever_becomes_of_the_records_on_the_way(path, more):
    release = dimfree.release_mean(coordinates(path, bounds=HELD), **known(), **more)
    assert json.loads(release.parameters["bounds"]) == STATED


@pytest.mark.parametrize("covariance", [np.ones(2), None])
def test_the_means_of_groups_state_them(path, covariance):
    groups = np.array(["north", "south"] * 750)
    given = known(covariance=covariance, by=groups, groups=["north", "south"], objective="total")
    means = dimfree.release_group_means(coordinates(path, bounds=HELD), **given)
    every = [*means.values(), *([] if means.overall is None else [means.overall])]
    assert [json.loads(each.parameters["bounds"]) for each in every] == [STATED] * len(every)


def test_groups_without_a_shape_state_them(path):
    groups = np.array(["north", "south"] * 750)
    given = known(covariance=None, by=groups, groups=["north", "south"], objective="total", epsilon=0.01)
    means = dimfree.release_group_means(coordinates(path, bounds=HELD), **given)
    assert means.refused
    assert {each.parameters["bounds"] for each in means.values()} == {json.dumps(STATED)}


def test_a_ledger_tells_releases_with_other_bounds_apart(path, tmp_path):
    records = [coordinates(path), coordinates(path, bounds=HELD), coordinates(path, bounds={"age": (0, 2)})]
    with dimfree.PrivacyLedger(tmp_path / "l.db", "study", epsilon=90.0, delta=1e-2) as ledger:
        for table in (*records, records[1]):
            dimfree.release_mean(table, **known(), ledger=ledger)
        digests = parameters_in(ledger)
        assert digests[1] == digests[3]
        assert len(set(digests)) == 3
        groups = {"by": np.array(["north", "south"] * 750), "ledger": ledger}
        for table, keys in ((records[0], ["north"]), (records[1], ["north"]), (records[1], ["south"])):
            dimfree.release_group_means(table, **known(), **groups, groups=keys)
        assert len(set(parameters_in(ledger))) == 6


def test_the_command_line_and_python_state_the_same(path, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from dimfree.cli import app

    monkeypatch.chdir(tmp_path)
    Path("s.json").write_text(json.dumps({"columns": ["age", "income"], "bounds": STATED}))
    words = ["mean", str(path), "--epsilon", "4", "--delta", "1e-6", "--schema", "s.json", "--json", "r.json"]
    assert CliRunner().invoke(app, [*words, "-o", "m.csv"]).exit_code == 0
    said = dimfree.Release.from_json(Path("r.json").read_text()).parameters["bounds"]
    assert said == dimfree.release_mean(coordinates(path, bounds=HELD), **known()).parameters["bounds"]
