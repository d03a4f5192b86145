"""Where books are kept: one SQLite file, whose rows can be added and never changed.

A rollback journal and synchronous=EXTRA: once a commit returns, the rows survive a crash, kill -9 and a loss of power;
a commit that fails (a full disk) leaves the file as it was. No write-ahead log: its second file could be left behind
when somebody copies the first, and with it charges. A connection lives for one transaction, so processes and threads
share nothing but the file. A process forked while another thread of its parent is in a transaction inherits SQLite's
memory of that lock: it is told that the file is locked, and charges nothing.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from dimfree.errors import InvalidFile
from dimfree.ledger.chain import Entry

APPLICATION = 0x64696D66  # marks the file as one of ours
FORMAT = 1
_COLUMNS = "dataset, number, time, event, body, previous, digest"
_TABLE = """
CREATE TABLE entries (
    dataset TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
    previous TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (dataset, number))
"""
_TRIGGERS = (
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    """CREATE TRIGGER entries_follow BEFORE INSERT ON entries
    WHEN NEW.number IS NOT (SELECT COALESCE(MAX(number) + 1, 0) FROM entries WHERE dataset = NEW.dataset)
    BEGIN SELECT RAISE(ABORT, 'append-only'); END""",
)
_REMEDIES = {
    "SQLITE_NOTADB": "is not a ledger: pass a file that dimfree.Ledger or 'dimfree ledger create' made.",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy, and count every release since then as spent.",
    "SQLITE_BUSY": "is locked by another process: wait until it is done, or pass a longer timeout.",
    "SQLITE_FULL": "cannot be written, the disk is full: make room. Nothing was released.",
    "SQLITE_READONLY": "cannot be written: it, or its folder, is read-only. Nothing was released.",
    "SQLITE_CANTOPEN": "cannot be opened: check that its folder exists and may be written.",
    "SQLITE_PERM": "cannot be opened: check its permissions.",
    "SQLITE_IOERR": "cannot be written or read, the disk reports an error. Nothing was released; count it as spent.",
}


class Transaction:
    """The rows of the file while nobody else can write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def entries(self, dataset: str) -> list[Entry]:
        query = f"SELECT {_COLUMNS} FROM entries WHERE dataset = ? ORDER BY number"
        return [Entry(*row) for row in self._connection.execute(query, (dataset,))]

    def datasets(self) -> list[str]:
        return [name for (name,) in self._connection.execute("SELECT DISTINCT dataset FROM entries ORDER BY dataset")]

    def append(self, entry: Entry) -> None:
        row = (entry.dataset, entry.number, entry.time, entry.event, entry.body, entry.previous, entry.digest)
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


@contextmanager
def writing(path: Path, timeout: float, *, create: bool = False) -> Iterator[Transaction]:
    """One transaction that nobody else can be in; committed to disk when the block ends, undone if it raises."""
    with _connected(path, timeout, "rwc" if create else "rw") as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # the file remembers a log that somebody turned on
        connection.execute("BEGIN IMMEDIATE")
        try:
            _check_format(connection, path, create)
            yield Transaction(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(path: Path, timeout: float) -> Iterator[Transaction]:
    """A consistent view of the file."""
    with _connected(path, timeout, "rw") as connection:
        connection.execute("BEGIN")
        _check_format(connection, path, create=False)
        yield Transaction(connection)


@contextmanager
def _connected(path: Path, timeout: float, mode: str) -> Iterator[sqlite3.Connection]:
    _check_path(path, mode)
    connection = None
    try:
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves rows in the drive's own cache
        yield connection
    except sqlite3.Error as error:
        _unusable(path, error)
    finally:
        if connection is not None:
            connection.close()


def _check_path(path: Path, mode: str) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InvalidFile(f"{str(path)!r} {_REMEDIES['SQLITE_CANTOPEN']} ({error.strerror}.)") from None
    if path.is_dir():
        raise InvalidFile(f"{str(path)!r} is a folder: pass the path of a file, such as study.db in it.")
    if mode == "rw" and not path.exists():
        raise InvalidFile(
            f"There is no ledger {str(path)!r}: pass epsilon and delta to create it, or 'dimfree ledger create'."
        )


def _check_format(connection: sqlite3.Connection, path: Path, create: bool) -> None:
    """A file of ours, or an empty one that becomes ours."""
    tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    marks = tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if create and not tables and marks == (0, 0):
        for statement in (_TABLE, *_TRIGGERS):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    elif marks != (APPLICATION, FORMAT):
        raise InvalidFile(f"{str(path)!r} is not a ledger of format {FORMAT}: pass a file that dimfree made.")


def _unusable(path: Path, error: sqlite3.Error) -> NoReturn:
    """SQLite's words, as a sentence with a remedy; they speak of the file and never of a row."""
    name = getattr(error, "sqlite_errorname", "") or ""
    known = next((remedy for code, remedy in _REMEDIES.items() if name.startswith(code)), None)
    if known is None and "append-only" in str(error):
        known = "refuses to change an entry: rows are added, never changed."
    raise InvalidFile(f"{str(path)!r} {known or f'cannot be used as a ledger ({name or type(error).__name__}).'}")
