"""Files that appear whole or not at all, several of them together or none.

Each is first written under a temporary name beside its target. Then all get their names in one step, which no signal
cuts in two and which is undone if one of them fails. What a killed process leaves behind is removed by the next one
that writes into the folder.
"""

import hashlib
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NoReturn

from dimfree.errors import InvalidFile
from dimfree.results.signals import undivided

_PROOF_BYTES = 2**20  # written before anything is spent: a full disk shows
_OLD_SECONDS = 24 * 3600  # a draft lives for seconds
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
_LEFT = re.compile(r"\.dimfree-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-\d+-\d+\.part")
_numbers = count()


@dataclass(frozen=True, repr=False)
class Draft:
    """The content of a file and the place that it will have."""

    path: Path  # as it was named
    content: bytes
    force: bool
    target: Path = field(init=False)  # a link is followed, so that it stays a link
    temporary: Path = field(init=False)
    saved: Path = field(init=False)  # a second name, or a copy, of what is replaced

    def __post_init__(self) -> None:
        target = self.path.resolve()
        for name, place in (("target", target), ("temporary", _beside(target)), ("saved", _beside(target))):
            object.__setattr__(self, name, place)

    def write(self) -> None:
        """Complete on disk under the temporary name."""
        try:
            with self.temporary.open("xb") as file:
                file.write(self.content)
                file.flush()
                os.fsync(file.fileno())  # a full disk must show now, while the old file is still there
        except OSError as error:
            _unwritable(self.path, error)

    def publish(self) -> None:
        """Give the file its name; without force, never to the loss of another file."""
        try:
            if self.force:
                _keep(self.target, self.saved)
                self.temporary.replace(self.target)
            elif not _link(self.temporary, self.target):
                self.temporary.replace(self.target)
        except FileExistsError:
            refuse_existing(self.path)
        except OSError as error:
            self._restore()
            _unwritable(self.path, error)

    def withdraw(self) -> None:
        """Undo `publish`."""
        with suppress(OSError):
            if self.saved.exists():
                self.saved.replace(self.target)
            else:
                self.target.unlink()

    def discard(self) -> None:
        """Remove the temporary names; a replaced file keeps its second one if it has no other."""
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)
        with suppress(OSError):
            if self.target.exists():
                self.saved.unlink(missing_ok=True)

    def _restore(self) -> None:
        with suppress(OSError):
            self.saved.replace(self.target)


def publish_together(drafts: Sequence[Draft], published: Callable[[], None] = lambda: None) -> None:
    """All files or none; `published` is called when all have their names, within the step that no signal cuts."""
    try:
        for draft in drafts:
            draft.write()
        with undivided():
            _publish_all(drafts)
            published()
    finally:
        for draft in drafts:
            draft.discard()


def prove_writable(path: Path) -> None:
    """A file can be made in the folder of `path`, and some bytes written to it; leftovers there are removed."""
    _sweep(path.resolve().parent)
    proof = Draft(path, bytes(_PROOF_BYTES), force=True)
    try:
        proof.write()
    finally:
        proof.discard()


def refuse_existing(path: Path) -> NoReturn:
    raise InvalidFile(f"{path} already exists: choose another name, or pass --force (force=True) to replace it.")


def _publish_all(drafts: Sequence[Draft]) -> None:
    named: list[Draft] = []
    try:
        for draft in drafts:
            draft.publish()
            named.append(draft)
    except BaseException:
        for draft in reversed(named):
            draft.withdraw()
        raise


def _beside(target: Path) -> Path:
    return target.parent / f".dimfree-{_MACHINE}-{os.getpid()}-{time.time_ns()}-{next(_numbers)}.part"


def _sweep(folder: Path) -> None:
    with suppress(OSError):
        for path in folder.glob(".dimfree-*.part"):
            if _is_abandoned(path):
                path.unlink(missing_ok=True)


def _is_abandoned(path: Path) -> bool:
    """Left by a process of this machine that is gone, or older than any draft can be."""
    left = _LEFT.fullmatch(path.name)
    if left is None:
        return False
    if left["machine"] == _MACHINE and _is_gone(int(left["process"])):
        return True
    return time.time() - path.stat().st_mtime > _OLD_SECONDS


def _is_gone(process: int) -> bool:
    if os.name != "posix":  # elsewhere asking would stop it
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


def _keep(target: Path, saved: Path) -> None:
    """What is at the target gets a second name, or where there are no hard links a copy, until all is done.

    It keeps its own name all the while: what has another one only would be swept after a kill.
    """
    if not target.exists():
        return
    try:
        saved.hardlink_to(target)
    except OSError:
        shutil.copy2(target, saved)


def _link(temporary: Path, target: Path) -> bool:
    """Name the file only if the name is free, in one step; False where the file system has no hard links."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError from None
        return False
    return True


def _unwritable(path: Path, error: OSError) -> NoReturn:
    reason = (error.strerror or "unknown error").lower()
    raise InvalidFile(f"{path} could not be written and was left as it was: {reason}; choose another place.") from None
