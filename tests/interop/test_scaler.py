"""PrivateStandardScaler: one release, then arithmetic; pipelines, frames and names as scikit-learn wants them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pages import common
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dimfree.data.records import open_records
from dimfree.errors import InvalidDataError, InvalidParameterError, RefusedReleaseError, UnresolvedColumnWarning
from dimfree.interop.mean import PrivateMean
from dimfree.interop.scaler import PrivateStandardScaler
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.results.error_model import EstimatedVariances
from dimfree.results.release import Release
from dimfree.shapes import DenseCovariance, IsotropicCovariance

STDDEVS = np.array([1.0, 3.0, 0.5])
CENTRE = np.array([3.0, -100.0, 7.0])
NAMES = ["age", "income", "größe"]
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
CANARY = 918273.25


def table(rows=3000):
    return np.random.default_rng(42).normal(CENTRE, STDDEVS, (rows, 3))


@pytest.fixture(scope="module")
def fitted():
    frame = pd.DataFrame(table(), columns=NAMES)
    return PrivateStandardScaler(**BUDGET, noise=SeededNoise(42)).fit(frame)


def scaler(**changes):
    return PrivateStandardScaler(**{**BUDGET, "covariance": STDDEVS**2, "noise": SeededNoise(42), **changes})


class FakeRelease:
    """A fake release_mean, for scikit-learn's tables of a few rows: it never refuses, and counts its calls."""

    def __init__(self):
        self.calls = []

    def __call__(self, X, **parameters):
        self.calls.append(parameters)
        d = X.shape[1]
        return Release.released(
            mean=np.arange(d),
            noise_stddev=np.ones(d),
            estimated_variances=EstimatedVariances(np.full(d, 4.0), np.zeros(d)),
            **common(d, method="auto"),
        )


@pytest.fixture
def fake_release(monkeypatch):
    fake_release = FakeRelease()

    def checked(X, **parameters):
        open_records(X, missing=parameters["missing"])  # as release_mean does
        return fake_release(X, **parameters)

    monkeypatch.setattr("dimfree.interop.mean.release_mean", checked)
    return fake_release


# scikit-learn's own contract


@parametrize_with_checks([PrivateStandardScaler(epsilon=1.0, delta=1e-6)])
def test_scikit_learn(estimator, check, fake_release):
    check(estimator)


# What it computes


def test_learned_standard_deviations_scale(fitted):
    assert np.array_equal(fitted.mean_, fitted.release_.mean)
    assert np.array_equal(fitted.scale_, np.sqrt(fitted.release_.estimated_variances.variances))
    assert np.all(np.abs(np.log(fitted.scale_ / STDDEVS)) < 0.2)
    X = table()
    Z = fitted.transform(pd.DataFrame(X, columns=NAMES))
    assert np.allclose(Z, (X - fitted.mean_) / fitted.scale_, rtol=1e-12)
    assert np.all(np.abs(Z.mean(axis=0)) < 0.2)
    assert np.all(np.abs(Z.std(axis=0) - 1) < 0.2)
    assert np.allclose(fitted.inverse_transform(pd.DataFrame(Z, columns=NAMES)), X, rtol=1e-12)


@pytest.mark.filterwarnings("error::dimfree.errors.UnresolvedColumnWarning")
@pytest.mark.parametrize(
    ("known", "stddevs"),
    [
        ({"covariance": STDDEVS**2}, STDDEVS),
        ({"covariance": IsotropicCovariance(20.0)}, [20.0] * 3),
        ({"covariance": DenseCovariance(np.diag(STDDEVS**2))}, STDDEVS),
    ],
)
def test_known_standard_deviations_scale(known, stddevs):
    X = table()
    scaled = scaler(**known).fit(X)
    assert np.allclose(scaled.scale_, stddevs, rtol=1e-12)
    assert scaled.learned_.all()
    assert scaled.release_ == release_mean(X, **BUDGET, **({"covariance": STDDEVS**2} | known), noise=SeededNoise(42))


