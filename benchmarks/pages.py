"""The results pages as they are stored: which code measured them, what they say of targets, who quotes them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.resolving import Verdict
from benchmarks.record import read_numbers
from benchmarks.registry import BENCHES, RESULTS
from benchmarks.stamp import ROOT, changed

FOLDER = ROOT / RESULTS
READERS = ("README.md", "docs/*.md")  # decisions tell of their own time
INDEX = "index"
NOT_MEASURED_HERE = (INDEX, "audit")  # one is made of the others; the other is written by `dimfree audit`
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

    @property
    def stale(self) -> str:
        """Why it has to be measured again; empty where it is current."""
        for run in self.runs:
            if "stamp" not in run:
                return "old: it has no stamp"
            if parts := changed(run["stamp"], run["module"]):
                return f"measured by other code ({' and '.join(parts)} changed)"
        return ""


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


def stale(folder: Path = FOLDER) -> dict[str, str]:
    """{page: why} of every page that has to be measured again, and of every benchmark that has no page."""
    pages = stored(folder)
    found = {name: page.stale for name, page in pages.items() if page.stale}
    return {**found, **{name: "never measured" for name in BENCHES if name not in pages}}


def quoting() -> list[tuple[Path, str]]:
    """(a page of README or docs, the results page that it quotes figures of)."""
    readers = [path for pattern in READERS for path in sorted(ROOT.glob(pattern))]
    return [(path, name) for path in readers for name in sorted(quoted_in(path.read_text(encoding="utf-8")))]


def quoted_in(text: str) -> set[str]:
    """By the mark before a passage, or by the line after a table; what is called old does not count."""
    return {name for old, name in MARK.findall(text) if not old} | set(SOURCE.findall(text))
