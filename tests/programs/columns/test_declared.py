"""Declared ends of columns: they replace what would be learned, and a table of such columns is never refused."""

import math

import numpy as np
import pandas as pd
import pytest
from states import at_start, shares_of

import dimfree
from dimfree import Release, release_mean
from dimfree.accounting.precision import largest_mu
from dimfree.programs.columns.opening import learn_columns
from dimfree.programs.columns.run import learn_before_lengths
from dimfree.testing import SeededNoise

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
relations = pytest.mark.parametrize("relation", ["add-remove", "replace-one"])


def ends(columns, low=0.0, high=1.0):
    return {f"c{place}": (low, high) for place in range(columns)}


def frame(rows):
    return pd.DataFrame(rows, columns=[f"c{place}" for place in range(rows.shape[1])])


def indicators(count, columns, seed=0):
    rng = np.random.default_rng(seed)
    return frame((rng.random((count, columns)) < rng.uniform(0.2, 0.8, columns)).astype(float))


def textbook(table, half):
    return math.sqrt(table.shape[1]) * half / len(table) / largest_mu(**BUDGET)


@relations
@pytest.mark.parametrize(("count", "columns"), [(250, 10), (400, 40), (2000, 10)])
def test_indicators_cost_hardly_more_than_the_bounded_gaussian(count, columns, relation):
    table, ratios = indicators(count, columns), []
    for seed in range(6):
        release = release_mean(table, bounds=ends(columns), neighbors=relation, noise=SeededNoise(seed), **BUDGET)
        ratios.append(np.sqrt((release.noise_stddev**2).mean()) / textbook(table, 0.5))
    sensitivity = 1 if relation == "add-remove" else 2
    assert np.median(ratios) <= 1.3 * sensitivity  # the textbook is told the number of records, too


@relations
def test_wide_ranges_are_learned(relation):
    rng = np.random.default_rng(1)
    table = frame(rng.normal(30.0, 1.0, size=(4000, 5)))
    release = release_mean(table, bounds=ends(5, 0.0, 100.0), neighbors=relation, noise=SeededNoise(1), **BUDGET)
    assert release.noise_stddev.max() < textbook(table, 50.0) / 5
    assert np.abs(release.mean - 30.0).max() < 0.3


@pytest.mark.parametrize("missing", ["raise", "complete-case", "available-case"])
@pytest.mark.parametrize("named", [True, False])
def test_few_records_of_many_declared_columns_are_not_refused(missing, named):
    table = indicators(200, 30)
    assert release_mean(table, missing=missing, noise=SeededNoise(3), **BUDGET).refused
    known = ends(30) if named else dict.fromkeys(range(30), (0, 1))
    table = table if named else table.to_numpy()
    release = release_mean(table, bounds=known, missing=missing, noise=SeededNoise(3), **BUDGET)
    assert not release.refused
    assert release.method == "columns"
    for target in ("sample", "population"):
        low, high = release.confidence_interval(target=target)
        assert (low >= 0).all()
        assert (high <= 1).all()
        assert (low < high).all()
        assert np.array_equal(release.confidence_box(target=target, simultaneous=False).low, low)
    assert (release.mean >= 0).all()
    assert (release.mean <= 1).all()
    assert np.array_equal(
        Release.from_json(release.to_json()).confidence_interval()[0], release.confidence_interval()[0]
    )


def test_declared_columns_of_a_small_table_leave_the_looks_to_the_others():
    rng = np.random.default_rng(2)
    table = indicators(200, 12).assign(income=rng.normal(5e4, 1e4, 200))
    assert release_mean(table, noise=SeededNoise(3), **BUDGET).refused
    release = release_mean(table, bounds=ends(12), noise=SeededNoise(3), **BUDGET)
    assert not release.refused
    assert abs(release.mean[-1] - 5e4) < 2e4
    others = indicators(200, 30, 1).add_prefix("x")
    known = {"objective": "relative", "bounds": ends(12), "noise": SeededNoise(3)}
    refused = release_mean(table.join(others), **known, **BUDGET)
    assert "31 columns without bounds" in refused.refusal


def test_no_magnitude_is_looked_for_and_no_scale_exceeds_the_range():
    rng = np.random.default_rng(4)
    limits = np.array([0.0, -np.inf]), np.array([120.0, np.inf])
    rows = np.column_stack([rng.uniform(20, 70, 2000), rng.normal(1e6, 1.0, 2000)])
    state = learn_columns(at_start(rows, 100.0, SeededNoise(1), bounds=limits))
    both = shares_of(learn_columns(at_start(rows, 100.0, SeededNoise(1))))
    assert shares_of(state)["magnitudes of the columns"] < both["magnitudes of the columns"]
    assert state.sd_about_center[0] <= 120
    assert 20 < state.center[0] < 70


