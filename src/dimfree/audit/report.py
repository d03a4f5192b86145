"""The rows of an audit as JSON, as Markdown, or as one HTML page that needs nothing else."""

import html
import json
from collections.abc import Sequence
from dataclasses import asdict

from dimfree.audit.row import HELD, REPORTED, SKIPPED, VIOLATED, Row
from dimfree.audit.run import FAILURE

FORMAT = 1
_SAID = {HELD: "held", VIOLATED: "violated", SKIPPED: "had no time", REPORTED: "reported"}
COLUMNS = ("mechanism", "how", "claimed ε", "δ", "ε is at least", "pairs", "samples", "verdict", "found on")

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3em .6em;border-bottom:1px solid #ccc}
.violated{color:#b00020;font-weight:bold}.held{color:#1b5e20}"""


def cells(row: Row) -> tuple[str, ...]:
    """One row as text, in the order of COLUMNS."""
    numbers = ("–" if each is None else f"{each:.3g}" for each in (row.epsilon, row.delta, row.lower_bound))
    return (row.mechanism, row.how, *numbers, str(row.pairs or "–"), str(row.samples or "–"), row.verdict, row.detail)


def summary(rows: Sequence[Row]) -> str:
    """One sentence: how many held, how many did not, and how sure that is."""
    said = [f"{sum(row.verdict == verdict for row in rows)} {text}" for verdict, text in _SAID.items()]
    return (
        f"{', '.join(said)}. Exact and searched bounds are certain; a row that rests on samples is violated by bad "
        f"luck with probability at most {FAILURE:g}, all together. Time is reported, not promised. "
        "An audit can find a violation; that it finds none proves nothing: see proofs/."
    )


def to_json(rows: Sequence[Row], version: str) -> str:
    """The whole audit, readable by machines."""
    document = {
        "format": FORMAT,
        "dimfree": version,
        "confidence": 1 - FAILURE,
        "summary": summary(rows),
        "rows": [asdict(row) for row in rows],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_html(rows: Sequence[Row], version: str) -> str:
    """The whole audit, readable by people."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in COLUMNS)
    body = "\n".join(_html_row(row) for row in rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>dimfree audit</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>dimfree {html.escape(version)}: audit</h1>\n"
        f"<p>{html.escape(summary(rows))}</p>\n<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n"
        "</tbody></table>\n</body></html>\n"
    )


def to_markdown(rows: Sequence[Row], version: str) -> str:
    """The whole audit as a page of a repository."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(cells(row) for row in rows)]
    table = "\n".join("| " + " | ".join(each.replace("|", "\\|") for each in line) + " |" for line in lines)
    return f"# dimfree {version}: audit\n\n{summary(rows)}\n\n{table}\n"


def _html_row(row: Row) -> str:
    shown = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row))
    return f'<tr class="{row.verdict.replace(" ", "-")}">{shown}</tr>'


WRITERS = {".json": to_json, ".html": to_html, ".md": to_markdown}
