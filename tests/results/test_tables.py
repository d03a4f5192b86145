"""The table of a mean in files: the numbers read back bit for bit, and a name is no formula."""

import csv
import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pages import common

from dimfree.errors import InvalidFileError, RefusedReleaseError
from dimfree.results.error_model import ErrorModel
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release
from dimfree.results.tables import format_csv, write_mean

SHOWN = ["name", "mean", "noise_stddev", "ci_low", "ci_high", "ci_covers", "noise_to_sd"]
KINDS = ["npy", "npz", "csv", "parquet"]

finite = st.floats(-1e300, 1e300, allow_nan=False, width=64)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5
)
in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def a_release(mean=(1.5, -0.0), noise_stddev=(0.1, 5e-324), columns=("a", "b"), refused=False, **known):
    fixed = common(len(mean), columns)
    if refused:
        return Release.from_refusal("Too few rows.", **fixed)
    return Release.released(mean=mean, noise_stddev=noise_stddev, error_model=ErrorModel(**known), **fixed)


# ------------------------------------------------------------------------------------------------ one mean


def read_mean(path):
    match path.suffix:
        case ".npz":
            with np.load(path) as archive:
                return tuple(archive["name"].tolist()), archive["mean"], archive["noise_stddev"]
        case ".csv":
            with path.open(newline="", encoding="utf-8") as file:
                header, *rows = csv.reader(file)
            assert header == SHOWN
            return tuple(row[0].removeprefix("'") for row in rows), *(
                np.array([float(row[i]) for row in rows]) for i in (1, 2)
            )
        case _:
            table = pq.read_table(path)
            assert table.column_names == SHOWN
            return tuple(table["name"].to_pylist()), table["mean"].to_numpy(), table["noise_stddev"].to_numpy()


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet"])
@in_folder
@given(
    rows=st.lists(
        st.tuples(names, finite, st.floats(min_value=0, max_value=1e150, exclude_min=True)), min_size=1, max_size=5
    )
)
def test_a_mean_round_trips_bit_for_bit(tmp_path, kind, rows):
    columns, mean, noise_stddev = zip(*rows, strict=True)
    path = tmp_path / f"mean.{kind}"
    write_mean(path, a_release(mean, noise_stddev, columns), force=True)
    read_names, *read = read_mean(path)
    assert read_names == columns
    for values, expected in zip(read, (mean, noise_stddev), strict=True):
        assert values.tobytes() == np.array(expected, dtype=float).tobytes()


def test_stdout_is_csv_and_unnamed_columns_are_numbered(capsys):
    write_mean("-", a_release(columns=None))
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split(",") == SHOWN
    assert [line.split(",")[:3] for line in lines] == [["0", "1.5", "0.1"], ["1", "-0.0", "5e-324"]]
    assert all(line.endswith(",") for line in lines), "nothing is known of the spread"


def test_a_name_that_standard_output_cannot_encode_is_printed_as_a_file_has_it(monkeypatch):
    release, out = a_release(columns=("größe", "重量")), io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out, encoding="cp1252", newline=""))
    write_mean("-", release)
    assert out.getvalue().decode() == format_csv(release)


def test_the_file_is_the_frame(tmp_path):
    release = a_release((1.0, 2.0), (0.1, 0.2), record_stddev=np.ones(2), records=100.0)
    write_mean(tmp_path / "m.csv", release)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "m.csv"), release.to_frame(), check_exact=True)
    assert release.to_frame()["ci_high"].tolist() == release.confidence_interval(0.95)[1].tolist()


@pytest.mark.parametrize("first", [*"=+-@'\t\r\n ", "＝", "＠"])
def test_a_name_is_no_formula(tmp_path, first):
    names = (f"{first}HYPERLINK(1)", "plain-name=")
    write_mean(tmp_path / "m.csv", a_release(columns=names))
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    assert [row[0] for row in rows] == [f"'{names[0]}", names[1]]
    assert read_mean(tmp_path / "m.csv")[0] == names
    north = format_csv(some_means(**{names[0]: a_release()}))
    assert f"'{names[0]}" in north


