"""The rows of an audit, and how they are written: as JSON, as Markdown, or as one HTML page that needs nothing else."""

import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

FORMAT = 2
FAILURE = 1e-4  # of a whole run: all rows that rest on samples together
HELD, VIOLATED, SKIPPED = "held", "violated", "no time"
SAMPLED, ONE_RUN, INVARIANT = "sampled", "one run", "invariant"
COLUMNS = ("call", "how", "claimed ε", "δ", "ε is at least", "pairs", "samples", "verdict", "found on")

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #ccc}
.violated{color:#b00020;font-weight:bold}.held{color:#1b5e20}"""


@dataclass(frozen=True)
class Row:
    """A claim and what was found. `pairs` counts pairs of tables, or canaries; `samples` counts releases."""

    call: str
    how: str
    epsilon: float | None = None
    delta: float | None = None
    lower_bound: float | None = None
    pairs: int = 0
    samples: int = 0
    verdict: str = HELD
    detail: str = ""
    seconds: float = 0.0


def verdict(violated: object) -> str:
    return VIOLATED if violated else HELD


def cells(row: Row) -> tuple[str, ...]:
    """Return one row as text, in the order of COLUMNS."""
    numbers = ("–" if each is None else f"{each:.3g}" for each in (row.epsilon, row.delta, row.lower_bound))
    return (row.call, row.how, *numbers, str(row.pairs or "–"), str(row.samples or "–"), row.verdict, row.detail)


def summarize(rows: Sequence[Row]) -> str:
    """Write how many claims held, how many did not, and how sure that is."""
    counts = ", ".join(f"{sum(row.verdict == each for row in rows)} {each}" for each in (HELD, VIOLATED, SKIPPED))
    return (
        f"{counts}. Rows that rest on samples are violated by bad luck with probability at most {FAILURE:g}, all "
        "together. An audit can find a violation; that it finds none proves nothing: see proofs/."
    )


def to_json(rows: Sequence[Row], version: str) -> str:
    document = {"format": FORMAT, "dimfree": version, "confidence": 1 - FAILURE, "summary": summarize(rows)}
    document["rows"] = [asdict(row) for row in rows]
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_html(rows: Sequence[Row], version: str) -> str:
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
