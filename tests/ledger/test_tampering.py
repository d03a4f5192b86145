"""Whoever changes a row of a ledger is found by `verify`, and no change lowers what was spent."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from dimfree import InvalidFile, Ledger
from dimfree.accounting.budget import Budget
from dimfree.ledger import chain, store
from dimfree.ledger.chain import DEBIT, GENESIS, OPENED, Entry
from dimfree.ledger.entries import debit_of, to_text
from dimfree.ledger.filter import Account
from dimfree.ledger.ledger import verified

DEBITS = (0.5, 0.25, 0.125)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "study.db"
    ledger = Ledger(path, dataset="d", epsilon=3.0, delta=1e-5)
    for epsilon in DEBITS:
        ledger.debit(epsilon, 1e-7).noted(refused=False)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def forced(path: Path, statement: str, entries: list[Entry] | None = None) -> None:
    """As somebody would who owns the file: the triggers are taken away and put back, the head follows the entries."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        transaction = store.Transaction(connection)
        for entry in entries or []:
            transaction.append(entry)
        for _, trigger in triggers:
            connection.execute(trigger)


def rewritten(path: Path, change: Callable[[list], None]) -> None:
    """All entries made anew with fitting sums and digests, after `change` was applied to (day, event, content)."""
    contents = [(entry.day, entry.event, entry.content) for entry in Ledger(path, "d").entries()]
    change(contents)
    entries: list[Entry] = []
    for day, event, content in contents:
        entry = Entry.following(entries[-1] if entries else None, "d", day, event, content, "")
        if event == OPENED:
            account = Account(Budget(content["epsilon"], content["delta"]))
        elif event == DEBIT:
            account = account.after(debit_of(entry))
        entries.append(Entry.following(entries[-1] if entries else None, "d", day, event, content, to_text(account)))
    forced(path, "DELETE FROM entries", entries)


