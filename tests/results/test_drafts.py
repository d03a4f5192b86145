"""Several files or none: whatever fails on the way, everything is as it was, and nothing temporary stays."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dimfree.errors import InvalidFile
from dimfree.results import drafts
from dimfree.results.drafts import Draft, prove_writable, publish_together
from dimfree.results.signals import undivided


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def links(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    return request.param


def failing(number, nth=1, whole=None):
    """Fails in the nth call; in every one where there is nothing else to do."""
    calls = []

    def fail(*args, **kwargs):
        calls.append(1)
        if whole is not None and len(calls) != nth:
            return whole(*args, **kwargs)
        raise OSError(number, os.strerror(number))

    return fail


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def pair(folder, force):
    return [Draft(folder / name, b"new", force) for name in ("a.csv", "b.json")]


def test_all_files_get_their_names(tmp_path, links):
    (tmp_path / "a.csv").write_text("old")
    told = []
    publish_together(pair(tmp_path, True), lambda: told.append(contents(tmp_path)["b.json"]))
    assert contents(tmp_path) == {"a.csv": "new", "b.json": "new"}
    assert told == ["new"]


@pytest.mark.parametrize("nth", [1, 2])
def test_a_draft_that_fails(tmp_path, monkeypatch, nth):
    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC, nth, os.fsync))
    with pytest.raises(InvalidFile, match="no space left"):
        publish_together(pair(tmp_path, True))
    assert contents(tmp_path) == {"a.csv": "old"}


@pytest.mark.parametrize("old", [(), ("a.csv",), ("a.csv", "b.json")])
@pytest.mark.parametrize("force", [True, False])
def test_a_second_name_that_fails_takes_the_first_back(tmp_path, monkeypatch, links, old, force):
    files = pair(tmp_path, force)
    if not force:
        old = ("b.json",)  # came after the check
    for name in old:
        (tmp_path / name).write_text("old")
    whole, b = Path.replace, files[1]

    def replace(self, target):
        if force and self == b.temporary:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return whole(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(InvalidFile):
        publish_together(files)
    assert contents(tmp_path) == dict.fromkeys(old, "old")


def test_what_is_replaced_has_its_name_until_the_new_file_takes_it(tmp_path, monkeypatch, links):
    """A kill in between leaves the old file: under another name the next run would sweep it."""
    (tmp_path / "a.csv").write_text("old")
    seen, whole = [], Path.replace

    def replace(self, target):
        seen.append(target.read_text())
        return whole(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    publish_together([Draft(tmp_path / "a.csv", b"new", force=True)])
    assert seen == ["old"]
    assert contents(tmp_path) == {"a.csv": "new"}


def test_a_proof_leaves_nothing_and_finds_a_full_disk(tmp_path, monkeypatch):
    prove_writable(tmp_path / "a.csv")
    assert contents(tmp_path) == {}
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(InvalidFile, match=r"a\.csv could not be written.*no space left"):
        prove_writable(tmp_path / "a.csv")
    assert contents(tmp_path) == {}


def test_leftovers_are_swept_and_nothing_else(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    other = "0" * 8 if drafts._MACHINE != "0" * 8 else "1" * 8
    names = {
        f".dimfree-{drafts._MACHINE}-{gone.pid}-1-0.part": False,  # its process is gone
        f".dimfree-{drafts._MACHINE}-{os.getpid()}-1-0.part": True,
        f".dimfree-{other}-{gone.pid}-1-0.part": True,  # another machine has other processes
        f".dimfree-{other}-{gone.pid}-2-0.part": False,  # but nobody writes for days
        ".dimfree-mine.part": True,
        "a.part": True,
    }
    for name in names:
        (tmp_path / name).write_text("x")
    os.utime(tmp_path / f".dimfree-{other}-{gone.pid}-2-0.part", (0, 0))
    prove_writable(tmp_path / "a.csv")
    assert sorted(contents(tmp_path)) == sorted(name for name, stays in names.items() if stays)


# ------------------------------------------------------------------------------------------------ signals


class Arrived(Exception):
    pass


@pytest.fixture
def arriving():
    def arrive(number, frame):
        raise Arrived

    before = signal.signal(signal.SIGTERM, arrive)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_waits_for_the_end_of_the_step(arriving):
    steps = []

    def step():
        with undivided():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("whole")

    with pytest.raises(Arrived):
        step()
    assert steps == ["whole"]
    with pytest.raises(Arrived):
        os.kill(os.getpid(), signal.SIGTERM)  # handled as before


def test_a_signal_is_not_lost_where_the_step_fails(arriving):
    def step():
        with undivided():
            os.kill(os.getpid(), signal.SIGTERM)
            raise ValueError

    with pytest.raises(Arrived) as stopped:
        step()
    assert isinstance(stopped.value.__context__, ValueError)


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with undivided():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_are_left_alone():
    done = []

    def step():
        with undivided():
            done.append(1)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert done == [1]
