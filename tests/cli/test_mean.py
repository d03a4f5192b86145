"""`dimfree mean`: product to stdout or a file, talk to stderr, exit codes, and nothing half-written."""

import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree.release
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Bounded, Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.cli import app, progress
from dimfree.errors import InvalidDataError
from dimfree.noise import SeededNoise
from dimfree.options import Options
from dimfree.results.release import Release

SECRET = 271828.25
SECRET_TEXT = "271828"
ROWS = 137  # appears nowhere else, so it would show
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


class FakeRelease:
    """Stands in for release_mean: remembers its calls and returns, refuses or raises as told."""

    def __init__(self):
        self.calls = []
        self.outcome = "released"

    def __call__(self, X, **options):
        self.calls.append((X, options))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        relation = Neighbors.parse(options["neighbors"])
        common = {
            "guarantee": Guarantee(options["epsilon"], options["delta"], relation, True),
            "charges": Costs(Budget(options["epsilon"], options["delta"]), relation, (), (Bounded(0.1, 1e-9),)),
            "method": "stable",
            "dimension": X.dimension,
            "columns": X.columns,
            "parameters": {},
        }
        if self.outcome == "refused":
            return Release.from_refusal("Too [few] rows.", **common)
        mean = np.arange(X.dimension) + 0.5
        return Release.released(mean=mean, noise_stddev=np.full(X.dimension, 0.25), **common)


@pytest.fixture
def fake_release(monkeypatch):
    fake = FakeRelease()
    monkeypatch.setattr(dimfree.release, "release_mean", fake)
    return fake


@pytest.fixture
def folder(folder):
    """A folder with a table of secrets and a covariance, as the current one."""
    np.save("data.npy", np.full((ROWS, 2), SECRET))
    np.save("cov.npy", np.ones(2))
    Path("data.csv").write_text("age,income\n" + f"{SECRET},1\n" * ROWS)
    return folder


def run(*args, data="data.npy", expect=0):
    """Run the command; whatever it says, it never says a secret."""
    result = CliRunner().invoke(app, ["mean", data, *BUDGET, "--covariance", "cov.npy", *map(str, args)])
    assert result.exit_code == expect, result.output
    for text in (result.stdout, result.stderr):
        assert SECRET_TEXT not in text
        assert str(ROWS) not in text
        assert "Traceback" not in text
    return result


def sentence_of(*args, expect=2, **kwargs):
    """The one line on stderr of a run that failed."""
    result = run(*args, expect=expect, **kwargs)
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def test_csv_to_stdout_and_talk_to_stderr(folder, fake_release):
    result = run(data="data.csv")
    header, *lines = result.stdout.splitlines()
    assert header == "name,mean,noise_stddev,ci_low,ci_high,ci_covers,noise_to_sd"
    assert [line.split(",")[:3] for line in lines] == [["age", "0.5", "0.25"], ["income", "1.5", "0.25"]]
    for word in ("Released", "epsilon=1.0", "spent", "column", "0.25", "standard output"):
        assert word in result.stderr


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "parquet"])
def test_files_get_the_product_and_stdout_stays_empty(folder, fake_release, kind):
    result = run("-o", f"mean.{kind}", "--json", "release.json")
    assert result.stdout == ""
    assert f"mean.{kind}" in result.stderr
    assert "release.json" in result.stderr
    assert Path(f"mean.{kind}").stat().st_size > 0
    read = Release.from_json(Path("release.json").read_text())
    np.testing.assert_array_equal(read.mean, [0.5, 1.5])
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["data.npy", "data.csv", "cov.npy", f"mean.{kind}", "release.json"]
    )


def test_every_option_reaches_the_release(folder, fake_release):
    run(
        *("--neighbors", "replace-one", "--failure-probability", 0.2),
        *("--outliers", 0.1, "--tails", "gaussian", "--missing", "complete-case"),
        *("--scale", "learn", "--window", 0.5, 1e3),
        *("--objective", "total", "--norm", 2.5),
    )
    [(X, options)] = fake_release.calls
    np.testing.assert_array_equal(options.pop("covariance"), np.ones(2))
    assert options == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "objective": "total",
        "norm": 2.5,
        "neighbors": "replace-one",
        "options": Options(scale="learn", tails="gaussian", outliers=0.1, window=(0.5, 1e3), failure_probability=0.2),
        "missing": "complete-case",
        "privacy_unit": None,
        "max_contributions": None,
        "device": None,
        "basis": "auto",
        "ledger": None,
    }
    assert (X.count, X.dimension) == (ROWS, 2)


