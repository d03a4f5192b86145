"""How every accuracy benchmark runs: cells in the order of a plan, within a budget, each kept once it is done."""

import argparse
import hashlib
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from benchmarks.record import FORMAT, RESULTS, code_digest, provenance, provenance_lines, write_results

DELTA = 1e-6
SEED = 20250101
FULL = 20  # draws of a small cell in a full run
_PATHS = ("--out", "--keep", "--data")

Result = dict[str, Any]


class Work(Protocol):
    """A cell: a frozen dataclass whose repr states all that its result depends on, except for the seed."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Way:
    """How a benchmark is run: processes, where cells are kept, and the minutes after which no cell is begun."""

    jobs: int = 1
    keep: Path | None = None
    minutes: float | None = None  # None: unlimited


@dataclass(frozen=True)
class Done:
    """The results in the order of the plan, and the names of the cells for which no time was left."""

    cells: list[Result]
    left_out: list[str]

    def as_dict(self) -> Result:
        minutes = sum(cell["seconds"] for cell in self.cells) / 60
        return {"cells": self.cells, "left_out": self.left_out, "minutes": minutes}


@dataclass(frozen=True)
class Course:
    """A benchmark from its cells to its page."""

    page: str
    about: str | None  # of the command
    cells: Callable[[argparse.Namespace], Sequence[Any]]  # from the options: draws, quick and those that were added
    measure: Callable[[int, Any], Result]  # of a seed and a cell
    verdicts: Callable[[Sequence[Result]], list[Any]]
    report: Callable[[Result], list[str]]  # the lines below the title and the provenance
    title: str
    draws: int = FULL
    quick: int = 2  # draws of a quick run
    more_options: Callable[[argparse.ArgumentParser], None] = lambda _: None
    module: str = ""  # if it is not named as its page

    def main(self, arguments: Sequence[str] | None = None) -> None:
        """Run the command: measure, print the page, and write it if the plan is whole or a folder is given."""
        module = f"benchmarks.accuracy.{self.module or self.page}"
        parser = argparse.ArgumentParser(prog=f"python -m {module}", description=self.about)
        self.more_options(parser)
        add_options(parser, self.page)
        few = "few draws of few cells; written only with --out"
        parser.add_argument(
            "--draws", "--trials", type=int, help=f"of a small cell ({self.draws}; quick: {self.quick})"
        )
        parser.add_argument("--quick", action="store_true", help=few)
        parser.add_argument("--cells", default="", help="a regular expression; written only with --out")
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = parser.parse_args(given)
        options.draws = options.draws or (self.quick if options.quick else self.draws)
        chosen = [cell for cell in self.cells(options) if re.search(options.cells, cell.name)]
        way = Way(options.jobs, options.keep, options.budget)
        done = measure_cells(partial(self.measure, options.seed), chosen, way, options.seed)
        result = {"run": provenance(module, without_paths(given), options.seed), **done.as_dict()}
        result["verdicts"] = self.verdicts(done.cells)
        lines = [f"# {self.title}", "", *provenance_lines(result["run"]), "", *spent_lines(result), ""]
        whole = not (options.cells or options.quick)
        publish(self.page, result, [*lines, *self.report(result)], options.out, whole=whole)


def add_options(parser: argparse.ArgumentParser, page: str) -> None:
    """Add the options that all benchmarks share."""
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    budget = "begin no cell later; cells that were kept cost nothing"
    parser.add_argument("--budget", type=float, metavar="MINUTES", help=budget)
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    parser.add_argument("--out", type=Path, help=f"folder for {page}.json.gz and {page}.md ({RESULTS})")


def few(full: int, draws: int) -> int:
    """Return the draws of a cell that has `full` of them if a small cell has FULL; at least six if `draws` is.

    An interval of the median takes six.
    """
    return max(min(6, draws), round(full * draws / FULL))


# --- Measuring


def measure_cells(measure: Callable[[Any], Result], cells: Sequence[Work], way: Way, key: object = ()) -> Done:
    """Return every cell that is kept, and measure those for which there is time, the first of the plan first.

    `key` states what a result depends on in addition to the cell and the code.
    """
    paths = [_path(way, key, cell) for cell in cells]
    found = {place: json.loads(path.read_text()) for place, path in enumerate(paths) if path and path.exists()}
    waiting = [place for place in range(len(cells)) if place not in found]
    end = math.inf if way.minutes is None else time.monotonic() + 60 * way.minutes
    with _workers(way.jobs) as submit:
        running: dict[Future[Result], int] = {}
        while waiting or running:
            while waiting and len(running) < way.jobs:
                place = waiting.pop(0)
                if time.monotonic() < end:
                    running[submit(_timed, measure, cells[place])] = place
            ended, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), None)
            for future in ended:
                place = running.pop(future)
                found[place] = _keep(paths[place], future.result())
    left_out = [cell.name for place, cell in enumerate(cells) if place not in found]
    return Done([found[place] for place in sorted(found)], left_out)


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., "Future[Result]"]]:
    """Start fresh processes; with one job, use this process."""
    if jobs == 1:
        yield _run_here
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool.submit


def _run_here(work: Callable[..., Result], *given: Any) -> "Future[Result]":
    future: Future[Result] = Future()
    future.set_result(work(*given))
    return future


def _timed(measure: Callable[[Any], Result], cell: Work) -> Result:
    start, start_cpu = time.perf_counter(), time.process_time()
    found = measure(cell)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(f"{cell.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return {**found, "name": cell.name, "seconds": seconds, "cpu_seconds": cpu}


def _path(way: Way, key: object, cell: Work) -> Path | None:
    name = hashlib.sha256(repr((FORMAT, code_digest(), key, cell)).encode()).hexdigest()[:16]
    return way.keep / f"{name}.json" if way.keep else None


def _keep(path: Path | None, result: Result) -> Result:
    """Return the result as a later run will read it: from JSON, where a tuple is a list."""
    text = json.dumps(result)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found: Result = json.loads(text)
    return found


# --- Pages


def publish(page: str, result: Result, lines: Sequence[str], out: Path | None, *, whole: bool) -> None:
    """Print the page, and write it to `out`, or to the results if the plan was not cut down by hand."""
    print("\n".join(lines))
    folder = out or (RESULTS if whole else None)
    if folder:
        write_results(folder, page, result, lines)


def spent_lines(result: Result) -> list[str]:
    """Return what measuring took, and what a budget has left out."""
    lines = [f"Measuring took {result['minutes']:.0f} minutes, added up over the processes."]
    names = result["left_out"]
    words = f"Not measured, for lack of time: {len(names)} cells ({'; '.join(names[:6])}{' …' * (len(names) > 6)})."
    return [*lines, "", words] if names else lines


def without_paths(given: Sequence[str]) -> list[str]:
    """Return the command without its folders, which are the reader's to choose."""
    dropped = {index for index, word in enumerate(given) if word in _PATHS}
    return [word for index, word in enumerate(given) if not dropped & {index, index - 1}]
