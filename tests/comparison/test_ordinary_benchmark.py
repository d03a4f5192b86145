"""The benchmark of ordinary tables: worlds are what they say, figures are what they are called, verdicts follow."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.accuracy import ordinary_contestants
from benchmarks.accuracy.ordinary import main, run
from benchmarks.accuracy.ordinary_cells import LAW, TABLE, cells_of
from benchmarks.accuracy.ordinary_contestants import CORE, EXACT, ON_LAWS, ON_TABLES, OURS, RELATIVE, TOTAL, Answer
from benchmarks.accuracy.ordinary_figures import Truth, figures
from benchmarks.accuracy.ordinary_laws import LAWS
from benchmarks.accuracy.ordinary_measuring import summary
from benchmarks.accuracy.ordinary_oracle import HindsightOracle
from benchmarks.accuracy.ordinary_peers import PEERS, Peer, bounds_of, column_epsilon
from benchmarks.accuracy.ordinary_report import report
from benchmarks.accuracy.ordinary_tables import HELD_OUT, SETTLED, TABLES
from benchmarks.accuracy.ordinary_verdicts import error_bar_verdicts, informative, verdicts
from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED
from benchmarks.accuracy.running import Way
from benchmarks.record import read_numbers

from dimfree import SeededNoise
from dimfree.accounting.precision import largest_mu

MU = largest_mu(1.0, 1e-6)


def cells(pattern="", draws=2, on_tables=ON_TABLES, on_laws=ON_LAWS):
    return cells_of(draws, on_tables, on_laws, 7, pattern)


# Worlds


def test_half_of_the_tables_and_half_of_the_laws_are_held_out():
    for worlds in (TABLES, LAWS):
        halves = [world.half for world in worlds.values()]
        assert halves.count(SETTLED) == halves.count(HELD_OUT) == len(halves) / 2


def test_every_law_is_tried_at_every_size_and_budget():
    found = [(c.world, c.count, c.dimension, c.epsilon) for c in cells() if c.section == LAW]
    assert len(set(found)) == len(found) == len(LAWS) * 4 * 3 * 2


@pytest.mark.parametrize("name", LAWS)
def test_a_law_has_the_mean_that_it_states(name):
    law = LAWS[name]
    X = law.draw(np.random.default_rng(3), (20_000, 5))
    error = 5 * X.std(axis=0) / np.sqrt(len(X))
    assert X.shape == (20_000, 5)
    assert np.all(np.abs(X.mean(axis=0) - law.mean) < error)  # false alarm: 5 deviations, about 1e-6


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_columns_that_vary_and_finite_entries(name):
    X = TABLES[name].make(np.random.default_rng(5))
    constant = np.ptp(X, axis=0) == 0
    assert X.dtype == np.float64
    assert np.all(np.isfinite(X))
    assert constant.sum() == {"constants among others": 5, "digits": 3}.get(name, 0)


def test_records_are_the_same_at_every_budget_and_others_in_every_draw():
    one, four = cells("clinical 2000")
    assert np.array_equal(one.records(0), four.records(0))
    assert not np.array_equal(one.records(0), one.records(1))
    heard = {tuple(c.noise(draw, name).gaussian(1e9, 3)) for c in (one, four) for draw in (0, 1) for name in OURS}
    assert len(heard) == 4 * len(OURS)


# Peers and oracle


def test_laplace_columns_get_at_least_basic_composition_and_more_where_there_are_many():
    assert column_epsilon(1.0, 1e-6, 1) == pytest.approx(1.0, rel=1e-6)
    assert column_epsilon(1.0, 1e-6, 4) >= 0.25 * (1 - 1e-9)
    assert column_epsilon(1.0, 1e-6, 60) > 1.5 / 60


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if isinstance(peer, Peer)])
def test_a_peer_has_the_noise_of_its_bounds(name):
    peer, d, n = PEERS[name], 4, 50
    X = np.vstack([np.zeros((n - 1, d)), np.array([1.0, 10.0, 100.0, 0.0])])
    errors = np.array([peer.error(X, 1.0, 1e-6, np.random.default_rng(seed)) for seed in range(3000)])
    moves = np.ptp(X, axis=0) * peer.times * (0.5 if peer.centred else 1)
    spread = np.sqrt(2) / column_epsilon(1.0, 1e-6, d) if peer.kind == "Laplace" else np.sqrt(d) / MU
    assert np.sqrt((errors**2).mean(axis=0)) == pytest.approx(moves * spread / n, rel=0.1)


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if not isinstance(peer, Peer)])
def test_a_library_has_the_noise_of_its_bounds(name):
    """Within a factor of two: 60 draws of a Laplace's absolute value have a standard error of an eighth."""
    X, peer = np.random.default_rng(1).uniform(size=(200, 2)), PEERS[name]
    errors = np.array([peer.error(X, 1.0, 1e-6, np.random.default_rng(seed)) for seed in range(30)])
    expected = np.ptp(X, axis=0).mean() * peer.times / column_epsilon(1.0, 1e-6, 2) / len(X)
    assert expected / 2 < np.abs(errors).mean() < 2 * expected


