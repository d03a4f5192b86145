"""`Request`: what one release is asked for, checked once, before any table is opened; then the records, as it says.

A request is public except for the keys in `unit`, which are data: a request is never printed.
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
    check_exactly_one,
    check_kind,
    is_word,
    quoted,
    reject_shape,
)
from dimfree.accounting.budget import Budget, Neighbours, check_budget, warn_of_weak_guarantee
from dimfree.accounting.events import has_fine_noise
from dimfree.arguments import ARGUMENTS, MEAN, REQUIRED
from dimfree.bases import check_basis
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.gpu.device import Place, device_memory_unspoken, place_of
from dimfree.data.people.person_records import person_records, split_unit
from dimfree.data.records import ON_MISSING, Records, as_records
from dimfree.data.schema import Schema
from dimfree.data.tables import selected
from dimfree.errors import InvalidParameter, memory_unspoken
from dimfree.noise import Noise, opened
from dimfree.options import AUTO, Options
from dimfree.shapes import Shape

Learned = Literal["auto"]  # the shape is learned from the records
NeighboursName = Literal["add-remove", "replace-one"]
OnMissing = Literal["raise", "drop", "column"]
Objective = Literal["auto", "relative", "total"]

NORMS = 1e-60, 1e60  # in the units of the records
_DEFAULTS = {name: row.default for name, row in ARGUMENTS.items() if MEAN in row.doors and row.default is not REQUIRED}
_UNCHANGED = ("objective", "covariance", "shape", "basis", "unit", "unit_rows", "on_missing", "device")


@dataclass(frozen=True, repr=False, eq=False)
class Request:
    """What one release is asked for. `Request.checked` builds one from the arguments of a caller."""

    budget: Budget
    relation: Neighbours
    objective: str
    covariance: ArrayLike | None
    shape: Shape | str | None
    basis: object
    norm: float | None
    unit: object
    unit_rows: int | None
    on_missing: OnMissing
    selection: Schema
    device: str | None
    place: Place | None
    noise: Noise
    options: Options

    @classmethod
    def checked(cls, *, options: Options, **given: Any) -> "Request":
        """A request of arguments of `release_mean`, each usable as far as the width of the table does not decide it.

        Raises InvalidParameter. No table is opened here; `Beliefs.of` checks what the width decides. What is left out
        has the default of the table of arguments.
        """
        asked = SimpleNamespace(**{**_DEFAULTS, **given})
        budget, relation = check_budget(asked.epsilon, asked.delta), Neighbours.parse(asked.neighbours)
        require_fine_noise(budget)
        check_kind("options", options, Options)
        check_basis(asked.basis)
        check_choice("objective", asked.objective, get_args(Objective))
        check_choice("on_missing", asked.on_missing, ON_MISSING)
        check_unit_rows(asked.unit, asked.unit_rows)
        request = cls(
            budget=budget,
            relation=relation,
            selection=Schema.checked(asked.columns, asked.exclude, bounds=asked.bounds),
            place=place_of(asked.device),
            noise=opened(asked.noise),
            norm=None if asked.norm is None else check_between("norm", asked.norm, *NORMS),
            options=options,
            **{name: getattr(asked, name) for name in _UNCHANGED},
        )
        request._check_together()
        request.warn_of_weak_guarantee()
        return request

    def warn_of_weak_guarantee(self, records: int | None = None) -> None:
        """Warn of an epsilon or delta that protects little; seeded noise protects nobody anyway.

        `records`: their number, if it is public.
        """
        if self.noise.private:
            warn_of_weak_guarantee(self.budget, records, stacklevel=4 if records else 5)

    @property
    def learned(self) -> str | None:
        """The name of a shape that has to be learned, or None where something is known."""
        return AUTO if self.covariance is None and (self.shape is None or is_word(self.shape, AUTO)) else None

    @property
    def program(self) -> str:
        """The name of the program that answers."""
        if self.learned is None:
            return "known"
        if self.norm is not None:
            return "ball"
        return "columns" if self.objective == "relative" or self.on_missing == "column" else "unknown"

    @property
    def chooses_basis(self) -> bool:
        """Whether the coordinates in which the noise is shaped are chosen on the way, by what is released."""
        return self.learned == AUTO and is_word(self.basis, AUTO)

    def by_columns(self, *, named: bool) -> str | None:
        """What reading every column by itself would aim at: "relative" or "total"; None where it is out of question.

        Columns with names tend to have units of their own, so "auto" weighs each by its own spread.
        """
        if self.learned != AUTO or self.norm is not None or not self._columns_as_they_are:
            return None
        return ("relative" if named else "total") if self.objective == AUTO else self.objective

    @property
    def _columns_as_they_are(self) -> bool:
        """Whether no other coordinates than the columns are asked for."""
        return self.basis is None or is_word(self.basis, AUTO)

    def _check_together(self) -> None:
        """Parameters that exclude each other."""
        if self.learned:
            if self.options.scale not in (AUTO, "known"):
                raise InvalidParameter(
                    f"Expected scale at its default with shape={self.learned!r}: it belongs to a known covariance. "
                    "Drop it, or pass covariance= (--covariance FILE)."
                )
        else:
            check_exactly_one(self.covariance, self.shape)
            if not isinstance(self.shape, Shape | None):
                raise reject_shape("shape", self.shape)
        if self.norm is not None and (
            self.learned is None or self.objective == "relative" or self.on_missing == "column"
        ):
            raise InvalidParameter(
                "Expected norm without covariance, objective='relative' and on_missing='column': it bounds the "
                "Euclidean length of a whole record. Leave them out, or leave out norm. No budget was charged."
            )
        if self.objective == "relative" and self.by_columns(named=True) is None:
            raise InvalidParameter(
                "Expected objective='relative' without covariance, shape and basis: it learns the spread of "
                "every column by itself. Leave them out, or use objective='total'."
            )
        if self.on_missing == "column" and (self.by_columns(named=True) is None or self.unit_rows is not None):
            raise InvalidParameter(
                "Expected on_missing='column' without covariance, shape, basis and unit_rows: it reads every "
                "column by itself, and a total over rows with missing entries is no total. Leave them out, or use "
                "on_missing='drop'."
            )
        if self.learned != AUTO and not self._columns_as_they_are:
            raise InvalidParameter(
                "Expected basis to be left out: it is for shape='auto', where the shape of the noise is learned; "
                "a known covariance has its own directions."
            )


def require_fine_noise(whole: Budget, *parts: Budget) -> None:
    """Raise InvalidParameter if the discrete noise would be too coarse for a budget, or for parts of it. Public."""
    if not all(map(has_fine_noise, (whole, *parts))):
        raise InvalidParameter(
            f"Expected a smaller delta at epsilon={whole.epsilon!r}, got {whole.delta!r}: the discrete noise of so "
            "large a delta is too coarse for so small an epsilon. Lower delta far below 1 / n, or raise epsilon. No "
            "budget was charged."
        )


def check_unit_rows(unit: object, unit_rows: object) -> None:
    """A public bound on the rows of a person needs persons."""
    if unit_rows is not None:
        check_count("unit_rows", unit_rows)
        if unit is None:
            raise InvalidParameter(
                f"Expected unit_rows={quoted(unit_rows)} together with unit=, which names whose each row is."
            )


class Persons(NamedTuple):
    """One record for each person, and what the guarantee says about what one person is (public)."""

    records: Records
    whose: Mapping[str, Any]


def open_records(X: object, request: Request) -> Persons:
    """X as one record for each person, on the device where it is worked on.

    Looks at type, width and names of columns; with `unit`, also makes one record of the rows of each person. PRIVATE.
    """
    with device_memory_unspoken(), memory_unspoken():
        table = selected(X, request.selection, (request.unit,))
        read = partial(as_records, on_missing=request.on_missing, bounds=request.selection.bounds)
        whose: dict[str, Any] = {"each_column": True} if request.on_missing == "column" else {}
        if request.unit is None:
            records = read(table)
        else:
            rest, keys = split_unit(table, request.unit, request.on_missing)
            rows = read(rest)
            people = person_records(rows, keys, request.unit_rows, request.on_missing)
            records = people.within(rows.bounds)
            whose = {"unit": "person", "unit_column": keys.column, "unit_rows": request.unit_rows, **whose}
        from_file = isinstance(table, Records)  # whoever opened the file has warned
        warn_of_identifiers(None if from_file else records.columns, request.selection, stacklevel=4)
        records = records.on(request.place) if request.device is not None else records
        records = records.where_it_lies() if request.device in (None, "cuda") else records
    return Persons(records, whose)
