"""Benchmarks within a budget: intervals cover, verdicts follow from them, cells are kept, skipped and continued."""

import json
import math
import time
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from benchmarks import all as whole
from benchmarks.accuracy import running
from benchmarks.accuracy.bars import BARS, UNKNOWN_BARS, dimension_verdict, verdicts
from benchmarks.accuracy.known import plan as known_plan
from benchmarks.accuracy.resolving import (
    MET,
    MISSED,
    OPEN,
    UNTRIED,
    Figure,
    clopper_pearson,
    combined,
    judged,
    median_interval,
    middle,
)
from benchmarks.accuracy.running import Way, expected, measured, remember
from benchmarks.accuracy.unknown import plan as unknown_plan
from benchmarks.registry import BENCHES
from scipy.stats import binom

# Intervals


@pytest.mark.parametrize("n", [6, 7, 12, 20, 30, 101])
def test_the_interval_of_a_median_covers_exactly_as_often_as_stated(n):
    """By counting: it misses below if fewer than k of n values lie under the median, Bin(n, 1/2); so above."""
    ordered = list(range(n))
    k = int(median_interval(ordered)[0]) + 1
    assert 2 * binom.cdf(k - 1, n, 0.5) <= 0.05 < 2 * binom.cdf(k, n, 0.5)  # one more would be too short
    assert median_interval(ordered) == (k - 1, n - k)


def test_small_samples_are_enumerated():
    """Every way in which six values can lie about the median: both ends on one side in 2 of 64."""
    missed = sum(min(sides) > 0 or max(sides) < 0 for sides in product((-1, 1), repeat=6))
    assert missed / 64 < 0.05
    assert median_interval([3, 1, 2, 6, 5, 4]) == (1, 6)
    assert median_interval([1, 2, 3, 4, 5]) == (-math.inf, math.inf)
    assert median_interval([]) == (-math.inf, math.inf)


def test_a_refusal_is_infinitely_far_off():
    figure = Figure.median([1.0, 2.0, None, None, None, None], over=2.0)
    assert (figure.value, figure.low, figure.high, figure.draws) == (math.inf, 0.5, math.inf, 6)
    assert figure.words == "refused"
    assert middle([1.0, math.inf]) == math.inf
    assert "[0.5, refused]" in Figure.median([1.0, 1.0, 1.0, 1.0, 1.0, None], over=2.0).words


def test_the_interval_of_a_root_mean_square_is_that_of_the_mean_square():
    values = np.random.default_rng(1).normal(size=4000)
    figure = Figure.rms(values)
    assert figure.low < 1 < figure.high
    assert figure.high - figure.low == pytest.approx(1.96 * math.sqrt(2 / 4000), rel=0.1)
    assert Figure.rms([2.0]).state(9.0) == OPEN


def test_shares_near_one_take_many_draws():
    assert clopper_pearson(0, 10)[0] == 0.0
    assert clopper_pearson(10, 10)[1] == 1.0
    assert clopper_pearson(366, 366)[0] < 0.99 <= clopper_pearson(368, 368)[0]


# Verdicts


@pytest.mark.parametrize(
    ("low", "high", "state"), [(0.5, 1.0, MET), (1.1, 2.0, MISSED), (0.9, 1.1, OPEN), (-math.inf, math.inf, OPEN)]
)
def test_a_bar_is_met_or_missed_by_the_whole_interval(low, high, state):
    assert Figure((low + high) / 2, low, high, 9).state(1.0) == state
    mirrored = {MET: MISSED, MISSED: MET, OPEN: OPEN}[state]
    assert Figure(1.0, low, high, 9).state(1.05, at_most=False) == mirrored