def test_bounds_are_widened_about_their_middle():
    assert bounds_of(np.array([1.0, 3.0]), 2) == (0.0, 4.0)
    low, high = bounds_of(np.array([7.0, 7.0]), 10)
    assert low < 7.0 < high


def test_the_oracle_clips_nothing_where_nothing_sticks_out():
    X = np.sign(np.random.default_rng(1).normal(size=(500, 1)))
    oracle = HindsightOracle(0.0, 1.0)
    oracle.add(X)
    best = min(np.hypot((1 - r) * X.mean(), r / 500 / MU) for r in np.linspace(0.1, 1, 400))
    assert oracle.error() == pytest.approx(best, rel=0.05)


def test_the_oracle_takes_one_radius_for_all_draws():
    oracle = HindsightOracle(1.0, 1.0)
    for seed in range(5):
        oracle.add(np.random.default_rng(seed).exponential(size=(2000, 1)))
    each = [np.sqrt(squares.min()) for squares in oracle.squares]
    assert oracle.error() >= np.sqrt(np.mean(np.square(each)))


# Figures of one draw


def release(mean, *, half=1.0, resolved=None, radius=None, centre=0.0, scale=1.0):
    mean = np.asarray(mean, dtype=float)
    reach = None if radius is None else SimpleNamespace(radius=radius, centre=centre, scale=scale)
    return SimpleNamespace(
        mean=mean,
        refused=False,
        resolved=resolved,
        reach=reach,
        confidence_interval=lambda level, target="population": (mean - half, mean + half),
        error_radius=lambda level, target: float(np.max(half)),
    )


def measured(said, X, units=None, population=None):
    truth = Truth.of(X, population)
    units = np.ones(X.shape[1]) if units is None else units
    return figures(Answer((said.mean - X.mean(axis=0) / units) * units, 0.5, said, units), truth)


X = np.column_stack([[-1.0, 1.0] * 10, [-100.0, 100.0] * 10, [7.0] * 20])  # deviations 1, 100 and none


def test_errors_are_in_deviations_of_each_column_and_constant_columns_are_left_out():
    found = measured(release([0.3, 40.0, 9.0]), X)
    assert found["z"] == pytest.approx(np.sqrt((0.3**2 + 0.4**2) / 2))
    assert found["error"] == pytest.approx(np.linalg.norm([0.3, 40, 2]))
    assert (found["columns"], found["off"]) == (2, 0)


def test_a_column_that_is_off_counts_as_marked_only_where_it_is_unresolved():
    found = measured(release([0.6, 60.0, 7.0], resolved=np.array([False, True, False])), X)
    assert (found["off"], found["off_marked"], found["unresolved"]) == (2, 1, 1)
    assert measured(release([0.6, 60.0, 7.0]), X)["off_marked"] is None


def test_coverage_is_of_these_records_and_of_these_records_drawn_in():
    Y = np.array([[0.0], [0.0], [0.0], [40.0]])
    found = measured(release([1.0], half=0.5, radius=4.0), Y, population=1.2)
    assert (found["covered"], found["covered_reach"], found["covered_law"]) == (0.0, 1.0, 1.0)
    assert (found["ball"], found["ball_reach"]) == (0.0, 1.0)
    assert measured(release([10.2], half=0.5), Y)["covered_reach"] is None


