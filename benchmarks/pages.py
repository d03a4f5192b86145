"""The stored results pages: their runs, their verdicts on targets, and the documents that quote them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.resolving import Verdict
from benchmarks.record import RESULTS, ROOT, read_numbers

FOLDER = ROOT / RESULTS
READERS = ("README.md", "docs/*.md")  # decisions tell of their own time
INDEX = "index"
MARK = re.compile(r"<!-- (old )?figures: (\w+) -->")  # before a passage; old: of an earlier version, which it says
SOURCE = re.compile(r"From `python -m [^`]*`: \[[^\]]*\]\((?:\.\./)*benchmarks/results/(\w+)\.md\)")  # after a table


@dataclass(frozen=True)
class Page:
    """One page, with the files of numbers behind it."""

    name: str
    runs: tuple[dict[str, Any], ...]
    verdicts: tuple[Verdict, ...]

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.md").read_text(encoding="utf-8")


def stored(folder: Path = FOLDER) -> dict[str, Page]:
    """Every page whose numbers are in the folder; the figures are one page of several files."""
    return {name: page_of(folder, name) for name in sorted({*_names(folder)})}


def _names(folder: Path) -> Iterator[str]:
    yield from (path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz"))
    if any((folder / "figures").glob("*.json.gz")):
        yield "figures"


def page_of(folder: Path, name: str) -> Page:
    found = [read_numbers(path) for path in files_of(folder, name)]
    verdicts = tuple(verdict for numbers in found for verdict in numbers.get("verdicts", []) if "state" in verdict)
    return Page(name, tuple(numbers.get("run", {"command": ""}) for numbers in found), verdicts)


def files_of(folder: Path, name: str) -> list[Path]:
    return sorted((folder / "figures").glob("*.json.gz")) if name == "figures" else [folder / f"{name}.json.gz"]


def quoted_in(text: str) -> set[str]:
    """By the mark before a passage, or by the line after a table; what is called old does not count."""
    return {name for old, name in MARK.findall(text) if not old} | set(SOURCE.findall(text))
