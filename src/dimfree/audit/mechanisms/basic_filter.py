"""The coins of the paper's filter, before a count that is private on friendly data (P1)."""

from itertools import combinations_with_replacement

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.lifting import before_lifting
from dimfree.audit.audited import Audited, ExactCheck, plain_space
from dimfree.audit.core_runs import line_values, on_a_line
from dimfree.audit.exact.counts import noisy_number
from dimfree.audit.exact.divergence import Divergence, Laws, laws, no_noise, one_removed
from dimfree.audit.noise_doubles import ConstantNoise, Law, exact_law
from dimfree.audit.pairs.pair import Table, TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.moves import Domain
from dimfree.kernel.rows.grid import RADIUS, on_grid
from dimfree.kernel.statistics.friends import all_counts, friend_counts
from dimfree.paper import basic

_FEW = 11  # records of the search


def lifted(epsilon: float, delta: float) -> Laws:
    """At what P1 leaves of epsilon (pure)."""
    return filtered(before_lifting(epsilon, 0.5)[0])


def filtered(inner: float, most: int = 4) -> Laws:
    """Tables of at most `most` records on a line, with every table that lacks one of them."""
    places = (0, RADIUS, -RADIUS, 2 * RADIUS)

    def law(table: tuple[int, ...]) -> Law:
        counts = friend_counts(np.array(table, dtype=np.int64).reshape(-1, 1))
        kept = exact_law(lambda noise: int(basic.keep(counts, noise).sum()), no_noise)
        return noisy_number(kept, inner, 0, most)

    tables = [table for size in range(1, most + 1) for table in combinations_with_replacement(sorted(places), size)]
    return laws(law, one_removed(tables))


# ---- search


def keep_chances(table: Table) -> Floats:
    """Of every record, exactly: the share of its equally likely coins that keep it. The coins are independent."""
    counts = all_counts(on_grid(plain_space(table), 1.0))
    kept = [basic.keep(counts, ConstantNoise(uniform=value)) for value in range(len(counts))]
    return np.mean(kept, axis=0)


def drift(here: Table, there: Table) -> float:
    """Σ|p_j - p'_j|, the absent record having p = 0: at most 2 - 1/n (P1). The tables differ in their last rows."""
    one, other = keep_chances(here), keep_chances(there)
    shared = min(len(one), len(other))
    return float(np.abs(one[:shared] - other[:shared]).sum() + one[shared:].sum() + other[shared:].sum())


def number_kept(chances: Floats) -> Law:
    """{how many are kept: probability}."""
    masses = np.ones(1)
    for p in chances:
        masses = np.append(masses * (1 - p), 0.0) + np.append(0.0, masses * p)
    return dict(enumerate(masses.tolist()))


def filter_target(epsilon: float) -> Target:
    """The same claim on more records."""
    relation, inner = Neighbours.ADD_REMOVE, before_lifting(epsilon, 0.5)[0]

    def divergence(here: Table, there: Table) -> Divergence:
        kept = (number_kept(keep_chances(table)) for table in (here, there))
        return Laws([tuple(noisy_number(law, inner, 0, _FEW) for law in kept)])  # type: ignore[list-item]

    domain = Domain(line_values(1.0), (0.25,), fewest=2, most=_FEW)
    starts = on_a_line(relation, TableSize(_FEW))
    return Target("basic filter", relation, epsilon, 0.0, drift, divergence, starts, domain)


AUDIT = Audited(
    exact={"basic filter": ExactCheck(lifted, delta=0.0)}, add_remove_searches={"basic filter": filter_target}
)
