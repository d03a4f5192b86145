"""PLAN: the published accuracy, the whole budget and not more, and every draw at its scale."""

import itertools
import math

import numpy as np
import pytest
from dimfree.comparison.baselines.plan import CENTRE, LENGTH, NOISE, _lengths, _level, length_balance, plan
from dimfree.mechanisms.medians import bisections
from dimfree.mechanisms.search import STEPS
from recording import RecordingNoise
from scipy import sparse
from scipy.stats import chi2
from stats import sampling

from dimfree.data import records
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise

ADD, REPLACE = "add-remove", "replace-one"
PUBLISHED_RHO = 0.024356  # zCDP that the paper's accounting finds in (1, 1e-6)
both = pytest.mark.parametrize("relation", [ADD, REPLACE])


def released(X, **changes):
    given = {"epsilon": 1.0, "delta": 1e-6, "radius": 100.0, "stddevs": np.ones(X.shape[1]), "noise": SeededNoise(7)}
    found = plan(X, **(given | changes))
    assert not found.refused
    return found


def spectrum_one(dimension):
    return np.where(np.arange(dimension) < 10, 1.0, 1.0 / dimension)


def far_away(stddevs, count, rng):
    """Records about a mean at ten times the root of the trace, and a radius ten times larger."""
    direction = rng.normal(size=len(stddevs))
    mean = direction * (10 * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    return mean + stddevs * rng.normal(size=(count, len(stddevs))), 100 * float(np.linalg.norm(stddevs))


# The figure: S1, d = 100, n = 16 000, ε = 1; error .026 where the sample mean has .022 (the authors' code, zCDP)


def test_the_measured_error_of_the_authors_code(rng):
    """Same relation, same shares; exact accounting gives more precision, which is taken back for the comparison."""
    stddevs = spectrum_one(100)
    X, radius = far_away(stddevs, 16_000, rng)
    found = released(X, radius=radius, stddevs=stddevs, neighbours=REPLACE)
    precision = math.sqrt(sum(event.mu**2 for event in found.ledger.events))
    noise = np.linalg.norm(found.noise_stddev) * precision / math.sqrt(2 * PUBLISHED_RHO)
    assert 1 < precision / math.sqrt(2 * PUBLISHED_RHO) < 1.1
    assert math.hypot(0.022, noise) == pytest.approx(0.026, rel=0.08)
    assert np.linalg.norm(found.mean - X.mean(axis=0)) < 4 * np.linalg.norm(found.noise_stddev)


@both
def test_the_noise_is_the_formula_of_the_paper(rng, relation):
    """2 C/(n mu) σ^{1/2} under replace-one, half of it under add/remove, C a little above the length of a record."""
    stddevs = np.geomspace(1, 0.01, 30)
    X, radius = far_away(stddevs, 4000, rng)
    found = released(X, radius=radius, stddevs=stddevs, neighbours=relation, epsilon=4.0)
    length, count = found.parameters["clipping_radius"], found.parameters["count"]
    moves, mu = {ADD: 1, REPLACE: 2}[relation], found.ledger.events[-1].mu
    assert found.noise_stddev == pytest.approx(moves * length / (count * mu) * np.sqrt(stddevs))
    assert np.sqrt(stddevs.sum()) < length < 2 * np.sqrt(stddevs.sum())


def squared_units(rng, **changes):
    """Σ z², z the distance from the sample mean in units of the stated noise: χ² of a thousand degrees."""
    X, radius = far_away(np.ones(1000), 2000, rng)
    found = released(X, radius=radius, epsilon=16.0, **changes)
    return float((((found.mean - X.mean(axis=0)) / found.noise_stddev) ** 2).sum())


LOW, HIGH = chi2.ppf(4e-7, 1000), chi2.isf(4e-7, 1000) * 1.05  # a little more: clipped records, the noisy count


@sampling(1e-6)
@both
def test_the_error_is_the_noise_that_is_stated(rng, seed, relation):
    assert LOW < squared_units(rng, neighbours=relation, noise=SeededNoise(seed)) < HIGH


@sampling(1e-6)
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_another_scale_would_be_noticed(rng, seed, factor):
    class Wrong(SeededNoise):
        def gaussian(self, stddev, size):
            return super().gaussian(stddev * (factor if size == 1000 else 1.0), size)

    assert not LOW < squared_units(rng, noise=Wrong(seed)) < HIGH


# The map: sensitivities, scales, ledger


@both
def test_every_draw_has_the_scale_of_its_sensitivity(relation):
    stddevs, noise = np.array([1.0, 0.25]), RecordingNoise()
    found = released(np.ones((50, 2)), stddevs=stddevs, radius=8.0, neighbours=relation, noise=noise)
    events = list(found.ledger.events)
    total = math.sqrt(sum(event.mu**2 for event in events))
    mu, moves = total, 2
    if relation == ADD:
        mu, moves = total * math.sqrt(1 - events.pop(0).mu ** 2 / total**2), 1
        assert noise.asked.pop(0)[2] == 1
    answers = bisections(8.0, stddevs / 2)
    assert list(answers) == [5, 7]
    medians, length, offset = events
    assert medians.stddev == pytest.approx(STEPS * moves * math.sqrt(12) / (mu * math.sqrt(CENTRE)))
    assert noise.asked[:7] == [("gaussian", medians.stddev, 2)] * 5 + [("gaussian", medians.stddev, 1)] * 2
    assert length.sensitivity <= STEPS * math.sqrt(length.dimension)
    assert length.mu == pytest.approx(mu * math.sqrt(LENGTH))
    assert set(noise.asked[7:-1]) == {("gaussian", length.stddev, 1)}
    assert len(noise.asked[7:-1]) <= length.dimension
    assert offset.mu == pytest.approx(mu * math.sqrt(NOISE))
    assert noise.asked[-1] == ("gaussian", offset.stddev, 2)


@both
@pytest.mark.parametrize("count", [60, 400, 4000])
def test_the_search_for_a_length_is_charged_what_a_record_moves(relation, count):
    """Under add/remove by the level, which follows the released number; by one under replace-one."""
    stddevs = np.array([1.0, 0.25])
    found = released(np.ones((count, 2)), stddevs=stddevs, radius=8.0, neighbours=relation, epsilon=8.0)
    (length,) = (event for event in found.ledger.events if event.purpose == "clipping radius")
    level = _level(found.parameters["count"], len(_lengths(8.0, stddevs)) - 1, length.mu)
    assert STEPS * 0.55 < level < STEPS  # no half, at which both sides move it alike
    assert (found.parameters["count"] == count) == (relation == REPLACE)
    moves = STEPS if relation == REPLACE else max(level, STEPS - level)
    assert length.sensitivity == pytest.approx(moves * math.sqrt(length.dimension), rel=1e-12)


@pytest.mark.parametrize("level", [STEPS // 2, STEPS * 9 // 10, STEPS - 1])
def test_the_balance_of_lengths_moves_by_what_is_charged(level):
    """Every list of four lengths, one removed or one exchanged: the bounds are kept and attained."""
    removed, replaced = set(), set()
    for lengths in itertools.product((0.5, 1.0, 1.5), repeat=4):
        whole = length_balance(np.array(lengths), 1.0, level)
        removed.add(abs(whole - length_balance(np.array(lengths[:3]), 1.0, level)))
        replaced |= {abs(whole - length_balance(np.array([*lengths[:3], new]), 1.0, level)) for new in (0.5, 1.5)}
    assert max(removed) == max(level, STEPS - level)
    assert max(replaced) == STEPS


@both
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.2, 1e-9), (8.0, 1e-4), (1000.0, 0.5)])
def test_the_ledger_fits_and_is_used_up(rng, relation, epsilon, delta):
    found = released(rng.normal(size=(500, 4)), neighbours=relation, epsilon=epsilon, delta=delta)
    assert 0.9 * delta <= found.ledger.delta() <= delta