def test_centring_or_scaling_alone_or_neither_leaves_the_input_untouched():
    X = table()
    before = X.copy()
    centered = scaler(with_std=False).fit(X)
    assert centered.scale_ is None
    assert np.array_equal(centered.transform(X), X - centered.mean_)
    assert np.allclose(centered.inverse_transform(centered.transform(X)), X)
    scaled = scaler(with_mean=False).fit(X)
    assert scaled.mean_ is None
    assert np.allclose(scaled.transform(X), X / STDDEVS)
    bare = scaler(with_mean=False, with_std=False).fit(X).transform(X)
    bare[:] = 0.0
    assert np.array_equal(X, before)


def test_keys_say_whose_each_row_is():
    keys = np.arange(3000) % 1500
    model = scaler().fit(table(), privacy_unit=keys)
    assert model.guarantee_.privacy_unit == "person"
    assert model.release_ == release_mean(
        table(), **BUDGET, covariance=STDDEVS**2, privacy_unit=keys, noise=SeededNoise(42)
    )


def test_fit_spends_once_and_transform_nothing(fake_release):
    model = PrivateStandardScaler(epsilon=1.0, delta=1e-6)
    model.fit_transform(table(rows=9))
    model.transform(table(rows=4))
    model.inverse_transform(table(rows=4))
    assert len(fake_release.calls) == 1
    model.fit(table(rows=9))
    assert len(fake_release.calls) == 2


def test_ledger_and_objective_reach_the_release(fake_release):
    ledger = object()
    for objective in ("relative", "total", "auto"):
        for known in ({}, {"covariance": STDDEVS**2}):
            PrivateStandardScaler(**BUDGET, objective=objective, ledger=ledger, **known).fit(table(rows=9))
            assert fake_release.calls[-1]["objective"] == ("total" if known else objective)
            assert fake_release.calls[-1]["ledger"] is ledger
    assert PrivateStandardScaler(**BUDGET).objective == "relative"


# Refusals and errors


def test_a_refusal_raises_with_a_remedy_and_leaves_no_result():
    model = scaler().fit(table())
    with pytest.raises(RefusedReleaseError, match=r"budget is spent\. Reason: .*dimfree plan"):
        model.fit(table(rows=3))
    with pytest.raises(NotFittedError):
        model.transform(table())
    with pytest.raises(RefusedReleaseError, match=r"objective='relative' with 60 columns.*are needed.*fewer columns"):
        PrivateStandardScaler(**BUDGET, noise=SeededNoise(42)).fit(np.random.default_rng(42).normal(size=(100, 60)))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"with_mean": "yes"}, "with_mean"),
        ({"with_std": 1}, "with_std"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"outliers": 2.0}, "outliers"),
    ],
)
def test_bad_parameters_are_named(changes, word):
    with pytest.raises(InvalidParameterError, match=word):
        scaler(**changes).fit(table())


def test_errors_of_transform_tell_no_value(fitted):
    text = np.array([[f"secret {CANARY}", 1.0, 2.0]], dtype=object)
    for wrong in (text, pd.DataFrame([[CANARY, np.nan, 1.0]], columns=NAMES), [[CANARY], [1.0, 2.0]]):
        with pytest.raises(InvalidDataError) as caught:
            fitted.transform(wrong)
        assert "918273" not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_missing_entries_pass_through_where_they_are_neutral():
    X = table()
    X[5, 1] = np.nan
    model = scaler(missing="complete-case").fit(X)
    Z = model.transform(X)
    assert np.isnan(Z[5, 1])
    assert np.isfinite(np.delete(Z.ravel(), 16)).all()
    with pytest.raises(InvalidDataError, match="missing"):
        scaler().fit(table()).transform(X)


def test_sparse_rows_are_scaled_but_not_centred():
    X = sparse.csr_array(np.where(np.random.default_rng(1).random((3000, 3)) < 0.5, table() - CENTRE, 0.0))
    model = scaler(with_mean=False).fit(X)
    Z = model.transform(X)
    assert sparse.issparse(Z)
    assert np.allclose(Z.toarray(), X.toarray() / STDDEVS)
    assert np.allclose(model.inverse_transform(Z).toarray(), X.toarray())
    for each in (lambda: scaler().fit(X), lambda: scaler().fit(table()).transform(X)):
        with pytest.raises(InvalidParameterError, match="`with_mean` must be False"):
            each()


