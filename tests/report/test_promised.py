"""What (epsilon, delta) means for one person, against the worst pair of outputs that it allows."""

import math

import numpy as np
import pytest

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.guarantee import Guarantee
from dimfree.report.tradeoff import attacks, detected, guessed_right


def worst_pair(epsilon, delta):
    """All is told with probability delta, otherwise the truth with odds e^epsilon: no pair is further apart."""
    truth = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    here = np.array([delta, truth, 1 - delta - truth, 0.0])
    return here, here[::-1]


def promise(epsilon, delta):
    return Guarantee(epsilon, delta, Neighbours.ADD_REMOVE, True)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 0.1), (5.0, 1e-3)])
def test_guess_is_right_as_often_as_on_the_worst_pair(epsilon, delta):
    here, there = worst_pair(epsilon, delta)
    assert guessed_right(promise(epsilon, delta)) == pytest.approx(np.maximum(here, there).sum() / 2, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 0.1), (5.0, 1e-3)])
@pytest.mark.parametrize("false_alarm", [0.001, 0.01, 0.3, 0.9])
def test_power_is_that_of_the_best_test_on_the_worst_pair(epsilon, delta, false_alarm):
    here, there = worst_pair(epsilon, delta)
    power, left = 0.0, false_alarm
    for hit, alarm in zip(here, there, strict=True):  # sorted by likelihood ratio already
        taken = 1.0 if alarm <= left else left / alarm
        power, left = power + taken * hit, left - taken * alarm
    assert detected(promise(epsilon, delta), false_alarm) == pytest.approx(power, rel=1e-9)


def test_shares_are_rounded_up_never_down():
    found = attacks(promise(1.0, 1e-6), None)
    assert found["guess"] == "73.2 %"  # 73.106 % and never 73.1 %
    assert found["test"] == "2.8 %"  # 2.7184 %


def test_huge_epsilon_promises_nothing_and_does_not_overflow():
    assert guessed_right(promise(2000.0, 1e-6)) == 1.0
    assert detected(promise(2000.0, 1e-6)) == 1.0
