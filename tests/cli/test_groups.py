"""`dimfree mean --by`: one long table, refused groups by name, and never a label that is not public."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from routes import with_options
from typer.testing import CliRunner

import dimfree.release_groups
from dimfree.cli import app, progress
from dimfree.noise import SeededNoise
from dimfree.options import Options
from dimfree.release_groups import release_group_means
from dimfree.results.grouped import GroupMeans

SECRET = "secret-271828"
SIZES = {"north": 823, "south": 1031, "east": 13, SECRET: 419}  # appear nowhere else, so they would show
WHERE = {"north": 5.0, "south": -3.0, "east": 0.0, SECRET: 271828.25}
BUDGET = ["--epsilon", "4", "--delta", "1e-4", "--failure-probability", "1e-6"]
GROUPS = ["--by", "region", "--groups", "keys.txt"]
KNOWN = ["--covariance", "cov.csv"]


@pytest.fixture
def folder(folder, monkeypatch, rng, seed):
    """People of four regions, one of which has no public name, as .csv and .parquet; a third of them came twice."""
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: SeededNoise(seed))  # no test hangs on luck
    regions = rng.permutation([region for region, size in SIZES.items() for _ in range(size)]).tolist()
    values = rng.normal(size=(len(regions), 2)) + np.array([[WHERE[region]] for region in regions])
    who = [f"{SECRET}-{row % 1543}" for row in range(len(regions))]
    table = {"age": values[:, 0], "region": regions, "income": values[:, 1], "who": who}
    write_tables("visits", table)
    del table["who"]
    write_tables("data", table)
    np.save("data.npy", values)
    Path("cov.csv").write_text("age,income\n1,1\n")
    Path("keys.txt").write_text("north\n\nsouth\neast\n")
    return folder


def write_tables(stem, table):
    pq.write_table(pa.table(table), f"{stem}.parquet")
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    Path(f"{stem}.csv").write_text("\n".join([",".join(table), *lines]) + "\n")


def run(*args, data="data.csv", groups=GROUPS, known=KNOWN, expect=0):
    """Run the command; whatever it says, it never says a secret."""
    result = CliRunner().invoke(app, ["mean", data, *BUDGET, *groups, *known, "--verbose", *map(str, args)])
    assert result.exit_code == expect, result.output
    for text in (result.stdout, result.stderr):
        assert "271828" not in text
        assert "Traceback" not in text
        assert not re.search(rf"(?<![\d.])({'|'.join(map(str, SIZES.values()))})(?!\d)", text)  # as a number of its own
    return result


def words_of(result):
    return " ".join(result.stderr.replace("│", " ").split())


def rows_of(text):
    header, *rows = csv.reader(io.StringIO(text))
    assert header == ["group", "name", "mean", "noise_stddev", "ci_low", "ci_high", "ci_covers", "noise_to_sd"]
    return [(group, name, float(mean), float(noise)) for group, name, mean, noise, *_ in rows]


def by_hand(data="data.parquet", seed=42, **changes):
    """The same release without the command line."""
    options = {"epsilon": 4.0, "delta": 1e-4, "failure_probability": 1e-6, "covariance": np.ones(2), **changes}
    keys = ["north", "south", "east"]
    return release_group_means(
        pq.read_table(data), **with_options(by="region", groups=keys, noise=SeededNoise(seed), **options)
    )


@pytest.mark.parametrize("data", ["data.csv", "data.parquet"])
def test_a_long_table_to_stdout_and_talk_to_stderr(folder, data, seed):
    result = run(data=data)
    rows = rows_of(result.stdout)
    assert [row[:2] for row in rows] == [(g, n) for g in ("north", "south") for n in ("age", "income")]
    wanted = by_hand(seed=seed)
    assert [row[2] for row in rows] == [*wanted["north"].mean, *wanted["south"].mean]
    assert [row[3] for row in rows] == [*wanted["north"].noise_stddev, *wanted["south"].noise_stddev]
    words = words_of(result)
    for phrase in (
        "Released in part",
        "All 3 group means together",
        "epsilon=4.0",
        "2 released, 1 refused",
        "publicly known",
    ):
        assert phrase in words
    assert "east: The number of records is too small" in words
    assert f"SD {min(row[3] for row in rows):.4g} to" in words
    assert "Noise is below 10% of the SD in 4 of 4 columns, over all groups" in words
    assert "standard output" in words
    assert "Not private: the noise was seeded." in words


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_get_the_product(folder, ending, seed):
    result = run("-o", f"means.{ending}", "--json", "record.json")
    assert result.stdout == ""
    assert f"means.{ending}" in result.stderr
    assert "record.json" in result.stderr
    if ending == "csv":
        rows = rows_of(Path("means.csv").read_text())
    else:
        rows = [tuple(row.values()) for row in pq.read_table("means.parquet").to_pylist()]
    means = GroupMeans.from_json(Path("record.json").read_text())
    assert [row[2] for row in rows] == [*means["north"].mean, *means["south"].mean]
    assert means.to_json() == by_hand(seed=seed).to_json()
    assert "271828" not in Path("record.json").read_text()


def test_persons(folder, seed):
    result = run("--privacy-unit", "who", "--json", "record.json", data="visits.csv")
    means = GroupMeans.from_json(Path("record.json").read_text())
    assert means.to_json() == by_hand("visits.parquet", seed, privacy_unit="who").to_json()
    assert "same 'who'" in words_of(result)
    assert "person means: each person counts once, with the mean of their rows, in each group" in words_of(result)
    run("--privacy-unit", "who", "--max-contributions", 1, "--json", "totals.json", data="visits.parquet")
    totals = GroupMeans.from_json(Path("totals.json").read_text())
    assert totals.to_json() == by_hand("visits.parquet", seed, privacy_unit="who", max_contributions=1).to_json()


def test_every_option_reaches_the_release(folder, monkeypatch):
    calls = []

    def fake(records, **options):
        calls.append(options)
        return by_hand()

    monkeypatch.setattr(dimfree.release_groups, "release_group_means", fake)
    run(
        *("--failure-probability", 0.2, "--outliers", 0.1, "--tails", "gaussian", "--missing", "complete-case"),
        *("--scale", "learn", "--window", 0.5, 1e3, "--objective", "total"),
    )
    run(known=[])
    first, second = ({name: value for name, value in call.items() if name not in ("tell", "by")} for call in calls)
    np.testing.assert_array_equal(first.pop("covariance"), np.ones(2))
    assert first == {
        "groups": ("north", "south", "east"),
        "privacy_unit": None,
        "max_contributions": None,
        "epsilon": 4.0,
        "delta": 1e-4,
        "objective": "total",
        "norm": None,
        "missing": "complete-case",
        "ledger": None,
        "options": Options(failure_probability=0.2, outliers=0.1, tails="gaussian", scale="learn", window=(0.5, 1e3)),
    }
    assert (second["covariance"], second["options"]) == (None, Options(failure_probability=1e-6))
    assert second["objective"] == "auto"


def test_all_refused_is_exit_3_and_no_table(folder):
    Path("keys.txt").write_text("east\nwest\n")
    result = run("-o", "means.csv", "--json", "record.json", expect=3)
    assert result.stdout == ""
    assert not Path("means.csv").exists()
    words = words_of(result)
    assert "Refused" in words
    assert "east, west: The number of records is too small" in words
    assert "0 released, 2 refused" in words
    assert "no mean" in words
    assert GroupMeans.from_json(Path("record.json").read_text()).refused == ("east", "west")
    assert run(expect=3).stdout == ""


def test_a_shape_that_could_not_be_learned_says_why(folder):
    Path("keys.txt").write_text("east\n")
    words = words_of(run(known=["--objective", "total"], expect=3))
    assert "estimated once from all groups" in words
    assert "so no group has a mean" in words
    assert "The number of records is too small" in words


def test_groups_by_their_own_spreads(folder):
    words = words_of(run("-o", "means.csv", "--json", "record.json", known=["--objective", "relative"]))
    assert "estimated in each group" in words
    means = GroupMeans.from_json(Path("record.json").read_text())
    assert means.overall is None
    assert {release.parameters["objective"] for release in means.values() if not release.refused} == {"relative"}


def sentence_of(*args, **kwargs):
    """The one line on stderr of a run that failed."""
    result = run(*args, **kwargs, expect=2)
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    return line


def test_a_relation_is_no_option_of_groups(folder):
    sentence = sentence_of("--neighbors", "replace-one")
    assert "--neighbors replace-one cannot be used with --by" in sentence


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_arrays_cannot_hold_names(folder, ending):
    assert ".csv or .parquet, got" in sentence_of("-o", f"means.{ending}")


def test_names_of_groups_that_cannot_be_used(folder):
    assert "never DATA" in sentence_of(groups=["--by", "region", "--groups", "./data.csv"])
    assert "does not exist" in sentence_of(groups=["--by", "region", "--groups", "none.txt"])
    Path("keys.txt").write_text(f"north\n{SECRET}\n{SECRET}\n")
    assert "line 3 repeats line 2" in sentence_of()
    Path("keys.txt").write_text("\n")
    assert "it is empty" in sentence_of()
    Path("keys.txt").write_text("north\nNA\n")
    for data in ("data.csv", "data.parquet"):
        assert "`groups` must not contain 'NA'" in sentence_of(data=data)


def test_columns_that_cannot_be_used(folder):
    assert "no column named 'area'" in sentence_of(groups=["--by", "area", "--groups", "keys.txt"])
    assert "two different columns" in sentence_of("--privacy-unit", "region")
    assert "has no column names" in sentence_of(data="data.npy")


def test_a_column_without_any_of_the_names_is_refused_not_an_error(folder):
    by_age = ["--by", "age", "--groups", "keys.txt"]  # whether an entry names a group is private
    run("--privacy-unit", "region", data="data.parquet", groups=by_age, known=[], expect=3)


def test_the_bar_moves_group_by_group(folder, monkeypatch):
    shown = []
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr("rich.progress.Progress.update", lambda bar, task, **what: shown.append(what))
    run()
    groups = [step for step in shown if "Releasing: group" in step["description"]]
    assert [(step["completed"], step["total"]) for step in groups] == [(0, 3), (1, 3), (2, 3)]
    assert groups[1]["description"] == "Releasing: group 2"


PRIVATE = ["--by", "region", "--private-groups"]


def test_large_groups_are_found_and_small_ones_stay_unnamed(folder):
    lines = Path("data.csv").read_text().splitlines()
    few = [line for line in lines if SECRET in line][:2]
    Path("found.csv").write_text("\n".join([line for line in lines if SECRET not in line] + few) + "\n")
    result = run("--json", "record.json", "--report", "page.html", data="found.csv", groups=PRIVATE, known=[])
    means = GroupMeans.from_json(Path("record.json").read_text())
    assert means.min_group_size is not None
    assert [row[0] for row in rows_of(result.stdout)] == ["north", "north", "south", "south"]
    assert "found by private partition selection within the same budget" in words_of(result)
    assert "271828" not in Path("record.json").read_text() + Path("page.html").read_text()


def test_nobody_is_named_and_the_budget_is_spent(folder):
    Path("few.csv").write_text("\n".join(Path("data.csv").read_text().splitlines()[:4]) + "\n")
    result = run("--json", "record.json", "--report", "page.html", data="few.csv", groups=PRIVATE, known=[], expect=3)
    assert "No group had enough people to be released" in words_of(result)
    assert "estimated in each group" in words_of(result)
    assert "given" not in words_of(result).split()
    assert list(GroupMeans.from_json(Path("record.json").read_text())) == []


@pytest.mark.parametrize(
    "groups",
    [[*GROUPS, "--private-groups"], ["--private-groups"], GROUPS[:2], GROUPS[2:], ["--by", "", *GROUPS[2:]]],
)
def test_a_list_or_private_groups_but_not_both(folder, groups):
    assert "--private-groups (finds large groups" in words_of(run(groups=groups, expect=2))


def test_a_name_that_was_found_cannot_command_the_terminal(folder):
    rows = [f"\x1b[2Jnorth,{place},{place}" for place in range(60)]
    Path("found.csv").write_text("\n".join(["region,age,income", *rows]) + "\n")
    budget = ["--epsilon", "1", "--delta", "1e-2", "--objective", "relative"]
    result = CliRunner().invoke(app, ["mean", "found.csv", *budget, *PRIVATE, "--json", "record.json"])
    assert list(GroupMeans.from_json(Path("record.json").read_text())) == ["\x1b[2Jnorth"]
    assert "refused" in result.stderr
    assert "\x1b[2J" not in result.stderr
