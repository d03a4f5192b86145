"""Searches among noisy counts: the posterior finds the crossing, and asks as often as it pays for."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from dimfree.noise import SeededNoise
from dimfree.programs.learn.scale import Crossing, count_answers, find_crossing

COUNT = 300.0
STEPS = 2**20


@dataclass
class Counts:
    """As many noisy answers as a search asks for, about a count that rises by `rises`; without noise if mu is None."""

    rises: object
    share: float
    stddev: float
    noise: SeededNoise | None = None
    asked: list[float] = field(default_factory=list)

    def at(self, point):
        self.asked.append(point)
        drawn = 0 if self.noise is None else int(self.noise.gaussian(self.stddev * STEPS, 1)[0])
        return (self.rises(point) - self.share) * COUNT + drawn / STEPS


def crossed(cells, rises, noise=None, stddev=1e-5, share=0.5, count=COUNT):
    """A search on 0, 1, …, cells; `rises` is the share of the records up to a point."""
    grid, counts = np.arange(cells + 1.0), Counts(rises, share, stddev, noise)
    found = find_crossing(counts, grid, share, count)
    assert len(counts.asked) == count_answers(grid)  # a public number, so that not even it depends on the answers
    return found


def steep(place):
    return lambda at: float(at >= place)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 9, 33, 198])
def test_without_noise_the_crossing_of_a_step_is_found(cells):
    for place in range(cells + 2):
        assert crossed(cells, steep(place)) == min(max(place, 1), cells)


@pytest.mark.parametrize("width", [0.3, 2.0, 20.0, 80.0])
@pytest.mark.parametrize("stddev", [5.0, 5e-3, 5e-6])
def test_precise_counts_find_the_crossing_whatever_their_course(width, stddev, seed):
    """No count grows along a straight line; precise answers must not be led away by the model."""
    noise = SeededNoise(seed)
    for place in (60.5, 200.5, 333.5):
        rises = lambda at, c=place: 1 - (1 + math.exp(min((at - c) / width, 500.0))) ** -1.0  # noqa: E731
        found = crossed(400, rises, noise, stddev)
        assert abs(rises(found) - 0.5) < 0.1 or abs(found - place) <= 2


def test_a_search_with_little_precision_goes_right(seed):
    """(n/2)²·mu²/1.5² = 40, four hundred cells: the figure behind a third of the precision."""
    noise, stddev = SeededNoise(seed), 150 / math.sqrt(40) * math.sqrt(count_answers(np.arange(401)))
    assert sum(abs(crossed(400, steep(170.5), noise, stddev) - 171) > 3 for _ in range(60)) <= 3


def test_the_count_may_be_wrong(seed):
    """The released number of records is noisy: a third or three times as many, none, or fewer than none."""
    for count in (COUNT / 3, 3 * COUNT, 1.0):
        assert crossed(100, steep(40), SeededNoise(seed), 5e-4, count=count) == 40


def test_a_precise_answer_decides_by_its_sign(rng):
    """However small it is, and whatever the share and the number of records."""
    for _ in range(50):
        crossing = Crossing(20, rng.uniform(0.1, 0.9), 10 ** rng.uniform(0, 4), 1e-9)
        answer = rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 4)
        crossing.learn(10, answer)
        assert (crossing.quantile(0.5) <= 10) == (answer > 0)
