"""The table of record numbers in docs/how-to/epsilon-and-delta.md is what the code asks for."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from recording import RecordingNoise

from dimfree import Options, release_mean
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.planning.predict import describe_course
from dimfree.planning.question import Question
from dimfree.planning.tradeoff import plan
from dimfree.programs.choose.constants import MIN_SNR
from dimfree.programs.choose.core import compute_snr
from dimfree.programs.columns.run import count_records_needed
from dimfree.testing import SeededNoise

PAGE = (Path(__file__).parents[2] / "docs/how-to/epsilon-and-delta.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (\d+) \| (\d+) \| (\d+) \|$", PAGE.split("*Per-column estimator*")[1].split("*Stable core*")[0], re.MULTILINE
)
DELTA = 1e-6


def least_records(columns: int, epsilon: float, failure: float = Options().failure_probability) -> int:
    """The smallest number of records that objective="relative" accepts, but for a small probability."""
    return count_records_needed(Budget(epsilon, DELTA), Neighbors.ADD_REMOVE, columns, failure)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_tells_how_many_records_are_needed(row):
    columns, *told = map(int, row)
    assert told == [least_records(columns, epsilon) for epsilon in (1.0, 4.0)]


@pytest.mark.parametrize(
    ("columns", "epsilon", "relation"),
    [(1, 0.3, Neighbors.ADD_REMOVE), (5, 1.0, Neighbors.ADD_REMOVE), (20, 4.0, Neighbors.REPLACE_ONE)],
)
def test_plan_and_refusal_state_the_same_number(relation, columns, epsilon):
    given = {"epsilon": epsilon, "delta": DELTA, "neighbors": str(relation)}
    few = release_mean(np.zeros((9, columns)), objective="relative", noise=RecordingNoise(), **given)
    planned = plan(n=9, d=columns, **given)
    assert planned.objective == "relative"
    least = planned.course.smallest_count
    assert f"about {least} are needed" in few.refusal
    assert f"about {least} are needed" in planned.course.why
    question = Question(least, np.ones(columns), Budget(epsilon, DELTA), relation, objective="relative")
    accepted = 0.99 if relation is Neighbors.ADD_REMOVE else 1.0
    assert describe_course(question).pass_probability == pytest.approx(accepted, abs=0.002)


@pytest.mark.parametrize("columns", [1, 12, 300])
def test_the_epsilon_that_a_refusal_names_would_do(columns):
    asked = {"delta": DELTA, "objective": "relative", "noise": RecordingNoise()}
    refusal = release_mean(np.zeros((150, columns)), epsilon=0.05, **asked).refusal
    epsilon = float(re.search(r"an epsilon of about ([\d.]+\d)", refusal)[1])
    assert least_records(columns, epsilon * 1.01) <= 150 < least_records(columns, epsilon / 1.02)


def test_one_record_fewer_is_refused():
    """Under replace-one the number of records is public, and needs √2 times as many."""
    precision = calibrate_gaussian(Budget(4.0, DELTA), private_count=False).untested.mu ** 2
    least = math.ceil(MIN_SNR / compute_snr(1.0, Neighbors.REPLACE_ONE, precision, 5))
    table = np.random.default_rng(0).normal(size=(least, 5))
    options = {"epsilon": 4.0, "delta": DELTA, "objective": "relative", "neighbors": "replace-one"}
    assert not release_mean(table, **options, noise=SeededNoise(0)).refused
    assert release_mean(table[1:], **options, noise=SeededNoise(0)).refused
