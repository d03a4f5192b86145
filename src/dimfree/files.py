"""Tables in, releases out: .npy, .npz, .csv and .parquet, told apart by their ending.

A file is read whole or refused with a sentence that names the path and the schema, never a cell or a line.
A file is written whole or not at all, and never over another one unless forced.
"""

import csv
import io
import os
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import InvalidFile, InvalidRecords
from dimfree.records import Records, Source, as_records, from_arrow
from dimfree.result import Release

TABLES = (".npy", ".npz", ".csv", ".parquet")
STDOUT = "-"

PathLike: TypeAlias = str | Path
Table: TypeAlias = tuple[Source, tuple[str, ...] | None]  # values as stored, and the names of the columns

_MISSING = frozenset({"", "na", "n/a", "null", "none"})  # beside nan, which is a number to float()
_SPARSE = "format"  # the entry by which scipy.sparse.save_npz marks its files


# ---------------------------------------------------------------------------------------------------- reading


def read_table(path: PathLike) -> Records:
    """The records of a file, one row per person; rows with missing or infinite entries are left to `open_records`."""
    source, columns = _load(Path(path), key="X", ranks=(2,))
    try:
        return as_records(source, columns)
    except InvalidRecords as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None


def read_covariance(path: PathLike, columns: Sequence[str] | None = None) -> NDArray[np.float64]:
    """Variances (d,) or a covariance matrix (d, d); one row or one column of numbers is taken as variances.

    With `columns`, the names of the records: the same names in another order are refused.
    """
    source, names = _load(Path(path), key="covariance", ranks=(1, 2))
    matrix = np.asarray(source.toarray() if hasattr(source, "toarray") else source)
    if matrix.ndim not in (1, 2) or matrix.dtype.kind not in "biuf" or matrix.size == 0:
        raise InvalidFile(f"{path} cannot be used: expected variances (d,) or a covariance (d, d) of real numbers.")
    if names and columns and sorted(names) == sorted(columns) and tuple(names) != tuple(columns):
        raise InvalidFile(f"{path} names the columns of the records in another order: bring them into the same order.")
    return (matrix.ravel() if 1 in matrix.shape else matrix).astype(np.float64)


def _load(path: Path, *, key: str, ranks: tuple[int, ...]) -> Table:
    """The content of a file; whatever a parser says about it may quote records, so only the kind of trouble is told."""
    ending = _known_ending(path, TABLES)
    if not path.is_file():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidFile(f"{path} {kind}: pass the path of a file.")
    try:
        return _READERS[ending](path, key, ranks)
    except (InvalidFile, InvalidRecords) as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None
    except PermissionError:
        raise InvalidFile(f"{path} cannot be read: permission denied.") from None
    except MemoryError:
        raise InvalidFile(f"{path} cannot be read: it is damaged, or larger than the memory.") from None
    except Exception:  # noqa: BLE001 - NumPy, SciPy, zipfile and Arrow raise many kinds on damaged files
        raise InvalidFile(
            f"{path} cannot be read as {ending}: it is truncated, damaged or of another kind, or holds"
            " Python objects; write it again, as numbers."
        ) from None


def _known_ending(path: Path, endings: Sequence[str]) -> str:
    ending = path.suffix.lower()
    if ending not in endings:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in {' or '.join(endings)}.")
    return ending


