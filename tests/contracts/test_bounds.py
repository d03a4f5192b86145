"""Public bounds through every door: the release is that of a table whose entries were clipped by hand before."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dimfree import PrivateMean, Release, release_group_means, release_mean
from dimfree.cli import app
from dimfree.testing import SeededNoise

BUDGET = {"epsilon": 2.0, "delta": 1e-6}
ENDS = {"age": (20.0, 60.0)}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(1500, 2)) * [20, 1] + [40, 0], columns=["age", "score"])
    return table.assign(person=[f"p{row}" for row in range(1500)], ward=np.where(np.arange(1500) % 2, "east", "west"))


@pytest.fixture(scope="module")
def clipped(frame):
    return frame.assign(age=frame["age"].clip(*ENDS["age"]))


def mean(table, **given):
    return release_mean(table, **BUDGET, privacy_unit="person", exclude="ward", noise=SeededNoise(2), **given)


def array(table, **given):
    given = {name: {0: ends["age"]} for name, ends in given.items()}
    return release_mean(table[["age", "score"]].to_numpy(), **BUDGET, noise=SeededNoise(2), **given)


def means(table, **given):
    given |= {"by": "ward", "groups": ["east", "west"], "exclude": "person", "noise": SeededNoise(2)}
    return release_group_means(table, **BUDGET, **given)["east"]


def estimator(table, **given):
    return (
        PrivateMean(**BUDGET, privacy_unit="person", exclude=["ward"], noise=SeededNoise(2), **given)
        .fit(table)
        .release_
    )


def file(table, **given):
    table.to_csv("people.csv", index=False)
    return mean("people.csv", **given)


@pytest.mark.parametrize("door", [mean, array, means, estimator, file])
def test_bounds_clip_every_entry(door, frame, clipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, wanted = door(frame, bounds=ENDS), door(clipped, bounds=ENDS)
    assert np.array_equal(found.mean, wanted.mean)
    assert json.loads(found.parameters["bounds"]) in ({"age": [20.0, 60.0]}, {"0": [20.0, 60.0]})
    assert found.mean[0] != door(frame).mean[0]


def test_bounds_on_the_command_line(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame[["age", "score"]].to_csv("people.csv", index=False)
    words = ["mean", "people.csv", "--epsilon", "2", "--delta", "1e-6", "--json", "r.json", "--bounds"]
    done = CliRunner().invoke(app, [*words, "age=20:60"])
    assert done.exit_code == 0, done.stderr
    release = Release.from_json((tmp_path / "r.json").read_text())
    assert json.loads(release.parameters["bounds"]) == {"age": [20.0, 60.0]}
    for wrong in ("age", "age=20", "age=60:20", "agee=0:1", "age=x:y", "age=0:1,age=2:3"):
        done = CliRunner().invoke(app, [*words, wrong, "--force"])
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1
    np.save("people.npy", frame[["age", "score"]].to_numpy())
    done = CliRunner().invoke(app, [words[0], "people.npy", *words[2:], "0=20:60", "--force"])
    assert done.exit_code == 0, done.stderr
    assert "0 20 to 60: values outside count as the bound" in done.stderr
    nameless = Release.from_json((tmp_path / "r.json").read_text())
    assert json.loads(nameless.parameters["bounds"]) == {"0": [20.0, 60.0]}
