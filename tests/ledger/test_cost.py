"""A debit reads as much of a ledger of a hundred thousand entries as of one of twenty; `verify` reads all."""

import sqlite3
from pathlib import Path

import pytest

from dimfree import PrivacyLedger
from dimfree.accounting.budget import Budget
from dimfree.ledger import store
from dimfree.ledger.entries import DEBIT, Entry, debit_to_dict, to_text
from dimfree.ledger.spending import Charge

TOTAL = {"epsilon": 10.0, "delta": 1e-3}
SMALL = (1e-3, 1e-12)
SAID = {"purpose": "", "what": "", "private": True, "parameters": ""}


def filled(path: Path, rows: int) -> PrivacyLedger:
    """A ledger with so many debits, made in one transaction: otherwise each waits for the disk."""
    ledger = PrivacyLedger(path, "d", **TOTAL)
    ledger.debit(*SMALL)
    with store.writing(path, 30) as transaction:
        _, account, last, _ = ledger._check_state(transaction)
        debit = account.decide(Charge(Budget(*SMALL)))
        assert debit is not None
        assert account.filter is not None
        content = {**debit_to_dict(debit), **SAID}
        for _ in range(rows - 1):
            account = account.admit(debit)
            assert account is not None
            last = Entry.following(last, "d", "2026-01-01", DEBIT, content, to_text(account))
            transaction.append(last)
    return PrivacyLedger(path, "d")


def everyday(path: Path) -> None:
    """What a release from the command line does: open, debit, note the outcome, say what is left."""
    ledger = PrivacyLedger(path, "d")
    ledger.debit(*SMALL).note_outcome(refused=False)
    ledger.statement()
    assert ledger.head


def cost(path: Path, use) -> tuple[int, int]:
    """Instructions of SQLite's engine, and entries read."""
    steps, read, connect, entries = [0], [], sqlite3.connect, store.Transaction.entries

    def step() -> None:
        steps[0] += 1

    def connected(*arguments, **options) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(step, 1)
        return connection

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store.sqlite3, "connect", connected)
        patched.setattr(store.Transaction, "entries", lambda *which: (read.append(e) or e for e in entries(*which)))
        use(path)
    return steps[0], len(read)


def test_a_debit_costs_the_same_however_many_there_were(tmp_path: Path) -> None:
    few, many = tmp_path / "few.db", tmp_path / "many.db"
    filled(few, 20), filled(many, 4000)
    short, long = cost(few, everyday), cost(many, everyday)
    assert long[0] < 1.02 * short[0]
    assert long[1] == short[1] <= 30


def test_verify_reads_all_of_it(tmp_path: Path) -> None:
    filled(tmp_path / "study.db", 300)
    assert cost(tmp_path / "study.db", lambda path: PrivacyLedger(path, "d").verify())[1] >= 301
