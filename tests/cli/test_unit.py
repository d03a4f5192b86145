"""`dimfree mean --privacy-unit`: the column is read, text or numbers, taken out, and never repeated."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streams import read_keyed_table
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.errors import InvalidFileError
from dimfree.noise import SeededNoise
from dimfree.results.release import Release

SECRET = "secret-271828"
ROWS, PERSONS = 2411, 1201  # appear nowhere else, so they would show
BUDGET = ["--epsilon", "8", "--delta", "1e-3", "--covariance", "cov.csv"]


@pytest.fixture
def folder(folder, monkeypatch, rng, seed):
    """A table of text keys as .csv, .parquet and .npy; each person has one row or two, far apart, about (5, -3)."""
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(seed))  # no test hangs on luck
    who = [f"{SECRET}-{row % PERSONS}" for row in range(ROWS)]
    shift = rng.normal(size=(PERSONS, 2))
    values = np.array([(5, -3)]) + shift[np.arange(ROWS) % PERSONS] + rng.normal(size=(ROWS, 2))
    names, table = ["age", "visit", "income"], {"age": values[:, 0], "visit": who, "income": values[:, 1]}
    pq.write_table(pa.table(table), "data.parquet")
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    Path("data.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    np.save("data.npy", values)
    Path("cov.csv").write_text("age,income\n2,2\n")
    return folder


def run(*args, data, expect=0):
    result = CliRunner().invoke(app, ["mean", data, *BUDGET, "--verbose", *map(str, args)])
    assert result.exit_code == expect, result.output
    for text in (result.stdout, result.stderr):
        assert "271828" not in text
        assert "Traceback" not in text
        assert not re.search(rf"(?<![\d.])({ROWS}|{PERSONS})(?!\d)", text)  # as a number of its own
    return result


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_persons_in_a_mean_of_means_out(folder, data):
    result = run("--privacy-unit", "visit", "--json", "release.json", data=data)
    words = " ".join(result.stderr.replace("│", " ").split())
    assert "same 'visit'" in words
    assert "the mean of person means" in words
    release = Release.from_json(Path("release.json").read_text())
    assert (release.columns, release.dimension) == (("age", "income"), 2)
    assert (release.guarantee.privacy_unit, release.guarantee.privacy_id) == ("person", "visit")
    assert "person means" in release.parameters["estimates"]
    assert np.abs(release.mean - (5, -3)).max() < 0.5
    assert SECRET not in Path("release.json").read_text()


def test_totals_of_the_first_rows(folder):
    run("--privacy-unit", "visit", "--max-contributions", 2, "--json", "release.json", data="data.csv")
    release = Release.from_json(Path("release.json").read_text())
    assert release.guarantee.max_contributions == 2
    assert np.abs(release.mean - 2 * np.array((5, -3))).max() < 1


def sentence_of(*args, data):
    result = run(*args, data=data, expect=2)
    assert result.stdout == ""
    return result.stderr


def test_a_column_that_is_not_there(folder):
    for data in ("data.csv", "data.parquet"):
        assert "no column named 'patient'" in sentence_of("--privacy-unit", "patient", data=data)


def test_a_file_without_names(folder):
    Path("bare.csv").write_text("1,2\n3,4\n")
    assert "has no column names" in sentence_of("--privacy-unit", "visit", data="data.npy")
    assert "no line of names" in sentence_of("--privacy-unit", "visit", data="bare.csv")


def test_a_column_of_whole_numbers_that_became_floats(folder):
    table = pq.read_table("data.parquet")
    who = [None if row == 7 else float(row % PERSONS) for row in range(ROWS)]
    pq.write_table(table.set_column(1, "visit", pa.array(who)), "floats.parquet")
    assert "no key" in sentence_of("--privacy-unit", "visit", data="floats.parquet")
    run("--privacy-unit", "visit", "--missing", "complete-case", "--json", "release.json", data="floats.parquet")
    release = Release.from_json(Path("release.json").read_text())
    assert np.abs(release.mean - (5, -3)).max() < 0.5


def test_rows_without_persons(folder):
    assert "max_contributions=3" in sentence_of("--max-contributions", 3, data="data.csv")
    assert "`max_contributions` must" in sentence_of(
        "--max-contributions", 0, "--privacy-unit", "visit", data="data.csv"
    )


def test_text_that_is_no_key_is_still_no_number(folder):
    assert "column 'visit' contains a cell that is not a number" in sentence_of(data="data.csv")


def test_missing_keys_stop_or_count_for_nothing(folder):
    text = Path("data.csv").read_text().replace(f"{SECRET}-7,", ",")
    Path("gaps.csv").write_text(text)
    assert "no key" in sentence_of("--privacy-unit", "visit", data="gaps.csv")
    run("--privacy-unit", "visit", "--missing", "complete-case", data="gaps.csv")


def test_cells_are_text_without_the_spaces_around_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('who,x\n 007 ,1\n7,2\n"a,b",3\n,4\nNA,5\nnan,6\n1.0,7\n')
    records, [keys] = read_keyed_table(path, ("who",))
    assert keys == ["007", "7", "a,b", None, None, None, "1.0"]
    assert records.columns == ("x",)
    (block, _), *_ = records.blocks()
    assert block.ravel().tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("text", "words"), [("who\np\n", "no columns"), ("who,who,x\np,q,1\n", "more than one column")]
)
def test_headers_that_cannot_be_used(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match=words):
        read_keyed_table(path, ("who",))
