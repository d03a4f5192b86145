"""`PrivateGroups`: names in tiny worlds with the law of the noise, a partition of the records, charges that compose."""

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from exact.divergence import hockey_stick
from privacy.asked import Asked

from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_gaussian, calibrate_unlisted
from dimfree.accounting.events import Costs, Unlisted
from dimfree.accounting.sharing import price_gaussian_opening
from dimfree.data.people.labels import split_groups
from dimfree.data.records import as_records
from dimfree.kernel import GroupCosts, KernelError, PrivateGroups
from dimfree.kernel import groups as groups_module
from dimfree.kernel.groups import calibrate_publication, min_group_size
from dimfree.shapes import IsotropicCovariance

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
WHOLE, PART = Budget(1.0, 1e-6), Budget(0.3, 1e-7)
SEARCHED = GroupCosts(WHOLE, PART, price_gaussian_opening(PART), price_gaussian_opening(PART))
LISTED = replace(SEARCHED, search=None)


@cache
def split(held):
    return split_groups(None, list(held), None)[1:]


def groups_of(held, costs=SEARCHED, noise=None, rows=None):
    """People with these keys, None for nobody's; the names are all keys, in the order in which they appear."""
    labels, keys = split(tuple(held))
    rows = np.arange(2.0 * len(held)).reshape(-1, 2) if rows is None else rows
    return PrivateGroups(as_records(rows), labels, keys, costs, Asked() if noise is None else noise)


# ---- names: every table, every neighbor, every draw


STDDEV, REACH, FAILURE = 1.6, 7, 0.06
LEVELS = (0.0, 0.3, 0.7, 1.2, 2.0, 4.0)
MISSING = 1e-5  # the mass of noise beyond the reach, generously


class Drawn(Asked):
    """Hands out the given integers, a draw for each key that somebody holds."""

    def gaussian(self, stddev, size):
        assert stddev == pytest.approx(STDDEV)
        assert size == len(self.draw)
        return np.array(self.draw, dtype=np.int64)


@pytest.fixture
def coarse(monkeypatch):
    """Whole people as the grid of the noise, so that outcomes can be listed."""
    monkeypatch.setattr(events, "MIN_STDDEV", STDDEV / 2)
    monkeypatch.setattr(events, "EPSILON_SHARE", math.inf)
    free = SimpleNamespace(delta=lambda: 0.0)  # its check takes long, and is made for every draw
    monkeypatch.setattr(groups_module, "Runs", lambda *runs: free)
    branch = Unlisted(1 / STDDEV, FAILURE)
    monkeypatch.setattr(groups_module, "calibrate_unlisted", lambda budget: branch)
    monkeypatch.setattr(groups_module, "price_key_search", lambda budget: Costs(budget, ADD, (), (branch,)))


def masses(stddev=STDDEV, clipping=REACH):
    weights = {z: math.exp(-(z**2) / (2 * stddev**2)) for z in range(-clipping, clipping + 1)}
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def law(held):
    """{names: probability}, by running the search on every draw within reach."""
    weights, found = masses(), Counter()
    for draws in product(weights, repeat=len(set(held))):
        groups = groups_of(held, noise=Drawn(draws))
        groups.search()
        found[groups.names] += math.prod(weights[z] for z in draws)
    return dict(found)


def worlds():
    """All tables of at most three people with at most two keys, in every order, and all who lack one person.

    Of two large groups, one person whose row is the first.
    """
    large = ("b",) * 9 + ("a",) * 9
    yield ("a", *large), large
    for held in (held for size in range(1, 4) for held in product(("b", "a", 3), repeat=size)):
        if len(set(held)) <= 2:
            yield from ((held, (*held[:at], *held[at + 1 :])) for at in range(len(held)))


def gaussian_curve(level):
    """The divergence of the discrete Gaussian from the same moved by one."""
    weights = masses()
    return hockey_stick(weights, {z + 1: mass for z, mass in weights.items()}, level)


def lone_tail():
    """P(the key of one person is published) by the threshold of the code."""
    least = calibrate_publication(Unlisted(1 / STDDEV, FAILURE), ADD)[2]
    return math.fsum(mass for z, mass in masses().items() if 1 + z >= least)


def excess():
    """The largest divergence over the claim at any level: `Unlisted.profile` with the curve of the coarse noise."""
    known = cache(law)
    return max(
        max(hockey_stick(known(a), known(b), level), hockey_stick(known(b), known(a), level))
        - (lone_tail() + gaussian_curve(level))
        for a, b in worlds()
        for level in LEVELS
    )


def test_the_divergence_is_at_most_the_claim_on_every_table(coarse):
    assert lone_tail() <= FAILURE
    assert excess() <= MISSING


def with_threshold(change):
    def published(*given):
        event, bits, least = calibrate_publication(*given)
        return event, bits, change(least, bits)

    return published