def test_a_reach_counts_in_columns_divided_by_its_scale():
    Y = np.array([[0.0, 0.0], [0.0, 0.0], [30.0, 0.4], [0.0, 0.0]])
    said = release([1.5, 0.02], half=1e-9, radius=0.25, centre=np.zeros(2), scale=np.array([60.0, 0.4 / np.sqrt(0.75)]))
    assert measured(said, Y)["covered_reach"] == 0.0  # |z| = 1, a quarter of which is kept: means 1.875 and 0.025
    said.mean[:] = [1.875, 0.025]
    assert measured(said, Y)["covered_reach"] == 1.0


def test_true_units_lead_back_to_the_columns_of_the_table():
    units = np.array([1.0, 100.0, 1.0])
    found = measured(release([0.3, 0.4, 7.0], half=0.39), X, units)
    assert found["z"] == pytest.approx(np.sqrt((0.3**2 + 0.4**2) / 2))
    assert found["half_width"] == pytest.approx(0.39)
    assert found["covered"] == pytest.approx(2 / 3)


# Over the draws


def test_a_refusal_is_infinitely_far_off_and_counted():
    found = summary([{"z": 1.0, "error": 2.0, "seconds": 1.0}, {"seconds": 1.0}, {"seconds": 1.0}], 4.0)
    assert (found["refusals"], found["z"], found["error"]) == (2, None, None)
    assert (found["error_rms"], found["over_oracle"]) == (2.0, 0.5)


def test_width_is_beside_the_rms_error_of_all_draws():
    draws = [{"z": z, "error": z, "half_width": 2.0, "seconds": 1.0} for z in (1.0, 7.0)]
    assert summary(draws, None)["width_over_rms"] == pytest.approx(2.0 / 5.0)


# Verdicts


def row(**changes):
    """Thirty draws, all alike."""
    usual = {"z": 0.01, "error": 1.0, "error_rms": 1.0, "refusals": 0, "columns": 100, "off": 0, "off_marked": 0}
    usual |= {"covered": 0.95, "covered_reach": 0.95, "ball": 0.95, "ball_reach": 0.95, "width_over_rms": 2.0}
    usual |= changes
    return usual | {"draws": {"z": [usual["z"]] * 30, "error": [usual["error"]] * 30}}


def cell(section, world, rows, *, epsilon=1.0, d=5, n=2000, snr=100.0, half=SETTLED):
    place = {"section": section, "world": world, "epsilon": epsilon, "dimension": d, "count": n, "draws": 30}
    name = f"{section}: {world}, ε = {epsilon:g}"
    return {**place, "snr": snr, "half": half, "name": name, "oracle": 1.0, "estimators": rows}


def met(found, words):
    (verdict,) = [verdict for verdict in found if words in verdict["target"]]
    return {MET: True, MISSED: False, UNTRIED: None, OPEN: OPEN}[verdict["state"]]


def test_nothing_measured_is_nothing_met():
    assert {verdict["state"] for verdict in [*verdicts([], []), *error_bar_verdicts([])]} == {UNTRIED}


@pytest.mark.parametrize(("z", "exact", "good"), [(0.13, 0.13, True), (0.131, 0.1, False), (0.1, 0.131, False)])
def test_a_table_meets_its_bar_with_seeded_and_with_exact_noise(z, exact, good):
    found = verdicts([cell(TABLE, "breast cancer", {RELATIVE: row(z=z), EXACT: row(z=exact)})], [])
    assert met(found, "breast cancer, ε = 1: z-rms") is good
    assert met(found, "breast cancer, ε = 4: z-rms") is None


def test_a_table_that_is_refused_meets_nothing():
    found = verdicts([cell(TABLE, "wine", {RELATIVE: row(z=None)}, epsilon=4.0)], [])
    assert met(found, "wine") is False


