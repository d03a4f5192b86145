"""The only place where parameter errors are worded: name, value, need, remedy.

A value is quoted by `quoted` alone: anything that could hold records is named by its type.
"""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dimfree._validate.column_names import are_counted
from dimfree.errors import InvalidParameter

Kind = TypeVar("Kind")

LARGEST_COUNT = 2**53  # of anything that is counted: floats tell whole numbers apart up to here
_LONGEST_TEXT = 40
_MOST_DIGITS = 30
_LONGEST_PATH = 4096  # no system opens a longer one
_SMALLEST_FAILURE = 1e-100


def quoted(value: object) -> str:
    """A single number or a short word as it was given; anything else by its type, since it may hold records."""
    plain = value.item() if isinstance(value, np.integer | np.floating | np.bool_) else value
    if plain is None or isinstance(plain, bool):
        return repr(plain)
    if isinstance(plain, float):
        return float.__repr__(plain)
    if isinstance(plain, int) and abs(int.__index__(plain)) < 10**_MOST_DIGITS:
        return int.__repr__(plain)
    if isinstance(plain, str) and len(text := str.__str__(plain)) <= _LONGEST_TEXT:
        return repr(text)
    return f"<{type(value).__name__}>"


def _number(name: str, value: object) -> float:
    """One number: an array, even with a single entry, may be a record."""
    one = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    try:
        if isinstance(one, bool) or not isinstance(one, Real | Decimal):
            raise TypeError
        return float(one)
    except Exception:  # noqa: BLE001 - what an object says of itself may quote it
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a number.") from None


def check_kind(name: str, value: object, kind: type[Kind]) -> Kind:
    """An object of this class."""
    if not isinstance(value, kind):
        raise InvalidParameter(f"Expected {name} to be a {kind.__name__}, got {quoted(value)}.")
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
        raise InvalidParameter(f"Expected {name} to be a list, and every entry of it {need}.") from None


def check_text(name: str, value: object) -> str:
    """A text."""
    return str.__str__(check_kind(name, value, str))


def is_word(value: object, word: str) -> bool:
    """Whether the value is this text; nothing else is compared with it, since an array would answer entry by entry."""
    return isinstance(value, str) and str.__str__(value) == word


def check_positive(name: str, value: object) -> float:
    """A finite number above zero."""
    number = _number(name, value)
    if not (number > 0 and math.isfinite(number)):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a finite number above 0.")
    return number


def check_probability(name: str, value: object) -> float:
    """A number strictly between zero and one."""
    number = _number(name, value)
    if not 0 < number < 1:
        raise InvalidParameter(f"Expected {name}={quoted(value)} in (0, 1).")
    return number


def check_failure(value: object) -> float:
    """A failure probability whose Gaussian quantiles are finite."""
    number = _number("failure_probability", value)
    if not _SMALLEST_FAILURE <= number < 1:
        raise InvalidParameter(f"Expected failure_probability={quoted(value)} in [{_SMALLEST_FAILURE:g}, 1).")
    return number


def check_share(name: str, value: object, *, below: float) -> float:
    """A number in [0, below)."""
    number = _number(name, value)
    if not 0 <= number < below:
        raise InvalidParameter(f"Expected {name}={quoted(value)} in [0, {below}).")
    return number


def check_at_least(name: str, value: float, least: float) -> float:
    """A number not below `least`."""
    if value < least:
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be at least {least!r}; the accounting needs it.")
    return value


