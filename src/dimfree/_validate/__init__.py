"""Checks of parameters. An error names the parameter, what it must be and the remedy; it never quotes what may be data.

A check of a single number is a row: what the number must be, and the test of it. A check returns the value it accepts.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import are_counted
from dimfree._validate.extras import install_command as install_command
from dimfree.errors import InvalidParameter, raise_alone

MAX_COUNT = 2**53  # of anything that is counted: floats tell whole numbers apart up to here
MOST_COLUMNS = 2**22  # the error bounds of proofs/statistics (friends, distances) hold up to here

_MAX_TEXT, _MAX_DIGITS, _MAX_PATH = 40, 30, 4096  # no system opens a longer path
_SHAPES = "Isotropic(scale), Diagonal(variances), Dense(covariance) or LowRank(basis, variances, tail)"
_FLAT_REMEDY = (
    "Add a small public floor (for example 1e-6 of the largest variance), use LowRank(basis, variances, tail) with a "
    "tail above 0, or drop or project out the constant directions before the release, as the paper's remark on "
    "singular covariances says."
)

Kind = TypeVar("Kind")
Floats = NDArray[np.float64]


def quoted(value: object) -> str:
    """Return a single number or a short word as it was given; anything else by its type, since it may hold records."""
    plain = value.item() if isinstance(value, np.integer | np.floating | np.bool_) else value
    if plain is None or isinstance(plain, bool):
        return repr(plain)
    if isinstance(plain, float):
        return float.__repr__(plain)
    if isinstance(plain, int) and abs(int.__index__(plain)) < 10**_MAX_DIGITS:
        return int.__repr__(plain)
    if isinstance(plain, str) and len(text := str.__str__(plain)) <= _MAX_TEXT:
        return repr(text)
    return f"<{type(value).__name__}>"


def reject(name: str, value: object, need: str) -> NoReturn:
    """Raise the error for a value that is not what it must be."""
    raise_alone(InvalidParameter(f"`{name}` must be {need}, got {quoted(value)}."))


def require(holds: object, sentence: str) -> None:
    """Raise an InvalidParameter with this sentence unless the condition holds."""
    if not holds:
        raise InvalidParameter(sentence)


# single numbers


def _read_number(value: object) -> float:
    """One number, or NaN: an array, even with a single entry, may be a record."""
    one = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(one, bool) or not isinstance(one, Real | Decimal):
        return math.nan
    try:
        return float(one)
    except Exception:  # noqa: BLE001 - what an object raises may quote it
        return math.nan


@dataclass(frozen=True)
class Need:
    """What a number must be, in words and as a test; calling it checks the value of a parameter."""

    words: str
    holds: Callable[[float], bool]

    def __call__(self, name: str, value: object) -> float:
        number = _read_number(value)
        if not self.holds(number):
            reject(name, value, self.words)
        return number


check_finite = Need("a finite number", math.isfinite)
check_positive = Need("a finite number above 0", lambda number: 0 < number < math.inf)
check_probability = Need("a number in (0, 1)", lambda number: 0 < number < 1)
check_share = Need("a number in [0, 1)", lambda number: 0 <= number < 1)
check_failure = Need("a number in [1e-100, 1)", lambda number: 1e-100 <= number < 1)  # with finite Gaussian quantiles


def check_between(name: str, value: object, least: float, most: float) -> float:
    """A number from `least` to `most`, both public limits."""
    return Need(f"a number from {least:g} to {most:g}", lambda number: least <= number <= most)(name, value)


def check_at_least(name: str, value: float, least: float) -> float:
    """A number not below `least`."""
    return Need(f"at least {least!r}, which the accounting needs", lambda number: number >= least)(name, value)


def check_count(name: str, value: object, *, least: int = 1, most: float = MAX_COUNT, or_auto: bool = False) -> int:
    """A whole number from `least` to `most`. `or_auto`: the parameter also takes "auto", and floats that are whole."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    number = int(value) if whole else _read_number(value) if or_auto else math.nan  # type: ignore[call-overload]
    if not (least <= number <= most and number == int(number)):
        limit = "" if most == MAX_COUNT else f" and at most {most}"
        reject(name, value, f"a whole number, at least {least}{limit}" + ", or 'auto'" * or_auto)
    return int(number)


