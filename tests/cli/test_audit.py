"""`dimfree audit` as a stranger uses it: table, report, exit codes."""

import json

import pytest
from typer.testing import CliRunner

import dimfree.cli
from dimfree.audit import run
from dimfree.audit.row import Check, Row

HELD = Row("bit", "exact", 1.0, 0.01, 0.9, 3, 0, "held", "", 0.0)
BROKEN = Row("sum", "sampled", 1.0, 0.01, 2.0, 3, 100, "violated", "far outlier", 0.0)


@pytest.fixture
def broken(monkeypatch):
    """An installation with one mechanism that holds and one that does not."""
    rows = [HELD, BROKEN]
    monkeypatch.setattr(run, "checks", lambda *_: [Check(r.mechanism, r.how, lambda _, r=r: r) for r in rows])


def invoke(*args):
    return CliRunner().invoke(dimfree.cli.app, ["audit", *args])


def test_a_violation_is_exit_1_and_in_the_table(broken):
    done = invoke()
    assert done.exit_code == 1
    assert "violated" in done.stdout
    assert "1 held, 1 violated" in done.stderr.replace("\n", " ")


def test_nothing_found_is_exit_0(broken):
    done = invoke("--mechanism", "bit")
    assert done.exit_code == 0
    assert "sum" not in done.stdout
    assert done.stdout.splitlines()[1].split("\t")[:5] == ["bit", "exact", "1", "0.01", "0.9"]


def test_a_real_check_runs(tmp_path):
    done = invoke("--mechanism", "count (Laplace)", "--budget", "2", "--report", str(tmp_path / "audit.json"))
    assert done.exit_code == 0, done.stderr
    rows = json.loads((tmp_path / "audit.json").read_text())["rows"]
    assert [row["epsilon"] for row in rows if row["how"] == "exact"] == [0.5, 1.0, 3.0]
    assert all(0 < row["lower_bound"] <= row["epsilon"] for row in rows)


def test_a_report_is_written_even_of_a_violation_and_never_over_another(broken, tmp_path):
    page = tmp_path / "audit.html"
    assert invoke("--report", str(page)).exit_code == 1
    assert "far outlier" in page.read_text()
    page.write_text("mine")
    refused = invoke("--report", str(page))
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert page.read_text() == "mine"
    assert invoke("--report", str(page), "--force").exit_code == 1
    assert page.read_text() != "mine"


@pytest.mark.parametrize(
    "args", [("--mechanism", "nothing"), ("--budget", "-1"), ("--report", "audit.txt"), ("--budget", "nan")]
)
def test_bad_input_is_one_sentence_and_exit_2(broken, args):
    done = invoke(*args)
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_names_are_listed():
    shown = invoke("--list").stdout.splitlines()
    assert "stable histogram" in shown
    assert len(shown) == len(set(shown)) > 15