def _read_npy(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    values = np.load(path, allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise InvalidFile("it is an .npz file, rename it.")
    return values, None


def _read_npz(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    with np.load(path, allow_pickle=False) as archive:
        if _SPARSE in archive.files and "shape" in archive.files:
            from scipy.sparse import load_npz

            return load_npz(path), None
        if key in archive.files:
            return archive[key], None
        fitting = [values for values in map(archive.__getitem__, archive.files) if values.ndim in ranks]
        if len(fitting) != 1:
            rank = " or ".join(map(str, ranks))
            raise InvalidFile(f"expected an array named {key!r}, or exactly one array with {rank} dimensions.")
        return fitting[0], None


def _read_parquet(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    _require_pyarrow()
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        return from_arrow(file.read())


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InvalidFile(".parquet needs pyarrow: install it with pip install 'dimfree[files]'.") from None


def _read_csv(path: Path, key: str, ranks: tuple[int, ...]) -> Table:
    """Comma-separated numbers, below a line of names or without one; an empty cell is a missing entry."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        first = next((cells for cells in lines if cells), None)
        if first is None:
            raise InvalidFile("it is empty, expected a line of names or lines of numbers.")
        names = _header(first)
        values = array("d", [] if names else _numbers(first, names))
        for blank_or_cells in lines:
            # In one column a blank line is a record with a missing entry: dropping it would change the number of rows.
            cells = blank_or_cells or ([""] if len(first) == 1 else [])
            if not cells:
                continue
            if len(cells) != len(first):
                raise InvalidFile("its lines differ in their number of cells, expected one cell per column everywhere.")
            values.extend(_numbers(cells, names))
    return np.array(values, dtype=np.float64).reshape(-1, len(first)), names


def _header(cells: list[str]) -> tuple[str, ...] | None:
    """The names in the first line, or None when it is a record.

    A mixture is refused: taken as names, the numbers of a record would be published with the mean.
    """
    numeric = [_number(cell) is not None for cell in cells]
    if all(numeric):
        return None
    if any(numeric):
        raise InvalidFile(
            "its first line mixes names with numbers or empty cells, expected a name for every column and no index."
        )
    return tuple(cell.strip() for cell in cells)


def _numbers(cells: list[str], names: tuple[str, ...] | None) -> list[float]:
    try:
        return list(map(float, cells))  # the common case, fast
    except ValueError:
        numbers = [_number(cell) for cell in cells]
    if None in numbers:
        column = numbers.index(None)
        title = repr(names[column]) if names else str(column + 1)
        raise InvalidFile(f"column {title} holds something that is not a number, expected numbers between commas.")
    return [number for number in numbers if number is not None]


def _number(cell: str) -> float | None:
    try:
        return float("nan") if cell.strip().lower() in _MISSING else float(cell)
    except ValueError:
        return None


_READERS: dict[str, Callable[[Path, str, tuple[int, ...]], Table]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


# ---------------------------------------------------------------------------------------------------- writing


@dataclass(frozen=True)
class Draft:
    """A file that is complete on disk under a temporary name beside its target."""

    target: Path
    temporary: Path
    force: bool

    def publish(self) -> None:
        """Give the file its name in one step; without force, never to the loss of another file."""
        try:
            if self.force or not _link(self.temporary, self.target):
                self.temporary.replace(self.target)
        except FileExistsError:
            _refuse_existing(self.target)
        except OSError as error:
            _unwritable(self.target, error)
        finally:
            self.discard()

    def discard(self) -> None:
        with suppress(OSError):
            self.temporary.unlink(missing_ok=True)


def check_target(path: PathLike, *, force: bool = False, endings: Sequence[str] = TABLES) -> None:
    """Everything that can be known to stop a later write; call it before any budget is spent."""
    ending = _known_ending(Path(path), endings)
    target = Path(path).resolve()  # a link is followed, so that it stays a link
    if target.is_dir():
        raise InvalidFile(f"{path} is a folder: pass the path of a file.")
    if not target.parent.is_dir():
        raise InvalidFile(f"{path} cannot be written: its folder does not exist, create it first.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InvalidFile(f"{path} cannot be written: its folder is not writable.")
    if not force and target.exists():
        _refuse_existing(Path(path))
    if ending == ".parquet":
        _require_pyarrow()


def write_mean(path: PathLike, release: Release, *, force: bool = False) -> None:
    """Write a released mean whole or not at all; `-` prints it as CSV. A refused release raises RefusedRelease."""
    if str(path) == STDOUT:
        _print(mean_csv(release))
    else:
        draft_mean(path, release, force=force).publish()


def write_text(path: PathLike, text: str, *, force: bool = False) -> None:
    """Write text whole or not at all, in UTF-8."""
    draft_text(path, text, force=force).publish()


def draft_mean(path: PathLike, release: Release, *, force: bool = False) -> Draft:
    """The mean on disk, but not yet under its name: several drafts can be published together."""
    check_target(path, force=force)
    return _draft(Path(path), _ENCODERS[Path(path).suffix.lower()](release), force)


def draft_text(path: PathLike, text: str, *, force: bool = False) -> Draft:
    return draft_bytes(path, text.encode("utf-8"), force=force)


def draft_bytes(path: PathLike, content: bytes, *, force: bool = False) -> Draft:
    """A file of any kind, such as a picture."""
    check_target(path, force=force, endings=(Path(path).suffix.lower(),))
    return _draft(Path(path), content, force)


def mean_csv(release: Release) -> str:
    """`name,mean,noise_stddev`, one line per coordinate; the numbers read back bit for bit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", "mean", "noise_stddev"))
    writer.writerows(zip(_names(release), release.mean.tolist(), release.noise_stddev.tolist(), strict=True))
    return text.getvalue()


def _names(release: Release) -> tuple[str, ...]:
    return release.columns or tuple(map(str, range(release.dimension)))


def _npy(release: Release) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, release.mean, allow_pickle=False)
    return buffer.getvalue()


def _npz(release: Release) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, name=np.array(_names(release)), mean=release.mean, noise_stddev=release.noise_stddev)
    return buffer.getvalue()


def _parquet(release: Release) -> bytes:
    import pyarrow
    from pyarrow.parquet import write_table

    columns = {"name": list(_names(release)), "mean": release.mean, "noise_stddev": release.noise_stddev}
    buffer = io.BytesIO()
    write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


_ENCODERS: dict[str, Callable[[Release], bytes]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": lambda release: mean_csv(release).encode("utf-8"),
    ".parquet": _parquet,
}


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()  # a closed pipe or a full device must speak now
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise InvalidFile(
            f"The mean could not be printed to standard output: {reason}; part of it may have been seen, so count the"
            " budget as spent, and write to a file next time."
        ) from None


def _draft(path: Path, content: bytes, force: bool) -> Draft:
    target = path.resolve()
    draft = Draft(target, target.parent / f".dimfree-{os.getpid()}-{time.monotonic_ns()}.part", force)
    try:
        with draft.temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a full disk must speak now, while the old file is still there
    except OSError as error:
        draft.discard()
        _unwritable(path, error)
    except BaseException:  # an interrupt leaves nothing behind either
        draft.discard()
        raise
    return draft


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


def _refuse_existing(path: Path) -> NoReturn:
    raise InvalidFile(f"{path} already exists: choose another name, or pass --force (force=True) to replace it.")


def _unwritable(path: Path, error: OSError) -> NoReturn:
    reason = (error.strerror or "unknown error").lower()
    raise InvalidFile(f"{path} could not be written and was left as it was: {reason}; choose another place.") from None
