"""`dimfree mean` and its table: columns, text of all kinds, standard input, the schema file, and the question."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree.cli.reading as reading_module
from dimfree.cli import app
from dimfree.cli.reading import describe_bounds
from dimfree.data.read import open_table
from dimfree.data.schema import Bounds, Schema
from dimfree.noise import SeededNoise
from dimfree.results.release import Release

BUDGET = ["--epsilon", "10", "--delta", "1e-3"]
SECRET = 271828.25


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(600, 2)) + [SECRET, 4]
    lines = [f"p{at};{age};{income}" for at, (age, income) in enumerate(rows.tolist())]
    Path("survey.csv").write_text("\n".join(["patient_id;größe;income", *lines]).replace(".", ","), encoding="latin-1")
    lines = [f"{at},{age},{income}" for at, (age, income) in enumerate(rows.tolist())]
    Path("people.csv").write_text("\n".join(["patient_id,age,income", *lines]))


def run(*words, text=None):
    return CliRunner().invoke(app, ["mean", *words, *BUDGET], input=text)


def build_columns(result):
    assert result.exit_code == 0, result.stderr
    return [line.partition(",")[0] for line in result.stdout.splitlines()[1:]]


def test_text_of_another_kind():
    words = ["--decimal", ",", "--encoding", "latin-1", "--exclude", "patient_id"]
    assert build_columns(run("survey.csv", *words)) == ["größe", "income"]
    assert build_columns(run("survey.csv", *words, "--delimiter", ";")) == ["größe", "income"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["survey.csv"], "--encoding latin-1"),
        (["survey.csv", "--encoding", "latin-1"], "--delimiter ';'"),
        (["survey.csv", "--encoding", "latin-1", "--delimiter", ";", "--exclude", "patient_id"], "--decimal ,"),
        (["people.csv", "--columns", "age,incme"], "Did you mean 'income'?"),
        (["people.csv", "--columns", "age,,income"], "--columns age,income"),
        (["people.csv", "--decimal", "x"], "`decimal` must be one of"),
        (["people.csv", "--delimiter", "ab"], "got 'ab'."),
        (["people.csv", "--encoding", "klingon"], "got 'klingon'."),
        (["people.csv", "--delimiter", ",", "--decimal", ","], "--delimiter ';'"),
        (["people.csv", "--format", "docx"], "`format` must be one of"),
        (["people.npy", "--columns", "a"], "does not exist"),
        (["nowhere://x/y.csv"], "Install s3fs for s3://"),
    ],
)
def test_bad_input_is_one_sentence_that_says_what_to_type(words, said):
    result = run(*words, "-o", "m.csv")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "271828" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not Path("m.csv").exists()


def test_columns_by_name():
    result = run("people.csv", "--columns", " income , age", "-o", "-")
    assert build_columns(result) == ["age", "income"]
    assert "identifier" not in result.stderr


def test_standard_input():
    content = Path("people.csv").read_text()
    expected = build_columns(run("people.csv", "--exclude", "patient_id"))
    assert build_columns(run("-", "--exclude", "patient_id", text=content)) == expected
    lines = [dict(zip(("age", "income"), map(float, line.split(",")[1:]), strict=True)) for line in content.split()[1:]]
    text = "\n".join(map(json.dumps, lines))
    assert build_columns(run("-", "--format", "jsonl", text=text)) == expected
    mistaken = run("-", text=text)
    assert mistaken.exit_code == 2
    assert "standard input cannot be used" in mistaken.stderr
    assert "--format jsonl" in mistaken.stderr
    assert "271828" not in mistaken.stderr


class Terminal:
    def isatty(self):
        return True


def test_identifiers_are_told_of_before_and_after():
    result = run("people.csv")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: 'patient_id' looks like an identifier")
    assert "'patient_id' looks like an identifier" in result.stderr.split("Released")[-1]
    assert "Warning" not in run("people.csv", "--yes").stderr


def test_a_terminal_is_asked(monkeypatch):
    suspicious, plain = open_table("people.csv"), open_table("people.csv", Schema(keys=("patient_id",)))
    monkeypatch.setattr(reading_module.sys, "stdin", Terminal())
    monkeypatch.setattr(reading_module.sys, "stderr", Terminal())
    for answer in (True, False):
        monkeypatch.setattr(reading_module.typer, "confirm", lambda *_, answer=answer, **__: answer)
        monkeypatch.setattr(reading_module.typer, "echo", lambda *_, **__: None)
        table = reading_module.Data("people.csv", None, False, Schema())
        if answer:
            table.confirm(suspicious)
        else:
            with pytest.raises(reading_module.InvalidParameterError, match="No budget was charged"):
                table.confirm(suspicious)
        table.confirm(plain)
        reading_module.Data("people.csv", None, True, Schema()).confirm(suspicious)


STRICT = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (["--epsilon", "500", "--delta", "1e-6"], "Warning: epsilon = 500 gives little protection"),
        (["--epsilon", "1", "--delta", "0.1"], "Warning: delta = 0.1 is large: "),
        ([*STRICT[:3], "0.0009", "--neighbors", "replace-one"], "Warning: delta = 0.0009 is large for the public"),
    ],
)
def test_a_weak_guarantee_is_told_of_once_and_first(budget, said):
    Path("many.csv").write_text("age\n" + "41.5\n" * 400)
    done = CliRunner().invoke(app, ["mean", "many.csv", *budget])
    assert done.stderr.startswith(said)
    assert done.stderr.split("Released")[0].count("Warning") == 1


def test_a_weak_guarantee_is_told_of_before_the_table_is_read():
    done = CliRunner().invoke(app, ["mean", "no_such_file.csv", "--epsilon", "500", "--delta", "1e-6"])
    assert done.stderr.startswith("Warning: epsilon = 500")
    assert done.exit_code == 2


def test_a_terminal_is_asked_whether_to_release_with_a_weak_guarantee(monkeypatch):
    asked = []
    monkeypatch.setattr(sys.modules["dimfree.cli.mean"], "ask_user", asked.append)  # answers no
    weak = ["mean", "people.csv", "--exclude", "patient_id", "--epsilon", "500", "--delta", "1e-6"]
    done = CliRunner().invoke(app, weak)
    assert (done.exit_code, len(asked)) == (2, 1)
    assert "No budget was charged" in done.stderr
    assert CliRunner().invoke(app, [*weak, "--yes"]).exit_code == 0
    assert CliRunner().invoke(app, [*weak[:4], *STRICT]).exit_code == 0
    assert len(asked) == 1


def test_a_schema_says_it_once():
    Path("s.toml").write_text('columns = ["größe", "income"]\ndelimiter = ";"\ndecimal = ","\nencoding = "latin-1"\n')
    assert build_columns(run("survey.csv", "--schema", "s.toml")) == ["größe", "income"]
    assert build_columns(run("survey.csv", "--schema", "s.toml", "--columns", "income")) == ["income"]
    Path("s.json").write_text(json.dumps({"exclude": ["patient_id"], "scales": {"age": 1.0, "income": 1.0}}))
    result = run("people.csv", "--schema", "s.json", "--json", "r.json")
    assert build_columns(result) == ["age", "income"]
    variances = ["--covariance", "v.npy"]
    np.save("v.npy", np.ones(2))
    assert json.loads(Path("r.json").read_text())["method"] == json.loads(method_of(variances))


def method_of(words):
    run("people.csv", "--exclude", "patient_id", *words, "--json", "o.json")
    return json.dumps(json.loads(Path("o.json").read_text())["method"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.toml", "columns = [", "Check its commas and quotes"),
        ("s.json", "[1]", "only columns"),
        ("s.toml", "limits = 3", "only columns"),
        ("s.toml", "bounds = 3", "must map column names to [low, high]"),
        ("s.toml", "[bounds]\nage = 3", "`bounds` of 'age' must be [low, high]"),
        ("s.toml", "[bounds]\nage = [1]", "`bounds` of 'age' must be [low, high]"),
        ("s.toml", "[bounds]\nage = [0, inf]", "two finite numbers, low below high"),
        ("s.json", '{"bounds": {"age": [NaN, 1]}}', "two finite numbers, low below high"),
        ("s.toml", "[bounds]\nage = [0, true]", "two finite numbers, low below high"),
        ("s.toml", "[bounds]\nage = [1, 1]", "two finite numbers, low below high"),
        ("s.toml", "[bounds]\nagee = [0, 1]", "Did you mean 'age'?"),
        ("s.toml", "[scales]\nage = -1", "a positive number per column"),
        ("s.toml", "scales = 3", "a positive number per column"),
        ("s.toml", "[scales]\nage = 1", "for every released column, also for 'income', 'patient_id'"),
        ("s.toml", "columns = 3", "Pass a column name, or a list of them"),
        ("s.yaml", "", "must end in .toml or .json"),
    ],
)
def test_a_schema_that_cannot_be_used(name, content, said):
    Path(name).write_text(content)
    result = run("people.csv", "--schema", name)
    assert result.exit_code == 2
    assert said in result.stderr
    assert run("people.csv", "--schema", "none.toml").exit_code == 2


@pytest.fixture
def seeded(monkeypatch):
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(7))


def held_table(low, high):
    """people.csv with the ages held by hand, as held.csv."""
    lines = Path("people.csv").read_text().split()
    rows = [line.split(",") for line in lines[1:]]
    ages = [repr(min(max(float(age), low), high)) for _, age, _ in rows]
    held = [f"{who},{age},{income}" for (who, _, income), age in zip(rows, ages, strict=True)]
    Path("held.csv").write_text("\n".join([lines[0], *held]))


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("words", [["--exclude", "patient_id"], ["--privacy-unit", "patient_id"], ["--columns", "age"]])
def test_bounds_hold_entries_and_are_told(words):
    low, high = int(SECRET) - 0.5, int(SECRET) + 1
    held_table(low, high)
    Path("b.toml").write_text(f"[bounds]\nage = [{low}, {high}]\npatient_id = [0, 1]\n")
    result = run("people.csv", "--schema", "b.toml", *words, "--json", "r.json", "--report", "r.html")
    wanted = run("held.csv", "--schema", "b.toml", *words, "--json", "w.json")
    assert build_columns(result) == build_columns(wanted)
    assert result.stdout == wanted.stdout
    said = " ".join(result.stderr.replace("│", " ").split())
    assert f"age {low:.15g} to {high:.15g}: values outside count as the bound" in said
    assert "patient_id 0" not in said
    release = Release.from_json(Path("r.json").read_text())
    assert json.loads(release.parameters["bounds"]) == {"age": [low, high]}
    assert Path("w.json").read_text() == Path("r.json").read_text()
    assert "public bounds of columns" in Path("r.html").read_text()


def test_many_bounds_stay_a_short_row():
    rows = dict(describe_bounds(Bounds.from_arguments({f"c{at}": (0, at + 1) for at in range(30)})))
    assert "c7 0 to 8; and 22 more: values outside" in rows["bounds"]


def test_the_format_that_was_asked_for_is_named():
    Path("t.csv").write_text("age,income\n1,2\n")
    assert "t.csv cannot be read as .parquet" in run("t.csv", "--format", "parquet").stderr
