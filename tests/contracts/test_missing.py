"""missing="available-case": what it estimates, what it says, where it is refused, and that every door leads to the
same."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from dimfree import PrivateMean, PrivateStandardScaler, Release, read_table, release_group_means
from dimfree import release_mean as release
from dimfree.errors import InvalidParameterError
from dimfree.programs.columns.missing import choose_missing_norm
from dimfree.programs.run import BY_COLUMN, DROPPED
from dimfree.testing import SeededNoise

BUDGET = {"epsilon": 4.0, "delta": 1e-6}
NAMES = [f"column {k}" for k in range(5)]
relations = pytest.mark.parametrize("relation", ["add-remove", "replace-one"])


def table(rows=1500, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(rows, 5)) * [1, 10, 0.1, 1, 3] + [0, 100, 1, -5, 0]
    whole[rng.random(whole.shape) < np.array([share, 0.5, 0, share, share])] = np.nan
    return whole


def by_column(X, seed=0, **given):
    return release(X, missing="available-case", noise=SeededNoise(seed), **{**BUDGET, **given})


@relations
@pytest.mark.parametrize("objective", ["relative", "total", "auto"])
def test_each_column_is_averaged_over_those_who_have_it(relation, objective):
    X = table()
    found = by_column(X, objective=objective, neighbors=relation)
    assert found.method == "columns"
    own = np.nanmean(X, axis=0)
    assert (np.abs(found.mean - own) < 0.2 * np.nanstd(X, axis=0)).all()
    assert np.abs(found.present - np.isfinite(X).mean(axis=0)).max() < 0.05
    assert found.parameters["estimates"] == "the mean of each column over the people with a value in it"
    assert found.parameters["estimates"] in found.guarantee.statement()


def test_intervals_cover_at_least_as_often_as_they_say():
    """Of 400 intervals at 90%, at least 335 hold (false alarms below 1e-4 for a binomial law).

    More hold: intervals allow for what clipping may have taken of a long tail, and these columns have none.
    """
    hit = 0
    for seed in range(80):
        X = table(700, 0.2, seed)
        low, high = by_column(X, seed, objective="relative").confidence_interval(0.9, target="sample")
        own = np.nanmean(X, axis=0)
        hit += int(((low <= own) & (own <= high)).sum())
    assert hit >= 335


def test_a_release_survives_its_file_and_its_table_has_the_shares():
    found = by_column(pd.DataFrame(table(), columns=NAMES))
    again = Release.from_json(found.to_json())
    assert again == found
    assert np.array_equal(again.present, found.present)
    assert found.to_frame()["present"].tolist() == found.present.tolist()
    assert again.guarantee.each_column
    with pytest.raises(ValueError, match="read-only"):
        found.present[0] = 1.0


@relations
def test_too_few_entries_are_refused_by_released_numbers_and_in_public_words(relation):
    X = np.full((2000, 5), np.nan)
    X[:30] = 1.0
    found = by_column(X, neighbors=relation)
    assert "Too few values" in found.refusal
    assert found.charges.after[-1].purpose == "missing entries of the columns"
    said = {by_column(np.full((20, 5), entry), epsilon=0.5).refusal.split(":")[0] for entry in (0.0, np.nan)}
    assert said == {"Too few records for missing='available-case' with 5 columns at this budget"}


@relations
def test_a_refusal_of_drop_says_that_incomplete_rows_do_not_count(relation):
    """The words are the same whether or not anything is missing: a table of nothing but complete rows, and of none."""
    for X in (table(60, 0.0), np.full((60, 5), np.nan)):
        found = release(X, epsilon=0.3, delta=1e-6, missing="complete-case", neighbors=relation, noise=SeededNoise(0))
        assert found.refusal.endswith(DROPPED + BY_COLUMN)
    known = release(X, epsilon=0.3, delta=1e-6, missing="complete-case", covariance=np.ones(5), noise=SeededNoise(0))
    assert known.refusal.endswith(DROPPED)  # no advice that would be refused


@pytest.mark.parametrize(
    "given", [{"covariance": np.ones(5)}, {"basis": "dct"}, {"privacy_unit": np.arange(1500), "max_contributions": 2}]
)
def test_what_does_not_go_with_it_is_told(given):
    with pytest.raises(InvalidParameterError, match="missing='available-case'"):
        by_column(table(), **given)


def test_an_entry_that_is_no_finite_number_is_missing_in_every_format(tmp_path):
    X = table(600)
    frame = pd.DataFrame(X, columns=NAMES)
    objects = frame.astype(object)
    ways = [
        pa.table({name: pa.array(X[:, k], from_pandas=True) for k, name in enumerate(NAMES)}),
        *(objects.where(frame.notna(), entry) for entry in (None, "unknown")),
        frame.fillna(np.inf),
    ]
    for empty in ("", "nan", "inf", "NA"):
        path = tmp_path / f"{empty or 'empty'}.csv"
        frame.to_csv(path, index=False, na_rep=empty)
        ways.append(read_table(path))
    assert {by_column(way).to_json() for way in ways} == {by_column(frame).to_json()}


def test_a_person_has_the_mean_of_their_rows_that_have_it():
    rng = np.random.default_rng(2)
    X, keys = table(1600, 0.4, 3), rng.integers(0, 700, 1600)
    people = pd.DataFrame(X).groupby(keys, sort=False).mean()  # skips NaN; a person who never has a column has NaN
    found = by_column(X, privacy_unit=keys)
    assert np.abs(found.mean - np.nanmean(people, axis=0)).max() < 0.2 * 10
    assert np.abs(found.present - people.notna().mean()).max() < 0.08
    assert "mean of their rows that have one" in found.guarantee.statement()
    assert by_column(sparse.csr_array(X), privacy_unit=keys).to_json() == found.to_json()


def test_groups_are_averaged_over_their_own_people():
    X = pd.DataFrame(table(3000), columns=NAMES)
    X["group"] = np.arange(3000) % 2
    for objective in ("auto", "total"):
        found = release_group_means(
            X, by="group", groups=[0, 1], missing="available-case", objective=objective, noise=SeededNoise(0), **BUDGET
        )
        assert found.overall is None
        assert not found.refused
        for key in (0, 1):
            own = X[X["group"] == key][NAMES]
            assert (np.abs(found[key].mean - own.mean().to_numpy()) < 0.3 * own.std().to_numpy()).all()
            assert found[key].present is not None
            assert (
                found[key]
                .parameters["estimates"]
                .startswith("the mean of each column over the people with a value in it")
            )


def test_scikit_learn_takes_it():
    X = table(share=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = PrivateMean(missing="available-case", noise=SeededNoise(0), **BUDGET).fit(X)
    assert fitted.release_.to_json() == by_column(X).to_json()
    scaled = PrivateStandardScaler(missing="available-case", noise=SeededNoise(0), **BUDGET).fit(X)
    turned = scaled.transform(X)
    assert np.array_equal(np.isnan(turned), np.isnan(X))
    assert np.abs(np.nanstd(turned, axis=0) - 1).max() < 0.5


def test_the_norm_of_missing_entries_follows_their_released_share():
    assert choose_missing_norm(0.0, 30) == 1.0
    assert choose_missing_norm(0.02, 30) ** 2 == pytest.approx(2.2)
    assert choose_missing_norm(0.9, 30) ** 2 == pytest.approx(30)
    assert choose_missing_norm(0.02, 30, 3.0) ** 2 == pytest.approx(9)  # where the noise allows more
    assert choose_missing_norm(0.02, 30, 50.0) ** 2 == pytest.approx(30)
