"""Every benchmark of accuracy within one budget, the most informative first, then the page of all targets.

    python -m benchmarks.all --budget MINUTES [--jobs J] [--keep FOLDER] [--data FOLDER] [--only PAGE ...]

Each benchmark gets its share of the minutes that are left, so that what one does not use goes to the
next. Cells of the same code that are kept cost nothing: a second call continues the first.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import index

KEEP = Path(".bench-cells")


@dataclass(frozen=True)
class Bench:
    """A benchmark with `--budget`, `--jobs`, `--keep`; its part of the minutes of a whole run, and the draws there."""

    page: str
    share: float
    draws: tuple[str, ...] = ()
    needs_data: bool = False

    @property
    def module(self) -> str:
        name = "gaussian" if "--page" in self.draws else self.page
        return "benchmarks.figures" if name == "figures" else f"benchmarks.accuracy.{name}"


# The most informative first: what README quotes, then what has bars, then what shows a claim of the paper.
BENCHES: dict[str, Bench] = {
    bench.page: bench
    for bench in (
        Bench("ordinary", 8.0, ("--draws", "20")),
        Bench("field", 4.0, ("--trials", "12")),
        Bench("few", 3.0, ("--page", "few")),
        Bench("coverage", 1.5, ("--draws", "60")),
        Bench("planned", 1.5, ("--draws", "20")),
        *(Bench(page, 3.0, ("--page", page, "--draws", "8")) for page in ("unknown", "known")),
        Bench("figures", 2.0, ("--only", "d,b")),
        *(Bench(page, 2.0, needs_data=True) for page in ("census", "real")),
    )
}


def commands(bench: Bench, minutes: float, options: argparse.Namespace) -> list[str]:
    given = ["--budget", f"{minutes:.1f}", "--jobs", str(options.jobs), "--keep", str(options.keep)]
    given += ["--data", str(options.data)] if bench.needs_data else []
    return [sys.executable, "-m", bench.module, *bench.draws, *given]


def share(bench: Bench, later: Sequence[Bench], left: float) -> float:
    """Minutes of the benchmark, of those that are left to it and to those after it."""
    return left * bench.share / max(sum(each.share for each in (bench, *later)), 1e-9)


def run(benches: Sequence[Bench], options: argparse.Namespace) -> list[str]:
    """The pages whose benchmark failed."""
    end, failed = time.monotonic() + 60 * options.budget, []
    for place, bench in enumerate(benches):
        minutes = share(bench, benches[place + 1 :], max(0.0, end - time.monotonic()) / 60)
        print(f"{bench.page}: {minutes:.1f} minutes", file=sys.stderr, flush=True)
        done = subprocess.run(commands(bench, minutes, options), stdout=subprocess.DEVNULL, check=False)
        failed += [bench.page] if done.returncode else []
    return failed


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all", description=__doc__)
    parser.add_argument("--budget", type=float, required=True, metavar="MINUTES")
    parser.add_argument("--jobs", type=int, default=1, help="processes; set OMP_NUM_THREADS=1 with several")
    parser.add_argument("--keep", type=Path, default=KEEP, help=f"folder for finished cells ({KEEP})")
    parser.add_argument("--data", type=Path, help="folder with the real tables; without it they are left out")
    parser.add_argument("--only", nargs="+", choices=list(BENCHES), default=list(BENCHES), metavar="PAGE")
    options = parser.parse_args(arguments)
    chosen = [each for each in BENCHES.values() if each.page in options.only and (options.data or not each.needs_data)]
    failed = run(chosen, options)
    index.main([])
    if failed:
        sys.exit(f"These failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
