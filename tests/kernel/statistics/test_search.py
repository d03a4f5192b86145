"""Noisy searches: the right cell without noise, and never more queries than they pay for."""

import math

import numpy as np
import pytest
from dimfree.mechanisms.search import (
    STEPS,
    Crossing,
    count_stddev,
    geometric_grid,
    noisy_crossing,
    noisy_search,
    queries,
)
from recording import RecordingNoise

from dimfree.noise import SeededNoise


def searched(cells, crossing, noise, sensitivity=1.5, mu=0.3):
    """A search on 0, 1, …, cells for a count that turns non-negative at `crossing`."""
    grid = np.arange(cells + 1.0)
    return noisy_search(lambda at: STEPS if at >= crossing else -STEPS, grid, sensitivity, mu, "x", noise=noise)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 198])
def test_the_upper_end_of_the_right_cell_in_few_enough_queries(cells):
    for crossing in range(cells + 2):
        noise = RecordingNoise()
        found = searched(cells, crossing, noise)
        assert found.value == min(max(crossing, 1), cells)  # the ends of the grid are never asked about
        assert len(noise.asked) <= queries(cells) == found.event.dimension
        assert all(asked == ("gaussian", found.event.stddev, 1) for asked in noise.asked)


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 9, 100])
@pytest.mark.parametrize("mu", [0.01, 0.3, 7.0])
def test_all_queries_together_cost_what_was_asked(cells, mu):
    """k queries of sensitivity s at standard deviation σ: mu² = k s²/σ², and the event says the same."""
    event = searched(cells, 1, RecordingNoise(), 1.5, mu).event
    spent = math.sqrt(queries(cells)) * 1.5 * STEPS / event.stddev
    assert mu * (1 - 1e-12) < spent <= mu
    assert event.mu == pytest.approx(spent, rel=1e-14)
    assert event.stddev * event.step == pytest.approx(count_stddev(cells, 1.5, mu), rel=1e-12)


def test_noise_moves_the_answer(seed):
    """A search that forgot its noise would always find the same cell."""
    noise = SeededNoise(seed)
    found = {searched(64, 20, noise, 1.0, 0.2).value for _ in range(30)}
    assert len(found) > 3


def test_a_count_far_above_the_noise_is_found(seed):
    noise = SeededNoise(seed)
    grid = geometric_grid(1.0, 100.0, 1.1)
    found = noisy_search(lambda at: int((at - 30) * 1e4 * STEPS), grid, 1.0, 1.0, "x", noise=noise).value
    assert 30 <= found < 30 * 1.1


def test_a_count_of_exactly_zero_is_reached():
    grid = np.arange(9.0)
    assert noisy_search(lambda at: int(at - 5), grid, 1.0, 1.0, "x", noise=RecordingNoise()).value == 5


# the search that asks where the answers so far place the crossing

COUNT = 300.0


def crossed(cells, rises, noise, mu=0.3, share=0.5, count=COUNT, **more):
    """A search on 0, 1, …, cells; `rises` is the share of the records up to a point."""
    grid = np.arange(cells + 1.0)
    excess = lambda at: round((rises(at) - share) * COUNT * STEPS)  # noqa: E731
    return noisy_crossing(excess, grid, share, count, 1.5, mu, "x", noise=noise, **more)


def steep(crossing):
    return lambda at: float(at >= crossing)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 9, 33, 198])
def test_without_noise_the_crossing_of_a_step_is_found(cells):
    for crossing in range(cells + 2):
        noise = RecordingNoise()
        found = crossed(cells, steep(crossing), noise, mu=1e6)
        assert found.value == min(max(crossing, 1), cells)
        assert all(asked == ("gaussian", found.event.stddev, 1) for asked in noise.asked)


@pytest.mark.parametrize("mu", [0.01, 0.3, 7.0, 1e6])
@pytest.mark.parametrize("cells", [1, 2, 40])
def test_all_counts_together_cost_what_was_asked_and_all_are_drawn(cells, mu):
    """A public number of draws, so that not even it depends on the answers."""
    for crossing in (0, cells // 2, cells):
        noise = RecordingNoise()
        event = crossed(cells, steep(crossing), noise, mu).event
        assert len(noise.asked) == event.dimension == 3 * queries(cells)
        spent = math.sqrt(event.dimension) * 1.5 * STEPS / event.stddev
        assert mu * (1 - 1e-12) < spent <= mu


@pytest.mark.parametrize("width", [0.3, 2.0, 20.0, 80.0])
@pytest.mark.parametrize("mu", [1.0, 1e3, 1e6])
def test_precise_counts_find_the_crossing_whatever_their_course(width, mu, seed):
    """No count grows along a straight line; precise answers must not be led away by the model."""
    noise = SeededNoise(seed)
    for crossing in (60.5, 200.5, 333.5):
        rises = lambda at, c=crossing: 1 - (1 + math.exp(min((at - c) / width, 500.0))) ** -1.0  # noqa: E731
        found = crossed(400, rises, noise, mu).value
        assert abs(rises(found) - 0.5) < 0.1 or abs(found - crossing) <= 2


def test_a_search_with_little_precision_goes_right_more_often_than_bisection(seed):
    """(n/2)²·mu²/1.5² = 40, four hundred cells: the figure behind a third of the precision."""
    noise, mu, rises = SeededNoise(seed), math.sqrt(40) * 1.5 / 150, steep(170.5)
    missed = [abs(crossed(400, rises, noise, mu).value - 171) > 3 for _ in range(60)]
    halved = [
        noisy_search(lambda at: round((rises(at) - 0.5) * 300 * STEPS), np.arange(401.0), 1.5, mu, "x", noise=noise)
        for _ in range(60)
    ]
    assert sum(missed) <= 3
    assert sum(abs(each.value - 171) > 3 for each in halved) > 3


def test_the_count_may_be_wrong(seed):
    """The released number of records is noisy: a third or three times as many, none, or fewer than none."""
    for count in (COUNT / 3, 3 * COUNT, 1.0):
        found = crossed(100, steep(40), SeededNoise(seed), mu=1e4, count=count).value
        assert found == 40


def test_a_precise_answer_decides_by_its_sign(rng):
    """However small it is, and whatever the share and the number of records."""
    for _ in range(50):
        crossing = Crossing(20, rng.uniform(0.1, 0.9), 10 ** rng.uniform(0, 4), 1e-9)
        answer = rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 4)
        crossing.learn(10, answer)
        assert (crossing.quantile(0.5) <= 10) == (answer > 0)


def test_another_quantile_of_the_posterior(seed):
    low, middle, high = (crossed(60, steep(30), SeededNoise(seed), 0.02, at=at).value for at in (0.1, 0.5, 0.9))
    assert low <= middle <= high
    assert low < high


@pytest.mark.parametrize(
    ("low", "high", "ratio"), [(1e-6, 1e6, 1.15), (0.4, 6.0, 1.08), (1 / 1.35, 1.35, 1.03), (1, 1.01, 2)]
)
def test_a_geometric_grid_covers_its_window(low, high, ratio):
    grid = geometric_grid(low, high, ratio)
    assert grid[0] == low
    assert high * (1 - 1e-12) <= grid[-1] < high * ratio
    assert grid[1:] / grid[:-1] == pytest.approx(ratio)


@pytest.mark.parametrize(("cells", "expected"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)])
def test_queries(cells, expected):
    assert queries(cells) == expected
