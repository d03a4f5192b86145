"""Release: a mean or a refusal, the guarantee it was made under, and the ledger of what it was charged.

No field can hold a private statistic: the fields are listed once, `slots` allows no others, and `parameters` takes
single public numbers and texts only.
"""

import json
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree._validate import check_kind, quoted
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts, costs_from_dict
from dimfree.errors import InvalidParameter, RefusedRelease
from dimfree.results import release_fields
from dimfree.results.codec import Format, checked_fields, declared, fields_from_json, fields_to_json, numbers, part
from dimfree.results.confidence_sets import Target
from dimfree.results.error_bars import ErrorBars
from dimfree.results.error_model import ErrorModel, LearnedShape, Reach
from dimfree.results.tables import Tabular

_REMEDY = (
    "Check release.refused before reading; more records, a larger budget or a covariance closer to the data "
    "make a release more likely, and every further attempt spends its own budget."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(ErrorBars, Tabular):
    """One release: a mean with the standard deviation of its noise, or a refusal with its public reason.

    Everything in it was released or is public, so it may be printed, stored and shared. `release_mean` returns one;
    `Release.released` and `Release.refused_because` build one.

    Attributes
    ----------
    guarantee : Guarantee
        The promise: epsilon, delta, neighbours, and what one person is.
    ledger : Ledger
        What the release was charged, event by event.
    method : str
        The estimator: "columns" where every column was read by itself, else for example "auto" or "stable".
    dimension : int
        Number of columns.
    columns : tuple of str or None
        Names of the columns, where the table had names.
    parameters : mapping of str to float, int or str
        Public parameters of the run. With method "columns", `objective` is "relative" or "total".
    refusal : str or None
        The public reason of a refusal.
    error_model : ErrorModel
        What error bars use beyond the noise: spread and number of the records, where either is public.
    shape : LearnedShape or None
        The variances learned on the way, with their uncertainty; None where the shape was known.
    reach : Reach or None
        How far from a released centre the records counted in full; None where the release does not state it.
    """

    guarantee: Guarantee = field(metadata=declared(release_fields.kept, read=Guarantee.from_dict))
    method: str = field(metadata=declared(release_fields.method))
    dimension: int = field(metadata=declared(release_fields.kept))
    columns: tuple[str, ...] | None = field(default=None, metadata=declared(release_fields.names))
    parameters: Mapping[str, float | int | str] = field(metadata=declared(release_fields.parameters))
    refusal: str | None = field(default=None, metadata=declared(release_fields.reason))
    _mean: Floats | None = field(default=None, metadata=numbers())
    _noise_stddev: Floats | None = field(default=None, metadata=numbers(above=0.0))
    error_model: ErrorModel = field(default_factory=ErrorModel, metadata=part(ErrorModel))
    shape: LearnedShape | None = field(default=None, metadata=part(LearnedShape))
    reach: Reach | None = field(default=None, metadata=part(Reach))
    ledger: AnyCosts = field(metadata=declared(release_fields.kept, read=costs_from_dict))

    def __post_init__(self) -> None:
        release_fields.check_promise(self.guarantee, self.ledger)
        if type(self.dimension) is not int or self.dimension < 1:
            raise InvalidParameter(f"Expected dimension={quoted(self.dimension)} to be a whole number above 0.")
        for name, value in checked_fields(self, self.dimension).items():
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
        """A release with a mean.

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
        """A release without a mean.

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

    @property
    def resolved(self) -> NDArray[np.bool_]:
        """Whether the spread of each column is known, (d,): stated by the user, or learned.

        False: the release could not tell how wide the column is, or saw only zeros in it. Its mean may then be off by
        more than its error bars say, if rare large entries were not seen.
        """
        return np.ones(self.dimension, dtype=np.bool_) if self.shape is None else self.shape.learned

    @property
    def one_value(self) -> NDArray[np.bool_]:
        """Whether a column has a mean but no interval, (d,).

        Records may lie farther out than was measured: only zeros were seen in the column while some records lie far
        out, or it is a single column of few records.
        """
        flags = self.error_model.one_value
        return np.zeros(self.dimension, dtype=np.bool_) if flags is None else flags

    @property
    def present(self) -> Floats | None:
        """With on_missing="column": the released share of people who have an entry, (d,), read-only; else None.

        The mean of a column is about these people. It is not the mean of all, if who has an entry depends on its value.
        """
        return self.error_model.present

    def with_learned(self, earlier: "Release") -> Self:
        """The same release, marked as one whose shape was learned in an earlier run.

        Parameters
        ----------
        earlier : Release
            Of that run. Its shape, with its uncertainty, and what it says of the population hold for this one, too.

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
        model = replace(model, unmeasured=before.unmeasured)
        return replace(self, shape=shape, error_model=model)

    def _refuse(self, name: str) -> NoReturn:
        raise RefusedRelease(f"A refused release has no {name}. Reason: {self.refusal} {_REMEDY}")

    def plot(
        self, kind: Literal["mean", "noise"] = "mean", *, level: float = 0.95, target: Target = "population"
    ) -> Any:
        """A picture of the release: its means with intervals, or the noise of each column against its spread.

        Up to 30 columns are named beside their rows; of more than 300 the noisiest or strongest are drawn, and others
        spread evenly over the rest. Columns in very different units are drawn in units of their own spread. Nothing is
        spent.

        Parameters
        ----------
        kind : {"mean", "noise"}, default "mean"
            "mean": thick bars are confidence intervals, each column separately; thin bars are for all columns at once.
            "noise": columns whose spread was not learned are left out.
        level, target : float, str
            Of the intervals, as in `confidence_interval`.

        Returns
        -------
        altair.LayerChart
            A notebook shows it; its method `save` writes .html, .svg or .png.

        Raises
        ------
        InvalidParameter
            If Altair is not installed (extra "charts"), or no spread is known for kind="noise".
        """
        from dimfree.results.plot import release_plot

        return release_plot(self, kind, level, target)

    def _repr_html_(self) -> str:
        from dimfree.results.notebook import release_card

        return release_card(self)

    def to_json(self) -> str:
        """The whole release as JSON text, one field per line.

        Returns
        -------
        str
            `Release.from_json` reads the same bits back.
        """
        lines = (f"  {_exact(name)}: {_exact(value)}" for name, value in self._document().items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The release that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text; anything else raises InvalidFile.

        Returns
        -------
        Release
        """
        document = FORMAT.parse(text)
        with FORMAT.complete():
            return cls(**fields_from_json(cls, document))

    def _document(self) -> dict[str, Any]:
        refused = {"error_model": None} if self.refused else {}
        return {FORMAT.key: FORMAT.number, **fields_to_json(self), **refused}

    def __eq__(self, other: object) -> bool:
        return _exact(self._document()) == _exact(other._document()) if isinstance(other, Release) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A copy or a pickle goes through the JSON text: it is checked, and read-only, like the original.
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        outcome = "refused, " if self.refused else ""
        warning = "" if self.guarantee.private else ", not private: seeded noise"
        promise = f"epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r}, {self.guarantee.neighbours}"
        return f"<Release: {outcome}{self.method}, dimension={self.dimension}, {promise}{warning}>"


def _refuse_change(release: Release, name: str, value: object) -> NoReturn:
    """OpenDP tries to attach the queried data to every answer as `__opendp_dict__`, and gives up on AttributeError.

    A frozen class with slots by itself raises TypeError before Python 3.14.
    """
    raise FrozenInstanceError(f"A release is never changed; {name!r} cannot be set.")


Release.__setattr__ = _refuse_change  # type: ignore[method-assign,assignment]
FORMAT = Format("release", "format", 5, frozenset(each.name.lstrip("_") for each in fields(Release)))


def _exact(value: object) -> str:
    """Canonical JSON. It tells -0.0 from 0.0 and 1 from 1.0: equal text means equal bit for bit."""
    return json.dumps(value, allow_nan=False, sort_keys=True)
