"""The two tables that README and docs/reference/peers.md quote, written anew from the numbers behind their pages.

    python -m benchmarks.quote

A row keeps its place and what it is about; only its figures change. What is said around the tables is for a person.
"""

import math
import re
from pathlib import Path
from typing import Any

from benchmarks.pages import FOLDER, ROOT
from benchmarks.record import read_numbers
from benchmarks.trials import Score, score_of

PAGES = ("README.md", "docs/reference/peers.md")
OWN = ("empirical mean", "oracle floor", "dimfree", "dimfree known")
_FIELD = re.compile(r"^\| (S\d) \| (\d+) \| (\d+) \| .+ \|$", re.MULTILINE)
_ORDINARY = re.compile(r"^\| ([a-z][\w, ]*) \| (\d+ × \d+) \| ([\d.]+) \| \*\*.+ \|$", re.MULTILINE)
_TABLES = ("relative", "Laplace, bounds × 2", "Gaussian, bounds × 2")


def field_row(cell: dict[str, Any], *, with_plan: bool) -> str:
    """Sample mean, floor, ours, the nearest peer, and in the longer table PLAN."""
    scores = {score["name"]: score_of(score) for score in cell["scores"]}
    mean, floor, ours, known = (scores[name].words for name in OWN)
    near = min((score for name, score in scores.items() if name not in OWN), key=_error)
    cells = [cell["spectrum"], cell["dimension"], cell["count"], mean, floor, f"**{ours}**", f"**{known}**"]
    cells += [f"{near.name}{_told(near)} {near.words}", *([scores["PLAN"].words] if with_plan else [])]
    return f"| {' | '.join(map(str, cells))} |"


def _error(score: Score) -> float:
    return math.inf if score.words.startswith("refused") else float(score.words.split()[0])


def _told(score: Score) -> str:
    return "" if score.told == "nothing" else f" ({score.told})"


def ordinary_row(cell: dict[str, Any]) -> str:
    ours, laplace, gaussian = (f"{cell['estimators'][name]['z']:.3g}" for name in _TABLES)
    size = f"{cell['count']} × {cell['dimension']}"
    return f"| {cell['world']} | {size} | {cell['epsilon']:g} | **{ours}** | {laplace} | {gaussian} |"


def rewritten(text: str, *, with_plan: bool) -> str:
    """The text with the figures of the stored pages; a row whose cell was not measured is an error."""
    field = {(c["spectrum"], str(c["dimension"]), str(c["count"])): c for c in _cells("field", "add-remove")}
    tables = {(c["world"], f"{c['epsilon']:g}"): c for c in _cells("ordinary") if c["section"] == "table"}
    text = _FIELD.sub(lambda row: field_row(field[row.groups()], with_plan=with_plan), text)
    return _ORDINARY.sub(lambda row: ordinary_row(tables[row[1], row[3]]), text)


def _cells(page: str, neighbors: str | None = None) -> list[dict[str, Any]]:
    cells = read_numbers(FOLDER / f"{page}.json.gz")["cells"]
    return [cell for cell in cells if neighbors is None or cell["neighbors"] == neighbors]


def main() -> None:
    for name in PAGES:
        page = Path(ROOT / name)
        text = page.read_text(encoding="utf-8")
        page.write_text(rewritten(text, with_plan=name != "README.md"), encoding="utf-8")


if __name__ == "__main__":
    main()
