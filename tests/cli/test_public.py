"""`dimfree mean --covariance-from`: public records say how DATA is spread, and the card what that promises."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree.release
from dimfree.cli import app
from dimfree.noise import SeededNoise
from dimfree.options import Options
from dimfree.shapes.from_public import covariance_from_public

BASIS = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
NAMES = [f"item_{i}" for i in range(12)]


def drawn(count, seed):
    return (np.random.default_rng([2, seed]).standard_normal((count, 12)) / np.arange(1, 13)) @ BASIS.T


def written(path, rows, names=NAMES):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")


@pytest.fixture(autouse=True)
def folder(folder, monkeypatch):
    whole = dimfree.release.release_mean
    monkeypatch.setattr(dimfree.release, "release_mean", lambda X, **given: whole(X, **given, noise=SeededNoise(3)))
    written("data.csv", drawn(1500, 1))
    written("public.csv", drawn(80, 2))


def run(*words, expect=0):
    runner = CliRunner(env={"COLUMNS": "400", "NO_COLOR": "1"})
    result = runner.invoke(app, ["mean", "data.csv", "--epsilon", "2", "--delta", "1e-6", "--verbose", *words])
    assert result.exit_code == expect, result.output
    assert "Traceback" not in result.stderr
    return result


def test_the_release_is_that_of_the_shape_and_the_card_tells_its_gains():
    shape = covariance_from_public(np.loadtxt("public.csv", delimiter=",", skiprows=1))
    card = run("--covariance-from", "public.csv", "--scale", "learn", "--json", "r.json", "-o", "m.csv").stderr
    gains = f"{shape.gain():.3g} times less noise than isotropic noise, {shape.rotated_gain():.3g} times less than"
    assert re.search(f"public covariance .*public.csv: {gains}", card)
    X = np.loadtxt("data.csv", delimiter=",", skiprows=1)
    expected = dimfree.release.release_mean(
        X, epsilon=2.0, delta=1e-6, covariance=shape, options=Options(scale="learn")
    )
    assert json.loads(Path("r.json").read_text())["mean"] == expected.mean.tolist()


@pytest.mark.parametrize("unnamed", ["data", "public"])
def test_where_one_of_the_two_has_no_names_columns_go_by_position(unnamed):
    """The same release as with names on both."""
    options = ["--scale", "learn", "--json", "r.json", "--force"]
    run("--covariance-from", "public.csv", *options)
    expected = json.loads(Path("r.json").read_text())["mean"]
    count, seed = {"data": (1500, 1), "public": (80, 2)}[unnamed]
    np.savetxt(f"{unnamed}.csv", drawn(count, seed), delimiter=",")
    other = "public" if unnamed == "data" else "data"
    written(f"{other}.csv", *{"data": [drawn(1500, 1)], "public": [drawn(80, 2)]}[other], NAMES[::-1])
    run("--covariance-from", "public.csv", *options)
    assert json.loads(Path("r.json").read_text())["mean"] == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--covariance-from", "public.csv", "--covariance", "public.csv"], "--covariance-from and --covariance"),
        (["--covariance-from", "public.csv", "--basis", "dct"], "--basis and --covariance-from exclude each other"),
        (["--covariance-from", "public.csv", "--by", "item_0"], "--covariance-from and --by exclude each other"),
        (["--covariance-from", "../data.csv"], "does not exist"),
        (["--covariance-from", "./data.csv"], "never DATA"),
        (["--covariance-from", "public.csv", "-o", "public.csv", "--force"], "differ from --covariance-from"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(words, message):
    result = run(*words, expect=2)
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (
            drawn(80, 2),
            NAMES[::-1],
            "in the same order: column 1 of the records is 'item_",
        ),
        (
            drawn(80, 2),
            [*NAMES[:-1], "age"],
            "column 12 of the records is 'item_11', got another name. Reorder or rename its columns",
        ),
        (drawn(80, 2)[:, :5], NAMES[:5], "in the same order: the records have 12 columns, got another number"),
        (
            np.where(np.eye(80, 12) > 0, np.nan, 1.0),
            NAMES,
            "public.csv cannot be used: `public_X` must hold finite numbers alone",
        ),
        (drawn(3, 2), NAMES, "public.csv cannot be used: `public_X` must have at least 5 rows. Find more"),
    ],
    ids=["order", "names", "width", "missing", "few"],
)
def test_public_records_that_do_not_serve_are_one_sentence(rows, names, message):
    written("public.csv", rows, names)
    [line] = run("--covariance-from", "public.csv", expect=2).stderr.splitlines()
    assert message in line