def test_a_sound_ledger_has_no_problem(path: Path) -> None:
    assert verified(path, "d") == []
    entries = Ledger(path, "d").entries()
    assert entries[0].previous == GENESIS
    assert [entry.number for entry in entries] == list(range(7))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 1",
        "DELETE FROM entries WHERE number = 6",
        "REPLACE INTO entries SELECT dataset, 1, day, event, '{}', sums, nonce, previous, digest FROM entries",
        "INSERT INTO entries SELECT dataset, 99, day, event, body, sums, nonce, previous, digest FROM entries",
        "DELETE FROM heads",
    ],
)
def test_the_file_itself_refuses_changes(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


AT_AN_END = [
    ("UPDATE entries SET day = '1999' WHERE number = 5", "Entry 5 was changed"),
    ("UPDATE entries SET nonce = '00' WHERE number = 6", "Entry 6 was changed"),
    ("UPDATE entries SET sums = '{}' WHERE number = 6", "Entry 6 was changed"),
    ("DELETE FROM entries WHERE number = 0", "Entry 1 stands where entry 0 should"),
    ("DELETE FROM entries WHERE number = 6", "The last entries"),
    ("DELETE FROM entries WHERE number > 4", "The last entries"),
    ("DELETE FROM entries", "The last entries"),
    ("DELETE FROM heads", "The last entries"),
    ("UPDATE heads SET number = 5", "The last entries"),
    ("UPDATE entries SET body = '[]' WHERE number = 0", "Entry 0 does not state the terms"),
    ("UPDATE entries SET body = x'7b7d' WHERE number = 0", "Entry 0 was changed"),
    ("UPDATE entries SET day = x'00' WHERE number = 6", "Entry 6 was changed"),
    ("CREATE TABLE more (x)", "The tables or triggers"),
]
BETWEEN = [
    ("UPDATE entries SET body = replace(body, '0.25', '0.01') WHERE number = 3", "Entry 3 was changed"),
    ("UPDATE entries SET event = 'outcome' WHERE number = 1", "Entry 1 was changed"),
    ("UPDATE entries SET body = 'no json' WHERE number = 3", "Entry 3 does not say what it spends"),
    ("UPDATE entries SET body = x'7b7d' WHERE number = 3", "Entry 3 was changed"),
    ("UPDATE entries SET sums = replace(sums, '1', '0') WHERE number = 3", "Entry 3 does not carry the sums"),
    ("DELETE FROM entries WHERE number = 3", "Entry 4 stands where entry 3 should"),
]


@pytest.mark.parametrize(("statement", "named"), AT_AN_END + BETWEEN)
def test_a_change_is_found_and_named(path: Path, statement: str, named: str) -> None:
    ledger = Ledger(path, "d")
    forced(path, statement)
    assert any(problem.startswith(named) for problem in verified(path, "d"))
    with pytest.raises(InvalidFile, match="damaged"):
        ledger.entries()


@pytest.mark.parametrize(("statement", "named"), AT_AN_END)
def test_nothing_is_charged_to_a_ledger_whose_ends_were_changed(path: Path, statement: str, named: str) -> None:
    ledger = Ledger(path, "d")
    forced(path, statement)
    for use in (
        lambda: ledger.debit(0.1, 1e-8),
        lambda: ledger.account(),
        lambda: Ledger(path, "d"),
        lambda: Ledger(path, "d", epsilon=3.0, delta=1e-5),
    ):
        with pytest.raises(InvalidFile, match="is damaged"):
            use()


@pytest.mark.parametrize(("statement", "named"), BETWEEN)
def test_a_change_in_between_lowers_nothing_that_was_spent(path: Path, statement: str, named: str) -> None:
    ledger = Ledger(path, "d")
    before = ledger.account()
    forced(path, statement)
    assert Ledger(path, "d").account() == ledger.account() == before
    ledger.debit(0.1, 1e-8)
    assert ledger.account().debits == len(DEBITS) + 1
    assert verified(path, "d")


def test_a_rewritten_ledger_is_found_by_its_sums_or_by_a_kept_head(path: Path) -> None:
    head = Ledger(path, "d").head
    rewritten(path, lambda rows: rows[1][2].update(epsilon=0.0001))
    assert verified(path, "d") == []  # nothing in the file tells
    assert "was kept" in verified(path, "d", head)[0]
    rewritten(path, lambda rows: rows[1][2].update(epsilon=2.9, price={**rows[1][2]["price"], "reserve": 1.0}))
    assert any("spends more than was left" in problem for problem in verified(path, "d"))


def test_sums_that_were_lowered_in_the_last_entry_are_found(path: Path) -> None:
    """Fitting digests and a fitting head, but less spent than the entries say: found by a debit, since one step."""
    *rest, last = Ledger(path, "d").entries()
    sums = to_text(Account(Budget(3.0, 1e-5)))
    forged = Entry.following(rest[-1], "d", last.day, last.event, last.content, sums)
    ledger = Ledger(path, "d")
    forced(path, "DELETE FROM entries WHERE number = 6", [forged])
    assert verified(path, "d") == ["Entry 6 does not carry the sums up to it."]
    with pytest.raises(InvalidFile, match="does not carry the sums"):
        ledger.debit(0.1, 1e-8)
    with pytest.raises(InvalidFile, match="does not carry the sums"):
        Ledger(path, "d")


def test_entries_taken_off_the_end_are_found_by_a_kept_head(path: Path) -> None:
    head = Ledger(path, "d").head
    *_, last = Ledger(path, "d").entries()[:5]
    forced(path, "DELETE FROM entries WHERE number >= 4", [last])
    assert verified(path, "d") == []
    assert "taken off its end" in verified(path, "d", head)[0]


def test_an_old_copy_and_the_same_debit_again_are_found_by_a_kept_head(path: Path, tmp_path: Path) -> None:
    """Within one second, on one day: entries that say the same have different digests."""
    old = shutil.copy(path, tmp_path / "old.db")
    ledger = Ledger(path, "d")
    ledger.debit(0.1, 1e-8)
    head, entry = ledger.head, ledger.entries()[-1]
    shutil.copy(old, path)
    Ledger(path, "d").debit(0.1, 1e-8)
    again = Ledger(path, "d").entries()[-1]
    assert (again.number, again.day, again.body, again.previous) == (
        entry.number,
        entry.day,
        entry.body,
        entry.previous,
    )
    assert "was kept" in verified(path, "d", head)[0]


def test_an_open_ledger_notices_an_old_copy_by_itself(path: Path, tmp_path: Path) -> None:
    old = shutil.copy(path, tmp_path / "old.db")
    ledger = Ledger(path, "d")
    ledger.debit(0.1, 1e-8)
    shutil.copy(old, path)
    for _ in range(2):
        with pytest.raises(InvalidFile, match="not the one that was opened"):
            ledger.debit(0.1, 1e-8)
        Ledger(path, "d").debit(0.1, 1e-8)  # a later one has nothing to compare with


def test_every_entry_has_a_nonce_of_its_own(path: Path) -> None:
    nonces = [entry.nonce for entry in Ledger(path, "d").entries()]
    assert len(set(nonces)) == len(nonces) == 7
    assert {len(nonce) for nonce in nonces} == {32}


@pytest.mark.parametrize(
    "price",
    [{"moment": -5.0, "reserve": 0.0}, {"moment": float("nan"), "reserve": 0.0}, {"moment": 1e999, "reserve": 0}],
)
def test_a_debit_that_gives_back_is_none(path: Path, price: dict) -> None:
    entries: list[Entry] = []
    for old in Ledger(path, "d").entries():
        body = json.dumps({**old.content, **({"price": price} if old.number == 3 else {})}, sort_keys=True)
        previous = entries[-1].digest if entries else GENESIS
        parts = ("d", old.number, old.day, old.event, body, old.sums, old.nonce, previous)
        entries.append(Entry(*parts, digest=chain._digest(*parts)))
    forced(path, "DELETE FROM entries", entries)
    assert verified(path, "d") == ["Entry 3 does not say what it spends."]
