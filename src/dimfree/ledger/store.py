"""Where ledgers are kept: one SQLite file, whose rows can be added and never changed.

A rollback journal and synchronous=EXTRA: once a commit returns, the rows survive a crash, kill -9 and a loss of power;
a commit that fails (a full disk) leaves the file as it was. No write-ahead log: its second file could be left behind
when somebody copies the first, and with it charges. A connection lives for one transaction, so processes and threads
share nothing but the file. A process forked while another thread of its parent is in a transaction inherits SQLite's
memory of that lock: it is told that the file is locked, and charges nothing.

Beside the entries stands the head of each ledger: number and digest of its last entry. It shows when damage made
entries at the end unreadable. It is no protection against somebody who can write the file: they can write it as well.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from dimfree.errors import InvalidFile
from dimfree.ledger.chain import Ends, Entry
from dimfree.ledger.file import CANNOT_OPEN, check_file, made_here
from dimfree.ledger.one_name import check_one_name

APPLICATION = 0x64696D66  # marks the file as a ledger of dimfree
FORMAT = 2  # 1: no nonces, no running sums
_COLUMNS = "dataset, number, day, event, body, sums, nonce, previous, digest"
_SCHEMA = (
    """CREATE TABLE entries (
    dataset TEXT NOT NULL, number INTEGER NOT NULL, day TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
    sums TEXT NOT NULL, nonce TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (dataset, number))""",
    "CREATE TABLE heads (dataset TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL, digest TEXT NOT NULL)",
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
    WHEN NEW.number IS NOT (SELECT COALESCE(MAX(number) + 1, 0) FROM entries WHERE dataset = NEW.dataset)
    BEGIN SELECT RAISE(ABORT, 'append-only'); END""",
    "CREATE TRIGGER heads_stay BEFORE DELETE ON heads BEGIN SELECT RAISE(ABORT, 'append-only'); END",
)
_SET_HEAD = """INSERT INTO heads (dataset, number, digest) VALUES (?, ?, ?)
    ON CONFLICT (dataset) DO UPDATE SET number = excluded.number, digest = excluded.digest"""
_DAMAGED = "is damaged: restore it from a copy, and count every release since then as spent."
_REMEDIES = {  # the first entry whose name is a prefix of SQLite's error name
    "SQLITE_NOTADB": "is damaged, or is not a ledger: pass a file that dimfree.Ledger or 'dimfree ledger create' made.",
    "SQLITE_BUSY": "is locked by another process: wait until it is done, or pass a longer timeout.",
    "SQLITE_FULL": "cannot be written, the disk is full: free some space. Nothing was released.",
    "SQLITE_READONLY_DBMOVED": "was moved or replaced while it was open: open it again. Nothing was released.",
    "SQLITE_READONLY": "cannot be written: it, or its folder, is read-only. Nothing was released.",
    "SQLITE_CANTOPEN": CANNOT_OPEN,
    "SQLITE_PERM": "cannot be opened: check its permissions.",
    "SQLITE_IOERR_SHORT_READ": _DAMAGED,
    "SQLITE_IOERR": "cannot be written or read, the disk reports an error. Nothing was released; count it as spent.",
}