# The caller's data


@both
def test_what_does_not_matter(rng, monkeypatch, relation):
    """The input is left alone; order, layout, kind of table and size of blocks change nothing."""
    X = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.5)
    before, stddevs = X.copy(), np.full(5, 0.7)
    first = released(X, stddevs=stddevs, neighbours=relation)
    assert np.array_equal(X, before)
    assert np.array_equal(stddevs, np.full(5, 0.7))
    for twin in (X[rng.permutation(300)], np.asfortranarray(X), sparse.csr_array(X)):
        assert released(twin, stddevs=stddevs, neighbours=relation) == first
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", 64)
    assert released(X, stddevs=stddevs, neighbours=relation) == first


# Odd tables and bad input


@both
@pytest.mark.parametrize(
    "X",
    [np.zeros((1, 1)), np.zeros((400, 3)), np.full((400, 1), 5.0), np.full((400, 2), 1e300), np.zeros((2, 50))],
    ids=["one number", "zeros", "a constant column", "enormous values", "more columns than rows"],
)
def test_an_odd_table_gives_a_value(X, relation):
    found = plan(
        X, epsilon=1.0, delta=1e-6, radius=10.0, stddevs=np.ones(X.shape[1]), neighbours=relation, noise=SeededNoise(1)
    )
    assert found.refused or np.isfinite(found.mean).all()


@both
def test_no_records_are_refused(relation):
    found = plan(
        np.zeros((0, 2)),
        epsilon=1.0,
        delta=1e-6,
        radius=1.0,
        stddevs=np.ones(2),
        neighbours=relation,
        noise=RecordingNoise(),
    )
    assert found.refused
    assert found.ledger.delta() <= 1e-6


def test_invalid_rows_are_neutral():
    X = np.vstack([np.ones((200, 2)), [[np.nan, 0.0]], [[np.inf, 1e9]]])
    one, other = (released(X[list(rows)], on_missing="drop") for rows in ([*range(200), 200], [*range(200), 201]))
    assert one == other


@pytest.mark.parametrize(
    "changes",
    [
        {"radius": 0.0},
        {"radius": math.inf},
        {"stddevs": np.ones(3)},
        {"stddevs": np.array([1.0, 0.0])},
        {"stddevs": np.array([1.0, -1.0])},
        {"stddevs": 1.0},
        {"stddevs": np.array([1.0, np.nan])},
    ],
    ids=lambda changes: str(changes),
)
def test_a_bad_prior_is_named(changes):
    with pytest.raises(InvalidParameter, match=next(iter(changes))):
        released(np.zeros((9, 2)), **changes)


def test_priors_have_no_default():
    with pytest.raises(TypeError):
        plan(np.zeros((9, 2)), epsilon=1.0, delta=1e-6)
