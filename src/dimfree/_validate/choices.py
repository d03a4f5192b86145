"""Checks of what is no number: texts, choices, flags, paths, objects of a class, names of devices."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from dimfree._validate.numbers import check_count
from dimfree._validate.quoting import quoted
from dimfree.errors import InvalidParameter, raise_alone

Kind = TypeVar("Kind")
_LONGEST_PATH = 4096  # no system opens a longer one


def check_kind(name: str, value: object, kind: type[Kind], remedy: str = "") -> Kind:
    """An object of this class."""
    if not isinstance(value, kind):
        raise InvalidParameter(f"Expected {name} to be a {kind.__name__}, got {quoted(value)}.{remedy and ' '}{remedy}")
    return value


def check_callable(name: str, value: object) -> None:
    """A function."""
    if not callable(value):
        raise InvalidParameter(f"Expected {name} to be a function, got {quoted(value)}.")


def check_path(name: str, value: object) -> Path:
    """The path of a file or folder, as a system can open it."""
    text = str(value) if isinstance(value, str | Path) else ""
    if not text or len(text) > _LONGEST_PATH or "\0" in text or not _is_encodable(text):
        raise InvalidParameter(f"Expected {name} to be the name of a file, such as 'study.db', got {quoted(value)}.")
    return Path(text)


def _is_encodable(path: str) -> bool:
    try:
        return bool(os.fsencode(path))
    except UnicodeEncodeError:
        return False


def check_each(name: str, values: Iterable[object], check: Callable[[str, object], Kind], need: str) -> list[Kind]:
    """All entries of a list; the one that is wrong is not quoted, since the list may be a record."""
    try:
        return [check(name, value) for value in values]
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameter(f"Expected {name} to be a list, and every entry of it {need}."))


def check_text(name: str, value: object) -> str:
    """A text."""
    return str.__str__(check_kind(name, value, str))


def is_word(value: object, word: str) -> bool:
    """Whether the value is this text; nothing else is compared with it, since an array would answer entry by entry."""
    return isinstance(value, str) and str.__str__(value) == word


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of the listed words."""
    text = str.__str__(value) if isinstance(value, str) else None
    if text is None or text not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be one of {listed}.")
    return text


def check_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be True or False.")
    return bool(value)


def check_device(value: object) -> str | None:
    """The name of a device; None: where the table lies."""
    if value is None:
        return None
    named = isinstance(value, str) or type(value).__module__ == "torch"  # also a torch.device
    text = str(value) if named else ""
    kind, colon, index = text.partition(":")
    if text != "cpu" and not (kind == "cuda" and (index.isdecimal() if colon else True)):
        raise InvalidParameter(
            f"Expected device={quoted(value)} to be 'cpu', 'cuda' or one of several, as in 'cuda:1'."
        )
    return text


def reject_device(name: str | None, why: str) -> InvalidParameter:
    """The error for a device that cannot be used here, for the caller to raise."""
    return InvalidParameter(f"device={quoted(name)} cannot be used: {why}.")


def check_unit_rows(unit: object, unit_rows: object) -> None:
    """A public bound on the rows of a person needs persons."""
    if unit_rows is None:
        return
    check_count("unit_rows", unit_rows)
    if unit is None:
        raise InvalidParameter(
            f"Expected unit_rows={quoted(unit_rows)} together with unit=, which says whose each row is."
        )


def check_learned_options(shape: str, scale: str) -> None:
    """Refuse an option of a known covariance if the shape is learned."""
    if scale != "known":
        raise InvalidParameter(
            f"Expected scale at its default with shape={quoted(shape)}: it belongs to a known covariance. Drop it, or"
            " pass covariance= (--covariance FILE)."
        )
