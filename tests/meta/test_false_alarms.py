"""The whole suite fails by bad luck at most once in a thousand runs, and the helpers of sampling tests can say no."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import bdtr, ndtr
from stats import DECLARED, MOST_FALSE_ALARMS, distribution_fits, frequency_fits

STATISTICAL = Path(__file__).parents[1] / "statistical"


def test_declared_false_alarms_add_up_to_at_most_one_in_a_thousand(request):
    rates = request.config.stash[DECLARED]
    assert all(0 < rate <= 1e-6 for rate in rates.values())
    assert sum(rates.values()) <= MOST_FALSE_ALARMS


@pytest.mark.parametrize("path", sorted(STATISTICAL.glob("test_*.py")), ids=lambda path: path.name)
def test_every_sampling_test_declares_its_rate(path):
    """A test that draws real noise by name declares its rate; so does at least one test of every file here."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test_")]
    declared = {test.name for test in tests if any("sampling(" in ast.unparse(mark) for mark in test.decorator_list)}
    drawing = {test.name for test in tests if re.search("SystemNoise|SeededNoise", ast.unparse(test))}
    assert declared
    assert drawing <= declared


def normal(scale):
    return lambda values: ndtr(values / scale)


def test_distribution_helper_says_yes_and_no(seed):
    draws = np.rint(np.random.default_rng(seed).normal(0, 1e6, 20_000)).astype(np.int64)
    assert distribution_fits(draws, normal(1e6), 1e-6)
    assert not distribution_fits(draws, normal(0.7e6), 1e-6)
    assert not distribution_fits(draws, normal(1.3e6), 1e-6)
    assert not distribution_fits(draws + 300_000, normal(1e6), 1e-6)


def test_distribution_helper_sees_a_gap_on_either_side_of_an_atom():
    atom = np.zeros(20_000, dtype=np.int64)
    assert distribution_fits(atom, lambda values: (values >= 0) * 1.0, 1e-6)
    assert not distribution_fits(atom, lambda values: np.where(values >= 0, 1.0, 0.5), 1e-6)
    assert not distribution_fits(atom, lambda values: np.where(values >= 0, 0.5, 0.0), 1e-6)


def test_frequency_helper_rejects_exactly_the_declared_tails():
    accepted = [k for k in range(101) if frequency_fits(k, 100, 0.3, 1e-3)]
    assert accepted == list(range(accepted[0], accepted[-1] + 1))
    assert bdtr(accepted[0] - 1, 100, 0.3) <= 5e-4 < bdtr(accepted[0], 100, 0.3)
    assert 1 - bdtr(accepted[-1], 100, 0.3) <= 5e-4 < 1 - bdtr(accepted[-1] - 1, 100, 0.3)
