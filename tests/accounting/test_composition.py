"""Releases of any kind composed: never below the truth, close to it, agreeing with an independent accountant."""

import math
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
from dp_accounting.pld import common, pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs, Gaussian
from dimfree.accounting.losses import (
    _FEW,
    Approximate,
    Dots,
    Pure,
    _convolve,
    around,
    between,
    response_profile,
)
from dimfree.accounting.precision import hockey_stick, largest_mu
from dimfree.accounting.several_runs import Composition, costs_from_dict
from dimfree.errors import InvalidParameterError

ADD = Neighbors.ADD_REMOVE
FINE = 2.0**26  # grid steps to one standard deviation


def composed(epsilon, *losses, delta=1e-6):
    return Composition(Budget(epsilon, delta), ADD, losses)


def gaussian(mu):
    return Gaussian("sum", mu * FINE, FINE, 10, 1.0)


def responses(each, times, level, delta=0.0):
    """The exact divergence of `times` randomized responses that each tell all with probability delta."""
    heads = np.arange(times + 1)
    lost = (2 * heads - times) * each
    mass = comb(times, heads) * np.exp(heads * each) / (1 + math.exp(each)) ** times
    told = -math.expm1(times * math.log1p(-delta))
    return told + (1 - told) * float((mass * -np.expm1(np.minimum(level - lost, 0.0))).sum())


# ---- curves


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_a_response_has_its_exact_curve(epsilon, delta):
    levels = np.linspace(-2 * epsilon, 2 * epsilon, 41)
    exact = [responses(epsilon, 1, level, delta) for level in levels]
    assert response_profile(epsilon, delta, levels) == pytest.approx(exact, abs=1e-10)
    assert (response_profile(epsilon, delta, levels) >= np.array(exact) - 1e-15).all()


# ---- compositions whose divergence is known


PURE = [(0.1, 0.0, 20, 1.0), (0.3, 0.0, 9, 1.0), (0.02, 0.0, 40, 0.3), (1.0, 0.0, 5, 2.5)]