def check_window(name: str, value: object) -> tuple[float, float]:
    """(low, high), apart from each other, whose squares stay in the range of floats."""
    try:
        low, high = map(_read_number, value)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - what an object raises may quote it
        low = high = math.nan
    if not (low >= 1e-60 and high <= 1e60 and 2 * low <= high):
        reject(name, value, "two numbers (low, high), 1e-60 <= low and 2 * low <= high <= 1e60")
    return low, high


# texts, choices, objects


def check_kind(name: str, value: object, kind: type[Kind]) -> Kind:
    """An object of this class."""
    if not isinstance(value, kind):
        reject(name, value, f"a {kind.__name__}")
    return value


def check_callable(name: str, value: object) -> None:
    """A function."""
    if not callable(value):
        reject(name, value, "a function")


def is_word(value: object, word: str) -> bool:
    """Whether the value is this text; nothing else is compared with it, since an array would answer entry by entry."""
    return isinstance(value, str) and str.__str__(value) == word


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of the listed words."""
    text = str.__str__(value) if isinstance(value, str) else None
    if text is None or text not in choices:
        reject(name, value, f"one of {', '.join(map(repr, choices))}")
    return text


def check_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        reject(name, value, "True or False")
    return bool(value)


def check_path(name: str, value: object) -> Path:
    """The path of a file or folder, as a system can open it."""
    text = str(value) if isinstance(value, str | Path) else ""
    try:
        opens = 0 < len(text) <= _MAX_PATH and "\0" not in text and os.fsencode(text)
    except UnicodeEncodeError:
        opens = False
    if not opens:
        reject(name, value, "the name of a file, such as 'study.db'")
    return Path(text)


def check_each(name: str, values: Iterable[object], check: Callable[[str, object], Kind], need: str) -> list[Kind]:
    """All entries of a list; the one that is wrong is not quoted, since the list may be a record."""
    try:
        return [check(name, value) for value in values]
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameter(f"`{name}` must be a list, and every entry of it {need}."))


def check_device(value: object) -> str | None:
    """The name of a device; None: where the table lies."""
    named = isinstance(value, str) or type(value).__module__ == "torch"  # also a torch.device
    kind, colon, index = str(value).partition(":") if named else ("", "", "")
    if value is None:
        return None
    if not (kind == "cuda" and (index.isdecimal() or not colon)) and (kind, colon) != ("cpu", ""):
        reject("device", value, "'cpu', 'cuda' or one of several GPUs, as in 'cuda:1'")
    return str(value)


def reject_device(name: str | None, why: str) -> InvalidParameter:
    """The error for a device that cannot be used here, for the caller to raise."""
    return InvalidParameter(f"device={quoted(name)} cannot be used: {why}.")


# arrays; the entries may be private


def as_array(name: str, value: object) -> NDArray[Any]:
    """As a NumPy array. NumPy's own error may quote entries, so it is replaced."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001 - see above
        raise_alone(InvalidParameter(f"`{name}` must be one array of numbers, not lists of different lengths."))


def as_floats(name: str, array: NDArray[Any], kinds: str = "biufO") -> Floats:
    """The same in float64, from the given kinds of entries; larger numbers become infinite."""
    try:
        if array.dtype.kind not in kinds:
            raise TypeError
        with np.errstate(all="ignore"):  # a warning or exception could reveal entries
            return np.asarray(array, dtype=np.float64)
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameter(f"`{name}` must hold real numbers alone: pass .astype(float)."))


def _excess(rows: Floats) -> Floats:
    """How far rows are from orthonormal."""
    return np.asarray(rows @ rows.T - np.eye(len(rows)))


def _is_symmetric(matrix: Floats) -> bool:
    root = np.sqrt(np.diagonal(matrix))
    return bool((np.abs(matrix - matrix.T) <= 1e-8 * (root * root[:, None])).all())


