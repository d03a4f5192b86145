"""A secret number in a record shows in no error, traceback, representation, log, warning or document."""

import traceback

import numpy as np
import pandas as pd
import pytest
from contracts.conftest import songs
from routes import with_options
from scipy import sparse

from dimfree.errors import DimfreeError, RefusedReleaseError
from dimfree.interop.mean import PrivateMean
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.report.summary import describe_charges
from dimfree.shapes import DiagonalCovariance, IsotropicCovariance

CANARY = 918273645.125
SINGS = ("918273645", "9.18273645", "918_273", "9182736")
GIVEN = {"epsilon": 4.0, "delta": 1e-6, "covariance": IsotropicCovariance(1.0)}
COUNT = 467  # a prime that no public parameter comes near
WAYS = [{}, {"neighbors": "replace-one"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))


@pytest.fixture
def table(table):
    """Honest records, one of which holds the secret in every coordinate."""
    table[11] = CANARY
    return table


def assert_silent(*texts):
    assert songs(SINGS, texts) == []


def release(X, **changes):
    return release_mean(X, **with_options(**{**GIVEN, "noise": SeededNoise(5), **changes}))


def fit(X, **changes):
    return PrivateMean(**{**GIVEN, "noise": SeededNoise(5), **changes}).fit(X)


@every_way
@pytest.mark.parametrize("spread", [1.0, 1e-7], ids=["released", "refused"])
def test_a_release_is_silent(table, said_by, way, spread):
    """About values; and under add/remove only a noisy number of records leaves."""
    found, said = said_by(lambda: release(table, covariance=IsotropicCovariance(spread), **way))
    assert found.refused == (spread < 1)
    rows = str(describe_charges(found.charges)) + repr(found.charges)
    documents = [found.to_json(), repr(found), str(found), found.guarantee.statement(), rows, str(found.parameters)]
    assert_silent(*said, *documents)
    public = way.get("neighbors") == "replace-one"
    assert (COUNT in found.parameters.values()) == public  # the search below would find it
    assert public or str(COUNT) not in " ".join([repr(found), *said])
    if found.refused:
        with pytest.raises(RefusedReleaseError) as error:
            _ = found.mean
        assert_silent(str(error.value), "".join(traceback.format_exception(error.value)))


def test_the_ear_hears_a_canary_and_no_warning_is_about_records(said_by, table):
    """Numbers past the grid or past float64 after rescaling bring none."""
    for text in (f"row 11 holds {CANARY}", str(np.float64(CANARY)), np.array2string(np.array([CANARY, 1e-9]))):
        assert songs(SINGS, ["", text])
    assert songs(SINGS, said_by(lambda: np.float64(str(CANARY) + "x"))[1])
    table[5], table[6] = 1.7e308, -1.7e308
    found, said = said_by(lambda: release(table, covariance=IsotropicCovariance(0.9)))
    assert not found.refused
    assert not any(said)


def with_nan(table):
    table[3, 1] = np.nan
    return table


def damaged(table):
    matrix = sparse.csr_array(table)
    matrix.indices[5] = 999
    return matrix


WRONG = {
    "a row that is not finite": (with_nan, {}),
    "a sparse row that is not finite": (lambda table: sparse.csr_array(with_nan(table)), {}),
    "a damaged sparse matrix": (damaged, {}),
    "a vector": (lambda table: table[:, 0], {}),
    "a sparse vector": (lambda table: sparse.coo_array(table[:, 0]), {}),
    "a cube": (lambda table: table[None], {}),
    "no columns": (lambda table: table[:, :0], {}),
    "a frame without columns": (lambda table: pd.DataFrame(table[:, :0]), {}),
    "text": (lambda table: table.astype(str), {}),
    "objects": (lambda table: np.vstack([table.astype(object), [{"secret": CANARY}, 1.0, 2.0]]), {}),
    "words": (lambda table: np.vstack([table.astype(object), [f"secret {CANARY}", "1", "2"]]), {}),
    "complex numbers": (lambda table: table + 1j, {}),
    "ragged lists": (lambda table: [*table.tolist(), [CANARY]], {}),
    "a list of words": (lambda table: [[str(CANARY), "b", "c"]], {}),
    "a word in lists": (lambda table: [*table.tolist(), [f"secret {CANARY}", 1.0, 2.0]], {}),
    "a column of words": (lambda table: pd.DataFrame({"a": table[:, 0], "b": table[:, 1].astype(str)}), {}),
    "a Series": (lambda table: pd.Series(table[:, 0]), {}),
    "a covariance of another size": (lambda table: table, {"covariance": np.ones(5)}),
    "a shape of another size": (lambda table: table, {"covariance": DiagonalCovariance(np.ones(4))}),
    "an unknown covariance": (lambda table: table, {"covariance": "round"}),
    "a bad budget": (lambda table: table, {"epsilon": -1.0}),
    "an unknown option": (lambda table: table, {"tails": "light"}),
}


@pytest.mark.parametrize(("spoil", "changes"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("call", [release, fit])
def test_an_error_is_silent_about_values_and_number(table, said_by, call, spoil, changes):
    spoiled = spoil(table)
    with pytest.raises(DimfreeError) as caught:
        call(spoiled, **changes)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    _, said = said_by(lambda: call(spoiled, **changes))
    assert len(said) >= 4
    assert_silent(*said)
    assert not [text for text in said[:3] if str(COUNT) in text or str(COUNT + 1) in text or "secret" in text]
