"""How a run that knows nothing opens its table: every column by itself, the ring, or all pairs, on the same draws.

    python -m benchmarks.accuracy.openings measure --out FILE [--done FILE ...] [--seconds S] [--jobs J] [--data NPZ]
    python -m benchmarks.accuracy.openings summary FILE ... [--cells]

Every opening gets the same records and the same seed, so the same released number of records. The ring is forced
without the filter by the search for the friend radius, which it does not make. Where: openings_worlds.py; what is
found: openings_summary.py.
Real tables (--data) are arrays of an npz file: rows of a public table, which are drawn without replacement.
"""

import argparse
import json
import math
import os
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.accuracy.openings_summary import report
from benchmarks.accuracy.openings_worlds import Opened, cells, drawn
from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spectra import Floats
from benchmarks.accuracy.yardsticks import Oracle, error
from dimfree import SeededNoise, release_mean
from dimfree.accounting.calibrate import Calibration
from dimfree.programs import opening as opening_of_programs
from dimfree.programs import unknown
from dimfree.programs.choose.constants import SURE_COUNT
from dimfree.programs.choose.core import Size, StableChoice
from dimfree.programs.run import TOO_FEW, Run

SETTLED = 4  # after so many draws in which neither the ring nor the pairs answered a cell is left alone
ROUTES = {"release_by_columns": "columns", "_release_by_ring": "ring", "_release_by_pairs": "pairs"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "DIMFREE_THREADS"), "1")


def _no(*_: Any, **__: Any) -> None:
    return None


def _columns(run: Run, calibration: Calibration, size: Size, *, alone: bool) -> Any:
    """The branch without a test, wherever the records are surely not none."""
    return calibration.untested if size.count >= SURE_COUNT * (size.stddev or 0.0) else None


def _ring(run: Run, calibration: Calibration, size: Size) -> StableChoice | None:
    """The ring at any number of columns, however few the records are for a search of λ among all pairs."""
    with patch.object(unknown, "with_likely_searches", lambda branches, *_: branches):
        return unknown.choose_core(run, replace(calibration, tested=calibration.ringed), size)


FORCED: dict[str, dict[str, Callable[..., Any]]] = {
    "columns": {"untested_branch": _columns},
    "ring": {"untested_branch": _no, "choose_ring": _ring},
    "pairs": {"untested_branch": _no, "choose_ring": _no},
    "today": {},
}


@contextmanager
def _noting(opening: str, notes: dict[str, Any]) -> Iterator[None]:
    """Only this opening answers; `notes` gets the route that answered, and the precisions of the branches."""

    def noted(release: Callable[..., Any], route: str, run: Run, session: Any, *rest: Any) -> Any:
        notes["route"] = route
        if opening not in (route, "today"):
            return run.refused(TOO_FEW, "auto", session.costs())
        return release(run, session, *rest)

    def calibrated(*given: Any, **named: Any) -> Calibration:
        found = original(*given, **named)
        branches = {"columns": found.untested, "ring": next(iter(found.ringed), None)}
        notes["mu"] = {name: round(branch.mu, 6) for name, branch in branches.items() if branch is not None}
        return found

    original = opening_of_programs.calibrated
    releases = {name: partial(noted, getattr(unknown, name), route) for name, route in ROUTES.items()}
    patched: dict[str, Any] = {"calibrated": calibrated, **releases, **FORCED[opening]}
    with patch.multiple(unknown, **patched):
        yield


def _short(number: Any) -> float:
    return float(f"{number:.5g}")


def _error(X: Floats, mean: Floats, **budget: Any) -> float | None:
    released = release_mean(X, delta=DELTA, objective="total", **budget)
    return None if released.refused else _short(error(released.mean, mean))