def test_one_cell_that_misses_is_enough_and_one_that_is_open_leaves_all_open():
    sure, open_, bad = Figure.sure(1, 6), Figure(1, 0, 9, 8), Figure.sure(9, 7)
    assert judged("t", 2, {})["state"] == UNTRIED
    assert judged("t", 2, {"a": sure})["state"] == MET
    assert judged("t", 2, {"a": sure, "b": open_})["state"] == OPEN
    found = judged("t", 2, {"a": sure, "b": open_, "c": bad})
    assert (found["state"], found["draws"]) == (MISSED, "6–8")
    assert found["figure"] == "9 (c), the worst of 3; 2 not surely met"
    assert combined([{"state": MET}, {"state": OPEN}]) == OPEN
    assert combined([]) == UNTRIED


def cell(section, spectrum, count, dimension, name, errors, *, refusals=0, **more):
    row = {"draws": {"error": errors, "noise_ratio": errors}, "refusals": refusals}
    place = {"section": section, "spectrum": spectrum, "count": count, "dimension": dimension, "epsilon": 1.0}
    place |= {"data": "gaussian", "trials": len(errors) + refusals, "floor": [1, 1, 1], "np": [0.5, 0.5, 0.5]}
    return {**place, "estimators": {name: row}, **more}


def state(found, words):
    (one,) = [verdict for verdict in found if verdict["target"].startswith(words)]
    return one["state"]


def test_the_bars_read_the_draws():
    done = [cell("accuracy", s, 1000, 1000, "recentred", [1.3] * 6) for s in ("S1", "S2")]
    found = verdicts(done, BARS)
    assert state(found, "recentred: noise_ratio ≤ 1.35 at n = 1000, d = 1000") == MET
    assert state(found, "recentred: noise_ratio ≤ 2.3 at n = 500") == UNTRIED
    assert state(found, "recentred: pass") == OPEN  # six draws of a probability of 0.99
    assert state(
        verdicts([cell("accuracy", "S1", 1250, 10_000, "recentred", [1.1] * 6)]), "recentred: error_over_np"
    ) == (
        MISSED  # 1.1 / 0.5
    )


def test_passes_of_one_spectrum_are_counted_together():
    known = [cell("passing", "S1", n, 50, "stable", [1.0] * 300) for n in (500, 1000)]
    assert state(verdicts(known), "stable: pass") == MET
    chances = cell("passing", "S2", 500, 50, "auto", [], trials=400, chances={"auto": [0.98] * 400})
    assert state(verdicts([{**chances, "trials": 400}], UNKNOWN_BARS), "auto: pass ≥ 0.99") == OPEN
    refused = cell("robustness", "S3", 4000, 1000, "auto", [1.0] * 5, refusals=1)
    assert state(verdicts([refused], UNKNOWN_BARS), "auto: pass ≥ 1.0") == MISSED


@pytest.mark.parametrize(("last", "said"), [(1.2, MET), (1.8, MISSED)])
def test_growth_with_the_dimension(last, said):
    ends = [cell("dimension", "S1", 4000, d, "recentred", [e] * 8) for d, e in ((100, 1.0), (100_000, last))]
    assert dimension_verdict(ends)["state"] == said
    assert dimension_verdict(ends[:1])["state"] == UNTRIED


def test_cells_that_decide_bars_have_draws_enough_for_an_interval():
    decided = [each for each in known_plan(20, 200, 6, quick=False) if each.section != "passing"]
    decided += [each for each in unknown_plan(20, 200, 6, quick=False) if each.section != "passing"]
    assert all(each.trials >= 6 for each in decided)


# A run


@dataclass(frozen=True)
class Task:
    name: str
    draws: int = 2


@dataclass(frozen=True)
class Sized:
    name: str
    entries: int
    draws: int = 2


def measure(task):
    return {"draws": task.draws, "said": (task.name, task.draws)}


TASKS = [Task("a"), Task("b"), Task("c")]


@pytest.fixture(autouse=True)
def costs(tmp_path, monkeypatch):
    """Costs of a place of their own."""
    monkeypatch.setattr(running, "COSTS", tmp_path / "costs.json")
    return tmp_path / "costs.json"


