"""`dimfree plan` as a stranger uses it: card, JSON, files, exit codes, and what is missing in the words of options."""

import inspect
import json
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.data import read
from dimfree.planning import plan as plan_module
from dimfree.planning.plan import plan
from dimfree.results import writing

ASKED = ("--n", "900", "--d", "6", "--spectrum", "S2", "--epsilon", "1", "--delta", "1e-6")
PROMISE = ASKED[6:]


def invoke(*args):
    return CliRunner().invoke(app, ["plan", *map(str, args)])


def leftovers(folder, *expected):
    return sorted(path.name for path in folder.iterdir() if path.name not in expected)


@pytest.fixture(scope="module")
def real():
    """A real plan."""
    return plan(n=900, d=6, spectrum="S2", epsilon=1, delta=1e-6, knowledge="covariance")


@pytest.fixture
def asked(real, monkeypatch):
    """The real plan at once, whatever is asked; what was asked is kept."""
    calls = []

    def stand_in(**given):
        calls.append(given)
        given["tell"]("trying n = 7", 3, 10)
        return real

    monkeypatch.setattr(plan_module, "plan", stand_in)
    return calls


# The card


def test_the_card_says_the_key_figures(asked, real):
    done = invoke(*ASKED)
    assert done.exit_code == 0, done.stderr
    card = dict(line.split("\t", 1) for line in reversed(done.stdout.splitlines()))
    expected, course = real.prediction, real.course
    assert card["error (found)"].startswith(
        f"{expected.error:.4g} (root mean square), within {expected.error_within:.4g}"
    )
    assert card["made of"].startswith(f"sampling {expected.sampling:.3g}, noise {expected.noise:.3g}, bias ")
    assert card["method"] == f"{course.method}: {course.why}"
    assert str(course.smallest_count) in card["refused below"]
    assert f"{course.pass_probability:.4g}" in card["chance to pass"]
    assert card["privacy"].startswith("free at this n")
    assert all(purpose in card["budget"] for purpose, _ in course.shares)
    trivial, limit = real.limits
    assert trivial.records < 1 < limit.records  # "needed n = 0.2" would say nothing
    assert card["needed, by theorem"] == f"n = 29: {limit.theorem}"
    assert card["distance to the limit"] == f"n is {900 / limit.records:.3g} × that of {limit.theorem}"
    assert "thm:" not in done.stdout
    assert "warning" not in card
    assert expected.sampling == pytest.approx(math.sqrt(sum(1 / i**2 for i in range(1, 7)) / 900))


@pytest.mark.usefixtures("asked")
def test_a_terminal_gets_a_card_and_a_bar(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    done = invoke(*ASKED)
    assert done.exit_code == 0, done.stderr
    assert "Plan: error" in done.stdout
    assert "trying n = 7" in done.stderr or "predicting" in done.stderr
    assert done.stdout.count("needed, by theorem") <= 1


def test_a_plan_that_would_be_refused_is_still_a_plan(asked, real, monkeypatch):
    refused = replace(real.prediction, error=math.inf, noise=math.inf, refused=True, remark="Too few records.")
    monkeypatch.setattr(plan_module, "plan", lambda **_: replace(real, prediction=refused, needs=(), limits=()))
    done = invoke(*ASKED)
    assert done.exit_code == 0
    assert "error (found)\tToo few records." in done.stdout
    assert "distance to the limit" not in done.stdout
    assert json.loads(invoke(*ASKED, "--json").stdout)["prediction"]["error"] is None


# What is asked


def test_every_option_arrives(asked):
    rules = (
        "--objective",
        "total",
        "--knowledge",
        "covariance",
        "--neighbours",
        "replace-one",
        "--outliers",
        0.1,
        "--confidence",
        0.9,
    )
    done = invoke(*ASKED, *rules, "--tails", "gaussian", "--failure-probability", 0.02)
    assert done.exit_code == 0, done.stderr
    (given,) = asked
    del given["tell"]
    assert given == {
        "n": 900,
        "d": 6,
        "spectrum": "S2",
        "epsilon": 1.0,
        "delta": 1e-6,
        "accuracy": None,
        "objective": "total",
        "knowledge": "covariance",
        "neighbours": "replace-one",
        "outliers": 0.1,
        "tails": "gaussian",
        "failure_probability": 0.02,
        "confidence": 0.9,
        "time_limit": 60.0,
    }


def test_defaults_are_those_of_the_function(asked, real):
    assert invoke(*ASKED).exit_code == 0
    defaults = {name: each.default for name, each in inspect.signature(plan).parameters.items()}
    for name in (
        "objective",
        "knowledge",
        "neighbours",
        "outliers",
        "tails",
        "failure_probability",
        "confidence",
        "time_limit",
    ):
        assert asked[0][name] == defaults[name]


@pytest.mark.parametrize("name", ["spread.npy", "spread.csv"])
def test_a_spectrum_from_a_file(asked, tmp_path, name):
    np.save(tmp_path / "spread.npy", np.array([3.0, 4.0]))
    (tmp_path / "spread.csv").write_text("3\n4\n")
    done = invoke("--n", 900, "--spectrum-file", tmp_path / name, *PROMISE)
    assert done.exit_code == 0, done.stderr
    assert asked[0]["spectrum"].tolist() == [3.0, 4.0]


def test_like_a_public_table(asked, tmp_path):
    X = np.random.default_rng(3).normal(5.0, [1.0, 2.0, 3.0], size=(90, 3))
    np.save(tmp_path / "digits.npy", X)
    done = invoke("--n", 900, "--like", tmp_path / "digits.npy", "--public", *PROMISE)
    assert done.exit_code == 0, done.stderr
    assert asked[0]["spectrum"] == pytest.approx(X.std(axis=0), rel=0.02)


def test_a_table_not_declared_public_is_not_even_opened(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "read_table", lambda *_: pytest.fail("opened"))
    done = invoke("--n", 900, "--like", tmp_path / "digits.npy", *PROMISE)
    assert done.exit_code == 2
    assert "Say --public" in done.stderr
    assert asked == []


# JSON and files


def test_json_is_the_plan(asked, real):
    done = invoke(*ASKED, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout) == json.loads(real.to_json())


def test_json_is_written(asked, real, tmp_path):
    done = invoke(*ASKED, "-o", tmp_path / "plan.json")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "plan.json").read_text() == real.to_json()
    assert "error (found)" in done.stdout
    assert leftovers(tmp_path, "plan.json") == []


