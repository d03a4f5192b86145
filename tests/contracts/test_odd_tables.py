"""Odd tables, by every objective: an answer, a public refusal or a clear error; no crash, no warning, no value told."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dimfree import release_mean
from dimfree.noise import SeededNoise

ROWS = 1501
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
OBJECTIVES = ("relative", "total", "auto")
RELATIONS = ("add-remove", "replace-one")


def normal(rows=ROWS, columns=3):
    return np.random.default_rng(9).normal(size=(rows, columns))


def with_nan():
    rows = normal()
    rows[::7, 1] = np.nan
    rows[3] = np.inf
    rows[5, 0] = -np.inf
    return rows


def beside_ordinary(*columns):
    """Odd columns between ordinary ones."""
    return np.column_stack([normal()[:, 0], *columns, normal()[:, 1]])


ODD = {
    "constant": np.full((ROWS, 3), 7.25),
    "constant and large": np.full((ROWS, 3), -1e15),
    "negative zeros": np.full((ROWS, 3), -0.0),
    "one constant among others": beside_ordinary(np.full(ROWS, 3.0)),
    "zeros among others": beside_ordinary(np.zeros(ROWS), np.zeros(ROWS)),
    "nearly zeros": beside_ordinary(np.arange(ROWS) == 17),
    "one column": normal(columns=1),
    "one column of zeros": np.zeros((ROWS, 1)),
    "nobody": normal(0),
    "one person": normal(1),
    "two persons": normal(2),
    "not finite": with_nan(),
    "nothing but NaN": np.full((ROWS, 3), np.nan),
    "the largest numbers": np.copysign(np.finfo(float).max, normal()),
    "tiny": normal() * 1e-300,
    "subnormal": np.copysign(5e-324, normal()),
    "subnormal magnitudes": normal() * 1e-310,
    "all magnitudes": beside_ordinary(10.0 ** np.linspace(-300, 300, ROWS)),
    "huge beside tiny": normal() * [1e300, 1.0, 1e-300],
    "far from zero": 1e15 + normal(),
    "integers beyond 2**53": np.arange(ROWS * 3).reshape(-1, 3) + 2**60,
    "unsigned integers": np.arange(ROWS * 3, dtype=np.uint64).reshape(-1, 3) + np.uint64(2**63),
    "small integers": (np.arange(ROWS * 3).reshape(-1, 3) % 5).astype(np.int8),
    "booleans": normal() > 0.5,
    "half precision": normal().astype(np.float16),
    "two far lumps": np.where(np.arange(ROWS)[:, None] % 2, 1e12, -1e12) + normal(),
    "one record far away": np.concatenate([normal(ROWS - 1), np.full((1, 3), 1e300)]),
    "many columns, few people": normal(12, 400),
}


@contextmanager
def strictly() -> Iterator[None]:
    """Warnings and floating-point errors end a call."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def released(table, objective, **changes):
    given = {**BUDGET, "objective": objective, "missing": "complete-case", "noise": SeededNoise(1), **changes}
    with strictly():
        return release_mean(table, **given)


def check_outcome(release, width):
    """Everything that is told is finite and of the right size, and can be written and read back."""
    assert release.dimension == width
    assert type(release).from_json(release.to_json()) == release
    if release.refused:
        return
    assert np.isfinite(release.mean).all()
    assert np.isfinite(release.noise_stddev).all()
    assert (release.noise_stddev > 0).all()
    assert release.resolved.shape == (width,)
    with strictly():
        ends = [release.confidence_interval(0.95, target=target) for target in ("population", "sample")]
        repr(release), release.error_radius(0.95), release.noise_to_sd(), release.to_frame()
    for low, high in ends:
        assert (low <= high).all()  # equal where the noise is below the resolution of a float
        assert np.array_equal(np.isinf(low), release.without_interval)
    if release.clipping is not None:
        assert release.clipping.radius > 0
        assert (release.clipping.column_radii > 0).all()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", ODD)
def test_an_answer_or_a_public_refusal(name, objective, relation):
    release = released(ODD[name], objective, neighbors=relation)
    check_outcome(release, ODD[name].shape[1])


@pytest.mark.parametrize("name", [name for name in ODD if ODD[name].dtype != np.float16])
def test_every_kind_of_table_has_the_same_answer(name):
    """A frame has names, which "auto" would look at; the objective is said."""
    rows = ODD[name]
    wanted = released(rows, "relative")
    for table in (sparse.csr_array(rows), pd.DataFrame(rows, columns=[f"c{place}" for place in range(rows.shape[1])])):
        found = released(table, "relative")
        check_outcome(found, rows.shape[1])
        assert found.refused == wanted.refused
        if not found.refused:
            assert np.array_equal(found.mean, wanted.mean)
            assert np.array_equal(found.noise_stddev, wanted.noise_stddev)


def test_an_ordinary_column_is_as_good_beside_odd_ones_and_one_far_record_moves_little():
    alone = released(normal(columns=3), "relative")
    beside = released(np.column_stack([normal(columns=3), np.zeros(ROWS), np.full(ROWS, 3.0)]), "relative")
    assert (beside.noise_stddev[:3] < 3 * alone.noise_stddev).all()
    assert beside.resolved[:3].all()
    assert not beside.resolved[3]  # only zeros were seen
    assert beside.mean[4] == pytest.approx(3.0, abs=0.1)
    far = released(ODD["one record far away"], "relative")
    assert np.abs(far.mean - alone.mean).max() < 1.0
    assert math.isfinite(far.clipping.radius)
