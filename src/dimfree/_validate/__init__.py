"""Checks of parameters. An error names the parameter, its condition and the remedy; it never quotes data.

A check of a number is a `Need`: its condition in words and as a test. A check returns the value that it accepts.
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
from dimfree.errors import InvalidParameterError, raise_alone

MAX_COUNT = 2**53  # floats represent all whole numbers up to here
MAX_COLUMNS = 2**22  # the error bounds of proofs/statistics (friends, distances) hold up to here

_MAX_TEXT, _MAX_DIGITS, _MAX_PATH = 40, 30, 4096  # no system opens a longer path
_COVARIANCES = (
    "variances, a covariance matrix, or Covariance.isotropic(sd), .diagonal(variances), .dense(matrix), "
    ".low_rank(basis, variances, tail) or .from_public(public_X)"
)
_FLAT_REMEDY = (
    "Add a small public floor (for example 1e-6 of the largest variance), use Covariance.low_rank(basis, variances, "
    "tail) with a tail above 0, or drop or project out the constant directions before the release."
)

Kind = TypeVar("Kind")
Floats = NDArray[np.float64]


def quote(value: object) -> str:
    """Return a number or a short word unchanged, and anything else by its type, since it may contain records."""
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
    """Raise the error for a value that violates its condition."""
    raise_alone(InvalidParameterError(f"`{name}` must be {need}, got {quote(value)}."))


def require(holds: object, sentence: str) -> None:
    """Raise an InvalidParameterError with this sentence unless the condition holds."""
    if not holds:
        raise InvalidParameterError(sentence)


# single numbers


def _read_number(value: object) -> float:
    """Read one number, else return NaN; an array, even with a single entry, may be a record."""
    one = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(one, bool) or not isinstance(one, Real | Decimal):
        return math.nan
    try:
        return float(one)
    except Exception:  # noqa: BLE001 - its text may quote the object
        return math.nan


@dataclass(frozen=True)
class Need:
    """The condition of a number, in words and as a test; a call checks the value of a parameter."""

    words: str
    holds: Callable[[float], bool]

    def __call__(self, name: str, value: object) -> float:
        number = _read_number(value)
        if not self.holds(number):
            reject(name, value, self.words)
        return number


check_finite = Need("a finite number", math.isfinite)
check_positive = Need("a finite number above 0", lambda number: 0 < number < math.inf)
check_probability = Need("in (0, 1)", lambda number: 0 < number < 1)
check_share = Need("in [0, 1)", lambda number: 0 <= number < 1)
check_failure = Need("in [1e-100, 1)", lambda number: 1e-100 <= number < 1)  # with finite Gaussian quantiles


def check_between(name: str, value: object, least: float, most: float) -> float:
    """Check a number from `least` to `most`, both public limits."""
    return Need(f"a number from {least:g} to {most:g}", lambda number: least <= number <= most)(name, value)


def check_at_least(name: str, value: float, least: float) -> float:
    """Check a number of at least `least`."""
    return Need(f"at least {least!r}, which the accounting needs", lambda number: number >= least)(name, value)


def check_count(name: str, value: object, *, least: int = 1, most: float = MAX_COUNT, or_auto: bool = False) -> int:
    """Check a whole number from `least` to `most`; with `or_auto` it may be a float, and the text mentions "auto"."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    number = int(value) if whole else _read_number(value) if or_auto else math.nan  # type: ignore[call-overload]
    if not (least <= number <= most and number == int(number)):
        limit = "" if most == MAX_COUNT else f" and at most {most}"
        reject(name, value, f"a whole number, at least {least}{limit}" + ", or 'auto'" * or_auto)
    return int(number)


def check_window(name: str, value: object) -> tuple[float, float]:
    """Check (low, high) with 2 low <= high, whose squares are in the range of floats."""
    try:
        low, high = map(_read_number, value)  # type: ignore[call-overload]
    except Exception:  # noqa: BLE001 - what an object raises may quote it
        low = high = math.nan
    if not (low >= 1e-60 and high <= 1e60 and 2 * low <= high):
        reject(name, value, "two numbers (low, high), 1e-60 <= low and 2 * low <= high <= 1e60")
    return low, high


# texts, choices, objects


def check_kind(name: str, value: object, kind: type[Kind]) -> Kind:
    """Check the class of an object."""
    if not isinstance(value, kind):
        reject(name, value, f"a {kind.__name__}")
    return value


