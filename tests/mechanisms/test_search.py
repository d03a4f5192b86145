"""The noisy binary search: the right cell without noise, and never more queries than it pays for."""

import math

import numpy as np
import pytest
from recording import RecordingNoise

from dimfree.mechanisms.search import STEPS, count_stddev, geometric_grid, noisy_search, queries
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
