"""What docs/internals/errata.md says of printed constants, where no other test does: by arithmetic and by exact
laws."""

import itertools
import math

import numpy as np
import pytest

from dimfree.accounting.discrete import after_lifting
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.paper.mechanisms import heaviest_cell, publishing_threshold


def classical_mu(epsilon, delta):
    return epsilon / math.sqrt(2 * math.log(1.25 / delta))


def test_the_classical_gaussian_fails_for_large_epsilon():
    assert hockey_stick(classical_mu(10.0, 1e-6), 10.0) > 1.8e-6
    assert hockey_stick(classical_mu(8.0, 1e-2), 8.0) > 1.7e-2
    assert hockey_stick(classical_mu(0.9, 1e-6), 0.9) < 1e-8  # and is far from sharp where it holds
    assert classical_mu(1.0, 1e-6) < 0.9 * largest_mu(1.0, 1e-6)


@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6, 1e-12])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 10 / 21, 0.5])
def test_the_classical_gaussian_holds_where_the_paper_uses_it(epsilon, delta):
    """A total below 10 is 21 times the epsilon of the lemma."""
    assert hockey_stick(classical_mu(epsilon, delta), epsilon) < 0.5 * delta


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.5])
def test_the_printed_total_is_true_and_wasteful(epsilon):
    """(3ε, 2δ) on friendly data, rightly lifted, is within (21ε, e^10·δ); (2ε, 1.5δ) is within a third of that."""
    spent, factor = after_lifting(3 * epsilon, 2.0)
    assert spent <= 21 * epsilon
    assert factor <= math.exp(10)
    assert after_lifting(2 * epsilon, 1.5)[0] <= 7 * epsilon


def first_above(count, epsilon, delta, groups, size, coordinates=12):
    """{which share is first above 1/2, or none: probability} by the printed constants, k = 1, in units of one group.

    All shares are count / groups. The noise of the threshold stands at 40 000 equally likely places.
    """
    bar = 2 * groups / (epsilon * size)
    scale = groups * math.sqrt(32 * math.log(1 / delta) / (epsilon * size))
    places = (np.arange(40_000) + 0.5) / 20_000 - 1
    gap = (groups / 2 - count - bar * np.sign(places) * np.log1p(-np.abs(places))) / scale
    below = np.where(gap < 0, np.exp(-np.abs(gap)) / 2, 1 - np.exp(-np.abs(gap)) / 2)
    steps = np.arange(coordinates)[:, None]
    return np.append((below**steps * (1 - below)).mean(axis=1), (below**coordinates).mean())


def printed_divergence(epsilon, delta, groups, size):
    """One group joins those whose variances are all above the threshold, or leaves them."""
    found = []
    for count in (0, groups // 4, groups // 2, groups - 1):
        laws = [first_above(each, epsilon, delta, groups, size) for each in (count, count + 1)]
        found += [np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1])]
    return max(found)


@pytest.mark.parametrize(
    ("epsilon", "groups", "half", "delta", "times"), [(0.05, 20, 5, 1e-6, 32), (0.02, 100, 9, 1e-9, 2900)]
)
def test_the_printed_sparse_vector_fails_with_n_records(epsilon, groups, half, delta, times):
    """εm is 1 and 2. With n read as m nothing is wrong here: k is 1, and the noise of the queries ample."""
    assert printed_divergence(epsilon, delta, groups, 2 * half * groups) > times * delta
    assert printed_divergence(epsilon, delta, groups, groups) < delta


class Scripted:
    """Laplace draws that are known beforehand."""

    private = False

    def __init__(self, draws):
        self.draws = list(draws)

    def laplace(self, scale, size):
        return np.array([self.draws.pop(0) for _ in range(size)])


def chance_of_the_far_cell(cells):
    """Under noise of at most one item, every outcome of it; the far cell comes last among equals."""
    law, chance = {-1: 0.25, 0: 0.5, 1: 0.25}, 0.0
    for draws in itertools.product(law, repeat=len(set(cells))):
        if heaviest_cell(cells, 1.0, 0.01, noise=Scripted(draws)).value == "z":
            chance += math.prod(law[each] for each in draws)
    return chance


def test_three_quarters_in_three_buckets_are_not_enough():
    each = 10 * publishing_threshold(1.0, 0.01)
    assert chance_of_the_far_cell(["a", "b", "c", "z"] * each) > 0.1
    assert chance_of_the_far_cell((["a", "b"] * 2 + ["z"]) * each) == 0.0


def test_the_printed_lower_bound_refutes_zero():
    """σ = 1 in d coordinates, means in [-1, 1]^d: zero errs by sqrt(d) at most, whatever n is."""
    dimension, epsilon = 10**4, 1e-3
    accuracy, total = math.sqrt(dimension), float(dimension)
    for log in (math.log(dimension), math.log2(dimension)):
        assert accuracy <= total / (3 * (log + 1))  # what the last step of the proof asks for
        assert total / (48 * accuracy * epsilon * log**2) > 1  # records that it then says are needed
    assert accuracy > math.sqrt(dimension) / 3  # what the theorem behind it asks for is violated
