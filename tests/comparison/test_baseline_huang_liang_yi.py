"""The shifted clipped mean: the published accuracy, the whole budget and not more, every draw at its scale."""

import math

import numpy as np
import pytest
from dimfree.comparison.baselines.huang_liang_yi import (
    BISECTIONS,
    CENTRE,
    LENGTH,
    NOISE,
    coordinate_share,
    huang_liang_yi,
)
from dimfree.comparison.baselines.rotation import Rotation
from dimfree.mechanisms.medians import balances
from dimfree.mechanisms.search import STEPS
from recording import RecordingNoise
from scipy import sparse
from scipy.linalg import hadamard
from scipy.stats import chi2
from stats import sampling

from dimfree.data import records
from dimfree.errors import InvalidParameter
from dimfree.kernel.rows.clip import norms
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.noise import SeededNoise
from dimfree.shapes import Isotropic

ADD, REPLACE = "add-remove", "replace-one"
PUBLISHED_RHO = 0.024356  # zCDP that (1, 1e-6) is worth by the usual conversion
both = pytest.mark.parametrize("relation", [ADD, REPLACE])


def released(X, **changes):
    given = {"epsilon": 1.0, "delta": 1e-6, "radius": 100.0, "noise": SeededNoise(7)}
    found = huang_liang_yi(X, **(given | changes))
    assert not found.refused
    return found


def far_away(stddevs, count, rng, distance=10.0):
    """Records about a mean so many times the root of the trace away."""
    direction = rng.normal(size=len(stddevs))
    mean = direction * (distance * np.linalg.norm(stddevs) / np.linalg.norm(direction))
    return mean + stddevs * rng.normal(size=(count, len(stddevs))), float(np.linalg.norm(stddevs))


# The rotation


@pytest.mark.parametrize("dimension", [1, 2, 3, 16, 100])
def test_there_and_back_is_where_one_was(rng, dimension):
    rotation, rows = Rotation(dimension), rng.normal(size=(7, dimension))
    rotated = rotation.rotated(rows)
    assert rotated.shape == (7, rotation.width)
    assert dimension <= rotation.width < 2 * dimension
    assert np.linalg.norm(rotated, axis=1) == pytest.approx(np.linalg.norm(rows, axis=1))
    assert np.array([rotation.restored(row) for row in rotated]) == pytest.approx(rows)


def test_a_round_is_flipped_signs_and_a_dense_hadamard_matrix(rng):
    rotation, rows = Rotation(32), rng.normal(size=(5, 32))
    wanted = rows
    for factors in rotation._factors:
        assert np.abs(factors) == pytest.approx(np.full(32, 32**-0.5))
        wanted = (wanted * factors) @ hadamard(32)
    assert rotation.rotated(rows) == pytest.approx(wanted)
    assert len({tuple(np.sign(factors)) for factors in rotation._factors}) == 3


@pytest.mark.parametrize("dimension", [5, 700])
def test_a_rotated_record_has_the_same_bits_in_every_batch(rng, dimension):
    rotation, rows = Rotation(dimension), rng.normal(size=(300, dimension)) * 10.0 ** rng.integers(-9, 9, (300, 1))
    together = rotation.rotated(rows)
    for some in (slice(0, 1), slice(1, 3), slice(128, 300), slice(299, 300)):
        assert np.array_equal(rotation.rotated(rows[some]), together[some])
    assert np.array_equal(rotation.rotated(np.asfortranarray(rows)), together)


def test_a_public_rotation_spreads_one_coordinate_over_all():
    rotated = Rotation(1024).rotated(np.eye(1024)[:3] * 7)
    assert np.abs(rotated).max() < 7 * coordinate_share(1024) < 7 / 5


# The figure: S1, d = 100, n = 16 000, ε = 1: error .036 where the sample mean has .022 (PLAN's authors' code, zCDP)


