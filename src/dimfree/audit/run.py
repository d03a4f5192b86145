"""The audit: named checks in a fixed order, within a time, to rows that state a claim and what was found."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

from dimfree.audit.attack import play_canaries, sample
from dimfree.audit.calls import calls, canary_calls
from dimfree.audit.invariants import INVARIANTS
from dimfree.audit.report import FAILURE, INVARIANT, ONE_RUN, SAMPLED, VIOLATED, Row, verdict

EPSILON = 1.0


class Check(NamedTuple):
    """A check gives a row within some seconds; one of weight 0 takes the time it needs."""

    name: str
    how: str
    run: Callable[[float], Row]
    weight: float = 1.0


def checks(epsilon: float = EPSILON) -> list[Check]:
    """List all checks at one epsilon, in order. The rows that rest on samples share FAILURE."""
    attacked, games = calls(epsilon), canary_calls(epsilon)
    failure = FAILURE / (len(attacked) + len(games))
    return [
        *(Check(name, INVARIANT, partial(_check_invariant, name, epsilon), 0.0) for name in INVARIANTS),
        *(Check(str(call), ONE_RUN, partial(play_canaries, call, epsilon, failure=failure)) for call in games),
        *(Check(str(call), SAMPLED, partial(sample, call, epsilon, failure=failure)) for call in attacked),
    ]


def _check_invariant(name: str, epsilon: float, seconds: float) -> Row:
    found = [f"{call}: {complaint}" for call in calls(epsilon) for complaint in INVARIANTS[name](call, epsilon)]
    return Row(name, INVARIANT, verdict=verdict(found), detail="; ".join(found))


def audit(
    budget: float, epsilon: float, *, part: str = "", jobs: int = 1, report: Callable[[str], None] = lambda _: None
) -> Iterator[Row]:
    """Run the checks whose names contain `part`; those with a weight share `budget` seconds of each of the jobs."""
    chosen = [(place, check) for place, check in enumerate(checks(epsilon)) if part in check.name]
    whole = max(1.0, sum(check.weight for _, check in chosen))
    given = [(epsilon, place, min(budget, budget * jobs * check.weight / whole)) for place, check in chosen]
    if jobs == 1:
        rows: Iterator[Callable[[], Row]] = (partial(run_check, *each) for each in given)
    else:  # a check is made of functions, which do not travel: each process makes its own list
        pool = ProcessPoolExecutor(jobs, get_context("spawn"))
        rows = (each.result for each in [pool.submit(run_check, *each) for each in given])
    for (_, check), row in zip(chosen, rows, strict=True):
        report(check.name)
        yield row()


def run_check(epsilon: float, place: int, seconds: float) -> Row:
    """Run one check. An exception is a finding and is shown: the tables of the audit are public."""
    check, started = checks(epsilon)[place], time.monotonic()
    try:
        row = check.run(seconds)
    except Exception as error:  # noqa: BLE001
        row = Row(check.name, check.how, verdict=VIOLATED, detail=f"broke off: {type(error).__name__}: {error}")
    return replace(row, seconds=time.monotonic() - started)
