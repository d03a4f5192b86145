"""`dimfree audit` as a stranger uses it: table, report, exit codes."""

import pytest
from typer.testing import CliRunner

import dimfree.cli
from dimfree.audit import attack
from dimfree.audit.attack import Row

HELD = Row("per column, add-remove", 1.0, 0.01, 0.9, 3, 100)
BROKEN = Row("known covariance, replace-one", 1.0, 0.01, 2.0, 3, 100, "violated", "far")
ROWS = {row.call: row for row in (HELD, BROKEN)}


@pytest.fixture
def broken(monkeypatch):
    """An installation with one call that holds its claim and one that does not."""
    monkeypatch.setattr(attack, "calls", lambda _: list(ROWS))
    monkeypatch.setattr(attack, "attack", lambda name, *_: ROWS[name])


def invoke(*args):
    return CliRunner().invoke(dimfree.cli.app, ["audit", *args])


def test_a_violation_is_exit_1_and_in_the_table(broken):
    done = invoke()
    assert done.exit_code == 1
    assert "violated" in done.stdout
    assert "1 held, 1 violated" in done.stderr.replace("\n", " ")


def test_nothing_found_is_exit_0(broken):
    done = invoke("--call", "per column")
    assert done.exit_code == 0
    assert "known" not in done.stdout
    assert done.stdout.splitlines()[1].split("\t")[:4] == ["per column, add-remove", "1", "0.01", "0.9"]


def test_a_real_check_runs():
    done = invoke("--call", "invalid rows", "--budget", "0.01")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1].split("\t")[6] == "no time"


def test_a_report_is_written_even_of_a_violation_and_never_over_another(broken, tmp_path):
    page = tmp_path / "audit.html"
    assert invoke("--report", str(page)).exit_code == 1
    assert "<td>far</td>" in page.read_text()
    page.write_text("mine")
    refused = invoke("--report", str(page))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert page.read_text() == "mine"
    assert invoke("--report", str(page), "--force").exit_code == 1
    assert page.read_text() != "mine"


BAD = [("--call", "nothing"), ("--budget", "-1"), ("--report", "audit.txt"), ("--budget", "nan"), ("--epsilon", "99")]


@pytest.mark.parametrize("args", BAD)
def test_bad_input_is_one_sentence_and_exit_2(broken, args):
    done = invoke(*args)
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_names_are_listed():
    shown = invoke("--list").stdout.splitlines()
    assert "per column, replace-one" in shown
    assert len(shown) == len(set(shown)) > 12
