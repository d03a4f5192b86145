"""`dimfree tradeoff` as a stranger uses it: table, JSON, files, exit codes. Predictions are stood in for, but once."""

import json
import math
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.data import read
from dimfree.planning import tradeoff, tradeoff_chart
from dimfree.planning.question import Prediction
from dimfree.planning.tradeoff import Tradeoff

ALONG = ("--epsilon", "0.5,1,4", "--delta", "1e-6", "--n", "1000", "--d", "6", "--spectrum", "S2")


def invoke(*args):
    return CliRunner().invoke(app, ["tradeoff", *map(str, args)])


def options(**changed):
    """ALONG with options changed; None leaves one out."""
    given = dict(zip(ALONG[::2], ALONG[1::2], strict=True)) | {f"--{name}": value for name, value in changed.items()}
    return [word for pair in given.items() if pair[1] is not None for word in pair]


def leftovers(folder, *expected):
    return sorted(path.name for path in folder.iterdir() if path.name not in expected)


@pytest.fixture
def asked(monkeypatch):
    """Predictions at once, refused below epsilon = 0.6; the questions are kept."""
    questions = []

    def stand_in(question, confidence=0.95):
        questions.append(question)
        noise, refused = 0.02 / question.budget.epsilon, question.budget.epsilon < 0.6
        lengths = (question.sampling, noise, 0.0, math.hypot(question.sampling, noise), 1.0)
        return Prediction(*lengths, refused)

    monkeypatch.setattr(tradeoff, "predict", stand_in)
    return questions


# The table


def test_the_table_is_on_stdout_and_the_talk_on_stderr(asked):
    done = invoke(*ALONG)
    assert done.exit_code == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["epsilon", "error", "sampling", "noise", "error / sampling"]
    assert rows[1][:2] == ["0.5", "refused"]
    sampling = math.sqrt(sum(1 / i**2 for i in range(1, 7)) / 1000)
    assert [float(cell) for cell in rows[2][1:4]] == pytest.approx(
        [math.hypot(sampling, 0.02), sampling, 0.02], rel=5e-3
    )
    talk = done.stderr.replace("\n", " ")
    for words in ("S2, d = 6, n = 1000, delta = 1e-06, add-remove", "Privacy is free from epsilon = "):
        assert words in talk
    assert [question.budget.epsilon for question in asked] == [0.5, 1.0, 4.0]


def test_every_option_arrives(asked):
    rules = ("--knowledge", "covariance", "--neighbours", "replace-one", "--outliers", 0.1)
    more = ("--tails", "gaussian", "--failure-probability", 0.02)
    done = invoke(*options(n="1000,2000", epsilon="1"), *rules, *more)
    assert done.exit_code == 0, done.stderr
    assert [question.count for question in asked] == [1000, 2000]
    first = asked[0]
    assert (first.knowledge, str(first.relation), first.outliers) == ("covariance", "replace-one", 0.1)
    assert (first.tails, first.failure_probability, first.budget.delta) == ("gaussian", 0.02, 1e-6)
    assert "n = 2000" not in done.stderr
    assert done.stdout.startswith("n\terror")


@pytest.mark.usefixtures("asked")
def test_json_is_the_only_thing_on_stdout():
    done = invoke(*ALONG, "--json")
    assert done.exit_code == 0, done.stderr
    found = Tradeoff.from_json(done.stdout)
    assert [row.refused for row in found.rows] == [True, False, False]
    assert 1 < found.knee < 4