MUTANTS = {  # name in `groups` -> what stands there instead
    "a threshold lower by one person": ("calibrate_publication", with_threshold(lambda least, bits: least - 2**bits)),
    "a key is published if seen": ("calibrate_publication", with_threshold(lambda least, bits: -(2**62))),
    "keys in the order of appearance": ("public_order", lambda key: 0),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_exceeds_it(coarse, monkeypatch, name):
    monkeypatch.setattr(groups_module, *MUTANTS[name])
    assert excess() > 0.005


@pytest.mark.parametrize("stddev", [0.8, 5.0, 40.0])
@pytest.mark.parametrize("failure", [0.2, 1e-3, 1e-9])
@pytest.mark.parametrize(("relation", "cells"), [(ADD, 1), (REPLACE, 2)])
def test_the_key_of_one_person_is_published_with_the_failure_at_most(monkeypatch, stddev, failure, relation, cells):
    """By the sum over the law of the discrete noise; one person less, and it would be more, up to the grid."""
    monkeypatch.setattr(events, "MIN_STDDEV", stddev / 4)
    event, bits, least = calibrate_publication(Unlisted(math.sqrt(cells) / stddev, failure), relation)
    assert event.stddev == pytest.approx(stddev * 2**bits)
    weights = masses(event.stddev, math.ceil(60 * event.stddev))
    assert cells * math.fsum(mass for z, mass in weights.items() if 2**bits + z >= least) <= failure
    assert cells * math.fsum(mass for z, mass in weights.items() if 2**bits + z >= least - 3) > failure


def test_a_search_draws_for_every_key_that_somebody_holds_what_it_is_charged():
    noise = Asked()
    groups = groups_of([7] * 500 + ["x"] + ["y"] * 500 + [None] * 30, noise=noise)
    costs = groups.search()
    (event,) = costs.after
    assert groups.names == ("7", "y")
    assert noise.log == [("gaussian", event.stddev, 3)]
    assert event.sensitivity * event.step == pytest.approx(1.0, rel=1e-12)
    assert costs.delta() <= PART.delta
    assert event.mu <= calibrate_unlisted(PART).mu


def test_the_least_number_of_people_is_the_first_that_is_named_without_noise():
    least = math.ceil(min_group_size(calibrate_unlisted(PART), ADD))
    for people, names in ((least - 1, ()), (least, ("x",))):
        groups = groups_of(["x"] * people)
        groups.search()
        assert groups.names == names


@pytest.mark.parametrize("held", [[], [None, None]])
def test_nobody_holds_a_key(held):
    noise = Asked()
    groups = groups_of(held, noise=noise, rows=np.zeros((len(held), 2)))
    groups.search()
    assert groups.names == ()
    assert sum(size for _, _, size in noise.log) == 0


# ---- a partition


def opened_count(table):
    """The released number of records, without noise."""
    return table.open(calibrate_gaussian(table.budget, private_count=True)).count


def test_every_record_is_in_one_group_at_most():
    groups = groups_of([1] * 5 + [2] * 3 + [None] * 4, LISTED)
    assert groups.names == (1, 2)
    shape = IsotropicCovariance(1.0)
    assert [opened_count(groups.group(place, shape, by_entry=False)) for place in (0, 1)] == [5, 3]


def test_records_of_keys_that_are_not_published_are_nobodys():
    groups = groups_of(["a"] * 400 + ["rare"] + ["b"] * 300 + [None] * 9)
    groups.search()
    assert groups.names == ("a", "b")
    shape = IsotropicCovariance(1.0)
    assert [opened_count(groups.group(place, shape, by_entry=False)) for place in (0, 1)] == [400, 300]
    assert opened_count(groups.overall(shape, by_entry=False)) == 700


def test_tables_are_handed_out_once_after_the_names_under_their_own_costs():
    groups, shape = groups_of(["a"] * 400), IsotropicCovariance(1.0)
    for early in (lambda: groups.names, lambda: groups.group(0, shape, by_entry=False)):
        with pytest.raises(KernelError, match="names have not been released"):
            early()
    with pytest.raises(KernelError, match="names have not been released"):
        groups.overall(shape, by_entry=False)
    groups.search()
    with pytest.raises(KernelError, match="searched once"):
        groups.search()
    table = groups.group(0, shape, by_entry=False)
    assert (table.budget, table.relation) == (PART, ADD)
    with pytest.raises(KernelError, match="charged for other branches"):
        table.open(calibrate_gaussian(Budget(0.2, 1e-8), private_count=True))
    for again in (0, 1, -1, True, 0.0, np.int64(0)):
        with pytest.raises(KernelError):
            groups.group(again, shape, by_entry=False)
    groups.overall(shape, by_entry=False)
    with pytest.raises(KernelError, match="handed out once"):
        groups.overall(shape, by_entry=False)


def test_runs_that_exceed_the_budget_are_refused_and_what_is_not_charged_is_not_handed_out():
    for greedy in (
        replace(SEARCHED, budget=Budget(0.35, 1e-7)),
        replace(SEARCHED, group=price_gaussian_opening(WHOLE)),
    ):
        with pytest.raises(KernelError, match="exceed the budget"):
            groups_of(["a"], greedy)
    with pytest.raises(KernelError, match="No run over all groups"):
        groups_of(["a"], replace(LISTED, overall=None)).overall(IsotropicCovariance(1.0), by_entry=False)
    with pytest.raises(KernelError, match="searched once, if they are not listed"):
        groups_of(["a"], LISTED).search()


def test_the_number_of_groups_costs_nothing():
    """A record takes part in the search, in the run over all, and in the run of its own group (G1)."""
    assert len(SEARCHED.runs) == 3
    groups = groups_of(list(range(50)), LISTED)
    for place in range(50):
        groups.group(place, IsotropicCovariance(1.0), by_entry=False)
