"""Release: a mean or a refusal, its guarantee, its charges, and the intervals that follow from them.

No field can hold a private statistic: `slots` allows no others, `parameters` takes single public numbers and texts.
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
from dimfree._validate import check_choice, check_kind, check_probability, quoted, require
from dimfree.accounting.budget import Budget
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts, costs_from_dict
from dimfree.errors import InvalidParameter, RefusedRelease
from dimfree.results import codec
from dimfree.results.confidence_sets import ConfidenceBall, ConfidenceBox, Target, Uncertainty, stated_limits
from dimfree.results.error_model import ErrorModel, LearnedShape, Reach
from dimfree.results.tables import Tabular

METHODS = ("auto", "columns", "recentred", "stable", "soft", "basic", "paper")
BASELINES = ("clipped", "karwa-vadhan", "ball", "plan", "coinpress", "huang-liang-yi", "friendly-core")
_REMEDY = (
    "Check release.refused before reading; more records, a larger budget or a covariance closer to the data "
    "make a release more likely, and every further attempt spends its own budget."
)


def _check_reason(_: str, value: object) -> object:
    require(isinstance(value, str) and value.strip(), "Expected the reason of a refusal to be a sentence.")
    return value


def _check_names(_: str, columns: Any, dimension: int) -> tuple[str, ...]:
    are_names = isinstance(columns, list | tuple) and all(isinstance(name, str) for name in columns)
    require(are_names, "Expected columns to be a list or tuple of names.")
    require(len(columns) == dimension, f"Expected {dimension} names in columns, one for each coordinate.")
    return tuple(str(name) for name in columns)


def _check_parameters(_: str, values: Mapping[str, Any]) -> Mapping[str, float | int | str]:
    """Public numbers and words. Containers are refused: a per-record statistic would need one."""
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    for name, value in plain.items():
        is_single = isinstance(name, str) and type(value) in (int, float, str)
        require(is_single, f"Expected parameters to map names to single numbers or words; see {quoted(name)}.")
        is_finite = not isinstance(value, float) or math.isfinite(value)
        require(is_finite, f"Expected the parameter {quoted(name)} to be finite.")
    return MappingProxyType(plain)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(Tabular):
    """One release: a mean with the standard deviation of its noise, or a refusal with its public reason.

    Everything in it was released or is public, so it may be printed, stored and shared. `release_mean` returns one;
    `Release.released` and `Release.refused_because` build one.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee: epsilon, delta, neighbours, and what one person is.
    ledger : Ledger
        What the release was charged, event by event.
    method : str
        The estimator: "columns" if every column was read separately, else for example "auto" or "stable".
    dimension : int
        Number of columns.
    columns : tuple of str or None
        Names of the columns, if the table had names.
    parameters : mapping of str to float, int or str
        Public parameters of the run. With method "columns", `objective` is "relative" or "total".
    refusal : str or None
        The public reason of a refusal.
    error_model : ErrorModel
        What intervals use beyond the noise: SD and number of the records, where either is public.
    shape : LearnedShape or None
        The variances learned on the way, with their uncertainty; None if the shape was known.
    reach : Reach or None
        How far from a released center the records counted in full; None if the release does not state it.
    """

    guarantee: Guarantee = field(metadata=codec.declared(read=Guarantee.from_dict))
    method: str = field(metadata=codec.single(partial(check_choice, choices=METHODS + BASELINES)))
    dimension: int = field(metadata=codec.declared())
    columns: tuple[str, ...] | None = field(default=None, metadata=codec.declared(_check_names))
    parameters: Mapping[str, float | int | str] = field(metadata=codec.single(_check_parameters))
    refusal: str | None = field(default=None, metadata=codec.single(_check_reason))
    _mean: Floats | None = field(default=None, metadata=codec.numbers())
    _noise_stddev: Floats | None = field(default=None, metadata=codec.numbers(above=0.0))
    error_model: ErrorModel = field(default_factory=ErrorModel, metadata=codec.part(ErrorModel))
    shape: LearnedShape | None = field(default=None, metadata=codec.part(LearnedShape))
    reach: Reach | None = field(default=None, metadata=codec.part(Reach))
    ledger: AnyCosts = field(metadata=codec.declared(read=costs_from_dict))

    def __post_init__(self) -> None:
        stated, ledger = self.guarantee, self.ledger
        are_stated = isinstance(stated, Guarantee) and isinstance(ledger, AnyCosts)
        require(are_stated, "Expected guarantee to be a Guarantee and ledger to be a Ledger.")
        is_same = (Budget(stated.epsilon, stated.delta), stated.neighbours) == (ledger.budget, ledger.neighbours)
        require(is_same, "Expected the guarantee and the ledger to state the same promise.")
        require(ledger.delta() <= stated.delta, "Expected a ledger that composes to at most the promise.")
        is_count = type(self.dimension) is int and self.dimension >= 1
        require(is_count, f"Expected dimension={quoted(self.dimension)} to be a whole number above 0.")
        for name, value in codec.checked_fields(self, self.dimension).items():
            object.__setattr__(self, name, value)
        parts = (self._mean, self._noise_stddev)
        if self.refusal is None and any(part is None for part in parts):
            raise InvalidParameter("Expected mean and noise_stddev, or the reason of a refusal.")
        if self.refusal is not None and any(part is not None for part in (*parts, self.shape, self.reach)):
            raise InvalidParameter("Expected a refused release without mean and noise_stddev.")

    @classmethod
    def released(
        cls, *, mean: ArrayLike, noise_stddev: ArrayLike, error_model: ErrorModel | None = None, **common: Any
    ) -> Self:
        """Return a release with a mean.

        Parameters
        ----------
        mean, noise_stddev : array_like of shape (d,)
            The released mean and the standard deviation of its noise.
        error_model : ErrorModel, optional
            What is publicly known of the records beyond the noise.
        **common
            The other fields of the release, `shape` and `reach` among them.

        Returns
        -------
        Release
        """
        arrays: dict[str, Any] = {"_mean": mean, "_noise_stddev": noise_stddev}
        return cls(**arrays, error_model=ErrorModel() if error_model is None else error_model, **common)

    @classmethod
    def refused_because(cls, reason: str, **common: Any) -> Self:
        """Return a release without a mean.

        Parameters
        ----------
        reason : str
            Public: it depends on no record beyond what was charged.
        **common
            The other fields of the release.

        Returns
        -------
        Release
        """
        return cls(refusal=reason, **common)

    @property
    def refused(self) -> bool:
        """Whether there is no mean; `refusal` then holds the reason."""
        return self.refusal is not None

    @property
    def mean(self) -> Floats:
        """The released mean, (d,), read-only. A refused release raises RefusedRelease."""
        return self._refuse("mean") if self._mean is None else self._mean

    @property
    def noise_stddev(self) -> Floats:
        """The public standard deviation of the noise of `mean` in each coordinate, (d,), read-only."""
        return self._refuse("noise_stddev") if self._noise_stddev is None else self._noise_stddev

    def _refuse(self, name: str) -> NoReturn:
        raise RefusedRelease(f"A refused release has no {name}. Reason: {self.refusal} {_REMEDY}")

    @property
    def resolved(self) -> NDArray[np.bool_]:
        """Whether the SD of each column is known, (d,): stated by the user, or learned.

        False: there is no estimate, or only zeros were seen; rare large entries may shift the mean beyond its interval.
        """
        return np.ones(self.dimension, dtype=np.bool_) if self.shape is None else self.shape.learned

    @property
    def one_value(self) -> NDArray[np.bool_]:
        """Whether a column has a mean but no interval, (d,): records may lie farther out than was measured."""
        flags = self.error_model.one_value
        return np.zeros(self.dimension, dtype=np.bool_) if flags is None else flags

    @property
    def present(self) -> Floats | None:
        """With on_missing="column": the released share of people who have an entry, (d,), read-only; else None.

        The mean of a column is about these people. It is not the mean of all, if who has an entry depends on its value.
        """
        return self.error_model.present

    def confidence_interval(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = False
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval for each coordinate, about `mean`.

        Parameters
        ----------
        level : float, default 0.95
            Between 0 and 1.
        target : {"population", "sample"}, default "population"
            "population": for the population mean, if records are independent draws with the stated or learned
            variances, widened by one factor as their lengths show (`error_model`): sampling error, privacy noise and
            clipping bias together. "sample": for the mean of these records, each clipped to `reach`:
            privacy noise and clipping bias, without sampling error.
        simultaneous : bool, default False
            True: all intervals hold at once at the given level. False: each one separately.

        Returns
        -------
        low, high : ndarray of shape (d,)
            Ends of the intervals, within declared bounds. Infinite, which means no interval, where a column has none
            (`one_value`), and everywhere for the population mean if the release does not state the standard deviation
            and the number of the records.
        """
        box = self.confidence_box(level, target=target, simultaneous=simultaneous)
        return box.low.copy(), box.high.copy()

    def error_radius(self, level: float = 0.95, *, target: Target = "population") -> float:
        """Return the Euclidean distance that the error stays within at the given level.

        By the exact law of the noise, a weighted chi-square, widened by the likely clipping bias
        (`error_model.clipping`).

        Parameters
        ----------
        level, target : float, str
            As in `confidence_interval`.

        Returns
        -------
        float
            Infinite if the population mean has no interval.
        """
        return self._uncertainty(target).length(check_probability("level", level))

    def confidence_ball(self, level: float = 0.95, *, target: Target = "population") -> ConfidenceBall:
        """Return a ball about `mean` that covers the target, and what its radius is made of.

        Columns that have no interval (`one_value`) are not covered. About the population, columns are taken to be as
        correlated as the lengths of the records show.

        Parameters
        ----------
        level, target : float, str
            As in `confidence_interval`.

        Returns
        -------
        ConfidenceBall
        """
        return ConfidenceBall.about(self.mean, self._uncertainty(target), check_probability("level", level))

    def confidence_box(
        self, level: float = 0.95, *, target: Target = "population", simultaneous: bool = True
    ) -> ConfidenceBox:
        """Return the intervals of `confidence_interval`, and what their width is made of.

        Parameters
        ----------
        level, target, simultaneous : float, str, bool
            As in `confidence_interval`, but all intervals hold at once by default.

        Returns
        -------
        ConfidenceBox
        """
        level, uncertainty = check_probability("level", level), self._uncertainty(target)
        stated = self.parameters if self.guarantee.unit_rows is None else {}  # a total may lie beyond
        limits = stated_limits(stated, self.columns, self.dimension)
        return ConfidenceBox.about(self.mean, uncertainty, level, limits, simultaneous)

    def _uncertainty(self, target: Target) -> Uncertainty:
        return Uncertainty.of(self.noise_stddev, self.error_model, self.shape, self.reach, target)

    def spread_bounds(self) -> tuple[Floats, Floats] | None:
        """Return bounds on the standard deviation of one record in each column.

        Returns
        -------
        (low, high) : pair of ndarray of shape (d,), or None
            If the user stated the covariance, both are its standard deviations. If it was learned, each pair of
            bounds holds with about 95 % confidence for columns not far from normal, and low is 0 if the SD of that
            column was not learned. Large entries count little in what is learned: a column with a heavy tail, or with
            a few entries far from all others, may be wider than high. None if nothing is known.
        """
        if self.shape is not None:
            return self.shape.stddev_bounds()
        stated = self.error_model.record_stddev
        return None if stated is None else (stated, stated)

    def noise_over_spread(self) -> Floats:
        """Return an upper bound on the noise of each column in standard deviations of one record.

        Returns
        -------
        ndarray of shape (d,)
            Infinite where the SD of a column was not learned.
        """
        bounds = self.spread_bounds()
        with np.errstate(divide="ignore"):
            return self.noise_stddev / (np.zeros_like(self.noise_stddev) if bounds is None else bounds[0])

    def with_learned(self, earlier: "Release") -> Self:
        """Return the same release, marked as one whose shape was learned in an earlier run.

        Parameters
        ----------
        earlier : Release
            Of that run. Its shape, with its uncertainty, and its model of the population hold for this one, too.

        Returns
        -------
        Release
        """
        shape, model, before = check_kind("earlier", earlier, Release).shape, self.error_model, earlier.error_model
        if shape is None or model.record_stddev is None:
            return self
        shape = replace(shape, variances=model.record_stddev**2, directions=None)
        records = None if before.records is None else model.records
        model = replace(model, records=records, widening=before.widening, correlation=before.correlation)
        return replace(self, shape=shape, error_model=replace(model, unmeasured=before.unmeasured))

    def plot(
        self, kind: Literal["mean", "noise"] = "mean", *, level: float = 0.95, target: Target = "population"
    ) -> Any:
        """Draw the release: its means with intervals, or the noise of each column against its SD.

        Up to 30 columns are named beside their rows; of more than 300 the noisiest or strongest are drawn, and others
        spread evenly over the rest. Columns in very different units are drawn in units of their own SD. Nothing is
        spent.

        Parameters
        ----------
        kind : {"mean", "noise"}, default "mean"
            "mean": thick bars are confidence intervals, each column separately; thin bars are for all columns at once.
            "noise": columns whose SD was not learned are left out.
        level, target : float, str
            Of the intervals, as in `confidence_interval`.

        Returns
        -------
        altair.LayerChart
            A notebook shows it; its method `save` writes .html, .svg or .png.

        Raises
        ------
        InvalidParameter
            If Altair is not installed (extra "charts"), or no SD is known for kind="noise".
        """
        from dimfree.results.plot import release_plot

        return release_plot(self, kind, level, target)

    def to_json(self) -> str:
        """Return the whole release as JSON text, one field per line.

        Returns
        -------
        str
            `Release.from_json` reads the same bits back.
        """
        lines = (f"  {_exact(name)}: {_exact(value)}" for name, value in self._document().items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        return cls(**codec.fields_from_json(cls, document))

    def _document(self) -> dict[str, Any]:
        refused = {"error_model": None} if self.refused else {}
        return {FORMAT.key: FORMAT.number, **codec.fields_to_json(self), **refused}

    def __eq__(self, other: object) -> bool:
        return _exact(self._document()) == _exact(other._document()) if isinstance(other, Release) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A copy or a pickle goes through the JSON text: it is checked, and read-only, like the original.
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        outcome = "refused, " if self.refused else ""
        return f"<Release: {outcome}{self.method}, dimension={self.dimension}, {self._stated}>"


def _refuse_change(release: Release, name: str, value: object) -> NoReturn:
    """OpenDP attaches the data to every answer as `__opendp_dict__` unless that raises AttributeError.

    A frozen class with slots raises TypeError before Python 3.14.
    """
    raise FrozenInstanceError(f"A release is never changed; {name!r} cannot be set.")


Release.__setattr__ = _refuse_change  # type: ignore[method-assign,assignment]
Release._format = FORMAT = codec.Format(
    "release", "format", 5, frozenset(each.name.lstrip("_") for each in fields(Release))
)


def _exact(value: object) -> str:
    """Canonical JSON. It distinguishes -0.0 from 0.0 and 1 from 1.0: equal text means equal bit for bit."""
    return json.dumps(value, allow_nan=False, sort_keys=True)
