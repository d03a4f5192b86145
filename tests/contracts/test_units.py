"""release_mean and PrivateMean with a unit: what they promise, what they estimate, and what they never say."""

import numpy as np
import pandas as pd
import pytest
from contracts.conftest import songs
from recording import RecordingNoise
from routes import with_options
from sklearn.base import clone

from dimfree.errors import DimfreeError, InvalidDataError, InvalidParameterError
from dimfree.interop.mean import PrivateMean
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import IsotropicCovariance

PERSONS, ROWS = 467, 1409  # primes that no public parameter comes near
KEY, CANARY = "secret-918273645", 918273645.125
SONGS = ("918273645", "9.18273645", "918_273")
BOTH = ("add-remove", "replace-one")


@pytest.fixture
def frame(rng):
    """People with unlike numbers of rows: the last ones have most, and live elsewhere."""
    who = np.sort(np.concatenate([np.arange(PERSONS), rng.integers(400, PERSONS, ROWS - PERSONS)]))
    where = np.where(who < 400, 0.0, 3.0)
    found = pd.DataFrame(rng.normal(size=(ROWS, 2)) * 0.3 + where[:, None], columns=["age", "income"])
    found.insert(1, "who", [f"{KEY}-{person}" for person in who])
    return found.sample(frac=1, random_state=1)


def release(X, **changes):
    given = {"epsilon": 4.0, "delta": 1e-6, "covariance": IsotropicCovariance(1.0), "noise": SeededNoise(5), **changes}
    return release_mean(X, **with_options(**given))


@pytest.mark.parametrize("max_contributions", [None, 2])
@pytest.mark.parametrize("neighbors", BOTH)
def test_the_release_is_that_of_the_person_means_or_totals(frame, neighbors, max_contributions):
    """Pandas adds up in its own way, so the two may differ in the last bits of a record."""
    grouped = frame.groupby("who", sort=False)
    records = (
        grouped.mean()
        if max_contributions is None
        else grouped.head(max_contributions).groupby("who", sort=False).sum()
    )
    given = {"neighbors": neighbors, "covariance": IsotropicCovariance(1.0 if max_contributions is None else 4.0)}
    found, wanted = (
        release(frame, privacy_unit="who", max_contributions=max_contributions, **given),
        release(records, **given),
    )
    assert not found.refused
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=0, atol=1e-4)
    assert np.abs(found.mean - records.mean()).max() < np.abs(found.mean - frame[["age", "income"]].mean()).min()
    assert found.charges == wanted.charges
    assert found.columns == ("age", "income")
    noises = RecordingNoise(), RecordingNoise()
    release(frame, privacy_unit="who", max_contributions=max_contributions, **given, noise=noises[0])
    release(records, **given, noise=noises[1])
    assert noises[0].asked == noises[1].asked
    assert len(noises[0].asked) > 2


def test_the_promise_says_who_and_what(frame):
    alone = release(frame[["age", "income"]])
    means, totals = (release(frame, privacy_unit="who", max_contributions=most) for most in (None, 3))
    assert "one row = one person" in alone.guarantee.statement()
    assert alone.parameters["estimates"] == "the mean of the rows"
    assert "same 'who'" in means.guarantee.statement()
    assert "person means" in means.parameters["estimates"]
    assert "first rows, up to 3" in totals.parameters["estimates"]
    for found in (alone, means, totals):
        assert Release.from_json(found.to_json()) == found


def test_invalid_rows_and_missing_keys(frame):
    holes = frame.copy()
    holes.iloc[3, 0], holes.iloc[5, 1] = np.nan, None
    with pytest.raises(InvalidDataError, match="not a finite number"):
        release(holes, privacy_unit="who")
    with pytest.raises(InvalidDataError, match="no key"):
        release(holes.drop(index=holes.index[3]), privacy_unit="who")
    without = holes.drop(index=holes.index[[3, 5]])
    assert release(holes, privacy_unit="who", missing="complete-case") == release(
        without, privacy_unit="who", missing="complete-case"
    )


