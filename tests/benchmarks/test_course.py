"""What all benchmarks share: trials on the same draws, cells that are kept, intervals, verdicts, pages, figures."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks import index
from benchmarks.accuracy.resolving import (
    MET,
    MISSED,
    OPEN,
    UNTRIED,
    Figure,
    judged,
    median_interval,
)
from benchmarks.accuracy.running import Way, measure_cells, without_paths
from benchmarks.contestants import ADD, REPLACE, Contestant
from benchmarks.figures.__main__ import main as draw_figures
from benchmarks.figures.searching import records_needed
from benchmarks.record import commit, provenance, provenance_lines, read_numbers, write_results
from benchmarks.speed import __main__ as speed
from benchmarks.trials import Point, scored
from benchmarks.worlds import GENEROUS, PublicTable, Synthetic
from scipy.stats import binom

POINT = Point(Synthetic("S2", 4), 50, 4.0, 1e-6)


# --- Trials


def stand(name, seen, **more):
    def estimate(X, epsilon, delta, coins, *, neighbors, **given):
        seen.append((name, X.copy(), X.flags.writeable, epsilon, delta, neighbors, given))
        return X.mean(axis=0) + coins.normal() if isinstance(coins, np.random.Generator) else None

    return Contestant(name, (), estimate, **more)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_contestants_see_the_same_records_and_budget(relation):
    seen = []
    point = Point(POINT.world, 50, 4.0, 1e-6, relation)
    scores = scored(point, [stand("a", seen), stand("b", seen)], 3, 0)
    assert [name for name, *_ in seen] == ["a", "b"] * 3
    for (_, X, writeable, *asked), (_, Y, *_) in zip(seen[::2], seen[1::2], strict=True):
        assert (X == Y).all()
        assert not writeable
        assert asked == [4.0, 1e-6, relation, {}]
    assert len({X.tobytes() for _, X, *_ in seen}) == 3
    assert scores[0].errors != scores[1].errors  # coins of their own


def test_a_contestant_without_a_proof_takes_no_part():
    seen = []
    (score,) = scored(Point(POINT.world, 50, 4.0, 1e-6, REPLACE), [stand("a", seen, proved=(ADD,))], 2, 0)
    assert (seen, score.remark, score.refusals, score.typical) == ([], "no proof for replace-one", 0, math.inf)


def test_worlds_give_the_truth_and_a_generous_radius():
    X, known = Synthetic("S2", 4).draw(4000, np.random.default_rng(0))
    assert known.radius == pytest.approx(GENEROUS * np.linalg.norm(known.mean))
    assert X.std(axis=0) == pytest.approx(known.stddevs, rel=0.1)
    public = PublicTable.of(X)
    sample, priors = public.draw(100, np.random.default_rng(0))
    assert priors.mean == pytest.approx(X.mean(axis=0))
    assert {row.tobytes() for row in sample} <= {row.tobytes() for row in X}
    with pytest.raises(ValueError, match="half"):
        public.draw(4000, np.random.default_rng(0))


# --- Running


@dataclass(frozen=True)
class Cell:
    name: str
    draws: int = 2
    count: int = 10
    dimension: int = 10


def test_kept_cells_are_not_measured_again(tmp_path):
    measured = []

    def measure(cell):
        measured.append(cell.name)
        return {"value": (1, 2)}

    way = Way(keep=tmp_path)
    first = measure_cells(measure, [Cell("a"), Cell("b")], way, 1)
    again = measure_cells(measure, [Cell("b"), Cell("a"), Cell("c")], way, 1)
    assert measured == ["a", "b", "c"]
    assert [cell["name"] for cell in again.cells] == ["b", "a", "c"]
    assert again.cells[1] == first.cells[0] == json.loads(json.dumps(first.cells[0]))
    measure_cells(measure, [Cell("a")], way, 2)  # another key
    assert measured[-1] == "a"


def test_no_cell_is_begun_after_the_budget():
    done = measure_cells(lambda _: {}, [Cell("a")], Way(minutes=0.0))
    assert (done.cells, done.left_out) == ([], ["a"])


def test_a_command_is_stored_without_folders():
    assert without_paths(["--draws", "3", "--out", "x", "--data", "y", "--quick"]) == ["--draws", "3", "--quick"]


# --- Intervals and verdicts


def test_the_interval_of_a_median_covers_as_often_as_it_says():
    assert median_interval(range(5)) == (-math.inf, math.inf)
    for n in (6, 9, 20):
        low, high = median_interval(range(n))
        assert 1 - 2 * binom.cdf(low, n, 0.5) >= 0.95
        assert high == n - 1 - low


@pytest.mark.parametrize(("value", "state"), [(1.0, MET), (3.0, MISSED), (None, MISSED)])
def test_a_bar_is_judged_by_the_whole_interval(value, state):
    assert judged("a", 2.0, {"x": Figure.median([value] * 8)})["state"] == state
    assert judged("a", 2.0, {"x": Figure.median([value] * 4)})["state"] == OPEN
    assert judged("a", 2.0, {})["state"] == UNTRIED


# --- Pages


def test_the_index_repeats_what_the_pages_state(tmp_path, capsys):
    run = provenance("benchmarks.accuracy.few", [], 1)
    verdicts = [
        {"target": "n = 240, d = 30: probability", "figure": "0.997 [0.99, 1]", "draws": "400", "state": MET},
        {"target": "n = 1000, d = 10000: error", "figure": "2 [1, 9]", "draws": "6", "state": OPEN},
    ]
    write_results(tmp_path, "few", {"run": run, "verdicts": verdicts}, ["# Few", *provenance_lines(run)])
    assert f"commit {commit()}; seed 1" in (tmp_path / "few.md").read_text()
    index.main(["--out", str(tmp_path)])
    text = capsys.readouterr().out
    assert text == (tmp_path / "index.md").read_text()
    assert "| 0.997 [0.99, 1] | 400 | met |" in text
    assert "| 2 [1, 9] | 6 | not resolved |" in text


# --- Figures and speed


def test_a_search_finds_the_crossing():
    found = records_needed(lambda count: 100 / count, 0.25, 50, 10_000)
    assert found.records == pytest.approx(400, rel=1e-6)
    assert records_needed(lambda count: None, 0.25, 50, 1000).records is None


def test_figures_are_drawn_through_their_command(tmp_path, monkeypatch, capsys):
    from benchmarks.figures import __main__ as program

    made = program.made
    monkeypatch.setattr(program, "made", lambda letters, size, *rest: made(letters, "tiny", *rest))
    draw_figures(["--quick", "--out", str(tmp_path)])
    assert capsys.readouterr().out.count("## (") == len(list((tmp_path / "figures").glob("*.svg"))) == 3


def test_a_cell_of_speed_runs_in_a_process_of_its_own_and_a_bar_can_be_missed(tmp_path):
    speed.main(["--small", "--only", "memory", "--out", str(tmp_path)])
    cell = read_numbers(tmp_path / "speed.json.gz")["cells"]["memory"]
    assert "failed" not in cell
    assert cell["peak_gib"] > 0
    rows = [{"what": "a", "value": value, "unit": "s", "bar": 1.0, "seconds": None} for value in (0.5, 2.0)]
    found = speed.verdicts({"x": {"small": False, "rows": rows}})
    assert [each["state"] for each in found] == [MET, MISSED]
    assert speed.verdicts({"x": {"small": True, "rows": rows}}) == []