@pytest.mark.parametrize(("peer", "good"), [(0.2, True), (0.05, False)])
def test_ahead_is_ahead_of_every_peer(peer, good):
    rows = {RELATIVE: row(z=0.1), "Laplace, bounds × 2": row(z=9.0), "Gaussian, bounds × 1": row(z=peer)}
    found = verdicts([cell(TABLE, "breast cancer", rows)], [])
    assert met(found, "breast cancer, ε = 1: relative is ahead") is good
    assert met(found, "every table: relative is ahead") is good
    assert met(found, "breast cancer, ε = 4: relative is ahead") is None


def test_draws_that_overlap_resolve_nothing():
    rows = {RELATIVE: row(z=0.1), "Laplace, bounds × 2": row(z=0.1)}
    rows[RELATIVE]["draws"]["z"] = [*np.linspace(0.05, 0.15, 30)]
    found = verdicts([cell(TABLE, "breast cancer", rows)], [])
    assert met(found, "breast cancer, ε = 1: relative is ahead") == OPEN
    assert met(found, "breast cancer, ε = 1: z-rms") is True


@pytest.mark.parametrize(("off", "marked", "good"), [(1, 1, True), (2, 2, False), (1, 0, False), (1, None, False)])
def test_columns_that_are_off_are_few_and_marked(off, marked, good):
    rows = {RELATIVE: row(off=off, off_marked=marked)}
    assert met(verdicts([cell(TABLE, "sensors", rows)], []), "tables, SNR") is good
    assert met(verdicts([cell(TABLE, "sensors", rows, snr=29.0)], []), "tables, SNR") is None


def test_the_gain_over_the_core_is_a_geometric_mean():
    laws = [cell(LAW, name, {TOTAL: row(error_rms=e), CORE: row()}) for name, e in (("t3", 1.0), ("normal", 0.5))]
    refused = cell(LAW, "Bernoulli .02", {TOTAL: row(), CORE: row(error_rms=None, error=None)})
    assert met(verdicts([*laws, refused], []), "core's / 1.3") is True  # 0.707 <= 0.769
    assert met(verdicts(laws[:1], []), "core's / 1.3") is False
    assert met(verdicts([cell(LAW, "t3", {TOTAL: row(refusals=1)})], []), "d = 5: total refuses nothing") is False


def test_coverage_of_outliers_is_that_of_the_stated_reach():
    rows = {TOTAL: row(covered=0.5, ball=0.5)}
    assert met(error_bar_verdicts([cell(LAW, "1 % outliers", rows)]), "laws, n ≥ 2000: intervals") == OPEN
    assert met(error_bar_verdicts([cell(LAW, "t3", rows)]), "laws, n ≥ 2000: intervals") is False
    assert met(error_bar_verdicts([cell(LAW, "t3", rows, n=600)]), "laws, n ≥ 2000: intervals") is None


def test_what_chance_leaves_open_is_said():
    found = error_bar_verdicts(
        [cell(LAW, "t3", {TOTAL: row(covered=0.9)}), cell(LAW, "normal", {TOTAL: row(covered=0.1)})]
    )
    assert found[0]["state"] == MISSED
    assert "the worst of 2; 2 not surely met" in found[0]["figure"]
    assert error_bar_verdicts([cell(LAW, "t3", {TOTAL: row(covered=0.9)})])[0]["state"] == OPEN


def test_the_oracle_bars_are_for_every_cell_and_for_the_middle_one():
    errors = {f"law {k}": 2.1 if k == 0 else 1.2 for k in range(9)}
    laws = [cell(LAW, name, {TOTAL: row(error=error)}) for name, error in errors.items()]
    found = error_bar_verdicts(laws)
    assert (met(found, "≤ 2 × oracle"), met(found, "≤ 1.4 × oracle")) == (False, True)
    assert met(error_bar_verdicts(laws[:5]), "≤ 1.4 × oracle") == OPEN


@pytest.mark.parametrize(("covered", "good"), [(0.95, OPEN), (0.6, False)])
def test_standardised_tables_are_covered(covered, good):
    tables = [cell(TABLE, "wine, standardised", {TOTAL: row(covered=covered)}), cell(TABLE, "wine", {TOTAL: row()})]
    refused = cell(TABLE, "digits, standardised", {TOTAL: row(covered=None)})
    found = error_bar_verdicts([*tables, refused])
    assert met(found, "total, standardised") == good
    assert met(found, "relative, standardised") is None
    assert "1 refused throughout" in next(v["figure"] for v in found if "total, standardised" in v["target"])


