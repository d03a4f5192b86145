"""Edges where a habit of floating point or of a file format would speak of records."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from routes import with_options
from scipy import sparse

from dimfree import InvalidDataError, InvalidParameterError, PrivateMean, release_mean
from dimfree.errors import NoiseMisuseError, OutOfMemoryError
from dimfree.kernel.statistics.friends import RADIUS, within_radius
from dimfree.noise import SystemNoise
from dimfree.paper import variance_profile
from dimfree.shapes.from_public import covariance_from_public
from dimfree.testing import SeededNoise


def test_far_records_are_no_friends_in_any_dimension():
    """The cut squares add up beyond 2^63 here: as 64-bit integers they would wrap to a negative number."""
    wide = np.full((1, 2**23 + 2**10), 5 * RADIUS, dtype=np.int64)
    assert not within_radius(wide)[0]
    wide[:] = 0
    wide[0, -1] = RADIUS
    assert within_radius(wide)[0]
    wide[0, 0] = 1
    assert not within_radius(wide)[0]


@pytest.mark.parametrize("options", [{}, {"covariance": np.ones(2)}])
def test_no_record_raises_a_floating_point_error(options):
    table = np.random.default_rng(1).normal(size=(300, 2))
    table[0], table[1], table[2] = 1e-320, 1e308, -1e-300
    with np.errstate(all="raise"):
        found = release_mean(table, epsilon=4.0, delta=1e-6, noise=SeededNoise(1), **options)
    assert found.method == ("recentered" if options else "columns")


@pytest.mark.parametrize("options", [{}, {"covariance": np.ones(2**22 + 1)}, {"basis": "dct"}])
def test_more_columns_than_the_proofs_speak_of_are_an_error(options):
    """proofs/statistics/friends.md and distances.md bound rounding errors for at most 2^22 columns."""
    table = sparse.csr_array((3, 2**22 + 1))
    with pytest.raises(InvalidParameterError, match="t most 4194304 columns can be released, got 4194305"):
        release_mean(table, **with_options(epsilon=1.0, delta=1e-6, **options))


def test_noise_that_would_saturate_is_refused():
    with pytest.raises(NoiseMisuseError, match="64-bit"):
        SystemNoise().gaussian(2.0**80, 1)


@pytest.mark.filterwarnings("ignore::dimfree.errors.RefusalWarning")
def test_a_number_too_large_for_a_float_is_a_typed_error_or_an_invalid_record():
    model, table = PrivateMean(epsilon=1.0, delta=1e-6, covariance=[1.0]), np.array([[10**400]], dtype=object)
    with pytest.raises(InvalidDataError):
        model.fit(table)
    assert model.set_params(missing="complete-case").fit(table).release_.refused


@pytest.mark.parametrize(("name", "budget"), [("epsilon", (1e-9, 1e-3)), ("delta", (1.0, 1e-15))])
def test_a_budget_too_small_to_account_for_is_a_typed_error(name, budget):
    with pytest.raises(InvalidParameterError, match=name):
        release_mean(np.ones((9, 1)), epsilon=budget[0], delta=budget[1], covariance=[1.0])


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_too_few_records_for_the_search_of_a_scale_are_refused_publicly(relation):
    """At epsilon = 1 the search over 30 records would be noise; what it "finds" must not become a radius."""
    table = np.random.default_rng(1).normal(size=(30, 3))
    options = {"covariance": np.full(3, 1e-4), "scale": "learn", "outliers": 0.0, "tails": "gaussian"}
    options |= {"neighbors": relation, "failure_probability": 0.3, "noise": SeededNoise(1)}
    found = release_mean(table, **with_options(epsilon=1.0, delta=1e-2, **options))
    assert found.refused
    assert "too small" in found.refusal
    assert not any(event.purpose == "friend radius" for event in found.charges.searches)


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (release_mean, "dimfree.request.as_records"),
        (partial(release_mean, covariance=np.ones(3)), "dimfree.kernel.views.pair_distances"),
        (release_mean, "dimfree.kernel.views.soft_histograms"),
        (variance_profile, "dimfree.request.as_records"),
        (variance_profile, "dimfree.paper.variance_votes.group_variances"),
    ],
)
def test_running_out_of_memory_tells_nothing_of_the_table(monkeypatch, call, place):
    """NumPy's own sentence would name the shape of an array, and with it the number of records."""

    def full(*_, **__):
        raise MemoryError("Unable to allocate 244. MiB for an array with shape (32004000,)")

    monkeypatch.setattr(place, full)
    with pytest.raises(OutOfMemoryError) as error:
        call(np.random.default_rng(1).normal(size=(6000, 3)), epsilon=1.0, delta=1e-6, noise=SeededNoise(1))
    assert "32004000" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_too_many_columns_for_the_grid_of_the_noise_are_named():
    with pytest.raises(InvalidParameterError, match="t most 30000 columns"):
        release_mean(sparse.csr_array((5, 30001)), epsilon=0.001, delta=1e-6, noise=SeededNoise(1))


def test_what_is_no_table_is_told_how_to_become_one():
    need = r"dimfree\.read_table\(path\); convert a dict of columns to a frame"
    with pytest.raises(InvalidDataError, match=need):
        release_mean({"age": [1.0, 2.0]}, epsilon=1.0, delta=1e-6)
    for path in ("people.csv", Path("people.csv")):
        with pytest.raises(InvalidDataError, match=need):
            covariance_from_public(path)