def test_a_series_with_another_index_is_never_matched_by_position(frame):
    rows, who = frame[["age", "income"]], frame["who"]
    wanted = release(rows, privacy_unit=list(who))
    assert release(rows, privacy_unit=who) == wanted
    for other in (who.sort_index(), who.reset_index(drop=True), who.set_axis([f"{KEY}-{row}" for row in who.index])):
        with pytest.raises(
            InvalidParameterError, match=r"`privacy_unit` must have the index of X.*to_numpy.*reindex"
        ) as error:
            release(rows, privacy_unit=other)
        assert KEY not in str(error.value)
        with pytest.raises(InvalidParameterError, match="`privacy_unit` must have the index of X"):
            estimator().fit(rows, privacy_unit=other)
    assert release(rows, privacy_unit=who.sort_index().reindex(rows.index)) == wanted
    assert release(rows, privacy_unit=who.reset_index(drop=True).to_numpy()) == wanted
    with pytest.raises(InvalidParameterError, match="one key for each row of X"):
        release(rows, privacy_unit=who.iloc[1:])


def estimator(**changes):
    return PrivateMean(
        **{"epsilon": 4.0, "delta": 1e-6, "covariance": IsotropicCovariance(1.0), "noise": SeededNoise(5), **changes}
    )


def test_the_estimator_takes_a_column_or_keys(frame):
    wanted = release(frame, privacy_unit="who")
    named = estimator(privacy_unit="who").fit(frame)
    assert named.release_ == wanted
    assert named.feature_names_in_.tolist() == ["age", "income"]
    assert named.n_features_in_ == 2
    assert clone(named).privacy_unit == "who"
    fitted = estimator(noise=SeededNoise(5)).fit(frame[["age", "income"]].to_numpy(), privacy_unit=frame["who"])
    assert np.array_equal(fitted.location_, wanted.mean)
    assert fitted.guarantee_.privacy_unit == "person"


def test_a_bound_on_rows_needs_persons_and_is_a_count(frame):
    with pytest.raises(InvalidParameterError, match="needs privacy_unit="):
        release(frame[["age", "income"]], max_contributions=2)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(InvalidParameterError, match="max_contributions"):
            release(frame, privacy_unit="who", max_contributions=wrong)


def with_canary(frame):
    frame.iloc[11, 0] = frame.iloc[11, 2] = CANARY
    return frame


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("spread", [1.0, 1e-7], ids=["released", "refused"])
def test_a_release_is_silent_about_keys_values_and_rows(frame, said_by, neighbors, spread):
    given = {"privacy_unit": "who", "neighbors": neighbors, "covariance": IsotropicCovariance(spread)}
    found, said = said_by(lambda: release(with_canary(frame), **given))
    assert found.refused == (spread < 1)
    texts = [found.to_json(), repr(found), found.guarantee.statement(), repr(found.guarantee), repr(found.charges)]
    assert not songs(SONGS, [*said, *texts])
    assert str(ROWS) not in " ".join([*said, repr(found), repr(dict(found.parameters)), found.guarantee.statement()])
    public = neighbors == "replace-one"  # the number of persons: the search below would find it
    assert (PERSONS in found.parameters.values()) == (public and "count" in found.parameters)


WRONG = {
    "an unknown column": lambda frame: (frame, "patient"),
    "a column of values": lambda frame: (frame.drop(columns="who"), "age"),
    "too few keys": lambda frame: (frame.drop(columns="who"), list(frame["who"])[1:]),
    "keys that are no whole numbers": lambda frame: (frame.drop(columns="who"), list(frame["age"])),
    "keys that are lists": lambda frame: (frame.drop(columns="who"), [[key] for key in frame["who"]]),
    "keys that are rows": lambda frame: (frame.drop(columns="who"), frame[["age", "income"]]),
    "a missing key": lambda frame: (frame.drop(columns="who"), [None, *frame["who"]][: len(frame)]),
    "a missing value": lambda frame: (frame.assign(age=[np.nan, *frame["age"]][: len(frame)]), "who"),
    "no unit but keys in a column": lambda frame: (frame, None),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG.keys())
def test_an_error_is_silent_about_keys_values_and_rows(frame, said_by, spoil):
    X, privacy_unit = spoil(with_canary(frame))
    with pytest.raises(DimfreeError):
        release(X, privacy_unit=privacy_unit)
    _, said = said_by(lambda: release(X, privacy_unit=privacy_unit))
    assert len(said) >= 3
    assert not songs(SONGS, said)
    assert str(PERSONS) not in said[0]
    assert str(ROWS) not in said[0]
