"""A worker keeps freed memory during a task, where a nanny asked for the opposite; speed only."""

import os
import subprocess
import sys
from contextlib import suppress

import pytest

from dimfree.data import scheduler as worker_memory


@pytest.fixture
def calls(monkeypatch):
    """What glibc is asked for."""
    made = []
    monkeypatch.setattr(worker_memory, "_mallopt", lambda: lambda *call: made.append(call) or 1)
    return made


@pytest.mark.parametrize("nanny", [False, True])
def test_without_a_nanny_or_a_library_nothing_is_asked(monkeypatch, calls, nanny):
    monkeypatch.delenv(worker_memory.TRIMMED, raising=False)
    if nanny:
        monkeypatch.setenv(worker_memory.TRIMMED, "65536")
        monkeypatch.setattr(worker_memory, "_mallopt", lambda: None)
    with worker_memory.freed_memory_kept() as quiet:
        assert quiet == (not nanny)
    assert calls == []


@pytest.mark.parametrize(("said", "restored"), [("65536", 65536), ("0", 0), ("²", 2**17), ("9" * 30, 2**25)])
def test_what_a_nanny_said_holds_again_afterwards(monkeypatch, calls, said, restored):
    monkeypatch.setenv(worker_memory.TRIMMED, said)
    with suppress(KeyError), worker_memory.freed_memory_kept() as quiet:
        assert quiet
        assert calls == [(-1, 2**25), (-3, 2**25)]
        raise KeyError
    assert calls[2:] == [(-1, restored), (-3, 2**17)]


def test_the_real_library_takes_the_numbers_or_is_not_there():
    """In a process of its own, whose memory nobody else needs."""
    code = """
from dimfree.data.scheduler import _mallopt, freed_memory_kept
with freed_memory_kept() as quiet:
    print(quiet == bool(_mallopt()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, worker_memory.TRIMMED: "65536"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "True\n"