@pytest.mark.usefixtures("asked")
def test_a_terminal_gets_a_table_and_a_bar(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    done = invoke(*ALONG)
    assert done.exit_code == 0, done.stderr
    assert "What privacy costs" in done.stdout
    assert "epsilon = 4" in done.stderr or "starting" in done.stderr


# The records


def test_a_spectrum_from_a_file(asked, tmp_path):
    np.save(tmp_path / "spread.npy", np.array([3.0, 4.0]))
    (tmp_path / "spread.csv").write_text("age,income\n3,4\n")
    for name in ("spread.npy", "spread.csv"):
        done = invoke(*options(d=None, spectrum=None), "--spectrum-file", tmp_path / name)
        assert done.exit_code == 0, done.stderr
        assert asked[-1].stddevs.tolist() == [3.0, 4.0]


def test_a_matrix_is_no_spectrum(asked, tmp_path):
    np.save(tmp_path / "spread.npy", np.eye(2))
    done = invoke(*options(d=None, spectrum=None), "--spectrum-file", tmp_path / "spread.npy")
    assert done.exit_code == 2
    assert "one standard deviation for each column" in done.stderr
    assert asked == []


def test_like_a_public_table(asked, tmp_path):
    X = np.random.default_rng(3).normal(5.0, [1.0, 2.0, 3.0], size=(90, 3))
    np.save(tmp_path / "digits.npy", X)
    done = invoke(*options(d=None, spectrum=None), "--like", tmp_path / "digits.npy", "--public")
    assert done.exit_code == 0, done.stderr
    assert asked[-1].stddevs == pytest.approx(X.std(axis=0), rel=0.02)


def test_a_table_not_declared_public_is_not_even_opened(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(read, "read_table", lambda *_: pytest.fail("opened"))
    done = invoke(*options(d=None, spectrum=None), "--like", tmp_path / "digits.npy")
    assert done.exit_code == 2
    assert "Say --public" in done.stderr
    assert asked == []


# Files


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("ending", ["json", "md", "JSON"])
def test_the_numbers_are_written(tmp_path, ending):
    out = tmp_path / f"found.{ending}"
    done = invoke(*ALONG, "-o", out)
    assert done.exit_code == 0, done.stderr
    if ending == "md":
        assert "| 0.5 | refused |" in out.read_text()
    else:
        assert len(Tradeoff.from_json(out.read_text()).rows) == 3
    assert leftovers(tmp_path, out.name) == []


@pytest.mark.usefixtures("asked")
def test_the_chart_shows_the_table(tmp_path):
    chart = tmp_path / "found.vega.json"
    done = invoke(*ALONG, "--chart", chart, "--json")
    assert done.exit_code == 0, done.stderr
    drawn = json.loads(chart.read_text())
    assert tradeoff_chart.figures(Tradeoff.from_json(done.stdout)) in drawn["datasets"].values()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("option", ["--out", "--chart"])
def test_nothing_is_overwritten_without_force(tmp_path, option, monkeypatch):
    mine = tmp_path / "mine.json"
    mine.write_text("mine")
    with monkeypatch.context() as patched:
        patched.setattr(tradeoff, "predict", lambda *_: pytest.fail("predicted in vain"))
        done = invoke(*ALONG, option, mine)
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert mine.read_text() == "mine"
    assert invoke(*ALONG, option, mine, "--force").exit_code == 0
    assert mine.read_text() != "mine"


def interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("where", "name"), [(tradeoff, "predict"), (tradeoff_chart, "chart_bytes")], ids=["running", "drawing"]
)
def test_an_interrupt_leaves_nothing_behind(tmp_path, where, name, monkeypatch):
    monkeypatch.setattr(where, name, interrupt)
    done = invoke(*ALONG, "-o", tmp_path / "found.json", "--chart", tmp_path / "found.svg")
    assert done.exit_code == 130
    assert "half-written" in done.stderr
    assert leftovers(tmp_path) == []


# Bad input


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--epsilon", "one"), "--epsilon 'one'"),
        (("--epsilon", "1,"), "--epsilon '1,'"),
        (("--n", "10.5"), "--n '10.5'"),
        (("--epsilon", "1"), "several values for --n or for --epsilon"),
        (("--n", "10,20"), "only one of --n and --epsilon"),
        (("--epsilon", "1,1"), "every value once"),
        (("--epsilon", "1,-1"), "every entry of it a finite number above 0"),
        (("--d", "0"), "`d` must"),
        (("--spectrum", "S7"), "spectrum='S7'"),
        (("--spectrum-file", "spread.npy"), "--spectrum and --spectrum-file"),
        (("--public",), "--like FILE with --public"),
        (("--neighbours", "cousins"), "`neighbours` must"),
        (("--knowledge", "all"), "`knowledge` must"),
        (("--delta", "2"), "`delta` must"),
        (("--out", "found.txt"), "found.txt"),
        (("--chart", "found.pdf"), "found.pdf"),
        (("--chart", "a.json", "--out", "a.json"), "--out"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(asked, args, words):
    done = invoke(*ALONG, *args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert asked == []


@pytest.mark.parametrize("missing", ["d", "spectrum"])
def test_what_is_missing_is_said_in_options(asked, missing):
    done = invoke(*options(**{missing: None}), "--objective", "total")
    assert done.exit_code == 2
    assert f"--{missing}" in done.stderr
    assert asked == []


@pytest.mark.usefixtures("asked")
def test_without_altair_the_remedy_is_said_first(tmp_path, monkeypatch):
    monkeypatch.setattr(tradeoff_chart.importlib.util, "find_spec", lambda name: None)
    done = invoke(*ALONG, "--chart", tmp_path / "found.svg")
    assert done.exit_code == 2
    assert "pip install 'altair>=" in " ".join(done.stderr.split())


def test_the_budget_has_no_default():
    assert invoke(*options(delta=None)).exit_code == 2
    assert invoke(*options(epsilon=None)).exit_code == 2


# The real thing


def test_the_example_of_the_help_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [line.strip() for line in invoke("--help").stdout.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("dimfree tradeoff "))
    words = shlex.split(" ".join(lines[start : start + 2]).replace("\\ ", ""))
    done = invoke(*words[2:])
    assert done.exit_code == 0, done.stderr
    errors = [float(line.split("\t")[1]) for line in done.stdout.splitlines()[1:]]
    assert errors == sorted(errors, reverse=True)
    assert "Privacy is free from epsilon = " in done.stderr
    assert (tmp_path / "cost.svg").read_text().startswith("<svg")
