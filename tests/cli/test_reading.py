"""`dimfree mean` and its table: columns, text of all kinds, standard input, the schema file, and the question."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dimfree.cli.reading as reading_module
from dimfree.cli import app
from dimfree.data.read import open_table
from dimfree.data.read_options import ReadOptions

BUDGET = ["--epsilon", "50", "--delta", "1e-3"]
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


def columns_of(result):
    assert result.exit_code == 0, result.stderr
    return [line.partition(",")[0] for line in result.stdout.splitlines()[1:]]


def test_text_of_another_kind():
    words = ["--decimal", ",", "--encoding", "latin-1", "--exclude", "patient_id"]
    assert columns_of(run("survey.csv", *words)) == ["größe", "income"]
    assert columns_of(run("survey.csv", *words, "--delimiter", ";")) == ["größe", "income"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["survey.csv"], "--encoding latin-1"),
        (["survey.csv", "--encoding", "latin-1"], "--delimiter ';'"),
        (["survey.csv", "--encoding", "latin-1", "--delimiter", ";", "--exclude", "patient_id"], "--decimal ,"),
        (["people.csv", "--columns", "age,incme"], "Did you mean 'income'?"),
        (["people.csv", "--columns", "age,,income"], "--columns age,income"),
        (["people.csv", "--decimal", "x"], "Expected decimal='x' to be one of"),
        (["people.csv", "--delimiter", "ab"], "Expected delimiter='ab'"),
        (["people.csv", "--encoding", "klingon"], "Expected encoding='klingon'"),
        (["people.csv", "--delimiter", ",", "--decimal", ","], "--delimiter ';'"),
        (["people.csv", "--format", "docx"], "Expected format='docx' to be one of"),
        (["people.npy", "--columns", "a"], "does not exist"),
        (["nowhere://x/y.csv"], "needs a package of its own"),
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
    assert columns_of(result) == ["age", "income"]
    assert "identifier" not in result.stderr


def test_standard_input():
    content = Path("people.csv").read_text()
    expected = columns_of(run("people.csv", "--exclude", "patient_id"))
    assert columns_of(run("-", "--exclude", "patient_id", text=content)) == expected
    lines = [dict(zip(("age", "income"), map(float, line.split(",")[1:]), strict=True)) for line in content.split()[1:]]
    text = "\n".join(map(json.dumps, lines))
    assert columns_of(run("-", "--format", "jsonl", text=text)) == expected
    mistaken = run("-", text=text)
    assert mistaken.exit_code == 2
    assert "standard input cannot be used" in mistaken.stderr
    assert "--format jsonl" in mistaken.stderr
    assert "271828" not in mistaken.stderr


# ------------------------------------------------------------------------------------------------ identifiers


class Terminal:
    def isatty(self):
        return True


def test_identifiers_are_told_of_before_and_after():
    result = run("people.csv")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: 'patient_id' looks like an identifier")
    assert "'patient_id': looks like an identifier" in result.stderr
    assert "Warning" not in run("people.csv", "--yes").stderr


def test_a_terminal_is_asked(monkeypatch):
    suspicious, plain = open_table("people.csv"), open_table("people.csv", ReadOptions(keys=("patient_id",)))
    monkeypatch.setattr(reading_module.sys, "stdin", Terminal())
    monkeypatch.setattr(reading_module.sys, "stderr", Terminal())
    for answer in (True, False):
        monkeypatch.setattr(reading_module.typer, "confirm", lambda *_, answer=answer, **__: answer)
        monkeypatch.setattr(reading_module.typer, "echo", lambda *_, **__: None)
        table = reading_module.DataOptions.of("people.csv", None, yes=False)
        if answer:
            table.confirm(suspicious)
        else:
            with pytest.raises(reading_module.InvalidParameter, match="Nothing was spent"):
                table.confirm(suspicious)
        table.confirm(plain)
        reading_module.DataOptions.of("people.csv", None, yes=True).confirm(suspicious)


# ------------------------------------------------------------------------------------------------ the schema file


def test_a_schema_says_it_once():
    Path("s.toml").write_text('columns = ["größe", "income"]\ndelimiter = ";"\ndecimal = ","\nencoding = "latin-1"\n')
    assert columns_of(run("survey.csv", "--schema", "s.toml")) == ["größe", "income"]
    assert columns_of(run("survey.csv", "--schema", "s.toml", "--columns", "income")) == ["income"]
    Path("s.json").write_text(json.dumps({"exclude": ["patient_id"], "scales": {"age": 1.0, "income": 1.0}}))
    result = run("people.csv", "--schema", "s.json", "--json", "r.json")
    assert columns_of(result) == ["age", "income"]
    variances = ["--covariance", "v.npy"]
    np.save("v.npy", np.ones(2))
    assert json.loads(Path("r.json").read_text())["method"] == json.loads(method_of(variances))


def method_of(words):
    run("people.csv", "--exclude", "patient_id", *words, "--json", "o.json")
    return json.dumps(json.loads(Path("o.json").read_text())["method"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.toml", "columns = [", "check its commas and quotes"),
        ("s.json", "[1]", "expected nothing but columns"),
        ("s.toml", "bounds = 3", "expected nothing but columns"),
        ("s.toml", "[scales]\nage = -1", "a positive number for each column"),
        ("s.toml", "scales = 3", "a positive number for each column"),
        ("s.toml", "[scales]\nage = 1", "for every column that is released: 'income', 'patient_id'"),
        ("s.toml", "columns = 'age'", "Pass a list of column names"),
        ("s.yaml", "", "ending in .toml or .json"),
    ],
)
def test_a_schema_that_cannot_be_used(name, content, said):
    Path(name).write_text(content)
    result = run("people.csv", "--schema", name)
    assert result.exit_code == 2
    assert said in result.stderr
    assert run("people.csv", "--schema", "none.toml").exit_code == 2
