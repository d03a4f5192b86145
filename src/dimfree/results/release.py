"""Release: a mean or a refusal, with its guarantee, charges and confidence intervals.

No field can hold a private statistic: `slots` allows no other fields, `parameters` takes single numbers and texts only.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree._validate import check_choice, check_kind, check_probability, quote, require
from dimfree.accounting.budget import Budget
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts, costs_from_dict
from dimfree.errors import InvalidParameterError, RefusedReleaseError
from dimfree.results import codec
from dimfree.results.confidence_sets import ConfidenceBall, ConfidenceBox, Target, Uncertainty, read_limits
from dimfree.results.error_model import Clipping, ErrorModel, EstimatedVariances
from dimfree.results.tables import Tabular

METHODS = ("auto", "columns", "recentered", "stable", "soft", "basic", "paper")
BASELINES = ("clipped", "karwa-vadhan", "ball", "plan", "coinpress", "huang-liang-yi", "friendly-core")
_REMEDY = (
    "Check release.refused first. More records, a larger budget or a better known covariance make a release more "
    "likely; every attempt spends its own budget."
)


def _check_reason(_: str, value: object) -> object:
    require(isinstance(value, str) and value.strip(), "`refusal` must be a sentence that states the reason.")
    return value


def _check_names(_: str, columns: Any, dimension: int) -> tuple[str, ...]:
    are_names = isinstance(columns, list | tuple) and all(isinstance(name, str) for name in columns)
    require(are_names, "`columns` must be a list or tuple of names.")
    require(len(columns) == dimension, f"`columns` must have {dimension} names, one per column.")
    return tuple(str(name) for name in columns)


def _check_parameters(_: str, values: Mapping[str, Any]) -> Mapping[str, float | int | str]:
    """Check public numbers and texts. Containers are refused, because a per-record statistic would need one."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    for name, value in plain.items():
        is_single = isinstance(name, str) and type(value) in (int, float, str)
        require(is_single, f"`parameters` must map names to single numbers or texts; check {quote(name)}.")
        is_finite = not isinstance(value, float) or math.isfinite(value)
        require(is_finite, f"The parameter {quote(name)} must be finite.")
    return MappingProxyType(plain)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Tabular):
    """One release: a mean with the SD of its noise, or a refusal with its public reason.

    All fields were released or are public, so a release can be printed, stored and shared. `print(release)` shows the
    table of means. `release_mean` returns a release; `Release.released` and `Release.from_refusal` build one.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee: epsilon, delta, neighboring relation and privacy unit.
    charges : Costs
        The charges of the release, event by event.
    method : str
        The estimator: "columns" is the per-column estimator, others are for example "auto" or "stable".
    dimension : int
        Number of columns.
    columns : tuple of str or None
        Names of the columns, if the table has names.
    parameters : mapping of str to float, int or str
        Public or released parameters. With method "columns", `objective` is "relative" or "total".
    refusal : str or None
        The public reason of a refusal.
    error_model : ErrorModel
        What intervals use besides the noise: SD and number of the records, if public or released.
    estimated_variances : EstimatedVariances or None
        Privately estimated variances and their uncertainty; None if the covariance was given.
    clipping : Clipping or None
        Center, scale, radius and bounds of the clipping; None if the release does not state them.
    """

    guarantee: Guarantee = field(metadata=codec.declare_field(read=Guarantee.from_dict))
    method: str = field(metadata=codec.declare_value(partial(check_choice, choices=METHODS + BASELINES)))
    dimension: int = field(metadata=codec.declare_field())
    columns: tuple[str, ...] | None = field(default=None, metadata=codec.declare_field(_check_names))
    parameters: Mapping[str, float | int | str] = field(metadata=codec.declare_value(_check_parameters))
    refusal: str | None = field(default=None, metadata=codec.declare_value(_check_reason))
    _mean: Floats | None = field(default=None, metadata=codec.declare_numbers())
    _noise_stddev: Floats | None = field(default=None, metadata=codec.declare_numbers(above=0.0))
    error_model: ErrorModel = field(default_factory=ErrorModel, metadata=codec.declare_part(ErrorModel))
    estimated_variances: EstimatedVariances | None = field(
        default=None, metadata=codec.declare_part(EstimatedVariances)
    )
    clipping: Clipping | None = field(default=None, metadata=codec.declare_part(Clipping))
    charges: AnyCosts = field(metadata=codec.declare_field(read=costs_from_dict))

    def __post_init__(self) -> None:
        stated, charges = self.guarantee, self.charges
        are_stated = isinstance(stated, Guarantee) and isinstance(charges, AnyCosts)
        require(are_stated, "`guarantee` must be a Guarantee, and `charges` must be Costs.")
        is_same = (Budget(stated.epsilon, stated.delta), stated.neighbors) == (charges.budget, charges.neighbors)
        require(is_same, "`guarantee` and `charges` must state the same budget and neighboring relation.")
        require(charges.delta() <= stated.delta, "`charges` must compose to at most the guarantee.")
        is_count = type(self.dimension) is int and self.dimension >= 1
        require(is_count, f"`dimension` must be a whole number above 0, got {quote(self.dimension)}.")
        for name, value in codec.check_fields(self, self.dimension).items():
            object.__setattr__(self, name, value)
        parts = (self._mean, self._noise_stddev)
        if self.refusal is None and any(part is None for part in parts):
            raise InvalidParameterError("A release must have mean and noise_stddev, or the reason of a refusal.")
        if self.refusal is not None and any(
            part is not None for part in (*parts, self.estimated_variances, self.clipping)
        ):
            raise InvalidParameterError("A refused release must be without mean and noise_stddev.")

    @classmethod
    def released(
        cls, *, mean: ArrayLike, noise_stddev: ArrayLike, error_model: ErrorModel | None = None, **common: Any
    ) -> Self:
        """Return a release with a mean.

        Parameters
        ----------
        mean, noise_stddev : array_like of shape (d,)
            The released mean and the SD of its noise.
        error_model : ErrorModel, optional
            What intervals use besides the noise.
        **common
            The other fields, for example `estimated_variances` and `clipping`.

        Returns
        -------
        Release
        """
        arrays: dict[str, Any] = {"_mean": mean, "_noise_stddev": noise_stddev}
        return cls(**arrays, error_model=ErrorModel() if error_model is None else error_model, **common)

    @classmethod
    def from_refusal(cls, reason: str, **common: Any) -> Self:
        """Return a release without a mean.

        Parameters
        ----------
        reason : str
            The public reason. It depends on the records only through charged outputs.
        **common
            The other fields.

        Returns
        -------
        Release
        """
        return cls(refusal=reason, **common)

    @property
    def refused(self) -> bool:
        """Whether the release has no mean; `refusal` states the reason."""
        return self.refusal is not None

    @property
    def mean(self) -> Floats:
        """The released mean, (d,), read-only. A refused release raises RefusedReleaseError."""
        return self._refuse("mean") if self._mean is None else self._mean

    @property
    def noise_stddev(self) -> Floats:
        """The SD of the noise of `mean` in each column, (d,), read-only. It is public."""
        return self._refuse("noise_stddev") if self._noise_stddev is None else self._noise_stddev

    def _refuse(self, name: str) -> NoReturn:
        raise RefusedReleaseError(f"A refused release has no {name}. Reason: {self.refusal} {_REMEDY}")

    @property
    def resolved(self) -> NDArray[np.bool_]:
        """Whether the SD of each column is given or estimated, (d,).

        False: there is no estimate, or all values look like zero; rare large values may move the mean out of its
        interval.
        """
        return (
            np.ones(self.dimension, dtype=np.bool_)
            if self.estimated_variances is None
            else self.estimated_variances.learned
        )

    @property
    def without_interval(self) -> NDArray[np.bool_]:
        """Whether a column has no interval, (d,), because records may lie beyond the measured range."""
        flags = self.error_model.without_interval
        return np.zeros(self.dimension, dtype=np.bool_) if flags is None else flags

    @property
    def present(self) -> Floats | None:
        """With missing="available-case": the released share of people with a value, per column, (d,); else None.

        The mean of a column is for these people. It differs from the mean of all if missingness depends on the value.
        """
        return self.error_model.present

    def confidence_interval(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval for each column.

        Parameters
        ----------
        level : float, default 0.95
            Between 0 and 1.
        target : {"population", "sample"}, default "population"
            "population": for the population mean, covering sampling error, privacy noise and clipping bias. The
            records are modeled as independent draws with the given or estimated variances (`error_model`).
            "sample": for the mean of these records after clipping (`clipping`), covering privacy noise and clipping
            bias without sampling error.
        simultaneous : bool, default False
            True: all intervals hold simultaneously at the given level. False: each one separately.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Ends of the intervals, cut at declared bounds. Infinite ends mean no interval: for columns in
            `without_interval`, and for all population means if the release does not state the SD and the number of
            records.
        """
        box = self.confidence_box(level, target=target, simultaneous=simultaneous)
        return box.low.copy(), box.high.copy()

    def error_radius(self, level: float = 0.95, *, target: Target = "population") -> float:
        """Return the radius that bounds the Euclidean error at the given level.

        It uses the exact distribution of the noise, a weighted chi-square, and allows for the likely clipping bias
        (`error_model.clipping_bias`).

        Parameters
        ----------
        level, target : float, str
            See `confidence_interval`.

        Returns
        -------
        float
            Infinite if the population mean has no interval.
        """
        return self._uncertainty(target).length(check_probability("level", level))

    def confidence_ball(self, level: float = 0.95, *, target: Target = "population") -> ConfidenceBall:
        """Return a ball around `mean` that covers the target, with the parts of its radius.

        Columns without an interval (`without_interval`) are not covered. For the population mean, the correlation of
        the columns follows from the released distances of the records.

        Parameters
        ----------
        level, target : float, str
            See `confidence_interval`.

        Returns
        -------
        ConfidenceBall
        """
        return ConfidenceBall.about(self.mean, self._uncertainty(target), check_probability("level", level))

    def confidence_box(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = True
    ) -> ConfidenceBox:
        """Return the intervals of `confidence_interval`, with the parts of their width.

        Parameters
        ----------
        level, target, simultaneous : float, str, bool
            See `confidence_interval`; here the intervals are simultaneous by default.

        Returns
        -------
        ConfidenceBox
        """
        level, uncertainty = check_probability("level", level), self._uncertainty(target)
        stated = (
            self.parameters if self.guarantee.max_contributions is None else {}
        )  # a sum of several rows may exceed the bounds of one
        limits = read_limits(stated, self.columns, self.dimension)
        return ConfidenceBox.about(self.mean, uncertainty, level, limits, simultaneous)

    def _uncertainty(self, target: Target) -> Uncertainty:
        return Uncertainty.of(self.noise_stddev, self.error_model, self.estimated_variances, self.clipping, target)

    def sd_bounds(self) -> tuple[Floats, Floats] | None:
        """Return bounds on the SD of each column.

        Returns
        -------
        (low, high) : pair of ndarray of shape (d,), or None
            For a given covariance both are its SDs. For estimated variances, each pair holds with about 95%
            confidence for columns near a normal distribution, and low is 0 if the SD was not estimated. The estimates
            are robust: the SD of a column with a heavy tail or with a few outliers may exceed high. None: unknown.
        """
        if self.estimated_variances is not None:
            return self.estimated_variances.sd_bounds()
        stated = self.error_model.record_stddev
        return None if stated is None else (stated, stated)

    def noise_to_sd(self) -> Floats:
        """Return an upper bound on the noise-to-SD ratio of each column.

        Returns
        -------
        ndarray of shape (d,)
            Infinite if the SD of a column was not estimated.
        """
        bounds = self.sd_bounds()
        with np.errstate(divide="ignore"):
            return self.noise_stddev / (np.zeros_like(self.noise_stddev) if bounds is None else bounds[0])

    def with_estimated_variances(self, earlier: "Release") -> Self:
        """Return this release with the variances that an earlier run estimated.

        Parameters
        ----------
        earlier : Release
            The release of the earlier run. The uncertainty of its variances and its population model are taken over.

        Returns
        -------
        Release
        """
        variances = check_kind("earlier", earlier, Release).estimated_variances
        model, before = self.error_model, earlier.error_model
        if variances is None or model.record_stddev is None:
            return self
        variances = replace(variances, variances=model.record_stddev**2, directions=None)
        records = None if before.records is None else model.records
        model = replace(model, records=records, widening=before.widening, correlation=before.correlation)
        return replace(self, estimated_variances=variances, error_model=replace(model, unmeasured=before.unmeasured))

    def plot(
        self, kind: Literal["mean", "noise"] = "mean", *, level: float = 0.95, target: Target = "population"
    ) -> Any:
        """Draw the means with intervals, or the noise of each column against its SD.

        Up to 30 columns get a row with their name. If there are more than 300 columns, the top half by rank and an even
        choice of the others are drawn. Columns with very different units are drawn relative to their SD. Plotting
        spends no budget.

        Parameters
        ----------
        kind : {"mean", "noise"}, default "mean"
            "mean": thick bars are separate confidence intervals, thin bars are simultaneous ones. "noise": columns
            without an estimated SD are left out.
        level, target : float, str
            See `confidence_interval`.

        Returns
        -------
        altair.LayerChart
            A notebook shows it; `chart.save(path)` writes .html, .svg or .png.

        Raises
        ------
        InvalidParameterError
            If Altair is missing (extra "charts"), or if kind="noise" and no SD is known.
        """
        from dimfree.results.plot import plot_release

        return plot_release(self, kind, level, target)

    def to_json(self) -> str:
        """Return the release as JSON text, one field per line.

        Returns
        -------
        str
            `Release.from_json` and `dimfree.load` read the same bits back.
        """
        lines = (
            f"  {_to_canonical_json(name)}: {_to_canonical_json(value)}" for name, value in self._document().items()
        )
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        return cls(**codec.fields_from_json(cls, document))

    def _document(self) -> dict[str, Any]:
        refused = {"error_model": None} if self.refused else {}
        return {FORMAT.key: FORMAT.number, **codec.fields_to_json(self), **refused}

    def __eq__(self, other: object) -> bool:
        return (
            _to_canonical_json(self._document()) == _to_canonical_json(other._document())
            if isinstance(other, Release)
            else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # a copy or pickle goes through the JSON text, so it is checked and read-only like the original
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        outcome = "refused, " if self.refused else ""
        return f"<Release: {outcome}{self.method}, dimension={self.dimension}, {self._stated}>"


def _refuse_change(release: Release, name: str, value: object) -> NoReturn:
    """Raise AttributeError: OpenDP would attach the data to an answer as `__opendp_dict__`.

    A frozen class with slots raises TypeError before Python 3.14.
    """
    raise FrozenInstanceError(f"A release is read-only; {name!r} cannot be set.")


Release.__setattr__ = _refuse_change  # type: ignore[method-assign,assignment]
Release._format = FORMAT = codec.Format(
    "release", "format", 6, frozenset(each.name.lstrip("_") for each in fields(Release))
)


def _to_canonical_json(value: object) -> str:
    """Return canonical JSON. -0.0 differs from 0.0, and 1 from 1.0: equal text means equal bits."""
    return json.dumps(value, allow_nan=False, sort_keys=True)
