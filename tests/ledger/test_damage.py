"""A ledger that was damaged or changed works as before, or is refused; no change lowers what was spent."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from dimfree import InvalidFileError, PrivacyLedger
from dimfree.accounting.budget import Budget
from dimfree.cli import app
from dimfree.errors import DimfreeError
from dimfree.ledger import entries as chain
from dimfree.ledger import store
from dimfree.ledger.entries import DEBIT, GENESIS, OPENED, Entry, debit_of, show_rows, to_text
from dimfree.ledger.filter import Account
from dimfree.ledger.ledger import verify_entries

TOTAL = {"epsilon": 3.0, "delta": 1e-5}
ASKED = (0.1, 1e-8)
DAMAGED = "is damaged"


class Unsynced(sqlite3.Connection):
    """Does not wait for the disk: these tests open thousands of files and cut no power."""

    def execute(self, statement: str, *rest: object) -> sqlite3.Cursor:
        return super().execute("PRAGMA synchronous = OFF" if "synchronous" in statement else statement, *rest)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch) -> None:
    real = sqlite3.connect
    monkeypatch.setattr(store.sqlite3, "connect", lambda *a, **k: real(*a, factory=Unsynced, **k))


class Sound(NamedTuple):
    """A small ledger before anything was done to it."""

    content: bytes
    entries: tuple[Entry, ...]
    account: Account


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Sound:
    path = tmp_path_factory.mktemp("ledger") / "study.db"
    ledger = PrivacyLedger(path, "d", **TOTAL)
    for epsilon in (0.5, 0.25, 0.125):
        ledger.debit(epsilon, 1e-7).note_outcome(refused=False)
    return Sound(path.read_bytes(), ledger.entries(), ledger.account())


@pytest.fixture
def path(tmp_path: Path, sound: Sound) -> Path:
    found = tmp_path / "study.db"
    found.write_bytes(sound.content)
    return found


def ours(action: Callable[[], object]) -> object:
    """What the action gives, or None where it raises an error of ours; any other error fails the test."""
    try:
        return action()
    except DimfreeError:
        return None


def check_no_undercharge(path: Path, sound: Sound) -> bool:
    """Every use is right or an error of ours; says whether a debit was admitted."""
    problems = ours(lambda: verify_entries(path, "d"))
    ledgers = [ours(lambda: PrivacyLedger(path, "d")), ours(lambda: PrivacyLedger(path, "d", **TOTAL))]
    for ledger in ledgers:
        if isinstance(ledger, PrivacyLedger):
            assert ours(ledger.account) in (None, sound.account)
            entries = ours(ledger.entries)
            assert entries in (None, sound.entries)
            assert entries is None or len(show_rows(entries)) == 3
    ours(lambda: PrivacyLedger(path, "new", **TOTAL))
    if problems == []:
        assert tuple(_rows(path)) == sound.entries  # a changed row is found
    return _debited(path, ledgers[0], sound)


def _rows(path: Path) -> Iterator[Entry]:
    with store.reading(path, 1) as transaction:
        yield from transaction.entries("d")


def _debited(path: Path, ledger: object, sound: Sound) -> bool:
    if not isinstance(ledger, PrivacyLedger) or ours(lambda: ledger.debit(*ASKED)) is None:
        return False
    after = ours(lambda: PrivacyLedger(path, "d").account())
    assert after is None or after.debits == sound.account.debits + 1
    assert after is None or after.spent_epsilon > sound.account.spent_epsilon
    return True


def overwrite_with_steps(content: bytes, place: int, new: bytes) -> bytes:
    return content[:place] + new + content[place + len(new) :]


def damages(content: bytes, chance: random.Random, times: int) -> Iterator[bytes]:
    """One bit, one byte or a few bytes changed; every second time where something is written."""
    used = [place for place, byte in enumerate(content) if byte]
    for turn in range(times):
        place = chance.choice(used) if turn % 2 else chance.randrange(len(content))
        new = (
            bytes([content[place] ^ 1 << chance.randrange(8)]),
            bytes([chance.choice((0, 0x80, 0xFF, chance.randrange(256)))]),
            chance.randbytes(chance.randrange(2, 64)),
        )[turn % 3]
        yield overwrite_with_steps(content, place, new)[: len(content)]


def written(path: Path, content: bytes) -> Path:
    """The file with this content, and nothing of SQLite's beside it."""
    path.write_bytes(content)
    for ending in ("-journal", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    return path


@pytest.mark.parametrize(("seed", "times"), [(1, 120), pytest.param(2, 3000, marks=pytest.mark.slow)])
def test_changed_bytes_never_give_budget_back(tmp_path: Path, sound: Sound, seed: int, times: int) -> None:
    """Some bytes are used by no entry, others are."""
    path, admitted = tmp_path / "study.db", 0
    for damaged in damages(sound.content, random.Random(seed), times):
        admitted += check_no_undercharge(written(path, damaged), sound)
    assert times / 6 < admitted < times * 5 / 6


def test_every_byte_of_the_header_may_be_wrong(tmp_path: Path, sound: Sound) -> None:
    for place in range(108):  # the header of the file, and that of its first page
        changed = overwrite_with_steps(sound.content, place, bytes([sound.content[place] ^ 0xFF]))
        check_no_undercharge(written(tmp_path / "study.db", changed), sound)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.3, 0.5, 0.75, 0.999])
