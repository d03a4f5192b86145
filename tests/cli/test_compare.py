"""`dimfree compare` as a stranger uses it: table, files, exit codes, and nothing opened that is not public."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.comparison import chart as chart_module
from dimfree.comparison import trials
from dimfree.comparison.contestants import CONTESTANTS
from dimfree.comparison.outcome import WARNING, Comparison
from dimfree.data import read

PROMISE = ("--epsilon", "1", "--delta", "1e-6")
SMALL = (*PROMISE, "-n", "50,80", "-d", "3", "--trials", "2", "--estimators", "clipped mean,coinpress")


def invoke(*args):
    return CliRunner().invoke(app, ["compare", *map(str, args)])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "digits.npy"
    np.save(path, np.random.default_rng(3).normal(5.0, 1.0, size=(90, 4)))
    return path


def leftovers(folder, *expected):
    return sorted(path.name for path in folder.iterdir() if path.name not in expected)


# The table


def test_the_table_is_on_stdout_and_the_talk_on_stderr():
    done = invoke(*SMALL, "--seed", "9")
    assert done.exit_code == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["estimator", "was told", "n = 50", "n = 80"]
    assert [row[:2] for row in rows[1:]] == [["CoinPress", "largest σ, R"], ["clipped mean", "R"]]
    assert all(float(cell) > 0 for row in rows[1:] for cell in row[2:])
    talk = done.stderr.replace("\n", " ")
    for words in ("epsilon = 1, delta = 1e-06, add-remove", "S1, d = 3", "2 draws", "seed 9", WARNING):
        assert words in talk


def test_a_seed_reproduces_the_table():
    one, two, other = (invoke(*SMALL, "--seed", seed).stdout for seed in (1, 1, 2))
    assert one == two != other


def test_a_relation_without_proof_is_said():
    done = invoke(*PROMISE, "-d", 2, "--neighbours", "replace-one", "--estimators", "algorithm 1,clipped mean")
    assert done.exit_code == 0, done.stderr
    assert "Algorithm 1\tσ\tno proof for replace-one" in done.stdout.splitlines()


def test_the_estimators_are_listed_with_what_they_are_told():
    done = invoke("--list")
    assert done.exit_code == 0
    lines = dict(line.split("\t") for line in done.stdout.splitlines())
    assert list(lines) == [contestant.name for contestant in CONTESTANTS]
    assert lines["PLAN"] == "σ, R"
    assert lines["oracle floor"] == "mean, σ (not private)"
    assert "R: the radius of a ball" in done.stderr


# A public table


def test_a_public_table(table):
    done = invoke(*PROMISE, "--data", table, "--public", "-n", 60, "--estimators", "clipped mean,empirical mean")
    assert done.exit_code == 0, done.stderr
    assert "digits.npy, d = 4" in done.stderr
    assert "empirical mean\tnothing (not private)" in done.stdout


def test_without_n_half_of_a_small_table_is_drawn(table):
    done = invoke(*PROMISE, "--data", table, "--public", "--estimators", "clipped mean", "--trials", 1)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == "estimator\twas told\tn = 45"
    assert "d = 4, 1 draw, seed 0." in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("n", ["90", "91", "45,90"])
def test_the_whole_of_a_table_is_no_sample(table, n):
    done = invoke(*PROMISE, "--data", table, "--public", "-n", n)
    assert done.exit_code == 2
    assert "n to be below 90" in done.stderr
    assert "n=45" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("name", ["digits.npy", "missing.csv"])
def test_data_not_declared_public_are_not_even_opened(table, name, monkeypatch):
    monkeypatch.setattr(read, "read_table", lambda *_: pytest.fail("opened"))
    monkeypatch.setattr(trials, "compare", lambda **_: pytest.fail("compared"))
    done = invoke(*PROMISE, "--data", table.parent / name)
    assert done.exit_code == 2
    assert "--public" in done.stderr
    assert "dimfree mean" in done.stderr
    assert done.stdout == ""


def test_a_table_with_gaps_is_refused(tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n" + "1,2\n3,\n" * 20)
    done = invoke(*PROMISE, "--data", tmp_path / "gaps.csv", "--public", "-n", 5)
    assert done.exit_code == 2
    assert "finite" in done.stderr


# Files


@pytest.mark.parametrize("ending", ["json", "md", "JSON"])
def test_the_numbers_are_written(tmp_path, ending):
    out = tmp_path / f"found.{ending}"
    done = invoke(*SMALL, "-o", out)
    assert done.exit_code == 0, done.stderr
    if ending == "md":
        assert "| clipped mean | R |" in out.read_text()
    else:
        found = Comparison.from_json(out.read_text())
        assert [cells[2:] for cells in found.rows()] == [tuple(r.split("\t")[2:]) for r in done.stdout.splitlines()[1:]]
    assert leftovers(tmp_path, out.name) == []


def test_the_chart_shows_the_table(tmp_path):
    out, chart = tmp_path / "found.json", tmp_path / "found.vega.json"
    assert invoke(*SMALL, "-o", out, "--chart", chart).exit_code == 0
    found = Comparison.from_json(out.read_text())
    assert list(json.loads(chart.read_text())["datasets"].values()) == [found.figures()]


def test_a_picture_is_written(tmp_path):
    assert invoke(*SMALL, "--chart", tmp_path / "found.svg").exit_code == 0
    assert (tmp_path / "found.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("option", ["--out", "--chart"])
def test_nothing_is_overwritten_without_force(tmp_path, option, monkeypatch):
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    with monkeypatch.context() as patched:
        patched.setattr(trials, "compare", lambda **_: pytest.fail("compared in vain"))
        done = invoke(*SMALL, option, mine)
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert mine.read_text() == "mine"
    assert invoke(*SMALL, option, mine, "--force").exit_code == 0
    assert mine.read_text() != "mine"


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("where", "name"), [(trials, "compare"), (chart_module, "chart_bytes")], ids=["running", "drawing"]
)
def test_an_interrupt_leaves_nothing_behind(tmp_path, where, name, monkeypatch):
    """While comparing, or while one file is complete and the other is not."""
    monkeypatch.setattr(where, name, interrupt)
    done = invoke(*SMALL, "-o", tmp_path / "found.json", "--chart", tmp_path / "found.svg")
    assert done.exit_code == 130
    assert "half-written" in done.stderr
    assert leftovers(tmp_path) == []


# Bad input


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--epsilon", "one"), "--epsilon 'one'"),
        (("-n", "10,many"), "--n '10,many'"),
        (("-n", "1.5"), "--n '1.5'"),
        (("-d", "0"), "d=0"),
        (("-n", "10,20", "-d", "2,3"), "n and d"),
        (("--spectrum", "S7"), "spectrum='S7'"),
        (("--estimators", "nobody"), "estimators to be a list"),
        (("--neighbours", "cousins"), "neighbours='cousins'"),
        (("--delta", "2"), "delta=2.0"),
        (("--trials", "0"), "trials=0"),
        (("--out", "found.txt"), "found.txt"),
        (("--chart", "found.pdf"), "found.pdf"),
        (("--chart", "a.json", "--out", "a.json"), "--out"),
        (("--data", "missing.csv", "--public"), "missing.csv"),
        (("--public",), "--data FILE with --public"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(args, words):
    done = invoke(*PROMISE, "-d", 3, *args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_without_altair_the_remedy_is_said_first(tmp_path, monkeypatch):
    monkeypatch.setattr(chart_module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(trials, "compare", lambda **_: pytest.fail("compared in vain"))
    done = invoke(*SMALL, "--chart", tmp_path / "found.svg")
    assert done.exit_code == 2
    assert "pip install 'altair>=" in " ".join(done.stderr.split())


def test_the_budget_has_no_default():
    assert invoke("-n", 10).exit_code == 2


def test_a_terminal_gets_a_table_and_a_bar(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    done = invoke(*SMALL)
    assert done.exit_code == 0, done.stderr
    assert "Error at equal privacy" in done.stdout
    assert "0/8" in done.stderr or "starting" in done.stderr
