"""Every argument through every door: a table of `read_table`, the path itself and a frame give the same release."""

import io
import json
import pickle
import sys
import warnings

import numpy as np
import pytest
from streams import needs, write_frame

import dimfree
from dimfree import InvalidFileError, InvalidParameterError, PrivateMean, PrivateStandardScaler
from dimfree.data import read as read_module
from dimfree.data.people.keys import Keys
from dimfree.data.schema import Schema
from dimfree.errors import IdentifierWarning
from dimfree.testing import SeededNoise

pandas = needs("pandas")

BUDGET = {"epsilon": 4.0, "delta": 1e-6}
NAMES = ["age", "income", "score"]
WARDS = ["east", "north", "west"]
TEXTS = ("ward", "code")


@pytest.fixture(scope="module")
def visits() -> pandas.DataFrame:
    """Two rows for each person, who has a number and a code; a ward for each person."""
    rng, count = np.random.default_rng(11), 1500
    rows = rng.normal(size=(count, 3)) * [10, 1000, 1] + [40, 30000, 0]
    person = np.arange(count) // 2
    frame = pandas.DataFrame(rows, columns=NAMES)
    frame.insert(0, "person", person)
    frame.insert(2, "ward", [WARDS[each % 3] for each in person])
    frame["code"] = [f"p{each:04}" for each in person]
    return frame


KINDS = (".csv", ".csv.gz", ".tsv", ".jsonl", ".xlsx", ".parquet", ".arrow", ".feather", "parts", "pattern", "address")
ARGUMENTS = {
    "privacy_unit": {"privacy_unit": "person"},
    "unit and rows": {"privacy_unit": "person", "max_contributions": 1},
    "unit by text": {"privacy_unit": "code"},
    "columns": {"columns": ["age", "score"]},
    "exclude": {"exclude": ["person", "income"]},
    "columns and unit": {"columns": ["age", "score"], "privacy_unit": "person"},
    "exclude and unit": {"exclude": "income", "privacy_unit": "person"},
    "groups": {"by": "ward", "groups": WARDS},
    "groups and unit": {"by": "ward", "groups": WARDS[:2], "privacy_unit": "person"},
    "private groups": {"by": "ward", "groups": "private", "privacy_unit": "person"},
    "groups and columns": {"by": "ward", "groups": WARDS, "columns": ["income"]},
}


def released(X, **how):
    """The record of a release, seeded; columns of text that no argument names are left out."""
    release = dimfree.release_group_means if "groups" in how else dimfree.release_mean
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        return release(X, **BUDGET, **how, noise=SeededNoise(5)).to_json()


def without_text(how):
    """The arguments for a table whose columns of text are coordinates unless they are left out."""
    if "columns" in how:
        return how
    left = how.get("exclude", [])
    left = [*([left] if isinstance(left, str) else left), *TEXTS]
    return {**how, "exclude": [name for name in left if name not in (how.get("privacy_unit"), how.get("groups"))]}


@pytest.fixture(scope="module")
def expected(visits):
    return {name: released(visits, **without_text(how)) for name, how in ARGUMENTS.items()}


@pytest.fixture(params=["large", "workers"])
def size(request, monkeypatch):
    """A table that is read again on every pass, and one in parts for the workers of a cluster."""
    monkeypatch.setattr(read_module, "LARGE", 0)
    if request.param == "large":
        yield {}
        return
    with needs("dask").config.set(scheduler="synchronous"):
        yield {"workers": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_every_argument_of_a_table_that_was_read(tmp_path, visits, expected, kind):
    path = write_frame(tmp_path, visits, kind)
    table = dimfree.read_table(path, exclude=TEXTS)
    assert {name: released(table, **how) for name, how in ARGUMENTS.items()} == expected
    few = dimfree.read_table(path, columns=["age", "score"])
    both = {"privacy_unit": "person", "by": "ward", "groups": WARDS}
    assert released(few, **both) == released(visits[["age", "score", "person", "ward"]], **both)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow", "parts"])
@pytest.mark.parametrize("name", ["columns and unit", "groups and unit"])
def test_also_of_a_large_table_and_on_workers(tmp_path, visits, expected, kind, name, size):
    table = dimfree.read_table(write_frame(tmp_path, visits, kind), exclude=TEXTS, **size)
    assert table.streams
    assert released(table, **ARGUMENTS[name]) == expected[name]


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", "pattern", "address"])
def test_every_argument_of_a_path(tmp_path, visits, expected, kind):
    path = write_frame(tmp_path, visits, kind)
    assert {name: released(path, **without_text(how)) for name, how in ARGUMENTS.items()} == expected
    assert released(str(path), **without_text(ARGUMENTS["unit by text"])) == expected["unit by text"]


def test_standard_input_is_read_once(visits, expected, monkeypatch):
    def piped():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(visits.to_csv(index=False).encode())))
        return "-"

    table = dimfree.read_table(piped(), exclude=TEXTS)
    assert {name: released(table, **how) for name, how in ARGUMENTS.items()} == expected
    assert released(piped(), **without_text(ARGUMENTS["groups and unit"])) == expected["groups and unit"]


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_what_was_said_to_read_table_still_holds(tmp_path, visits, kind):
    """The dialect, the bounds and the choice of columns come first; an argument chooses among what they leave."""
    bounds = {"age": (35.0, 45.0), "income": (29000.0, 30000.0)}
    path, how = write_frame(tmp_path, visits, kind), {}
    if kind == ".csv":
        path.write_text(visits.to_csv(index=False, sep=";", decimal=","))
        how = {"decimal": ","}
    clipped = visits.assign(age=visits["age"].clip(35, 45), income=visits["income"].clip(29000, 30000))
    table = dimfree.read_table(path, exclude=[*TEXTS, "score"], bounds=bounds, **how)
    for names in (["age", "income"], ["age"]):
        argument = {"privacy_unit": "person", "columns": names}
        found, of_frame = released(table, **argument), released(clipped, **argument, bounds=bounds)
        stated = json.loads(json.loads(found)["parameters"]["bounds"])
        assert stated == {name: list(ends) for name, ends in bounds.items() if name in names}
        assert found == of_frame
    with pytest.raises(InvalidParameterError, match="no column named 'score'"):
        released(table, columns=["score"])
    with pytest.raises(InvalidFileError, match="no column named 'patient'"):
        released(table, privacy_unit="patient")


