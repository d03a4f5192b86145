"""The sparse vector in tiny worlds: its exact law against its claims, and the printed constants rejected."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from exact.divergence import ScriptedNoise, hockey_stick, laplace_masses, losses

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.losses import Pure
from dimfree.accounting.several_runs import Composition
from dimfree.paper.mechanisms import sparse_scale, sparse_vector

SMALL = {-2: 0.1, 0: 0.5, 1: 0.3, 3: 0.1}  # a made-up noise, small enough to run the code on every draw


def tail(masses, least):
    """P(Z >= least) for an array of bounds; the given masses are taken to be everything."""
    places, weight = np.array(sorted(masses)), np.array([masses[z] for z in sorted(masses)])
    above = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    return above[np.searchsorted(places, least)]


def law(counts, bar, most, lifts, noise, redrawn=True):
    """{positions: probability}, summed over the threshold's noise; given it, the answers are independent."""
    drawn, weight = np.array(list(lifts)), np.array(list(lifts.values()))
    above = [tail(noise, bar + drawn - count) for count in counts]
    below = [tail(flipped(noise), count - bar - drawn + 1) for count in counts]
    found = Counter()

    def walk(start, positions, left):
        if len(positions) == most:
            found[positions] += left.sum()
            return
        for place in range(start, len(counts)):
            hit = left * above[place]
            walk(place + 1, (*positions, place), weight * hit.sum() if redrawn else hit)
            left = left * below[place]
        found[positions] += left.sum()

    walk(0, (), weight)
    return dict(found)


def flipped(masses):
    return {-z: mass for z, mass in masses.items()}


def exact_law(counts, bar, most, bar_scale, count_scale, redrawn=True):
    lifts, noise = (laplace_masses(scale, math.ceil(40 * scale)) for scale in (bar_scale, count_scale))
    return law(counts, bar, most, lifts, noise, redrawn)


def shifts(size):
    """Every way in which one group can move the counts."""
    return product((-1, 0, 1), repeat=size)


def pairs(size, bar, most, *scales, redrawn=True):
    here = exact_law((0,) * size, bar, most, *scales, redrawn)
    for shift in shifts(size):
        yield here, exact_law(shift, bar, most, *scales, redrawn)


def largest_loss(size, bar, most, *scales, redrawn=True):
    return max(abs(loss) for laws in pairs(size, bar, most, *scales, redrawn=redrawn) for loss in losses(*laws))


def largest_delta(epsilon, size, bar, most, *scales, redrawn=True):
    both = [(p, q) for pair in pairs(size, bar, most, *scales, redrawn=redrawn) for p, q in (pair, pair[::-1])]
    return max(hockey_stick(p, q, epsilon) for p, q in both)


# the code has the law that is reasoned about


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 1), (-1, 3, 0)])
def test_the_code_has_this_law(counts, most):
    found = Counter()
    for script in product(SMALL, repeat=len(counts) + most):
        # a threshold, all counts, then a fresh threshold after every positive answer but the last
        answer = sparse_vector(np.array(counts), 0.6, most, 1.0, 0.1, noise=ScriptedNoise(script)).value
        found[tuple(answer)] += math.prod(SMALL[z] for z in script)
    expected = law(counts, 1, most, SMALL, SMALL)
    assert dict(found) == pytest.approx(expected, abs=1e-12)
    if most > 1:
        assert dict(found) != pytest.approx(law(counts, 1, most, SMALL, SMALL, redrawn=False), abs=1e-3)


# privacy


@pytest.mark.parametrize("bar", [-3, 0, 1, 4])
@pytest.mark.parametrize("scale", [0.7, 2.0])
@pytest.mark.parametrize("most", [1, 2])
def test_each_stretch_costs_at_most_two_over_the_scale(bar, scale, most):
    found = largest_loss(most + 2, bar, most, scale, 2 * scale)
    assert found <= most * 2 / scale * (1 + 1e-9)
    assert found > 0.5 / scale


def test_counts_with_the_noise_of_the_threshold_are_rejected():
    """Scale s instead of 2s on the counts: 3/s is lost in one stretch."""
    assert largest_loss(3, 0, 1, 2.0, 2.0) > 2 / 2.0


def test_a_threshold_drawn_once_and_never_spent_is_rejected():
    """One draw for any number of positive answers, at the price of one stretch."""
    assert largest_loss(6, 0, 6, 2.0, 4.0, redrawn=False) > 2 / 2.0


@pytest.mark.parametrize(("epsilon", "delta", "most"), [(1.0, 0.05, 1), (2.0, 0.2, 2), (0.5, 0.3, 2), (12.0, 0.05, 2)])
def test_the_whole_is_within_its_budget(epsilon, delta, most):
    scale = sparse_scale(most, epsilon, delta)
    for bar in (0, round(scale)):
        assert largest_delta(epsilon, most + 1, bar, most, scale, 2 * scale) <= delta
    assert largest_delta(0.0, most + 1, 0, most, scale, 2 * scale) > 0.01


def test_the_printed_constants_are_rejected():
    """One threshold of noise 2/(εm), noise sqrt(32k·ln(1/δ)/(εm)) on shares of m groups; here in counts, m = 1."""
    epsilon, delta, groups, most = 1e-3, 1e-4, 1, 1
    printed = groups * math.sqrt(32 * most * math.log(1 / delta) / (epsilon * groups))
    assert largest_delta(epsilon, 2, 0, most, 2 / epsilon, printed, redrawn=False) > 1.1 * delta
    corrected = sparse_scale(most, epsilon, delta)
    assert corrected > 10 * printed


@pytest.mark.parametrize("delta", [1e-9, 1e-2, 0.95])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 60.0])
@pytest.mark.parametrize("most", [1, 12])
def test_the_stretches_compose_to_the_budget(most, epsilon, delta):
    """Whatever the budget: k pure stretches, composed by their loss distributions."""
    each = 2 / sparse_scale(most, epsilon, delta)
    composed = Composition(Budget(epsilon, delta), Neighbors.ADD_REMOVE, (Pure("stretch", each),) * most)
    assert composed.delta() <= delta


# accuracy
