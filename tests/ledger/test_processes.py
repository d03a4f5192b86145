"""Several processes, kills and full disks: a charge that was acknowledged is never lost, the total never exceeded."""

import multiprocessing
import os
import random
import resource
import signal
import sqlite3
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dimfree import BudgetExceededError, InvalidFileError, PrivacyLedger
from dimfree.ledger import store
from dimfree.ledger.entries import DEBIT

FORK = multiprocessing.get_context("fork")
WORKERS, DEBITS = 8, 50
TOTAL = {"epsilon": 3.0, "delta": 1e-5}
ASKED = (0.05, 1e-9)  # about 175 of them fit


def acknowledged(file: Path) -> list[int]:
    """What a worker wrote down after `debit` had returned; a line that a kill cut short was not finished."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [int(line) for line in lines]


def work(path: Path, file: Path, rounds: int) -> None:
    """Debit, then acknowledge; 0 for a debit that did not fit."""
    ledger = PrivacyLedger(path, "d", timeout=120)
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(rounds):
        try:
            number = ledger.debit(*ASKED).number
        except BudgetExceededError:
            number = 0
        os.write(out, f"{number}\n".encode())


def start(path: Path, file: Path) -> "multiprocessing.process.BaseProcess":
    process = FORK.Process(target=work, args=(path, file, DEBITS - len(acknowledged(file))))
    process.start()
    return process


def test_eight_processes_and_random_kills_leave_an_exact_ledger(tmp_path: Path, seed: int) -> None:
    path, chance, kills = tmp_path / "study.db", random.Random(seed), 0
    PrivacyLedger(path, "d", **TOTAL)
    files = [tmp_path / f"{worker}.txt" for worker in range(WORKERS)]
    processes = [start(path, file) for file in files]
    until = time.monotonic() + 90
    while any(process.is_alive() for process in processes) and time.monotonic() < until:
        time.sleep(chance.uniform(0.002, 0.02))
        place = chance.randrange(WORKERS)
        if kills < 25 and processes[place].is_alive():
            os.kill(processes[place].pid, signal.SIGKILL)
            processes[place].join()
            kills += processes[place].exitcode == -signal.SIGKILL
            processes[place] = start(path, files[place])
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert [len(acknowledged(file)) for file in files] == [DEBITS] * WORKERS
    said = [number for file in files for number in acknowledged(file) if number]
    ledger = PrivacyLedger(path, "d")
    debits = {entry.number: entry.content for entry in ledger.entries() if entry.event == DEBIT}
    assert kills > 5
    assert len(said) == len(set(said))
    assert set(said) <= set(debits)  # nothing acknowledged was lost
    assert len(debits) <= len(said) + kills  # a kill loses one acknowledgement at most
    assert ledger.verify() == []
    account, limits = ledger.account(), ledger.account().filter
    assert limits is not None
    prices = [said["price"]["moment"] for said in debits.values()]
    assert account.moments == tuple(sum(map(Fraction, each), Fraction(0)) for each in zip(*prices, strict=True))
    assert any(spent <= Fraction(limit) for spent, limit in zip(account.moments, limits.moments, strict=True))
    with pytest.raises(BudgetExceededError):  # 400 were asked for, and all that fits was spent
        ledger.debit(*ASKED)
    assert 150 < len(debits) < 200


def test_a_twin_that_reads_before_it_locks_overspends(tmp_path: Path) -> None:
    """Two processes that both read the same rows and then write: the second row has no place in the chain."""
    path = tmp_path / "study.db"
    ledger = PrivacyLedger(path, "d", epsilon=1.0, delta=1e-6)
    with store.reading(path, 1) as transaction:
        stale = transaction.ends("d")[2]
    ledger.debit(0.9, 1e-7)
    with pytest.raises(InvalidFileError, match="does not allow changes"), store.writing(path, 1) as transaction:
        transaction.append(store.Entry.following(stale, "d", "today", DEBIT, {"epsilon": 0.9}, "{}"))
    assert ledger.account().debits == 1


def test_processes_that_all_make_the_ledger_at_once_make_one(tmp_path: Path) -> None:
    path, ready = tmp_path / "study.db", FORK.Barrier(WORKERS)

    def make() -> None:
        ready.wait(30)
        PrivacyLedger(path, "d", **TOTAL).debit(0.01, 1e-9)

    processes = [FORK.Process(target=make) for _ in range(WORKERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * WORKERS
    assert PrivacyLedger(path, "d").account().debits == WORKERS
    assert PrivacyLedger(path, "d").verify() == []


def in_child(action) -> int:
    """The exit code, or minus the signal, of a forked child that runs `action`."""
    child = FORK.Process(target=action)
    child.start()
    child.join(60)
    return child.exitcode


def test_a_kill_between_insert_and_commit_leaves_nothing(tmp_path: Path) -> None:
    ledger = PrivacyLedger(tmp_path / "study.db", "d", **TOTAL)

    def die() -> None:
        real = store.Transaction.append

        def append(self, entry) -> None:
            real(self, entry)
            os.kill(os.getpid(), signal.SIGKILL)

        store.Transaction.append = append
        ledger.debit(1.0, 1e-6)

    assert in_child(die) == -signal.SIGKILL
    assert ledger.account().debits == 0
    ledger.debit(1.0, 1e-6)
    assert ledger.verify() == []


def test_a_full_disk_charges_nothing_and_says_so(tmp_path: Path) -> None:
    ledger = PrivacyLedger(tmp_path / "study.db", "d", **TOTAL)
    ledger.debit(0.1, 1e-7)

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        try:
            ledger.debit(0.1, 1e-7)
        except InvalidFileError as error:
            os._exit(7 if "Nothing was released" in str(error) else 8)
        os._exit(0)

    assert in_child(fill) == 7
    assert ledger.account().debits == 1
    assert ledger.verify() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_file_is_an_error(tmp_path: Path) -> None:
    ledger = PrivacyLedger(tmp_path / "study.db", "d", **TOTAL)
    ledger.path.chmod(0o400)
    with pytest.raises(InvalidFileError, match="read-only"):
        ledger.debit(1.0, 1e-6)
    assert PrivacyLedger(ledger.path, "d").account().debits == 0  # reading still works


def test_a_log_that_somebody_turned_on_is_turned_off(tmp_path: Path) -> None:
    """With a log, charges would be in a second file, which a copy of the first leaves behind."""
    ledger = PrivacyLedger(tmp_path / "study.db", "d", **TOTAL)
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.close()
    ledger.debit(1.0, 1e-6)
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_every_commit_is_synced(tmp_path: Path, monkeypatch) -> None:
    asked = []
    real = sqlite3.connect

    class Recording(sqlite3.Connection):
        def execute(self, statement, *rest):
            asked.append(statement)
            return super().execute(statement, *rest)

    monkeypatch.setattr(store.sqlite3, "connect", lambda *a, **k: real(*a, factory=Recording, **k))
    PrivacyLedger(tmp_path / "study.db", "d", **TOTAL).debit(1.0, 1e-6)
    assert asked.count("PRAGMA synchronous = EXTRA") == 2
    assert asked.index("PRAGMA synchronous = EXTRA") < asked.index("BEGIN IMMEDIATE")
    assert not any("WAL" in statement.upper().split() for statement in asked)
