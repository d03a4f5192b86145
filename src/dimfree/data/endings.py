"""Where a table comes from and by which ending it is read: files, parts, standard input, addresses (s3://…)."""

import importlib
import sys
from collections.abc import Sequence
from functools import partial
from glob import glob
from pathlib import Path, PurePath
from typing import TypeAlias
from urllib.parse import urlsplit

from dimfree._validate import check_choice, check_path
from dimfree.data.boundary import boundary
from dimfree.data.extras import fsspec
from dimfree.data.formats.file_stream import FilePath, Held, reading, require
from dimfree.errors import DimfreeError, InvalidFile, OutOfMemory, raise_alone

PathLike: TypeAlias = str | Path

TABLES = (".npy", ".npz", ".csv", ".parquet")  # of everything that is read or written
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")  # of numbers between delimiters
NAMED = (*TEXTS, ".jsonl", ".jsonl.gz", ".xlsx", ".parquet", ".arrow", ".feather")  # tables whose columns have names
SOURCES = (*TABLES, *(ending for ending in NAMED if ending not in TABLES), ".zarr", ".h5ad")  # of records
PARTS = "parts"  # in place of an ending
_HELD = tuple(ending for ending in SOURCES if ending not in (".zarr", ".h5ad"))  # what can be read from memory
_PART = ".parquet"


def ending_of(name: str) -> str:
    """In small letters; a packed file has two, such as .csv.gz."""
    endings = [ending.lower() for ending in PurePath(name).suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def known_ending(path: PathLike, endings: Sequence[str]) -> str:
    ending = ending_of(str(path))
    if ending not in endings:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in {' or '.join(endings)}.")
    return ending


def require_pyarrow() -> None:
    """Import pyarrow before any budget is spent, so that a broken installation shows in time."""
    require("pyarrow", ".parquet", "files")
    needs = ".parquet needs pyarrow, which cannot be loaded"
    with boundary(lambda error: InvalidFile(f"{needs} ({type(error).__name__}): install it anew.")):
        importlib.import_module("pyarrow.parquet")


def located(path: PathLike, form: str | None = None) -> tuple[FilePath, str]:
    """The path, or the content that was fetched from elsewhere, and the ending that says how to read it."""
    if form is not None:
        formats = tuple(ending.removeprefix(".") for ending in SOURCES)
        form = "." + check_choice("format", form.removeprefix(".") if isinstance(form, str) else form, formats)
    if str(path) == "-":
        ending = _held("standard input", form or ".csv")
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidFile("standard input is a terminal or closed: pipe a table into it, or name a file.")
        with boundary(lambda _: InvalidFile("standard input cannot be read: pipe a table into it, or name a file.")):
            return Held("standard input", ending, sys.stdin.buffer.read()), ending
    if isinstance(path, str) and "://" in path:
        return _fetched(path, _held(shown(path), form or _ending(shown(path))))
    place = check_path("path", path)
    if form is None and _is_parts(place):
        return place, PARTS
    ending = form or _ending(place)
    if place.exists() and not place.is_file() and not place.is_dir():  # a pipe, as of <(command): read once
        with reading(place):
            return Held(str(place), _held(str(place), ending), place.read_bytes()), ending
    return place, ending


def _is_parts(path: Path) -> bool:
    if path.is_dir():
        return path.suffix.lower() == _PART or ending_of(path.name) not in SOURCES
    return any(sign in str(path) for sign in "*?[") and not path.exists()


def list_parts(path: Path) -> list[Path]:
    """The files in the order of their names; hidden ones and those that begin with '_' are no parts."""
    found = path.iterdir() if path.is_dir() else map(Path, glob(str(path)))
    parts = sorted((part for part in found if part.name[0] not in "._"), key=str)
    if any(part.is_dir() or part.suffix.lower() != _PART for part in parts):
        raise InvalidFile(f"it has more than {_PART} files in it, expected those alone: pass a pattern (*.parquet).")
    if not parts:
        raise InvalidFile(f"no {_PART} file is there, expected at least one.")
    return parts


def _ending(place: PathLike) -> str:
    try:
        return known_ending(place, SOURCES)
    except InvalidFile as error:
        raise InvalidFile(f"{str(error).removesuffix('.')}, or format= (--format) that says what it is.") from None


def shown(address: str) -> str:
    """An address without what may be secret in it: names, passwords and signatures."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _held(name: str, ending: str) -> str:
    if ending not in _HELD:
        raise InvalidFile(f"{name} cannot be read as {ending}: expected a format of {', '.join(_HELD)}.")
    return ending


def _fetched(address: str, ending: str) -> tuple[Held, str]:
    """Read into memory once; an error says nothing of what the service answered."""
    name = shown(address)
    require("fsspec", f"{name.partition(':')[0]}://", "remote")
    try:
        with boundary(partial(_unreached, name)), fsspec.open(address, "rb") as file:
            return Held(name, ending, file.read()), ending
    except OutOfMemory:
        raise_alone(InvalidFile(f"{name} cannot be read: it is larger than the memory. Copy it to a disk first."))


def _unreached(name: str, error: BaseException) -> DimfreeError:
    """The text of the error may hold credentials."""
    if isinstance(error, FileNotFoundError):
        return InvalidFile(f"{name} does not exist: check the address.")
    if isinstance(error, ImportError | ValueError):
        return InvalidFile(
            f"{name} cannot be read: its kind of address needs a package of its own (s3fs for s3://, gcsfs for gs://, "
            "aiohttp for https://), which is not installed."
        )
    return InvalidFile(f"{name} cannot be fetched ({type(error).__name__}): check the address and your rights to it.")
