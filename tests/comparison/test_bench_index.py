"""The index of targets says what the pages say, and every target finds its verdicts."""

import pytest
from benchmarks import index
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
from benchmarks.record import commit, provenance, provenance_lines, write_results
from benchmarks.registry import BENCHES

FEW = "benchmarks.accuracy.few"


@pytest.fixture
def folder(tmp_path):
    run = provenance(FEW, [], 1)
    verdicts = [
        {"target": "n = 240, d = 30: probability", "figure": "0.997 [0.99, 1]", "draws": "400", "state": MET},
        {"target": "n = 1000, d = 10000: error", "figure": "2 [1, 9]", "draws": "6", "state": OPEN},
    ]
    write_results(tmp_path, "few", {"run": run, "verdicts": verdicts}, ["# Few", *provenance_lines(run)])
    return tmp_path


def test_a_page_names_the_commit_that_measured_it(folder):
    assert f"commit {commit()}; seed 1" in (folder / "few.md").read_text()


def test_the_index_says_what_the_pages_say(folder, capsys):
    index.main(["--out", str(folder)])
    text = capsys.readouterr().out
    assert text == (folder / "index.md").read_text()
    assert "| 0.997 [0.99, 1] | 400 | [few](few.md) | met |" in text
    assert "| S1, 1000 × 10⁴: error/floor ≤ 3 | 2 [1, 9] | 6 | [few](few.md) | not resolved |" in text
    assert f"| S1, 1000 × 10⁵: error ≤ 0.5 |  |  | [few](few.md) | {UNTRIED} |" in text
    assert f"| [few](few.md) | {commit()} |" in text


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
