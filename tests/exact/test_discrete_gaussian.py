"""The discrete Gaussian's true divergence, summed over the integer grid, against the charged slack (M8)."""

import math

import numpy as np
import pytest

from dimfree.accounting.discrete import slack
from dimfree.accounting.precision import hockey_stick

LEVELS = np.arange(0.05, 4.0, 0.15)
DELTA = 1e-6  # sets the ball of M8


def atoms(stddev, clipping):
    z = np.arange(-clipping, clipping + 1)
    mass = np.exp(-(z**2) / (2 * stddev**2))
    return mass / mass.sum()


def divergence(stddev, shift, level):
    """The hockey-stick divergence of the discrete Gaussian on Z^d moved by `shift`, from the unmoved one."""
    one = atoms(stddev, int(12 * stddev) + max(map(abs, shift)) + 2)
    here = there = np.ones(1)
    for step in shift:
        here = np.multiply.outer(here, np.roll(one, step)).ravel()
        there = np.multiply.outer(there, one).ravel()
    return float(np.maximum(0.0, here - math.exp(level) * there).sum())


def charged(stddev, shift, level):
    """The claim: the continuous divergence at the level less the slack, times its factor, plus the tail."""
    sensitivity = math.hypot(*shift)
    loss = slack(stddev, sensitivity, len(shift), DELTA)
    ideal = float(hockey_stick(sensitivity / stddev, level - loss.epsilon))
    return math.exp(loss.ratio) * ideal + loss.tail


LINES = [(stddev, (shift,)) for stddev in (1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 32.0) for shift in (1, 2, 3, 8)]
PLANES = [(stddev, shift) for stddev in (1.0, 2.0, 5.0) for shift in ((1, 0), (1, 1), (2, 1), (3, 4), (-2, 2))]


@pytest.mark.parametrize(("stddev", "shift"), LINES + PLANES)
def test_charge_covers_the_true_divergence(stddev, shift):
    for level in LEVELS:
        assert divergence(stddev, shift, level) <= charged(stddev, shift, level)


@pytest.mark.parametrize(("stddev", "shift"), [(32.0, (8,)), (64.0, (32,))])
def test_charge_is_not_vacuous(stddev, shift):
    """Where the grid is fine the charge is close to the truth, so the test above can fail."""
    for level in np.arange(0.05, 1.5, 0.15):
        true = divergence(stddev, shift, level)
        if true > 10 * DELTA:
            assert charged(stddev, shift, level) <= 1.3 * true


def test_twin_without_the_slack_is_caught():
    """The continuous account promises less than half of what one step at stddev 1 leaks, and 2 % too little at 8."""
    assert divergence(1.0, (1,), 5.32) > 2 * float(hockey_stick(1.0, 5.32))
    assert divergence(4.0, (4,), 5.9) > 1.09 * float(hockey_stick(1.0, 5.9))
    assert divergence(8.0, (6,), 4.46) > 1.02 * float(hockey_stick(6 / 8, 4.46))
    assert divergence(2.0, (2, 1), 3.95) > float(hockey_stick(math.sqrt(5) / 2, 3.95))


def test_twin_with_the_wrong_norm_is_caught():
    """A plane moved by (3, 4) has sensitivity 5, not 4: charging the largest coordinate leaks."""
    loss = slack(5.0, 4.0, 2, DELTA)
    assert divergence(5.0, (3, 4), 2.0) > math.exp(loss.ratio) * float(hockey_stick(4 / 5, 2.0)) + loss.tail


def test_the_tail_outside_the_ball_is_as_small_as_charged():
    """M8 compares the two noises inside a ball; outside lies at most the charged tail, in one and two dimensions."""
    for stddev, dimension in ((1.0, 1), (3.0, 1), (1.0, 2), (2.0, 2)):
        x = math.log(1 / slack(stddev, 1.0, dimension, DELTA).tail)
        ball = stddev * math.sqrt(dimension + 2 * math.sqrt(dimension * x) + 2 * x)
        one = atoms(stddev, int(14 * stddev))
        z = np.arange(-(len(one) // 2), len(one) // 2 + 1)
        mass, norm = (one, z**2) if dimension == 1 else (np.multiply.outer(one, one), np.add.outer(z**2, z**2))
        assert mass[norm > ball**2].sum() <= math.exp(-x)
