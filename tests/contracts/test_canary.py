"""A secret number in a record shows in no error, traceback, representation, log, warning or document."""

import traceback

import numpy as np
import pandas as pd
import pytest
from contracts.conftest import songs
from flat_options import with_options
from scipy import sparse

from dimfree.data.records import open_records
from dimfree.errors import DimfreeError, RefusedRelease
from dimfree.interop.mean import PrivateMean
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.shapes import Diagonal, Isotropic

CANARY = 918273645.125
SINGS = ("918273645", "9.18273645", "918_273", "9182736")
COUNT = 467  # a prime that no public parameter comes near
WAYS = [{}, {"neighbours": "replace-one"}]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))


@pytest.fixture
def table(table):
    """Honest records, one of which holds the secret in every coordinate."""
    table[11] = CANARY
    return table


def assert_silent(*texts):
    assert songs(SINGS, texts) == []


def test_the_ear_hears_a_canary(said_by):
    for text in (f"row 11 holds {CANARY}", str(np.float64(CANARY)), np.array2string(np.array([CANARY, 1e-9]))):
        with pytest.raises(AssertionError):
            assert_silent("", text)
    _, said = said_by(lambda: np.float64(str(CANARY) + "x"))
    assert songs(SINGS, said)


def release(X, **changes):
    given = {"epsilon": 4.0, "delta": 1e-6, "shape": Isotropic(1.0), "noise": SeededNoise(5), **changes}
    return release_mean(X, **with_options(**given))


@every_way
@pytest.mark.parametrize("spread", [1.0, 1e-7], ids=["released", "refused"])
def test_a_release_is_silent(table, said_by, way, spread):
    found, said = said_by(lambda: release(table, shape=Isotropic(spread), **way))
    assert found.refused == (spread < 1)
    rows = str(found.ledger.summary_rows()) + repr(found.ledger)
    documents = [found.to_json(), repr(found), str(found), found.guarantee.statement(), rows, str(found.parameters)]
    assert_silent(*said, *documents)
    if found.refused:
        with pytest.raises(RefusedRelease) as error:
            _ = found.mean
        assert_silent(str(error.value), "".join(traceback.format_exception(error.value)))


@every_way
def test_the_exact_number_of_records_is_not_in_a_release(table, said_by, way):
    """Under add/remove only a noisy number leaves."""
    found, said = said_by(lambda: release(table, **way))
    if way.get("neighbours") == "replace-one":
        assert found.parameters["count"] == COUNT  # public there: the search below would find it
        return
    assert all(value != COUNT for value in found.parameters.values())
    assert str(COUNT) not in " ".join([repr(found), *said])


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
    "a cube": (lambda table: table[None], {}),
    "text": (lambda table: table.astype(str), {}),
    "objects": (lambda table: table.astype(object), {}),
    "complex numbers": (lambda table: table + 1j, {}),
    "ragged lists": (lambda table: [*table.tolist(), [CANARY]], {}),
    "a list of words": (lambda table: [[str(CANARY), "b", "c"]], {}),
    "a column of words": (lambda table: pd.DataFrame({"a": table[:, 0], "b": table[:, 1].astype(str)}), {}),
    "a Series": (lambda table: pd.Series(table[:, 0]), {}),
    "a covariance of another size": (lambda table: table, {"shape": None, "covariance": np.ones(5)}),
    "a shape of another size": (lambda table: table, {"shape": Diagonal(np.ones(4))}),
    "an unknown shape": (lambda table: table, {"shape": "round"}),
    "a bad budget": (lambda table: table, {"epsilon": -1.0}),
    "an unknown option": (lambda table: table, {"tails": "light"}),
}


@pytest.mark.parametrize(("spoil", "changes"), WRONG.values(), ids=WRONG.keys())
def test_an_error_is_silent_about_values_and_number(table, said_by, spoil, changes):
    spoiled = spoil(table)
    with pytest.raises(DimfreeError):
        release(spoiled, **changes)
    _, said = said_by(lambda: release(spoiled, **changes))
    assert len(said) >= 4
    assert_silent(*said)
    assert not [text for text in said[:3] if str(COUNT) in text or str(COUNT + 1) in text]


def test_overflow_warnings_are_not_raised_about_records(said_by, table):
    """Numbers past the grid or past float64 after rescaling: no warning, which would speak of the data."""
    table[5], table[6] = 1.7e308, -1.7e308
    found, said = said_by(lambda: release(table, shape=Isotropic(0.9)))
    assert not found.refused
    assert not any(said)


def test_records_are_silent(table):
    opened = open_records(table)
    assert_silent(repr(opened), str(opened), f"{opened}")
    assert str(COUNT) not in repr(opened)


@pytest.mark.parametrize("spread", [1.0, 1e-7], ids=["released", "refused"])
def test_the_estimator_is_silent(table, said_by, spread):
    estimator = PrivateMean(epsilon=4.0, delta=1e-6, shape=Isotropic(spread), noise=SeededNoise(5))
    fitted, said = said_by(lambda: estimator.fit(table))
    fields = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
    assert_silent(*said, repr(fitted), repr(fields), *(repr(value) for value in fields.values()))
