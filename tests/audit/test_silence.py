"""Words: whatever speaks of values or of the number of records is caught by the audit."""

import json
import logging
import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from audit.changed import QUICK, changed, some

from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics import refusals, silence
from dimfree.audit.numerics.calls import BUDGET, ways
from dimfree.errors import InvalidRecords
from dimfree.release import release_mean


def talking(say):
    """A release that says something on the way."""

    def release(X, **options):
        rows = np.asarray(X, dtype=object)
        if rows.ndim == 2 and rows.shape[1] == 4:
            say(rows)
        return release_mean(X, noise=ZeroNoise(), **options)

    return release


SAID = {
    "a log line with n": lambda rows: logging.getLogger("dimfree").debug("read %d rows", len(rows)),
    "a log line with a value": lambda rows: logging.getLogger().info("largest %s", rows[11, 0]),
    "a warning": lambda rows: warnings.warn(f"clipped {rows[11, 0]}", stacklevel=2),
    "a print": lambda rows: print(np.array(rows[11], dtype=float)),
    "a rounded print": lambda rows: print(f"{float(rows[11, 0]):g}"),
}


@pytest.mark.parametrize("say", SAID.values(), ids=SAID.keys())
def test_a_release_that_talks_is_caught(say):
    found = list(silence._shown(partial(talking(say), **BUDGET, **ways()["soft"])))
    assert found == ["a log, a warning or a stream shows the secret"] * 2


def test_a_document_with_the_secret_is_caught():
    loud = changed(lambda found, X: replace(found, parameters={"largest": float(X.max())}))["soft"]
    assert list(silence._shown(loud)) == ["a document shows the secret"] * 2
    quiet = partial(release_mean, **BUDGET, **ways()["soft"])
    assert list(silence._shown(quiet)) == []


@pytest.mark.parametrize("secret", [np.float64(silence.CANARY), np.array([1.0, silence.CANARY])])
def test_the_secret_is_found(secret):
    assert silence.reveals(str(secret))
    assert silence.reveals(repr(secret))
    assert silence.reveals(pickle.dumps(secret))
    assert silence.reveals(json.dumps(np.atleast_1d(secret).tolist()))
    assert silence.reveals(f"{silence.CANARY:,.2f}")
    assert not silence.reveals("epsilon=4.0, delta=1e-06, 918273, 9182736")


def erring(words):
    def release(X, **options):
        try:
            return release_mean(X, **options)
        except InvalidRecords as error:
            raise InvalidRecords(words(np.asarray(X, dtype=object), error)) from None

    return release


ERRORS = {
    "a value": lambda rows, error: f"cannot use {rows.ravel()[-1]}",
    "a row of values": lambda rows, error: f"cannot use {rows[11]}",
    "the number of records": lambda rows, error: f"shape {rows.shape}",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("words", ERRORS.values(), ids=ERRORS.keys())
def test_an_error_that_repeats_something_is_caught(words):
    assert any("an error about" in line for line in silence._errors(erring(words)))
    found = refusals.errors({"twin": partial(erring(words), **BUDGET, **ways()["soft"])})
    assert any("not finite" in line for line in found)


@pytest.mark.filterwarnings("ignore")
def test_an_error_that_is_not_typed_is_caught():
    def release(X, **options):
        return np.asarray(X, dtype=np.float64).reshape(-1, 4) @ np.ones(3)  # NumPy words this one, with the shapes

    assert any("ragged" in line for line in refusals.errors({"numpy": release}))
    assert list(silence._errors(release))


def test_right_errors_are_alike():
    assert refusals.errors(some("soft")) == []
    assert list(silence._errors(release_mean)) == []


def far(X):
    return bool(np.abs(X).max() > 1e3)


REFUSALS = {
    "words of its own": lambda found, X: replace(found, refusal=f"Record {int(np.abs(X[:, 0]).argmax())} is far away."),
    "parameters": lambda found, X: replace(found, parameters={**found.parameters, **({"far": 1} if far(X) else {})}),
    "the method": lambda found, X: replace(found, method="recentred" if far(X) else "stable"),
}


@pytest.mark.parametrize("change", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_that_knows_values_is_caught(change):
    assert refusals.refusals(some("stable", "soft")) == []
    assert len(refusals.refusals(changed(change, "stable"))) == 1


def test_an_exception_about_a_number_is_caught():
    def overflowing(X, **options):
        np.exp(X).sum()  # a warning for somebody's large number, an error under errstate
        return release_mean(X, **BUDGET, **ways()["soft"], **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert refusals.extremes({"twin": overflowing}) == ["twin: numbers out of range raise FloatingPointError"]
    assert refusals.extremes(some(*QUICK)) == []


def test_invalid_records_told_apart_are_caught():
    def filling(X, **options):
        filled = np.nan_to_num(np.asarray(X.todense() if hasattr(X, "todense") else X), posinf=0.5, neginf=-0.5)
        return release_mean(filled, **BUDGET, **ways()["soft"], **options)

    assert refusals.invalid_rows({"twin": filling}) == ["twin: invalid records are told apart"]
    assert refusals.invalid_rows(some(*QUICK)) == []