@pytest.mark.parametrize("kind", [".csv", ".parquet", "parts"])
def test_a_file_that_changes_between_the_reads_is_an_error(tmp_path, visits, kind):
    path = write_frame(tmp_path, visits, kind)
    table = dimfree.read_table(path, exclude=TEXTS)
    if kind == "parts":
        visits[:800].to_parquet(path / "part-3.parquet", index=False)
    else:
        path = write_frame(tmp_path, visits[:2000], kind)
    assert json.loads(released(table))["mean"] is not None  # what was read is still there
    for how in ARGUMENTS.values():
        with pytest.raises(InvalidFileError, match="has changed since it was opened"):
            released(table, **how)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "parts"])
def test_a_file_that_changes_before_its_keys_are_read_is_an_error(tmp_path, visits, kind, monkeypatch):
    """The keys of one file are never paired with the records of another."""
    place = tmp_path / ("visits" if kind == "parts" else f"visits.{kind}")
    place.mkdir() if kind == "parts" else None
    file = place / "0.parquet" if kind == "parts" else place

    def write(frame):
        frame.to_feather(file) if kind == "arrow" else frame.to_parquet(file, index=False)

    write(visits)
    source = read_module._source

    def exchanged(stream, how):
        found = source(stream, how)
        write(visits.iloc[::-1].reset_index(drop=True))
        return found

    monkeypatch.setattr(read_module, "_source", exchanged)
    with pytest.raises(InvalidFileError, match="has changed since it was opened"):
        read_module.open_table(place, Schema(keys=("person",), columns=("age",)))


def test_an_error_charges_nothing(tmp_path, visits):
    path = write_frame(tmp_path, visits, ".csv")
    ledger = dimfree.PrivacyLedger(tmp_path / "study.db", "people", epsilon=8, delta=1e-4)
    table = dimfree.read_table(path, exclude=TEXTS)
    path.write_text(visits[:100].to_csv(index=False))
    with pytest.raises(InvalidFileError, match="has changed"):
        dimfree.release_mean(table, **BUDGET, privacy_unit="person", ledger=ledger)
    assert [entry.event for entry in ledger.entries()] == ["opened"]


@pytest.mark.parametrize("ending", [".npy", ".npz", ".zarr"])
def test_a_file_without_names(tmp_path, visits, ending):
    rows, person = visits[NAMES].to_numpy(), visits["person"].to_numpy()
    path = tmp_path / f"t{ending}"
    if ending == ".zarr":
        needs("zarr").create_array(str(path), shape=rows.shape, chunks=(100, 2), dtype=rows.dtype)[:] = rows
    else:
        np.save(path, rows) if ending == ".npy" else np.savez(path, X=rows)
    for X in (dimfree.read_table(path), path):
        assert released(X, privacy_unit=person) == released(rows, privacy_unit=person)
        assert released(X, by=person % 2, groups=[0, 1]) == released(rows, by=person % 2, groups=[0, 1])
        with pytest.raises((InvalidParameterError, InvalidFileError), match="column names"):
            released(X, columns=["age"])
        with pytest.raises((InvalidParameterError, InvalidFileError), match="column names"):
            released(X, privacy_unit="person")


