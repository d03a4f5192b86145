"""What has to be measured again, and how long that took last time; nothing is printed where all pages are current.

    python -m benchmarks.stale
    python -m benchmarks.stale --accept field few --why "Options.checked renamed; no release changes"

`--accept` declares pages current after a change that changes no release. It is refused unless the seeded releases are
those of the time when the page was measured; run `python tests/contracts/release_cases.py` first, which says whether
they are the code's. The reason is written into the pages.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy.running import known_costs
from benchmarks.pages import FOLDER, Page, files_of, quoting, stale, stored
from benchmarks.record import read_numbers, stamp_lines, write_numbers
from benchmarks.registry import BENCHES
from benchmarks.stamp import bench_digest, estimators_digest, releases_digest


def lines(folder: Path = FOLDER) -> list[str]:
    """One for each page that is not current, those that README and docs quote first."""
    found, pages, quoted = stale(folder), stored(folder), {name for _, name in quoting()}
    order = sorted(found, key=lambda name: name not in quoted)
    return [_line(name, found[name], pages.get(name), name in quoted) for name in order]


def _line(name: str, why: str, page: Page | None, quoted: bool) -> str:
    cost = sum(seconds for seconds, _ in known_costs(name).values()) / 60
    command = BENCHES[name].command() if name in BENCHES else page.runs[0]["command"] if page else ""
    took = f" (all its cells took {cost:.0f} minutes of one core)" if cost else ""
    return f"{name}{' (quoted)' if quoted else ''}: {why}; again: {command}{took}"


def accept(name: str, why: str, folder: Path = FOLDER) -> None:
    """Declare a page current, where the seeded releases are those of its stamp."""
    for path in files_of(folder, name):
        numbers = read_numbers(path)
        before = stamp_lines(numbers["run"])
        _vouch(name, numbers["run"], why)
        write_numbers(path, numbers)
        page = folder / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("\n".join(before), "\n".join(stamp_lines(numbers["run"]))), encoding="utf-8")


def _vouch(name: str, run: dict[str, Any], why: str) -> None:
    if "stamp" not in run:
        raise SystemExit(f"{name} has no stamp, so that nobody can tell which code it was: measure it again.")
    if run["stamp"]["releases"] != releases_digest():
        raise SystemExit(f"{name} cannot be accepted: seeded releases have changed since. Measure it again.")
    now = {"estimators": estimators_digest(), "bench": bench_digest(run["module"]), "why": why}
    run["stamp"]["accepted"].append(now)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stale", description=__doc__)
    parser.add_argument("--accept", nargs="+", metavar="PAGE", help="declare these pages current; needs --why")
    parser.add_argument("--why", default="", help="what changed, and why no figure does")
    options = parser.parse_args(arguments)
    if options.accept:
        if not options.why.strip():
            parser.error("--accept needs --why: the reason is written into the page")
        for name in options.accept:
            accept(name, options.why.strip())
        return
    found = lines()
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