_ARRAY_NEEDS: dict[str, Callable[[Floats], object]] = {
    "finite": lambda array: np.isfinite(array).all(),
    "positive": lambda array: (array if array.ndim == 1 else np.diagonal(array)).min() > 0,
    "moderate": lambda spectrum: 1e-60 < spectrum.max() < 1e60,
    "square": lambda matrix: matrix.shape[0] == matrix.shape[1],
    "symmetric": _is_symmetric,
    "definite": lambda spectrum: spectrum.min() > 4 * spectrum.size * np.finfo(np.float64).eps * spectrum.max(),
    "tall": lambda basis: basis.shape[1] <= basis.shape[0],
    "orthonormal columns": lambda basis: np.abs(_excess(basis.T)).max() <= 1e-6,
    "orthonormal rows": lambda basis: np.abs(_excess(basis)).max() <= 1e-6,
}
_ARRAY_WORDS = {
    "finite": "`{name}` must be finite; it holds NaN or infinite entries: replace them.",
    "positive": f"Every entry of `{{name}}` must be above 0; of a matrix, on its diagonal. {_FLAT_REMEDY}",
    "moderate": "The largest standard deviation of `{name}` must be in (1e-60, 1e60): change the units.",
    "square": "`{name}` must be square: pass (d, d), or (d,) variances.",
    "symmetric": "`{name}` must be symmetric; [i, j] and [j, i] differ by more than 1e-8 of the standard deviations. "
    "Pass ({name} + {name}.T) / 2 if that is what you mean.",
    "definite": "`{name}` must be positive definite; its smallest eigenvalue is zero or negative, up to rounding. "
    + _FLAT_REMEDY,
    "tall": "`{name}` must have shape (d, k) with k <= d. Pass {name}.T?",
    "orthonormal columns": "`{name}` must have orthonormal columns (unit length, pairwise perpendicular within 1e-6). "
    "Pass numpy.linalg.qr({name})[0], and variances along those directions.",
    "orthonormal rows": "`{name}` must be orthonormal: every row of length 1 and perpendicular to the others, within "
    "1e-6. Pass numpy.linalg.qr({name}.T)[0].T if its rows span what you mean.",
}


def require_array(name: str, array: Floats, *needs: str) -> Floats:
    """The array, if it meets these needs."""
    with np.errstate(all="ignore"):
        for need in needs:
            require(_ARRAY_NEEDS[need](array), _ARRAY_WORDS[need].format(name=name))
    return array


def check_array(name: str, value: object, *needs: str, rank: int) -> Floats:
    """A read-only float64 copy of an array of finite real numbers with this rank and no empty axis."""
    raw = as_array(name, value)
    masked = any(map(np.ma.is_masked, [value, *(value if isinstance(value, list | tuple) else ())]))
    require(not masked, f"`{name}` must have no masked entries: fill them with what is publicly known.")
    array = np.array(as_floats(name, raw, "iuf"), order="C")
    right = raw.ndim == rank and raw.size > 0
    require(right, f"`{name}` must be a non-empty array of rank {rank}, got rank {raw.ndim}.")
    require_array(name, array, "finite", *needs).setflags(write=False)
    return array


def check_integers(name: str, value: object) -> NDArray[np.int64]:
    """A vector of 64-bit integers, possibly empty."""
    array = as_array(name, value)
    whole = (array.size == 0 or np.can_cast(array.dtype, np.int64)) and array.dtype != np.bool_
    require(array.ndim == 1 and whole, f"`{name}` must be a vector of 64-bit integers: pass .astype(numpy.int64).")
    return array.astype(np.int64)


def check_rank(name: str, rank: int, allowed: Sequence[int]) -> None:
    """An array of a rank a shape can act on."""
    require(rank in allowed, f"`{name}` must have rank {' or '.join(map(str, allowed))}, got rank {rank}.")


def check_lengths(name: str, length: int, partner: str, wanted: int) -> None:
    """Two parameters that go entry by entry have the same length."""
    require(length == wanted, f"`{name}` must have one entry per {partner}, {wanted} in all.")


def check_variances(name: str, value: object) -> Floats:
    """A read-only vector of finite variances, all above zero."""
    return check_array(name, value, "positive", rank=1)


