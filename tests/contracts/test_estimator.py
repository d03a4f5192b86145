"""PrivateMean: passes scikit-learn's checks, stores what was released, and tells nothing else."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.errors import RefusalWarning
from dimfree.interop.mean import PrivateMean
from dimfree.noise import SeededNoise
from dimfree.options import Options
from dimfree.results.release import Release
from dimfree.shapes import IsotropicCovariance

PROMISE = Guarantee(epsilon=1.0, delta=1e-6, neighbors="add-remove", private=True)
LEDGER = Costs(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, before=(), branches=())


class FakeRelease:
    """A fake release_mean that records its call; refuses when told to."""

    def __init__(self, *, refuse):
        self.refuse = refuse
        self.calls = []

    def __call__(self, X, **parameters):
        self.calls.append((X, parameters))
        common = {"guarantee": PROMISE, "charges": LEDGER, "method": "stable", "parameters": {}}
        common["dimension"] = X.shape[1]
        if self.refuse:
            return Release.from_refusal("Too few friends.", **common)
        return Release.released(mean=np.arange(X.shape[1]), noise_stddev=np.full(X.shape[1], 0.5), **common)


@pytest.fixture
def fake_release(monkeypatch, request):
    fake_release = FakeRelease(refuse=getattr(request, "param", False))
    monkeypatch.setattr("dimfree.interop.mean.release_mean", fake_release)
    return fake_release


EXPERT = {
    "core_sample": 700, "scale": "learn", "tails": "gaussian", "outliers": 0.1, "window": (0.5, 8.0),
    "failure_probability": 0.2,
}  # fmt: skip


def estimator(**changes):
    return PrivateMean(**{"epsilon": 1.0, "delta": 1e-6, "covariance": IsotropicCovariance(1.0), **changes})


def table(rows=6, columns=3):
    return np.random.default_rng(42).normal(size=(rows, columns))


# scikit-learn's own contract, against the real release


@pytest.mark.filterwarnings("ignore::dimfree.errors.RefusalWarning")
@parametrize_with_checks([PrivateMean(epsilon=1e4, delta=0.5, covariance=IsotropicCovariance(1.0))])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_a_large_table_is_released():
    X = np.random.default_rng(42).normal(loc=3.0, size=(400, 4))
    before = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RefusalWarning)
        fitted = estimator(epsilon=50.0, delta=1e-3, noise=SeededNoise(42)).fit(X)
    assert np.array_equal(X, before)
    assert not fitted.release_.refused
    assert np.array_equal(fitted.location_, fitted.release_.mean)
    assert np.array_equal(fitted.noise_stddev_, fitted.release_.noise_stddev)
    assert np.all(np.abs(fitted.location_ - 3.0) < 1.0)
    assert fitted.guarantee_ == fitted.release_.guarantee
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (50.0, 1e-3)
    assert not fitted.guarantee_.private
    assert pickle.loads(pickle.dumps(fitted)).release_ == fitted.release_


# Validate, call, store: with a fake release


def test_every_parameter_is_handed_on_unchanged(fake_release):
    assert all(EXPERT[name] != default for name, default in vars(Options()).items())
    everyday = set(inspect.signature(PrivateMean).parameters) - EXPERT.keys()
    looked_up = ("privacy_unit", "columns", "exclude", "bounds")  # test_units.py, test_bounds.py
    given = {name: object() for name in everyday} | dict.fromkeys(looked_up)
    PrivateMean(**given, **EXPERT).fit(table())
    assert fake_release.calls[0][1] == given | {"options": Options(**EXPERT)}


def test_fit_stores_the_release_and_nothing_else(fake_release):
    class Unreadable:
        def __getattribute__(self, name):
            raise AssertionError("y was read")

    frame = pd.DataFrame(table(), columns=["a", "größe", "c"])
    fitted = estimator(epsilon=2.5).fit(frame, Unreadable())
    stored = {"location_", "noise_stddev_", "guarantee_", "release_", "n_features_in_", "feature_names_in_"}
    assert set(vars(fitted)) - set(vars(estimator())) == stored
    assert fitted.location_.tolist() == [0.0, 1.0, 2.0]
    assert fitted.noise_stddev_.tolist() == [0.5, 0.5, 0.5]
    assert fitted.guarantee_ is fitted.release_.guarantee
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == ["a", "größe", "c"]
    assert [call[0] for call in fake_release.calls] == [frame]  # not an array: the release needs the names
    twin = clone(fitted)
    assert twin.epsilon == 2.5
    assert not hasattr(twin, "location_")
    assert not hasattr(fitted.fit(table()), "feature_names_in_")


def test_a_failed_fit_leaves_no_result(fake_release):
    model = estimator()
    with pytest.raises(TypeError, match="string"):
        model.fit(pd.DataFrame(table(), columns=["a", 2, "c"]))
    assert fake_release.calls == []
    assert not hasattr(model, "location_")


@pytest.mark.parametrize("fake_release", [True], indirect=True)
def test_a_refusal_is_nan_and_a_warning(fake_release):
    with pytest.warns(RefusalWarning, match=r"Too few friends\.") as caught:
        fitted = estimator().fit(table())
    assert caught[0].filename == __file__
    assert np.isnan(fitted.location_).all()
    assert np.isnan(fitted.noise_stddev_).all()
    assert fitted.location_ is not fitted.noise_stddev_
    assert fitted.release_.refusal == "Too few friends."
    assert fitted.guarantee_ == PROMISE


def test_a_masked_array_keeps_its_mask(fake_release):
    masked = np.ma.masked_greater(table(), 0.0)
    estimator().fit(masked)
    assert np.array_equal(fake_release.calls[0][0].mask, masked.mask)


def test_sparse_and_missing_entries_are_tagged():
    tags = estimator().__sklearn_tags__()
    assert tags.non_deterministic
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert estimator(missing="complete-case").__sklearn_tags__().input_tags.allow_nan
