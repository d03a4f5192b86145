"""The benchmark of the bases: the worlds are what they say, the same for every contestant, and verdicts follow."""

import json

import numpy as np
import pytest
from benchmarks.accuracy.bases import main, run
from benchmarks.accuracy.bases_measuring import CONTESTANTS, PLAIN, USUAL, Row, pairs
from benchmarks.accuracy.bases_tables import report
from benchmarks.accuracy.bases_verdicts import BARS, verdicts
from benchmarks.accuracy.bases_worlds import (
    OWN,
    REAL,
    ROTATED,
    SIGNALS,
    SMOOTH,
    cells_of,
    drawn,
    places,
    quick_places,
    rotation,
)
from benchmarks.accuracy.real_data import TABLES
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED
from benchmarks.accuracy.running import Way
from benchmarks.accuracy.spectra import SPECTRA
from benchmarks.accuracy.spherical import release_spherical
from benchmarks.record import provenance, read_numbers

from dimfree import SeededNoise, release_mean


def cell(section=OWN, world="S2", n=1000, d=4, *, epsilon=4.0, trials=2, seed=7, whom=(PLAIN, "auto")):
    place = (section, world, n, d, trials)
    (only,) = cells_of([place], [epsilon], whom, seeded=True, seed=seed)
    return only


# Cells


def test_every_world_that_was_asked_for_is_measured():
    found = {(section, world, n, d) for section, world, n, d, _ in places(20)}
    assert found >= {(ROTATED, world, 4000, 1000) for world in ("S1", "S2")}
    assert found >= {(OWN, world, n, d) for world in SPECTRA for n in (4000, 1000) for d in (1000, 100)}
    assert found >= {(REAL, table, 0, 0) for table in TABLES} | {(SMOOTH, signal, 4000, 1000) for signal in SIGNALS}
    assert len({n for _, world, n, d in found if world == "S4" and d == 1000}) >= 4
    assert len(found) == len(places(20))


def test_a_quick_run_is_small():
    assert all(n <= 4000 and d <= 1000 and trials == 2 for _, _, n, d, trials in quick_places(2))


def test_the_bars_are_those_that_were_set():
    assert {(bar.contestant, bar.limit, bar.section, bar.worlds, bar.epsilon, bar.paired) for bar in BARS} == {
        ("auto", 0.75, ROTATED, ("S2",), 2.0, False),
        ("auto", 1.0, ROTATED, ("S1",), 2.0, False),
        ("dct", 0.95, REAL, ("MNIST",), 2.0, False),
        ("auto", 1.08, OWN, ("S4",), None, True),
        ("auto", 1.05, OWN, ("S1", "S2", "S3", "S4", "S5"), None, True),
    }


# Draws


def test_records_are_the_same_at_every_budget_and_others_in_every_trial():
    first = drawn(cell(epsilon=1.0), 0)
    assert np.array_equal(first, drawn(cell(epsilon=4.0, whom=(PLAIN,)), 0))
    assert not np.array_equal(first, drawn(cell(), 1))
    assert not np.array_equal(first, drawn(cell(seed=8), 0))


def test_noise_is_a_stream_of_its_own_for_each_trial_budget_and_contestant():
    noises = [cell(epsilon=e).noise(trial, name) for e in (1.0, 4.0) for trial in (0, 1) for name in CONTESTANTS]
    heard = {tuple(noise.gaussian(1e9, 3)) for noise in noises}
    assert len(heard) == len(noises)
    (exact,) = cells_of([(OWN, "S2", 1000, 4, 1)], [1.0], (PLAIN,), seeded=False, seed=7)
    assert exact.noise(0, PLAIN) is None


def test_a_rotation_is_orthonormal_and_favours_no_sign():
    Q = rotation(30, np.random.default_rng(1))
    assert np.abs(Q @ Q.T - np.eye(30)).max() < 1e-12
    signs = [np.sign(rotation(2, np.random.default_rng(seed))[0, 0]) for seed in range(60)]
    assert 10 < signs.count(1.0) < 50  # by LAPACK's convention alone all would be equal


def test_rotated_records_keep_their_spectrum_and_lose_their_axes():
    X = drawn(cell(ROTATED, "S1", 20_000, 20), 0)
    truth = SPECTRA["S1"](20)
    assert np.sqrt(np.linalg.eigvalsh(np.cov(X.T))[::-1]) == pytest.approx(truth, rel=0.1)
    stddevs = X.std(axis=0)
    assert stddevs.max() / stddevs.min() < 0.5 * truth.max() / truth.min()


@pytest.mark.parametrize(("signal", "memory"), [("AR(1), 0.95", 0.95), ("AR(1), 0.5", 0.5)])
def test_smooth_records_are_stationary(signal, memory):
    X = drawn(cell(SMOOTH, signal, 20_000, 12), 0)
    assert X.std(axis=0) == pytest.approx(np.ones(12), rel=0.05)
    assert np.corrcoef(X.T)[0] == pytest.approx(memory ** np.arange(12), abs=0.05)


def test_shuffled_columns_have_no_neighbours():
    correlations = np.corrcoef(drawn(cell(SMOOTH, "AR(1), 0.95, columns shuffled", 4000, 40), 0).T)
    assert np.diag(correlations, 1).mean() < 0.85
    assert np.sort(correlations.ravel())[-41 - 2 * 39] > 0.9  # the neighbours are still there, elsewhere


# Pairs and verdicts


def rows(plain, auto):
    noise = [None if error is None else 2.0 for error in auto]
    return {PLAIN: Row(error=plain, noise=[1.0] * len(plain)), "auto": Row(error=auto, noise=noise)}