class Transaction:
    """The rows of the file while nobody else can write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def entries(self, dataset: str) -> Iterator[Entry]:
        """All of them, oldest first."""
        return self._found("WHERE dataset = ? ORDER BY number", dataset)

    def entry(self, dataset: str, number: int) -> Entry | None:
        return next(self._found("WHERE dataset = ? AND number = ?", dataset, number), None)

    def ends(self, dataset: str) -> Ends:
        """What is needed to add an entry: as many rows, however many there are."""
        first = next(self._found("WHERE dataset = ? ORDER BY number LIMIT 1", dataset), None)
        last = list(self._found("WHERE dataset = ? ORDER BY number DESC LIMIT 2", dataset))
        return Ends(first, last[1] if len(last) > 1 else None, last[0] if last else None, self.head(dataset))

    def head(self, dataset: str) -> tuple[int, str] | None:
        """Number and digest of the last entry, as stored beside the entries."""
        return self._row("SELECT number, digest FROM heads WHERE dataset = ?", dataset)

    def holds(self, dataset: str) -> bool:
        """Whether there is any trace of a ledger of this data set."""
        return (
            self.head(dataset) is not None or next(self._found("WHERE dataset = ? LIMIT 1", dataset), None) is not None
        )

    def datasets(self) -> list[str]:
        names = [name for (name,) in self._connection.execute("SELECT dataset FROM heads ORDER BY dataset")]
        if not names or not all(isinstance(name, str) and name.isprintable() for name in names):
            raise sqlite3.DatabaseError("Names of data sets are missing or unreadable.")
        return names

    def append(self, entry: Entry) -> None:
        row = (*(getattr(entry, name) for name in _COLUMNS.split(", ")),)
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._connection.execute(_SET_HEAD, (entry.dataset, entry.number, entry.digest))

    def problems(self) -> list[str]:
        """What is wrong with the file itself, one sentence each; reads all of it."""
        found = [] if _schema_fits(self._connection) else ["The tables or triggers of the file were changed."]
        if self._row("PRAGMA integrity_check(1)") != ("ok",):
            found.append("The file is damaged: SQLite's integrity check fails.")
        return found

    def _found(self, which: str, *values: str | int) -> Iterator[Entry]:
        for row in self._connection.execute(f"SELECT {_COLUMNS} FROM entries {which}", values):
            if not isinstance(row[1], int):
                raise sqlite3.DatabaseError("An entry has no number.")
            yield Entry(*row)

    def _row(self, query: str, *values: str) -> Any:
        return self._connection.execute(query, values).fetchone()


@contextmanager
def writing(path: Path, timeout: float, *, create: bool = False) -> Iterator[Transaction]:
    """One exclusive transaction; committed to disk when the block ends, undone if it raises."""
    fresh = create and made_here(path, timeout)
    with _connected(path, timeout) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # the file may have been switched to a write-ahead log
        connection.execute("BEGIN IMMEDIATE")
        try:
            check_one_name(path.resolve())  # again: a link may have been made meanwhile
            if fresh:
                _make_tables(connection)
            else:
                _check_format(connection, path)
            yield Transaction(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(path: Path, timeout: float, *, damaged: bool = False) -> Iterator[Transaction]:
    """A consistent view of the file; with `damaged` also of one whose tables or triggers were changed."""
    with _connected(path, timeout) as connection:
        connection.execute("BEGIN")
        _check_format(connection, path, schema=not damaged)
        yield Transaction(connection)


@contextmanager
def _connected(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    check_file(path)
    connection = None
    try:
        real = path.resolve()
        check_one_name(real)  # before SQLite opens the file: it might undo charges
        connection = sqlite3.connect(f"{real.as_uri()}?mode=rw", uri=True, timeout=timeout, isolation_level=None)
        connection.text_factory = _text
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves rows in the drive's own cache
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second: SQLite quoted damaged text in its message
        _unusable(path, error)
    finally:
        if connection is not None:
            connection.close()


def _text(raw: bytes) -> str:
    """Text as it was written; bytes that are no UTF-8 stay visible, so that a digest does not fit."""
    return raw.decode("utf-8", "surrogateescape")


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check_format(connection: sqlite3.Connection, path: Path, *, schema: bool = True) -> None:
    """Raises InvalidFile where the file is none of ours, of another format, or (with `schema`) has other tables."""
    mark, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if mark != APPLICATION:
        raise InvalidFile(f"{str(path)!r} {_REMEDIES['SQLITE_NOTADB']}")
    if version != FORMAT:
        raise InvalidFile(
            f"{str(path)!r} is a ledger of format {version}, and this version of dimfree reads format {FORMAT}: use "
            "the version that made it, or open a new ledger in another file and debit there what was spent here."
        )
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if path.stat().st_size < pages * size:
        raise InvalidFile(f"{str(path)!r} {_DAMAGED} (Its end is missing.)")
    if schema and not _schema_fits(connection):
        raise InvalidFile(f"{str(path)!r} {_DAMAGED} (Its tables or triggers were changed.)")
    if schema and not connection.execute("SELECT EXISTS (SELECT 1 FROM heads)").fetchone()[0]:
        raise InvalidFile(f"{str(path)!r} {_DAMAGED} (It holds no ledger.)")


def _schema_fits(connection: sqlite3.Connection) -> bool:
    return _schema(connection) == _expected_schema()


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Tables and triggers; what SQLite makes by itself is left out."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' ORDER BY type, name"
    return connection.execute(query).fetchall()


@cache
def _expected_schema() -> list[tuple[str, ...]]:
    connection = sqlite3.connect(":memory:")
    _make_tables(connection)
    found = _schema(connection)
    connection.close()
    return found


def _unusable(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> NoReturn:
    """SQLite's message as a sentence with a remedy; it is about the file and never about a row."""
    name = getattr(error, "sqlite_errorname", "") or ""
    known = next((remedy for code, remedy in _REMEDIES.items() if name.startswith(code)), _DAMAGED)
    if "append-only" in str(error):
        known = "refuses to change an entry: rows are added, never changed."
    raise InvalidFile(f"{str(path)!r} {known}") from None
