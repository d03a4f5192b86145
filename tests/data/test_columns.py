"""Columns chosen by public names: typos are answered by the schema, identifiers by a warning, records by nothing."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dimfree
from dimfree.data.formats import arrow_files as parquet
from dimfree.data.read import open_table, read_table
from dimfree.data.schema import Schema
from dimfree.errors import IdentifierWarning, InvalidFileError, InvalidParameterError
from dimfree.noise import SeededNoise

SECRET = 271828.25
KNOWN = {"epsilon": 4.0, "delta": 1e-6, "covariance": np.ones(2), "noise": SeededNoise(1)}


def people(rows=900):
    values = np.random.default_rng(0).standard_normal((rows, 3)) + [3, -1, SECRET]
    frame = pd.DataFrame(values, columns=["age", "income", "weight"])
    return frame.assign(patient_id=[f"p{at % 700}" for at in range(rows)])


@pytest.fixture
def names():
    return ["age", "income", "weight", "patient_id"]


@pytest.mark.parametrize(
    ("columns", "exclude", "places"),
    [
        (None, None, [0, 1, 2, 3]),
        (["income", "age"], None, [0, 1]),
        (None, ["patient_id"], [0, 1, 2]),
        (["income", "age"], ["age"], [1]),
        (("weight",), (), [2]),
        (pd.Index(["weight", "age"]), None, [0, 2]),
    ],
)
def test_places_in_the_order_of_the_table(names, columns, exclude, places):
    assert Schema.from_arguments(columns, exclude).places(names) == places


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"columns": ["agee"]}, "no column named 'agee'. Did you mean 'age'?"),
        ({"columns": ["Income"]}, "Did you mean 'income'?"),
        ({"exclude": ["patientid"]}, "Did you mean 'patient_id'?"),
        ({"columns": ["zzz"]}, "The table has 'age', 'income', 'weight', 'patient_id'."),
        ({"columns": ["age"], "exclude": ["age"]}, "leave no column"),
    ],
)
def test_a_name_that_is_not_there(names, choice, words):
    with pytest.raises(InvalidParameterError) as caught:
        Schema.from_arguments(**choice).places(names)
    assert words in str(caught.value)


def test_a_record_taken_for_names_is_not_quoted():
    for names in (["5.1", str(SECRET)], ["5.1", "Alice"]):
        with pytest.raises(InvalidParameterError) as caught:
            Schema.from_arguments(["age"]).places(names)
        assert not {"271828", "5.1", "Alice"} & set(str(caught.value).replace("'", " ").split())


@pytest.mark.parametrize("given", [[], [1], ["age", "age"], 5, np.array(["age"]), pd.Series(["age"]), {"age"}])
def test_what_is_no_list_of_names(given):
    with pytest.raises(InvalidParameterError, match="Pass a column name, or a list of them"):
        Schema.from_arguments(columns=given)


def test_one_name_needs_no_list():
    """As the first page says: exclude="patient_id"."""
    assert Schema.from_arguments(exclude="patient_id") == Schema.from_arguments(exclude=["patient_id"])
    assert Schema.from_arguments(columns="age").places(["id", "age"]) == [1]
    with pytest.raises(InvalidParameterError, match="There is no column named 'age,income'"):
        Schema.from_arguments(columns="age,income").places(["age", "income"])


def test_an_array_has_no_names_to_choose_by():
    with pytest.raises(InvalidParameterError, match="need a table with column names"):
        dimfree.release_mean(np.eye(3), epsilon=1, delta=1e-6, columns=["a"])


class MyFrame(pd.DataFrame):
    """A subclass in a package of its own, as GeoDataFrame is."""

    @property
    def _constructor(self):
        return MyFrame

    @property
    def _constructor_sliced(self):
        return MySeries


class MySeries(pd.Series):
    @property
    def _constructor(self):
        return MySeries


@pytest.mark.parametrize("choice", [{}, {"columns": ["income", "age"]}, {"exclude": ["weight"]}])
def test_subclasses_of_pandas_frames(choice):
    plain = people(2400).assign(region=["north", "south"] * 1200)
    frame = MyFrame(plain)
    assert type(frame.iloc[:, [0]]) is MyFrame
    assert type(frame["age"]) is MySeries
    width = 2 if choice else 3
    known = {"epsilon": 4.0, "delta": 1e-6, "covariance": np.ones(width), **choice}
    grouped = {"by": "region", "groups": ["north", "south"], "privacy_unit": "patient_id", **known}
    expected, found = (
        dimfree.release_group_means(table, **grouped, noise=SeededNoise(1))["north"] for table in (plain, frame)
    )
    assert found.mean.tobytes() == expected.mean.tobytes()
    plain, frame = plain.drop(columns="region"), frame.drop(columns="region")
    expected = dimfree.release_mean(plain, privacy_unit="patient_id", **known, noise=SeededNoise(1)).mean.tobytes()
    found = dimfree.release_mean(frame, privacy_unit="patient_id", **known, noise=SeededNoise(1))
    assert found.mean.tobytes() == expected
    fitted = dimfree.PrivateMean(**known, privacy_unit="patient_id", noise=SeededNoise(1)).fit(frame)
    assert fitted.location_.tobytes() == expected
    apart = dimfree.release_mean(
        frame.drop(columns="patient_id"), privacy_unit=frame["patient_id"], **known, noise=SeededNoise(1)
    )
    assert apart.mean.tobytes() == expected
    with pytest.raises(InvalidParameterError, match="index of X"):
        dimfree.release_mean(frame, privacy_unit=frame["patient_id"][::-1], **known)


def test_the_estimator_fits_the_chosen_columns():
    model = dimfree.PrivateMean(
        **KNOWN, columns=["age", "income", "weight"], exclude=["weight"], privacy_unit="patient_id"
    )
    model.fit(people())
    assert list(model.feature_names_in_) == ["age", "income"]
    assert model.release_.columns == ("age", "income")


def test_only_the_chosen_columns_of_a_parquet_file_are_read(tmp_path, monkeypatch):
    """A damaged page in another column is not met; nested columns count as several to Parquet."""
    table = pa.Table.from_pandas(people()).add_column(0, "nested", pa.array([{"a": 1, "b": [2]}] * 900))
    pq.write_table(table, tmp_path / "t.parquet")
    expected = people()[["age", "weight"]].to_numpy()
    for narrow in (128, 0):
        monkeypatch.setattr(parquet, "NARROW", narrow)
        monkeypatch.setattr("dimfree.data.read.LARGE", 0)
        how = Schema(keys=("patient_id",), columns=("weight", "age"))
        records, [persons], _ = open_table(tmp_path / "t.parquet", how)
        assert records.columns == ("age", "weight")
        assert persons.to_pylist() == people()["patient_id"].tolist()
        assert np.concatenate([block for block, _ in records.blocks(100)]).tobytes() == expected.tobytes()


def test_a_csv_without_names(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    with pytest.raises(InvalidFileError, match="no column names"):
        read_table(tmp_path / "t.csv", columns=["a"])


@pytest.mark.parametrize("head", [",age,income", '"",age,income', "0,age,income", "2001, age ,income"])
def test_a_first_line_that_has_the_listed_names_is_one_of_names(tmp_path, head):
    """Such as that of an index that pandas or R wrote."""
    path = tmp_path / "t.csv"
    path.write_text(f"{head}\nr1,2,3\n{SECRET},4,5\n")
    with pytest.raises(InvalidFileError, match="--columns"):
        read_table(path)
    records = read_table(path, columns=["age", "income"])
    np.testing.assert_array_equal(records._source.table, [[2, 3], [4, 5]])
    with pytest.raises(InvalidFileError, match="mixes names") as caught:
        read_table(path, columns=["age", "height"])
    assert "271828" not in str(caught.value)


def test_a_typo_in_a_file_names_the_path(tmp_path):
    (tmp_path / "t.csv").write_text(f"age,income\n{SECRET},4\n")
    with pytest.raises(InvalidFileError, match=r"t\.csv cannot be used: .*Did you mean 'age'") as caught:
        read_table(tmp_path / "t.csv", columns=["aeg"])
    assert "271828" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "patient_id", "PatientID", "patientId", "index", "Unnamed: 0", "user-id", "row", "uuid", "a key"],
)
def test_names_of_identifiers(name):
    assert Schema().find_identifiers(["age", name]) == [name]
    assert Schema.from_arguments(["age", name]).find_identifiers(["age", name]) == []  # asked for by name


@pytest.mark.parametrize("name", ["age", "paid", "grid", "body_mass_index", "acid", "monkey", "idea", "rows", "humid"])
def test_other_names(name):
    assert Schema().find_identifiers([name]) == []


@pytest.mark.parametrize(
    ("name", "told"),
    [("zip_code", True), ("accountNumber", True), ("zip", True), ("case_no", False), ("price_index", False)]
    + [("children", False), ("number_of_rooms", False), ("encode", False)],
)
def test_numbers_that_are_labels(name, told):
    assert Schema().find_identifiers([name]) == [name] * told
    assert Schema().find_identifiers([name], [name]) == [name]  # stored as text


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint32(), pa.int8(), pa.float64()])
def test_the_type_of_numbers_in_a_file_decides_nothing(tmp_path, kind):
    columns = {name: pa.array([1, 2], kind) for name in ("case_no", "zip_code", "visits")}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.warns(IdentifierWarning, match="^'zip_code' looks like an identifier"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("entry", [3, 3.5, None])
def test_no_entry_decides_about_a_warning(tmp_path, entry):
    """One fraction or gap makes floats of a column that pandas has read, and whole numbers of none."""
    frame = pd.DataFrame({"age": [1.0, 2.0], "case_no": [1, entry], "zip_code": [1, entry]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    files = [partial(read_table, tmp_path / f"t.{ending}") for ending in ("csv", "parquet")]
    for read in (partial(release_of, frame), *files):
        with pytest.warns(IdentifierWarning, match="^'zip_code' looks like an identifier"):
            read()


def release_of(frame):
    return dimfree.release_mean(frame, epsilon=1.0, delta=1e-6, missing="complete-case", noise=SeededNoise(1))


def test_a_warning_before_anything_is_spent(tmp_path):
    frame = people().assign(patient_id=np.arange(900.0))
    spent = dimfree.PrivacyLedger(tmp_path / "s.db", "study", epsilon=50.0, delta=1e-3)
    given = {**KNOWN, "covariance": np.ones(4), "ledger": spent}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IdentifierWarning, match="'patient_id' looks like an identifier"):
            dimfree.release_mean(frame, **given)
        assert len(spent.entries()) == 1  # it was opened
        dimfree.release_mean(frame, **{**KNOWN, "noise": SeededNoise(1)}, columns=["age", "patient_id"])
        dimfree.release_mean(frame, **{**KNOWN, "covariance": np.ones(3)}, exclude=["patient_id"])
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    with pytest.warns(IdentifierWarning):
        read_table(tmp_path / "t.parquet")


def test_text_that_a_file_declares_is_asked_about(tmp_path):
    pq.write_table(pa.table({"age": [1.0], "zip": ["01234"]}), tmp_path / "t.parquet")
    with pytest.warns(IdentifierWarning, match="'zip' looks like an identifier"):
        read_table(tmp_path / "t.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(tmp_path / "t.parquet", columns=["age", "zip"])
