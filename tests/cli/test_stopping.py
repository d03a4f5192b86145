"""`dimfree mean` stopped at every step by Ctrl-C, SIGTERM or SIGHUP: all outputs or none, and true words about both."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dimfree
from dimfree import Ledger
from dimfree.cli import app, mean_groups, mean_one
from dimfree.data import read
from dimfree.ledger import ledger
from dimfree.ledger.filter import Account
from dimfree.report import page
from dimfree.results import writing
from dimfree.results.drafts import Draft

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
OUTPUTS = ("mean.csv", "release.json", "page.html")
PROOFS = len(OUTPUTS)  # one file each is made and removed before anything is charged


@pytest.fixture(autouse=True)
def folder(people, monkeypatch):
    """A table, a ledger, and an old file at the place of every output."""
    Ledger("study.db", "trial-7", epsilon=9, delta=1e-4)
    for name in OUTPUTS:
        Path(name).write_text("old")
    monkeypatch.setattr(page, "report_html", lambda *_, **__: "<!doctype html>")
    return people


@pytest.fixture(autouse=True)
def survive():
    """A signal that the command does not handle fails a test and does not end the whole run."""

    def unhandled(number, frame):
        raise AssertionError(f"signal {number} was not handled")

    before = {number: signal.signal(number, unhandled) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def command(grouped):
    words = ["mean", "staff.csv" if grouped else "people.csv", "--epsilon", "2", "--delta", "1e-6"]
    words += ["--group-by", "region", "--groups", "regions.txt"] if grouped else []
    words += ["--covariance", "variances.npy", "--ledger", "study.db", "--dataset", "trial-7"]
    return [*words, "-o", "mean.csv", "--json", "release.json", "--report", "page.html", "--force"]


def run(*more, grouped=False):
    result = CliRunner().invoke(app, [*command(grouped), *more])
    assert "Traceback" not in result.output
    return result


def debits():
    return Ledger("study.db", "trial-7").account().debits


def sending(number, function, *, nth=1, after=False):
    """The function, which sends the signal to this process before or after its nth call."""
    calls = []

    def called(*args, **kwargs):
        calls.append(1)
        if len(calls) == nth and not after:
            os.kill(os.getpid(), number)
        found = function(*args, **kwargs)
        if len(calls) == nth and after:
            os.kill(os.getpid(), number)
        return found

    return called


# name: what is patched, how often it is called before, whether the signal follows the call, charged?, written?
STEPS = {
    "the table is read": (read, "open_table", 1, False, False, False),
    "the debit is being decided": (Account, "decide", 1, False, True, False),
    "the debit is on disk": (ledger.Ledger, "charge", 1, True, True, False),
    "the release is made": (ledger.Charged, "noted", 1, True, True, False),
    "the page is made": (page, "report_html", 1, False, True, False),
    "the first draft is written": (os, "fsync", PROOFS + 1, False, True, False),
    "the last draft is written": (os, "fsync", PROOFS + 3, True, True, False),
    "the first file gets its name": (Draft, "publish", 1, False, True, True),
    "one file has its name": (Draft, "publish", 1, True, True, True),
    "two files have their names": (Draft, "publish", 2, True, True, True),
    "all files have their names": (Draft, "publish", 3, True, True, True),
    "the card is shown": (mean_one, "show_card", 1, False, True, True),
}
GROUPED = [step for step in STEPS if step != "the table is read"]


EVERY_STEP = [(step, signal.SIGTERM) for step in STEPS]
OTHER_SIGNALS = [(step, number) for step in ("the release is made", "one file has its name") for number in SIGNALS[::2]]


@pytest.mark.parametrize(("step", "number"), EVERY_STEP + OTHER_SIGNALS)
def test_stopped_at_any_step(monkeypatch, step, number):
    where, name, nth, after, charged, written = STEPS[step]
    monkeypatch.setattr(where, name, sending(number, getattr(where, name), nth=nth, after=after))
    check(run(), number, charged, written)


@pytest.mark.parametrize("step", GROUPED)
def test_groups_stopped_at_any_step(monkeypatch, step):
    where, name, nth, after, charged, written = STEPS[step]
    where = mean_groups if where is mean_one else where
    monkeypatch.setattr(where, name, sending(signal.SIGTERM, getattr(where, name), nth=nth, after=after))
    check(run(grouped=True), signal.SIGTERM, charged, written)


def check(result, number, charged, written):
    assert result.exit_code == 128 + number, result.output
    assert debits() == charged
    found = [Path(name).read_text() != "old" for name in OUTPUTS]
    assert found == [written] * 3
    assert not list(Path().glob(".*"))  # nor drafts, nor what was replaced
    words = " ".join(result.stderr.split())
    assert "Interrupted" in words
    assert ("no mean is out" in words) == (not written)
    assert ("everything is written: mean.csv, release.json, page.html." in words) == written
    assert ("epsilon=2.0 and delta=1e-06, entry 1 of 'trial-7'" in words) == charged
    assert ("No ledger was charged" in words) == (not charged)


def test_a_mean_that_is_being_printed_may_be_out(monkeypatch):
    monkeypatch.setattr(writing, "_print", sending(signal.SIGHUP, lambda text: None))
    result = run("-o", "-")
    assert result.exit_code == 129
    assert "part of the mean may be out on standard output; release.json, page.html written." in result.stderr


def test_an_error_after_the_debit_says_that_it_is_spent(monkeypatch):
    def fail(*_, **__):
        raise dimfree.LostWorkers("The workers are gone. Nothing was released.")

    monkeypatch.setattr(ledger.Charged, "noted", fail)
    result = run()
    assert result.exit_code == 2
    assert "Nothing was released. Charged to the ledger and spent: epsilon=2.0" in result.stderr
    monkeypatch.setattr(ledger.Ledger, "charge", fail)
    assert "Charged" not in run().stderr


def test_other_commands_are_stopped_alike(monkeypatch):
    monkeypatch.setattr(ledger, "datasets_in", sending(signal.SIGTERM, ledger.datasets_in))
    result = CliRunner().invoke(app, ["ledger", "show", "study.db"])
    assert (result.exit_code, result.stderr) == (143, "Interrupted; no file is half-written.\n")


SCRIPT = """
import os, sys
number, step = int(sys.argv.pop(1)), sys.argv.pop(1)
from dimfree.results.drafts import Draft
whole = getattr(Draft, step)
def sent(self):
    whole(self)
    if self.path.name == "release.json" and not self.content.startswith(b"\\0"):
        os.kill(os.getpid(), number)
setattr(Draft, step, sent)
from dimfree.cli import main
main()
"""


@pytest.mark.parametrize(("number", "step"), [(signal.SIGTERM, "write"), (signal.SIGHUP, "publish")])
def test_the_process_itself(folder, number, step):
    done = process(number, step, command(grouped=False))
    written = step == "publish"
    assert done.returncode == 128 + number, done.stderr
    assert [Path(name).read_text() != "old" for name in OUTPUTS] == [written] * 3
    assert not list(folder.glob(".*"))
    assert "Traceback" not in done.stderr
    assert ("no mean is out" in done.stderr) != written


def test_what_a_killed_process_leaves_is_swept_by_the_next(folder):
    done = process(signal.SIGKILL, "write", command(grouped=False))
    assert done.returncode == -signal.SIGKILL
    assert [Path(name).read_text() for name in OUTPUTS] == ["old"] * 3
    assert len(list(folder.glob(".dimfree-*.part"))) == 2
    assert run().exit_code == 0
    assert not list(folder.glob(".*"))


def process(number, step, words):
    source = str(Path(dimfree.__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}
    words = [sys.executable, "-c", SCRIPT, str(int(number)), step, *words]
    return subprocess.run(words, env=environment, capture_output=True, text=True)
