"""M4 in tiny worlds: the histogram is (epsilon, P(noise >= threshold - 1))-private, and not less."""

import math
from collections import Counter
from functools import cache
from itertools import product

import pytest
from exact.divergence import ScriptedNoise, hockey_stick, laplace_masses, laplace_tail
from exact.worlds import removals, replacements, tables

from dimfree.paper import mechanisms as stable_histogram_module
from dimfree.paper.mechanisms import heaviest_cell, publishing_threshold, stable_histogram

CELLS = (1, 2, 3)
BUDGETS = [(2.0, 0.05), (3.0, 0.01), (1.5, 0.3)]
MISSING = 1e-7  # the mass of noise beyond the reach, generously


def clipping(epsilon):
    return math.ceil(2 / epsilon * 19)


@cache
def distribution(cells, epsilon, delta, mechanism=stable_histogram):
    """{output: probability}, by running the code on every draw within reach. Cells in whatever order."""
    masses = laplace_masses(2 / epsilon, clipping(epsilon))
    occupied, found = len(set(cells)), Counter()
    for draws in product(masses, repeat=occupied):
        value = mechanism(cells, epsilon, delta, noise=ScriptedNoise(draws)).value
        outcome = tuple(value.items()) if isinstance(value, dict) else value
        found[outcome] += math.prod(masses[z] for z in draws)
    return dict(found)


def neighbors():
    """Tables of at most three items on at most two cells, with everything one item away."""
    for size in range(1, 4):
        for table in tables(CELLS, size):
            others = set(removals(table)) | {(*rest, place) for _, place, rest in replacements(table, CELLS)}
            for other in others:
                if max(len(set(table)), len(set(other))) <= 2:
                    yield table, other


def worst(epsilon, delta, mechanism=stable_histogram, level=None):
    """The largest divergence over the world, both directions; a lower bound of the true one up to MISSING."""
    level = epsilon if level is None else level
    pairs = [(distribution(a, epsilon, delta, mechanism), distribution(b, epsilon, delta, mechanism)) for a, b in PAIRS]
    return max(max(hockey_stick(p, q, level), hockey_stick(q, p, level)) for p, q in pairs)


PAIRS = list(neighbors())


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_divergence_is_exactly_the_tail_at_the_threshold(epsilon, delta):
    least = publishing_threshold(epsilon, delta)
    tail = laplace_tail(2 / epsilon, least - 1)
    assert tail <= delta < laplace_tail(2 / epsilon, least - 2)
    assert worst(epsilon, delta) == pytest.approx(tail, abs=MISSING)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[:2])
def test_the_arg_max_costs_no_more(epsilon, delta):
    found = worst(epsilon, delta, heaviest_cell)
    assert found <= laplace_tail(2 / epsilon, publishing_threshold(epsilon, delta) - 1) + MISSING
    assert found > 0


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_delta_that_charges_the_strict_tail_is_rejected(epsilon, delta):
    """The claim of a library whose histogram publishes from the threshold on and charges what lies beyond it."""
    claimed = laplace_tail(2 / epsilon, publishing_threshold(epsilon, delta))
    assert worst(epsilon, delta) > claimed * 1.5


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS[:2])
def test_a_threshold_one_lower_is_rejected(monkeypatch, epsilon, delta):
    right = publishing_threshold

    def lower(cells, epsilon, delta, *, noise):
        with monkeypatch.context() as patch:
            patch.setattr(stable_histogram_module, "publishing_threshold", lambda *budget: right(*budget) - 1)
            return stable_histogram(cells, epsilon, delta, noise=noise)

    assert worst(epsilon, delta, lower) > delta


def test_noise_for_one_moved_count_instead_of_two_is_rejected():
    """Scale 1/epsilon serves adding and removing only; an exchanged item moves two counts."""
    epsilon, delta = 3.0, 0.01

    def halved(cells, epsilon, delta, *, noise):
        return stable_histogram(cells, 2 * epsilon, delta, noise=noise)

    masses = laplace_masses(1 / epsilon, 12)
    found = []
    for table in ((1, 1, 1, 2, 2), (1, 1, 2, 2, 2)):
        law = Counter()
        for draws in product(masses, repeat=2):
            value = halved(table, epsilon, delta, noise=ScriptedNoise(draws)).value
            law[tuple(value.items())] += math.prod(masses[z] for z in draws)
        found.append(law)
    assert hockey_stick(found[0], found[1], epsilon) > delta


def test_the_order_of_the_items_is_not_told():
    for table in [(2, 1, 1, 2), (1, 2, 2, 1)]:
        assert list(stable_histogram(table * 9, 1.0, 0.1, noise=ScriptedNoise([0, 0])).value) == [1, 2]