def check_callable(name: str, value: object) -> None:
    """Check that a value is a function."""
    if not callable(value):
        reject(name, value, "a function")


def is_word(value: object, word: str) -> bool:
    """Return whether the value is this text; arrays, which compare entry by entry, are not."""
    return isinstance(value, str) and str.__str__(value) == word


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Check a choice among words."""
    text = str.__str__(value) if isinstance(value, str) else None
    if text is None or text not in choices:
        reject(name, value, f"one of {', '.join(map(repr, choices))}")
    return text


def check_flag(name: str, value: object) -> bool:
    """Check True or False."""
    if not isinstance(value, bool | np.bool_):
        reject(name, value, "True or False")
    return bool(value)


def check_path(name: str, value: object) -> Path:
    """Check the path of a file or folder."""
    text = str(value) if isinstance(value, str | Path) else ""
    try:
        opens = 0 < len(text) <= _MAX_PATH and "\0" not in text and os.fsencode(text)
    except UnicodeEncodeError:
        opens = False
    if not opens:
        reject(name, value, "the name of a file, such as 'study.db'")
    return Path(text)


def check_each(name: str, values: Iterable[object], check: Callable[[str, object], Kind], need: str) -> list[Kind]:
    """Check all entries of a list; the error quotes none, since the list may be a record."""
    try:
        return [check(name, value) for value in values]
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameterError(f"`{name}` must be a list, and every entry of it {need}."))


def check_device(value: object) -> str | None:
    """Check the name of a device; None is the device of the table."""
    named = isinstance(value, str) or type(value).__module__ == "torch"  # also a torch.device
    kind, colon, index = str(value).partition(":") if named else ("", "", "")
    if value is None:
        return None
    if not (kind == "cuda" and (index.isdecimal() or not colon)) and (kind, colon) != ("cpu", ""):
        reject("device", value, "'cpu', 'cuda' or one of several GPUs, as in 'cuda:1'")
    return str(value)


def reject_device(name: str | None, why: str) -> InvalidParameterError:
    """Return the error for a device that cannot be used."""
    return InvalidParameterError(f"device={quote(name)} cannot be used: {why}.")


# arrays; the entries may be private


def as_array(name: str, value: object) -> NDArray[Any]:
    """Convert to a NumPy array; NumPy's error, which may quote entries, is replaced."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001 - see above
        raise_alone(InvalidParameterError(f"`{name}` must be one array of numbers, not lists of different lengths."))


def as_floats(name: str, array: NDArray[Any], kinds: str = "biufO") -> Floats:
    """Convert an array of these kinds of entries to float64; larger numbers become infinite."""
    try:
        if array.dtype.kind not in kinds:
            raise TypeError
        with np.errstate(all="ignore"):  # a warning or exception could reveal entries
            return np.asarray(array, dtype=np.float64)
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise_alone(InvalidParameterError(f"`{name}` must contain only real numbers. Pass .astype(float)."))


def _excess(rows: Floats) -> Floats:
    """Return the deviation of rows from orthonormal ones."""
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
    """Check that the array meets these needs."""
    with np.errstate(all="ignore"):
        for need in needs:
            require(_ARRAY_NEEDS[need](array), _ARRAY_WORDS[need].format(name=name))
    return array


def check_array(name: str, value: object, *needs: str, rank: int) -> Floats:
    """Return a read-only float64 copy of an array of finite real numbers with this rank and no empty axis."""
    raw = as_array(name, value)
    masked = any(map(np.ma.is_masked, [value, *(value if isinstance(value, list | tuple) else ())]))
    require(not masked, f"`{name}` must have no masked entries. Fill them with publicly known values.")
    array = np.array(as_floats(name, raw, "iuf"), order="C")
    right = raw.ndim == rank and raw.size > 0
    require(right, f"`{name}` must be a non-empty array of rank {rank}, got rank {raw.ndim}.")
    require_array(name, array, "finite", *needs).setflags(write=False)
    return array


def check_integers(name: str, value: object) -> NDArray[np.int64]:
    """Check a vector of 64-bit integers, possibly empty."""
    array = as_array(name, value)
    whole = (array.size == 0 or np.can_cast(array.dtype, np.int64)) and array.dtype != np.bool_
    require(array.ndim == 1 and whole, f"`{name}` must be a vector of 64-bit integers: pass .astype(numpy.int64).")
    return array.astype(np.int64)