# ------------------------------------------------------------------------------------------------ means of groups


def some_means(**releases):
    return GroupMeans(a_release().guarantee, releases)


def test_groups_are_one_long_table_without_the_refused(capsys):
    means = some_means(north=a_release(), south=a_release(refused=True), **{"a, b": a_release((1.0,), (2.0,), None)})
    header, *lines = csv.reader(format_csv(means).splitlines())
    assert header == ["group", *SHOWN]
    assert [line[:4] for line in lines] == [
        ["north", "a", "1.5", "0.1"],
        ["north", "b", "-0.0", "5e-324"],
        ["a, b", "0", "1.0", "2.0"],
    ]
    write_mean("-", means)
    assert capsys.readouterr().out == format_csv(means)


@pytest.mark.parametrize("keys", [("x", "y"), (7, 3)])
def test_a_parquet_table_of_groups_keeps_keys_and_bits(tmp_path, keys):
    means = GroupMeans(some_means(x=a_release()).guarantee, {keys[0]: a_release(), keys[1]: a_release((0.1, 2.0))})
    write_mean(tmp_path / "m.parquet", means)
    table = pq.read_table(tmp_path / "m.parquet")
    assert table.column_names == ["group", *SHOWN]
    assert table["group"].to_pylist() == [keys[0]] * 2 + [keys[1]] * 2
    assert table["name"].to_pylist() == ["a", "b"] * 2
    assert table["mean"].to_numpy().tobytes() == np.array([1.5, -0.0, 0.1, 2.0]).tobytes()
    assert table["noise_stddev"].to_numpy().tobytes() == np.array([0.1, 5e-324] * 2).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_table_writes_nothing(tmp_path, kind):
    with pytest.raises(RefusedReleaseError):
        write_mean(tmp_path / f"m.{kind}", a_release(refused=True))
    refused, wrong = some_means(a=a_release(refused=True)), (InvalidFileError, "ends in .csv or .parquet")
    error, said = (
        wrong if kind in ("npy", "npz") else (RefusedReleaseError, "All groups")
    )  # arrays hold no names of groups
    with pytest.raises(error, match=said):
        write_mean(tmp_path / f"m.{kind}", refused)
    assert list(tmp_path.iterdir()) == []
    write_mean(tmp_path / "m.npy", a_release())
    assert np.load(tmp_path / "m.npy").tobytes() == np.array([1.5, -0.0]).tobytes()


# ------------------------------------------------------------------------------------------------ printed


def test_print_shows_the_means_first_and_at_most_40_lines():
    names = ("age", "größe", "=1+1")
    known = {"record_stddev": np.array([5.0, 1.0, 0.05]), "records": 100.0}
    release = a_release((1234.5, -0.25, 0.0), (0.1, 0.1, 0.1), names, **known)
    head, *rows = str(release).splitlines()
    assert head.split("  ")[0] == "column"
    assert [row.split()[0] for row in rows[:3]] == list(names)
    assert [row.split()[1] for row in rows[:3]] == ["1,234.50", "-0.25", "0.00"]
    assert [row.endswith(note) for row, note in zip(rows, ("0.10", "0.10", "lost in noise"), strict=False)] == [
        True
    ] * 3
    assert rows[-1].startswith("Guarantee: epsilon=1.0, delta=1e-06, add-remove")
    assert "\n" not in repr(release)
    wide = a_release(np.zeros(50), np.ones(50), None)
    lines = str(some_means(**{f"g{k}": wide for k in range(9)}, z=a_release(refused=True))).splitlines()
    assert len(lines) <= 40
    assert lines[0].split()[:3] == ["group", "column", "mean"]
    assert "33 of 451 rows are shown" in lines[-2]
    assert str(a_release(refused=True)).startswith("Refused: Too few rows.")
    assert "refused: Too few rows." in str(some_means(south=a_release(refused=True))).splitlines()[1]