def test_a_file_that_was_cut_off_is_damaged(tmp_path: Path, sound: Sound, monkeypatch, share: float) -> None:
    monkeypatch.setattr("dimfree.ledger.store._PATIENCE", 0.02)
    path = tmp_path / "study.db"
    path.write_bytes(sound.content[: int(share * len(sound.content))])
    for use in (
        lambda: PrivacyLedger(path, "d"),
        lambda: PrivacyLedger(path, "d", **TOTAL),
        lambda: PrivacyLedger(path, "new", **TOTAL),
        lambda: ledger_problems(path),
    ):
        with pytest.raises(InvalidFileError, match="damaged"):
            use()


def ledger_problems(path: Path) -> None:
    """`verify`, which may list problems instead of raising."""
    if problems := verify_entries(path, "d"):
        raise InvalidFileError(f"damaged: {problems}")


@pytest.mark.parametrize("content", [b"x", b"text " * 1000, b"SQLite format 3\0" + b"\xff" * 5000, bytes(8192)])
def test_another_file_is_no_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    for use in (
        lambda: PrivacyLedger(path, "d"),
        lambda: PrivacyLedger(path, "d", **TOTAL),
        lambda: verify_entries(path, "d"),
    ):
        with pytest.raises(InvalidFileError, match="damaged"):
            use()
    assert path.read_bytes() == content


