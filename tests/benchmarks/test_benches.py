"""Every benchmark of accuracy runs through its command, and its verdicts can fail."""

import copy
import importlib

import numpy as np
import pandas as pd
import pytest
from benchmarks import compare
from benchmarks.accuracy import census, clipping, coverage, field, gaussian, ordinary, planned, real
from benchmarks.accuracy.resolving import MET, MISSED, OPEN
from benchmarks.all import BENCHES
from benchmarks.record import read_numbers

from dimfree import release_mean
from dimfree.testing import SeededNoise

COURSES = {page: gaussian.course(page) for page in gaussian.PAGES}
SMALL = {  # page: the options of its smallest run
    "field": ["--quick", "--trials", "1", "--cells", "S1, d = 100, n = 1000"],
    "ordinary": ["--draws", "2", "--cells", "wine, ε|exponential, n = 600, d = 5, ε = 4"],
    "coverage": ["--quick", "--draws", "1"],
    "known": ["--page", "known", "--draws", "1", "--cells", "S4, n = 500, d = 50,"],
    "unknown": ["--page", "unknown", "--quick", "--draws", "1", "--cells", "S4, n = 500, d = 50,"],
    "few": ["--page", "few", "--quick", "--draws", "1", "--cells", "S4, n = 300"],
    "planned": ["--draws", "1", "--cells", "relative: gaussian S2, n = 2000"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run every command once; the numbers and the page of each."""
    folder = tmp_path_factory.mktemp("results")
    for page, options in SMALL.items():
        course = COURSES.get(page) or importlib.import_module(f"benchmarks.accuracy.{page}").COURSE
        course.main([*options, "--out", str(folder)])
    return {page: (read_numbers(folder / f"{page}.json.gz"), (folder / f"{page}.md").read_text()) for page in SMALL}


@pytest.mark.parametrize("page", SMALL)
def test_a_command_writes_its_numbers_and_its_page(page, results):
    numbers, text = results[page]
    assert numbers["cells"]
    assert numbers["left_out"] == []
    assert text.startswith("# ")
    assert f"`{numbers['run']['command']}`" in text
    assert "--out" not in numbers["run"]["command"]
    for verdict in numbers["verdicts"]:
        assert verdict["target"] in text


def test_estimators_see_the_same_draws(results):
    """The same command again gives the same errors: noise is seeded, and draws depend on their place alone."""
    cell = ordinary.OrdinaryCell("table", "wine", 4.0, 2, ("relative",))
    wine = next(each for each in results["ordinary"][0]["cells"] if each["world"] == "wine")
    found = ordinary.measure(results["ordinary"][0]["run"]["seed"], cell)
    assert found["estimators"]["relative"]["draws"] == wine["estimators"]["relative"]["draws"]


# --- Verdicts can fail


def states(verdicts):
    return {each["target"]: each["state"] for each in verdicts}


def test_field_counts_rivals_by_what_they_are_given(results):
    cell = copy.deepcopy(results["field"][0]["cells"][0])
    scores = {score["name"]: score for score in cell["scores"]}
    for score in scores.values():
        score |= {"errors": [2.0] * 8, "refusals": 0}
    nothing, sigma = field.OURS
    scores["dimfree known"]["errors"] = [1.0] * 8
    assert field.judge(sigma, field.scores_in(cell))["state"] == MET
    assert field.verdicts([cell])[1]["state"] == MET
    scores["PLAN"]["errors"] = [0.1] * 8  # is given σ and R: no rival of an estimator that is given σ
    found = field.judge(sigma, field.scores_in(cell))
    assert (found["ahead"], list(found["nearer"])) == (True, ["PLAN"])
    scores["Karwa-Vadhan"]["errors"] = [0.1] * 8  # is given σ, too
    assert field.verdicts([cell])[1]["state"] == MISSED
    scores["Karwa-Vadhan"] |= {"errors": [], "refusals": 8}
    scores["dimfree known"] |= {"errors": [], "refusals": 8}
    assert not field.judge(sigma, field.scores_in(cell))["ahead"]
    assert set(field.judge(nothing, field.scores_in(cell))["rivals"]) <= {"Algorithm 2"}


def test_ordinary_tables_are_judged_by_limits_and_peers(results):
    wine = next(cell for cell in copy.deepcopy(results["ordinary"][0]["cells"]) if cell["world"] == "wine")
    row = wine["estimators"]["relative"]
    limit, ahead = "wine, ε = 4: z-rms ≤ 0.06", "every table: relative is ahead of every peer that is given bounds"
    for each in wine["estimators"].values():
        each["draws"]["z"] = [1.0] * 8
    for z, state in ((0.01, MET), (2.0, MISSED)):
        row["draws"]["z"] = [z] * 8
        found = states(ordinary.verdicts([wine]))
        assert (found[limit], found[ahead]) == (state, state)
    wine["snr"] = 100.0
    row |= {"off": 1, "off_marked": 0}
    silent = next(each for each in ordinary.verdicts([wine]) if each["target"].startswith("tables, SNR"))
    assert silent["state"] == MISSED


@pytest.mark.parametrize(("covered", "state"), [(1.0, MET), (0.5, MISSED)])
def test_coverage(covered, state, results):
    cell = copy.deepcopy(results["coverage"][0]["cells"][0])
    cell["kinds"]["ball"] = [{"covered": covered, "half": 1.0, "square": 1.0}] * 300
    found = states(coverage.verdicts([cell]))
    assert found["confidence_ball(): covers ≥ 0.93 in every cell"] == state
    assert found["interval(): covers ≥ 0.93 in every cell"] == OPEN


@pytest.mark.parametrize(("error", "state"), [(0.5, MET), (1e3, MISSED), (None, MISSED)])
def test_bars_of_gaussian_records_go_by_the_oracle(error, state, results):
    cell = copy.deepcopy(results["few"][0]["cells"][0])
    release = error and {"error": error * cell["floor"], "added": 1.0, "stated": error}
    cell["estimators"]["auto"] = [release] * 8
    found = states(gaussian.verdicts("few", [cell]))
    assert found["auto: error/floor ≤ 2.2 in cells `S[145], n = 300, d = 30,`"] == state


@pytest.mark.parametrize("data", [*gaussian.UNIT, *gaussian.PLACES])
def test_records_have_the_stated_mean_and_deviations(data):
    cell = gaussian.Cell("S4", 4000, 5, 1, ("auto",), data=data)
    X, mean, honest = gaussian._records(cell, np.ones(5), np.random.default_rng(0))
    assert X[:honest].mean(axis=0) == pytest.approx(mean, abs=0.1)
    assert X[:honest].std(axis=0) == pytest.approx(np.ones(5), rel=0.15)
    assert (len(X) - honest == 80) == (data in gaussian.PLACES)


@pytest.mark.parametrize(("ratio", "state"), [(1.0, MET), (1.3, MISSED), (0.8, MISSED)])
def test_plans_are_judged_on_both_sides(ratio, state, results):
    cell = copy.deepcopy(results["planned"][0]["cells"][0])
    release = {part: ratio * cell["planned"][part] for part in ("error", "added")}
    cell["estimators"] = {"relative": [release] * 20}
    found = states(planned.verdicts([cell]))
    assert (found["relative: error / planned ≤ 1.15"], found["relative: error / planned ≥ 0.87"]) in (
        (state, MET), (MET, state),
    )  # fmt: skip


def test_real_tables_are_judged_by_error_and_bias(tmp_path):
    np.savez(tmp_path / "grants.npz", X=np.random.default_rng(0).normal(size=(700, 8)))
    real.COURSE.main(["--data", str(tmp_path), "--draws", "1", "--cells", "ε = 2", "--out", str(tmp_path)])
    (cell,) = read_numbers(tmp_path / "real.json.gz")["cells"]
    cell |= {"errors": [0.4] * 8, "noises": [1.0] * 8, "bias": 0.1, "oracle": 1.0}
    target = "grants, ε = 2: error ≤ 0.48 × the spherical oracle's, bias below noise"
    assert states(real.verdicts([cell]))[target] == MET
    for change in ({"errors": [2.0] * 8}, {"bias": 2.0}, {"bias": None}, {"errors": [0.4] * 7 + [None]}):
        assert states(real.verdicts([cell | change]))[target] == MISSED


def test_a_whole_run_knows_every_benchmark():
    for bench in BENCHES.values():
        assert importlib.util.find_spec(bench.module)


# --- Closed forms


def test_the_clipped_mean_is_the_mean_if_nothing_is_clipped():
    X = np.random.default_rng(0).normal(size=(600, 3))
    release = release_mean(X, epsilon=8.0, delta=1e-5, objective="total", noise=SeededNoise(0))
    assert clipping.clipped_mean(X, release) == pytest.approx(X.mean(axis=0), abs=0.02)
    far = np.vstack([X, [[1e9, 0, 0]]])
    assert np.abs(clipping.clipped_mean(far, release)).max() < 1.0


def test_the_census_reads_a_folder_of_tables(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(400, 3)) * [1, 10, 100]
    pd.DataFrame(X, columns=list("abc")).to_parquet(tmp_path / "made__up.parquet")
    census.COURSE.main(["--data", str(tmp_path), "--half", "all", "--draws", "2", "--out", str(tmp_path)])
    assert "error/oracle: median" in capsys.readouterr().out
    (cell,) = read_numbers(tmp_path / "census.json.gz")["cells"]
    assert (cell["rows"], cell["columns"], len(cell["releases"])) == (400, 3, 2)
    assert str(tmp_path) not in (tmp_path / "census.md").read_text()
    for error, state in ((1.0, MET), (5.0, MISSED)):
        draws = [draw | {"error": error * cell["oracle"]} for draw in cell["releases"]]
        found = states(census.verdicts([cell | {"releases": draws}]))
        assert (found["error/oracle, median, n in 200–500 ≤ 1.9"], found["error/oracle, p90 ≤ 4"]) == (state, state)


def test_compare_lists_every_estimator_as_a_multiple_of_the_oracle(capsys, tmp_path):
    budget = ["--epsilon", "2", "--delta", "1e-6", "--trials", "1"]
    compare.main([*budget, "-d", "3", "-n", "400", "--estimators", "clipped mean", "dimfree known"])
    text = capsys.readouterr().out
    assert "| oracle floor | mean, σ (not private) | 1 |" in text
    assert "Karwa" not in text
    path = tmp_path / "public.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["a", "b"]).to_csv(path, index=False)
    compare.main([*budget, "--public-table", str(path), "--estimators", "ball"])
    assert "public.csv, d = 2, n = 250" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="spectrum"):
        compare.main([*budget, "--spectrum", "S9"])
