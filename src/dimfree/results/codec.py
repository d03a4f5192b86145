"""Public values and their JSON: each field is declared once; checks, read-only copies and JSON follow from it.

JSON keeps every number bit for bit: Python writes the shortest text that reads back as the same float.
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
from dimfree.errors import InvalidFileError, InvalidParameterError

Check = Callable[[str, Any, int], Any]  # takes the name, the value and the number of columns
Made = TypeVar("Made")


def declare_field(
    check: Check = lambda _, value, __: value,
    *,
    late: bool = False,
    read: Callable[[Any], Any] = lambda value: value,
) -> dict[str, Any]:
    """Return the metadata of a field. `late`: JSON omits None and False; `read` converts the JSON value."""
    return {"check": check, "late": late, "read": read}


def declare_value(check: Callable[[str, Any], Any], *, late: bool = False) -> dict[str, Any]:
    """Declare a field whose check does not depend on the number of columns."""
    return declare_field(lambda name, value, _: check(name, value), late=late)


def declare_numbers(
    *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf, unknown: bool = False, **more: Any
) -> dict[str, Any]:
    """Declare one number per column. `unknown`: a number may be infinite (unknown), which is null in JSON."""

    def check(name: str, value: object, dimension: int) -> Floats:
        array = freeze_numbers(name, value, dimension, unknown=unknown)
        if not ((array > above) & (array >= least) & ((array <= most) | np.isinf(array))).all():
            limits = {f"above {above:g}": above, f"of at least {least:g}": least, f"of at most {most:.4g}": most}
            given = [words for words, limit in limits.items() if math.isfinite(limit)]
            raise InvalidParameterError(f"`{name}` must hold numbers {' and '.join(given)}.")
        return array

    def read(value: Any) -> Any:
        return np.array([math.inf if each is None else each for each in value]) if unknown else value

    return declare_field(check, read=read, **more)


def declare_part(kind: "type[Declared]", *, late: bool = False) -> dict[str, Any]:
    """Declare a field that holds another declared value."""
    return declare_field(
        lambda name, value, dimension: check_kind(name, value, kind).freeze(dimension), late=late, read=kind.from_dict
    )


def check_flags(name: str, value: object, dimension: int) -> NDArray[np.bool_]:
    """Check one flag per column."""
    array = as_array(name, value)
    is_right = array.shape == (dimension,) and array.dtype == np.bool_
    require(is_right, f"`{name}` must hold {dimension} flags, one per column.")
    return np.frombuffer(array.tobytes(), dtype=np.bool_)


def freeze_numbers(name: str, value: object, dimension: int, *, unknown: bool = False) -> Floats:
    """Copy numbers onto immutable bytes, so that setflags cannot make the copy writable. `unknown`: allow infinity."""
    array = as_array(name, value)
    is_right = array.shape == (dimension,) and array.dtype.kind in "iuf"
    require(is_right, f"`{name}` must hold {dimension} numbers, one per column.")
    with np.errstate(all="ignore"):
        array = array.astype(np.float64)
    require((np.isfinite(array) | (unknown & (array == np.inf))).all(), f"`{name}` must be finite.")
    return np.frombuffer(array.tobytes(), dtype=np.float64)


def check_fields(value: Any, dimension: int) -> dict[str, Any]:
    """Check and freeze every declared field; keep None if it is the default."""
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
        each.name.lstrip("_"): to_json_value(content)
        for each, content in found
        if not (each.metadata["late"] and (content is None or content is False))
    }


def fields_from_json(cls: Any, document: Any) -> dict[str, Any]:
    """Return the arguments that `fields_to_json` wrote; the constructor or `freeze` checks their values."""
    known = {each.name.lstrip("_"): each for each in fields(cls)}
    needed = {name for name, each in known.items() if each.default is each.default_factory is MISSING}
    is_whole = needed <= set(check_kind("data", document, dict)) <= set(known)
    require(is_whole, f"The JSON of a {cls.__name__} must have exactly its entries.")
    return {known[name].name: known[name].metadata["read"](each) for name, each in document.items() if each is not None}


def to_json_value(value: Any) -> Any:
    """Convert to JSON values: lists of numbers, null for numbers that are not finite."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, np.ndarray):
        is_whole = value.dtype != np.float64 or np.isfinite(value).all()
        return value.tolist() if is_whole else [to_json_value(each) for each in value.tolist()]
    return list(value) if isinstance(value, tuple) else value


class Declared:
    """A dataclass of declared fields."""

    __slots__ = ()

    def freeze(self, dimension: int) -> Self:
        """Return a checked, read-only copy.

        Parameters
        ----------
        dimension : int
            Number of columns.

        Returns
        -------
        EstimatedDirections, EstimatedVariances or Clipping
        """
        return type(self)(**self._checked(check_count("dimension", dimension)))

    def _checked(self, dimension: int) -> dict[str, Any]:
        return check_fields(self, dimension)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values.

        Returns
        -------
        dict
        """
        return fields_to_json(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote; raise InvalidParameterError if an entry is missing or unknown.

        Parameters
        ----------
        data : dict
            The result of `to_dict`.

        Returns
        -------
        EstimatedDirections, EstimatedVariances or Clipping
        """
        return cls(**fields_from_json(cls, data))


_KINDS = {
    "release": ("format", "one release", "Release"),
    "means": ("means", "group means", "GroupMeans"),
}


@dataclass(frozen=True)
class Format:
    """A kind of JSON file. `key` is the entry that holds the format number."""

    name: str
    key: str
    number: int  # raise it whenever an older reader would misunderstand the file
    entries: frozenset[str]
    late: frozenset[str] = frozenset()  # entries that may be missing

    def read(self, text: str, make: Callable[[dict[str, Any]], Made]) -> Made:
        """Pass the JSON object in `text` to `make`; raise InvalidFileError if it has another kind or format."""
        again = f"export it again with {self.name}.to_json()."
        try:
            document = json.loads(text, parse_constant=_refuse_constant)
        except (TypeError, ValueError, RecursionError):
            raise InvalidFileError(f"The text is not valid JSON, perhaps because it was cut: {again}") from None
        for name, (key, what, reader) in _KINDS.items():
            if name != self.name and isinstance(document, dict) and key in document:
                raise InvalidFileError(
                    f"The file holds {what}, not {_KINDS[self.name][1]}: read it with dimfree.load(path) or "
                    f"dimfree.{reader}.from_json(text)."
                )
        if not isinstance(document, dict) or self.key not in document:
            raise InvalidFileError(
                f"The JSON is not a dimfree {self.name} file, because it has no format number: {again}"
            )
        if type(document[self.key]) is not int or document.pop(self.key) != self.number:
            raise InvalidFileError(
                f"The format number of a {self.name} file must be {self.number}: read this file with the dimfree "
                "version that wrote it."
            )
        if set(document) - self.late != self.entries:
            raise InvalidFileError(
                f"A {self.name} file must have exactly the fields {', '.join(sorted(self.entries))}: {again}"
            )
        try:
            return make(document)
        except (
            InvalidParameterError,
            InvalidFileError,
            LookupError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
        ):
            raise InvalidFileError(f"The text is not a complete dimfree {self.name} file: {again}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON
