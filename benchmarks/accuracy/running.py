"""How every accuracy benchmark is run: cells in the order of a plan, within a budget, each kept once it is done."""

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
from typing import Any, Protocol, TypeVar

from benchmarks.accuracy.resolving import quartiles as quartiles
from benchmarks.record import FORMAT, ROOT, code_digest, provenance, write_results
from benchmarks.registry import RESULTS

DELTA = 1e-6
SEED = 20250101
COSTS = ROOT / "benchmarks/costs.json"  # page: cell: [seconds of a processor, draws], as last measured

Result = dict[str, Any]


class Work(Protocol):
    """A cell: a frozen dataclass whose repr says all that its result depends on, but for the seed."""

    @property
    def name(self) -> str: ...


AnyWork = TypeVar("AnyWork", bound=Work)


@dataclass(frozen=True)
class Way:
    """How a benchmark is run: which one, processes, where cells are kept, and the minutes it may take."""

    page: str
    module: str
    jobs: int = 1
    keep: Path | None = None
    minutes: float | None = None  # None: as long as it takes

    @classmethod
    def of(cls, page: str, module: str, options: argparse.Namespace) -> "Way":
        return cls(page, module, options.jobs, options.keep, options.budget)


@dataclass(frozen=True)
class Done:
    """The results in the order of the plan, and the names of the cells for which no time was left."""

    cells: list[Result]
    left_out: list[str]

    @property
    def minutes(self) -> float:
        return sum(cell["seconds"] for cell in self.cells) / 60

    def as_dict(self) -> Result:
        return {"cells": self.cells, "left_out": self.left_out, "minutes": self.minutes}


def add_options(parser: argparse.ArgumentParser, page: str) -> None:
    """The options that all benchmarks share."""
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="MINUTES",
        help="begin no cell that, by what it took last time, would end later; cells that were kept cost nothing",
    )
    parser.add_argument("--keep", type=Path, help="folder for finished cells, so that a run can be continued")
    parser.add_argument("--out", type=Path, help=f"folder for {page}.json.gz and {page}.md ({RESULTS})")


def measured(measure: Callable[[AnyWork], Result], cells: Sequence[AnyWork], way: Way, key: object = ()) -> Done:
    """Every cell that is kept, and those for which there is time, the first of the plan first.

    `key` says what a result depends on beside the cell and the code. A result has its cell's name and its seconds.
    """
    paths = [_path(way, key, cell) for cell in cells]
    found = {place: _read(path) for place, path in enumerate(paths) if path and path.exists()}
    waiting = [place for place in range(len(cells)) if place not in found]
    clock, costs = _Clock.of(way), known_costs(way.page)
    with _workers(way.jobs) as submit:
        running: dict[Future[Result], int] = {}
        while waiting or running:
            while waiting and len(running) < way.jobs:
                place = waiting.pop(0)
                if clock.leaves(expected(cells[place], costs, cells)):
                    running[submit(_timed, measure, cells[place])] = place
            ended, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), None)
            for future in ended:
                place = running.pop(future)
                found[place] = _kept(paths[place], future.result())
    left_out = [cell.name for place, cell in enumerate(cells) if place not in found]
    return Done([found[place] for place in sorted(found)], left_out)


@dataclass(frozen=True)
class _Clock:
    end: float | None

    @classmethod
    def of(cls, way: Way) -> "_Clock":
        return cls(None if way.minutes is None else time.monotonic() + 60 * way.minutes)

    def leaves(self, seconds: float) -> bool:
        return self.end is None or time.monotonic() + seconds < self.end


@dataclass(frozen=True)
class Course:
    """A benchmark whose cells have one number of draws to go by: from its cells to its page."""

    page: str
    module: str
    draws: int
    cells: Callable[[int], Sequence[Work]]
    measure: Callable[[int, Any], Result]  # seed, cell
    verdicts: Callable[[Sequence[Result]], list[Any]]
    report: Callable[[Result], list[str]]

    def run(self, parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
        """With the options of `add_options`, the number of draws and a pattern of names."""
        parser.add_argument("--draws", type=int, default=self.draws, help=f"of a cell of middling size ({self.draws})")
        parser.add_argument("--cells", default="", help="a regular expression; written only with --out")
        given = list(sys.argv[1:] if arguments is None else arguments)
        options = parser.parse_args(given)
        chosen = [cell for cell in self.cells(options.draws) if re.search(options.cells, cell.name)]
        way = Way.of(self.page, self.module, options)
        done = measured(partial(self.measure, options.seed), chosen, way, options.seed)
        result = {"run": provenance(self.module, without_paths(given), options.seed), **done.as_dict()}
        result["verdicts"] = self.verdicts(done.cells)
        publish(self.page, result, self.report(result), options.out, whole=not options.cells)


@contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., "Future[Result]"]]:
    """Fresh processes, each with noise of its own; with one job, this process."""
    if jobs == 1:
        yield _at_once
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield pool.submit


def _at_once(work: Callable[..., Result], *given: Any) -> "Future[Result]":
    future: Future[Result] = Future()
    future.set_result(work(*given))
    return future


def _timed(measure: Callable[[AnyWork], Result], cell: AnyWork) -> Result:
    """With a line to stderr when done."""
    start, start_cpu = time.perf_counter(), time.process_time()
    found = measure(cell)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(f"{cell.name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return {**found, "name": cell.name, "seconds": seconds, "cpu_seconds": cpu}


def _path(way: Way, key: object, cell: Work) -> Path | None:
    name = hashlib.sha256(repr((FORMAT, code_digest(), key, cell)).encode()).hexdigest()[:16]
    return way.keep / f"{name}.json" if way.keep else None


def _read(path: Path) -> Result:
    found: Result = json.loads(path.read_text())
    return found


def _kept(path: Path | None, result: Result) -> Result:
    """As a later run will read it: from JSON, where a tuple is a list."""
    text = json.dumps(result)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found: Result = json.loads(text)
    return found


# Costs: a plan for the next run, no measurement of speed. A busy machine takes longer than they say.


def known_costs(page: str) -> dict[str, list[float]]:
    costs: dict[str, dict[str, list[float]]] = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    return costs.get(page, {})


def draws_of(cell: Any) -> int:
    return int(getattr(cell, "draws", 0) or getattr(cell, "trials", 0) or 1)


def size_of(cell: Any) -> float:
    """Entries of the largest table that it draws; 0 where the cell does not say."""
    return float(getattr(cell, "entries", 0) or getattr(cell, "count", 0) * getattr(cell, "dimension", 0))


def expected(cell: Work, costs: dict[str, list[float]], others: Sequence[Work] = ()) -> float:
    """Seconds, by what the cell took last time; else by the known one nearest in size, in proportion; else zero."""
    if cell.name in costs:
        seconds, draws = costs[cell.name]
        return seconds / draws * draws_of(cell)
    sized = [other for other in others if other.name in costs and size_of(other)]
    if not sized or not size_of(cell):
        return 0.0
    near = min(sized, key=lambda other: abs(math.log(size_of(other) / size_of(cell))))
    seconds, draws = costs[near.name]
    return seconds / draws * draws_of(cell) * size_of(cell) / size_of(near)


def remember(page: str, cells: Sequence[Result]) -> None:
    """What these cells took, beside what is known of others."""
    costs = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    draws = [cell.get("draws") or cell.get("trials") or 1 for cell in cells]
    now = {cell["name"]: [round(cell["cpu_seconds"], 2), n] for cell, n in zip(cells, draws, strict=True)}
    costs[page] = dict(sorted({**costs.get(page, {}), **now}.items()))
    text = json.dumps(dict(sorted(costs.items())), indent=1, ensure_ascii=False)
    COSTS.write_text(re.sub(r"\[\s+(\S+),\s+(\S+)\s+\]", r"[\1, \2]", text) + "\n")  # a cell a line


def publish(page: str, result: Result, lines: Sequence[str], out: Path | None, *, whole: bool) -> None:
    """Print the page, and write it: where `out` says, or to the results if the plan was not cut down by hand."""
    print("\n".join(lines))
    folder = out or (RESULTS if whole else None)
    if folder:
        write_results(folder, page, result, lines)
    if folder == RESULTS:
        remember(page, result["cells"])


def left_out_lines(result: Result) -> list[str]:
    """What a budget has left out."""
    names = result.get("left_out", [])
    words = f"Not measured, for want of time: {len(names)} cells ({'; '.join(names[:6])}{' …' * (len(names) > 6)})."
    return ["", words] if names else []


def minutes_line(result: Result) -> str:
    return f"Measuring took {result['minutes']:.0f} minutes, added up over the processes."


def without_paths(given: Sequence[str]) -> list[str]:
    """The command less the folders, which are the reader's to choose."""
    dropped = {index for index, word in enumerate(given) if word in ("--out", "--keep")}
    return [word for index, word in enumerate(given) if not dropped & {index, index - 1}]


# For the benchmarks of speed, whose cells depend on all of the package.


def kept(folder: Path | None, key: object, measure: Callable[[], Result]) -> Result:
    """One cell, from the folder where an interrupted run has left it; `key` says all that it depends on."""
    if folder is None:
        return measure()
    name = hashlib.sha256(repr((FORMAT, code_digest(), key)).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    return _read(path) if path.exists() else _kept(path, measure())
