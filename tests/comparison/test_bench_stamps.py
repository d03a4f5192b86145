"""Stamps: all that a release runs through counts, wording does not; a page is current, or vouched for, or stale."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks import index, pages, stale
from benchmarks.accuracy import (
    bars,
    bases_verdicts,
    coverage_report,
    few,
    field_verdicts,
    ordinary_verdicts,
    planned_report,
    real_tables,
)
from benchmarks.accuracy.resolving import MET, OPEN, UNTRIED
from benchmarks.figures import d_unknown
from benchmarks.pages import stored
from benchmarks.record import provenance, provenance_lines, read_numbers, write_results
from benchmarks.registry import BENCHES
from benchmarks.stamp import PACKAGE, _imported, bench_digest, changed, counted, estimators_digest, stamp, syntax

import dimfree

FEW, PLANNED = "benchmarks.accuracy.few", "benchmarks.accuracy.planned"
BESIDE = ("__init__.py", "_types.py", "_validate", "data/gpu", "data/progress.py", "errors.py", "ledger")
# a release runs through them, and they change no bit of it: checks, where to work, progress, charges


# What counts


def entered(call) -> set[str]:
    """The files of dimfree in which some function ran; a first call does the imports and fills caches."""
    found: set[str] = set()
    call()

    def watch(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            found.add(str(path.relative_to(PACKAGE)))

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def with_error_bars(X, **given):
    release = dimfree.release_mean(X, epsilon=6.0, delta=1e-6, noise=dimfree.SeededNoise(1), **given)
    if not release.refused:
        release.confidence_interval(0.95, target="sample")
        release.error_radius(0.95, target="sample")
        release.confidence_ball(0.95)


@pytest.mark.parametrize(
    "given",
    [
        {"objective": "relative", "unit": [row // 2 for row in range(700)]},
        {"covariance": np.ones(3)},
        {"options": dimfree.Options(core="stable")},
    ],
    ids=lambda given: next(iter(given)),
)
def test_all_that_a_release_runs_through_counts(given):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3)), columns=["a", "b", "c"])
    left_out = entered(lambda: with_error_bars(X, **given)) - {str(path.relative_to(PACKAGE)) for path in counted()}
    assert {name for name in left_out if not name.startswith(BESIDE)} == set()


def test_wording_does_not_count_and_numbers_do():
    plain = 'def f(x):\n    """Says this."""\n    raise ValueError("a text of it")  # why\n    return x + 1\n'
    other = (
        'def f(\n    x,\n):\n    """Says something else."""\n    raise ValueError("another text")\n    return x + 1\n'
    )
    assert syntax(plain) == syntax(other)
    assert syntax(plain) != syntax(plain.replace("+ 1", "+ 2"))
    assert syntax('f("stable")') != syntax('f("soft")')


def test_a_benchmark_counts_its_own_modules():
    digests = {bench_digest(f"benchmarks.accuracy.{name}") for name in ("few", "field", "ordinary", "bases")}
    assert len(digests) == 4
    assert all(len(digest) == 16 for digest in {*digests, estimators_digest()})


def test_a_benchmark_of_plans_counts_the_plans_but_not_the_theorems_beside_them():
    counts = {path.relative_to(PACKAGE.parent).as_posix() for path in _imported(PLANNED) if PACKAGE in path.parents}
    assert {"dimfree/planning/plan.py", "dimfree/planning/predict.py", "dimfree/planning/thinned.py"} <= counts
    assert not any("paper_bounds" in name for name in counts)


# Pages


@pytest.fixture
def folder(tmp_path):
    run = provenance(FEW, [], 1)
    verdicts = [
        {"target": "n = 240, d = 30: probability", "figure": "0.997 [0.99, 1]", "draws": "400", "state": MET},
        {"target": "n = 1000, d = 10000: error", "figure": "2 [1, 9]", "draws": "6", "state": OPEN},
    ]
    write_results(tmp_path, "few", {"run": run, "verdicts": verdicts}, ["# Few", *provenance_lines(run)])
    return tmp_path


def rewritten(folder, **stamp):
    numbers = read_numbers(folder / "few.json.gz")
    lines = (folder / "few.md").read_text().splitlines()
    numbers["run"]["stamp"] |= stamp
    write_results(folder, "few", numbers, [lines[0], *provenance_lines(numbers["run"])])


def test_a_page_that_was_just_written_is_current(folder):
    assert stored(folder)["few"].stale == ""
    assert "Stamp: estimators " + estimators_digest() in (folder / "few.md").read_text()


@pytest.mark.parametrize("part", ["estimators", "bench"])
def test_other_code_makes_a_page_stale_and_the_command_is_said(folder, part):
    rewritten(folder, **{part: "0" * 16})
    assert f"({part} changed)" in stored(folder)["few"].stale
    (line,) = [line for line in stale.lines(folder) if line.startswith("few")]
    assert "python -m benchmarks.accuracy.few --budget" in line


def test_a_page_without_a_stamp_is_old_and_cannot_be_vouched_for(folder):
    numbers = read_numbers(folder / "few.json.gz")
    del numbers["run"]["stamp"]
    write_results(folder, "few", numbers, ["# Few"])
    assert stored(folder)["few"].stale.startswith("old")
    with pytest.raises(SystemExit, match="measure it again"):
        stale.accept("few", "renamed", folder)


def test_a_page_is_vouched_for_with_a_reason_where_no_seeded_release_has_changed(folder):
    rewritten(folder, estimators="0" * 16)
    stale.accept("few", "a function was renamed", folder)
    page = stored(folder)["few"]
    assert page.stale == ""
    assert "Stamp: estimators 0000000000000000" in (folder / "few.md").read_text()
    assert "a function was renamed" in (folder / "few.md").read_text()


def test_a_page_is_not_vouched_for_where_seeded_releases_have_changed(folder):
    rewritten(folder, estimators="0" * 16, releases="1" * 16)
    with pytest.raises(SystemExit, match="seeded releases have changed"):
        stale.accept("few", "a function was renamed", folder)
    assert stored(folder)["few"].stale


def test_what_was_vouched_for_holds_for_that_code_alone():
    given = stamp(FEW) | {"estimators": "0" * 16}
    given["accepted"] = [{"estimators": "1" * 16, "bench": given["bench"], "why": "…"}]
    assert changed(given, FEW) == ["estimators"]


def test_a_reason_has_to_be_given():
    with pytest.raises(SystemExit):
        stale.main(["--accept", "few"])


def test_benchmarks_without_a_page_are_listed(folder):
    assert pages.stale(folder)["ordinary"] == "never measured"


# The index


def test_the_index_says_what_the_pages_say(folder, capsys):
    index.main(["--out", str(folder)])
    text = capsys.readouterr().out
    assert text == (folder / "index.md").read_text()
    assert "| 0.997 [0.99, 1] | 400 | [few](few.md) | met |" in text
    assert "| S1, 1000 × 10⁴: error/floor ≤ 3 | 2 [1, 9] | 6 | [few](few.md) | not resolved |" in text
    assert f"| S1, 1000 × 10⁵: error ≤ 0.5 |  |  | [few](few.md) | {UNTRIED} |" in text
    assert "| [few](few.md) | current |" in text


def test_a_verdict_of_other_code_is_called_old(folder):
    rewritten(folder, bench="0" * 16)
    assert any("met, old" in line for line in index.lines(folder))


def asked_of(page):
    """The targets of a benchmark's verdicts, whatever was measured."""
    found = {
        "known": [*bars.verdicts([]), bars.dimension_verdict([])],
        "unknown": bars.verdicts([], bars.UNKNOWN_BARS),
        "real": real_tables.verdicts([]),
        "bases": bases_verdicts.verdicts([]),
        "few": few.verdicts([]),
        "coverage": coverage_report.verdicts([]),
        "planned": planned_report.verdicts([]),
        "ordinary": [*ordinary_verdicts.verdicts([], []), *ordinary_verdicts.error_bar_verdicts([])],
        "field": field_verdicts.all_ahead([]),
        "figures": [d_unknown.verdict({}, {})],
    }[page]
    assert {each["state"] for each in found} == {UNTRIED}
    return [each["target"] for each in found]


def test_every_target_finds_its_verdicts():
    asked = [target for targets in index.LISTS.values() for target in targets]
    assert len({target.asked for target in asked}) == len(asked)
    for target in asked:
        if target.page in BENCHES:  # speed is measured elsewhere
            assert all(any(said.startswith(words) for said in asked_of(target.page)) for words in target.begins), target