def trial(data: str | None, cell: Opened, number: int) -> dict[str, Any]:
    """One draw: the error of every opening, None where it refused. What today's choice has run is not run again."""
    X, mean, stddevs = drawn(cell, number, data)
    seed, notes = zlib.crc32(f"{cell} {number}".encode()), dict[str, Any]()
    errors, start = dict[str, float | None](), time.process_time()
    for opening in ("today", "columns", "ring", "pairs"):
        if opening != "ring" and opening == notes.get("today"):
            errors[opening] = errors["today"]
            continue
        seen = dict[str, Any]()
        with _noting(opening, seen):
            errors[opening] = _error(X, mean, epsilon=cell.epsilon, noise=SeededNoise(seed))
        if opening == "today":
            notes = {"today": seen.get("route"), "mu": seen["mu"]}
    oracle = Oracle(stddevs, cell.n, cell.epsilon, DELTA).estimate(X, mean, np.random.default_rng(seed))
    found = {"errors": errors, "oracle": _short(error(oracle, mean)), "spread": _short(np.linalg.norm(stddevs))}
    return {**asdict(cell), "draw": number, **notes, **found, "seconds": round(time.process_time() - start, 3)}


# --- Running ---


def read(paths: Sequence[Path]) -> dict[Opened, dict[int, dict[str, Any]]]:
    """The draws of each cell, from what `measure` wrote; a line that was cut off at the end does not count."""
    found: dict[Opened, dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in (line for path in paths for line in path.read_text().splitlines() if line.endswith("}")):
        row = json.loads(line)
        found[Opened(row["world"], row["n"], row["d"], row["epsilon"])][row["draw"]] = row
    return found


def _left(every: Sequence[Opened], done: dict[Opened, dict[int, Any]], draws: int) -> Iterator[tuple[Opened, int]]:
    """Draw by draw, the cells of each in a random order, so that wherever time ends all cells have as many."""
    for number in range(draws):
        order = np.random.default_rng(number).permutation(len(every))
        for cell in (every[i] for i in order):
            rows = done.get(cell, {}).values()
            settled = len(rows) >= SETTLED and all(r["errors"]["ring"] is r["errors"]["pairs"] is None for r in rows)
            if not settled and number not in done.get(cell, {}):
                yield cell, number


def measure(options: argparse.Namespace) -> None:
    """Append one line for each draw of each cell until the time is over."""
    os.environ.update(ONE_THREAD)  # before the workers import NumPy
    end, done, waiting, count = time.monotonic() + options.seconds, read(options.done), set[Any](), 0
    chosen = cells(options.data)
    left = _left(chosen, done, options.draws)
    pool = ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"))
    with pool, options.out.open("a") as out:
        while True:
            while time.monotonic() < end and len(waiting) < 3 * options.jobs and (task := next(left, None)):
                waiting.add(pool.submit(trial, options.data, *task))
            if not waiting:
                break
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in ready:
                if each.exception() is not None:  # one draw that fails does not end the others
                    print(repr(each.exception()), file=sys.stderr)
                    continue
                row = each.result()
                cell = Opened(row["world"], row["n"], row["d"], row["epsilon"])
                done[cell][row["draw"]] = row
                count += 1
                print(json.dumps(row), file=out, flush=True)
    fewest = min(len(done.get(cell, {})) for cell in chosen if cell in done) if done else 0
    print(f"{count} draws of {len(chosen)} cells; every cell that was begun has {fewest} or more.", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    measuring, summary = verbs.add_parser("measure"), verbs.add_parser("summary")
    measuring.add_argument("--out", type=Path, required=True)
    measuring.add_argument("--done", type=Path, nargs="*", default=[])
    measuring.add_argument("--seconds", type=float, default=math.inf)
    measuring.add_argument("--jobs", type=int, default=os.cpu_count())
    measuring.add_argument("--draws", type=int, default=30)
    measuring.add_argument("--data")
    summary.add_argument("files", type=Path, nargs="+")
    summary.add_argument("--cells", action="store_true", help="every cell, too")
    options = parser.parse_args()
    if options.verb == "measure":
        measure(options)
    else:
        found = read(options.files).items()
        print(report([(asdict(cell), [*rows.values()]) for cell, rows in found], options.cells))


if __name__ == "__main__":
    main()