@pytest.mark.parametrize(("each", "delta", "times", "level"), [*PURE, (0.1, 1e-7, 12, 0.8), (0.5, 1e-4, 4, 1.0)])
def test_releases_of_one_kind(each, delta, times, level):
    exact = responses(each, times, level, delta)
    loss = Approximate("answer", each, delta) if delta else Pure("answer", each)
    found = composed(level, *[loss] * times).delta()
    assert exact <= found == pytest.approx(exact, rel=5e-3, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_gaussians_are_one_gaussian(epsilon):
    mu = largest_mu(epsilon, 1e-6)
    parts = [gaussian(mu * share) for share in (0.6, 0.6, math.sqrt(0.28))]
    exact = float(hockey_stick(mu, epsilon))
    assert exact <= composed(epsilon, *parts).delta() == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize(("each", "mu", "level"), [(0.3, 0.15, 1.0), (0.05, 0.2, 1.0), (2.0, 1.0, 6.0)])
def test_a_response_and_a_gaussian(each, mu, level):
    """By hand: the loss of the response is ±each, the rest is a Gaussian at the remaining level."""
    heads = 1 / (1 + math.exp(-each))
    exact = heads * float(hockey_stick(mu, level - each)) + (1 - heads) * float(hockey_stick(mu, level + each))
    for order in ([Pure("answer", each), gaussian(mu)], [gaussian(mu), Pure("answer", each)]):
        assert exact <= composed(level, *order).delta() == pytest.approx(exact, rel=2e-3, abs=1e-12)


def test_discrete_noise_is_charged():
    fine, coarse = (Gaussian("sum", 0.25 * steps, steps, 1, 1.0) for steps in (FINE, 20.0))
    assert composed(1.0, coarse).delta() > 1.001 * composed(1.0, fine).delta()
    with pytest.raises(ValueError, match="coarser"):
        composed(1.0, Gaussian("sum", 0.1, 0.9, 1, 1.0)).delta()
    with pytest.raises(ValueError, match="More Gaussian"):
        composed(1.0, *[gaussian(1e-6)] * 1001).delta()


# ---- simple sums


def test_shares_that_sum_to_the_budget_need_no_delta():
    assert composed(1.0).delta() == 0
    assert composed(1.0, Pure("answer", 1.0)).delta() == 0
    assert composed(1.0, *[Pure("answer", 0.25)] * 4).delta() == 0
    assert composed(1.0, *[Approximate("answer", 0.5, 1e-7)] * 2).delta() == pytest.approx(2e-7, rel=1e-12)


def test_a_sum_above_the_budget_by_the_last_bit_is_not_taken_for_it():
    above = composed(1.0, Pure("a", 0.5), Pure("b", math.nextafter(0.5, 1)))
    assert above._add_up() == 1
    assert above.delta() > 0


def test_a_promise_beyond_the_largest_epsilon_is_kept_at_that():
    assert composed(1000.0, Pure("answer", 200.0)).delta() > 0.5
    assert composed(1000.0, Pure("answer", 100.0)).delta() == 0


# ---- an independent accountant


@pytest.mark.parametrize(
    ("level", "each", "delta", "times", "mu"),
    [(1.0, 0.1, 1e-8, 4, 0.12), (4.0, 0.5, 1e-6, 3, 0.5), (0.3, 0.02, 1e-9, 5, 0.04)],
)
def test_an_independent_accountant_agrees(level, each, delta, times, mu):
    step = level / 20_000
    parameters = common.DifferentialPrivacyParameters(each, delta)
    oracle = pld.from_privacy_parameters(parameters, value_discretization_interval=step).self_compose(times)
    noise = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=step, use_connect_dots=True)
    theirs = oracle.compose(noise).get_delta_for_epsilon(level)
    ours = composed(level, *[Approximate("answer", each, delta)] * times, gaussian(mu)).delta()
    assert ours == pytest.approx(theirs, rel=1e-2)


# ---- the textbook's bounds


def advanced(each, times, delta, factor):
    return times * each * math.tanh(each / 2) + math.sqrt(factor * times * math.log(1 / delta)) * each


@pytest.mark.parametrize(("each", "times", "delta"), [(0.1, 100, 1e-6), (0.2, 50, 1e-6), (0.05, 90, 1e-5)])
def test_advanced_composition_holds_with_its_factor_of_two_only(each, times, delta):
    """The paper prints sqrt(Σε²·ln(1/δ)); the exact composition rejects it, and accepts sqrt(2·Σε²·ln(1/δ))."""
    right, printed = (advanced(each, times, delta, factor) for factor in (2, 1))
    losses = [Pure("answer", each)] * times
    assert composed(right, *losses).delta() <= delta
    assert responses(each, times, printed) > delta  # the truth, not a bound
    assert composed(printed, *losses).delta() > delta


# ---- the silhouette of a ledger


MIXED = Composition(
    Budget(1.0, 1e-6),
    Neighbors.REPLACE_ONE,
    (gaussian(0.1), Pure("count", 0.1), Approximate("histogram", 0.2, 1e-7)),
)


def test_what_is_written_is_read_again():
    data = MIXED.to_dict()
    assert data["kind"] == "composition"
    assert Composition.from_dict(data) == costs_from_dict(data) == MIXED
    ledger = Costs(Budget(1.0, 1e-6), ADD, (), ())
    assert costs_from_dict(ledger.to_dict()) == ledger
    assert MIXED.to_dict() == data  # reading took nothing away


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_impossible_losses_are_refused(epsilon):
    for make in (lambda e: Pure("a", e), lambda e: Approximate("a", e, 0.1)):
        with pytest.raises(InvalidParameterError):
            make(epsilon)
    for delta in (0.0, 1.0):
        with pytest.raises(InvalidParameterError, match="delta"):
            Approximate("a", 1.0, delta)


