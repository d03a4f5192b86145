"""Locate a table and find its format: files, folders of parts, standard input, addresses (s3://…)."""

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
from dimfree.data.formats.file_stream import FilePath, InMemoryFile, require, reword_file_errors
from dimfree.errors import DimfreeError, InvalidFileError, OutOfMemoryError, raise_alone

PathLike: TypeAlias = str | Path

TABLES = (".npy", ".npz", ".csv", ".parquet")  # read and written
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")  # delimited text
NAMED = (*TEXTS, ".jsonl", ".jsonl.gz", ".xlsx", ".parquet", ".arrow", ".feather")  # tables whose columns have names
SOURCES = (*TABLES, *(ending for ending in NAMED if ending not in TABLES), ".zarr", ".h5ad")  # of records
PARTS = "parts"  # in place of an ending
_IN_MEMORY = tuple(ending for ending in SOURCES if ending not in (".zarr", ".h5ad"))  # what can be read from memory
_PART = ".parquet"


def get_ending(name: str) -> str:
    """Return the ending in lower case; a compressed file has two, such as .csv.gz."""
    endings = [ending.lower() for ending in PurePath(name).suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def find_ending(path: PathLike, endings: Sequence[str]) -> str:
    ending = get_ending(str(path))
    if ending not in endings:
        raise InvalidFileError(f"{path} has an unknown ending: pass a path that ends in {' or '.join(endings)}.")
    return ending


def require_pyarrow() -> None:
    """Import pyarrow before any budget is charged, so that a broken installation shows in time."""
    require("pyarrow", ".parquet", "files")
    needs = ".parquet needs pyarrow, which cannot be loaded"
    with boundary(lambda error: InvalidFileError(f"{needs} ({type(error).__name__}): reinstall it.")):
        importlib.import_module("pyarrow.parquet")


def locate(path: PathLike, form: str | None = None) -> tuple[FilePath, str]:
    """Return the path, or content that was fetched from elsewhere, and the ending that sets its format."""
    if form is not None:
        formats = tuple(ending.removeprefix(".") for ending in SOURCES)
        form = "." + check_choice("format", form.removeprefix(".") if isinstance(form, str) else form, formats)
    if str(path) == "-":
        ending = _require_readable_in_memory("standard input", form or ".csv")
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidFileError("standard input is a terminal or closed: pipe a table into it, or pass a file.")
        with boundary(
            lambda _: InvalidFileError("standard input cannot be read: pipe a table into it, or pass a file.")
        ):
            return InMemoryFile("standard input", ending, sys.stdin.buffer.read()), ending
    if isinstance(path, str) and "://" in path:
        return _fetch(path, _require_readable_in_memory(redact_address(path), form or _ending(redact_address(path))))
    place = check_path("path", path)
    if form is None and _is_parts(place):
        return place, PARTS
    ending = form or _ending(place)
    if place.exists() and not place.is_file() and not place.is_dir():  # a pipe, as of <(command): read once
        with reword_file_errors(place):
            return InMemoryFile(str(place), _require_readable_in_memory(str(place), ending), place.read_bytes()), ending
    return place, ending


def _is_parts(path: Path) -> bool:
    if path.is_dir():
        return path.suffix.lower() == _PART or get_ending(path.name) not in SOURCES
    return any(sign in str(path) for sign in "*?[") and not path.exists()


def list_parts(path: Path) -> list[Path]:
    """Return the files in the order of their names, without those that begin with '.' or '_'."""
    found = path.iterdir() if path.is_dir() else map(Path, glob(str(path)))
    parts = sorted((part for part in found if part.name[0] not in "._"), key=str)
    if any(part.is_dir() or part.suffix.lower() != _PART for part in parts):
        raise InvalidFileError(f"it contains other files than {_PART}: pass a pattern (*.parquet).")
    if not parts:
        raise InvalidFileError(f"it contains no {_PART} file: pass a folder or pattern with at least one.")
    return parts


def _ending(place: PathLike) -> str:
    try:
        return find_ending(place, SOURCES)
    except InvalidFileError as error:
        raise InvalidFileError(
            f"{str(error).removesuffix('.')}, or state the format with format= (--format)."
        ) from None


def redact_address(address: str) -> str:
    """Return an address without user names, passwords and signatures, which may be secret."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _require_readable_in_memory(name: str, ending: str) -> str:
    if ending not in _IN_MEMORY:
        raise InvalidFileError(f"{name} cannot be read as {ending}: the format must be one of {', '.join(_IN_MEMORY)}.")
    return ending


def _fetch(address: str, ending: str) -> tuple[InMemoryFile, str]:
    """Read an address into memory once; errors do not quote the answer of the service."""
    name = redact_address(address)
    require("fsspec", f"{name.partition(':')[0]}://", "remote")
    try:
        with boundary(partial(_reword_fetch_error, name)), fsspec.open(address, "rb") as file:
            return InMemoryFile(name, ending, file.read()), ending
    except OutOfMemoryError:
        raise_alone(InvalidFileError(f"{name} is larger than the memory: copy it to a disk first."))


def _reword_fetch_error(name: str, error: BaseException) -> DimfreeError:
    """Return an error without the text of the original, which may contain credentials."""
    if isinstance(error, FileNotFoundError):
        return InvalidFileError(f"{name} does not exist: check the address.")
    if isinstance(error, ImportError | ValueError):
        return InvalidFileError(
            f"{name} cannot be read: the package for its kind of address is not installed. Install s3fs for s3://, "
            "gcsfs for gs://, aiohttp for https://."
        )
    return InvalidFileError(
        f"{name} cannot be fetched ({type(error).__name__}): check the address and your access rights."
    )
