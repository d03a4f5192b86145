"""Whoever runs the checks, the rows are the same and in order, the time is shared, and nobody takes all with him."""

import os
import time

import pytest

from dimfree.audit.row import Check, Row, Time
from dimfree.audit.run import checks, weighted
from dimfree.audit.workers import alone, share, together


def row(name, given):
    return Row(name, "sampled", given.share, given.left, None, os.getpid(), 0, "held", "", 0.0)


def broken(given):
    raise ArithmeticError("not this time")


def slow(given):
    time.sleep(1.0)
    return row("slow", given)


def make():
    quick = [
        Check(f"quick {place}", "sampled", lambda given, p=place: row(f"quick {p}", given), 1.0) for place in range(6)
    ]
    return [Check("slow", "sampled", slow, 2.0), *quick[:3], Check("broken", "sampled", broken, 1.0), *quick[3:]]


@pytest.mark.parametrize("workers", [alone, together(2, make)], ids=["alone", "together"])
def test_rows_come_in_the_order_of_the_checks(workers):
    told = []
    rows = list(workers(make(), 60.0, told.append))
    assert [row.mechanism for row in rows] == [check.mechanism for check in make()] == told
    assert [row.mechanism for row in rows if row.verdict == "violated"] == ["broken"]
    assert rows[4].detail == "broke off: ArithmeticError: not this time"


def test_several_processes_work_at_once():
    rows = list(together(2, make)(make(), 60.0, lambda _: None))
    answered = [row for row in rows if row.verdict == "held"]
    assert len({row.pairs for row in answered}) == 2  # who answered
    assert os.getpid() not in {row.pairs for row in answered}


def test_the_time_of_all_workers_is_shared_by_weight():
    todo = [Check("x", "sampled", slow, weight) for weight in (1.0, 3.0, 4.0)]
    assert share(todo, 0, 8.0) == Time(1.0, 8.0)
    assert share(todo, 0, 8.0, workers=2) == Time(2.0, 8.0)
    assert share(todo, 1, 7.0) == Time(3.0, 7.0)
    assert share(todo, 2, 4.0, workers=2) == Time(4.0, 4.0)  # nobody has more than what is left


def test_every_worker_makes_the_same_list():
    """Places in the list are all that is sent to another process."""
    for mechanism in (None, "clipped"):
        here = [check for check in checks() if mechanism is None or mechanism in check.mechanism]
        assert [(c.mechanism, c.how, c.weight) for c in here if c.weight] == [
            (c.mechanism, c.how, c.weight) for c in weighted(mechanism)
        ]