@given(st.floats(1e-3, 3), st.lists(st.floats(1e-3, 1), min_size=1, max_size=5), st.floats(0, 1))
@settings(max_examples=40)
def test_no_composition_lies_below_one_of_its_parts(level, parts, mu):
    losses = [Pure("answer", part) for part in parts] + ([gaussian(mu)] if mu > 0.01 else [])
    whole = composed(level, *losses).delta()
    for loss in losses:
        alone = float(loss.profile(np.array([level]))[0]) if isinstance(loss, Pure) else float(hockey_stick(mu, level))
        assert whole >= alone * (1 - 1e-9)


# ---- loss distributions: chords and convolutions

GRID = 2.0**-7
GAUSSIAN = Dots.connect_levels(partial(hockey_stick, 0.4), between(5.0, GRID), GRID)
RESPONSE = Dots.connect_levels(partial(response_profile, 0.3, 1e-4), around(0.3, GRID), GRID)


def exactly(one, other):
    """The convolution in rational numbers."""
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, p in enumerate(map(Fraction, one)):
        for j, q in enumerate(map(Fraction, other)):
            found[i + j] += p * q
    return found


@pytest.mark.parametrize("atoms", [1, 4, _FEW, _FEW + 1, 90])
def test_no_more_mass_is_misplaced_than_reported(atoms):
    rng = np.random.default_rng(atoms)
    one, other = rng.dirichlet(np.full(atoms, 0.1)), rng.dirichlet(np.full(120, 0.1))
    found, lost = _convolve(one, other)
    misplaced = sum(abs(Fraction(p) - q) for p, q in zip(found.tolist(), exactly(one, other), strict=True))
    assert float(misplaced) <= lost
    assert (lost > 1e-13) == (np.count_nonzero(one) > _FEW)  # transforms only where neither side has few atoms


@pytest.mark.parametrize("curve", [partial(hockey_stick, 0.7), partial(response_profile, 1.0, 1e-3)])
@pytest.mark.parametrize("steps", [between(3.0, GRID), around(1.0, GRID), np.array([-4000, -3, 0, 7, 90_000])])
def test_chords_are_those_of_an_independent_implementation(curve, steps):
    ours = Dots.connect_levels(curve, steps, GRID)
    with np.errstate(over="ignore"):
        theirs = pld_pmf.create_pmf_pessimistic_connect_dots(GRID, steps, curve(steps * GRID)).to_dense_pmf()
    assert (ours.first, ours.infinite) == (theirs._lower_loss, theirs._infinity_mass)
    assert ours.masses == pytest.approx(theirs._probs, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("part", [GAUSSIAN, RESPONSE])
@pytest.mark.parametrize("times", [1, 2, 7, 12])
def test_a_power_is_one_after_another(part, times):
    power, sequence = part.compose_times(times), reduce(Dots.then, [part] * times)
    assert (power.first, power.masses.size) == (sequence.first, sequence.masses.size)
    assert np.abs(power.masses - sequence.masses).sum() <= power.lost + sequence.lost
    assert power.infinite == pytest.approx(-np.expm1(times * np.log1p(-part.infinite)), rel=1e-6, abs=1e-30)


def test_nothing_is_forgotten_at_infinity():
    """Exactly: the mass of a sequence is the product of the masses, and what is not finite is infinite."""
    both = RESPONSE.then(GAUSSIAN)
    total = (RESPONSE.masses.sum() + RESPONSE.infinite) * (GAUSSIAN.masses.sum() + GAUSSIAN.infinite)
    assert both.masses.sum() + both.infinite == pytest.approx(total, rel=1e-14)
    assert both.infinite >= RESPONSE.infinite


def test_two_grids_do_not_mix():
    with pytest.raises(ValueError, match="same grid"):
        GAUSSIAN.then(Dots.connect_levels(partial(hockey_stick, 0.4), between(5.0, 0.01), 0.01))