def test_pairs_are_taken_draw_by_draw():
    found = pairs(rows([1.0, 10.0, 100.0], [2.0, 10.0, 300.0]))["auto"]
    assert found["error"] == [2.0, 1.0, 3.0]  # the ratio of the medians would be 1
    assert found["noise"] == [2.0, 2.0, 2.0]
    assert found["refused_alone"] == 0


def test_a_refusal_is_nobodys_pair_and_is_counted_where_it_is_ones_own():
    found = pairs(rows([1.0, None, 4.0], [None, 2.0, 4.0]))["auto"]
    assert (found["error"], found["refused_alone"]) == ([1.0], 1)
    assert pairs({"auto": Row()}) == {}


def measured(section, world, epsilon=2.0, *, times=1.0, ratio=1.0, spread=0.0, refusals=0, alone=0):
    row = {"draws": {"times": [times] * 6}, "refusals": refusals}
    pair = {"error": [ratio - spread] * 3 + [ratio + spread] * 3, "noise": [1.0] * 6, "refused_alone": alone}
    place = {"section": section, "world": world, "epsilon": epsilon, "count": 4000, "dimension": 1000}
    return {**place, "estimators": dict.fromkeys(USUAL, row), "pairs": dict.fromkeys(USUAL[1:], pair)}


def met(*cells):
    return [{MET: True, MISSED: False, UNTRIED: None, OPEN: OPEN}[each["state"]] for each in verdicts(cells)]


def test_a_bar_is_met_missed_or_not_tried():
    assert met() == [None] * 5
    assert met(measured(ROTATED, "S2", times=0.75)) == [True, None, None, None, None]
    assert met(measured(ROTATED, "S2", times=0.76)) == [False, None, None, None, None]
    assert met(measured(ROTATED, "S2", 1.0, times=9.0)) == [None] * 5
    assert met(measured(REAL, "MNIST", times=0.95)) == [None, None, True, None, None]
    assert met(measured(OWN, "S4", ratio=1.07)) == [None, None, None, True, False]
    assert met(measured(OWN, "S1"), measured(OWN, "S3", 4.0, ratio=1.06))[4] is False


def test_a_refusal_meets_no_bar():
    assert met(measured(ROTATED, "S1", refusals=1))[1] is False
    assert met(measured(OWN, "S4", alone=1))[3:] == [False, False]
    assert met(measured(OWN, "S4", refusals=1))[3:] == [True, True]  # the diagonal path refused there, too


def test_what_the_draws_leave_open_is_said():
    assert met(measured(OWN, "S5", ratio=1.09, spread=0.05))[4] == OPEN
    assert "1.09 [1.04, 1.14]" in verdicts([measured(OWN, "S5", ratio=1.09, spread=0.05)])[4]["figure"]
    assert met(measured(OWN, "S5", ratio=1.09, spread=0.01))[4] is False


# A run


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    keep = tmp_path_factory.mktemp("kept")
    cells = [cell(ROTATED, whom=(PLAIN, "dct", "auto", "spherical")), cell(REAL, "mice_snps", 0, 0)]
    way = Way("bases", "benchmarks.accuracy.bases", keep=keep)
    done = run(cells, keep / "nothing", way)
    assert run(cells, keep / "nothing", way) == json.loads(json.dumps(done))  # kept, seconds included
    return {"run": provenance("benchmarks.accuracy.bases", [], 7), **done}


def test_every_contestant_is_measured_against_the_oracle(result):
    (done,) = result["cells"]
    assert list(result["absent"]) == ["mice_snps"]
    assert set(done["pairs"]) == {"dct", "auto", "spherical"}
    for row in done["estimators"].values():
        assert row["times"][1] == pytest.approx(row["error"][1] / done["spherical_error"], rel=0.5)
        assert 0.1 < row["times"][1] < 10
        assert 0.1 < row["noise"][1] / done["spherical_error"] < 10
        assert row["bias"] < row["error"][2] + row["noise"][2]
        assert sum(row["choices"].values()) == done["trials"] == 2


def test_the_report_shows_figures_choices_and_what_is_left_out(result):
    text = "\n".join(report(result))
    (done,) = result["cells"]
    for name, row in done["estimators"].items():
        low, median, high = row["times"]
        assert f"{median:.2f} [{low:.2f}, {high:.2f}] ≤ {row['times_most']:.2f}" in text
        assert row["times_most"] >= high
        assert f"{name}: noise" in text
    for word, times in done["estimators"]["auto"]["choices"].items():
        assert f"{word} {times}" in text
    assert "Left out: mice_snps: no mice_snps.npz" in text
    assert text.count("Not tried.") == 3


def test_only_what_was_asked_for_is_run_and_written_without_folders(tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--worlds", "digits", "--contestants", PLAIN, "--epsilons", "4", "--trials", "1"]
    main(["--data", str(tmp_path), "--out", str(out), *options])
    written = read_numbers(out / "bases.json.gz")
    assert [(one["world"], one["trials"]) for one in written["cells"]] == [("digits", 1)]
    assert str(tmp_path) not in (out / "bases.md").read_text() + json.dumps(written)
    assert capsys.readouterr().out == (out / "bases.md").read_text()


def test_the_spherical_rival_is_spherical_where_ours_learns_from_few_records_too():
    X = np.random.default_rng(1).normal(size=(600, 400)) / np.arange(1, 401)
    given = {"epsilon": 2.0, "delta": 1e-6, "noise": SeededNoise(3), "objective": "total"}
    plain, spherical = release_mean(X, **given), release_spherical(X, **given)
    assert np.ptp(np.log(plain.noise_stddev)) > 1
    assert np.ptp(np.log(spherical.noise_stddev)) < 0.05  # the noisy number of records adds a little
