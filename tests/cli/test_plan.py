"""`dimfree plan`: one plan and a curve, as table, JSON and files; exit codes, and what is missing."""

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
from dimfree.planning import tradeoff as tradeoff_module
from dimfree.planning.question import Prediction
from dimfree.planning.tradeoff import Tradeoff, plan

GIVEN = {
    "plan": {"n": "900", "d": "6", "spectrum": "S2", "epsilon": "1", "delta": "1e-6"},
    "curve": {"epsilon": "0.5,1,4", "delta": "1e-6", "n": "1000", "d": "6", "spectrum": "S2"},
}
COMMANDS = pytest.mark.parametrize("command", GIVEN)
SETTINGS = ("--knowledge", "covariance", "--neighbors", "replace-one", "--outliers", 0.1)
SETTINGS = (*SETTINGS, "--tails", "gaussian", "--failure-probability", 0.02)


def invoke(command, *args, **changed):
    """The command with its usual options, some of them changed; None leaves one out."""
    given = {f"--{name}": value for name, value in {**GIVEN[command], **changed}.items() if value is not None}
    words = [str(word) for pair in given.items() for word in pair]
    return CliRunner().invoke(app, ["plan", *words, *map(str, args)])


@pytest.fixture(scope="module")
def real():
    """A real plan."""
    return plan(n=900, d=6, spectrum="S2", epsilon=1, delta=1e-6, knowledge="covariance")


@pytest.fixture
def asked(real, monkeypatch):
    """The real plan at once; predictions of a curve at once, refused below epsilon = 0.6. What was asked is kept."""
    calls = []

    def planned(**given):
        if isinstance(given["epsilon"], list):
            return plan(**given)
        calls.append(given)
        given["tell"]("trying n = 7", 3, 10)
        return real

    def predicted(question, confidence=0.95):
        calls.append(question)
        noise, refused = 0.02 / question.budget.epsilon, question.budget.epsilon < 0.6
        lengths = (question.sampling, noise, 0.0, math.hypot(question.sampling, noise), 1.0)
        return Prediction(*lengths, refused)

    monkeypatch.setattr(tradeoff_module, "plan", planned)
    monkeypatch.setattr(tradeoff_module, "predict", predicted)
    return calls


def stddevs_of(question):
    """The standard deviations of a question, which a plan is given as its spectrum."""
    return question["spectrum"] if isinstance(question, dict) else question.stddevs


def test_the_card_of_a_plan(asked, real):
    done = invoke("plan")
    assert done.exit_code == 0, done.stderr
    card = dict(line.split("\t", 1) for line in reversed(done.stdout.splitlines()))
    expected, course, (trivial, limit) = real.prediction, real.course, real.limits
    assert card["error (found)"].startswith(
        f"{expected.error:.4g} (root mean square), within {expected.error_within:.4g}"
    )
    assert card["made of"].startswith(f"sampling {expected.sampling:.3g}, noise {expected.noise:.3g}, bias ")
    assert str(course.smallest_count) in card["refused below"]
    assert f"{course.pass_probability:.4g}" in card["chance to pass"]
    assert trivial.records < 1 < limit.records  # "needed n = 0.2" would say nothing
    assert card["distance to the limit"] == f"n is {900 / limit.records:.3g} × that of {limit.theorem}"
    assert expected.sampling == pytest.approx(math.sqrt(sum(1 / i**2 for i in range(1, 7)) / 900))


def test_the_table_of_a_curve_is_on_stdout_and_the_talk_on_stderr(asked):
    done = invoke("curve")
    assert done.exit_code == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["epsilon", "error", "sampling", "noise", "error / sampling"]
    assert rows[1][:2] == ["0.5", "refused"]
    sampling = math.sqrt(sum(1 / i**2 for i in range(1, 7)) / 1000)
    wanted = [math.hypot(sampling, 0.02), sampling, 0.02]
    assert [float(cell) for cell in rows[2][1:4]] == pytest.approx(wanted, rel=5e-3)
    assert "S2, d = 6, n = 1000, delta = 1e-06, add-remove" in done.stderr
    assert [question.budget.epsilon for question in asked] == [0.5, 1.0, 4.0]


