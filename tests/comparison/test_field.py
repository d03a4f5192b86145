"""The benchmark of the field: every cell of the design's table is there, and the verdicts follow from the errors."""

import json
import math

import pytest
from benchmarks.accuracy.field import measure, run
from benchmarks.accuracy.field_cells import ADD, REPLACE, FieldCell, field_cells, quick_cells
from benchmarks.accuracy.field_tables import report
from benchmarks.accuracy.field_verdicts import OURS, PEERS, scores_of, verdict, verdicts
from benchmarks.accuracy.spectra import SPECTRA
from benchmarks.record import provenance
from benchmarks.speed.releases import exponent, sizes

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
    assert all(cell.count >= 1000 and cell.trials >= 3 for cell in cells)
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
    assert found["ahead_of_told_more"] == ["PLAN"]


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


def test_a_tie_is_not_ahead():
    assert not verdict(SIGMA_TOLD, scores())["ahead"]


def test_a_refusal_is_never_ahead_and_never_in_front():
    refused = verdict(NOTHING_TOLD, scores(dimfree=None, Algorithm_2=None))
    assert not refused["ahead"]
    assert refused["error"] is None
    assert set(refused["nearer_but_told_more"]) == {p.name for p in PEERS} - {"Algorithm 2"}
    alone = verdict(NOTHING_TOLD, scores(Algorithm_2=None))
    assert alone["ahead"]
    assert alone["best_rival_error"] is None


def test_yardsticks_are_nobodys_peers():
    found = verdicts(scores(empirical_mean=0.1, oracle_floor=0.2, dimfree=1.0, dimfree_known=1.0))
    assert all(one["ahead"] and not one["nearer_but_told_more"] for one in found)


# A run


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    cells = [FieldCell("S2", 3, 40, 1), FieldCell("S1", 2, 30, 1, REPLACE)]
    folder = tmp_path_factory.mktemp("kept")
    done = run(cells, 1, 1, folder)
    assert len(list(folder.iterdir())) == len(cells)
    again = run(cells, 1, 1, folder)
    assert again == json.loads(json.dumps(done))  # taken from the folder, seconds included
    return {"run": provenance("benchmarks.accuracy.field", [], 1), **done}


def test_what_is_kept_is_what_was_measured(result):
    first = measure(FieldCell("S2", 3, 40, 1), 1)
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
        assert f"| {peer.name} | {peer.told} | {peer.knows(NOTHING_TOLD)} | {peer.knows(SIGMA_TOLD)} |" in text
    assert text.count("ours ahead of every peer that has no more prior knowledge") == 2


def test_the_report_of_a_refusal(result):
    cell = {**result["cells"][0], "scores": [vars(s) for s in scores(dimfree=None, Algorithm_2=None).values()]}
    changed = {**result, "cells": [{**cell, "verdicts": verdicts(scores_of(cell))}]}
    lines = [line for line in report(changed) if "| dimfree | refused |" in line]
    assert len(lines) == 1
    assert "| NO |" in lines[0]
    assert "Ahead in 0 of 2 rows." in report(changed)


# Growth


def test_the_exponent_of_a_power_is_found():
    along = [1000, 2000, 4000, 8000]
    assert exponent(along, [n**1.5 / 7 for n in along]) == pytest.approx(1.5)
    assert exponent(along, [1.0, 99.0, 198.0, 396.0]) == pytest.approx(1.0)  # the largest sizes alone
    assert exponent(along, [0.0] * 4) is None
    assert exponent([1], [1.0]) is None


def test_sizes_go_along_both_axes_and_meet_once():
    for quick in (True, False):
        found = sizes(quick)
        assert len(set(found)) == len(found)
        assert len({size.count for size in found}) >= 3
        assert len({size.dimension for size in found}) >= 2
    assert math.log10(max(size.dimension for size in sizes(False))) == 5