def way(tmp_path, **given):
    return Way("few", "benchmarks.accuracy.few", keep=tmp_path / "kept", **given)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_results_come_in_the_order_of_the_plan(tmp_path, jobs):
    done = measured(measure, TASKS, way(tmp_path, jobs=jobs))
    assert [one["name"] for one in done.cells] == ["a", "b", "c"]
    assert done.left_out == []
    assert done.cells[0]["said"] == ["a", 2]  # as it is read from JSON again
    again = measured(lambda _: pytest.fail("measured again"), TASKS, way(tmp_path))
    assert again == done


def test_other_code_another_seed_and_other_draws_are_measured_anew(tmp_path, monkeypatch):
    first = measured(measure, TASKS, way(tmp_path), 1)
    assert len(list((tmp_path / "kept").iterdir())) == 3
    measured(measure, TASKS, way(tmp_path), 2)
    measured(measure, [Task("a", 3)], way(tmp_path), 1)
    monkeypatch.setattr(running, "code_digest", lambda: "other")
    assert [one["said"] for one in measured(measure, TASKS, way(tmp_path), 1).cells] == [
        one["said"] for one in first.cells
    ]
    assert len(list((tmp_path / "kept").iterdir())) == 10


def test_what_does_not_fit_is_left_out_and_what_is_kept_costs_nothing(tmp_path, costs):
    costs.write_text(json.dumps({"few": {"b": [1000.0, 1]}}))
    done = measured(measure, TASKS, way(tmp_path, minutes=1.0))
    assert [one["name"] for one in done.cells] == ["a", "c"]  # c fits, although it comes later
    assert done.left_out == ["b"]
    assert [one["name"] for one in measured(measure, TASKS, way(tmp_path, minutes=0.0)).cells] == ["a", "c"]
    assert [one["name"] for one in measured(measure, TASKS, way(tmp_path)).cells] == ["a", "b", "c"]
    assert "Not measured, for want of time: 1 cells (b)." in running.left_out_lines(done.as_dict())


def test_a_cell_is_expected_to_take_what_it_took_by_the_draw(tmp_path):
    remember("few", [{"name": "a", "cpu_seconds": 10.0, "draws": 5}, {"name": "b", "cpu_seconds": 1.0, "trials": 2}])
    remember("few", [{"name": "b", "cpu_seconds": 3.0}])
    known = running.known_costs("few")
    assert known == {"a": [10.0, 5], "b": [3.0, 1]}
    assert expected(Task("a", 20), known) == 40.0
    assert expected(Task("new"), known) == 0.0
    assert running.COSTS.read_text().splitlines()[2] == '  "a": [10.0, 5],'


def test_a_cell_that_was_never_measured_is_expected_to_take_what_one_of_its_size_takes():
    near, far, new = Sized("near", 100), Sized("far", 10_000), Sized("new", 200)
    costs = {"near": [3.0, 1], "far": [50.0, 1]}
    assert expected(new, costs, [near, far, new]) == 2 * 2 * 3.0  # two draws, twice the size
    assert expected(Sized("small", 50), costs, [near, far]) == 2 * 3.0 / 2
    assert expected(Task("of no size"), costs, [near, far]) == 0.0


def test_the_budget_is_a_matter_of_the_clock(tmp_path):
    def slow(task):
        time.sleep(0.05)
        return {}

    done = measured(slow, [Task(str(k)) for k in range(50)], Way("few", "benchmarks.accuracy.few", minutes=0.2 / 60))
    assert 1 <= len(done.cells) < 10


# All of them


def test_every_benchmark_is_a_module_with_the_shared_options():
    for bench in BENCHES.values():
        source = running.ROOT / bench.module.replace(".", "/")
        path = source / "__main__.py" if source.is_dir() else source.with_suffix(".py")
        assert "add_options(parser, " in path.read_text(encoding="utf-8")
        assert "--budget" in bench.command()


def test_what_one_does_not_use_goes_to_the_next():
    first, *later = BENCHES.values()
    assert whole.share(first, later, 25.0) < 25.0
    assert whole.share(first, [], 25.0) == pytest.approx(25.0)