@pytest.mark.usefixtures("asked")
@COMMANDS
def test_a_terminal_gets_a_table(command, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    done = invoke(command)
    assert done.exit_code == 0, done.stderr
    assert {"plan": "Plan: error", "curve": "Cost of privacy"}[command] in done.stdout


def test_a_plan_that_would_be_refused_is_still_a_plan(asked, real, monkeypatch):
    refused = replace(real.prediction, error=math.inf, noise=math.inf, refused=True, remark="Too few records.")
    monkeypatch.setattr(tradeoff_module, "plan", lambda **_: replace(real, prediction=refused, needs=(), limits=()))
    done = invoke("plan")
    assert done.exit_code == 0
    assert "error (found)\tToo few records." in done.stdout
    assert json.loads(invoke("plan", "--json").stdout)["prediction"]["error"] is None


@COMMANDS
def test_json_is_the_only_thing_on_stdout(asked, real, command):
    done = invoke(command, "--json")
    assert done.exit_code == 0, done.stderr
    if command == "plan":
        assert json.loads(done.stdout) == json.loads(real.to_json())
    else:
        found = Tradeoff.from_json(done.stdout)
        assert [row.refused for row in found.rows] == [True, False, False]
        assert 1 < found.knee < 4


def test_every_option_arrives_at_a_plan(asked):
    assert invoke("plan", *SETTINGS, "--objective", "total", "--confidence", 0.9).exit_code == 0
    assert invoke("plan").exit_code == 0
    given, plain = asked
    told = {"objective": "total", "knowledge": "covariance", "neighbors": "replace-one", "outliers": 0.1}
    told |= {"tails": "gaussian", "failure_probability": 0.02, "confidence": 0.9}
    budget = {"n": 900, "d": 6, "spectrum": "S2", "epsilon": 1.0, "delta": 1e-6, "accuracy": None, "time_limit": 60.0}
    del given["tell"]
    assert given == {**budget, **told}
    defaults = {name: each.default for name, each in inspect.signature(plan).parameters.items()}
    assert {name: plain[name] for name in (*told, "time_limit")} == {
        name: defaults[name] for name in (*told, "time_limit")
    }


@COMMANDS
def test_standard_deviations_from_a_file(asked, folder, command):
    np.save("sds.npy", np.array([3.0, 4.0]))
    (folder / "sds.csv").write_text("age,income\n3,4\n")
    np.save("square.npy", np.eye(2))
    for name in ("sds.npy", "sds.csv"):
        done = invoke(command, d=None, spectrum=None, **{"spectrum-file": name})
        assert done.exit_code == 0, done.stderr
        assert stddevs_of(asked[-1]).tolist() == [3.0, 4.0]
    done = invoke(command, d=None, spectrum=None, **{"spectrum-file": "square.npy"})
    assert done.exit_code == 2
    assert "one SD per column" in done.stderr
    done = invoke("plan", n=None, d=None, spectrum=None, **{"spectrum-file": "sds.npy"})
    assert "--n and --accuracy: give one" in done.stderr  # the file gives d


@COMMANDS
def test_like_a_public_table(asked, folder, command, monkeypatch):
    X = np.random.default_rng(3).normal(5.0, [1.0, 2.0, 3.0], size=(90, 3))
    np.save("digits.npy", X)
    done = invoke(command, "--public", d=None, spectrum=None, like="digits.npy")
    assert done.exit_code == 0, done.stderr
    assert stddevs_of(asked.pop()) == pytest.approx(X.std(axis=0), rel=0.02)
    asked.clear()
    monkeypatch.setattr(read, "read_table", lambda *_: pytest.fail("opened"))
    done = invoke(command, d=None, spectrum=None, like="digits.npy")
    assert done.exit_code == 2
    assert "Add --public" in done.stderr
    assert asked == []


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(("command", "name"), [("plan", "a.json"), ("curve", "a.JSON"), ("curve", "a.md")])
def test_the_numbers_are_written(folder, real, command, name):
    done = invoke(command, "-o", name)
    assert done.exit_code == 0, done.stderr
    written = (folder / name).read_text()
    if command == "plan":
        assert written == real.to_json()
    else:
        assert "| 0.5 | refused |" in written if name == "a.md" else len(Tradeoff.from_json(written).rows) == 3
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.usefixtures("asked")
def test_the_chart_shows_the_table(folder):
    done = invoke("curve", "--chart", "found.vega.json", "--json")
    assert done.exit_code == 0, done.stderr
    drawn = json.loads((folder / "found.vega.json").read_text())
    assert tradeoff_module.list_figures(Tradeoff.from_json(done.stdout)) in drawn["datasets"].values()


@pytest.mark.parametrize(("command", "option"), [("plan", "--out"), ("curve", "--out"), ("curve", "--chart")])
def test_nothing_is_overwritten_without_force(asked, folder, command, option):
    mine = folder / "mine.json"
    mine.write_text("mine")
    done = invoke(command, option, mine)
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert (mine.read_text(), asked) == ("mine", [])
    assert invoke(command, option, mine, "--force").exit_code == 0
    assert mine.read_text() != "mine"


@pytest.mark.parametrize(
    ("command", "args", "words"),
    [
        ("plan", {"n": None, "d": None}, "--n and --d and --accuracy: give two of them"),
        ("plan", {"epsilon": None}, "--epsilon and --accuracy: give one of them"),
        ("plan", {"spectrum": None, "objective": "total"}, "--spectrum NAME"),
        ("plan", {"accuracy": "0.1"}, "Leave out one of"),
        ("plan", {"out": "plan.txt"}, "plan.txt"),
        ("plan", {"confidence": "1"}, "`confidence` must"),
        ("curve", {"epsilon": "one"}, "`--epsilon` must be a number"),
        ("curve", {"epsilon": "1,"}, "got '1,'"),
        ("curve", {"n": "10.5"}, "`--n` must be a whole number"),
        ("curve", {"accuracy": "0.1"}, "no --accuracy"),
        ("curve", {"n": None}, "one value of the other"),
        ("curve", {"n": "10,20"}, "one value of the other"),
        ("plan", {"chart": "found.svg"}, "--chart needs a curve"),
        ("curve", {"epsilon": "1,1"}, "every value once"),
        ("curve", {"epsilon": "1,-1"}, "every entry of it a finite number above 0"),
        ("curve", {"d": None, "objective": "total"}, "--d"),
        ("curve", {"spectrum": None, "objective": "total"}, "--spectrum"),
        ("curve", {"out": "found.txt"}, "found.txt"),
        ("curve", {"chart": "found.pdf"}, "found.pdf"),
        ("curve", {"chart": "a.json", "out": "a.json"}, "--out"),
        *(
            (command, args, words)
            for command in GIVEN
            for args, words in (
                ({"d": "0"}, "`d` must"),
                ({"n": "-3"}, "`n` must"),
                ({"delta": "2"}, "`delta` must"),
                ({"spectrum": "S7"}, "got 'S7'"),
                ({"spectrum-file": "sds.npy"}, "--spectrum and --spectrum-file"),
                ({"knowledge": "all"}, "`knowledge` must"),
                ({"neighbors": "cousins"}, "`neighbors` must"),
                ({"outliers": "0.9"}, "`outliers` must"),
                ({"tails": "thin"}, "`tails` must"),
            )
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(folder, command, args, words, monkeypatch):
    if command == "curve":
        monkeypatch.setattr(tradeoff_module, "predict", lambda *_: pytest.fail("predicted in vain"))
    done = invoke(command, **args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


@COMMANDS
def test_a_public_table_has_to_be_named(asked, command):
    done = invoke(command, "--public")
    assert done.exit_code == 2
    assert "--public needs --like FILE" in done.stderr
    assert invoke(command, delta=None).exit_code == 2  # the budget has no default
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_without_altair_the_remedy_is_said_first(monkeypatch):
    monkeypatch.setattr(tradeoff_module.importlib.util, "find_spec", lambda name: None)
    done = invoke("curve", "--chart", "found.svg")
    assert done.exit_code == 2
    assert "pip install 'altair>=" in " ".join(done.stderr.split())


def test_the_examples_of_the_help_run(folder):
    def example(at):
        shown = [line.strip() for line in CliRunner().invoke(app, ["plan", "--help"]).stdout.splitlines()]
        start = [i for i, line in enumerate(shown) if line.startswith("dimfree plan ")][at]
        return shlex.split(" ".join(shown[start : start + 2]).replace("\\ ", ""))[1:]

    assert CliRunner().invoke(app, example(0)).stdout.startswith("error (found)\t0.05")
    found = json.loads(CliRunner().invoke(app, [*example(1), "--json"]).stdout)
    assert found["solved_for"] == "n"
    assert 0.09 < found["accuracy"] <= 0.1
    assert found["n"] > 1000  # ‖σ‖₂²/0.1² records without privacy
    words = CliRunner().invoke(app, example(2)).stdout
    assert words.startswith("records n (found)\t")
    assert "20 (any units)" in words
    done = CliRunner().invoke(app, example(3))
    assert done.exit_code == 0, done.stderr
    errors = [float(line.split("\t")[1]) for line in done.stdout.splitlines()[1:]]
    assert errors == sorted(errors, reverse=True)
    assert "Privacy is free from epsilon = " in done.stderr
    assert (folder / "cost.svg").read_text().startswith("<svg")
