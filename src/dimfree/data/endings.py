"""The endings of files: which tables can be read and written, and what a path ends in."""

import importlib
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TypeAlias

from dimfree.data.boundary import boundary
from dimfree.data.formats.file_stream import require
from dimfree.errors import InvalidFile

PathLike: TypeAlias = str | Path

TABLES = (".npy", ".npz", ".csv", ".parquet")  # of everything that is read or written
TEXTS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")  # of numbers between delimiters
CELLS = (*TEXTS, ".jsonl", ".jsonl.gz", ".xlsx")  # of files without declared types
NAMED = (*CELLS, ".parquet", ".arrow", ".feather")  # of tables whose columns have names
SOURCES = (*TABLES, *(ending for ending in NAMED if ending not in TABLES), ".zarr", ".h5ad")  # of records

_BROKEN = ".parquet needs pyarrow, which cannot be loaded ({kind}): install it anew."


def ending_of(name: str) -> str:
    """In small letters; a packed file has two, such as .csv.gz."""
    endings = [ending.lower() for ending in PurePath(name).suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def known_ending(path: PathLike, endings: Sequence[str]) -> str:
    """The ending of a path; an error names those that can be used."""
    ending = ending_of(str(path))
    if ending not in endings:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in {' or '.join(endings)}.")
    return ending


def require_pyarrow() -> None:
    """Import pyarrow before any budget is spent, so that a broken installation shows in time."""
    require("pyarrow", ".parquet", "files")
    with boundary(lambda error: InvalidFile(_BROKEN.format(kind=type(error).__name__))):
        importlib.import_module("pyarrow.parquet")