def check_magnitude(name: str, spectrum: Floats) -> Floats:
    """Standard deviations whose powers stay in the range of floats."""
    return require_array(name, spectrum, "moderate")


# columns


def check_columns(dimension: int, epsilon: float) -> None:
    """Not so many columns that exact comparisons are unproved, or that the grid of the noise is too coarse for them."""
    sentence = "At most {} columns{} can be released, got {}: {}. No budget was charged."
    why = "exact comparisons of records are proved up to there. Drop columns, or release parts that share the budget"
    require(dimension <= MOST_COLUMNS, sentence.format(MOST_COLUMNS, "", dimension, why))
    why = "the grid of the noise is no finer. Use a larger epsilon or fewer columns"
    most = int(min(3e7 * epsilon, MOST_COLUMNS))
    require(dimension <= most, sentence.format(most, f" at epsilon={epsilon!r}", dimension, why))


def check_same_columns(name: str, names: Sequence[str] | None, columns: Sequence[str] | None) -> None:
    """Where both have names they are the same, in the same order; what has none goes by position.

    Frames that were never given names count their columns: 0, 1, 2 and so on are none, unless they are out of order.
    """
    if not names or not columns or tuple(names) == tuple(columns):
        return
    if (are_counted(names) or are_counted(columns)) and sorted(names) != sorted(columns):
        return
    if len(names) != len(columns):
        apart = f"the records have {len(columns)}, it names fewer or more"
    else:
        at = next(place for place, name in enumerate(names) if name != columns[place])
        apart = f"column {at + 1} is {columns[at]!r} in the records and has another name there"
    raise InvalidParameter(
        f"`{name}` must name the columns of the records, in their order: {apart}. Bring its columns into that order "
        "under the same names, or pass the numbers without names, which go by position."
    )


# shapes and bases: errors for the caller to raise


def check_exactly_one(covariance: object, shape: object) -> None:
    """One of covariance= and shape= says what is publicly known about the spread of the records."""
    require(covariance is None or shape is None, "Pass `covariance` or `shape`, not both: drop one of them.")
    require(
        covariance is not None or shape is not None,
        f"Pass `covariance` as (d,) variances or a (d, d) matrix that is publicly known, or `shape` as {_SHAPES}.",
    )


def reject_shape(name: str, value: object) -> InvalidParameter:
    """The error for something that is no shape."""
    return InvalidParameter(f"`{name}` must be {_SHAPES}, or 'auto' to learn it, got {quoted(value)}.")


def reject_covariance(value: object, wanted: int) -> InvalidParameter:
    """The error for a covariance= that is neither variances nor a matrix."""
    if isinstance(value, str):
        return reject_shape("covariance", value)
    return InvalidParameter(
        f"`covariance` must be ({wanted},) variances or a ({wanted}, {wanted}) matrix, got {quoted(value)}. Pass a "
        "shape object as shape=, and one variance for all directions as shape=Isotropic(its standard deviation)."
    )


def check_square(name: str, shape: Sequence[int], dimension: int) -> None:
    """A matrix that maps records of so many columns to as many coordinates."""
    words = "a row for each basis vector, a column for each column of the records."
    wanted = (dimension, dimension)
    require(tuple(shape) == wanted, f"`{name}` must have shape ({dimension}, {dimension}): {words}")


def check_rotation(name: str, value: object, dimension: int) -> tuple[Floats, Floats]:
    """A (d, d) matrix T whose rows are orthonormal within 1e-6, and T T' - I."""
    real = getattr(value, "dtype", np.dtype(np.float64)).kind != "c"
    require(real, f"`{name}` must be real, got complex entries: 'dct' is a real relative.")
    matrix = check_array(name, value, rank=2)
    check_square(name, matrix.shape, dimension)
    return require_array(name, matrix, "orthonormal rows"), _excess(matrix)


def reject_basis(value: object, names: Iterable[str]) -> InvalidParameter:
    """The error for something that is no basis."""
    return InvalidParameter(
        f"`basis` must be {', '.join(map(repr, names))}, an orthonormal (d, d) matrix or SciPy LinearOperator whose "
        f"rows are the basis vectors, or None for the columns unchanged, got {quoted(value)}."
    )
