"""What the audit checks of one mechanism, and what the files in `mechanisms/` share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.audit.exact import divergence
from dimfree.audit.exact.divergence import Divergence
from dimfree.audit.pairs.pair import Both, Pair, Table, TableSize
from dimfree.audit.pairs.suites import pairs
from dimfree.data.records import as_records
from dimfree.kernel.rows.space import Space
from dimfree.noise import Noise
from dimfree.paper.charged import Charged
from dimfree.shapes import Isotropic

if TYPE_CHECKING:
    from dimfree.audit.canaries.one_run import Found
    from dimfree.audit.search.climb import Target

DELTA = 1e-2  # of the audited claims: with a smaller one less is seen in the same time, and the code is the same
MU, EPSILON, SCALE = 0.4, 0.7, 3.0  # at which charges are checked
_LARGEST_WHOLE = 2.0**52  # above, every float is a whole number and a lattice says nothing

Pairs = Callable[[], tuple[Pair, ...]]
Answer = TypeVar("Answer")


class ExactCheck(NamedTuple):
    """(epsilon, delta) -> the true divergence of the code on small tables; and the delta of the claim."""

    make: Callable[[float, float], Divergence]
    delta: float = DELTA


@dataclass(frozen=True)
class Subject:
    """A claim that is sampled; `draw` gives one output as a row of numbers, NaN where nothing was released."""

    name: str
    epsilon: float
    relation: Neighbours
    draw: Callable[[Table, Noise], Floats]
    pairs: Pairs  # made when asked for: some run the code first
    weight: float = 1.0  # of its share of the time
    delta: float = DELTA


@dataclass(frozen=True)
class ChargeCase:
    """A call of a mechanism, its cost as asked for, and what one record changes by its theorem.

    `cost` is mu, or (epsilon, delta), or the scale of a choice. `moves` is the L2 sensitivity in units of what is
    released; for choices and Laplace noise, how many counts one record moves by one. `draws` is how many numbers are
    drawn, None where that depends on the records. `off` counts released numbers that are not on the stated lattice, or
    not on a public list; None where that is not checked.
    """

    name: str
    release: Callable[..., Charged[Any, Any]]  # of a keyword `noise`
    cost: float | tuple[float, float]
    moves: float
    draws: int | None
    off: Callable[[Charged[Any, Any]], int] | None = None


@dataclass(frozen=True)
class Audited:
    """All checks of one mechanism; those that it does not have are empty.

    `exact`: divergences on small tables. `searches`: targets in both relations, by name; `add_remove_searches`: in this
    relation only. `subjects`: what is sampled in both relations; `other_subjects`: what is sampled besides. `charges`:
    calls whose cost and lattice are checked. `lattice`: (name, numbers off the lattice) of whole releases. `canaries`:
    one-run audits by name, given (epsilon, failure, releases).
    """

    exact: Mapping[str, ExactCheck] = field(default_factory=dict)
    searches: Mapping[str, Callable[[float, Neighbours], "Target"]] = field(default_factory=dict)
    add_remove_searches: Mapping[str, Callable[[float], "Target"]] = field(default_factory=dict)
    subjects: tuple[Callable[[float, Neighbours], Subject], ...] = ()
    other_subjects: Callable[[float], Iterable[Subject]] = lambda epsilon: ()
    charges: Callable[[], Iterable[ChargeCase]] = lambda: ()
    lattice: Callable[[Noise], Iterable[tuple[str, int]]] = lambda noise: ()
    canaries: Mapping[str, Callable[..., "Found"]] = field(default_factory=dict)


def whole_mu(epsilon: float) -> float:
    """The mu of one Gaussian release that spends all of (epsilon, DELTA)."""
    return divergence.whole_mu(epsilon, DELTA)


def prepared(make: Callable[[Table], Answer]) -> Callable[[Table], Answer]:
    """`make`, once for every table: what is computed before noise is drawn is the same every time."""
    known: dict[int, tuple[Table, Answer]] = {}

    def get(table: Table) -> Answer:
        if id(table) not in known:
            known[id(table)] = (table, make(table))  # the table is kept, so that its id stays its own
        return known[id(table)][1]

    return get


def plain_space(table: Table) -> Space:
    return Space(as_records(table), Isotropic(1.0))


def suite(relation: Neighbours, given: TableSize, *names: str) -> Pairs:
    """The pairs of the suite, all of them or those named."""
    return lambda: tuple(pairs(relation, given, names or None))


def of_tables(relation: Neighbours, tables: Mapping[str, Both]) -> Pairs:
    """Pairs by name."""
    return lambda: tuple(Pair(name, relation, *both) for name, both in tables.items())


# ---- released numbers


def off_lattice(values: Any, event: Gaussian, divisor: float = 1.0) -> int:
    """How many values are not a whole number of the event's steps, divided by a public number, bit for bit.

    A float with noise of its own lies on the lattice with probability about (lattice points) / (floats) < 2^-20.
    """
    given = np.atleast_1d(np.asarray(values, dtype=np.float64))
    steps = np.rint(given * divisor / event.step)
    return int(((steps * event.step / divisor != given) | (np.abs(steps) > _LARGEST_WHOLE)).sum())


def value_off_lattice(found: Charged[Any, Any], divisor: float = 1.0) -> int:
    """`off_lattice` of a whole value."""
    return off_lattice(found.value, found.event, divisor)


def off_list(listed: Any) -> Callable[[Charged[Any, Any]], int]:
    """How many released values are not among the listed ones, bit for bit."""
    return lambda found: int((~np.isin(np.atleast_1d(found.value), np.asarray(listed))).sum())
