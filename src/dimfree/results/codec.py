"""Public values and their files: fields are declared once; checks, read-only copies and JSON follow from that.

JSON holds every number bit for bit: Python prints the shortest text that reads back as the same float.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree._validate import as_array, check_between, check_count, check_kind
from dimfree.errors import InvalidFile, InvalidParameter

Check = Callable[[str, Any, int], Any]  # of a field: its name, its value, the number of columns


def declared(check: Check, *, late: bool = False, read: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    """Metadata of a field. `late`: JSON leaves out None and False, since older files lack it; `read`: from JSON."""
    return {"check": check, "late": late, "read": read}


def number(least: float, most: float) -> dict[str, Any]:
    """One number."""
    return declared(lambda name, value, _: check_between(name, value, least, most))


def numbers(
    *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf, unknown: bool = False, **more: Any
) -> dict[str, Any]:
    """One number for each column. `unknown`: infinity, which is null in JSON, where a number is not known."""

    def check(name: str, value: object, dimension: int) -> Floats:
        array = np.array(value) if unknown else np.empty(0)
        missing = array == np.inf if unknown and array.dtype.kind == "f" else np.zeros(array.shape, bool)
        frozen = frozen_numbers(name, np.where(missing, max(least, 0.0), array) if unknown else value, dimension)
        if not ((frozen > above) & (frozen >= least) & (frozen <= most)).all():
            limits = {f"above {above:g}": above, f"of at least {least:g}": least, f"of at most {most:.4g}": most}
            given = [words for words, limit in limits.items() if math.isfinite(limit)]
            raise InvalidParameter(f"Expected {name} to hold numbers {' and '.join(given)}.")
        return np.frombuffer(np.where(missing, np.inf, frozen).tobytes(), dtype=np.float64) if unknown else frozen

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
    if array.shape != (dimension,) or array.dtype != np.bool_:
        raise InvalidParameter(f"Expected {name} to hold {dimension} flags, one for each coordinate.")
    return np.frombuffer(array.tobytes(), dtype=np.bool_)


def frozen_numbers(name: str, value: object, dimension: int) -> Floats:
    """A read-only copy over immutable bytes: not even setflags makes it writable."""
    array = as_array(name, value)
    if array.shape != (dimension,) or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to hold {dimension} numbers, one for each coordinate.")
    with np.errstate(all="ignore"):
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameter(f"Expected {name} to be finite.")
    return np.frombuffer(array.tobytes(), dtype=np.float64)


def checked_fields(value: Any, dimension: int) -> dict[str, Any]:
    """Every declared field, checked and frozen; None stays where it is the default."""
    found = {each: getattr(value, each.name) for each in fields(value)}
    return {
        each.name: None
        if content is None and each.default is None
        else each.metadata["check"](each.name.lstrip("_"), content, dimension)
        for each, content in found.items()
    }


def fields_to_json(value: Any) -> dict[str, Any]:
    """Every declared field as JSON values."""
    found = {each: getattr(value, each.name) for each in fields(value)}
    return {
        each.name.lstrip("_"): plain(content)
        for each, content in found.items()
        if not (each.metadata["late"] and (content is None or content is False))
    }


def fields_from_json(cls: Any, document: Any) -> dict[str, Any]:
    """The arguments that `fields_to_json` wrote; the constructor, or `frozen`, checks their values."""
    declarations = {each.name.lstrip("_"): each for each in fields(cls)}
    needed = {name for name, each in declarations.items() if each.default is each.default_factory is MISSING}
    if not needed <= set(check_kind("data", document, dict)) <= set(declarations):
        raise InvalidParameter(f"Expected exactly the entries of a {cls.__name__}.")
    return {
        declarations[name].name: declarations[name].metadata["read"](content)
        for name, content in document.items()
        if content is not None
    }


def plain(value: Any) -> Any:
    """For JSON: lists of numbers, null where a number is not finite."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, np.ndarray):
        return value
    whole = value.dtype != np.float64 or np.isfinite(value).all()
    return value.tolist() if whole else [plain(each) for each in value.tolist()]


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
        """Return what `to_dict` wrote.

        Parameters
        ----------
        data : dict
            As from `to_dict`.

        Returns
        -------
        LearnedDirections, LearnedShape or Reach

        Raises
        ------
        InvalidParameter
            If an entry is missing or unknown.
        """
        return cls(**fields_from_json(cls, data))


@dataclass(frozen=True)
class Format:
    """A kind of JSON file. `key` is the entry that holds the number of its format."""

    name: str
    key: str
    number: int  # raise it whenever an older reader would misunderstand the file
    entries: frozenset[str]
    late: frozenset[str] = frozenset()  # entries that may be missing

    @property
    def again(self) -> str:
        return f"export it again with {self.name}.to_json()."

    def parse(self, text: str) -> dict[str, Any]:
        """The JSON object in `text`, known to be of this kind and format."""
        try:
            document = json.loads(text, parse_constant=_no_constant)
        except (TypeError, ValueError, RecursionError):
            raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {self.again}") from None
        for name, (key, what, reader) in _KINDS.items():
            if name != self.name and isinstance(document, dict) and key in document:
                raise InvalidFile(
                    f"The text is a record of {what}, not of {_KINDS[self.name][1]}: read it with "
                    f"dimfree.{reader}.from_json(text)."
                )
        if not isinstance(document, dict) or self.key not in document:
            raise InvalidFile(f"The JSON is not a dimfree {self.name}, which has a format number: {self.again}")
        if type(document[self.key]) is not int or document.pop(self.key) != self.number:
            raise InvalidFile(
                f"Expected {self.name} format {self.number}: read this file with the dimfree version that wrote it."
            )
        if set(document) - self.late != self.entries:
            raise InvalidFile(
                f"Expected exactly the fields {', '.join(sorted(self.entries))} in a {self.name}: {self.again}"
            )
        return document

    @contextmanager
    def complete(self) -> Iterator[None]:
        """Whatever is wrong with a value makes the whole text incomplete."""
        try:
            yield
        except (InvalidParameter, InvalidFile, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise InvalidFile(f"The text is not a complete dimfree {self.name}: {self.again}") from None


_KINDS = {
    "release": ("format", "one release", "Release"),
    "means": ("means", "the means of groups", "Means"),
}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON
