"""Keys that nobody listed, in tiny worlds: every table, every neighbour, every draw, with the law of the noise."""

import math
from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from dimfree.mechanisms.gaussian_histogram import moved_counts, publishing
from exact.divergence import hockey_stick
from recording import RecordingNoise

from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_unlisted
from dimfree.accounting.events import Costs, Unlisted
from dimfree.data.people.labels import split_unlisted
from dimfree.kernel.statistics import group_keys
from dimfree.kernel.statistics.group_keys import least_people, published_keys

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
STDDEV, REACH = 1.6, 9
KEYS = ("b", "a", 3)
LEVELS = (0.0, 0.3, 0.7, 1.2, 2.0, 4.0)
FAILURE = 0.06
MISSING = 1e-7  # the mass of noise beyond the reach, generously


class Drawn:
    """Hands out the given integers, whatever it is asked for."""

    private = False

    def __init__(self, draws):
        self.draws = list(draws)

    def gaussian(self, stddev, size):
        assert stddev == pytest.approx(STDDEV)
        assert size == len(self.draws)
        return np.array(self.draws, dtype=np.int64)


@pytest.fixture
def coarse(monkeypatch):
    """Whole people as the grid of the noise, so that outcomes can be listed."""
    monkeypatch.setattr(events, "LEAST_STDDEV", STDDEV / 2)


