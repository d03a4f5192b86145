"""`dimfree ledger`, and `dimfree mean --ledger`: a budget on disk from the command line."""

import csv
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree import PrivacyLedger
from dimfree.cli import app

runner = CliRunner()
DATASET = ["--dataset", "trial-7"]


@pytest.fixture
def ledger_file(tmp_path: Path) -> str:
    path = str(tmp_path / "study.db")
    made = runner.invoke(app, ["ledger", "create", path, *DATASET, "--epsilon", "3", "--delta", "1e-5"])
    assert made.exit_code == 0, made.output
    return path


@pytest.fixture
def table(tmp_path: Path) -> str:
    X = np.random.default_rng(3).normal(size=(300, 2))
    np.savetxt(tmp_path / "people.csv", X, delimiter=",", header="age,income", comments="")
    np.savetxt(tmp_path / "spread.csv", [[1, 1]], delimiter=",", header="age,income", comments="")
    return str(tmp_path / "people.csv")


def mean(table: str, *rest: str, epsilon: str = "1"):
    spread = str(Path(table).parent / "spread.csv")
    options = ["--epsilon", epsilon, "--delta", "1e-6", "--covariance", spread, *rest]
    return runner.invoke(app, ["mean", table, *options])


def test_create_prints_the_head_and_never_twice(ledger_file: str) -> None:
    again = runner.invoke(app, ["ledger", "create", ledger_file, *DATASET, "--epsilon", "3", "--delta", "1e-5"])
    assert again.exit_code == 2
    assert "never changes" in again.stderr
    other = runner.invoke(app, ["ledger", "create", ledger_file, "--dataset", "b", "--epsilon", "1", "--delta", "1e-6"])
    assert other.stdout.strip() == PrivacyLedger(ledger_file, "b").head


def test_mean_charges_the_ledger_and_stops_at_its_end(ledger_file: str, table: str) -> None:
    first = mean(table, "--ledger", ledger_file, *DATASET, "--purpose", "table 2")
    assert first.exit_code in (0, 3), first.stderr
    assert "trial-7" in first.stderr
    too_much = mean(table, "--ledger", ledger_file, *DATASET, epsilon="4")
    assert too_much.exit_code == 2
    assert "up to epsilon 2.0 (delta 1e-06). No budget was charged" in too_much.stderr
    shown = runner.invoke(app, ["ledger", "show", ledger_file, *DATASET])
    assert shown.exit_code == 0
    assert "1 charge: epsilon 1 of 3 is spent at delta 1e-05; the next release may use up to" in shown.stdout
    summary = json.loads(runner.invoke(app, ["ledger", "show", ledger_file, "--json"]).stdout)
    named = ("dataset", "charges", "spent_epsilon", "next_epsilon", "next_delta")
    assert [tuple(each[name] for name in named) for each in summary] == [("trial-7", 1, 1.0, 2.0, 1e-6)]


@pytest.mark.parametrize("half", [["--ledger", "study.db"], ["--dataset", "d"], ["--purpose", "p"]])
def test_half_a_ledger_is_an_error(table: str, half: list[str]) -> None:
    done = mean(table, *half)
    assert done.exit_code == 2
    assert "--ledger FILE and --dataset NAME" in done.stderr


def test_a_ledger_is_not_made_by_mean(table: str, tmp_path: Path) -> None:
    done = mean(table, "--ledger", str(tmp_path / "typo.db"), *DATASET)
    assert done.exit_code == 2
    assert "ledger create" in done.stderr
    assert not (tmp_path / "typo.db").exists()


def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path: Path, ledger_file: str) -> None:
    PrivacyLedger(ledger_file, "=1+1", epsilon=1.0, delta=1e-6)
    done = runner.invoke(app, ["ledger", "export", ledger_file, "--dataset", "=1+1", "-o", str(tmp_path / "rows.csv")])
    assert done.exit_code == 0, done.stderr
    with (tmp_path / "rows.csv").open() as file:
        assert [line["dataset"] for line in csv.DictReader(file)] == ["'=1+1"]


def test_verify_says_which_entry_is_wrong(ledger_file: str) -> None:
    ledger = PrivacyLedger(ledger_file, "trial-7")
    ledger.debit(0.5, 1e-7)
    fine = runner.invoke(app, ["ledger", "verify", ledger_file, *DATASET, "--head", ledger.head])
    assert (fine.exit_code, fine.stdout.strip()) == (0, ledger.head)
    kept = runner.invoke(app, ["ledger", "verify", ledger_file, *DATASET, "--head", "0" * 64])
    assert kept.exit_code == 1
    with sqlite3.connect(ledger_file) as connection:
        [trigger] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_never_change'").fetchone()
        connection.execute("DROP TRIGGER entries_never_change")
        connection.execute("UPDATE entries SET body = replace(body, '0.5', '0.1') WHERE number = 1")
        connection.execute(trigger)
    wrong = runner.invoke(app, ["ledger", "verify", ledger_file, *DATASET])
    assert wrong.exit_code == 1
    assert "Entry 1 was changed" in wrong.stderr


def test_export_holds_every_entry(ledger_file: str, tmp_path: Path) -> None:
    PrivacyLedger(ledger_file, "trial-7").debit(0.5, 1e-7)
    for out in ("rows.csv", "rows.json"):
        done = runner.invoke(app, ["ledger", "export", ledger_file, *DATASET, "-o", str(tmp_path / out)])
        assert done.exit_code == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    with (tmp_path / "rows.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [row["digest"] for row in rows] == [line["digest"] for line in lines]
    assert rows[1]["body"]["epsilon"] == json.loads(lines[1]["body"])["epsilon"] == 0.5
    again = runner.invoke(app, ["ledger", "export", ledger_file, *DATASET, "-o", str(tmp_path / "rows.csv")])
    assert again.exit_code == 2
    assert json.loads(runner.invoke(app, ["ledger", "export", ledger_file, *DATASET]).stdout) == rows


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_missing_data_set_is_named(ledger_file: str, command: str) -> None:
    done = runner.invoke(app, ["ledger", command, ledger_file, "--dataset", "trial-8"])
    assert done.exit_code == 2
    assert "'trial-8'" in done.stderr
    assert "'trial-7'" in done.stderr


def test_a_folder_or_a_text_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("text " * 100)
    for path in (tmp_path, tmp_path / "x.db", tmp_path / "none.db"):
        done = runner.invoke(app, ["ledger", "show", str(path)])
        assert done.exit_code == 2
        assert str(path) in done.stderr
