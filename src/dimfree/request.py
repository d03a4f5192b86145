"""`Request`: the checked arguments of a release, before any table is opened; and the records that it selects.

A request is public except for the privacy IDs in `privacy_unit`, which are data: a request is never printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args

from numpy.typing import ArrayLike

from dimfree._validate import (
    check_between,
    check_choice,
    check_count,
    check_kind,
    is_word,
    quote,
)
from dimfree.accounting.budget import Budget, Neighbors, check_budget, warn_of_weak_guarantee
from dimfree.accounting.events import has_fine_noise
from dimfree.arguments import ARGUMENTS, MEAN, REQUIRED
from dimfree.bases import check_basis
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.gpu.device import Place, redact_device_memory_errors, select_device
from dimfree.data.people.person_records import person_records, split_unit
from dimfree.data.records import ON_MISSING, Records, as_records
from dimfree.data.schema import Schema
from dimfree.data.tables import select_columns
from dimfree.errors import InvalidParameterError, redact_memory_errors
from dimfree.noise import Noise, open_noise
from dimfree.options import AUTO, Options
from dimfree.shapes import Covariance

NeighborsName = Literal["add-remove", "replace-one"]
Missing = Literal["raise", "complete-case", "available-case"]
Objective = Literal["auto", "relative", "total"]

NORMS = 1e-60, 1e60  # in the units of the records
_DEFAULTS = {name: row.default for name, row in ARGUMENTS.items() if MEAN in row.doors and row.default is not REQUIRED}
_UNCHANGED = ("objective", "covariance", "basis", "privacy_unit", "max_contributions", "missing", "device")


@dataclass(frozen=True, repr=False, eq=False)
class Request:
    """The checked arguments of one release."""

    budget: Budget
    relation: Neighbors
    objective: str
    covariance: ArrayLike | Covariance | None
    basis: object
    norm: float | None
    privacy_unit: object
    max_contributions: int | None
    missing: Missing
    selection: Schema
    device: str | None
    place: Place | None
    noise: Noise
    options: Options

    @classmethod
    def from_arguments(cls, *, options: Options, **given: Any) -> "Request":
        """Check the arguments of `release_mean` as far as they do not depend on the width of the table.

        Raises InvalidParameterError. No table is opened; `Beliefs.of` checks the rest. Omitted arguments have the
        defaults of `ARGUMENTS`.
        """
        asked = SimpleNamespace(**{**_DEFAULTS, **given})
        budget, relation = check_budget(asked.epsilon, asked.delta), Neighbors.parse(asked.neighbors)
        require_fine_noise(budget)
        check_kind("options", options, Options)
        check_basis(asked.basis)
        check_choice("objective", asked.objective, get_args(Objective))
        check_choice("missing", asked.missing, ON_MISSING)
        check_max_contributions(asked.privacy_unit, asked.max_contributions)
        request = cls(
            budget=budget,
            relation=relation,
            selection=Schema.from_arguments(asked.columns, asked.exclude, bounds=asked.bounds),
            place=select_device(asked.device),
            noise=open_noise(asked.noise),
            norm=None if asked.norm is None else check_between("norm", asked.norm, *NORMS),
            options=options,
            **{name: getattr(asked, name) for name in _UNCHANGED},
        )
        request._check_together()
        request.warn_of_weak_guarantee()
        return request

    def warn_of_weak_guarantee(self, records: int | None = None) -> None:
        """Warn of an epsilon or delta that protects little, unless the noise is seeded; `records`: a public number."""
        if self.noise.private:
            warn_of_weak_guarantee(self.budget, records, stacklevel=4 if records else 5)

    @property
    def is_covariance_known(self) -> bool:
        """Whether variances or a covariance are given; otherwise they are privately estimated."""
        return self.covariance is not None

    @property
    def program(self) -> str:
        """The name of the estimator."""
        if self.is_covariance_known:
            return "known"
        if self.norm is not None:
            return "ball"
        return "columns" if self.objective == "relative" or self.missing == "available-case" else "unknown"

    @property
    def chooses_basis(self) -> bool:
        """Whether released values choose the coordinates of the noise."""
        return not self.is_covariance_known and is_word(self.basis, AUTO)

    def by_columns(self, *, named: bool) -> str | None:
        """Return the objective of the per-column estimator, "relative" or "total"; None if it cannot be used.

        Named columns tend to have different units, so "auto" weighs each by its own SD.
        """
        if self.is_covariance_known or self.norm is not None or not self._in_own_columns:
            return None
        return ("relative" if named else "total") if self.objective == AUTO else self.objective

    @property
    def _in_own_columns(self) -> bool:
        """Whether no basis was given."""
        return self.basis is None or is_word(self.basis, AUTO)

    def _check_together(self) -> None:
        """Check parameters that exclude each other."""
        if not self.is_covariance_known and self.options.scale not in (AUTO, "known"):
            raise InvalidParameterError(
                "`scale` needs a known covariance: leave it out, or pass covariance= (--covariance FILE). No budget "
                "was charged."
            )
        if self.norm is not None and (
            self.is_covariance_known or self.objective == "relative" or self.missing == "available-case"
        ):
            raise InvalidParameterError(
                "`norm` excludes covariance, objective='relative' and missing='available-case': it bounds the "
                "Euclidean length of a whole record. Leave them out, or leave out norm. No budget was charged."
            )
        if self.objective == "relative" and self.by_columns(named=True) is None:
            raise InvalidParameterError(
                "objective='relative' excludes covariance and basis: it estimates the SD of every column separately. "
                "Leave them out, or use objective='total'. No budget was charged."
            )
        if self.missing == "available-case" and (
            self.by_columns(named=True) is None or self.max_contributions is not None
        ):
            raise InvalidParameterError(
                "missing='available-case' excludes covariance, basis and max_contributions: it averages every column "
                "over the rows that have it, and rows with missing values have no totals. Leave them out, or use "
                "missing='complete-case'. No budget was charged."
            )
        if self.is_covariance_known and not self._in_own_columns:
            raise InvalidParameterError(
                "`basis` is for an estimated covariance; a known covariance has its own directions. Leave out one of "
                "them. No budget was charged."
            )


def require_fine_noise(whole: Budget, *parts: Budget) -> None:
    """Raise InvalidParameterError if the discrete noise is too coarse for a budget, or for parts of it. Public."""
    if not all(map(has_fine_noise, (whole, *parts))):
        raise InvalidParameterError(
            f"`delta` must be smaller at epsilon={whole.epsilon!r}, got {whole.delta!r}: its discrete noise is too "
            "coarse for so small an epsilon. Lower delta far below 1 / n, or raise epsilon. No budget was charged."
        )


def check_max_contributions(privacy_unit: object, max_contributions: object) -> None:
    """Check max_contributions, which needs a privacy unit."""
    if max_contributions is not None:
        check_count("max_contributions", max_contributions)
        if privacy_unit is None:
            raise InvalidParameterError(
                f"max_contributions={quote(max_contributions)} needs privacy_unit=, the column of privacy IDs. No "
                "budget was charged."
            )


class Persons(NamedTuple):
    """One record for each person, and the privacy unit as the guarantee states it (public)."""

    records: Records
    privacy_unit: Mapping[str, Any]


def open_records(X: object, request: Request) -> Persons:
    """Make one record for each person from X, on the device of the computation. PRIVATE.

    Checks type, width and names of columns; with `privacy_unit`, combines the rows of each person.
    """
    with redact_device_memory_errors(), redact_memory_errors():
        table = select_columns(X, request.selection, (request.privacy_unit,))
        read = partial(as_records, missing=request.missing, bounds=request.selection.bounds)
        unit: dict[str, Any] = {"each_column": True} if request.missing == "available-case" else {}
        if request.privacy_unit is None:
            records = read(table)
        else:
            rest, keys = split_unit(table, request.privacy_unit, request.missing)
            rows = read(rest)
            people = person_records(rows, keys, request.max_contributions, request.missing)
            records = people.within(rows.bounds)
            unit = {
                "privacy_unit": "person",
                "privacy_id": keys.column,
                "max_contributions": request.max_contributions,
                **unit,
            }
        from_file = isinstance(table, Records)  # `read_table` has warned
        warn_of_identifiers(None if from_file else records.columns, request.selection, stacklevel=4)
        records = records.on(request.place) if request.device is not None else records
        records = records.on_its_device() if request.device in (None, "cuda") else records
    return Persons(records, unit)
