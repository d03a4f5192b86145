"""Attack the public calls as black boxes: samples of releases bound epsilon from below.

All pairs of neighboring tables are tried, then the worst pair is tested on fresh releases. Their number is fixed before
the first release: stopping by the clock could prefer fast outputs. Proof: proofs/audit/lower_bound.md.
"""

import html
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from dimfree._types import Floats
from dimfree.audit.calls import DELTA, Call, Pair, calls, list_released_numbers, pairs
from dimfree.audit.lower_bound import ThresholdTest, bound, choose_tests, epsilon_at_least
from dimfree.noise import Noise

FAILURE = 1e-4  # of a whole run, all rows together
FORMAT = 3
COLUMNS = ("call", "claimed ε", "δ", "ε is at least", "pairs", "samples", "verdict", "found on")
_TRIAL_SHARE = 1 / 3  # of the time
_TRIAL_RELEASES, _TRIAL_FAILURE = 30, 0.1  # per table; the level at which tried pairs are compared
_DETECTED = 1.3  # times the claim: the lower bound of a call that releases everything must reach this
_MAX_SAMPLES = 400_000  # per table
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #ccc}
.violated{color:#b00020;font-weight:bold}.held{color:#1b5e20}"""


@dataclass(frozen=True)
class Row:
    """A claim and the result of its attack. `pairs` counts pairs of tables, `samples` releases."""

    call: str
    epsilon: float
    delta: float = DELTA
    lower_bound: float | None = None
    pairs: int = 0
    samples: int = 0
    verdict: str = "held"
    detail: str = ""
    seconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, in the order of COLUMNS."""
        numbers = ("–" if each is None else f"{each:.3g}" for each in (self.epsilon, self.delta, self.lower_bound))
        return (self.call, *numbers, str(self.pairs or "–"), str(self.samples or "–"), self.verdict, self.detail)


def audit(
    budget: float, epsilon: float, *, part: str = "", jobs: int = 1, report: Callable[[str], None] = lambda _: None
) -> Iterator[Row]:
    """Attack the calls whose names contain `part`; they share `budget` seconds of each job."""
    names = [name for name in map(str, calls(epsilon)) if part in name]
    seconds = min(budget, budget * jobs / max(1, len(names)))
    if jobs == 1:
        rows: Iterator[Callable[[], Row]] = (partial(attack, name, epsilon, seconds) for name in names)
    else:  # functions cannot be sent to a process, so each process makes its own list
        pool = ProcessPoolExecutor(jobs, get_context("spawn"))
        rows = (each.result for each in [pool.submit(attack, name, epsilon, seconds) for name in names])
    for name, row in zip(names, rows, strict=True):
        report(name)
        yield row()


def attack(name: str, epsilon: float, seconds: float) -> Row:
    """Attack one call. An error is a result and is shown: the tables of the audit are public."""
    found, started = {str(call): call for call in calls(epsilon)}, time.monotonic()
    try:
        row = sample(found[name], epsilon, seconds, FAILURE / len(found))
    except Exception as error:  # noqa: BLE001
        row = Row(name, epsilon, verdict="violated", detail=f"failed: {type(error).__name__}: {error}")
    return replace(row, seconds=time.monotonic() - started)


def sample(call: Call, epsilon: float, seconds: float, failure: float, noise: Noise | None = None) -> Row:
    """Bound epsilon from below, wrong with probability at most `failure`; tests pass their own `noise`."""
    start = time.monotonic()
    tried: list[tuple[float, Pair, list[ThresholdTest], float]] = []
    for pair in pairs(call):
        begun = time.monotonic()
        if tried and begun - start > seconds * _TRIAL_SHARE:
            break
        here, there = _releases(call, pair, _TRIAL_RELEASES, epsilon, noise)
        tests = choose_tests(here, there, DELTA)
        suggested = bound(tests, here, there, DELTA, _TRIAL_FAILURE).epsilon
        tried.append((suggested, pair, tests, (time.monotonic() - begun) / _TRIAL_RELEASES))
    _, worst, tests, cost = max(tried, key=lambda each: each[0])
    count = int(min(_MAX_SAMPLES, (start + seconds - time.monotonic()) / cost))
    fewest, each = 8, failure / len(tests)  # releases of either table show a call that releases everything
    while epsilon_at_least((fewest, fewest, 0, fewest), DELTA, each) < _DETECTED * epsilon:
        fewest = math.ceil(1.1 * fewest)
    if count < fewest:
        return Row(str(call), epsilon, verdict="no time")
    best = bound(tests, *_releases(call, worst, count, epsilon, noise), DELTA, failure)
    verdict = "violated" if best.epsilon > epsilon else "held"
    found = f"{worst.name}, by {best.test}"
    return Row(str(call), epsilon, DELTA, best.epsilon, len(tried), best.samples, verdict, found)


def _releases(call: Call, pair: Pair, count: int, epsilon: float, noise: Noise | None) -> tuple[Floats, Floats]:
    """Release on both tables in turn, and return the released numbers."""
    found = [
        [list_released_numbers(call.release(table, epsilon, noise)) for table in (pair.here, pair.there)]
        for _ in range(count)
    ]
    here, there = zip(*found, strict=True)
    return np.array(here), np.array(there)


def summarize(rows: Sequence[Row]) -> str:
    """Describe how many claims held and how many are violated."""
    verdicts = [row.verdict for row in rows]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in ("held", "violated", "no time"))
    return (
        f"{counts}. The probability of a false violation in any row is at most {FAILURE:g}. An audit can find a "
        "violation; it cannot prove that there is none (see proofs/)."
    )


def to_json(rows: Sequence[Row], version: str) -> str:
    document = {"format": FORMAT, "dimfree": version, "confidence": 1 - FAILURE, "summary": summarize(rows)}
    document["rows"] = [asdict(row) for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_html(rows: Sequence[Row], version: str) -> str:
    """Write one page that loads nothing."""
    body = "\n".join(_html_row(row.cells(), "td", row.verdict.replace(" ", "-")) for row in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>dimfree audit</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>dimfree {html.escape(version)}: audit</h1>\n"
        f"<p>{html.escape(summarize(rows))}</p>\n<table>{_html_row(COLUMNS, 'th')}\n{body}\n</table>\n</body></html>\n"
    )


def _html_row(texts: Sequence[str], tag: str, style: str = "") -> str:
    return f'<tr class="{style}">' + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"


def to_markdown(rows: Sequence[Row], version: str) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(row.cells() for row in rows)]
    table = "\n".join("| " + " | ".join(each.replace("|", "\\|") for each in line) + " |" for line in lines)
    return f"# dimfree {version}: audit\n\n{summarize(rows)}\n\n{table}\n"


WRITERS = {".json": to_json, ".html": to_html, ".md": to_markdown}
