"""Every benchmark of accuracy: its page, its command, its share of a run. A new one is one more line of BENCHES."""

from dataclasses import dataclass
from pathlib import Path

RESULTS = Path("benchmarks/results")
KEEP = Path(".bench-cells")


@dataclass(frozen=True)
class Bench:
    """A module with `--budget`, `--jobs`, `--keep`; its part of the minutes of a whole run, and the draws there."""

    page: str
    module: str
    share: float
    draws: tuple[str, ...] = ()
    needs: str = ""  # what it cannot do without, as an option that the caller has to fill in

    def command(self, budget: str = "MINUTES") -> str:
        words = ["python", "-m", self.module, *self.draws, "--budget", budget, "--jobs", "2", "--keep", str(KEEP)]
        return " ".join([*words, *self.needs.split()])


# The most informative first: what README quotes, then what has bars, then what shows a claim of the paper.
BENCHES: dict[str, Bench] = {
    bench.page: bench
    for bench in (
        Bench("ordinary", "benchmarks.accuracy.ordinary", 8.0, ("--draws", "20")),
        Bench("field", "benchmarks.accuracy.field", 4.0, ("--trials", "12")),
        Bench("few", "benchmarks.accuracy.few", 3.0),
        Bench("coverage", "benchmarks.accuracy.coverage", 1.5, ("--draws", "60")),
        Bench("planned", "benchmarks.accuracy.planned", 1.5, ("--draws", "20")),
        Bench("unknown", "benchmarks.accuracy.unknown", 3.0, ("--draws", "8")),
        Bench("known", "benchmarks.accuracy.known", 3.0, ("--draws", "8")),
        Bench("figures", "benchmarks.figures", 2.0, ("--only", "d,a,f")),
        Bench("real", "benchmarks.accuracy.real", 2.0, needs="--data FOLDER"),
    )
}
