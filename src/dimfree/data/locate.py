"""Where a table comes from: a file, a folder or pattern of parts, standard input, or an address such as s3://…"""

import sys
from functools import partial
from urllib.parse import urlsplit

from dimfree._validate import check_choice, check_path
from dimfree.data.boundary import boundary
from dimfree.data.endings import SOURCES, PathLike, known_ending
from dimfree.data.formats.file_stream import FilePath, Held, reading, require
from dimfree.data.formats.parts import is_parts
from dimfree.errors import DimfreeError, InvalidFile, OutOfMemory, raise_alone

STANDARD_INPUT = "-"
PARTS = "parts"  # in place of an ending
_HELD = tuple(ending for ending in SOURCES if ending not in (".zarr", ".h5ad"))  # what can be read from memory
_FORMATS = tuple(ending.removeprefix(".") for ending in SOURCES)


def located(path: PathLike, form: str | None = None) -> tuple[FilePath, str]:
    """The path, or the content that was fetched from elsewhere, and the ending that says how to read it."""
    if form is not None:
        form = "." + check_choice("format", form.removeprefix(".") if isinstance(form, str) else form, _FORMATS)
    if str(path) == STANDARD_INPUT:
        ending = _held("standard input", form or ".csv")
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidFile("standard input is a terminal or closed: pipe a table into it, or name a file.")
        with boundary(lambda _: InvalidFile("standard input cannot be read: pipe a table into it, or name a file.")):
            return Held("standard input", ending, sys.stdin.buffer.read()), ending
    if isinstance(path, str) and "://" in path:
        return _fetched(path, _held(shown(path), form or _ending(shown(path))))
    place = check_path("path", path)
    if form is None and is_parts(place):
        return place, PARTS
    ending = form or _ending(place)
    if place.exists() and not place.is_file() and not place.is_dir():  # a pipe, as of <(command): read once
        with reading(place):
            return Held(str(place), _held(str(place), ending), place.read_bytes()), ending
    return place, ending


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
    import fsspec

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
