"""The benchmark of the field: every cell of the design's table is there, and the verdicts follow from the errors."""

import json
from dataclasses import replace

import pytest
from benchmarks.accuracy.field import measure, run
from benchmarks.accuracy.field_cells import ADD, REPLACE, FieldCell, field_cells, quick_cells
from benchmarks.accuracy.field_tables import report
from benchmarks.accuracy.field_verdicts import OURS, PEERS, all_ahead, beside, scores_of, verdict, verdicts
from benchmarks.accuracy.resolving import MET, MISSED, OPEN
from benchmarks.accuracy.running import Way
from benchmarks.accuracy.spectra import SPECTRA
from benchmarks.record import provenance
from dimfree.comparison.contestants import CONTESTANTS
from dimfree.comparison.outcome import Score

NOTHING_TOLD, SIGMA_TOLD = OURS
MEASURED_BEFORE = {  # where the design first measured the peers: spectrum, d, n
    *(("S1", 100, n) for n in (1000, 16_000)),
    *(("S1", 1000, n) for n in (1000, 4000, 16_000)),
    *(("S1", d, 1000) for d in (10_000, 100_000)),
    ("S2", 1000, 4000),
    ("S3", 1000, 16_000),
    ("S4", 1000, 1000),
    ("S4", 1000, 16_000),
}


def scores(**errors):
    """Everybody at 10, but for those named (blanks as underscores); None is a refusal."""
    found = {}
    for contestant in CONTESTANTS:
        error = errors.get(contestant.name.replace(" ", "_").replace("-", "_"), 10.0)
        found[contestant.name] = Score(
            name=contestant.name,
            told=contestant.told,
            private=contestant.private,
            at=1000,
            world="S1, d = 9",
            n=1000,
            epsilon=1.0,
            errors=() if error is None else (error,) * 3,
            refusals=3 if error is None else 0,
            seconds=0.1,
            remark="",
        )
    return found


# Cells


def test_every_cell_of_the_design_is_measured():
    cells = field_cells(20)
    places = {(cell.spectrum, cell.dimension, cell.count) for cell in cells if cell.neighbours == ADD}
    assert places >= MEASURED_BEFORE
    assert {cell.spectrum for cell in cells if cell.neighbours == REPLACE} == set(SPECTRA)
    assert all(cell.count >= 1000 and cell.trials >= 6 for cell in cells)
    assert len(set(cells)) == len(cells)


def test_a_quick_run_is_small():
    assert all(cell.dimension <= 1000 and cell.count <= 4000 for cell in quick_cells(2))


# Verdicts


def test_ours_and_theirs():
    assert [ours.name for ours in OURS] == ["dimfree", "dimfree known"]
    assert {peer.name for peer in PEERS} == {c.name for c in CONTESTANTS[4:]}


def test_ahead_of_those_with_no_more_knowledge():
    found = verdict(SIGMA_TOLD, scores(dimfree_known=2.0, Huang_Liang_Yi=3.0, PLAN=9.0))
    assert found["ahead"]
    assert (found["best_rival"], found["best_rival_error"]) == ("Huang-Liang-Yi", 3.0)
    assert found["nearer_but_told_more"] == {}
    assert found["ahead_of_told_more"] == found["told_more"] == ["PLAN"]


@pytest.mark.parametrize("peer", [p for p in PEERS if p.name != "PLAN"], ids=lambda p: p.name)
def test_behind_a_peer_with_no_more_knowledge_is_said(peer):
    errors = {peer.name.replace(" ", "_").replace("-", "_"): 1.9}
    found = verdict(SIGMA_TOLD, scores(dimfree_known=2.0, **errors))
    assert not found["ahead"]
    assert found["best_rival"] == peer.name


def test_a_peer_that_was_told_more_may_win_and_that_is_said():
    found = verdict(SIGMA_TOLD, scores(dimfree_known=2.0, PLAN=1.0))
    assert found["ahead"]
    assert found["nearer_but_told_more"] == {"PLAN": 1.0}
    nothing = verdict(NOTHING_TOLD, scores(dimfree=2.0, PLAN=1.0, clipped_mean=1.5))
    assert nothing["rivals"] == ["Algorithm 2"]
    assert nothing["nearer_but_told_more"] == {"PLAN": 1.0, "clipped mean": 1.5}
    assert set(nothing["ahead_of_told_more"]) == set(nothing["told_more"]) - {"PLAN", "clipped mean"}


@pytest.mark.parametrize(("draws", "own", "state"), [(6, 2.0, MET), (6, 20.0, MISSED), (5, 2.0, OPEN)])
def test_ahead_is_resolved_by_intervals_that_do_not_meet(draws, own, state):
    found = scores(dimfree=own)
    found = {name: replace(score, errors=score.errors[:1] * draws) for name, score in found.items()}
    cell = {"ahead": verdicts(found), "trials": draws}
    assert cell["ahead"][0]["state"] == state
    assert all_ahead([cell])[0]["state"] == state


def test_a_tie_is_not_ahead():
    assert not verdict(SIGMA_TOLD, scores())["ahead"]


