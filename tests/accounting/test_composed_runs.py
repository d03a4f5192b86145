"""Several runs about the same people: never below the exact divergence of tiny worlds, far below added epsilons."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.accounting.events import Bounded, Costs, Gaussian, OnlyGaussian, Tested
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.losses import Pure
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.several_runs import BranchChoice, ComposedRuns, Composition

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
STEPS = 2**24


def gaussian(mu: float, purpose: str = "a sum") -> Gaussian:
    return Gaussian(purpose, STEPS, STEPS / mu, 1, 1 / STEPS)


def gaussians(budget: Budget, *mus: float) -> Costs:
    return Costs(budget, ADD, tuple(gaussian(mu) for mu in mus), ())


def run(budget: Budget, *, search_share: float = 0.0, untested: bool = False) -> Costs:
    """The ledger that a release of this budget begins with under add/remove."""
    found = calibrate_private_count(budget, 0.0035, untested=untested, search_share=search_share)
    assert found.count_stddev is not None
    return Costs(budget, ADD, (gaussian(1 / found.count_stddev),), found.branches)


def true_divergence(epsilon: float, mu_before: float, tests: list[tuple[Tested, int, int]]) -> float:
    """Exact, for runs whose statistics are k in one world and k' in the other: every pattern of passes by itself.

    A pattern has probabilities P and Q; given it, the outputs are Gaussians that add up by precision.
    """
    total = 0.0
    for pattern in itertools.product((True, False), repeat=len(tests)):
        here = there = 1.0
        precision = mu_before**2
        for passed, (branch, k, k_other) in zip(pattern, tests, strict=True):
            p, q = (branch.ladder.numerator(each) / DENOMINATOR for each in (k, k_other))
            here, there = here * (p if passed else 1 - p), there * (q if passed else 1 - q)
            precision += branch.mu**2 if passed else 0.0
        if here == 0:
            continue
        level = epsilon - math.log(here / there) if there > 0 else -math.inf
        inside = 1.0 if level == -math.inf else float(hockey_stick(math.sqrt(precision), level))
        total += here * inside
    return total


def worst_divergence(epsilon: float, mu_before: float, branches: list[Tested]) -> float:
    """The largest over where each run's statistics stand on its ladder, a step apart in either direction or equal."""
    steps = [
        [(b, k, k + move) for k in range(2, b.ladder.length) for move in (-1, 0, 1) if k + move >= 2] for b in branches
    ]
    return max(true_divergence(epsilon, mu_before, list(tests)) for tests in itertools.product(*steps))


@pytest.fixture(scope="module")
def public_branch() -> Tested:
    return calibrate_public_count(Budget(3.0, 1e-3), 0.01).tested[-1]


def single(branch: Tested) -> Costs:
    return Costs(Budget(3.0, 1e-3), REPLACE, (), (branch,))


def test_two_tests_cover_the_worst_exact_pair_and_little_more(public_branch: Tested) -> None:
    """Mutants that take the larger of two deltas, or charge the tests as Gaussians alone, are caught."""
    looks = ComposedRuns((single(public_branch), single(public_branch)))
    exact = {epsilon: worst_divergence(epsilon, 0.0, [public_branch, public_branch]) for epsilon in (2.0, 3.0, 4.5)}
    for epsilon, found in exact.items():
        assert found <= looks.delta(epsilon) <= max(3 * found, 1.5e-3)
    assert exact[3.0] > 1.5 * single(public_branch).delta()
    assert exact[3.0] > 1.3 * float(hockey_stick(math.sqrt(2) * public_branch.mu, 3.0))


def test_gaussians_of_all_runs_are_one_gaussian() -> None:
    looks = ComposedRuns((gaussians(Budget(2, 1e-5), 0.3), gaussians(Budget(2, 1e-5), 0.4, 1.2)))
    assert looks.delta(2.5) == pytest.approx(float(hockey_stick(1.3, 2.5)), rel=1e-4)
    discrete = math.exp(4e-6) * float(hockey_stick(1.3, 2.5 - 4e-6)) + 2e-3 * 1e-5  # M8 by hand: 1e-6·epsilon of each
    assert looks.delta(2.5) >= discrete * (1 - 1e-10)