def test_a_refusal_is_recorded_but_no_mean_is_written(folder, fake_release):
    fake_release.outcome = "refused"
    result = run("-o", "mean.csv", "--json", "release.json", expect=3)
    assert result.stdout == ""
    assert "Too [few] rows." in result.stderr
    assert "no mean" in result.stderr
    assert not Path("mean.csv").exists()
    assert Release.from_json(Path("release.json").read_text()).refused
    assert run(expect=3).stdout == ""


@pytest.mark.parametrize("option", ["-o", "--json"])
def test_targets_are_checked_before_noise_is_drawn(folder, fake_release, option):
    ending = "json" if option == "--json" else "csv"
    Path(f"old.{ending}").write_text("old")
    Path(f"folder.{ending}").mkdir()
    assert "--force" in sentence_of(option, f"old.{ending}")
    assert "unknown ending" in sentence_of(option, "new.txt")
    assert "folder does not exist" in sentence_of(option, f"none/new.{ending}")
    assert "is a folder" in sentence_of(option, f"folder.{ending}")
    assert fake_release.calls == []
    assert Path(f"old.{ending}").read_text() == "old"
    run(option, f"old.{ending}", "--force")
    assert Path(f"old.{ending}").read_text() != "old"


@pytest.mark.parametrize(("option", "value"), [("--epsilon", "0"), ("--epsilon", "inf"), ("--delta", "1")])
def test_budgets_are_checked_before_the_data_are_read(folder, fake_release, option, value):
    line = sentence_of(option, value, data="missing.npy")
    assert option.strip("-") in line
    assert "missing" not in line


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.csv", f"a,b\n{SECRET},x{SECRET}\n", "column 'b'"),
        ("bad.csv", f"a,b\n{SECRET}\n", "number of cells"),
        ("bad.csv", "", "empty"),
        ("bad.npy", f"{SECRET}", "truncated, damaged"),
        ("bad.npz", f"{SECRET}", "truncated, damaged"),
        ("bad.parquet", f"{SECRET}", "truncated, damaged"),
        ("bad.docx", f"{SECRET}", "unknown ending"),
    ],
)
def test_bad_files_are_one_sentence(folder, fake_release, name, content, words):
    Path(name).write_text(content)
    line = sentence_of("-o", "mean.csv", data=name)
    assert words in line
    assert name in line
    assert not Path("mean.csv").exists()


def test_errors_of_the_release_are_one_sentence(folder, fake_release):
    fake_release.outcome = InvalidDataError("The table has an entry that is not finite.")
    assert sentence_of("-o", "mean.csv", "--json", "r.json") == "The table has an entry that is not finite."
    assert not Path("r.json").exists()


def test_missing_options_and_unknown_ones(folder):
    for args in (["mean", "data.npy"], ["mean", "data.npy", *BUDGET, "--sigma", "1"], ["median"]):
        result = CliRunner().invoke(app, args)
        assert result.exit_code == 2
        assert result.stdout == ""


@pytest.mark.parametrize("error", [ValueError, RuntimeError, MemoryError, OSError])
def test_a_mistake_of_ours_keeps_the_data_inside(folder, fake_release, error):
    fake_release.outcome = error(f"{SECRET}")
    line = sentence_of(expect=1)
    assert error.__name__ in line
    assert "DIMFREE_TRACEBACK" in line


def test_a_mistake_of_ours_can_be_seen_on_request(folder, fake_release, monkeypatch):
    monkeypatch.setenv("DIMFREE_TRACEBACK", "1")
    fake_release.outcome = ValueError("a mistake")
    result = CliRunner().invoke(app, ["mean", "data.npy", *BUDGET])
    assert result.exception is fake_release.outcome


def test_a_terminal_that_is_gone_loses_no_release(monkeypatch):
    """The bar is taken down after the release is paid for and before it is written."""

    def stop(bar):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("rich.progress.Progress.stop", stop)
    with progress.show_progress("Releasing"):
        pass


