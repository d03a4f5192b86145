"""Release: what leaves the house. A mean or a refusal, the promise it was made under, and the ledger that paid for it.

No field can hold a private statistic: the fields are listed once, slots leave no room for another, and `parameters`
takes single public numbers and words only.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_choice, check_flag, check_kind, check_probability, quoted
from dimfree.accounting.budget import Budget
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs.costs import AnyCosts, costs_from_dict
from dimfree.errors import InvalidFile, InvalidParameter, RefusedRelease
from dimfree.results.confidence_sets import ConfidenceBall, ConfidenceBox, Uncertainty
from dimfree.results.error_model import ErrorModel, LearnedShape, frozen_numbers

FORMAT = 3  # raise it whenever an older reader would misunderstand the file
METHODS = ("auto", "recentred", "stable", "soft", "basic", "paper")
BASELINES = ("clipped", "karwa-vadhan", "ball", "plan", "coinpress", "huang-liang-yi", "friendly-core")

_REMEDY = (
    "Check release.refused before reading; more records, a larger budget or a covariance closer to the data "
    "make a release more likely, and every further attempt spends its own budget."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release:
    """One release: a mean with the standard deviation of its noise, or a refusal with its public reason.

    Everything in it was released or is public, so it may be printed, stored and shared.
    Built by `Release.released` and `Release.refused_because`.
    """

    guarantee: Guarantee
    ledger: AnyCosts
    method: str
    dimension: int
    columns: tuple[str, ...] | None = None
    parameters: Mapping[str, float | int | str]
    refusal: str | None = None
    _mean: NDArray[np.float64] | None = None
    _noise_stddev: NDArray[np.float64] | None = None
    _error_model: ErrorModel | None = None
    _shape: LearnedShape | None = None
    _denoised: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        _check_promise(self.guarantee, self.ledger)
        for name, value in _checked(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def released(
        cls,
        *,
        mean: ArrayLike,
        noise_stddev: ArrayLike,
        error_model: ErrorModel | None = None,
        shape: LearnedShape | None = None,
        denoised: ArrayLike | None = None,
        **common: Any,
    ) -> Self:
        """A release that carries a mean; `common` holds the other fields."""
        arrays: dict[str, Any] = {"_mean": mean, "_noise_stddev": noise_stddev, "_denoised": denoised}
        model = ErrorModel() if error_model is None else error_model
        return cls(**arrays, _error_model=model, _shape=shape, **common)

    @classmethod
    def refused_because(cls, reason: str, **common: Any) -> Self:
        """A release that carries no mean; `reason` is public and depends on no record beyond what was charged."""
        return cls(refusal=reason, **common)

    @property
    def refused(self) -> bool:
        return self.refusal is not None

    @property
    def mean(self) -> NDArray[np.float64]:
        """The released mean, (d,), read-only; a refused release raises RefusedRelease."""
        return self.unbiased_mean if self._denoised is None else self._denoised

    @property
    def unbiased_mean(self) -> NDArray[np.float64]:
        """The mean with nothing but its Gaussian noise: `mean` itself, unless denoise=True shrank that."""
        return self._refuse("mean") if self._mean is None else self._mean

    @property
    def denoised(self) -> bool:
        """Whether `mean` was shrunk towards its bulk; error bars then rest on `unbiased_mean`."""
        return self._denoised is not None

    @property
    def noise_stddev(self) -> NDArray[np.float64]:
        """The public standard deviation of the noise of `unbiased_mean` in each coordinate, (d,), read-only."""
        return self._refuse("noise_stddev") if self._noise_stddev is None else self._noise_stddev

    @property
    def shape(self) -> LearnedShape | None:
        """The variances learned on the way, with their uncertainty, infinite where a column's spread was not learned;
        None where the shape was known."""
        return self._shape

    @property
    def error_model(self) -> ErrorModel:
        """What error bars rest on beyond the noise: spread and number of the records, where either is public."""
        return ErrorModel() if self._error_model is None else self._error_model

    def error_radius(self, confidence: float = 0.95, *, include_sampling: bool = False) -> float:
        """The Euclidean distance that the noise stays within with the given confidence, from the weighted chi-square
        law: exact, or, where an allowance for clipping is stated, no less. With `include_sampling` the distance from
        the population mean, by the model of the records. A denoised mean adds its own distance from the unbiased one:
        safe, and wider than its likely error.
        """
        confidence = check_probability("confidence", confidence)
        radius = self._spread(include_sampling).length(confidence)
        return radius + float(np.linalg.norm(self.mean - self.unbiased_mean))

    def interval(
        self, confidence: float = 0.95, *, simultaneous: bool = False, include_sampling: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(low, high) for each coordinate; with `simultaneous` all at once. Of the noise, and an allowance for clipping
        where one is stated, about what was averaged of these records (the farthest clipped); with `include_sampling`
        for the population mean. About the unbiased mean, so valid for any prior."""
        confidence = check_probability("confidence", confidence)
        reach = self._spread(include_sampling).reach(confidence, simultaneous=check_flag("simultaneous", simultaneous))
        return self.unbiased_mean - reach, self.unbiased_mean + reach

    def confidence_ball(self, confidence: float = 0.95) -> ConfidenceBall:
        """A ball about `unbiased_mean` that covers the population mean with the given confidence, and what its radius
        is made of. Without a model of the records it covers what was averaged of them; see `covers`."""
        return ConfidenceBall.about(self.unbiased_mean, self._spread(self._records_modelled), confidence)

    def confidence_box(self, confidence: float = 0.95, *, simultaneous: bool = True) -> ConfidenceBox:
        """An interval per coordinate about `unbiased_mean`, all at once unless `simultaneous=False`: they cover what
        `confidence_ball` covers, with the given confidence."""
        spread = self._spread(self._records_modelled)
        return ConfidenceBox.about(self.unbiased_mean, spread, confidence, simultaneous=simultaneous)

    def spread_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """(low, high) for the standard deviation of one record in each column: as stated by the user, where both are
        the same, or as learned, about 95 % sure each, low being 0 where it was not learned. None: nothing is known."""
        if self._shape is not None:
            return self._shape.stddev_bounds()
        stated = self.error_model.record_stddev
        return None if stated is None else (stated, stated)

    def noise_over_spread(self) -> NDArray[np.float64]:
        """At most so many standard deviations of one record is the noise of each column; infinite where the spread was
        not learned. A refused release raises RefusedRelease."""
        bounds = self.spread_bounds()
        low = np.zeros_like(self.noise_stddev) if bounds is None else bounds[0]
        with np.errstate(divide="ignore"):
            return self.noise_stddev / low

    def with_learned(self, shape: LearnedShape | None) -> Self:
        """The same release, whose shape was not given but learned in an earlier run, with its uncertainty."""
        model = self.error_model
        if shape is None or model.record_stddev is None:
            return self
        check_kind("shape", shape, LearnedShape)
        return replace(self, _shape=replace(shape, variances=model.record_stddev**2, directions=None))

    @property
    def _records_modelled(self) -> bool:
        model = self.error_model
        return model.record_stddev is not None and model.records is not None

    def _spread(self, include_sampling: bool) -> Uncertainty:
        if check_flag("include_sampling", include_sampling) and not self._records_modelled:
            raise InvalidParameter(
                "Expected include_sampling=False: this release carries no model of its records; "
                "a core that releases a count and a known covariance is needed."
            )
        model = self.error_model
        return Uncertainty.of(self.noise_stddev, model, self._shape, include_sampling=include_sampling)

    def _refuse(self, name: str) -> NoReturn:
        raise RefusedRelease(f"A refused release has no {name}. Reason: {self.refusal} {_REMEDY}")

    def to_frame(
        self,
        library: str = "pandas",
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        include_sampling: bool = False,
    ) -> Any:
        """A table with a row for each coordinate, "pandas", "polars" or "pyarrow": coordinate, mean, noise_stddev,
        lower and upper as `interval` gives them, and noise_over_spread, missing where the spread was not learned. A
        refused release raises RefusedRelease."""
        from dimfree.results.frames import release_frame

        return release_frame(self, library, confidence, simultaneous=simultaneous, include_sampling=include_sampling)

    def to_json(self) -> str:
        """The whole release as JSON text, one field a line; `from_json` gives back the same bits."""
        lines = (f"  {_dump(name)}: {_dump(value)}" for name, value in _document(self).items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The release `to_json` wrote; anything else raises InvalidFile."""
        document = _parse(text)
        try:
            return cls(**_fields_of(document))
        except (InvalidParameter, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise InvalidFile(f"The text is not a complete dimfree release: {_AGAIN}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Release):
            return NotImplemented
        # The canonical text tells -0.0 from 0.0 and 1 from 1.0, so equal means equal bit for bit.
        return _dump(_document(self)) == _dump(_document(other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # Through the text, so that a copy or a pickle is checked and read-only like the original.
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        outcome = "refused, " if self.refused else ""
        warning = "" if self.guarantee.private else ", not private: seeded noise"
        promise = f"epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r}, {self.guarantee.neighbours}"
        return f"<Release: {outcome}{self.method}, dimension={self.dimension}, {promise}{warning}>"


def _no_room(release: Release, name: str, value: object) -> NoReturn:
    """OpenDP hangs the data that were asked on every answer that can hold them (`__opendp_dict__`), and takes an
    AttributeError for a no; what a frozen class with slots raises by itself is a TypeError before Python 3.14."""
    raise FrozenInstanceError(f"A release is never changed; {name!r} cannot be set.")


Release.__setattr__ = _no_room  # type: ignore[method-assign,assignment]

_AGAIN = "export it again with release.to_json()."
_KEYS = ("format", *(field.name.removeprefix("_") for field in fields(Release)))


def _check_promise(guarantee: Guarantee, ledger: AnyCosts) -> None:
    """The ledger composes to at most its own promise, so that must be the one the guarantee states."""
    if not isinstance(guarantee, Guarantee) or not isinstance(ledger, AnyCosts):
        raise InvalidParameter("Expected guarantee to be a Guarantee and ledger to be a Ledger.")
    stated = (Budget(guarantee.epsilon, guarantee.delta), guarantee.neighbours)
    if stated != (ledger.budget, ledger.neighbours):
        raise InvalidParameter("Expected the guarantee and the ledger to state the same promise.")
    if not ledger.delta() <= guarantee.delta:
        raise InvalidParameter("Expected a ledger that composes to at most the promise.")


def _checked(release: Release) -> dict[str, Any]:
    """Every field but guarantee and ledger, validated, copied and frozen."""
    if type(release.dimension) is not int or release.dimension < 1:
        raise InvalidParameter(f"Expected dimension={quoted(release.dimension)} to be a whole number above 0.")
    return {
        "method": check_choice("method", release.method, METHODS + BASELINES),
        "columns": _names(release.columns, release.dimension),
        "parameters": MappingProxyType({name: _plain(name, value) for name, value in release.parameters.items()}),
        **_outcome(release),
    }


def _outcome(release: Release) -> dict[str, Any]:
    """Either a public reason or both arrays, never a mixture."""
    arrays = (release._mean, release._noise_stddev)
    if release.refusal is not None:
        if not isinstance(release.refusal, str) or not release.refusal.strip():
            raise InvalidParameter("Expected the reason of a refusal to be a sentence.")
        if any(part is not None for part in (*arrays, release._error_model, release._shape, release._denoised)):
            raise InvalidParameter("Expected a refused release without mean and noise_stddev.")
        return {}
    frozen: dict[str, Any] = {
        "_error_model": check_kind("error_model", release.error_model, ErrorModel).frozen(release.dimension),
        "_mean": frozen_numbers("mean", release._mean, release.dimension),
        "_noise_stddev": frozen_numbers("noise_stddev", release._noise_stddev, release.dimension),
    }
    if release._shape is not None:
        frozen["_shape"] = check_kind("shape", release._shape, LearnedShape).frozen(release.dimension)
    if release._denoised is not None:
        frozen["_denoised"] = frozen_numbers("the denoised mean", release._denoised, release.dimension)
    if not np.all(frozen["_noise_stddev"] > 0):
        raise InvalidParameter("Expected noise_stddev above 0 in every coordinate.")
    return frozen


def _names(columns: Sequence[str] | None, dimension: int) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if not isinstance(columns, (list, tuple)) or not all(isinstance(name, str) for name in columns):
        raise InvalidParameter("Expected columns to be a list or tuple of names.")
    if len(columns) != dimension:
        raise InvalidParameter(f"Expected {dimension} names in columns, one for each coordinate.")
    return tuple(str(name) for name in columns)


def _plain(name: object, value: object) -> float | int | str:
    """One public number or word. Containers are refused: a per-record statistic would need one."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(name, str) or type(value) not in (int, float, str):
        raise InvalidParameter(f"Expected parameters to map names to single numbers or words; see {quoted(name)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"Expected the parameter {quoted(name)} to be finite.")
    return value  # type: ignore[return-value]


def _dump(value: object) -> str:
    """Canonical, exact JSON: Python prints the shortest text that reads back as the same float."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def _document(release: Release) -> dict[str, Any]:
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
        "denoised": None if release._denoised is None else release._denoised.tolist(),
        "ledger": release.ledger.to_dict(),
    }


def _parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`, known to be a release of a format this version reads."""
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (TypeError, ValueError, RecursionError):
        raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {_AGAIN}") from None
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
    model, shape = values.pop("error_model"), values.pop("shape")
    return {
        **{f"_{name}": values.pop(name) for name in ("mean", "noise_stddev", "denoised")},
        **values,
        "_error_model": None if model is None else ErrorModel(**model),
        "_shape": None if shape is None else LearnedShape.from_dict(shape),
        "guarantee": Guarantee.from_dict(values["guarantee"]),
        "ledger": costs_from_dict(values["ledger"]),
    }
