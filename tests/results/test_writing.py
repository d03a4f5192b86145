"""Writing: whole or not at all, never over another file, and the numbers read back bit for bit."""

import csv
import errno
import os
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.errors import InvalidFile, RefusedRelease
from dimfree.results.drafts import publish_together
from dimfree.results.error_model import ErrorModel
from dimfree.results.grouped import Means
from dimfree.results.release import Release
from dimfree.results.writing import check_target, draft_mean, mean_csv, write_mean, write_text

SHOWN = ["name", "mean", "noise_stddev", "ci_low", "ci_high", "ci_covers", "noise_over_spread"]
KINDS = ["npy", "npz", "csv", "parquet"]

finite = st.floats(-1e300, 1e300, allow_nan=False, width=64)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5
)
in_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def a_release(mean=(1.5, -0.0), noise_stddev=(0.1, 5e-324), columns=("a", "b"), refused=False, **known):
    common = {
        "guarantee": Guarantee(1.0, 1e-6, Neighbours.ADD_REMOVE, True),
        "ledger": Costs(Budget(1.0, 1e-6), Neighbours.ADD_REMOVE, before=(), menu=()),
        "method": "stable",
        "dimension": len(mean),
        "columns": columns,
        "parameters": {},
    }
    if refused:
        return Release.refused_because("Too few rows.", **common)
    model = ErrorModel(**known)
    return Release.released(mean=np.array(mean), noise_stddev=np.array(noise_stddev), error_model=model, **common)


def refusal_of(action, *args, **kwargs):
    with pytest.raises(InvalidFile) as caught:
        action(*args, **kwargs)
    return str(caught.value)


def write(path, text):
    path.write_text(text, newline="")
    return path


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


def test_npy_holds_the_mean(tmp_path):
    write_mean(tmp_path / "m.npy", a_release())
    assert np.load(tmp_path / "m.npy").tobytes() == np.array([1.5, -0.0]).tobytes()


def test_stdout_is_csv_and_unnamed_columns_are_numbered(capsys):
    write_mean("-", a_release(columns=None))
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split(",") == SHOWN
    assert [line.split(",")[:3] for line in lines] == [["0", "1.5", "0.1"], ["1", "-0.0", "5e-324"]]
    assert all(line.endswith(",") for line in lines), "nothing is known of the spread"


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
    north = mean_csv(some_means(**{names[0]: a_release()}))
    assert f"'{names[0]}" in north


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_release_writes_nothing(tmp_path, kind):
    with pytest.raises(RefusedRelease):
        write_mean(tmp_path / f"m.{kind}", a_release(refused=True))
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ means of groups


def some_means(**releases):
    return Means(Guarantee(1.0, 1e-6, Neighbours.ADD_REMOVE, True), releases)


def test_groups_are_one_long_table_without_the_refused(capsys):
    means = some_means(north=a_release(), south=a_release(refused=True), **{"a, b": a_release((1.0,), (2.0,), None)})
    header, *lines = csv.reader(mean_csv(means).splitlines())
    assert header == ["group", *SHOWN]
    assert [line[:4] for line in lines] == [
        ["north", "a", "1.5", "0.1"],
        ["north", "b", "-0.0", "5e-324"],
        ["a, b", "0", "1.0", "2.0"],
    ]
    write_mean("-", means)
    assert capsys.readouterr().out == mean_csv(means)


@pytest.mark.parametrize("keys", [("x", "y"), (7, 3)])
def test_a_parquet_table_of_groups_keeps_keys_and_bits(tmp_path, keys):
    means = Means(some_means(x=a_release()).guarantee, {keys[0]: a_release(), keys[1]: a_release((0.1, 2.0))})
    write_mean(tmp_path / "m.parquet", means)
    table = pq.read_table(tmp_path / "m.parquet")
    assert table.column_names == ["group", *SHOWN]
    assert table["group"].to_pylist() == [keys[0]] * 2 + [keys[1]] * 2
    assert table["name"].to_pylist() == ["a", "b"] * 2
    assert table["mean"].to_numpy().tobytes() == np.array([1.5, -0.0, 0.1, 2.0]).tobytes()
    assert table["noise_stddev"].to_numpy().tobytes() == np.array([0.1, 5e-324] * 2).tobytes()


def test_groups_that_are_all_refused_write_nothing(tmp_path):
    with pytest.raises(RefusedRelease, match="All groups"):
        write_mean(tmp_path / "m.csv", some_means(a=a_release(refused=True), b=a_release(refused=True)))
    assert list(tmp_path.iterdir()) == []


def test_arrays_cannot_hold_names_of_groups(tmp_path):
    for kind in ("npy", "npz"):
        assert "ending in .csv or .parquet" in refusal_of(write_mean, tmp_path / f"m.{kind}", some_means(a=a_release()))


# ------------------------------------------------------------------------------------------------ whole or not at all


def test_missing_pyarrow_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'pyarrow>=" in refusal_of(check_target, tmp_path / "out.parquet")


def test_nothing_is_overwritten_without_force(tmp_path):
    path = write(tmp_path / "m.csv", "old")
    assert "--force" in refusal_of(write_mean, path, a_release())
    assert "--force" in refusal_of(write_text, path, "new")
    assert path.read_text() == "old"
    write_text(path, "new", force=True)
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_after_the_check_survives(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    draft = draft_mean(tmp_path / "m.csv", a_release())
    write(tmp_path / "m.csv", "theirs")
    assert "already exists" in refusal_of(publish_together, [draft])
    assert (tmp_path / "m.csv").read_text() == "theirs"
    assert len(list(tmp_path.iterdir())) == 1


def test_file_systems_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    write_text(tmp_path / "r.json", "text")
    assert (tmp_path / "r.json").read_text() == "text"
    assert len(list(tmp_path.iterdir())) == 1


def failing(number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", [None, "old"])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path, monkeypatch, step, old):
    path = tmp_path / "m.csv"
    if old is not None:
        write(path, old)
    monkeypatch.setattr(os, step, failing(errno.ENOSPC))
    message = refusal_of(write_mean, path, a_release(), force=True)
    assert "no space left" in message
    assert str(path) in message
    assert [p.read_text() for p in tmp_path.iterdir()] == ([] if old is None else [old])


def test_an_interrupt_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "r.json", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path):
    target = write(tmp_path / "real.csv", "old")
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    write_text(link, "new", force=True)
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_permissions_follow_the_umask(tmp_path):
    write_text(tmp_path / "a.json", "x")
    (tmp_path / "b.json").write_text("x")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "b.json").stat().st_mode


def test_targets_are_checked_before_anything_is_spent(tmp_path):
    check_target(tmp_path / "m.csv")
    assert not (tmp_path / "m.csv").exists()
    assert "unknown ending" in refusal_of(check_target, tmp_path / "m.txt")
    assert "unknown ending" in refusal_of(check_target, tmp_path / "m.csv", endings=(".json",))
    assert "folder does not exist" in refusal_of(check_target, tmp_path / "none" / "m.csv")
    (tmp_path / "d.csv").mkdir()
    assert "is a folder" in refusal_of(check_target, tmp_path / "d.csv", force=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "not writable" in refusal_of(check_target, tmp_path / "closed" / "m.csv")