def test_nothing_is_overwritten_without_force(asked, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    done = invoke(*ASKED, "--out", mine)
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert asked == []
    assert mine.read_text() == "mine"
    assert invoke(*ASKED, "--out", mine, "--force").exit_code == 0
    assert mine.read_text() != "mine"


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("where", "name"), [(plan_module, "plan"), (writing.os, "fsync")], ids=["running", "writing"])
def test_an_interrupt_leaves_nothing_behind(tmp_path, where, name, monkeypatch):
    monkeypatch.setattr(where, name, interrupt)
    done = invoke(*ASKED, "-o", tmp_path / "plan.json")
    assert done.exit_code == 130
    assert "half-written" in done.stderr
    assert leftovers(tmp_path) == []


# Bad input


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--spectrum", "S1", *PROMISE), "--n and --d and --accuracy: give two of them"),
        (("--n", "9", "--d", "6", "--spectrum", "S1", "--delta", "1e-6"), "--epsilon and --accuracy: give one of them"),
        (("--n", "9", "--d", "6", "--objective", "total", *PROMISE), "--spectrum NAME"),
        ((*ASKED, "--accuracy", "0.1"), "to be left out"),
        ((*ASKED, "--spectrum-file", "spread.npy"), "--spectrum and --spectrum-file"),
        ((*ASKED, "--public"), "--like FILE with --public"),
        ((*ASKED, "--out", "plan.txt"), "plan.txt"),
    ],
)
def test_what_is_missing_or_too_much_is_said_in_options(asked, args, words):
    done = invoke(*args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert asked == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--spectrum", "S7"), "spectrum='S7'"),
        (("--d", "0"), "`d` must"),
        (("--n", "-3"), "`n` must"),
        (("--epsilon", "0"), "`epsilon` must"),
        (("--delta", "2"), "`delta` must"),
        (("--knowledge", "all"), "`knowledge` must"),
        (("--neighbours", "cousins"), "`neighbours` must"),
        (("--confidence", "1"), "`confidence` must"),
        (("--outliers", "0.9"), "`outliers` must"),
        (("--tails", "thin"), "`tails` must"),
    ],
)
def test_a_bad_value_is_one_sentence_and_exit_2(args, words):
    done = invoke(*ASKED, *args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_a_file_that_gives_d_does_not_ask_for_it(asked, tmp_path):
    np.save(tmp_path / "spread.npy", np.ones(3))
    done = invoke("--spectrum-file", tmp_path / "spread.npy", *PROMISE)
    assert done.exit_code == 2
    assert "--n and --accuracy: give one" in done.stderr
    assert invoke("--n", 9, "--d", 5, "--spectrum-file", tmp_path / "spread.npy", *PROMISE).exit_code == 0
    assert asked[0]["d"] == 5  # a contradiction is the plan's to find


def test_a_contradiction_of_d_and_a_file(tmp_path):
    np.save(tmp_path / "spread.npy", np.ones(3))
    done = invoke("--n", 9, "--d", 5, "--spectrum-file", tmp_path / "spread.npy", *PROMISE)
    assert done.exit_code == 2
    assert "`spectrum` must have one entry per column, 5 in all" in done.stderr


def test_the_budget_has_no_default():
    assert invoke("--n", 9, "--d", 6, "--spectrum", "S1", "--epsilon", 1).exit_code == 2


# The real thing


def examples():
    """The commands in the help, lines joined."""
    shown = [line.strip() for line in invoke("--help").stdout.splitlines()]
    starts = [i for i, line in enumerate(shown) if line.startswith("dimfree plan ")]
    return [shlex.split(" ".join(shown[i : i + 2]).replace("\\ ", ""))[2:] for i in starts]


def test_the_examples_of_the_help_run():
    first, second, third = examples()
    card = invoke(*first).stdout
    assert card.startswith("error (found)\t0.05")
    done = invoke(*second, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["solved_for"] == "n"
    assert 0.09 < found["accuracy"] <= 0.1
    assert found["n"] > 1000  # ‖σ‖₂²/0.1² records without privacy
    words = invoke(*third).stdout
    assert words.startswith("records n (found)\t")
    assert "of each column's standard deviation" in words
    assert "20 (any units)" in words


def test_plan_and_tradeoff_are_listed():
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "plan " in shown
    assert "tradeoff " in shown
