"""`dimfree mean` stopped at every step by Ctrl-C, SIGTERM or SIGHUP: each output whole or not there, and true words."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dimfree
from dimfree import PrivacyLedger
from dimfree.cli import app
from dimfree.cli.course import defer_signals
from dimfree.data import read
from dimfree.ledger import ledger
from dimfree.ledger.filter import Account
from dimfree.report import page
from dimfree.results import tables, writing

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
OUTPUTS = ("release.json", "mean.csv", "page.html")  # in the order in which they are written
PROOFS = len(OUTPUTS)  # one file each is made and removed before anything is charged


@pytest.fixture(autouse=True)
def folder(people, monkeypatch):
    """A table, a ledger, and an old file at the place of every output."""
    PrivacyLedger("study.db", "trial-7", epsilon=9, delta=1e-4)
    for name in OUTPUTS:
        Path(name).write_text("old")
    monkeypatch.setattr(page, "render_report", lambda *_, **__: "<!doctype html>")
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
    words += ["--by", "region", "--groups", "regions.txt"] if grouped else []
    words += ["--covariance", "variances.npy", "--ledger", "study.db", "--dataset", "trial-7"]
    return [*words, "-o", "mean.csv", "--json", "release.json", "--report", "page.html", "--force"]


def run(*more, grouped=False):
    result = CliRunner().invoke(app, [*command(grouped), *more])
    assert "Traceback" not in result.output
    return result


def debits():
    return PrivacyLedger("study.db", "trial-7").account().debits


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


# name: what is patched, how often it is called before, whether the signal follows the call, charged?, outputs written
STEPS = {
    "the table is read": (read, "open_table", 1, False, False, 0),
    "the debit is being decided": (Account, "decide", 1, False, True, 0),
    "the debit is on disk": (ledger.PrivacyLedger, "charge", 1, True, True, 0),
    "the release is made": (ledger.Charged, "note_outcome", 1, True, True, 0),
    "the record is a draft": (os, "fsync", PROOFS + 1, True, True, 0),
    "the record is written": (writing, "write_file", 1, True, True, 1),
    "the table is a draft": (os, "fsync", PROOFS + 3, True, True, 1),
    "the page is made": (page, "render_report", 1, False, True, 2),
    "everything is written": (writing, "write_file", 3, True, True, 3),
    "the card is shown": (sys.modules["dimfree.cli.mean"], "show_card", 1, False, True, 3),
}
EVERY_STEP = [(step, signal.SIGTERM, False) for step in STEPS]
GROUPED = [(step, signal.SIGTERM, True) for step in STEPS if step != "the table is read"]
OTHERS = [(step, n, False) for step in ("the release is made", "the record is written") for n in SIGNALS[::2]]


@pytest.mark.parametrize(("step", "number", "grouped"), EVERY_STEP + GROUPED + OTHERS)
def test_stopped_at_any_step(monkeypatch, step, number, grouped):
    where, name, nth, after, charged, written = STEPS[step]
    monkeypatch.setattr(where, name, sending(number, getattr(where, name), nth=nth, after=after))
    result = run(grouped=grouped)
    assert result.exit_code == 128 + number, result.output
    assert debits() == charged
    assert [Path(name).read_text() != "old" for name in OUTPUTS] == [at < written for at in range(3)]
    assert not list(Path().glob(".*"))  # no draft
    words = " ".join(result.stderr.split())
    assert "Interrupted" in words
    said = words.partition("written: ")[2]
    assert [f"{name}" in said for name in OUTPUTS[: max(0, written - 1)]] == [True] * max(0, written - 1)
    assert ("no mean is out" in words) <= (not written)
    assert ("epsilon=2.0 and delta=1e-06, entry 1 of 'trial-7'" in words) == charged
    assert ("No ledger was charged" in words) == (not charged)


def test_a_mean_that_is_being_printed_may_be_out(monkeypatch):
    monkeypatch.setattr(tables, "write_mean", sending(signal.SIGHUP, lambda *_: None))
    result = run("-o", "-")
    assert result.exit_code == 129
    assert "part of the mean may be on standard output; written: release.json, page.html." in result.stderr


def test_an_error_after_the_debit_says_that_it_is_spent(monkeypatch):
    def fail(*_, **__):
        raise dimfree.errors.ClusterError("The workers are gone. Nothing was released.")

    monkeypatch.setattr(ledger.Charged, "note_outcome", fail)
    result = run()
    assert result.exit_code == 2
    assert "Nothing was released. Charged to the ledger: epsilon=2.0" in result.stderr
    monkeypatch.setattr(ledger.PrivacyLedger, "charge", fail)
    assert "Charged" not in run().stderr


def test_other_commands_are_stopped_alike(monkeypatch):
    monkeypatch.setattr(ledger, "datasets_in", sending(signal.SIGTERM, ledger.datasets_in))
    result = CliRunner().invoke(app, ["ledger", "show", "study.db"])
    assert (result.exit_code, result.stderr) == (143, "Interrupted; no file is half-written.\n")


SCRIPT = """
import os, sys
number, after = int(sys.argv.pop(1)), sys.argv.pop(1) == "after"
from dimfree.results import writing
whole, link = writing.write_file, os.fsync
def sent(descriptor):
    link(descriptor)
    if not after:
        os.kill(os.getpid(), number)
def write_file(path, *rest, **more):
    os.fsync = sent
    whole(path, *rest, **more)
    os.kill(os.getpid(), number)
writing.write_file = write_file
from dimfree.cli import main
main()
"""


@pytest.mark.parametrize(("number", "step"), [(signal.SIGTERM, "before"), (signal.SIGHUP, "after")])
def test_the_process_itself(folder, number, step):
    done = process(number, step, command(grouped=False))
    assert done.returncode == 128 + number, done.stderr
    assert [Path(name).read_text() != "old" for name in OUTPUTS] == [step == "after", False, False]
    assert not list(folder.glob(".*"))
    assert "Traceback" not in done.stderr
    assert "release.json may be written" in done.stderr


def test_what_a_killed_process_leaves_is_removed_after_a_day(folder):
    done = process(signal.SIGKILL, "before", command(grouped=False))
    assert done.returncode == -signal.SIGKILL
    assert [Path(name).read_text() for name in OUTPUTS] == ["old"] * 3
    [left] = folder.glob(".dimfree-*.part")
    assert run().exit_code == 0
    assert left.exists()  # it might be another process's
    os.utime(left, (0, 0))
    assert run().exit_code == 0
    assert not list(folder.glob(".*"))


def process(number, step, words):
    source = str(Path(dimfree.__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}
    words = [sys.executable, "-c", SCRIPT, str(int(number)), step, *words]
    return subprocess.run(words, env=environment, capture_output=True, text=True)


class ArrivedError(Exception):
    pass


@pytest.mark.parametrize("failing", [False, True])
def test_a_signal_waits_for_the_end_of_a_step(failing):
    def arrive(number, frame):
        raise ArrivedError

    signal.signal(signal.SIGTERM, arrive)
    steps = []

    def step():
        with defer_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("whole")
            if failing:
                raise ValueError

    with pytest.raises(ArrivedError) as stopped:
        step()
    assert steps == ["whole"]
    assert isinstance(stopped.value.__context__, ValueError) == failing
    with pytest.raises(ArrivedError):
        os.kill(os.getpid(), signal.SIGTERM)  # handled as before


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with defer_signals():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGHUP)


def test_other_threads_are_left_alone():
    done = []

    def step():
        with defer_signals():
            done.append(1)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert done == [1]
