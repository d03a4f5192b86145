"""Loss distributions: chords and convolutions against exact sums and an independent implementation."""

from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf

from dimfree.accounting.losses import _FEW, Dots, _convolved, around, between, response_profile
from dimfree.accounting.precision import hockey_stick

STEP = 2.0**-7
GAUSSIAN = Dots.connecting(partial(hockey_stick, 0.4), between(5.0, STEP), STEP)
RESPONSE = Dots.connecting(partial(response_profile, 0.3, 1e-4), around(0.3, STEP), STEP)


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
    found, lost = _convolved(one, other)
    misplaced = sum(abs(Fraction(p) - q) for p, q in zip(found.tolist(), exactly(one, other), strict=True))
    assert float(misplaced) <= lost
    assert (lost > 1e-13) == (np.count_nonzero(one) > _FEW)  # transforms only where neither side has few atoms


@pytest.mark.parametrize("curve", [partial(hockey_stick, 0.7), partial(response_profile, 1.0, 1e-3)])
@pytest.mark.parametrize("steps", [between(3.0, STEP), around(1.0, STEP), np.array([-4000, -3, 0, 7, 90_000])])
def test_chords_are_those_of_an_independent_implementation(curve, steps):
    ours = Dots.connecting(curve, steps, STEP)
    with np.errstate(over="ignore"):
        theirs = pld_pmf.create_pmf_pessimistic_connect_dots(STEP, steps, curve(steps * STEP)).to_dense_pmf()
    assert (ours.first, ours.infinite) == (theirs._lower_loss, theirs._infinity_mass)
    assert ours.masses == pytest.approx(theirs._probs, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("part", [GAUSSIAN, RESPONSE])
@pytest.mark.parametrize("times", [1, 2, 7, 12])
def test_a_power_is_one_after_another(part, times):
    power, sequence = part.repeated(times), reduce(Dots.then, [part] * times)
    assert (power.first, power.masses.size) == (sequence.first, sequence.masses.size)
    assert np.abs(power.masses - sequence.masses).sum() <= power.lost + sequence.lost
    assert power.infinite == pytest.approx(-np.expm1(times * np.log1p(-part.infinite)), rel=1e-6, abs=1e-30)


def test_nothing_is_forgotten_at_infinity():
    """Exactly: the mass of a sequence is the product of the masses, and what is not finite is infinite."""
    both = RESPONSE.then(GAUSSIAN)
    total = (RESPONSE.masses.sum() + RESPONSE.infinite) * (GAUSSIAN.masses.sum() + GAUSSIAN.infinite)
    assert both.masses.sum() + both.infinite == pytest.approx(total, rel=1e-14)
    assert both.infinite >= RESPONSE.infinite


@pytest.mark.parametrize("level", [-1.0, 0.0, 0.5, 2.0])
def test_an_independent_convolution_agrees(level):
    ours = GAUSSIAN.repeated(5).then(RESPONSE)
    noise = pld_pmf.create_pmf_pessimistic_connect_dots(
        STEP, between(5.0, STEP), hockey_stick(0.4, between(5.0, STEP) * STEP)
    )
    steps = around(0.3, STEP)
    response = pld_pmf.create_pmf_pessimistic_connect_dots(STEP, steps, response_profile(0.3, 1e-4, steps * STEP))
    theirs = pld_pmf.compose_pmfs(noise.self_compose(5), response).get_delta_for_epsilon(level)
    assert theirs <= ours.delta(level) == pytest.approx(theirs, rel=1e-7)


def test_two_grids_do_not_mix():
    with pytest.raises(ValueError, match="same grid"):
        GAUSSIAN.then(Dots.connecting(partial(hockey_stick, 0.4), between(5.0, 0.01), 0.01))