def check_magnitude(name: str, spectrum: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations whose powers stay in the range of floats."""
    if not 1e-60 < float(spectrum.max()) < 1e60:
        raise InvalidParameter(f"Expected {name} with a largest standard deviation in (1e-60, 1e60): change the units.")
    return spectrum


def check_whole(name: str, value: object, *, least: int, most: float = LARGEST_COUNT) -> int:
    """A whole number from `least` to `most`; what takes one also takes "auto", which the caller has dealt with."""
    try:
        number = _number(name, value)
    except InvalidParameter:
        number = math.nan
    if not math.isfinite(number) or number != int(number) or not least <= number <= most:
        limit = "" if most == LARGEST_COUNT else f" and at most {most}"
        raise InvalidParameter(
            f"Expected {name}={quoted(value)} to be a whole number, at least {least}{limit}, or 'auto'."
        )
    return int(number)


def check_device(value: object) -> str | None:
    """The name of a device; None: wherever the table lies."""
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


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of the listed words."""
    text = str.__str__(value) if isinstance(value, str) else None
    if text is None or text not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be one of {listed}.")
    return text


_FLAT_REMEDY = (
    "Add a small public floor (for example 1e-6 of the largest variance), use LowRank(basis, variances, tail) with a"
    " tail above 0, or drop or project out the constant directions before the release, as the paper's remark on"
    " singular covariances says."
)
_KINDS = "Isotropic(scale), Diagonal(variances), Dense(covariance) or LowRank(basis, variances, tail)"


def as_array(name: str, value: object) -> NDArray[Any]:
    """As NumPy reads it; where it does not, its own words may quote entries."""
    try:
        return np.asarray(value)
    except Exception:  # noqa: BLE001 - see above
        raise InvalidParameter(f"Expected {name} to be one array of numbers, not lists of different lengths.") from None


def as_floats(name: str, array: NDArray[Any]) -> NDArray[np.float64]:
    """The same in float64; what lies beyond becomes infinite."""
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(all="ignore"):  # a warning or an exception would speak of the entries
            return np.asarray(array, dtype=np.float64)
    except Exception:  # noqa: BLE001 - it may quote an entry
        raise InvalidParameter(f"Expected {name} to hold real numbers alone: pass .astype(float).") from None


def check_array(name: str, value: object, *, rank: int) -> NDArray[np.float64]:
    """A read-only float64 copy of an array of finite real numbers with this rank and no empty axis."""
    raw = as_array(name, value)
    if any(map(np.ma.is_masked, [value, *(value if isinstance(value, list | tuple) else ())])):
        raise InvalidParameter(f"Expected {name} without masked entries: fill them with what is publicly known.")
    if raw.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to hold real numbers alone: pass .astype(float).")
    if raw.ndim != rank or raw.size == 0:
        raise InvalidParameter(f"Expected {name} to be a non-empty array of rank {rank}, got rank {raw.ndim}.")
    with np.errstate(all="ignore"):  # an extended-precision number past float64 becomes inf and is refused below
        array = np.array(raw, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        raise InvalidParameter(f"Expected {name} to be finite; it holds NaN or infinite entries: replace them.")
    array.setflags(write=False)
    return array


def check_variances(name: str, value: object) -> NDArray[np.float64]:
    """A read-only vector of finite variances, all above zero."""
    variances = check_array(name, value, rank=1)
    if variances.min() <= 0:
        raise InvalidParameter(f"Expected every entry of {name} above 0. {_FLAT_REMEDY}")
    return variances


def check_symmetric(name: str, value: object) -> NDArray[np.float64]:
    """A read-only square matrix, positive on the diagonal, symmetric within 1e-8 of the two standard deviations."""
    matrix = check_array(name, value, rank=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(f"Expected {name} to be square. Pass (d, d), or (d,) variances.")
    root = np.sqrt(check_variances(f"the diagonal of {name}", np.diagonal(matrix)))
    with np.errstate(all="ignore"):
        symmetric = np.abs(matrix - matrix.T) <= 1e-8 * (root * root[:, None])
    if not symmetric.all():
        raise InvalidParameter(
            f"Expected {name} to be symmetric; {name}[i, j] and {name}[j, i] differ by more than 1e-8 of the standard"
            f" deviations. Pass ({name} + {name}.T) / 2 if that is what you mean."
        )
    return matrix


def check_definite(name: str, eigenvalues: NDArray[np.float64]) -> None:
    """The smallest eigenvalue stands clear of rounding, 4 d 2**-52 of the largest."""
    smallest, largest = float(eigenvalues.min()), float(eigenvalues.max())
    if not smallest > 4 * eigenvalues.size * np.finfo(np.float64).eps * largest:
        raise InvalidParameter(
            f"Expected {name} to be positive definite; its smallest eigenvalue is zero or negative, up to rounding."
            f" {_FLAT_REMEDY}"
        )


def check_orthonormal(name: str, value: object) -> NDArray[np.float64]:
    """A read-only (d, k) matrix, k <= d, whose columns are orthonormal within 1e-6."""
    basis = check_array(name, value, rank=2)
    if basis.shape[1] > basis.shape[0]:
        raise InvalidParameter(f"Expected {name} of shape (d, k) with k <= d. Pass {name}.T?")
    with np.errstate(all="ignore"):
        excess = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()
    if not excess <= 1e-6:
        raise InvalidParameter(
            f"Expected {name} to have orthonormal columns (unit length, pairwise perpendicular within 1e-6)."
            f" Pass numpy.linalg.qr({name})[0], and variances along those directions."
        )
    return basis


def check_square(name: str, shape: Sequence[int], dimension: int) -> None:
    """A matrix that maps records of so many columns to as many coordinates."""
    if tuple(shape) != (dimension, dimension):
        raise InvalidParameter(
            f"Expected {name} of shape ({dimension}, {dimension}), a row for each basis vector and a column for each "
            "column of the records."
        )


def check_rotation(name: str, value: object, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A (d, d) matrix T whose rows are orthonormal within 1e-6, and T T' - I."""
    if getattr(value, "dtype", np.dtype(np.float64)).kind == "c":
        raise InvalidParameter(f"Expected {name} to be real, got complex entries: 'dct' is a real relative.")
    matrix = check_array(name, value, rank=2)
    check_square(name, matrix.shape, dimension)
    with np.errstate(all="ignore"):
        excess = matrix @ matrix.T - np.eye(dimension)
    if not np.abs(excess).max() <= 1e-6:
        raise InvalidParameter(
            f"Expected {name} to be orthonormal: every row of length 1 and perpendicular to the others, within 1e-6. "
            f"Pass numpy.linalg.qr({name}.T)[0].T if its rows span what you mean."
        )
    return matrix, excess


def check_written_out(name: str, dimension: int, most: int) -> None:
    """Not too wide for a matrix of its own."""
    if dimension > most:
        raise InvalidParameter(
            f"Expected at most {most} columns with {name} as a sparse matrix or an operator, got {dimension}: it is "
            "written out, because nobody knows whether its own products treat each record alone. Use 'dct', 'haar' or "
            "'hadamard', or a subclass of dimfree.geometry.bases.Basis whose `rotated` promises that."
        )


def reject_operator(name: str, error: Exception) -> InvalidParameter:
    """The error for an operator that cannot be applied to the unit vectors."""
    return InvalidParameter(
        f"Expected {name} to be a matrix or operator for real vectors; on one it raised {type(error).__name__}."
    )


def reject_basis(value: object, names: Iterable[str]) -> InvalidParameter:
    """The error for something that is no basis."""
    listed = ", ".join(repr(name) for name in names)
    return InvalidParameter(
        f"Expected basis to be {listed}, or an orthonormal (d, d) matrix or scipy LinearOperator whose rows are the "
        f"basis vectors, or None for the columns as they are, got {quoted(value)}."
    )


def reject_own_basis(basis: object, why: str) -> InvalidParameter:
    """The error for a Basis of the caller's own that breaks a promise on public vectors."""
    return InvalidParameter(
        f"Expected basis, a {type(basis).__name__}, to keep what dimfree.geometry.bases.Basis promises; on public "
        f"vectors {why}."
    )


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
        f"Expected {name} to name the columns of the records, in their order: {apart}. Bring its columns into that "
        "order under the same names, or pass the numbers without names, which go by position."
    )


def check_rank(name: str, rank: int, allowed: Sequence[int]) -> None:
    """An array of a rank a shape can act on."""
    if rank not in allowed:
        raise InvalidParameter(f"Expected {name} of rank {' or '.join(map(str, allowed))}, got rank {rank}.")


def check_lengths(name: str, length: int, partner: str, wanted: int) -> None:
    """Two parameters that go entry by entry have the same length."""
    if length != wanted:
        raise InvalidParameter(f"Expected {name} with one entry per {partner}, {wanted} in all.")


def check_dimension(name: str, own: int, wanted: int) -> None:
    """A shape and the records speak of the same number of columns."""
    if own != wanted:
        raise InvalidParameter(f"Expected {name} for {wanted} dimension(s): pass one with an entry per column.")


def check_width(name: str, own: int, wanted: int) -> None:
    """What a shape is applied to has as many columns as the shape."""
    if own != wanted:
        raise InvalidParameter(f"Expected {name} to fit a shape for {wanted} dimension(s).")


def check_exactly_one(covariance: object, shape: object) -> None:
    """One of covariance= and shape= says what is publicly known about the spread of the records."""
    if covariance is None and shape is None:
        raise InvalidParameter(
            f"Expected covariance= as (d,) variances or a (d, d) matrix that is publicly known, or shape= as {_KINDS}."
        )
    if covariance is not None and shape is not None:
        raise InvalidParameter("Expected covariance= or shape=, not both. Drop one of them.")


def check_learned_options(shape: str, core: str, scale: str, stages: object) -> None:
    """Options that speak of a known covariance have no meaning where the shape is learned."""
    if core in ("soft", "basic") or scale != "known" or not is_word(stages, "auto"):
        raise InvalidParameter(
            f"Expected core, scale and stages at their defaults with shape={quoted(shape)}: they belong to a known"
            " covariance. Drop them, or pass covariance= (--covariance FILE)."
        )


MOST_COLUMNS = 2**22  # what the error bounds of proofs/core/friends.md and proofs/core/distances.md are stated for


def check_columns(dimension: int, epsilon: float) -> None:
    """Not so many columns that exact comparisons are unproved, or that the grid of the noise is too coarse for them."""
    if dimension > MOST_COLUMNS:
        raise InvalidParameter(
            f"Expected at most {MOST_COLUMNS} columns, got {dimension}: exact comparisons of records are proved up to"
            " there. Drop columns, or release them in parts that share the budget."
        )
    if dimension > 3e7 * epsilon:
        raise InvalidParameter(
            f"Expected at most {int(3e7 * epsilon)} columns at epsilon={epsilon!r}, got {dimension}: the grid of the"
            " noise is no finer. Use a larger epsilon or fewer columns."
        )


def check_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be True or False.")
    return bool(value)


def check_window(name: str, value: object) -> tuple[float, float]:
    """(low, high), apart from each other, whose squares stay in the range of floats."""
    try:
        low, high = (_number(name, bound) for bound in value)  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - what an object says of itself may quote it
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be two numbers, (low, high).") from None
    if not (low >= 1e-60 and high <= 1e60 and 2 * low <= high):
        raise InvalidParameter(
            f"Expected {name}={quoted(value)} with 1e-60 <= low, high <= 1e60 and high at least 2 * low."
        )
    return low, high


def reject_shape(name: str, value: object) -> InvalidParameter:
    """The error for something that is no shape."""
    return InvalidParameter(f"Expected {name} to be {_KINDS}, or 'auto' or 'paper' to learn it, got {quoted(value)}.")


def reject_covariance(value: object, wanted: int) -> InvalidParameter:
    """The error for a covariance= that is neither variances nor a matrix."""
    if isinstance(value, str):
        return reject_shape("covariance", value)
    return InvalidParameter(
        f"Expected covariance as ({wanted},) variances or a ({wanted}, {wanted}) matrix, got {quoted(value)}. "
        "Pass a shape object as shape=, and one variance for all directions as shape=Isotropic(scale), scale its "
        "standard deviation."
    )


def check_count(name: str, value: object, *, least: int = 1, most: float = LARGEST_COUNT) -> int:
    """A whole number from `least` to `most`, a public limit."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    if not whole or not least <= int(value) <= most:  # type: ignore[call-overload]
        limit = "" if most == LARGEST_COUNT else f" and at most {most}"
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a whole number, at least {least}{limit}.")
    return int(value)  # type: ignore[call-overload]


def check_unit_rows(unit: object, unit_rows: object) -> None:
    """A public bound on the rows of a person needs persons."""
    if unit_rows is None:
        return
    check_count("unit_rows", unit_rows)
    if unit is None:
        raise InvalidParameter(
            f"Expected unit_rows={quoted(unit_rows)} together with unit=, which says whose each row is."
        )


def check_integers(name: str, value: object) -> NDArray[np.int64]:
    """A vector of 64-bit integers, possibly empty. The entries may be private: an error speaks of the type only."""
    array = as_array(name, value)
    if array.ndim != 1 or not (array.size == 0 or np.can_cast(array.dtype, np.int64)) or array.dtype == np.bool_:
        raise InvalidParameter(f"Expected {name} to be a vector of 64-bit integers: pass {name}.astype(numpy.int64).")
    return array.astype(np.int64)


def check_finite(name: str, value: object) -> float:
    """A finite number."""
    number = _number(name, value)
    if not math.isfinite(number):
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a finite number.")
    return number


def check_between(name: str, value: object, least: float, most: float) -> float:
    """A number from `least` to `most`, both public limits."""
    number = _number(name, value)
    if not least <= number <= most:
        raise InvalidParameter(f"Expected {name}={quoted(value)} to be a number from {least:g} to {most:g}.")
    return number


def check_reals(name: str, value: object) -> NDArray[np.float64]:
    """A vector of real numbers, possibly empty. The entries may be private: an error speaks of the type only."""
    array = as_array(name, value)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to be a vector of real numbers: pass {name}.astype(float).")
    with np.errstate(all="ignore"):  # a warning or an exception would speak of the entries
        return array.astype(np.float64)
