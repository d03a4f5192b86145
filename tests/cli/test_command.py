"""The `dimfree` command as a process: help, version, exit codes, interrupts, and a start without heavy imports."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree
import dimfree.cli
from dimfree.noise import SeededNoise

SOURCE = Path(dimfree.__file__).resolve().parent
MAIN = "from dimfree.cli import main; main()"
BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


def environment():
    # Unbuffered output would hide a missing flush.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": str(SOURCE.parent), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def command(*args, code=MAIN, cwd=None, **kwargs):
    return subprocess.run(
        [sys.executable, "-c", code, *args], env=environment(), cwd=cwd, capture_output=True, text=True, **kwargs
    )


def test_help_teaches_with_an_example():
    shown = CliRunner().invoke(dimfree.cli.app, ["mean", "--help"])
    assert shown.exit_code == 0
    for words in ("dimfree mean people.csv", "--epsilon", "--covariance variances.csv", "Exit code 0", "--force"):
        assert words in shown.stdout
    assert "mean" in command("--help").stdout


def test_the_examples_of_the_help_run(tmp_path, monkeypatch):
    X = np.random.default_rng(42).normal(size=(2000, 2)) * [12, 3e4] + [40, 5e4]
    np.savetxt(tmp_path / "people.csv", X, delimiter=",", header="age,income", comments="")
    visits = [f"patient-{person % 1500},{age},{income}" for person, (age, income) in enumerate(X.tolist())]
    (tmp_path / "visits.csv").write_text("\n".join(["patient_id,age,income", *visits]))
    survey = [f"p{at};{age};{income}".replace(".", ",") for at, (age, income) in enumerate(X.tolist())]
    (tmp_path / "survey.csv").write_text("\n".join(["patient_id;age;income", *survey]))
    staff = [f"{age},{income},{('north', 'south', 'west')[row % 3]}" for row, (age, income) in enumerate(X.tolist())]
    (tmp_path / "staff.csv").write_text("\n".join(["age,income,region", *staff]))
    monkeypatch.chdir(tmp_path)
    done = [CliRunner().invoke(dimfree.cli.app, words) for words in commands_of_the_help(tmp_path)]
    assert len(done) == 9
    assert {each.exit_code for each in done} <= {0, 3}  # real noise: once in a hundred runs good data are refused
    assert all(each.exit_code == 0 or "Refused" in each.stderr for each in done)
    assert done[4].exit_code == 3 or done[4].stdout.startswith(
        "name,mean,noise_stddev,ci_low,ci_high,ci_covers,noise_to_sd\nage,"
    )  # the visits
    for means, start in (
        ("mean.csv", "name"),
        ("columns.csv", "name"),
        ("better.csv", "name"),
        ("means.csv", "group,name"),
    ):
        if Path(means).exists():
            assert Path(means).read_text().startswith(f"{start},mean,noise_stddev,ci_low,")
    assert Path("release.json").exists()


def commands_of_the_help(folder):
    """The arguments of every example, as a shell splits them; the files that `echo` writes are there afterwards."""
    lines = CliRunner().invoke(dimfree.cli.app, ["mean", "--help"]).stdout.splitlines()
    end = next(i for i, line in enumerate(lines) if line.strip().startswith("Exit code"))
    script = "\n".join(line.rstrip() for line in lines[:end] if line.strip().startswith(("echo ", "dimfree ", "-")))
    shell = f'dimfree() {{ printf "%s\\n" "$#" "$@" >> examples.txt; }}\n{script}\n'
    subprocess.run(["sh", "-c", shell], cwd=folder, check=True)
    words = iter((folder / "examples.txt").read_text().splitlines())
    return [[next(words) for _ in range(int(count))] for count in words]


def test_version():
    assert command("--version").stdout.strip() == f"dimfree {dimfree.__version__}"


def test_the_command_line_itself_imports_nothing_heavy():
    # A bare package stands in for dimfree/__init__.py, so that only the command line is measured.
    code = f"""
import sys, types
package = types.ModuleType("dimfree")
package.__path__, package.__version__ = [{str(SOURCE)!r}], "0"
sys.modules["dimfree"] = package
import dimfree.cli
heavy = {{"numpy", "scipy", "opendp", "sklearn", "pandas", "pyarrow"}} & set(sys.modules)
sys.exit(f"imported {{heavy}}" if heavy else 0)
"""
    done = command(code=code)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_device_behind_stdout_is_no_traceback(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(42).normal(size=(2000, 2)))
    np.save(tmp_path / "c.npy", np.ones(2))
    answered = ["mean", "x.npy", *BUDGET, "--covariance", "c.npy", "--failure-probability", "1e-6"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *answered],
            env=environment(),
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert "standard output" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    [rescued] = tmp_path.glob("dimfree-rescue-*.json")
    assert str(rescued) in done.stderr
    assert dimfree.Release.from_json(rescued.read_text()).mean.shape == (2,)


COMMANDS = ([], ["mean"], ["plan"], ["report"], ["audit"], ["ledger"], ["ledger", "show"])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_flag_asks_for_a_value(command):
    done = CliRunner().invoke(dimfree.cli.app, [*command, "--help"], env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert "--help" in done.stdout
    assert "<bool>" not in done.stdout


def complete(words: str) -> list[str]:
    asked = {"_DIMFREE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", MAIN], env={**environment(), **asked}, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_a_shell_completes_commands_and_options():
    assert complete("dimfree re") == ["report"]
    assert complete("dimfree mean --obj") == ["--objective"]


def mean(*arguments):
    return CliRunner().invoke(dimfree.cli.app, ["mean", *map(str, arguments), *BUDGET])


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "mps"])
def test_unknown_devices(tmp_path, name):
    result = mean(tmp_path / "not-there.npy", "--device", name)
    assert result.exit_code == 2
    assert "must be 'cpu', 'cuda'" in " ".join(result.stderr.split())


def test_a_device_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = mean(tmp_path / "not-there.npy", "--device", "cuda")
    assert result.exit_code == 2
    assert "pip install 'torch>=" in " ".join(result.stderr.split())


def test_the_cpu_by_name_and_no_groups(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(3).standard_normal((3, 2)))
    assert mean(tmp_path / "t.npy", "--device", "cpu").exit_code == 3  # too few: refused, as without the option
    (tmp_path / "names.txt").write_text("a\nb\n")
    result = mean(tmp_path / "t.npy", "--device", "cpu", "--by", "g", "--groups", tmp_path / "names.txt")
    assert result.exit_code == 2
    assert "--device cpu cannot be used with --by" in " ".join(result.stderr.split())


@pytest.fixture
def odd_names(folder, monkeypatch):
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(3))
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(60, 12, 800), rng.lognormal(1, 1, 800), np.zeros((800, 12))])
    names = ",".join(["age", "crp", *(f"[red]none {i}" for i in range(12))])
    np.savetxt("people.csv", table, delimiter=",", header=names, comments="")
    return folder


def card(*words) -> str:
    done = CliRunner(env={"COLUMNS": "120"}).invoke(
        dimfree.cli.app, ["mean", "people.csv", "--delta", "1e-6", "--verbose", *words]
    )
    assert done.exit_code == 0, done.output
    return " ".join(done.stderr.replace("│", " ").split())


def test_unresolved_columns_are_named_as_they_are_and_cut_short(odd_names):
    words = card("--epsilon", "4")
    assert "[red]none 0, [red]none 1" in words
    assert "and 4 more" in words
    assert "[red]none 11" not in words.split("SD not estimated")[1].split("clipping")[0]
