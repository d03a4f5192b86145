"""The audit: named checks in a fixed order, within a time, and the rows that state a claim and what was found."""

import html
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

from dimfree.audit.attack import ONE_RUN, SAMPLED, Row, play_canaries, sample, verdict
from dimfree.audit.calls import calls, canary_calls
from dimfree.audit.invariants import INVARIANTS

EPSILON, FAILURE = 1.0, 1e-4  # the failure is that of a whole run: all rows that rest on samples together
FORMAT, INVARIANT = 2, "invariant"
COLUMNS = ("call", "how", "claimed ε", "δ", "ε is at least", "pairs", "samples", "verdict", "found on")
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #ccc}
.violated{color:#b00020;font-weight:bold}.held{color:#1b5e20}"""


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
        detail = f"broke off: {type(error).__name__}: {error}"
        row = Row(check.name, check.how, verdict=verdict(True), detail=detail)
    return replace(row, seconds=time.monotonic() - started)


def cells(row: Row) -> tuple[str, ...]:
    """Return one row as text, in the order of COLUMNS."""
    numbers = ("–" if each is None else f"{each:.3g}" for each in (row.epsilon, row.delta, row.lower_bound))
    return (row.call, row.how, *numbers, str(row.pairs or "–"), str(row.samples or "–"), row.verdict, row.detail)


def summarize(rows: Sequence[Row]) -> str:
    """Write how many claims held, how many did not, and how sure that is."""
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in ("held", "violated", "no time"))
    return (
        f"{counts}. Rows that rest on samples are violated by bad luck with probability at most {FAILURE:g}, all "
        "together. An audit can find a violation; that it finds none proves nothing: see proofs/."
    )


def to_json(rows: Sequence[Row], version: str) -> str:
    document = {"format": FORMAT, "dimfree": version, "confidence": 1 - FAILURE, "summary": summarize(rows)}
    document["rows"] = [asdict(row) for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_html(rows: Sequence[Row], version: str) -> str:
    """Write one page that needs nothing else."""
    body = "\n".join(_html_row(cells(row), "td", row.verdict.replace(" ", "-")) for row in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>dimfree audit</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>dimfree {html.escape(version)}: audit</h1>\n"
        f"<p>{html.escape(summarize(rows))}</p>\n<table>{_html_row(COLUMNS, 'th')}\n{body}\n</table>\n</body></html>\n"
    )


def _html_row(texts: Sequence[str], tag: str, style: str = "") -> str:
    return f'<tr class="{style}">' + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def to_markdown(rows: Sequence[Row], version: str) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(cells(row) for row in rows)]
    table = "\n".join("| " + " | ".join(each.replace("|", "\\|") for each in line) + " |" for line in lines)
    return f"# dimfree {version}: audit\n\n{summarize(rows)}\n\n{table}\n"


WRITERS = {".json": to_json, ".html": to_html, ".md": to_markdown}
