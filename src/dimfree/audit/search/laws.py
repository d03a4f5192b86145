"""Search targets whose exact law is known: discrete mechanisms on the counts, votes and values of small tables."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.exact.divergence import Divergence, Laws, true_epsilon
from dimfree.audit.noise_doubles import Law
from dimfree.audit.pairs.pair import Pair, Table, TableSize
from dimfree.audit.pairs.suites import SUITES, pairs
from dimfree.audit.search.climb import Target
from dimfree.audit.search.moves import Domain

_OTHER_WIDTH = ("one dimension", "wide", "sparse")  # pairs with a width of their own

View = tuple[float, ...]  # what a mechanism sees of a table


def law_target(
    name: str,
    claim: tuple[float, float],
    relation: Neighbours,
    view: Callable[[Table], View],
    law: Callable[[View], Law],
    given: TableSize,
    domain: Domain,
    slack: float = 0.0,
) -> Target:
    """A mechanism with a known law for whatever it sees of a table; each law is computed once."""
    known = lru_cache(maxsize=4096)(law)
    epsilon, delta = claim

    def divergence(here: Table, there: Table) -> Divergence:
        return Laws([(known(view(here)), known(view(there)))], slack)

    def score(here: Table, there: Table) -> float:
        found = divergence(here, there)
        return true_epsilon(found, delta + 1e-12) + 1e-3 * found.delta_at(0.0)  # a slope where epsilon is 0

    return Target(name, relation, epsilon, delta, score, divergence, _starts(relation, given), domain)


def _starts(relation: Neighbours, given: TableSize) -> tuple[Pair, ...]:
    skipped = _OTHER_WIDTH if given.dimension > 1 else (*_OTHER_WIDTH, "turned")
    return tuple(pairs(relation, given, tuple(name for name in SUITES[relation] if name not in skipped)))


def votes(table: Table) -> View:
    """How many records vote for each coordinate: one record moves no count by more than one."""
    return tuple((np.asarray(table) > 0.5).sum(axis=0).tolist())


def vote_domain(scale: float) -> Domain:
    """Enough records that a choice may become as unlikely as e^-8."""
    return Domain((0.0, 1.0), fewest=1, most=8 + math.ceil(8 * scale))
