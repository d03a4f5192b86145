"""The search that asks where its answers place the crossing (M5'): what its counts cost together, whatever they say.

Privacy rests on three things: every count has its noise, the next point is a function of the answers, and the number of
counts and their noise are fixed before the first.
"""

import math
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from dimfree.mechanisms import search  # GONE
from dimfree.mechanisms.search import STEPS, Crossing, geometric_grid, noisy_crossing, queries
from recording import RecordingNoise

from dimfree.accounting.precision import hockey_stick
from dimfree.audit.exact.divergence import largest_divergence, one_removed
from dimfree.audit.noise_doubles import ConstantNoise, exact_law

MUTANTS = {  # how the charge of so many counts is computed
    "half the noise": lambda right, moves, mu, asked, *rest: right(moves / 2, mu, asked, *rest),
    "counts priced apart": lambda right, moves, mu, asked, *rest: right(moves / math.sqrt(asked), mu, asked, *rest),
}


def mutate(monkeypatch, name):
    monkeypatch.setattr(search, "charged_gaussian", partial(MUTANTS[name], search.charged_gaussian))


def crossing(excess, cells, noise, sensitivity=1.0, mu=0.3, at=0.5):
    return noisy_crossing(excess, np.arange(cells + 1.0), 0.5, 4.0, sensitivity, mu, "x", noise=noise, at=at)


def spent(noise, sensitivity):
    """The precision of everything drawn, for counts that all move by their sensitivity."""
    assert {kind for kind, _, _ in noise.asked} == {"gaussian"}
    return math.sqrt(sum(size * (sensitivity * STEPS / stddev) ** 2 for _, stddev, size in noise.asked))


# the price


@pytest.mark.parametrize("cells", [1, 2, 3, 8, 9, 200])
@pytest.mark.parametrize("mu", [0.01, 0.3, 7.0])
@pytest.mark.parametrize("draw", [0, -(2**60), 2**60])
def test_all_counts_together_cost_what_was_asked_whatever_they_say(cells, mu, draw):
    noise = ConstantNoise(draw=draw)
    event = crossing(lambda at: STEPS, cells, noise, 1.5, mu).event
    assert mu * (1 - 1e-12) < spent(noise, 1.5) <= mu
    assert event.mu >= spent(noise, 1.5)
    assert event.dimension == len(noise.asked) == 3 * queries(cells)  # the slack of discrete noise is that of so many


def test_a_search_whose_counts_are_priced_apart_is_caught(monkeypatch):
    mutate(monkeypatch, "counts priced apart")
    noise = RecordingNoise()
    event = crossing(lambda at: STEPS, 8, noise, 1.5, 0.3).event
    assert event.mu == pytest.approx(0.3)  # it says so
    assert spent(noise, 1.5) == pytest.approx(0.3 * 3)  # nine counts


# one transcript, two tables


class Answers(RecordingNoise):
    """Draws what makes the noisy counts equal to the given answers."""

    def __init__(self, given):
        super().__init__()
        self.given, self.points = list(given), []

    def looking_at(self, excess):
        def seen(point):
            self.points.append(point)
            self.statistic = excess(point)
            return self.statistic

        return seen

    def gaussian(self, stddev, size):
        super().gaussian(stddev, size)
        return np.array([self.given[len(self.asked) - 1] - self.statistic])


EXCESSES = (lambda at: 0, lambda at: round((at - 5) * 1e3 * STEPS), lambda at: -(2**50), lambda at: hash(at) % 2**40)


def transcript(excess, given, at=0.5):
    noise = Answers(given)
    found = noisy_crossing(noise.looking_at(excess), np.arange(17.0), 0.3, 50.0, 1.0, 1.0, "x", noise=noise, at=at)
    return noise.points, found


@pytest.fixture
def every_count_is_asked(monkeypatch):
    """Without the memory of counts, which the test could not see through."""
    monkeypatch.setattr(search, "cache", lambda excess: excess)


