"""Two real searches and the bit behind them, on small tables: their exact divergence against the branch's profile.

Searches belong to the branch that they were chosen with (decision 0006). The mean that follows is left out, and so is
its price: the profile is taken with mu = 0 behind the bit.
"""

from functools import cache, partial

import numpy as np
import pytest
from exact.divergence import hockey_stick
from exact.search_law import Setting, law, whole

from dimfree.accounting import ladder, precision
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.precision import after_gaussians
from dimfree.kernel import session
from dimfree.programs.learn import scale as crossing
from dimfree.programs.unknown import search_parts

EPSILON, DELTA = 4.0, 0.05
LEVELS = np.linspace(0, EPSILON, 41)
WORST = {Neighbours.ADD_REMOVE: (9, 11), Neighbours.REPLACE_ONE: (0, 8)}  # records beyond the public number, far ones
FOLLOWED = 1e-8  # what courses that were not followed can add to a divergence


@pytest.fixture(autouse=True)
def signs(monkeypatch):
    monkeypatch.setattr(session, "int", whole, raising=False)
    monkeypatch.setattr(crossing, "_PER_HALVING", 1)


@cache
def setting(relation):
    return Setting.smallest(EPSILON, DELTA, relation)


def crowd(relation, more, far):
    """Most records in one place, `far` of them each by itself: the searches are undecided, and the bit is near."""
    table = np.zeros((int(setting(relation).looked_at) + more, 1))
    table[:far, 0] = 100 * np.arange(1, far + 1)
    return table


def neighbour(relation, table, instead=0.0):
    rest = table[1:]
    return rest if relation is Neighbours.ADD_REMOVE else np.concatenate([[[instead]], rest])


def divergence(relation, here, there):
    """In both directions, at every level."""
    laws = [law(setting(relation), table) for table in (here, there)]
    return np.array([max(hockey_stick(*laws, level), hockey_stick(*laws[::-1], level)) for level in LEVELS])


def claim(relation):
    """The second count, which comes before the searches, is left out with its price."""
    ladder_of = partial(ladder.ladder_profile, setting(relation).core.branch.ladder, 0.0)
    return after_gaussians(radius_mu(relation), ladder_of, LEVELS)


def radius_mu(relation):
    return search_parts(setting(relation).core.branch, relation)[1]


def priced_apart(relation):
    """The twin: the searches and the bit each for itself, the dearer of the two."""
    branch = setting(relation).core.branch
    bit = ladder.ladder_profile(branch.ladder, 0.0, LEVELS)
    return np.maximum(bit, precision.hockey_stick(radius_mu(relation), LEVELS))


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_profile_of_the_branch_covers_searches_and_bit_and_twin_does_not(relation):
    """Under add/remove no table was found on which the signs alone give the twin away."""
    table = crowd(relation, *WORST[relation])
    found = divergence(relation, table, neighbour(relation, table))
    assert (found <= claim(relation) + FOLLOWED).all()
    if relation is Neighbours.REPLACE_ONE:
        assert (found > 1.2 * priced_apart(relation)).any()


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_profile_covers_other_numbers_of_far_records(relation):
    for far in range(setting(relation).core.budget + 3):
        table = crowd(relation, 0, far)
        for instead in (0.0,) if relation is Neighbours.ADD_REMOVE else (0.0, 1.0):
            found = divergence(relation, table, neighbour(relation, table, instead))
            assert (found <= claim(relation) + FOLLOWED).all()


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_profile_covers_tables_that_nobody_chose(relation, rng):
    for _ in range(12):
        table = crowd(relation, 0, int(rng.integers(0, 16)))
        table += rng.choice([0.05, 0.5, 1.0, 2.0]) * rng.integers(-1, 2, size=table.shape)
        instead = rng.choice([0.0, 0.7, 3.0, 1e300, np.nan])
        found = divergence(relation, table, neighbour(relation, table, instead))
        assert (found <= claim(relation) + FOLLOWED).all()