def forced(path: Path, *statements: str, entries: Sequence[Entry] = ()) -> None:
    """As somebody would who owns the file: without triggers, which are put back if their table is still there."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    triggers = connection.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for statement in (*(f"DROP TRIGGER {name}" for name, _, _ in triggers), *statements):
        connection.execute(statement)
    for entry in entries:
        store.Transaction(connection).append(entry)
    left = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for _, table, trigger in triggers:
        if table in left:
            connection.execute(trigger)
    connection.close()


WRONG = ["CAST(x'7bff7d' AS TEXT)", "x'00ff'", "1.5", "'[[[['", "''", "char(27)"]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("number", [0, 3, 6])
def test_a_column_that_holds_something_else_is_found(path: Path, sound: Sound, wrong: str, number: int) -> None:
    for column in (field.name for field in fields(Entry)):
        path.write_bytes(sound.content)
        forced(path, f"UPDATE entries SET {column} = {wrong} WHERE number = {number}")
        assert ours(lambda: verify_entries(path, "d")) != []
        admitted = check_no_undercharge(path, sound)
        assert number == 3 or not admitted


@pytest.mark.parametrize("number", [0, 3, 6])
def test_the_command_line_says_damaged_and_prints_no_stray_bytes(path: Path, sound: Sound, number: int) -> None:
    forced(path, f"UPDATE entries SET body = CAST(x'1bff' AS TEXT) WHERE number = {number}")
    for command, code in (("show", 2), ("verify", 1), ("export", 2)):
        done = CliRunner().invoke(app, ["ledger", command, str(path), "--dataset", "d"])
        assert done.exit_code == code
        assert "damaged" in done.stderr or f"Entry {number} was changed" in done.stderr
        assert "\x1b" not in done.output


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("column", ["dataset", "number", "digest"])
def test_a_stored_head_that_is_something_else_is_found(path: Path, sound: Sound, wrong: str, column: str) -> None:
    forced(path, f"UPDATE heads SET {column} = {wrong}")
    assert ours(lambda: verify_entries(path, "d")) != []
    assert not check_no_undercharge(path, sound)
    assert CliRunner().invoke(app, ["ledger", "show", str(path)]).exit_code == 2


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE heads",),
        ("DROP TABLE entries",),
        ("DROP TABLE entries", "CREATE TABLE entries (x)"),
        ("ALTER TABLE entries RENAME COLUMN body TO text",),
        ("ALTER TABLE entries ADD COLUMN more",),
        ("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM heads; END",),
        ("ALTER TABLE heads RENAME TO tops", "CREATE VIEW heads AS SELECT * FROM tops"),
        ("DELETE FROM heads", "DELETE FROM entries"),
    ],
)
def test_other_tables_are_damage(path: Path, sound: Sound, statements: tuple[str, ...]) -> None:
    forced(path, *statements)
    for use in (
        lambda: PrivacyLedger(path, "d"),
        lambda: PrivacyLedger(path, "d", **TOTAL),
        lambda: PrivacyLedger(path, "new", **TOTAL),
    ):
        with pytest.raises(InvalidFileError, match=DAMAGED):
            use()
    assert ours(lambda: verify_entries(path, "d")) != []


def test_an_older_format_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (dataset TEXT, number INTEGER)")
    connection.execute(f"PRAGMA application_id = {store.APPLICATION}")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    content = path.read_bytes()
    for use in (
        lambda: PrivacyLedger(path, "d"),
        lambda: PrivacyLedger(path, "d", **TOTAL),
        lambda: verify_entries(path, "d"),
    ):
        with pytest.raises(InvalidFileError, match=r"format 1.*reads format 2"):
            use()
    assert path.read_bytes() == content


def test_a_name_that_is_no_text_is_an_error_of_ours(path: Path, sound: Sound) -> None:
    for name in ("\udcff", "a\0b", ""):
        assert ours(lambda name=name: verify_entries(path, name)) is None
        assert ours(lambda name=name: PrivacyLedger(path, name)) is None


def rewritten(path: Path, change: Callable[[list], None]) -> None:
    """All entries made anew with fitting sums and digests, after `change` was applied to (day, event, content)."""
    contents = [(entry.day, entry.event, entry.content) for entry in PrivacyLedger(path, "d").entries()]
    change(contents)
    entries: list[Entry] = []
    for day, event, content in contents:
        entry = Entry.following(entries[-1] if entries else None, "d", day, event, content, "")
        if event == OPENED:
            account = Account(Budget(content["epsilon"], content["delta"]))
        elif event == DEBIT:
            account = account.after(debit_of(entry))
        entries.append(Entry.following(entries[-1] if entries else None, "d", day, event, content, to_text(account)))
    forced(path, "DELETE FROM entries", entries=entries)


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
    ("DELETE FROM entries WHERE number = 0", "Entry 1 is in the place of entry 0"),
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
    ("UPDATE entries SET body = 'no json' WHERE number = 3", "Entry 3 does not state its charge"),
    ("UPDATE entries SET body = x'7b7d' WHERE number = 3", "Entry 3 was changed"),
    ("UPDATE entries SET sums = replace(sums, '1', '0') WHERE number = 3", "Entry 3 does not carry the sums"),
    ("DELETE FROM entries WHERE number = 3", "Entry 4 is in the place of entry 3"),
]


@pytest.mark.parametrize(("statement", "named"), AT_AN_END + BETWEEN)
def test_a_change_is_named_takes_no_debit_at_an_end_and_lowers_nothing_in_between(path: Path, statement, named) -> None:
    ledger = PrivacyLedger(path, "d")
    before = ledger.account()
    forced(path, statement)
    assert any(problem.startswith(named) for problem in verify_entries(path, "d"))
    with pytest.raises(InvalidFileError, match="damaged"):
        ledger.entries()
    if (statement, named) in BETWEEN:
        assert PrivacyLedger(path, "d").account() == ledger.account() == before
        ledger.debit(0.1, 1e-8)
        assert ledger.account().debits == 4
        assert verify_entries(path, "d")
        return
    for use in (
        lambda: ledger.debit(0.1, 1e-8),
        ledger.account,
        lambda: PrivacyLedger(path, "d"),
        lambda: PrivacyLedger(path, "d", **TOTAL),
    ):
        with pytest.raises(InvalidFileError, match="is damaged"):
            use()


def test_a_rewritten_ledger_is_found_by_its_sums_or_by_a_kept_head(path: Path) -> None:
    head = PrivacyLedger(path, "d").head
    rewritten(path, lambda rows: rows[1][2].update(epsilon=0.0001))
    assert verify_entries(path, "d") == []  # nothing in the file tells
    assert "that you kept" in verify_entries(path, "d", head)[0]
    rewritten(path, lambda rows: rows[1][2].update(epsilon=2.9, price={**rows[1][2]["price"], "reserve": 1.0}))
    assert any("exceeds the remaining budget" in problem for problem in verify_entries(path, "d"))


def test_sums_that_were_lowered_in_the_last_entry_are_found(path: Path) -> None:
    """Fitting digests and a fitting head, but less spent than the entries say: found by a debit, since one step."""
    *rest, last = PrivacyLedger(path, "d").entries()
    sums = to_text(Account(Budget(3.0, 1e-5)))
    forged = Entry.following(rest[-1], "d", last.day, last.event, last.content, sums)
    ledger = PrivacyLedger(path, "d")
    forced(path, "DELETE FROM entries WHERE number = 6", entries=[forged])
    assert verify_entries(path, "d") == ["Entry 6 does not carry the sums of all charges."]
    with pytest.raises(InvalidFileError, match="does not carry the sums"):
        ledger.debit(0.1, 1e-8)
    with pytest.raises(InvalidFileError, match="does not carry the sums"):
        PrivacyLedger(path, "d")


def test_sums_about_a_larger_total_take_no_debit(path: Path) -> None:
    """The last two entries fit each other and the head, but not the total that the first one states."""
    first, one, two, *_ = PrivacyLedger(path, "d").entries()
    account, entries = Account(Budget(30.0, 1e-4)), [first]
    for entry in (one, two):
        account = account.after(debit_of(one)) if entry is one else account
        entries.append(Entry.following(entries[-1], "d", entry.day, entry.event, entry.content, to_text(account)))
    forced(path, "DELETE FROM entries WHERE number > 0", entries=entries[1:])
    with pytest.raises(InvalidFileError, match="another total"):
        PrivacyLedger(path, "d")
    assert verify_entries(path, "d")


def test_entries_taken_off_the_end_are_found_by_a_kept_head(path: Path) -> None:
    head = PrivacyLedger(path, "d").head
    *_, last = PrivacyLedger(path, "d").entries()[:5]
    forced(path, "DELETE FROM entries WHERE number >= 4", entries=[last])
    assert verify_entries(path, "d") == []
    assert "last entries were removed" in verify_entries(path, "d", head)[0]


def test_an_old_copy_and_the_same_debit_again_are_found_by_a_kept_head(path: Path, tmp_path: Path) -> None:
    """Within one second, on one day: entries that say the same have different digests."""
    old = shutil.copy(path, tmp_path / "old.db")
    ledger = PrivacyLedger(path, "d")
    ledger.debit(0.1, 1e-8)
    head, entry = ledger.head, ledger.entries()[-1]
    shutil.copy(old, path)
    PrivacyLedger(path, "d").debit(0.1, 1e-8)
    again = PrivacyLedger(path, "d").entries()[-1]
    assert (again.number, again.day, again.body, again.previous) == (
        entry.number,
        entry.day,
        entry.body,
        entry.previous,
    )
    assert "that you kept" in verify_entries(path, "d", head)[0]


def test_an_open_ledger_notices_an_old_copy_by_itself(path: Path, tmp_path: Path) -> None:
    old = shutil.copy(path, tmp_path / "old.db")
    ledger = PrivacyLedger(path, "d")
    ledger.debit(0.1, 1e-8)
    shutil.copy(old, path)
    for _ in range(2):
        with pytest.raises(InvalidFileError, match="was replaced by another file or an older copy"):
            ledger.debit(0.1, 1e-8)
        PrivacyLedger(path, "d").debit(0.1, 1e-8)  # a later one has nothing to compare with


@pytest.mark.parametrize(
    "price",
    [{"moment": -5.0, "reserve": 0.0}, {"moment": float("nan"), "reserve": 0.0}, {"moment": 1e999, "reserve": 0}],
)
def test_a_debit_that_gives_back_is_none(path: Path, price: dict) -> None:
    entries: list[Entry] = []
    for old in PrivacyLedger(path, "d").entries():
        body = json.dumps({**old.content, **({"price": price} if old.number == 3 else {})}, sort_keys=True)
        previous = entries[-1].digest if entries else GENESIS
        parts = ("d", old.number, old.day, old.event, body, old.sums, old.nonce, previous)
        entries.append(Entry(*parts, digest=chain._digest(*parts)))
    forced(path, "DELETE FROM entries", entries=entries)
    assert verify_entries(path, "d") == ["Entry 3 does not state its charge."]