def test_the_measured_error_of_the_published_code(rng):
    """Same relation, same shares; exact accounting gives more precision, which is taken back for the comparison."""
    stddevs = np.where(np.arange(100) < 10, 1.0, 0.01)
    X, scale = far_away(stddevs, 16_000, rng)
    found = released(X, radius=100 * scale, neighbours=REPLACE)
    precision = math.sqrt(sum(event.mu**2 for event in found.ledger.events))
    noise = np.linalg.norm(found.noise_stddev) * precision / math.sqrt(2 * PUBLISHED_RHO)
    assert 1 < precision / math.sqrt(2 * PUBLISHED_RHO) < 1.1
    assert math.hypot(0.022, noise) == pytest.approx(0.036, rel=0.1)
    assert np.linalg.norm(found.mean - X.mean(axis=0)) < 4 * np.linalg.norm(found.noise_stddev)


@both
def test_the_noise_is_that_of_a_clipped_sum(rng, relation):
    """moves·C/(n mu) in every coordinate, C a little above the length of a record about the mean."""
    X, scale = far_away(np.geomspace(1, 0.01, 30), 4000, rng)
    found = released(X, radius=30 * scale, neighbours=relation, epsilon=4.0)
    length, moves = found.parameters["clipping_radius"], {ADD: 1, REPLACE: 2}[relation]
    wanted = moves * length / (found.parameters["count"] * found.ledger.events[-1].mu)
    assert found.noise_stddev == pytest.approx(np.full(30, wanted))
    assert scale < length < 2 * scale


@both
def test_a_mean_on_the_edge_of_the_prior_is_found(rng, relation):
    """Every coordinate of the rotated mean is in the range that is searched; the authors' own range is too narrow."""
    X, scale = far_away(np.ones(64), 4000, rng, distance=10.0)
    found = released(X, radius=10 * scale, neighbours=relation, epsilon=4.0)
    assert found.parameters["clipping_radius"] < 1.5 * scale
    assert np.linalg.norm(found.mean - X.mean(axis=0)) < 2 * np.linalg.norm(found.noise_stddev)


def squared_units(rng, **changes):
    """Σ z², z the distance from the sample mean in units of the stated noise: χ² of 500 degrees."""
    X, scale = far_away(np.ones(500), 2000, rng)
    found = released(X, radius=100 * scale, epsilon=16.0, **changes)
    return float((((found.mean - X.mean(axis=0)) / found.noise_stddev) ** 2).sum())


LOW, HIGH = chi2.ppf(4e-7, 500), chi2.isf(4e-7, 500) * 1.1  # a little more: clipped records, the noisy count


@sampling(1e-6)
@both
def test_the_error_is_the_noise_that_is_stated(rng, seed, relation):
    assert LOW < squared_units(rng, neighbours=relation, noise=SeededNoise(seed)) < HIGH


@sampling(1e-6)
@pytest.mark.parametrize("factor", [0.6, 1.5])
def test_another_scale_would_be_noticed(rng, seed, factor):
    class Wrong(SeededNoise):
        drawn = 0

        def gaussian(self, stddev, size):
            self.drawn += size == 512
            return super().gaussian(stddev * (factor if self.drawn > BISECTIONS else 1.0), size)

    assert not LOW < squared_units(rng, noise=Wrong(seed)) < HIGH


# The map: sensitivities, scales, ledger