def test_one_run_is_about_its_own_ledger() -> None:
    for ledger in (run(Budget(1, 1e-6)), run(Budget(2, 1e-5), search_share=0.07), run(Budget(1, 1e-6), untested=True)):
        found = ComposedRuns((ledger,)).epsilon(ledger.budget.delta)
        assert 0.9 * ledger.budget.epsilon < found <= ledger.budget.epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("runs", "most"), [(2, 1.7), (5, 3.3), (20, 7.6)])
def test_many_runs_cost_far_less_than_their_sum(runs: int, most: float) -> None:
    looks = ComposedRuns((run(Budget(1, 1e-6), search_share=0.07),) * runs)
    gaussian_limit = math.sqrt(runs) * largest_mu(1, 1e-6)
    found = looks.epsilon(runs * 1e-6)
    assert float(hockey_stick(0.95 * gaussian_limit, found)) < runs * 1e-6  # no tighter than their Gaussians
    assert found < most < runs


def test_delta_and_epsilon_are_inverse_and_fall_together() -> None:
    looks = ComposedRuns((run(Budget(1, 1e-6)), run(Budget(0.5, 1e-7))))
    deltas = [looks.delta(epsilon) for epsilon in (0.5, 0.9, 1.2, 1.5)]
    assert deltas == sorted(deltas, reverse=True)
    for delta in (1e-6, 1e-4):
        epsilon = looks.epsilon(delta)
        assert looks.delta(epsilon) <= delta < looks.delta(epsilon * 0.999)


def test_adding_up_is_used_where_it_is_better() -> None:
    pure = Composition(Budget(0.5, 1e-9), ADD, (Pure("a choice", 0.5),))
    assert ComposedRuns((pure, pure)).delta(1.0) == pytest.approx(2e-9)
    assert ComposedRuns((pure,)).epsilon(1e-8) <= 0.5 * (1 + 1e-9)


def test_a_run_that_lists_what_happened_counts_as_what_it_promised() -> None:
    """A refusal after a noisy count lists the count alone; other counts would have led to the whole budget."""
    budget = Budget(1.0, 1e-6)
    cut_short = Composition(budget, ADD, (gaussian(0.01),))
    assert cut_short.delta() < 1e-9
    assert ComposedRuns((cut_short,)).epsilon(1e-6) >= 1.0
    filtered = Costs(budget, ADD, (), (Bounded(1e-3, 1e-12),), filtered=True)
    assert ComposedRuns((filtered, cut_short)).epsilon(2e-6) > 1.8


def test_a_refused_run_costs_as_much_as_one_that_released() -> None:
    whole = run(Budget(1, 1e-6))
    released = replace(whole, chosen=0, after=(gaussian(whole.branches[0].mu * 0.99),))
    assert ComposedRuns((whole, whole)).delta(1.4) == ComposedRuns((released, released)).delta(1.4)


def test_no_epsilon_is_found_below_the_chance_that_all_is_told() -> None:
    looks = ComposedRuns((run(Budget(1, 1e-6)),))
    assert looks.epsilon(1e-9) == math.inf


def test_a_public_refusal_costs_nothing() -> None:
    refused = Costs(Budget(1, 1e-6), REPLACE, (), ())
    assert ComposedRuns((refused,)).delta(1e-3) == 0
    assert ComposedRuns((refused, refused)).epsilon(1e-9) < 1e-3


def test_a_menu_is_at_least_each_of_its_branches_everywhere() -> None:
    branches = calibrate_private_count(Budget(1, 1e-6), 0.0035, untested=True).branches
    x = np.linspace(0, 3, 1250)  # several pieces
    curve, below = BranchChoice(branches).profile(x), BranchChoice(branches).profile(-x)
    assert all((curve >= np.minimum(branch.profile(x), 1) - 1e-15).all() for branch in branches)
    assert (below >= 1 - np.exp(-x) * (1 - curve) - 1e-15).all()  # the other direction
    assert curve.max() <= 1
    assert any(isinstance(branch, OnlyGaussian) for branch in branches)
