"""What a release by columns says of itself holds: with invalid records, for constant columns, down to the last bit."""

import re

import numpy as np
import pytest

from dimfree import release_mean
from dimfree.programs.columns.run import TOO_FEW_VALID
from dimfree.programs.run import BY_COLUMN, DROPPED
from dimfree.testing import SeededNoise

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
relations = pytest.mark.parametrize("relation", ["add-remove", "replace-one"])


def with_invalid(share, rows=2500, columns=5):
    table = 1e4 + np.random.default_rng(2).normal(size=(rows, columns))
    table[: int(share * rows), 0] = np.nan
    return table


@relations
@pytest.mark.parametrize("objective", ["relative", "total"])
def test_invalid_records_do_not_blur_the_others(relation, objective):
    """Histograms are read as shares of the valid records: a third of invalid ones hides no column."""
    table = with_invalid(0.35)
    given = {**BUDGET, "objective": objective, "neighbors": relation, "missing": "complete-case"}
    mean, off, resolved = table[np.isfinite(table).all(axis=1)].mean(axis=0), [], []
    for seed in range(8):
        release = release_mean(table, **given, noise=SeededNoise(seed))
        assert release.method == "columns"
        off.append((release.mean - mean) / release.noise_stddev)
        resolved.append(release.resolved)
    assert np.mean(resolved) > 0.9
    assert np.mean(np.abs(off) < 2) > 0.8


@relations
def test_the_stated_number_of_averaged_records_is_that_of_valid_ones(relation):
    given = {**BUDGET, "objective": "relative", "neighbors": relation, "noise": SeededNoise(0)}
    release = release_mean(with_invalid(0.35), **given, missing="complete-case")
    assert 1400 < release.parameters["averaged_at_least"] < 1625
    assert "averaged_at_least" not in release_mean(with_invalid(0.0), **given).parameters


@relations
def test_too_few_valid_records_are_refused_by_their_released_number(relation):
    given = {**BUDGET, "objective": "relative", "neighbors": relation, "noise": SeededNoise(0)}
    release = release_mean(with_invalid(0.99), **given, missing="complete-case")
    assert release.refused
    assert release.refusal == f"{TOO_FEW_VALID}{DROPPED}{BY_COLUMN}"
    assert release.charges.after[-1].purpose == "number of valid records"


@pytest.mark.parametrize("objective", ["relative", "total"])
def test_constant_columns_have_no_stated_spread(objective):
    """A spread of zero is not bounded from below, nor is noise called small beside it."""
    table = np.random.default_rng(0).normal(size=(2500, 5))
    table[:, 1:4] = [5.0, 1.0, 1e6]
    for seed in range(6):
        release = release_mean(table, **BUDGET, objective=objective, noise=SeededNoise(seed))
        low, _ = release.sd_bounds()
        assert (low[1:4] == 0).all()
        assert low[0] > 0


def test_noise_is_never_stated_below_the_last_bit_of_a_mean():
    """A constant column: its noise may be smaller than what a float can tell apart."""
    table = np.tile([123.456, -3e-5, 7.1e9], (3000, 1))
    release = release_mean(table, **BUDGET, objective="relative", noise=SeededNoise(0))
    assert (release.noise_stddev >= 0.9 * np.spacing(np.abs(table[0])) / 2).all()
    assert (np.abs(release.mean - table[0]) < 5 * release.noise_stddev).all()


@pytest.mark.parametrize(
    ("relation", "epsilon", "rows", "columns"),
    [("add-remove", 4.0, 60, 60), ("replace-one", 4.0, 60, 60), ("replace-one", 0.3, 120, 3)],
)
def test_what_a_refusal_asks_for_would_do(relation, epsilon, rows, columns):
    """mu grows more slowly than epsilon, so no multiple of it would."""
    table = np.random.default_rng(0).normal(size=(20 * rows, columns))
    given = {"delta": 1e-6, "objective": "relative", "neighbors": relation, "noise": SeededNoise(0)}
    refused = release_mean(table[:rows], epsilon=epsilon, **given)
    assert refused.refused
    more, other = re.search(r"about (\d+) are needed, or an epsilon of about ([\d.]+\d)", refused.refusal).groups()
    assert not release_mean(table[: int(1.2 * int(more))], epsilon=epsilon, **given).refused
    assert release_mean(table[: int(0.8 * int(more))], epsilon=epsilon, **given).refused
    assert not release_mean(table[:rows], epsilon=1.1 * float(other), **given).refused


def test_a_refusal_asks_for_no_epsilon_where_none_would_do():
    refused = release_mean(np.zeros((0, 400)), epsilon=1.0, delta=1e-6, objective="relative", noise=SeededNoise(1))
    assert "epsilon" not in refused.refusal