@both
def test_every_draw_has_the_scale_of_its_sensitivity(relation):
    noise = RecordingNoise()
    found = released(np.ones((50, 3)), neighbours=relation, noise=noise)
    events, moves = list(found.ledger.events), {ADD: 1, REPLACE: 2}[relation]
    mu = math.sqrt(sum(event.mu**2 for event in events))
    if relation == ADD:
        counted = events.pop(0)
        mu = math.sqrt(mu**2 - counted.mu**2)
        assert noise.asked.pop(0) == ("gaussian", counted.stddev, 1)
    medians, length, offset = events
    assert medians.sensitivity == pytest.approx(STEPS * moves * math.sqrt(4 * BISECTIONS))  # three columns, padded
    assert length.sensitivity == pytest.approx(STEPS * math.sqrt(BISECTIONS))
    assert offset.sensitivity * offset.step == pytest.approx(moves * found.parameters["clipping_radius"])
    for event, share in zip(events, (CENTRE, LENGTH, NOISE), strict=True):
        assert event.mu == pytest.approx(mu * math.sqrt(share))
    assert noise.asked[:10] == [("gaussian", medians.stddev, 4)] * BISECTIONS
    assert noise.asked[10:20] == [("gaussian", length.stddev, 1)] * BISECTIONS
    assert noise.asked[20:] == [("gaussian", offset.stddev, 4)]


@both
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_budget_is_kept_and_used_up(relation, epsilon):
    found = released(np.ones((50, 3)), neighbours=relation, epsilon=epsilon)
    assert 0.9e-6 < found.ledger.delta() <= 1e-6


def test_more_precision_than_by_the_usual_conversion():
    events = released(np.ones((50, 3))).ledger.events
    assert sum(event.mu**2 for event in events) > 2 * PUBLISHED_RHO


def test_one_record_weighs_one_in_every_balance_and_count(rng):
    """Whatever it holds: each median's balance moves by one, the number of long records by at most one."""
    rows = rng.normal(size=(9, 3)) * 5
    balance, long = _answers(rows)
    for record in ([1e308, -1e308, 1e308], [1e308, 1e308, 1e308], [0, 0, 0], [1e-320, 5, -5]):
        other, longer = _answers(np.vstack([rows, record]))
        assert list(np.abs(other - balance)) == [1] * 4
        assert 0 <= longer - long <= 1


def _answers(rows):
    """What the two searches would be asked at the origin, and about it at length 5."""
    space = Space(records.as_records(rows), Isotropic(1.0), Rotation(3))
    lengths = [norms(block, 8.0, Ball(np.zeros(4), 1.0, 8.0).offsets) for block in space.valid_blocks()]
    return balances(space.valid_blocks(), np.zeros(4)), int((np.concatenate(lengths) > 5).sum())


# The caller's data; degenerate data


@both
def test_the_kind_of_table_does_not_matter_and_is_left_alone(rng, relation, monkeypatch):
    X = np.where(rng.random((300, 5)) < 0.4, rng.normal(size=(300, 5)), 0.0)
    before, dense = X.copy(), released(X, neighbours=relation)
    monkeypatch.setattr(records, "_BLOCK_ENTRIES", 35)
    for twin in (sparse.csr_array(X), np.asfortranarray(X), X[::1]):
        assert released(twin, neighbours=relation) == dense
    assert np.array_equal(X, before)
    assert X.flags.writeable


@both
@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (2, 3), (40, 1)])
def test_few_records_or_one_constant_column_give_a_value(shape, relation):
    found = released(np.full(shape, 3.0), neighbours=relation)
    assert np.isfinite(found.mean).all()
    assert (found.noise_stddev > 0).all()


def test_a_record_far_out_of_range_is_clipped_quietly(rng):
    X = np.vstack([rng.normal(size=(4000, 4)), [[1e308, -1e308, 1e308, 1e308]], [[np.nan, 0, 0, 0]]])
    with np.errstate(all="raise"):
        found = released(X, epsilon=8.0, on_missing="drop")
    assert np.linalg.norm(found.mean - X[:4000].mean(axis=0)) < 6 * np.linalg.norm(found.noise_stddev)


@pytest.mark.system_noise
def test_the_default_noise_is_private():
    assert released(np.ones((20, 3)), noise=None).guarantee.private


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_a_radius_has_to_be_a_sensible_number(radius):
    with pytest.raises(InvalidParameter, match="radius"):
        released(np.ones((5, 2)), radius=radius)