def test_nothing_is_spent_where_no_column_is_looked_at():
    limits = np.zeros(3), np.ones(3)
    state = learn_before_lengths(at_start(indicators(300, 3).to_numpy(), 10.0, SeededNoise(1), bounds=limits))
    assert state.left == state.precision
    assert np.array_equal(state.center, np.full(3, 0.5))


def test_intervals_of_declared_columns_cover():
    covered = []
    for seed in range(30):
        table = indicators(300, 8, seed)
        release = release_mean(table, bounds=ends(8), noise=SeededNoise(seed), **BUDGET)
        low, high = release.confidence_interval(target="sample")
        covered.append((low <= table.mean()) & (table.mean() <= high))
    assert np.mean(covered) > 0.91


def test_a_total_of_rows_may_lie_beyond_the_ends_of_an_entry():
    rows = np.repeat(indicators(1500, 2).clip(lower=0.9).to_numpy(), 2, axis=0)
    table = frame(rows).assign(person=np.repeat(np.arange(1500), 2))
    known = {"bounds": ends(2), "privacy_unit": "person", "max_contributions": 2, "noise": SeededNoise(5)}
    release = release_mean(table, **known, **BUDGET)
    assert (release.mean > 1).all()
    assert (release.confidence_interval()[1] > 1).all()


def patients(count, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.normal(54, 16, count).clip(0, 120),
        "smoker": rng.random(count) < 0.22,
        "rare": rng.random(count) < 0.02,
        "score": rng.integers(0, 11, count),
        "constant": np.full(count, 3.0),
    }).astype(float)  # fmt: skip


PATIENTS = {"age": (0, 120), "smoker": (0, 1), "rare": (0, 1), "score": (0, 10), "constant": (0, 5)}


@pytest.mark.parametrize("count", [20, 60, 200, 600, 3000])
def test_a_rare_indicator_and_a_constant_column_cost_the_others_nothing_and_are_covered(count):
    """In half-ranges not much more error than a bounded Gaussian that releases the number of records, too."""
    table, mu = patients(count), largest_mu(**BUDGET)
    mean, half = table.mean().to_numpy(), np.array([(high - low) / 2 for low, high in PATIENTS.values()])
    middle = np.array([(high + low) / 2 for low, high in PATIENTS.values()])
    errors, covered = [], []
    for seed in range(16):
        release = release_mean(table, bounds=PATIENTS, noise=SeededNoise(seed), **BUDGET)
        low, high = release.confidence_interval(target="sample")
        errors.append((release.mean - mean) / half)
        covered.append((low <= mean + 1e-9) & (mean <= high + 1e-9))
    counted = (mean - middle) / half / (count * mu * math.sqrt(0.1))
    bounded = np.hypot(math.sqrt(5) / (count * mu * math.sqrt(0.9)), counted)
    assert np.sqrt(np.mean(np.square(errors))) <= 1.7 * np.sqrt(np.mean(np.square(np.minimum(bounded, 1.0))))
    assert np.mean(covered) >= 0.9
    assert np.mean(covered, axis=0).min() >= 0.7


@pytest.mark.parametrize("objective", ["total", "relative"])
def test_no_records_are_refused_for_free_where_their_number_is_public(objective, tmp_path):
    ledger = dimfree.PrivacyLedger(tmp_path / "l.db", "d", epsilon=3.0, delta=1e-5, neighbors="replace-one")
    given = {"objective": objective, "bounds": {0: (0.0, 1.0), 1: (0.0, 1.0)}, "neighbors": "replace-one"}
    release = release_mean(np.zeros((0, 2)), **given, ledger=ledger, noise=SeededNoise(0), **BUDGET)
    assert release.refused
    assert ledger.status().charges == 0


@relations
@pytest.mark.parametrize("missing", ["raise", "complete-case", "available-case"])
@pytest.mark.parametrize("objective", ["auto", "relative", "total"])
def test_a_handful_of_records_within_bounds_has_an_answer_within_them(objective, missing, relation):
    """Also where the released number of records is negative."""
    given = {"bounds": ends(4), "objective": objective, "missing": missing, "neighbors": relation}
    covered = []
    for seed in range(12):
        table = indicators(1 + seed, 4, seed)
        release = release_mean(table, **given, noise=SeededNoise(seed), **BUDGET)
        low, high = release.confidence_interval(target="sample")
        assert ((release.mean >= 0) & (release.mean <= 1) & (low <= high)).all()
        mean = table.mean().to_numpy()
        covered.append((low <= mean) & (mean <= high))
    assert np.mean(covered) > 0.8