def test_keys_go_beside_a_table_that_was_chosen(tmp_path, visits, expected):
    path = write_frame(tmp_path, visits, ".csv")
    table = dimfree.read_table(path, exclude=TEXTS)
    keys = visits["person"].tolist()
    found, named = (
        json.loads(each) for each in (released(table, privacy_unit=keys, exclude=["person"]), expected["privacy_unit"])
    )
    assert found["mean"] == named["mean"]


@pytest.mark.parametrize("kind", [".csv", ".parquet", "parts"])
@pytest.mark.parametrize("name", [name for name, how in ARGUMENTS.items() if "groups" not in how])
def test_private_mean_of_a_file(tmp_path, visits, expected, kind, name):
    path, how = write_frame(tmp_path, visits, kind), ARGUMENTS[name]
    table = dimfree.read_table(path, exclude=TEXTS)
    doors = [(table, how), (str(path), without_text(how)), (path, without_text(how))]
    for X, own in doors:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)
            fitted = PrivateMean(**BUDGET, **own, noise=SeededNoise(5)).fit(X)
        assert fitted.release_.to_json() == expected[name]
        assert tuple(fitted.feature_names_in_) == fitted.release_.columns
        assert fitted.n_features_in_ == fitted.release_.dimension


def test_private_mean_of_a_file_without_names(tmp_path, visits):
    rows, person = visits[NAMES].to_numpy(), visits["person"].to_numpy()
    np.save(tmp_path / "t.npy", rows)
    fitted = PrivateMean(**BUDGET, noise=SeededNoise(5)).fit(
        dimfree.read_table(tmp_path / "t.npy"), privacy_unit=person
    )
    assert fitted.release_.to_json() == released(rows, privacy_unit=person)
    assert fitted.n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")


def test_private_mean_of_a_file_with_keys_by_name_in_fit(tmp_path, visits, expected):
    path = write_frame(tmp_path, visits, ".csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        fitted = PrivateMean(**BUDGET, exclude="ward", noise=SeededNoise(5)).fit(path, privacy_unit="code")
    assert fitted.release_.to_json() == expected["unit by text"]


def test_private_mean_of_a_file_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("age,score\n")
    with pytest.raises(dimfree.InvalidDataError, match="at least one row"):
        PrivateMean(**BUDGET).fit(dimfree.read_table(tmp_path / "t.csv"))


def test_a_scaler_of_a_file(tmp_path, visits, size):
    path = tmp_path / "t.csv"
    visits[NAMES].to_csv(path, index=False)
    table = dimfree.read_table(path, **size)
    of_frame = PrivateStandardScaler(**BUDGET, noise=SeededNoise(5)).fit(visits[NAMES])
    for X in (table, path):
        scaler = PrivateStandardScaler(**BUDGET, noise=SeededNoise(5)).fit(X)
        assert scaler.release_ == of_frame.release_
        np.testing.assert_array_equal(scaler.transform(X), of_frame.transform(visits[NAMES]))
        assert list(scaler.get_feature_names_out()) == NAMES
    with pytest.raises(dimfree.InvalidDataError, match="feature names"):
        scaler.transform(dimfree.read_table(path, exclude=["age"]))


def test_a_scaler_of_sparse_records_does_not_centre(tmp_path):
    import scipy.sparse as sparse

    sparse.save_npz(tmp_path / "t.npz", sparse.random_array((500, 4), density=0.3, rng=1, format="csr"))
    with pytest.raises(InvalidParameterError, match="`with_mean` must be False"):
        PrivateStandardScaler(**BUDGET).fit(dimfree.read_table(tmp_path / "t.npz"))


def test_identifiers_are_warned_of_once_and_here(tmp_path, visits):
    path = tmp_path / "t.csv"
    visits[NAMES].assign(patient_id=visits["person"]).to_csv(path, index=False)
    calls = {
        "mean": lambda: dimfree.release_mean(path, **BUDGET),
        "means": lambda: dimfree.release_group_means(path, **BUDGET, by=visits["person"] % 2, groups=[0, 1]),
    }
    for call in calls.values():
        with pytest.warns(IdentifierWarning, match="patient_id") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dimfree.release_mean(path, **BUDGET, privacy_unit="patient_id")
        dimfree.release_mean(path, **BUDGET, exclude="patient_id")
    with pytest.warns(IdentifierWarning, match="patient_id"):
        table = dimfree.read_table(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dimfree.release_mean(table, **BUDGET, privacy_unit="patient_id")


def test_a_table_shows_and_gives_away_nothing(tmp_path, visits):
    path = write_frame(tmp_path, visits, ".csv")
    table = dimfree.read_table(path, exclude=TEXTS).select(Schema(), ("person",))
    assert repr(table) == "<Records: dimension=3>"
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(table)
    assert isinstance(dimfree.data.people.keys.open_keys(table.key("person")), Keys)
