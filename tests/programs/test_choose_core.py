"""The public optimiser: from public numbers to admissible parameters, the same every time."""

import math

import numpy as np
import pytest

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.kernel.statistics import stable
from dimfree.programs.choose.constants import HEAVY_SHARE
from dimfree.programs.choose.core import (
    HonestModel,
    Size,
    friends_needed,
    stable_choices,
)

BUDGET = Budget(4.0, 1e-6)
FAILURE = 0.01
SPECTRUM = np.ones(5)


@pytest.fixture(scope="module")
def private():
    return calibrate_private_count(BUDGET, FAILURE / 2)


@pytest.fixture(scope="module")
def public():
    return calibrate_public_count(BUDGET, FAILURE / 2)


@pytest.fixture
def model():
    return HonestModel.of(SPECTRUM, 0.03, "heavy")


def sizes(private, count, core_sample=4096):
    """The two ways in which a number of records can be known."""
    return [Size(count, private.count_stddev, core_sample), Size(count, None, core_sample)]


def best(choices):
    return min(choices, key=lambda choice: choice.noise)


def test_the_size_bound_of_a_released_count():
    """n_0 = ⌊n̂ - z·s - K⌋ and n_low = n_0 + 3, z the normal quantile of failure / 4 (P5')."""
    floor, lowest = Size(500.25, 8.0, 4096).bound(30, 0.01)
    assert floor == math.floor(500.25 - 2.8070337683438042 * 8.0 - 30)
    assert lowest == floor + 3


def test_the_size_bound_of_a_public_count():
    assert Size(500, None, 4096).bound(30, 0.01) == (None, 500)
    assert Size(5000, None, 4096).bound(30, 0.01) == (None, 4096)


def test_the_size_bound_of_a_sample():
    """A sample's private size strays by its coins: z·sqrt(m_0) more."""
    size = Size(40960.0, 8.0, 4096)
    z = 2.8070337683438042
    assert size.rate == pytest.approx(0.1)
    assert size.bound(30, 0.01)[0] == math.floor(0.1 * (40960 - z * 8) - z * 64 - 30)


@pytest.mark.parametrize("count", [250.0, 700.0, 3000.0, 50_000.0])
def test_choices_are_admissible_and_priced_by_the_bound(private, public, model, count):
    for size, menu in zip(sizes(private, count), (private, public), strict=True):
        choices = stable_choices(menu.tested, size, FAILURE, model)
        assert choices
        for choice in choices:
            floor, lowest = size.bound(choice.branch.ladder.length, FAILURE)
            outliers = math.ceil(0.03 * count * size.rate)
            assert choice.floor == floor
            assert stable.admissible(lowest, choice.full_share, choice.budget, size.relation)
            assert choice.sensitivity == stable.core_sensitivity(
                lowest, choice.full_share, choice.budget, size.relation
            )
            assert choice.budget >= choice.branch.ladder.length + outliers
            assert choice.noise == pytest.approx(choice.radius * choice.sensitivity / choice.branch.mu)
            assert (choice.full_share * 1000).denominator == 1


@pytest.mark.parametrize("count", [-50.0, 0.0, 1.0, 20.0])
def test_too_few_records_leave_no_choice(private, public, model, count):
    for size, menu in zip(sizes(private, count), (private, public), strict=True):
        assert stable_choices(menu.tested, size, FAILURE, model) == []


def test_more_records_mean_less_noise(private, model):
    noises = [
        best(stable_choices(private.tested, Size(n, private.count_stddev, 10**6), FAILURE, model)).noise
        for n in (200.0, 400.0, 1000.0, 4000.0)
    ]
    assert noises == sorted(noises, reverse=True)


def test_heavy_tails_widen_the_radius_by_half_and_ask_for_fewer_friends(private):
    size = Size(800.0, private.count_stddev, 4096)
    heavy, gaussian = (
        best(stable_choices(private.tested, size, FAILURE, HonestModel.of(SPECTRUM, 0.03, tails)))
        for tails in ("heavy", "gaussian")
    )
    steps = heavy.branch.ladder.length
    _, count = size.bound(steps, FAILURE)
    assert friends_needed(float(heavy.full_share), steps, count, Neighbours.ADD_REMOVE) / 0.97 < HEAVY_SHARE
    assert 1.3 * gaussian.radius < heavy.radius <= 1.5 * gaussian.radius


def test_outliers_cost_noise(private):
    size = Size(800.0, private.count_stddev, 4096)
    noises = [
        best(stable_choices(private.tested, size, FAILURE, HonestModel.of(SPECTRUM, share, "gaussian"))).noise
        for share in (0.0, 0.03, 0.1)
    ]
    assert noises[0] < noises[1] < noises[2]
