"""Records far from zero, at any scale: the release is right, within its own noise, or it is refused."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from routes import through_the_core, with_options

from dimfree import release_mean
from dimfree.paper import algorithm2
from dimfree.programs.run import UNSTABLE
from dimfree.testing import SeededNoise

COVARIANCE = np.array([1.0, 0.25])
CORE = "core"
MIXED = np.array([[1.0, 0.3], [0.3, 0.25]])
ESTIMATORS = {
    "known": {"covariance": COVARIANCE},
    "known, replace-one": {"covariance": COVARIANCE, "neighbors": "replace-one"},
    "a full matrix": {"covariance": MIXED},
    "of a sample": {"covariance": COVARIANCE, "core_sample": 500},
    "scale": {"covariance": COVARIANCE, "scale": "learn"},
    "scale, replace-one": {"covariance": COVARIANCE, "scale": "learn", "neighbors": "replace-one"},
    "columns": {},
    "columns, replace-one": {"neighbors": "replace-one"},
    CORE: {},
}
HONEST = np.random.default_rng(0).normal(size=(1000, 2)) * np.sqrt(COVARIANCE)


def released(table, name="", **options):
    options = ESTIMATORS.get(name, options)
    with np.errstate(all="ignore"), through_the_core() if name == CORE else nullcontext():
        return release_mean(table, **with_options(epsilon=4.0, delta=1e-6, noise=SeededNoise(1), **options))


def is_right(found, table):
    """Within eight deviations of the noise, and a few units in the last place of a float.

    A column marked unresolved may lie farther away than the release says that records count in full.
    """
    scale = float(np.abs(table).max())
    truth = (table / scale).mean(axis=0) * scale if scale > 1e290 else table.mean(axis=0)
    near = np.abs(found.mean - truth) <= 8 * found.noise_stddev + 1e-13 * np.abs(truth)
    if found.clipping is not None:
        near |= ~found.resolved & (np.abs(truth - found.clipping.center) > found.clipping.column_radii)
    return bool(near.all())


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=5, deadline=None)
@given(exponent=st.floats(0, 300), sign=st.sampled_from([-1.0, 1.0]), columns=st.sampled_from([(0,), (1,), (0, 1)]))
@example(exponent=13.05, sign=1.0, columns=(0, 1))
@example(exponent=15.0, sign=1.0, columns=(0, 1))
@example(exponent=17.0, sign=1.0, columns=(0, 1))  # the spread is below the distance of two floats
@example(exponent=300.0, sign=-1.0, columns=(0,))
def test_right_or_refused_at_any_offset(name, exponent, sign, columns):
    table = HONEST.copy()
    table[:, list(columns)] += sign * 10.0**exponent
    found = released(table, name)
    assert found.refused or is_right(found, table)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_right_near_zero_and_at_a_million(name):
    """Refusing everything would pass the test above."""
    for offset in (0.0, -1e6):
        found = released(HONEST + offset, name)
        assert not found.refused
        assert is_right(found, HONEST + offset)


def test_the_refusal_says_that_records_may_be_too_far_from_zero():
    assert released(HONEST + 1e15, "known").refusal == UNSTABLE
    assert "too far from zero" in " ".join(UNSTABLE.split())


def within_floats(scales, offsets):
    return [(scale, offset) for scale in scales for offset in offsets if scale * max(offset, 1.0) < 1e306]


@pytest.mark.parametrize(
    ("scale", "offset"), within_floats([1e-300, 1e-150, 1e-59, 1e59, 1e150, 1e300], [0.0, 1e12, 1e17])
)
def test_right_or_refused_at_any_scale(scale, offset):
    table = (HONEST + offset) * scale
    window = (1e-3 * scale, 1e3 * scale) if 1e-57 <= scale <= 1e57 else (1e-6, 1e6)
    with np.errstate(all="ignore"):
        literal = algorithm2(table, epsilon=4.0, delta=1e-6, noise=SeededNoise(1))
    for found in (released(table, window=window), literal):
        assert found.refused or is_right(found, table)
    if 1e-60 < scale < 1e60:
        found = released(table, covariance=COVARIANCE * scale**2)
        assert found.refused or is_right(found, table)