def masses(stddev=STDDEV, reach=REACH):
    weights = {z: math.exp(-(z**2) / (2 * stddev**2)) for z in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def branch(relation, failure=FAILURE):
    return Unlisted(math.sqrt(moved_counts(1, relation)) / STDDEV, failure)


def named(held, relation, noise):
    """Keys in the order in which they appear, as in a release."""
    _, labels, keys = split_unlisted(None, list(held), "drop")
    return published_keys(labels, keys, branch(relation), relation, noise=noise).value


def law(held, relation):
    """{output: probability}, by running the code on every draw within reach."""
    weights, found = masses(), Counter()
    for draws in product(weights, repeat=len(set(held))):
        found[named(held, relation, Drawn(draws))] += math.prod(weights[z] for z in draws)
    return dict(found)


def worlds(relation):
    """All tables of at most three people with at most two keys, in every order, and all their neighbours.

    Of two large groups, one person whose row is the first.
    """
    large = ("b",) * 9 + ("a",) * 9
    yield ("a", *large), large if relation is ADD else ("b", *large)
    for held in (held for size in range(1, 4) for held in product(KEYS, repeat=size)):
        for at in range(len(held)):
            for key in [()] if relation is ADD else [(key,) for key in KEYS]:
                other = (*held[:at], *key, *held[at + 1 :])
                if max(len(set(held)), len(set(other))) <= 2:
                    yield held, other


@cache
def gaussian_curve(shifts, level):
    """The divergence of `shifts` discrete Gaussians from the same moved by one, each or together."""
    weights = masses()
    here = {draws: math.prod(weights[z] for z in draws) for draws in product(weights, repeat=shifts)}
    there = {tuple(z + 1 for z in draws): mass for draws, mass in here.items()}
    return hockey_stick(here, there, level)


@cache
def lone_tail(relation):
    """P(some key of one person is published) by the threshold of the code, all cells that may be such keys added up."""
    cells = moved_counts(1, relation)
    _, _, least = publishing(cells, math.sqrt(cells) / STDDEV, FAILURE, "")
    return cells * math.fsum(mass for z, mass in masses().items() if 1 + z >= least)


def excess(relation):
    """The largest divergence over the claim at any level: `Unlisted.profile` with the curve of the coarse noise, and
    with what the rounded threshold leaves of the failure."""
    known = cache(lambda held: law(held, relation))
    pairs = [(known(a), known(b)) for a, b in worlds(relation)]
    return max(
        max(hockey_stick(p, q, level), hockey_stick(q, p, level))
        - (lone_tail(relation) + gaussian_curve(moved_counts(1, relation), level))
        for p, q in pairs
        for level in LEVELS
    )


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_divergence_is_at_most_the_claim_on_every_table(coarse, relation):
    assert lone_tail(relation) <= FAILURE
    assert excess(relation) <= MISSING


def with_threshold(change):
    def published(*given):
        event, bits, least = publishing(*given)
        return event, bits, change(least, bits)

    return published


MUTANTS = {  # name in `group_keys` -> what stands there instead
    "a threshold lower by one person": ("publishing", with_threshold(lambda least, bits: least - 2**bits)),
    "a key is published if seen": ("publishing", with_threshold(lambda least, bits: -(2**62))),
    "keys in the order of appearance": ("public_order", lambda key: 0),
}


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_exceeds_it(coarse, monkeypatch, relation, name):
    monkeypatch.setattr(group_keys, *MUTANTS[name])
    assert excess(relation) > 0.005


@pytest.mark.parametrize("stddev", [0.8, 1.6, 5.0, 40.0])
@pytest.mark.parametrize("failure", [0.2, 1e-3, 1e-9])
@pytest.mark.parametrize("cells", [1, 2])
def test_the_key_of_one_person_is_published_with_the_failure_at_most(monkeypatch, stddev, failure, cells):
    """By the sum over the law of the discrete noise; one person less, and it would be more, up to the grid."""
    monkeypatch.setattr(events, "LEAST_STDDEV", stddev / 4)
    event, bits, least = publishing(cells, math.sqrt(cells) / stddev, failure, "")
    assert event.stddev == pytest.approx(stddev * 2**bits)
    weights = masses(event.stddev, math.ceil(60 * event.stddev))
    tail = math.fsum(mass for z, mass in weights.items() if 2**bits + z >= least)
    assert cells * tail <= failure
    loose = math.fsum(mass for z, mass in weights.items() if 2**bits + z >= least - 3)
    assert cells * loose > failure


@pytest.mark.parametrize(("relation", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_the_noise_fits_the_sensitivity(relation, moved):
    noise, given = RecordingNoise(), Unlisted(0.05, 1e-8)
    places = np.repeat(np.arange(4), [500, 1, 0, 500])
    found = published_keys(places, (7, "x", "unheld", "y"), given, relation, noise=noise)
    assert found.value == (7, "y")
    assert found.event.sensitivity * found.event.step == pytest.approx(math.sqrt(moved), rel=1e-12)
    assert 0.05 * (1 - 1e-12) < found.event.sensitivity / found.event.stddev <= 0.05
    assert [asked[:3] for asked in noise.asked] == [
        ("gaussian", found.event.stddev, 3)
    ]  # a key that nobody holds: none


def test_what_it_costs_fits_its_budget():
    for epsilon, delta in ((0.01, 1e-10), (0.2, 5e-7), (3.0, 1e-3)):
        budget = Budget(epsilon, delta)
        costs = Costs(budget, ADD, (), (calibrate_unlisted(budget),))
        assert 0.9 * delta < costs.delta() <= delta
        assert Costs.from_dict(costs.to_dict()) == costs


def test_nobody_holds_a_key():
    noise = RecordingNoise()
    assert published_keys(np.array([-1, -1]), (), Unlisted(0.1, 1e-6), ADD, noise=noise).value == ()
    assert published_keys(np.zeros(0, dtype=np.int64), (), Unlisted(0.1, 1e-6), ADD, noise=noise).value == ()


def test_the_least_number_of_people_is_the_first_that_is_named_without_noise():
    given = Unlisted(0.05, 1e-8)
    least = math.ceil(least_people(given, ADD))
    for people, names in ((least - 1, ()), (least, ("x",))):
        places = np.zeros(people, dtype=np.int64)
        assert published_keys(places, ("x",), given, ADD, noise=RecordingNoise()).value == names
