"""Which columns a variance release resolves: post-processing of released numbers, checked on made-up ones."""

import inspect
import math

import numpy as np
import pytest

from dimfree.kernel.statistics.scores import phi
from dimfree.programs.choose import constants
from dimfree.programs.learn import shrinkage
from dimfree.programs.learn.shrinkage import VarianceRelease, expected_score, learned_shape, mean_score

NOISE = 0.05


def look_at(second_moments, rng, centre=0.0, believed=None):
    """Scores of normal columns with these moments about the centre, in units of one."""
    moments = np.asarray(second_moments, float)
    scores = mean_score(moments) + NOISE * rng.normal(size=len(moments))
    variances = moments if believed is None else np.asarray(believed, float)
    return VarianceRelease(variances, np.full(len(moments), centre), scores, NOISE, np.ones(len(moments)))


def of(look, mean=0.0, variance=1e-9):
    size = len(look.scores)
    return learned_shape(look, np.full(size, mean), np.full(size, variance)).frozen(size)


@pytest.fixture
def rng():
    return np.random.default_rng(42)


def test_wide_columns_are_learned_and_narrow_ones_are_not(rng):
    truth = np.concatenate([np.full(20, 1.0), np.full(20, 1e-9)])
    shape = of(look_at(truth, rng, believed=np.concatenate([np.full(20, 1.0), np.full(20, 0.3 * NOISE)])))
    assert shape.learned.tolist() == [True] * 20 + [False] * 20
    assert (shape.log_stddev[:20] < 0.4).all()
    assert np.isfinite(shape.log_above).all()
    low, high = shape.stddev_bounds()
    assert (low[20:] == 0).all()
    assert (high**2 >= truth).all()


def test_a_column_too_wide_by_far_is_known_as_that_or_not_learned(rng):
    """Whatever was believed, the truth lies within two log_stddev."""
    truth, believed = np.full(10, 0.5), np.full(10, 50.0)
    shape = of(look_at(truth, rng, believed=believed))
    assert (0.5 * np.log(believed / truth) <= 2 * shape.log_stddev).all()


def test_a_centre_far_off_explains_a_score(rng):
    """The moment about the centre is large, but the released mean says that the centre was off by just that."""
    look = look_at(np.full(10, 4.0), rng, centre=2.0, believed=np.full(10, 4.0))
    off = VarianceRelease(look.variances, look.centre, np.full(10, float(phi(np.array([4.0]))[0])), NOISE, look.unit)
    assert not of(off).learned.any()
    assert of(look, mean=2.0).learned.all()


def test_a_mean_that_is_itself_unsure_leaves_columns_unlearned(rng):
    look = look_at(np.full(10, 0.5), rng)
    assert of(look).learned.all()
    assert not of(look, variance=1.0).learned.any()


def test_one_column_alone_is_not_oversure(rng):
    """A prior fitted to one column would be sure of anything."""
    assert of(look_at([1.0], rng)).learned.all()
    assert not of(VarianceRelease(np.ones(1), np.zeros(1), np.array([1.5 * NOISE]), NOISE, np.ones(1))).learned.any()


def test_columns_alike_are_learned_together(rng):
    """Each score is within two of its noise from 0, and yet columns that all look alike are told from none at all."""
    shape = of(look_at(np.full(2000, 2.5 * NOISE), rng))
    assert shape.learned.mean() > 0.9
    assert not of(look_at(np.full(2000, 1e-9), rng, believed=np.full(2000, NOISE))).learned.any()


def test_the_expected_score_is_that_of_normal_records():
    records = np.random.default_rng(7).normal(size=400_000)
    for stddev, offset in ((0.3, 0.0), (1.0, 0.5), (0.2, 2.0), (3.0, -1.0), (0.0, 0.7), (0.0, 1.5)):
        sampled = phi((stddev * records + offset) ** 2)
        found = float(expected_score(np.array(stddev), np.array(offset)))
        assert abs(found - sampled.mean()) < 6 * sampled.std() / math.sqrt(len(records)) + 1e-12
    assert expected_score(np.sqrt([0.01, 1.0, 50.0]), np.zeros(3)) == pytest.approx(mean_score(np.array([0.01, 1, 50])))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "scores", [[0.0] * 5, [0.3], [-3.0] * 4, [1e100] * 3, [0.0, 1e12], [-1e12, 1.0]], ids=lambda s: f"{s[-1]:g}"
)
@pytest.mark.parametrize("unit", [1e-110, 1.0, 1e110])
def test_any_released_scores_have_a_shape(scores, unit):
    size = len(scores)
    units = np.full(size, unit)
    look = VarianceRelease(units, np.full(size, 3 * math.sqrt(unit)), np.array(scores), 0.1, units)
    shape = learned_shape(look, np.zeros(size), 0.01 * units).frozen(size)
    assert (shape.log_stddev > 0).all()
    assert np.isfinite(shape.log_above).all()


def test_many_columns_are_told_block_by_block(rng, monkeypatch):
    look = look_at(np.geomspace(1e-3, 10, 50), rng)
    whole = of(look)
    monkeypatch.setattr(constants, "SPREAD_BLOCK", 7)
    assert of(look).log_above == pytest.approx(whole.log_above, rel=1e-12)


def test_post_processing_has_no_way_to_records_or_noise():
    imported = {line for line in inspect.getsource(shrinkage).splitlines() if line.startswith(("import", "from"))}
    assert not any(name in line for line in imported for name in ("records", "space", "dimfree.noise", "run"))
