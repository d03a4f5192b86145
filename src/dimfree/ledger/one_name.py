"""One file, one name. SQLite puts its journal beside the name by which a file was opened.

If a process dies during a commit, the journal stays, and whoever opens the file next by the same name undoes the
unfinished commit. By another name the journal is not seen: charges are added, and a later opening by the first name
undoes them. No journal mode of SQLite avoids this (the write-ahead log has a name of its own as well), so a file with
two names is refused. Symbolic links are harmless: callers resolve them first.
"""

import os
import re
from pathlib import Path

from dimfree.errors import InvalidFile

_MOUNTS = Path("/proc/self/mountinfo")  # Linux; elsewhere mounts of single files are not detected
_WHY = "By the other name SQLite does not find its journal, and charges could be lost. Nothing was charged."


def check_one_name(path: Path) -> None:
    """Raises InvalidFile if the file at this resolved path is known to have another name."""
    if path.stat().st_nlink > 1:
        raise InvalidFile(
            f"{str(path)!r} has a second name (a hard link): remove all names but one, and open it by that one. If a "
            f"file ending in -journal lies beside one of the names, keep that name. {_WHY}"
        )
    if os.fsencode(path) in mount_points():
        raise InvalidFile(
            f"{str(path)!r} is a mount of a single file: mount the folder that holds it instead, and open it there. "
            f"{_WHY}"
        )


def mount_points() -> set[bytes]:
    """The mount points that this process sees; empty if the system does not list them."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return set()
    return {_unescaped(fields[4]) for fields in (line.split(b" ") for line in lines) if len(fields) > 4}


def _unescaped(name: bytes) -> bytes:
    r"""Linux writes spaces, tabs, line ends and backslashes as \ and three octal digits."""
    return re.sub(rb"\\([0-3][0-7]{2})", lambda found: bytes([int(found[1], 8)]), name)
