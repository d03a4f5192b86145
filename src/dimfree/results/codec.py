"""Public values and their JSON: fields are declared once; checks, read-only copies and JSON follow from that.

JSON holds every number bit for bit: Python prints the shortest text that reads back as the same float.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import as_array, check_count, check_kind, require
from dimfree.errors import InvalidFile, InvalidParameter

Check = Callable[[str, Any, int], Any]  # of a field: its name, its value, the number of columns
Made = TypeVar("Made")


def declared(
    check: Check = lambda _, value, __: value,
    *,
    late: bool = False,
    read: Callable[[Any], Any] = lambda value: value,
) -> dict[str, Any]:
    """Metadata of a field. `late`: JSON leaves out None and False, since older files lack it; `read`: from JSON."""
    return {"check": check, "late": late, "read": read}


def single(check: Callable[[str, Any], Any], *, late: bool = False) -> dict[str, Any]:
    """A field whose check does not depend on the number of columns."""
    return declared(lambda name, value, _: check(name, value), late=late)


def numbers(
    *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf, unknown: bool = False, **more: Any
) -> dict[str, Any]:
    """One number for each column. `unknown`: infinity, which is null in JSON, where a number is not known."""

    def check(name: str, value: object, dimension: int) -> Floats:
        array = frozen_numbers(name, value, dimension, unknown=unknown)
        if not ((array > above) & (array >= least) & ((array <= most) | np.isinf(array))).all():
            limits = {f"above {above:g}": above, f"of at least {least:g}": least, f"of at most {most:.4g}": most}
            given = [words for words, limit in limits.items() if math.isfinite(limit)]
            raise InvalidParameter(f"Expected {name} to hold numbers {' and '.join(given)}.")
        return array

    def read(value: Any) -> Any:
        return np.array([math.inf if each is None else each for each in value]) if unknown else value

    return declared(check, read=read, **more)


def part(kind: "type[Declared]", *, late: bool = False) -> dict[str, Any]:
    """Another declared value."""
    return declared(
        lambda name, value, dimension: check_kind(name, value, kind).frozen(dimension), late=late, read=kind.from_dict
    )


def flags(name: str, value: object, dimension: int) -> NDArray[np.bool_]:
    """Check one flag for each column."""
    array = as_array(name, value)
    is_right = array.shape == (dimension,) and array.dtype == np.bool_
    require(is_right, f"Expected {name} to hold {dimension} flags, one for each coordinate.")
    return np.frombuffer(array.tobytes(), dtype=np.bool_)


def frozen_numbers(name: str, value: object, dimension: int, *, unknown: bool = False) -> Floats:
    """Copy numbers over immutable bytes: not even setflags makes the copy writable. `unknown`: they may be infinite."""
    array = as_array(name, value)
    is_right = array.shape == (dimension,) and array.dtype.kind in "iuf"
    require(is_right, f"Expected {name} to hold {dimension} numbers, one for each coordinate.")
    with np.errstate(all="ignore"):
        array = array.astype(np.float64)
    require((np.isfinite(array) | (unknown & (array == np.inf))).all(), f"Expected {name} to be finite.")
    return np.frombuffer(array.tobytes(), dtype=np.float64)


def checked_fields(value: Any, dimension: int) -> dict[str, Any]:
    """Check and freeze every declared field; None stays if it is the default."""
    return {
        each.name: None
        if (content := getattr(value, each.name)) is None and each.default is None
        else each.metadata["check"](each.name.lstrip("_"), content, dimension)
        for each in fields(value)
    }


def fields_to_json(value: Any) -> dict[str, Any]:
    """Return every declared field as JSON values."""
    found = [(each, getattr(value, each.name)) for each in fields(value)]
    return {
        each.name.lstrip("_"): plain(content)
        for each, content in found
        if not (each.metadata["late"] and (content is None or content is False))
    }


def fields_from_json(cls: Any, document: Any) -> dict[str, Any]:
    """Return the arguments that `fields_to_json` wrote; the constructor, or `frozen`, checks their values."""
    known = {each.name.lstrip("_"): each for each in fields(cls)}
    needed = {name for name, each in known.items() if each.default is each.default_factory is MISSING}
    is_whole = needed <= set(check_kind("data", document, dict)) <= set(known)
    require(is_whole, f"Expected exactly the entries of a {cls.__name__}.")
    return {known[name].name: known[name].metadata["read"](each) for name, each in document.items() if each is not None}


def plain(value: Any) -> Any:
    """Return JSON values: lists of numbers, null where a number is not finite."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        is_whole = value.dtype != np.float64 or np.isfinite(value).all()
        return value.tolist() if is_whole else [plain(each) for each in value.tolist()]
    return list(value) if isinstance(value, tuple) else value


class Declared:
    """A dataclass of declared fields."""

    __slots__ = ()

    def frozen(self, dimension: int) -> Self:
        """Return a checked, read-only copy.

        Parameters
        ----------
        dimension : int
            Number of columns of the records.

        Returns
        -------
        LearnedDirections, LearnedShape or Reach
        """
        return type(self)(**self._checked(check_count("dimension", dimension)))

    def _checked(self, dimension: int) -> dict[str, Any]:
        return checked_fields(self, dimension)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, for JSON.

        Returns
        -------
        dict
        """
        return fields_to_json(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what `to_dict` wrote; InvalidParameter if an entry is missing or unknown.

        Parameters
        ----------
        data : dict
            As from `to_dict`.

        Returns
        -------
        LearnedDirections, LearnedShape or Reach
        """
        return cls(**fields_from_json(cls, data))


_KINDS = {
    "release": ("format", "one release", "Release"),
    "means": ("means", "the means of groups", "Means"),
}


@dataclass(frozen=True)
class Format:
    """A kind of JSON file. `key` is the entry that holds the number of its format."""

    name: str
    key: str
    number: int  # raise it whenever an older reader would misunderstand the file
    entries: frozenset[str]
    late: frozenset[str] = frozenset()  # entries that may be missing

    def read(self, text: str, make: Callable[[dict[str, Any]], Made]) -> Made:
        """Return what `make` makes of the JSON object in `text`; InvalidFile if it is not of this kind and format."""
        again = f"export it again with {self.name}.to_json()."
        try:
            document = json.loads(text, parse_constant=_refuse_constant)
        except (TypeError, ValueError, RecursionError):
            raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {again}") from None
        for name, (key, what, reader) in _KINDS.items():
            if name != self.name and isinstance(document, dict) and key in document:
                raise InvalidFile(
                    f"The text is a record of {what}, not of {_KINDS[self.name][1]}: read it with "
                    f"dimfree.{reader}.from_json(text)."
                )
        if not isinstance(document, dict) or self.key not in document:
            raise InvalidFile(f"The JSON is not a dimfree {self.name}, which has a format number: {again}")
        if type(document[self.key]) is not int or document.pop(self.key) != self.number:
            raise InvalidFile(
                f"Expected {self.name} format {self.number}: read this file with the dimfree version that wrote it."
            )
        if set(document) - self.late != self.entries:
            raise InvalidFile(
                f"Expected exactly the fields {', '.join(sorted(self.entries))} in a {self.name}: {again}"
            )
        try:
            return make(document)
        except (InvalidParameter, InvalidFile, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise InvalidFile(f"The text is not a complete dimfree {self.name}: {again}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON
