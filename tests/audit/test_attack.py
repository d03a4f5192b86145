"""The audit finds planted faults in public calls, and accuses none without a fault."""

import json

import numpy as np
import pytest
from stats import sampling

from dimfree.audit import attack
from dimfree.audit.attack import WRITERS, Row, audit, sample, summarize
from dimfree.audit.calls import Call, calls, list_released_numbers, pairs
from dimfree.noise import SeededNoise

EPSILON, FAILURE = 1.0, 1e-6
AMPLE = 1e9  # seconds: the numbers of releases below decide
CALLS = {str(call): call for call in calls(EPSILON)}
PER_COLUMN = CALLS["per column, add-remove"]


class Scaled(SeededNoise):
    """Gaussian noise of another standard deviation."""

    def __init__(self, seed, factor):
        super().__init__(seed)
        self.factor = factor

    def gaussian(self, stddev, size):
        return super().gaussian(self.factor * stddev, size)


@pytest.fixture
def few(monkeypatch):
    """One pair of tables, and so many fresh releases on either."""

    def limit(count):
        monkeypatch.setattr(attack, "_MAX_SAMPLES", count)
        monkeypatch.setattr(attack, "pairs", lambda call: list(pairs(call))[:1])

    return limit


@pytest.mark.slow
@sampling(1e-6)
def test_a_right_release_is_not_accused(few, seed):
    few(150)
    row = sample(PER_COLUMN, EPSILON, AMPLE, FAILURE, SeededNoise(seed))
    assert row.verdict == "held"
    assert row.lower_bound <= EPSILON


@sampling(1e-6)
@pytest.mark.parametrize(("factor", "count"), [(1 / 8, 150), pytest.param(1 / 2, 20_000, marks=pytest.mark.slow)])
def test_too_little_noise_is_found(few, seed, factor, count):
    few(count)
    row = sample(PER_COLUMN, EPSILON, AMPLE, FAILURE, Scaled(seed, factor))
    assert row.verdict == "violated", row


def test_too_little_time_is_stated():
    assert sample(PER_COLUMN, EPSILON, 1e-3, FAILURE, SeededNoise(0)).verdict == "no time"


@pytest.mark.parametrize("name", CALLS)
def test_pairs_are_neighbors(name):
    call, found = CALLS[name], list(pairs(CALLS[name]))
    assert len({pair.name for pair in found}) == len(found) >= 10
    for _, here, there in found:
        others = set(map(tuple, there))
        same = sum(tuple(row) in others for row in np.nan_to_num(here, nan=-7.0))
        assert len(here) - len(there) == (call.relation == "add-remove")
        assert same >= len(here) - 1
        assert not np.array_equal(here, there)


@pytest.mark.parametrize("name", CALLS)
def test_every_call_answers_ordinary_records(name):
    call = CALLS[name]
    answers = [list_released_numbers(call.release(call.table(), EPSILON, SeededNoise(seed))) for seed in range(5)]
    assert sum(numbers[0] == 0 for numbers in answers) >= 3
    assert {len(numbers) for numbers in answers} == {len(answers[0])}


@pytest.mark.slow
def test_rows_come_in_order_from_one_process_or_two():
    alone, both = (list(audit(1e-3, EPSILON, part="invalid rows", jobs=jobs)) for jobs in (1, 2))
    assert [(row.call, row.verdict) for row in alone] == [(row.call, row.verdict) for row in both]
    assert [row.verdict for row in both] == ["no time"]


def test_a_call_that_raises_is_a_violation(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("in a release")

    monkeypatch.setattr(Call, "release", fail)
    [row] = audit(1.0, EPSILON, part="invalid rows")
    assert row.verdict == "violated"
    assert row.detail == "failed: ZeroDivisionError: in a release"


def test_reports_hold_every_row():
    rows = [Row("a|b", 1.0, 0.01, 0.4, 3, 100, "held", "far <1>"), Row("c", 1.0, 0.01, 2.0, 3, 100, "violated", "far")]
    assert summarize(rows).startswith("1 held, 1 violated, 0 no time.")
    assert [row["call"] for row in json.loads(WRITERS[".json"](rows, "0"))["rows"]] == ["a|b", "c"]
    assert "far &lt;1&gt;" in WRITERS[".html"](rows, "0")
    assert "| a\\|b | 1 | 0.01 | 0.4 |" in WRITERS[".md"](rows, "0")