# Names, frames, pipelines


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_out_have_names_and_index(library):
    module = pytest.importorskip(library)
    frame = module.DataFrame(dict(zip(NAMES, table().T, strict=True)))
    if library == "pandas":
        frame.index = [f"p{row}" for row in range(3000)]
    Z = scaler().set_output(transform=library).fit_transform(frame)
    assert list(Z.columns) == NAMES
    assert library == "polars" or Z.index.tolist() == frame.index.tolist()


def test_names_in_and_out(fitted):
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.get_feature_names_out().tolist() == NAMES
    assert fitted.release_.columns == tuple(NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(pd.DataFrame(table(rows=4), columns=NAMES[::-1]))
    with pytest.raises(ValueError, match="2 features"), pytest.warns(UserWarning, match="feature names"):
        fitted.transform(table(rows=4)[:, :2])


def test_in_pipelines_with_a_model_behind_and_a_step_before():
    frame = pd.DataFrame(table(), columns=NAMES)
    y, double = frame["income"] * 2, scaler(covariance=4 * STDDEVS**2)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X * 2, feature_names_out="one-to-one"), double, Ridge())
    pipeline.set_output(transform="pandas").fit(frame, y)
    assert pipeline[:-1].get_feature_names_out().tolist() == NAMES
    assert pipeline.score(frame, y) > 0.9
    assert np.allclose(pipeline[1].mean_, 2 * CENTRE, atol=2 * STDDEVS)
    columns = ColumnTransformer([("keep", "passthrough", NAMES[::2])], verbose_feature_names_out=False)
    given = {**BUDGET, "covariance": STDDEVS[::2] ** 2, "noise": SeededNoise(42)}
    last = make_pipeline(columns.set_output(transform="pandas"), PrivateMean(**given)).fit(frame)[-1]
    assert last.feature_names_in_.tolist() == NAMES[::2]
    assert last.release_ == release_mean(frame[NAMES[::2]], **{**given, "noise": SeededNoise(42)})


def test_clones_and_pickles_and_nothing_else_is_stored(fitted):
    twin = clone(fitted)
    assert not hasattr(twin, "mean_")
    assert twin.epsilon == fitted.epsilon
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.mean_, fitted.mean_)
    assert again.release_ == fitted.release_
    stored = set(vars(fitted)) - set(vars(PrivateStandardScaler(**BUDGET)))
    assert stored == {"mean_", "scale_", "learned_", "release_", "guarantee_", "n_features_in_", "feature_names_in_"}


@pytest.mark.filterwarnings("error::dimfree.errors.UnresolvedColumnWarning")
@pytest.mark.parametrize("named", [True, False])
def test_columns_of_any_units_are_scaled(named):
    rows = 7.0 + np.random.default_rng(42).normal(size=(2000, 3)) * [1000.0, 1.0, 0.001]
    given = pd.DataFrame(rows, columns=NAMES) if named else rows
    found = PrivateStandardScaler(**BUDGET, noise=SeededNoise(42)).fit(given)
    assert found.learned_.all()
    assert np.all(np.abs(np.log(found.scale_ / [1000.0, 1.0, 0.001])) < 0.4)
    assert found.release_.parameters["objective"] == "relative"


def test_columns_that_were_not_learned_are_named_and_warned_of():
    """A column of zeros is divided by a guess; with objective="total" so is a narrow one. Said, not hidden."""
    rows = np.random.default_rng(42).normal(size=(2000, 2)) * [1000.0, 0.0]
    with pytest.warns(UnresolvedColumnWarning, match="SD of 1 of 2 columns could not be estimated"):
        found = PrivateStandardScaler(**BUDGET, noise=SeededNoise(42)).fit(rows)
    assert found.learned_.tolist() == [True, False]