def check_rank(name: str, rank: int, allowed: Sequence[int]) -> None:
    """Check the rank of an array."""
    require(rank in allowed, f"`{name}` must have rank {' or '.join(map(str, allowed))}, got rank {rank}.")


def check_lengths(name: str, length: int, partner: str, wanted: int) -> None:
    """Check that two parameters have the same length."""
    require(length == wanted, f"`{name}` must have one entry per {partner}, {wanted} in all.")


def check_variances(name: str, value: object) -> Floats:
    """Return a read-only vector of finite variances, all above zero."""
    return check_array(name, value, "positive", rank=1)


def check_magnitude(name: str, spectrum: Floats) -> Floats:
    """Check SDs whose powers are in the range of floats."""
    return require_array(name, spectrum, "moderate")


# columns


def check_columns(dimension: int, epsilon: float) -> None:
    """Check the limits on the number of columns: exact comparisons, and the grid of the noise."""
    sentence = "At most {} columns{} can be released, got {}: {}. No budget was charged."
    why = "exact comparisons of records are proved up to this number. Leave out columns, or split them over releases"
    require(dimension <= MAX_COLUMNS, sentence.format(MAX_COLUMNS, "", dimension, why))
    why = "the grid of the noise is too coarse for more. Use a larger epsilon or fewer columns"
    most = int(min(3e7 * epsilon, MAX_COLUMNS))
    require(dimension <= most, sentence.format(most, f" at epsilon={epsilon!r}", dimension, why))


def check_same_columns(name: str, names: Sequence[str] | None, columns: Sequence[str] | None) -> None:
    """Check that names agree in the same order, if both have names; else columns go by position.

    The names 0, 1, 2, … of frames without names do not count as names, unless they are out of order.
    """
    if not names or not columns or tuple(names) == tuple(columns):
        return
    if (are_counted(names) or are_counted(columns)) and sorted(names) != sorted(columns):
        return
    if len(names) != len(columns):
        apart = f"the records have {len(columns)} columns, got another number"
    else:
        at = next(place for place, name in enumerate(names) if name != columns[place])
        apart = f"column {at + 1} of the records is {columns[at]!r}, got another name"
    raise InvalidParameterError(
        f"`{name}` must have the names of the columns of the records, in the same order: {apart}. Reorder or rename "
        "its columns, or pass the numbers without names, which go by position."
    )


# shapes and bases: errors for the caller to raise


def reject_known_covariance(name: str, value: object) -> InvalidParameterError:
    """Return the error for a value that does not state a covariance."""
    return InvalidParameterError(f"`{name}` must be {_COVARIANCES}, got {quote(value)}.")


def reject_covariance(value: object, wanted: int) -> InvalidParameterError:
    """Return the error for a covariance= that is neither variances nor a matrix."""
    if isinstance(value, str):
        return reject_known_covariance("covariance", value)
    return InvalidParameterError(
        f"`covariance` must be ({wanted},) variances or a ({wanted}, {wanted}) matrix, got {quote(value)}. Pass "
        "one SD for all directions as covariance=Covariance.isotropic(SD)."
    )


def check_square(name: str, shape: Sequence[int], dimension: int) -> None:
    """Check the shape of a matrix that rotates records."""
    words = "one row per basis vector, one column per column of the records."
    wanted = (dimension, dimension)
    require(tuple(shape) == wanted, f"`{name}` must have shape ({dimension}, {dimension}): {words}")


def check_rotation(name: str, value: object, dimension: int) -> tuple[Floats, Floats]:
    """Return a (d, d) matrix T whose rows are orthonormal within 1e-6, and T T' - I."""
    real = getattr(value, "dtype", np.dtype(np.float64)).kind != "c"
    require(real, f"`{name}` must be real, got complex entries. A real alternative is 'dct'.")
    matrix = check_array(name, value, rank=2)
    check_square(name, matrix.shape, dimension)
    return require_array(name, matrix, "orthonormal rows"), _excess(matrix)


def reject_basis(value: object, names: Iterable[str]) -> InvalidParameterError:
    """Return the error for a value that is not a basis."""
    return InvalidParameterError(
        f"`basis` must be {', '.join(map(repr, names))}, an orthonormal (d, d) matrix or SciPy LinearOperator whose "
        f"rows are the basis vectors, or None for the columns unchanged, got {quote(value)}."
    )