def test_a_standardised_table_has_mean_0_and_deviation_1():
    X = TABLES["digits, standardised"].make(np.random.default_rng(0))
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1.0)


def test_speed_is_that_of_the_first_release():
    point = {"name": "600 × 20", "limit": 0.3, "first": 0.4, "later": 0.1, "refused": False}
    assert met(verdicts([], [point]), "600 × 20") is False
    assert met(verdicts([], [{**point, "first": 0.3}]), "600 × 20") is True


# A run, with a release function that adds noise to the mean


def fake(X, *, epsilon, delta, noise, objective, options=None):
    if options is not None:  # asked for the core route
        return SimpleNamespace(refused=True)
    seed = 1 if noise is None else int(noise.below(2**31, 1)[0])
    spread = 0.01 * X.std(axis=0)
    mean = X.mean(axis=0) + spread * np.random.default_rng(seed).normal(size=X.shape[1])
    resolved = np.ones(X.shape[1], dtype=bool)
    return release(mean, half=2 * spread, resolved=resolved, radius=1e9, centre=mean, scale=np.ones(X.shape[1]))


@pytest.fixture
def faked(monkeypatch):
    monkeypatch.setattr(ordinary_contestants, "release_mean", fake)


def test_a_run_measures_everybody_and_can_be_continued(faked, tmp_path):
    chosen = cells("table: (iris|constants)|law: t3, n = 600, d = 5, ε = 1", draws=3)
    way = Way("ordinary", "benchmarks.accuracy.ordinary", keep=tmp_path)
    done = run(chosen, [], 7, way)
    assert run(chosen, [], 7, way) == json.loads(json.dumps(done))  # kept, seconds included
    iris, constants, law = done["cells"]
    assert set(iris["estimators"]) == set(ON_TABLES)
    assert iris["estimators"][CORE]["refusals"] == 3
    assert iris["estimators"][RELATIVE]["z"] == pytest.approx(0.01, rel=0.7)
    assert constants["estimators"][RELATIVE]["columns"] == 3 * 6
    assert law["estimators"][TOTAL]["over_oracle"] == pytest.approx(
        law["estimators"][TOTAL]["error_rms"] / law["oracle"]
    )
    assert met(done["verdicts"], "iris") == OPEN  # three draws


def test_what_decides_a_target_comes_first():
    order = [(cell.section, cell.world, cell.epsilon) for cell in sorted(cells(), key=informative)]
    assert order[0] == (TABLE, "breast cancer", 1.0)
    assert [section for section, *_ in order] == sorted((section for section, *_ in order), key=(TABLE, LAW).index)


def test_results_are_written_and_the_page_has_every_section(faked, tmp_path):
    words = ["--draws", "2", "--cells", "table: iris|law: t3, n = 2000, d = 5", "--out", str(tmp_path)]
    main(words)
    result = read_numbers(tmp_path / "ordinary.json.gz")
    text = (tmp_path / "ordinary.md").read_text()
    assert text == "\n".join(report(result)) + "\n"
    assert "| iris, ε = 4: z-rms ≤ 0.06 |" in text
    assert EXACT in text
    assert "## Laws, d = 5" in text
    assert "| laws, d = 5, n = 2000 |" in text
    assert str(tmp_path) not in result["run"]["command"]


def test_a_run_of_some_cells_is_not_written_unless_asked(faked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["--draws", "1", "--cells", "table: iris"])
    assert list(tmp_path.iterdir()) == []


def test_the_core_route_is_measured_as_it_is():
    (only,) = cells("law: normal, n = 2000, d = 5, ε = 4", draws=1, on_laws=(CORE,))
    said = ordinary_contestants.answer(CORE, only.records(0), only, 0)
    found = figures(said, Truth.of(only.records(0), only.population))
    assert isinstance(only.noise(0, CORE), SeededNoise)
    assert said.release.method == "auto"
    assert found["z"] < 0.2
    assert found["covered_law"] is not None
