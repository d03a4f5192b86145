"""An independent accountant agrees: single Gaussians, compositions, and the bit behind a noisy count."""

import math
from functools import partial

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ndtr

from dimfree.accounting import ladder as ladder_module
from dimfree.accounting.calibrate import shortest_ladder
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import compose, hockey_stick, largest_mu, total_delta

AGREE = 1e-3


def oracle(mu, *, pessimistic, step=1e-4):
    return pld.from_gaussian_mechanism(
        1 / mu, pessimistic_estimate=pessimistic, value_discretization_interval=step, use_connect_dots=pessimistic
    )


def bracket(mus, epsilon, step=1e-4):
    """(optimistic, pessimistic) delta of composed Gaussians."""
    deltas = []
    for pessimistic in (False, True):
        composed = oracle(mus[0], pessimistic=pessimistic, step=step)
        for mu in mus[1:]:
            composed = composed.compose(oracle(mu, pessimistic=pessimistic, step=step))
        deltas.append(composed.get_delta_for_epsilon(epsilon))
    return deltas


@pytest.mark.parametrize(
    ("epsilon", "mus"), [(1.0, [0.1, 0.15]), (1.0, [0.1] * 4), (4.0, [0.5, 0.3, 0.2, 0.4]), (0.5, [0.02, 0.2])]
)
def test_composed_gaussians(epsilon, mus):
    optimistic, pessimistic = bracket(mus, epsilon, step=epsilon * 5e-5)
    by_precision = float(hockey_stick(compose(mus), epsilon))
    by_chords = total_delta(epsilon, mus[0] / 4, partial(hockey_stick, compose([*mus[1:], mus[0] * math.sqrt(15) / 4])))
    for ours in (by_precision, by_chords):
        assert ours >= optimistic
        assert ours == pytest.approx(pessimistic, rel=AGREE, abs=1e-12)


# ---- the bit


def built(epsilon, delta, share, slack=1.1):
    mu = largest_mu(epsilon, delta)
    after = math.sqrt((mu / slack) ** 2 - (mu * share) ** 2)
    return shortest_ladder(epsilon, delta, mu * share, after, 0.01), mu * share, after


def two_point_mixture(p, q, mu, *, pessimistic, width=0.02):
    """Refused, or passed and a Gaussian in a cell, at pass probabilities p and q; the cells lose next to nothing."""
    edges = np.concatenate([[-np.inf], np.arange(-8, 8 + mu + width, width), [np.inf]])

    def masses(center, probability):
        z = edges - center
        inside = np.where(z[1:] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
        log = np.log(np.append(probability * inside, 1 - probability))
        return dict(enumerate(log.tolist()))

    return pld.from_two_probability_mass_functions(
        log_probability_mass_function_lower=masses(0.0, q),
        log_probability_mass_function_upper=masses(mu, p),
        pessimistic_estimate=pessimistic,
        value_discretization_interval=1e-4,
        symmetric=True,
    )


@pytest.mark.parametrize("share", [0.0, 0.125])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (4.0, 1e-6)])
def test_no_pair_of_statistics_costs_more_than_the_claim(epsilon, delta, share):
    """Every neighboring pair as a two-point mixture, composed with the count; the worst of them is close to it."""
    ladder, before, after = built(epsilon, delta, share)
    claimed = total_delta(epsilon, before, partial(ladder_module.ladder_profile, ladder, after))
    count = oracle(before, pessimistic=False) if before else None
    worst = 0.0
    for k in range(2, ladder.length):
        for one, other in ((k, k + 1), (k + 1, k)):
            pair = (ladder.numerator(one) / DENOMINATOR, ladder.numerator(other) / DENOMINATOR)
            whole = two_point_mixture(*pair, after, pessimistic=False)
            whole = whole.compose(count) if count else whole
            worst = max(worst, whole.get_delta_for_epsilon(epsilon))
    assert worst <= claimed <= delta
    assert worst >= 0.9 * claimed


def dominating(ladder, mu, step):
    """D* as a privacy-loss distribution: its values at a grid of levels, dots connected."""
    clipping = math.ceil(3 / step)
    levels = np.arange(-clipping, clipping + 1)
    deltas = ladder_module.ladder_profile(ladder, mu, levels * step)
    return pld.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(step, levels, deltas))


@pytest.mark.parametrize("share", [0.125, 0.25])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (1.0, 1e-6), (0.5, 1e-4)])
def test_the_bit_behind_a_count(epsilon, delta, share):
    """P9's chords against the convolution of the two privacy-loss distributions."""
    ladder, before, after = built(epsilon, delta, share)
    ours = total_delta(epsilon, before, partial(ladder_module.ladder_profile, ladder, after))
    step = 2e-4
    pessimistic = dominating(ladder, after, step).compose(oracle(before, pessimistic=True, step=step))
    assert ours == pytest.approx(pessimistic.get_delta_for_epsilon(epsilon), rel=AGREE)
