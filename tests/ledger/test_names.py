"""A ledger file with two names is refused: by the other name SQLite does not find its journal, and charges get lost."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dimfree import InvalidFileError, PrivacyLedger
from dimfree.ledger import store
from dimfree.ledger.ledger import datasets_in, verify_entries

TOTAL = {"epsilon": 1.0, "delta": 1e-6}
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def ledger(tmp_path: Path) -> PrivacyLedger:
    return PrivacyLedger(tmp_path / "study.db", "d", **TOTAL)


def test_a_hard_link_is_refused_by_both_names_and_before_every_debit(ledger: PrivacyLedger, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    charged = ledger.debit(0.1, 1e-8)
    os.link(ledger.path, other)
    for use in (
        lambda: ledger.debit(0.1, 1e-8),
        lambda: ledger.account(),
        lambda: PrivacyLedger(other, "d"),
        lambda: PrivacyLedger(other, "d", **TOTAL),
        lambda: verify_entries(other, "d"),
        lambda: datasets_in(ledger.path),
    ):
        with pytest.raises(InvalidFileError, match=r"hard link.* Remove all names but one"):
            use()
    with pytest.warns(RuntimeWarning, match="hard link"):
        charged.note_outcome(refused=False)
    other.unlink()
    assert ledger.account().debits == 1
    ledger.debit(0.1, 1e-8)


def test_a_charge_is_not_undone_by_a_journal_beside_the_other_name(ledger: PrivacyLedger, tmp_path: Path) -> None:
    """A process dies during a commit and leaves its journal; then the file is charged by a second name."""
    other = tmp_path / "other.db"
    ledger.debit(0.5, 1e-7)
    before = ledger.path.read_bytes()
    child = FORK.Process(target=_die_in_a_commit, args=(ledger.path,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert Path(f"{ledger.path}-journal").stat().st_size > 0
    ledger.path.write_bytes(before)  # as if it had died a little earlier: the journal was complete, the file untouched
    os.link(ledger.path, other)
    with pytest.raises(InvalidFileError, match="hard link"):
        PrivacyLedger(other, "d").debit(0.5, 1e-7)
    with pytest.raises(InvalidFileError, match="hard link"):
        ledger.debit(0.5, 1e-7)
    other.unlink()
    ledger.debit(0.5, 1e-7)  # the journal was found, and the unfinished commit undone
    assert ledger.verify() == []
    assert ledger.account().debits == 2


def _die_in_a_commit(path: Path) -> None:
    """After the first pages were written into the file, the one with the entries among them."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
    connection.execute("BEGIN IMMEDIATE")
    names = [name for _, name, *_ in connection.execute("PRAGMA table_info(entries)")][2:]
    connection.execute(f"INSERT INTO entries SELECT dataset, 2, {', '.join(names)} FROM entries WHERE number = 1")
    connection.execute("CREATE TABLE large (x)")
    for _ in range(100):
        connection.execute("INSERT INTO large VALUES (zeroblob(10000))")
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_link_made_just_before_the_transaction_is_seen_inside_it(
    ledger: PrivacyLedger, tmp_path: Path, monkeypatch
) -> None:
    real = sqlite3.connect

    def linking(*arguments, **options) -> sqlite3.Connection:
        os.link(ledger.path, tmp_path / "other.db")
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(store.sqlite3, "connect", linking)
        with pytest.raises(InvalidFileError, match="hard link"):
            ledger.debit(0.1, 1e-8)
    (tmp_path / "other.db").unlink()
    assert ledger.account().debits == 0


def test_symbolic_links_lead_to_one_file_and_one_journal(ledger: PrivacyLedger, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(ledger.path)
    PrivacyLedger(tmp_path / "elsewhere" / "link.db", "d").debit(0.1, 1e-8)
    assert ledger.account().debits == 1


def test_a_mount_of_the_file_is_refused_and_of_its_folder_is_not(
    ledger: PrivacyLedger, tmp_path: Path, monkeypatch
) -> None:
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(store, "_MOUNTS", table)
    line = "36 35 98:0 /study.db {} rw,noatime master:1 - ext4 /dev/root rw\n"
    table.write_text(line.format(tmp_path) + "short line\n")
    ledger.debit(0.1, 1e-8)
    table.write_text(line.format("/proc") + line.format(ledger.path))
    for use in (lambda: ledger.debit(0.1, 1e-8), lambda: PrivacyLedger(ledger.path, "d")):
        with pytest.raises(InvalidFileError, match="Mount the folder"):
            use()
    table.unlink()  # a system that does not say
    ledger.debit(0.1, 1e-8)


def test_names_of_mounts_are_read_as_linux_writes_them(tmp_path: Path, monkeypatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_bytes(b"1 2 0:3 / /a\\040b\\011c\\134d\\012e rw - x y z\n")
    monkeypatch.setattr(store, "_MOUNTS", table)
    assert store.mount_points() == {b"/a b\tc\\d\ne"}


_MOUNTED = """
import subprocess, sys
from dimfree import InvalidFileError, PrivacyLedger
from pathlib import Path
folder = Path(sys.argv[1])
(folder / "mounted").mkdir()
(folder / "file.db").touch()
subprocess.run(["mount", "--bind", folder / "study.db", folder / "file.db"], check=True)
subprocess.run(["mount", "--bind", folder / "data", folder / "mounted"], check=True)
PrivacyLedger(folder / "mounted" / "study.db", "d").debit(0.1, 1e-8)
try:
    PrivacyLedger(folder / "file.db", "d").debit(0.1, 1e-8)
except InvalidFileError as error:
    sys.exit(7 if "Mount the folder" in str(error) else str(error))
"""


def _may_mount() -> bool:
    program = shutil.which("unshare")
    return bool(program) and subprocess.run([program, "-rm", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _may_mount(), reason="needs Linux and the right to mount in a namespace of its own")
def test_a_real_mount_of_the_file_is_refused(ledger: PrivacyLedger, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    PrivacyLedger(tmp_path / "data" / "study.db", "d", **TOTAL)
    command = ["unshare", "-rm", sys.executable, "-c", _MOUNTED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert ledger.account().debits == 0
    assert PrivacyLedger(tmp_path / "data" / "study.db", "d").account().debits == 1