class FakeTerminal:
    """Remembers whether a progress bar was started."""

    def __init__(self, monkeypatch, terminal):
        self.started = []
        monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda console: terminal))
        monkeypatch.setattr("rich.progress.Progress.start", lambda progress: self.started.append(progress.disable))


@pytest.mark.parametrize(("seconds", "shown"), [(0.0, False), (0.3, True)])
def test_a_bar_shows_only_when_it_takes_long(monkeypatch, seconds, shown):
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    terminal = FakeTerminal(monkeypatch, terminal=True)
    with progress.show_progress("Working"):
        time.sleep(seconds)
    assert terminal.started == ([False] if shown else [])


def test_no_bar_outside_a_terminal(folder, fake_release, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    result = run("-o", "mean.csv")
    assert "Releasing" not in result.stderr
    assert "Reading" not in result.stderr


@pytest.fixture
def gaussian(folder):
    X = np.random.default_rng(42).normal(size=(ROWS * 10, 2)) + SECRET
    np.save("data.npy", X)
    return X


def test_a_real_release(gaussian):
    result = CliRunner().invoke(
        app,
        ["mean", "data.npy", *BUDGET, "--covariance", "cov.npy", "--json", "r.json", "--failure-probability", "1e-6"],
    )
    assert result.exit_code == 0, result.stderr
    release = Release.from_json(Path("r.json").read_text())
    assert release.guarantee.private
    assert np.all(np.abs(release.mean - gaussian.mean(axis=0)) < 10 * release.noise_stddev + 0.2)
    assert result.stdout.count("\n") == 3


def test_real_bad_input(folder):
    np.save("cov.npy", np.array([1.0, -1.0]))
    sentence_of()
    np.save("cov.npy", np.ones(3))
    sentence_of()
    np.save("cov.npy", np.ones(2))
    X = np.full((ROWS, 2), SECRET)
    X[5] = np.nan
    np.save("data.npy", X)
    assert "missing" in sentence_of()
    for option, value in (("--tails", "long"), ("--neighbors", "none"), ("--missing", "neutral")):
        assert repr(value) in sentence_of(option, value)


def test_missing_cells_of_a_file_by_column(folder):
    cells = [["" if (row + column) % 10 == 0 else str(row % 7 + column) for column in range(3)] for row in range(1500)]
    Path("gaps.csv").write_text("\n".join(["a,b,c", *map(",".join, cells)]) + "\n")
    result = CliRunner().invoke(
        app, ["mean", "gaps.csv", *BUDGET, "--missing", "available-case", "--report", "r.html", "--verbose"]
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("name,mean,noise_stddev,ci_low,ci_high,ci_covers,noise_to_sd,present\na,")
    assert "the mean of each column over the people with a value in it" in " ".join(
        result.stderr.replace("│", "").split()
    )
    assert "of the people in the column with the most missing values" in Path("r.html").read_text()


@pytest.mark.parametrize("columns", [3, 200])
def test_the_first_screen_is_the_means_and_what_they_cost(folder, monkeypatch, columns):
    """The means first, at most forty lines in all; the other rows of the card with --verbose."""
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(3))
    table = np.random.default_rng(0).normal(5.0, 1.0, (1200, columns))
    np.savetxt("many.csv", table, delimiter=",", header=",".join(f"c{at}" for at in range(columns)), comments="")
    words = [
        "mean",
        "many.csv",
        "--epsilon",
        "4",
        "--delta",
        "1e-6",
        "--objective",
        "relative",
        "-o",
        "mean.csv",
        "--force",
    ]
    brief = CliRunner(env={"COLUMNS": "120"}).invoke(app, words).stderr.splitlines()
    labels = [line.split()[0] for line in brief if line.strip()]
    assert labels[:3] == ["Released", "column", "c0"]
    assert {"Guarantee:", "budget", "clipping", "written"} <= set(labels)
    assert not {"charges", "method", "estimates"} & set(labels)
    assert len(brief) <= 45
    verbose = CliRunner(env={"COLUMNS": "120"}).invoke(app, [*words, "--verbose"]).stderr
    assert all(f" {label} " in verbose for label in ("charges", "method", "estimates"))
