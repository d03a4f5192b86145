"""A release as JSON text and back, bit for bit."""

import json
from typing import TYPE_CHECKING, Any, NoReturn

from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import costs_from_dict
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.results.error_model import ErrorModel, LearnedShape
from dimfree.results.reach import Reach

if TYPE_CHECKING:
    from dimfree.results.release import Release

FORMAT = 5  # raise it whenever an older reader would misunderstand the file
_KEYS = (
    "format", "guarantee", "ledger", "method", "dimension", "columns", "parameters", "refusal",
    "mean", "noise_stddev", "error_model", "shape", "reach",
)  # fmt: skip
_AGAIN = "export it again with release.to_json()."


def release_text(release: "Release") -> str:
    """JSON text, one field per line."""
    lines = (f"  {_dump(name)}: {_dump(value)}" for name, value in _document(release).items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def canonical_text(release: "Release") -> str:
    """One line of JSON with sorted keys. It tells -0.0 from 0.0 and 1 from 1.0: equal text means equal bit for bit."""
    return _dump(_document(release))


def fields_from_text(text: str) -> dict[str, Any]:
    """The constructor arguments of the release in `text`; the constructor checks their values."""
    document = _parse(text)
    try:
        return _fields_of(document)
    except (InvalidParameter, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
        raise incomplete() from None


def incomplete() -> InvalidFile:
    """The error for JSON that is no complete release, for the caller to raise."""
    return InvalidFile(f"The text is not a complete dimfree release: {_AGAIN}")


def _dump(value: object) -> str:
    """Canonical, exact JSON: Python prints the shortest text that reads back as the same float."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def _document(release: "Release") -> dict[str, Any]:
    return {
        "format": FORMAT,
        "guarantee": release.guarantee.to_dict(),
        "method": release.method,
        "dimension": release.dimension,
        "columns": None if release.columns is None else list(release.columns),
        "parameters": dict(release.parameters),
        "refusal": release.refusal,
        "mean": None if release._mean is None else release._mean.tolist(),
        "noise_stddev": None if release._noise_stddev is None else release._noise_stddev.tolist(),
        "error_model": None if release._error_model is None else release._error_model.to_dict(),
        "shape": None if release._shape is None else release._shape.to_dict(),
        "reach": None if release._reach is None else release._reach.to_dict(),
        "ledger": release.ledger.to_dict(),
    }


def _parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`, known to be a release of a format this version reads."""
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (TypeError, ValueError, RecursionError):
        raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {_AGAIN}") from None
    if isinstance(document, dict) and "means" in document:
        raise InvalidFile(
            "The text is a record of the means of groups, not of one release: read it with "
            "dimfree.Means.from_json(text)."
        )
    if not isinstance(document, dict) or "format" not in document:
        raise InvalidFile(f"The JSON is not a dimfree release, which has a format number: {_AGAIN}")
    if type(document["format"]) is not int or document["format"] != FORMAT:
        raise InvalidFile(f"Expected release format {FORMAT}: read this file with the dimfree version that wrote it.")
    if set(document) != set(_KEYS):
        raise InvalidFile(f"Expected exactly the fields {', '.join(_KEYS)} in a release: {_AGAIN}")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _fields_of(document: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from a parsed document; types are checked there."""
    values = {name: document[name] for name in _KEYS if name != "format"}
    model, shape, reach = (values.pop(name) for name in ("error_model", "shape", "reach"))
    return {
        **{f"_{name}": values.pop(name) for name in ("mean", "noise_stddev")},
        **values,
        "_error_model": None if model is None else ErrorModel.from_dict(model),
        "_shape": None if shape is None else LearnedShape.from_dict(shape),
        "_reach": None if reach is None else Reach.from_dict(reach),
        "guarantee": Guarantee.from_dict(values["guarantee"]),
        "ledger": costs_from_dict(values["ledger"]),
    }