def test_a_refusal_is_never_ahead_and_never_in_front():
    refused = verdict(NOTHING_TOLD, scores(dimfree=None, Algorithm_2=None))
    assert not refused["ahead"]
    assert refused["error"] is None
    assert set(refused["nearer_but_told_more"]) == {p.name for p in PEERS} - {"Algorithm 2"}
    both = verdict(NOTHING_TOLD, scores(dimfree=None, PLAN=None))
    assert both["ahead_of_told_more"] == []
    assert "PLAN" not in both["nearer_but_told_more"]
    alone = verdict(NOTHING_TOLD, scores(Algorithm_2=None))
    assert alone["ahead"]
    assert alone["best_rival_error"] is None


def test_a_peer_that_takes_no_part_is_nobody_to_be_ahead_of():
    present = scores(dimfree=2.0, dimfree_known=2.0)
    present["Algorithm 1"] = replace(present["Algorithm 1"], errors=(), remark="no proof for replace-one")
    nothing, sigma = verdicts(present)
    assert "Algorithm 1" not in nothing["told_more"] + sigma["rivals"]
    present["Algorithm 2"] = replace(present["Algorithm 2"], errors=(), remark="not possible")
    alone = verdict(NOTHING_TOLD, present)
    assert (alone["best_rival"], alone["ahead"]) == (None, False)


def test_yardsticks_are_nobodys_peers():
    found = verdicts(scores(empirical_mean=0.1, oracle_floor=0.2, dimfree=1.0, dimfree_known=1.0))
    assert all(one["ahead"] and not one["nearer_but_told_more"] for one in found)


# A run


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    cells = [FieldCell("S2", 3, 40, 1), FieldCell("S1", 2, 30, 1, REPLACE)]
    folder = tmp_path_factory.mktemp("kept")
    way = Way("field", "benchmarks.accuracy.field", keep=folder)
    done = run(cells, 1, way)
    assert len(list(folder.iterdir())) == len(cells)
    again = run(cells, 1, way)
    assert again == json.loads(json.dumps(done))  # taken from the folder, seconds included
    return {"run": provenance("benchmarks.accuracy.field", [], 1), **done}


def test_what_is_kept_is_what_was_measured(result):
    first = measure(1, FieldCell("S2", 3, 40, 1))
    assert {name: s.errors for name, s in scores_of(result["cells"][0]).items()} == {
        row["name"]: row["errors"] for row in first["scores"]
    }


def test_the_report_shows_the_errors_and_who_was_told_what(result):
    text = "\n".join(report(result))
    for cell in result["cells"]:
        for score in scores_of(cell).values():
            assert score.words in text
    assert "no proof for replace-one" in text
    for peer in PEERS:
        assert f"| {peer.name} | {peer.told} | {beside(peer, NOTHING_TOLD)} | {beside(peer, SIGMA_TOLD)} |" in text
    for title in ("Add/remove", "Replace-one"):
        assert f"## {title}: dimfree, told nothing" in text
        assert f"## {title}: dimfree known, told σ" in text


ALGORITHM_2 = "- Rivals, who have no more prior knowledge (Algorithm 2)"


def report_of(result, *found):
    """The report of made-up scores, a cell for each."""
    cells = [{**result["cells"][0], "scores": [vars(s) for s in each.values()]} for each in found]
    return report({**result, "cells": [{**cell, "ahead": verdicts(scores_of(cell))} for cell in cells]})


def test_the_report_counts_each_estimator_apart_and_names_its_rivals(result):
    lines = report_of(
        result,
        scores(dimfree=2.0, dimfree_known=2.0, PLAN=1.0, clipped_mean=1.5),
        scores(dimfree=2.0, dimfree_known=2.0, ball=4.0),
    )
    assert f"{ALGORITHM_2}: ahead of every one in 2 of 2 cells; by intervals in 0." in lines
    (more,) = (line for line in lines if line.startswith("- Peers that were told more (Algorithm 1,"))
    assert more.endswith("ahead of every one in 1 of 2 cells; one by one, ahead in 14 of 16 meetings.")
    (rivals,) = (line for line in lines if line.startswith("- Rivals") and "Huang-Liang-Yi" in line)
    assert "PLAN" not in rivals
    assert rivals.endswith("ahead of every one in 1 of 2 cells; by intervals in 0.")
    (more,) = (line for line in lines if line.startswith("- Peers that were told more (PLAN)"))
    assert more.endswith("ahead of every one in 1 of 2 cells; one by one, ahead in 1 of 2 meetings.")
    assert any(
        line.endswith("| yes, not resolved | 6 of 8 | PLAN 1 (0.5 ×); clipped mean 1.5 (0.75 ×) |") for line in lines
    )
    assert any(
        line.endswith("| clipped mean 1.5 (0.75 ×) | NO, not resolved | 0 of 1 | PLAN 1 (0.5 ×) |") for line in lines
    )


def test_the_report_of_a_refusal(result):
    lines = report_of(result, scores(dimfree=None, Algorithm_2=None))
    (row,) = (line for line in lines if "| refused | Algorithm 2 refused |" in line)
    assert "| NO, not resolved | 0 of 8 |" in row
    assert f"{ALGORITHM_2}: ahead of every one in 0 of 1 cell; by intervals in 0." in lines
