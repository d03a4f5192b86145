"""The points of a comparison: one for each value on its axis, all checked before anything is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree._validate import check_at_least, check_count, check_each, check_positive
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.comparison.outcome import AXES
from dimfree.comparison.spectra import spectrum
from dimfree.comparison.worlds import PublicTable, Synthetic, World
from dimfree.errors import InvalidParameter

SPECTRUM, RECORDS, COLUMNS = "S1", 1000, 1000  # where nothing is said


@dataclass(frozen=True)
class Point:
    """A place on the axis: a world, how many records of it, and the promise that everybody makes."""

    at: float | str
    world: World
    count: int
    budget: Budget
    relation: Neighbours

    @property
    def promise(self) -> dict[str, Any]:
        return {"epsilon": self.budget.epsilon, "delta": self.budget.delta, "neighbours": self.relation}


def points_along(given: dict[str, Any], table: object, delta: float, relation: Neighbours) -> tuple[str, list[Point]]:
    """The axis, which is the parameter of `given` (n, d, epsilon, spectrum) that is a list, and the points on it."""
    many = [name for name in AXES if _is_many(given[name])]
    if len(many) > 1:
        raise InvalidParameter(f"Expected at most one list among {', '.join(AXES)}, got {' and '.join(many)}.")
    rows = _opened(table, given)
    given = {**given, "n": _records(rows) if given["n"] is None else given["n"]}
    axis = many[0] if many else AXES[0]
    values = _listed(axis, given[axis]) if many else [_plain(given[axis])]
    points = [_point(axis, {**given, axis: value}, rows, delta, relation) for value in values]
    if len({point.at for point in points}) < len(points):
        raise InvalidParameter(f"Expected every value of {axis} once.")
    return axis, points


def _is_many(value: object) -> bool:
    rank = value.ndim if isinstance(value, np.ndarray) else 1
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and rank > 0


def _listed(axis: str, given: Sequence[Any]) -> list[Any]:
    """The values of the axis, in Python's own numbers and words."""
    if not len(given):
        raise InvalidParameter(f"Expected {axis} to have at least one value.")
    check, need = _VALUES[axis]
    return check_each(axis, map(_plain, given), check, need)


def _plain(value: Any) -> Any:
    """Python's own number, which JSON takes."""
    return value.item() if isinstance(value, np.generic) else value


def _name(_: str, value: Any) -> str:
    spectrum(value, 1)
    return str(value)


def _epsilon(name: str, value: object) -> float:
    return check_at_least(name, check_positive(name, value), SMALLEST_EPSILON)


_VALUES: dict[str, tuple[Callable[[str, Any], Any], str]] = {
    "n": (check_count, "a whole number of at least 1"),
    "d": (check_count, "a whole number of at least 1"),
    "epsilon": (_epsilon, f"a finite number of at least {SMALLEST_EPSILON:g}"),
    "spectrum": (_name, "the name of a spectrum, such as 'S1'"),
}


def _opened(table: object, given: dict[str, Any]) -> PublicTable | None:
    if table is None:
        return None
    if given["d"] is not None or given["spectrum"] is not None:
        raise InvalidParameter("Expected neither d nor spectrum with a table: it has its own.")
    opened = table if isinstance(table, PublicTable) else PublicTable.of(table)
    _ = opened.priors  # a table that does not vary is an error now
    return opened


def _records(table: PublicTable | None) -> int:
    """Where nothing is said: of a table at most half, so that its mean is still to be estimated."""
    return RECORDS if table is None else min(RECORDS, len(table.rows) // 2)


def _point(axis: str, place: dict[str, Any], table: PublicTable | None, delta: float, relation: Neighbours) -> Point:
    budget = Budget(place["epsilon"], delta)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    world = table or _synthetic(place["spectrum"], place["d"])
    count = check_count("n", place["n"])
    if count > world.most:
        raise InvalidParameter(_too_many(int(world.most) + 1))
    return Point(place[axis], world, count, budget, relation)


def _too_many(rows: int) -> str:
    return (
        f"Expected n to be below {rows}, the rows of the table: they are drawn from it without repetition, and "
        f"the mean of all of them is the truth itself. Take at most half, n={rows // 2}."
    )


def _synthetic(name: str | None, dimension: int | None) -> Synthetic:
    name, columns = SPECTRUM if name is None else name, COLUMNS if dimension is None else dimension
    return Synthetic(name, len(spectrum(name, columns)))  # an unknown name is an error now