@pytest.mark.usefixtures("every_count_is_asked")
@pytest.mark.parametrize("at", [0.05, 0.5, 0.95])
def test_path_and_result_are_functions_of_the_answers(rng, at):
    for scale in (1e-3, 1.0, 30.0, 1e9):
        given = [int(answer) for answer in rng.normal(size=12) * scale * STEPS]
        first, *others = (transcript(excess, given, at) for excess in EXCESSES)
        assert all(each == first for each in others)
        assert len(first[0]) == 12


def test_a_point_is_counted_once_and_noised_every_time():
    calls, noise = [], RecordingNoise()
    crossing(lambda at: calls.append(at) or 0, 2, noise)
    assert calls == [1.0]
    assert len(noise.asked) == 3


# the exact law, two counts, the second where the first one says


MU, PLACES = 1.0, (0.5, 1.5, 3.5)
LEVELS = (0.0, 0.25, 0.5, 1.0, 2.0)


def whole_counts(stddev):
    """The discrete Gaussian on whole counts: the statistic moves by whole counts, so this is a mechanism, too."""
    last = math.ceil(6 * stddev / STEPS)
    weights = {k * STEPS: math.exp(-((k * STEPS / stddev) ** 2) / 2) for k in range(-last, last + 1)}
    return {value: weight / sum(weights.values()) for value, weight in weights.items()}


def law(values):
    def excess(point):
        return (sum(value <= point for value in values) - 2) * STEPS

    return exact_law(lambda noise: crossing(excess, 4, noise, 1.0, MU).value, whole_counts)


def all_told(level):
    """Of both noisy counts, each moved by one record: nothing that is computed from them can tell more."""
    masses = whole_counts(math.sqrt(2) / MU * STEPS)
    here = np.array([masses.get(k * STEPS, 0.0) for k in range(-12, 14)])
    there = np.roll(here, 1)
    return largest_divergence(np.outer(here, here).ravel(), np.outer(there, there).ravel(), level)


def told(levels):
    """The largest divergence over all tables of at most three values, one removed or exchanged."""
    known = cache(law)
    tables = [table for size in range(4) for table in combinations_with_replacement(PLACES, size)]
    exchanged = {(table, tuple(sorted((*table[1:], place)))) for table in tables if table for place in PLACES}
    both = [(known(here), known(there)) for here, there in {*one_removed(tables), *exchanged}]
    masses = [[np.array([one.get(point, 0.0) for point in range(5)]) for one in pair] for pair in both]
    return [max(largest_divergence(here, there, each) for here, there in masses) for each in levels]


@pytest.fixture
def two_counts(monkeypatch):
    monkeypatch.setattr(search, "_PER_HALVING", 1)


@pytest.mark.usefixtures("two_counts")
def test_the_result_tells_no_more_than_two_noisy_counts():
    found, most = told(LEVELS), [all_told(level) for level in LEVELS]
    assert all(each <= bound + 1e-9 for each, bound in zip(found, most, strict=True))
    assert found[0] > 0.5 * most[0]  # and something is told
    assert all_told(0.0) == pytest.approx(float(hockey_stick(MU, 0.0)), rel=0.02)


@pytest.mark.usefixtures("two_counts")
@pytest.mark.parametrize("mutant", MUTANTS)
def test_what_a_wrong_search_tells_is_more(monkeypatch, mutant):
    mutate(monkeypatch, mutant)
    assert any(found > all_told(level) + 1e-6 for found, level in zip(told(LEVELS), LEVELS, strict=True))


# what is computed from answers


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [-30.0, 0.0, 1e-9, 1e9])
@pytest.mark.parametrize("cells", [1, 2, 57])
def test_every_answer_leads_to_a_point_of_the_grid(count, cells):
    """A released number of records may be anything; so may the answers."""
    grid = geometric_grid(1.0, 2.0**cells, 2.0)
    for draw, once in product((-(2**62), 0, 2**62), (False, True)):
        noise = ConstantNoise(draw=draw, once=once)
        assert noisy_crossing(lambda at: 2**40, grid, 0.8, count, 1.0, 1.0, "x", noise=noise).value in grid[1:]


def test_the_posterior_sees_no_record():
    assert set(vars(Crossing(3, 0.5, 4.0, 1.0))) == {"share", "count", "stddev", "place", "log"}
