"""One page with the state of every target: `benchmarks/results/index.md`, made of the numbers behind the other pages.

python -m benchmarks.index [--out FOLDER]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.accuracy.resolving import MET, MISSED, OPEN, UNTRIED, VERDICT_HEADER, verdict_rows
from benchmarks.pages import FOLDER, INDEX, stored
from benchmarks.record import table

LEGEND = [
    "Written by `python -m benchmarks.index` from the numbers behind the other pages.",
    "",
    f"{MET}: the whole 95 % interval is on the right side of the bar. {MISSED}: one cell's is on the wrong side.",
    f"{OPEN}: so few draws leave it open. {UNTRIED}: no stored page measures it.",
]


def lines(folder: Path = FOLDER) -> list[str]:
    found = ["# The state of every target", "", *LEGEND]
    for page in stored(folder).values():
        run = page.runs[0]
        found += ["", f"## {page.name.capitalize()}", ""]
        found += [
            f"From [{page.name}]({page.name}.md): `{run['command']}` (commit {run.get('commit', 'not recorded')})."
        ]
        if page.verdicts:
            found += ["", *table(VERDICT_HEADER, verdict_rows(page.verdicts))]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder with the pages, and of index.md")
    folder = parser.parse_args(arguments).out
    text = "\n".join(lines(folder)) + "\n"
    (folder / f"{INDEX}.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
