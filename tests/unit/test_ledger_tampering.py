"""Whoever changes a row of a ledger is found out, and nothing is spent from such a book."""

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from dimfree import InvalidFile, Ledger
from dimfree.ledger.book import verified
from dimfree.ledger.chain import GENESIS, Entry


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "study.db"
    ledger = Ledger(path, dataset="d", epsilon=3.0, delta=1e-5)
    for epsilon in (0.5, 0.25, 0.125):
        ledger.debit(epsilon, 1e-7).noted(refused=False)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path))


def forced(path: Path, statement: str, entries: list[Entry] | None = None) -> None:
    """As somebody would who owns the file: without the triggers, and unhurried."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for trigger in ("entries_stay", "entries_never_change", "entries_follow"):
            connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        connection.execute(statement)
        rows = [tuple(vars(entry).values()) for entry in entries or []]
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def rewritten(path: Path, change) -> None:
    """All rows written anew with fitting digests, after `change` was applied to the list of (time, event, content)."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT time, event, body FROM entries ORDER BY number").fetchall()
    contents, entries = [(time, event, json.loads(body)) for time, event, body in rows], []
    change(contents)
    for time, event, content in contents:
        entries.append(Entry.following(entries[-1] if entries else None, "d", time, event, content))
    forced(path, "DELETE FROM entries", entries)


def test_a_sound_book_has_no_problem(path: Path) -> None:
    assert verified(path, "d") == []
    entries = Ledger(path, "d").entries()
    assert entries[0].previous == GENESIS
    assert [entry.number for entry in entries] == list(range(7))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE number = 1",
        "DELETE FROM entries WHERE number = 6",
        "INSERT OR REPLACE INTO entries SELECT dataset, 1, time, event, '{}', previous, digest FROM entries",
        "INSERT INTO entries SELECT dataset, 99, time, event, body, previous, digest FROM entries WHERE number = 1",
    ],
)
def test_the_file_itself_refuses_changes(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE entries SET body = replace(body, '0.25', '0.01') WHERE number = 3", "Entry 3 was changed"),
        ("UPDATE entries SET time = '1999' WHERE number = 5", "Entry 5 was changed"),
        ("UPDATE entries SET event = 'outcome' WHERE number = 1", "Entry 1 was changed"),
        ("DELETE FROM entries WHERE number = 3", "Entry 4 stands where entry 3 should"),
        ("DELETE FROM entries WHERE number = 0", "Entry 1 stands where entry 0 should"),
        ("UPDATE entries SET body = 'no json' WHERE number = 3", "Entry 3 does not say what it spends"),
        ("UPDATE entries SET body = '[]' WHERE number = 0", "Entry 0 does not state the terms"),
        ("UPDATE entries SET body = x'7b7d' WHERE number = 3", "Entry 3 was changed"),
        ("UPDATE entries SET time = x'00' WHERE number = 2", "Entry 2 was changed"),
    ],
)
def test_a_change_is_found_and_named_and_stops_the_book(path: Path, statement: str, named: str) -> None:
    ledger = Ledger(path, "d")
    forced(path, statement)
    assert any(problem.startswith(named) for problem in verified(path, "d"))
    with pytest.raises(InvalidFile, match="does not hold together"):
        ledger.debit(0.1, 1e-8)
    with pytest.raises(InvalidFile, match="ledger verify"):
        Ledger(path, "d")


def test_a_rewritten_book_is_found_by_its_sums_or_by_a_kept_head(path: Path) -> None:
    head = Ledger(path, "d").head
    rewritten(path, lambda rows: rows[1][2].update(epsilon=0.0001))
    assert verified(path, "d") == []  # nothing in the file tells
    assert "was kept" in verified(path, "d", head)[0]
    rewritten(path, lambda rows: rows[1][2].update(epsilon=2.9, price=None, opens=None))
    assert any("spends more than was left" in problem for problem in verified(path, "d"))


def test_entries_taken_off_the_end_are_found_by_a_kept_head(path: Path) -> None:
    head = Ledger(path, "d").head
    forced(path, "DELETE FROM entries WHERE number >= 5")
    assert verified(path, "d") == []
    assert "taken off its end" in verified(path, "d", head)[0]


@pytest.mark.parametrize(
    "price",
    [{"moment": -5.0, "reserve": 0.0}, {"moment": float("nan"), "reserve": 0.0}, {"moment": 1e999, "reserve": 0}],
)
def test_a_debit_that_gives_back_is_none(path: Path, price: dict) -> None:
    rows = [(entry.time, entry.event, entry.content) for entry in Ledger(path, "d").entries()]
    rows[3][2]["price"] = price
    entries: list[Entry] = []
    for time, event, content in rows:
        body, last = json.dumps(content, sort_keys=True), entries[-1] if entries else None
        number, previous = (0, GENESIS) if last is None else (last.number + 1, last.digest)
        bare = Entry("d", number, time, event, body, previous, "")
        entries.append(replace(bare, digest=bare.computed_digest()))
    forced(path, "DELETE FROM entries", entries)
    assert verified(path, "d") == ["Entry 3 does not say what it spends."]
