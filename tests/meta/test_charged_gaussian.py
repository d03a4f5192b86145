"""The line that decides how much noise a Gaussian release gets stands once: `accounting.events.charge_gaussian`."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest

from dimfree.accounting.events import charge_gaussian

SOURCE = Path(__file__).parents[2] / "src" / "dimfree"
CONSTRUCTOR = "accounting/events.py"
DRAWING = ("kernel/", "paper/")  # where noise is drawn
QUOTIENTS = {"paper/profiling.py"}  # the stddev of the noisy count, which is charged as it is
SIMULATED = ("audit/", "planning/simulated_table.py")  # draws of tests and forecasts


def parsed():
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def calls_gaussian(node):
    return isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", None)) == "Gaussian"


def divides_by_mu(node):
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    name = getattr(node.right, "id", getattr(node.right, "attr", ""))
    return name.lower().strip("_") == "mu" or name.lower().endswith("_mu") or name.lower().startswith("mu_")


def files_with(is_found):
    return {name for name, tree in parsed() if any(is_found(node) for node in ast.walk(tree))}


def test_no_other_file_states_a_gaussian_cost_by_hand():
    assert files_with(calls_gaussian) == {CONSTRUCTOR}


def test_no_file_that_draws_noise_computes_a_stddev_from_a_mu():
    assert {name for name in files_with(divides_by_mu) if name.startswith(DRAWING)} == QUOTIENTS


def test_gaussian_noise_is_drawn_as_its_event_states_and_nowhere_else():
    for name, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "gaussian":
                assert name.startswith((*DRAWING, *SIMULATED)), name
                assert name.startswith(SIMULATED) or getattr(node.args[0], "attr", None) == "stddev", name


@pytest.mark.parametrize("mu", [1e-9, 0.1, 1 / 3, 0.7, 1.0, 3.3, 1e3])
@pytest.mark.parametrize("sensitivity", [1, 2**20, 3 * 2.0**24 + 0.1, 1e9 / 7])
def test_the_stddev_is_never_below_sensitivity_over_mu(sensitivity, mu):
    event = charge_gaussian(sensitivity, mu, 1, 1.0, "test")
    assert Fraction(event.stddev) * Fraction(mu) >= Fraction(sensitivity)
    assert event.stddev == sensitivity / mu * (1 + 1e-15)
    assert Fraction(event.mu) >= Fraction(sensitivity) / Fraction(event.stddev)
    assert event.mu <= mu * (1 + 1e-15)
