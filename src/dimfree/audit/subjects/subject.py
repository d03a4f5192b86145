"""What is sampled: a claim, the code it is about as a function from a table to a row of numbers, and its pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.audit.neighbours import Pair, Place, Table, pairs
from dimfree.noise import Noise

Suite = Callable[[], tuple[Pair, ...]]

DELTA = 1e-2  # of the audited claims: a smaller one leaves less to see in the same time, and is the same code


@dataclass(frozen=True)
class Subject:
    """A claim and the code it is about; `draw` gives one output as a row of numbers, NaN where nothing left."""

    name: str
    epsilon: float
    delta: float
    relation: Neighbours
    draw: Callable[[Table, Noise], Floats]
    pairs: Suite  # made when asked for: some look at the code first
    weight: float = 1.0  # of its share of the time


Prepared = TypeVar("Prepared")


def prepared(make: Callable[[Table], Prepared]) -> Callable[[Table], Prepared]:
    """`make`, once for every table: what is done before noise is drawn gives the same bits every time."""
    known: dict[int, tuple[Table, Prepared]] = {}

    def get(table: Table) -> Prepared:
        if id(table) not in known:
            known[id(table)] = (table, make(table))  # the table is kept, so that its id stays its own
        return known[id(table)][1]

    return get


def whole_mu(epsilon: float) -> float:
    """The precision of one Gaussian release that spends all of (epsilon, DELTA)."""
    return largest_mu(*idealised(epsilon, DELTA))


def suite(relation: Neighbours, place: Place, *names: str) -> Suite:
    """The pairs of the suite, all of them or those named."""
    return lambda: tuple(pairs(relation, place, names or None))


def of_tables(relation: Neighbours, **tables: tuple[Table, Table]) -> Suite:
    """Pairs of one's own: name, with underscores for spaces, and both tables."""
    return lambda: tuple(Pair(name.replace("_", " "), relation, *both) for name, both in tables.items())
