"""The file of ledgers: an SQLite file whose rows can be added and never changed.

A rollback journal and synchronous=EXTRA: after a commit the rows survive a crash, kill -9 and a loss of power; a commit
that fails (a full disk) leaves the file unchanged. No write-ahead log: a copy of the file without the log would
lose charges. A connection lasts one transaction, so processes and threads share only the file. A process that was
forked while another thread of its parent was in a transaction inherits SQLite's memory of that lock: it finds the file
locked and charges nothing.

The file also stores the head of each ledger: number and digest of its last entry. The head detects damage that makes
the last entries unreadable. It does not protect against people who can write the file, since they can write the head.

The file has one name. SQLite puts its journal next to the name by which a file was opened. If a process dies during a
commit, the journal stays, and the next opening by the same name undoes the unfinished commit. Opening by another name
does not find the journal: it adds charges, and a later opening by the first name undoes them. No journal mode of SQLite
avoids this, so a file with two names is refused. Symbolic links are harmless: they are resolved first.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from dimfree.errors import InvalidFileError
from dimfree.ledger.entries import Entry

APPLICATION = 0x64696D66  # marks the file as a ledger of dimfree
FORMAT = 2  # 1: no nonces, no running sums
_MOUNTS = Path("/proc/self/mountinfo")  # Linux; elsewhere mounts of single files are not detected
_PATIENCE = 5.0  # seconds to wait for a process that has created the file and not filled it yet
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
_CANNOT_OPEN = "cannot be opened. Check that its folder exists and is writable."
_EMPTY = (
    "is an empty file, so it may be damaged. If it held a ledger, restore it from a copy, and count every release "
    "since then as spent. Otherwise delete it."
)
_NO_FILE = "Create it with 'dimfree ledger create', or in Python with epsilon and delta."
_TWO_NAMES = (
    "has a second name (a hard link). Remove all names but one, and open it by that one. If a file ending in -journal "
    "is next to one of the names, keep that name. "
)
_MOUNTED = "is a mount of a single file. Mount the folder that holds it, and open it there. "
_WHY = "By another name SQLite does not find its journal, and charges could be lost. No budget was charged."
_OTHER_FORMAT = (
    f"is a ledger of format {{}}; this version of dimfree reads format {FORMAT}. Use the version that made it, or "
    "create a new ledger in another file and debit there what was spent here."
)
_DAMAGED = "is damaged. Restore it from a copy, and count every release since then as spent."
_REMEDIES = {  # the first entry whose name is a prefix of SQLite's error name; APPEND: of a trigger
    "APPEND": "does not allow changes of entries.",
    "SQLITE_NOTADB": "is damaged, or is not a ledger. Pass a file of dimfree.PrivacyLedger or 'dimfree ledger create'.",
    "SQLITE_BUSY": "is locked by another process. Wait, or pass a longer timeout. No budget was charged.",
    "SQLITE_FULL": "cannot be written: the disk is full. Nothing was released.",
    "SQLITE_READONLY_DBMOVED": "was moved or replaced while it was open. Open it again. Nothing was released.",
    "SQLITE_READONLY": "cannot be written: it, or its folder, is read-only. Nothing was released.",
    "SQLITE_CANTOPEN": _CANNOT_OPEN,
    "SQLITE_PERM": "cannot be opened. Check its permissions.",
    "SQLITE_IOERR_SHORT_READ": _DAMAGED,
    "SQLITE_IOERR": "cannot be written or read: the disk reports an error. Nothing was released; count it as spent.",
}


class Transaction:
    """The rows of the file during one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def entries(self, dataset: str, which: str = "ORDER BY number", *values: int) -> Iterator[Entry]:
        """Yield entries, oldest first."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE dataset = ? {which}"
        for row in self._connection.execute(query, (dataset, *values)):
            if not isinstance(row[1], int):
                raise sqlite3.DatabaseError("An entry has no number.")
            yield Entry(*row)

    def entry(self, dataset: str, number: int) -> Entry | None:
        return next(self.entries(dataset, "AND number = ?", number), None)

    def ends(self, dataset: str) -> tuple[Entry | None, Entry | None, Entry | None, tuple[int, str] | None]:
        """Read the first, second to last and last entry, and the head."""
        first = next(self.entries(dataset, "ORDER BY number LIMIT 1"), None)
        last, before = (*self.entries(dataset, "ORDER BY number DESC LIMIT 2"), None, None)[:2]
        return first, before, last, self.head(dataset)

    def head(self, dataset: str) -> tuple[int, str] | None:
        """Read the stored number and digest of the last entry."""
        query = "SELECT number, digest FROM heads WHERE dataset = ?"
        found: tuple[int, str] | None = self._connection.execute(query, (dataset,)).fetchone()
        return found

    def holds(self, dataset: str) -> bool:
        """Return whether the file has a head or an entry of this data set."""
        return self.head(dataset) is not None or next(self.entries(dataset, "LIMIT 1"), None) is not None

    def datasets(self) -> list[str]:
        names = [name for (name,) in self._connection.execute("SELECT dataset FROM heads ORDER BY dataset")]
        if not names or not all(isinstance(name, str) and name.isprintable() for name in names):
            raise sqlite3.DatabaseError("Names of data sets are missing or unreadable.")
        return names

    def append(self, entry: Entry) -> None:
        insert = f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(insert, tuple(vars(entry).values()))
        self._connection.execute(_SET_HEAD, (entry.dataset, entry.number, entry.digest))

    def problems(self) -> list[str]:
        """List the problems of the file itself; reads all of it."""
        changed = _schema(self._connection) != _expect_schema()
        found = ["The tables or triggers of the file were changed."] if changed else []
        if self._connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            found.append("The file is damaged: SQLite's integrity check fails.")
        return found


@contextmanager
def writing(path: Path, timeout: float, *, create: bool = False) -> Iterator[Transaction]:
    """Run an exclusive transaction: commit to disk at the end of the block, undo on an error."""
    fresh = create and _create_file(path, timeout)
    with _connect(path, timeout) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # the file may have been switched to a write-ahead log
        connection.execute("BEGIN IMMEDIATE")
        try:
            _check_one_name(path.resolve())  # again: a link may have been made meanwhile
            _make_tables(connection) if fresh else _check_format(connection, path)
            yield Transaction(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(path: Path, timeout: float, *, damaged: bool = False) -> Iterator[Transaction]:
    """Read a consistent view of the file; with `damaged` also if its tables or triggers were changed."""
    with _connect(path, timeout) as connection:
        connection.execute("BEGIN")
        _check_format(connection, path, schema=not damaged)
        yield Transaction(connection)


@contextmanager
def _connect(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    _check_file(path)
    connection = None
    try:
        real = path.resolve()
        _check_one_name(real)  # before SQLite opens the file: it might undo charges
        connection = sqlite3.connect(f"{real.as_uri()}?mode=rw", uri=True, timeout=timeout, isolation_level=None)
        # Text as it was written; bytes that are not UTF-8 stay visible, so that a digest does not fit.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: fsync alone leaves rows in the drive's own cache
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the second: SQLite quoted damaged text in its message
        name = "APPEND" if "append-only" in str(error) else getattr(error, "sqlite_errorname", None) or ""
        remedy = next((remedy for code, remedy in _REMEDIES.items() if name.startswith(code)), _DAMAGED)
        raise _error(path, remedy) from None  # names the file, never a row
    finally:
        if connection is not None:
            connection.close()


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check_format(connection: sqlite3.Connection, path: Path, *, schema: bool = True) -> None:
    """Check that the file is a ledger of this format, and with `schema` that its tables are unchanged."""
    names = ("application_id", "user_version", "page_count", "page_size")
    mark, version, pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    if mark != APPLICATION:
        raise _error(path, _REMEDIES["SQLITE_NOTADB"])
    if version != FORMAT:
        raise _error(path, _OTHER_FORMAT.format(version))
    if path.stat().st_size < pages * size:
        raise _error(path, f"{_DAMAGED} (Its end is missing.)")
    if schema and _schema(connection) != _expect_schema():
        raise _error(path, f"{_DAMAGED} (Its tables or triggers were changed.)")
    if schema and not connection.execute("SELECT EXISTS (SELECT 1 FROM heads)").fetchone()[0]:
        raise _error(path, f"{_DAMAGED} (It holds no ledger.)")


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Return tables and triggers, without those that SQLite makes."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' ORDER BY type, name"
    return connection.execute(query).fetchall()


@cache
def _expect_schema() -> list[tuple[str, ...]]:
    connection = sqlite3.connect(":memory:")
    _make_tables(connection)
    found = _schema(connection)
    connection.close()
    return found


def _error(path: Path, what: str) -> InvalidFileError:
    return InvalidFileError(f"{str(path)!r} {what}")


def _check_file(path: Path, *, missing: bool = False) -> None:
    """Check that there is a file to open; with `missing` it need not exist yet."""
    try:
        path.stat()
    except FileNotFoundError:
        if not missing:
            raise InvalidFileError(f"There is no ledger {str(path)!r}. {_NO_FILE}") from None
    except OSError as error:
        raise _error(path, f"{_CANNOT_OPEN} ({error.strerror}.)") from None
    if path.is_dir():
        raise _error(path, "is a folder. Pass the path of a file, such as study.db in it.")


def _create_file(path: Path, timeout: float) -> bool:
    """Create an empty file; return False if a file exists that is not empty.

    Only the process that created the file fills it with tables, so a truncated ledger does not start again at 0.
    """
    _check_file(path, missing=True)
    try:
        os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        until = time.monotonic() + min(timeout, _PATIENCE)
        while path.stat().st_size == 0:
            if time.monotonic() > until:
                raise _error(path, _EMPTY) from None
            time.sleep(0.01)
        return False
    except OSError as error:
        raise _error(path, f"{_CANNOT_OPEN} ({error.strerror}.)") from None
    return True


def _check_one_name(path: Path) -> None:
    """Check that the file at this resolved path has no other known name."""
    if path.stat().st_nlink > 1:
        raise _error(path, _TWO_NAMES + _WHY)
    if os.fsencode(path) in mount_points():
        raise _error(path, _MOUNTED + _WHY)


def mount_points() -> set[bytes]:
    """List the mount points that this process sees, if the system lists them."""
    try:
        lines = [line.split(b" ") for line in _MOUNTS.read_bytes().splitlines()]
    except OSError:
        return set()
    octal = re.compile(rb"\\([0-3][0-7]{2})")  # Linux writes spaces, tabs, line ends and backslashes by three digits
    return {octal.sub(lambda found: bytes([int(found[1], 8)]), fields[4]) for fields in lines if len(fields) > 4}
