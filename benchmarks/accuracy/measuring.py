"""Every estimator of a cell on the same draws of its world, and where each one's budget went."""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.cells import Cell
from benchmarks.accuracy.resolving import quartiles
from benchmarks.accuracy.running import DELTA
from benchmarks.accuracy.spherical import release_spherical
from benchmarks.accuracy.worlds import World
from benchmarks.accuracy.yardsticks import Oracle, error, noise_ratio
from dimfree import Release, SeededNoise, release_mean
from dimfree.accounting.events import Costs, Gaussian
from dimfree.accounting.precision import largest_mu
from dimfree.accounting.several_runs.costs import AnyCosts
from dimfree.noise import Noise

_OF_VARIANCES = ("unit of the scores", "variances")


@dataclass
class Row:
    """The measurements of one estimator in one cell: for every figure one number per released trial."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    refusals: int = 0

    def add(self, release: Release, world: World, oracle: Oracle, seconds: float) -> None:
        if release.refused:
            self.refusals += 1
            return
        figures = {
            "error": error(release.mean, world.mean),
            "noise_ratio": noise_ratio(release.noise_stddev, oracle),
            "from_sample_mean": error(release.mean, world.honest_mean) / oracle.noise_rms,
            "found_over_stated": error(release.mean, world.honest_mean) / float(np.linalg.norm(release.noise_stddev)),
            "seconds": seconds,
            **spending(release.ledger),
        }
        for name, value in figures.items():
            self.figures.setdefault(name, []).append(float(value))

    def summary(self, floor: float, sample: float) -> dict[str, Any]:
        """Quartiles; `floor` and `sample` are the median errors of the oracle and of the sample mean."""
        errors = self.figures.get("error", [])
        over = {"error_over_floor": [e / floor for e in errors], "error_over_np": [e / sample for e in errors]}
        figures = {"error": errors, "noise_ratio": [], **self.figures, **over}
        ratios = figures.pop("found_over_stated", [])
        found = float(np.sqrt(np.mean(np.square(ratios)))) if ratios else None  # one far draw counts
        return {name: quartiles(values) for name, values in figures.items()} | {
            "refusals": self.refusals,
            "found_over_stated": found,
            "draws": {name: self.figures.get(name, []) for name in ("error", "noise_ratio", "found_over_stated")},
        }


def spending(ledger: AnyCosts) -> dict[str, float]:
    """Where the precision mu² goes: shares of the chosen branch's, and what the branch leaves of the whole budget."""
    if not isinstance(ledger, Costs) or ledger.chosen is None or ledger.filtered:
        return {}
    branch = ledger.menu[ledger.chosen].mu
    full = largest_mu(ledger.budget.epsilon, ledger.budget.delta)
    stages = [event for event in ledger.after if event.purpose.startswith("stage")]
    searches = [event for event in ledger.after if event.purpose == "lengths of the records"]
    variances = [event for event in ledger.after if event.purpose in _OF_VARIANCES]
    rest = [event for event in ledger.after if event not in [*stages, *searches, *variances]]
    return {
        "stages": len(stages),
        "slack": full / branch,
        "before": _precision((*ledger.before, *ledger.searches)) / full**2,
        "core_share": _precision(rest) / branch**2,
        "variance_share": _precision(variances) / branch**2,
        "stage_share": _precision(stages) / branch**2,
        "search_share": _precision(searches) / branch**2,
    }


def _precision(events: Iterable[Gaussian]) -> float:
    return sum(event.mu**2 for event in events)


def release(world: World, cell: Cell, estimator: str, noise: Noise | None) -> Release:
    releaser = release_spherical if estimator == "spherical" else release_mean
    return releaser(world.X, delta=DELTA, noise=noise, **cell.options(estimator))


def measure(cell: Cell, seed: int, seeded: bool) -> dict[str, Any]:
    """Every estimator of one cell on the same draws."""
    oracle = Oracle(cell.stddevs, cell.count, cell.epsilon, DELTA)
    sample, floor = [], []
    rows = {name: Row() for name in cell.estimators}
    for trial in range(cell.trials):
        generator = cell.generator(seed, trial)
        world = cell.draw(generator)
        sample.append(error(world.X.mean(axis=0), world.mean))
        floor.append(error(oracle.estimate(world.X, world.mean, generator), world.mean))
        for name, row in rows.items():
            noise = SeededNoise(int(generator.integers(2**63))) if seeded else None
            start = time.perf_counter()
            released = release(world, cell, name, noise)
            row.add(released, world, oracle, time.perf_counter() - start)
        del world  # before the next one is drawn: the largest take gigabytes
    yardsticks = {"np": quartiles(sample), "floor": quartiles(floor), "oracle_noise_rms": oracle.noise_rms}
    medians = float(np.median(floor)), float(np.median(sample))
    return {**asdict(cell), **yardsticks, "estimators": {name: row.summary(*medians) for name, row in rows.items()}}
