"""The Gaussian histograms in tiny worlds: every divergence is at most that of their two costs composed."""

import math
from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from dimfree.mechanisms import gaussian_histogram  # GONE
from dimfree.mechanisms.gaussian_histogram import heaviest_cells, lone_cells, moved_counts, tail_distance
from exact.divergence import hockey_stick
from exact.worlds import removals, replacements, tables
from recording import RecordingNoise
from scipy.special import ndtr

from dimfree.accounting import events
from dimfree.accounting.budget import Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
STDDEV, REACH = 1.6, 8
PLACES = (1, 2, 3)
LEVELS = (0.0, 0.3, 0.7, 1.2, 2.0, 4.0)
FAILURE = 0.06
MISSING = 2e-6  # the mass of noise beyond the reach, generously


class Drawn:
    """Hands out the given integers, whatever it is asked for."""

    private = False

    def __init__(self, draws):
        self.draws = list(draws)

    def gaussian(self, stddev, size):
        assert stddev == pytest.approx(STDDEV)
        taken, self.draws = self.draws[:size], self.draws[size:]
        return np.array(taken, dtype=np.int64)


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Whole counts as the grid of the noise, so that outcomes can be listed."""
    monkeypatch.setattr(events, "LEAST_STDDEV", STDDEV / 2)


def masses():
    weights = {z: math.exp(-(z**2) / (2 * STDDEV**2)) for z in range(-REACH, REACH + 1)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


def run(records, relation, failure, noise):
    """One record is a tuple of cells, one for each coordinate; a stddev of STDDEV, whatever the dimension."""
    dimension = len(records[0]) if records else 1
    table = np.array(records, dtype=np.int64).reshape(len(records), dimension).T
    mu = math.sqrt(moved_counts(dimension, relation)) / STDDEV
    found = heaviest_cells([table], dimension, mu, lone_cells(failure), relation, noise=noise)
    return None if found.value is None else tuple(found.value.tolist())


@cache
def law(records, relation, failure=FAILURE):
    """{output: probability}, by running the code on every draw within reach."""
    occupied = sum(len(set(column)) for column in zip(*records, strict=True))
    weights, found = masses(), Counter()
    for draws in product(weights, repeat=occupied):
        found[run(records, relation, failure, Drawn(draws))] += math.prod(weights[z] for z in draws)
    return dict(found)


@cache
def gaussian_curve(shifts, level):
    """The divergence of `shifts` discrete Gaussians from the same moved by one, each or together."""
    weights = masses()
    here = {draws: math.prod(weights[z] for z in draws) for draws in product(weights, repeat=shifts)}
    there = {tuple(z + 1 for z in draws): mass for draws, mass in here.items()}
    return hockey_stick(here, there, level)


def lone_tail(relation, dimension, failure=FAILURE):
    """P(a record that is alone in all its cells is shown in some), of either side, by the threshold of the code."""
    cells = moved_counts(dimension, relation)
    least = math.ceil(STDDEV * tail_distance(failure, cells)) + 1
    tail = sum(mass for z, mass in masses().items() if z >= least)
    return 1 - (1 - tail) ** cells


def pairs(relation):
    """Tables of at most three records in one coordinate, at most two cells occupied, with all their neighbours."""
    for size in range(1, 4):
        for table in tables(PLACES, size):
            others = removals(table) if relation is ADD else [(*r, p) for _, p, r in replacements(table, PLACES)]
            for other in others:
                if max(len(set(table)), len(set(other))) <= 2:
                    yield tuple((cell,) for cell in table), tuple((cell,) for cell in other)


def worst(relation, level):
    return max(
        max(
            hockey_stick(law(a, relation), law(b, relation), level),
            hockey_stick(law(b, relation), law(a, relation), level),
        )
        for a, b in pairs(relation)
    )


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("level", LEVELS)
def test_the_divergence_is_at_most_the_composed_costs(relation, level):
    """delta + (1 - delta)·h(x): all is told, or else Gaussian counts."""
    lone = lone_tail(relation, 1)
    claimed = lone + (1 - lone) * gaussian_curve(moved_counts(1, relation), level)
    assert worst(relation, level) <= claimed + MISSING


def test_the_lone_cell_is_the_whole_delta_where_the_gaussian_is_spent():
    """One record against none, far out: nothing but the tail at the threshold, and that is attained."""
    alone, nobody = law(((1,),), ADD), {None: 1.0}
    assert hockey_stick(alone, nobody, 9.0) == pytest.approx(lone_tail(ADD, 1), abs=MISSING)
    assert 0 < lone_tail(ADD, 1) <= FAILURE


@pytest.mark.parametrize(("common", "newcomer"), [((), (2, 2)), (((1, 1),) * 3, (1, 2))])
def test_two_coordinates_share_the_delta(common, newcomer):
    """A record alone in both coordinates, or in one of them with company in the other."""
    here, there = law((*common, newcomer), ADD), law(common, ADD) if common else {None: 1.0}
    lone = lone_tail(ADD, 2)
    for level in LEVELS:
        claimed = lone + (1 - lone) * gaussian_curve(2, level)
        assert max(hockey_stick(here, there, level), hockey_stick(there, here, level)) <= claimed + MISSING


def test_a_lower_threshold_is_rejected(monkeypatch):
    right = tail_distance
    monkeypatch.setattr(gaussian_histogram, "tail_distance", lambda *given: right(*given) - 2.5 / STDDEV)
    shown = 1 - sum(mass for z, mass in masses().items() if run(((1,),), ADD, FAILURE, Drawn([z])) is None)
    assert shown > FAILURE


# which noise is asked for


@pytest.mark.parametrize(("relation", "each"), [(ADD, 1), (REPLACE, 2)])
@pytest.mark.parametrize("dimension", [1, 7])
@pytest.mark.parametrize("mu", [0.01, 0.3, 40.0])
def test_the_noise_fits_the_sensitivity(monkeypatch, relation, each, dimension, mu):
    monkeypatch.undo()
    noise, lone = RecordingNoise(), lone_cells(1e-7)
    table = np.zeros((dimension, 10**6), dtype=np.int64)
    found = heaviest_cells(
        [table[:3], table[3:]] if dimension > 3 else [table], dimension, mu, lone, relation, noise=noise
    )
    assert np.array_equal(found.value, np.zeros(dimension))
    assert found.event.sensitivity * found.event.step == pytest.approx(math.sqrt(each * dimension), rel=1e-12)
    assert mu * (1 - 1e-12) < found.event.sensitivity / found.event.stddev <= mu
    assert {asked[:2] for asked in noise.asked} == {("gaussian", found.event.stddev)}
    assert found.event.dimension == each * dimension
    assert found.event.stddev >= 2**24 * (1 - 1e-9)


@pytest.mark.parametrize(("relation", "each"), [(ADD, 1), (REPLACE, 2)])
def test_the_threshold_is_the_least_that_the_failure_allows(monkeypatch, relation, each):
    """By the continuous tail, which the fine grid comes up to: with zero noise the first count that is shown."""
    monkeypatch.undo()
    dimension, mu, lone = 5, 0.05, lone_cells(1e-6)
    stddev = math.sqrt(each * dimension) / mu
    shown = [
        count
        for count in range(1, 1000)
        if heaviest_cells(
            [np.zeros((dimension, count), dtype=np.int64)], dimension, mu, lone, relation, noise=RecordingNoise()
        ).value
        is not None
    ]
    assert each * dimension * ndtr(-(shown[0] - 1) / stddev) <= lone.delta
    assert each * dimension * ndtr(-(shown[0] - 2) / stddev) > lone.delta


# what is said


def test_ties_go_to_the_lowest_cell_and_the_order_of_records_is_not_told(monkeypatch):
    monkeypatch.undo()
    table = np.repeat(np.array([[7, -3, 7, -3]]), 500, axis=1)
    for order in (table, table[:, ::-1]):
        assert heaviest_cells([order], 1, 1.0, lone_cells(1e-6), ADD, noise=RecordingNoise()).value.tolist() == [-3]


def test_one_silent_coordinate_silences_all(monkeypatch):
    monkeypatch.undo()
    table = np.stack([np.zeros(1000, dtype=np.int64), np.arange(1000)])
    for parts in ([table], [table[:1], table[1:]]):
        assert heaviest_cells(parts, 2, 1.0, lone_cells(1e-6), ADD, noise=RecordingNoise()).value is None
    assert heaviest_cells([table[:, :0]], 2, 1.0, lone_cells(1e-6), ADD, noise=RecordingNoise()).value is None
