"""What openings.py found: where all pairs are needed, and what candidate rules lose against the best opening of a cell.

A score is the median of a cell's errors over the oracle's median, a refusal an infinite error; or, as "rms", the root
mean square of the errors that were answered, infinite where half were refused. Cells in which no median error is below
the records' own spread are left out. A rule's loss is its score over the
best opening's. Letters: T = n·mu from which the ring is taken; S = n·√(P/d) from which arrays of at most D columns are
read by themselves, beside the rule of today for any d.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from benchmarks.accuracy.spectra import Floats

OPENINGS = ("columns", "ring", "pairs")
LEAST_DRAWS = 4
LOSES = 1.1
RESAMPLED, LEVEL = 400, 0.05
THRESHOLDS, STRENGTHS, WIDTHS = (60.0, 80.0, 95.0, 110.0), (10.0, 20.0, 40.0), (64, 100, 200)
EDGES = (25, 40, 50, 60, 70, 80, 95, 110, 130, 160, 200, 300, 500, 1000, 4000)


@dataclass(frozen=True)
class Found:
    """One cell: the errors of all draws, a column for each opening and one for today's; infinite: refused."""

    cell: dict[str, Any]
    errors: Floats
    oracle: float
    spread: float
    today: str
    mu: dict[str, float]

    @classmethod
    def of(cls, cell: dict[str, Any], rows: Sequence[dict[str, Any]]) -> "Found":
        errors = [
            [math.inf if (e := row["errors"][name]) is None else e for name in (*OPENINGS, "today")] for row in rows
        ]
        oracle = float(np.median([row["oracle"] for row in rows]))
        today = Counter(str(row["today"]) for row in rows).most_common(1)[0][0]
        return cls(cell, np.array(errors), oracle, rows[0]["spread"], today, rows[0]["mu"])

    @property
    def name(self) -> str:
        return f"{self.cell['world']:13} n = {self.cell['n']:4} d = {self.cell['d']:3} ε = {self.cell['epsilon']:<3g}"

    @property
    def reach(self) -> float:
        """n·mu of the ring's branch."""
        return self.cell["n"] * self.mu.get("ring", 0.0)

    @property
    def strength(self) -> float:
        """n·√(P/d) of the branch without a test."""
        return self.cell["n"] * self.mu.get("columns", 0.0) / math.sqrt(self.cell["d"])

    def scores(self, kind: str) -> dict[str, float]:
        score = _median if kind == "median" else _rms
        return dict(zip((*OPENINGS, "today"), score(self.errors) / self.oracle, strict=True))

    @property
    def of_use(self) -> bool:
        """Whether the best median error is below the spread of the records."""
        return bool(np.median(self.errors[:, :-1], axis=0).min() < self.spread)

    def surely(self) -> bool:
        """Whether resampled draws, too, lose LOSES without the pairs, at LEVEL."""
        coins = np.random.default_rng(0).integers(0, len(self.errors), (RESAMPLED, len(self.errors)))
        medians = np.median(self.errors[coins], axis=1)
        with np.errstate(invalid="ignore"):
            ratios = np.minimum(medians[:, 0], medians[:, 1]) / medians[:, 2]
        return bool(np.quantile(np.nan_to_num(ratios, nan=1.0, posinf=1e9), LEVEL) > LOSES)


def _median(errors: Floats) -> Floats:
    return np.median(errors, axis=0)


def _rms(errors: Floats) -> Floats:
    answered = np.isfinite(errors)
    squares = np.where(answered, errors, 0.0) ** 2
    return np.where(
        answered.mean(axis=0) > 0.5, np.sqrt(squares.sum(axis=0) / np.maximum(answered.sum(axis=0), 1)), np.inf
    )


Rule = Callable[[Found], str]


def rule(least: float, strength: float, width: int, rest: str) -> Rule:
    """The opening of a cell: columns, then the ring, then `rest`: "pairs" keeps them, "columns" does without."""

    def opening(found: Found) -> str:
        d = found.cell["d"]
        if found.strength >= np.clip(5.0 * d, 50, 300) or (d <= width and found.strength >= strength):
            return "columns"
        few = rest != "pairs" or found.reach < 20 * math.sqrt(d)  # today the ring gives way to the pairs above
        return "ring" if found.reach >= least and few else rest

    return opening


def report(cells: Iterable[tuple[dict[str, Any], Sequence[dict[str, Any]]]], every: bool) -> str:
    found = [Found.of(cell, rows) for cell, rows in cells if len(rows) >= LEAST_DRAWS]
    measured, found = len(found), [each for each in found if each.of_use]
    draws = Counter(len(each.errors) for each in found)
    parts = [f"{len(found)} of {measured} cells in which some answer is of use, draws: {dict(sorted(draws.items()))}"]
    for kind in ("median", "rms"):
        parts += [*_pairs_by("n", found, kind), *_pairs_by("d", found, kind), *_pairs_by("world", found, kind)]
        parts += [*_rules(found, kind), *_ring_by_reach(found, kind)]
    parts += _needing(found)
    return "\n".join([*parts, *(_line(each) for each in found if every)])


def _geometric(values: Sequence[float]) -> float:
    finite = [value for value in values if 0 < value < math.inf]
    return math.exp(float(np.mean(np.log(finite)))) if finite else math.nan


def _without(scores: dict[str, float]) -> float:
    """The loss of the better of columns and ring over the pairs; 1 where nobody answers."""
    others = min(scores["columns"], scores["ring"])
    return 1.0 if others == scores["pairs"] == math.inf else others / scores["pairs"]


def _pairs_by(key: str, found: Sequence[Found], kind: str) -> list[str]:
    """Where the pairs run today: what the better of the two others gives in their place, and each of them."""
    groups = defaultdict[Any, list[Found]](list)
    for each in found:
        if each.today == "pairs":
            groups[each.cell[key]].append(each)
    lines = [
        f"\nPairs run today, {kind}, by {key}: cells | better of others / pairs: mean, worst; lose > 10 %, surely"
        " | others refuse | ring / pairs | columns / pairs"
    ]
    for value, group in sorted(groups.items()):
        scores = [each.scores(kind) for each in group]
        losses = [_without(s) for s in scores]
        losing = [each for each, loss in zip(group, losses, strict=True) if loss > LOSES]
        alone = [_geometric([s[o] / s["pairs"] for s in scores if s["pairs"] < math.inf]) for o in ("ring", "columns")]
        refuse = sum(loss == math.inf for loss in losses)
        worst = max((loss for loss in losses if loss < math.inf), default=math.nan)
        lines.append(
            f"  {value!s:14} {len(group):4} | {_geometric(losses):.2f} {worst:.2f} {len(losing) / len(group):4.0%} "
            f"{sum(each.surely() for each in losing):4} | {refuse:3} | {alone[0]:.2f} | {alone[1]:.2f}"
        )
    return lines


def _rules(found: Sequence[Found], kind: str) -> list[str]:
    """Each candidate over the best opening of every cell."""
    every: dict[str, Rule] = {"today": lambda _: "today"} | {o: lambda _, o=o: o for o in OPENINGS}
    for rest, least, strength, width in product(("columns", "ring", "pairs"), THRESHOLDS, STRENGTHS, WIDTHS):
        if rest != "ring" or least == THRESHOLDS[0]:  # the ring below its threshold, too: no threshold
            every[f"T {least:g}, S {strength:g}, D {width}, else {rest}"] = rule(least, strength, width, rest)
    lines = [
        f"\nRules, {kind}: loss over the best opening: mean, worst, share of cells > 10 %, > 50 %; refused there alone"
    ]
    scores = [each.scores(kind) for each in found]
    best = [min(s[o] for o in OPENINGS) for s in scores]
    for name, opening in every.items():
        losses = [s[opening(each)] / b for each, s, b in zip(found, scores, best, strict=True) if b < math.inf]
        answered = np.array([loss for loss in losses if loss < math.inf])
        share = [sum(loss > most for loss in losses) / len(losses) for most in (LOSES, 1.5)]
        lines.append(
            f"  {name:36} {_geometric(losses):.3f} {answered.max():7.2f} {share[0]:4.0%} {share[1]:4.0%} "
            f"{len(losses) - len(answered):5}"
        )
    return lines


def _ring_by_reach(found: Sequence[Found], kind: str) -> list[str]:
    """Ring over columns, and over pairs, by n·mu and d."""
    lines = [f"\nBy n·mu, {kind}: d: cells, ring / columns, ring / pairs (mean)"]
    for low, high in pairwise(EDGES):
        groups = defaultdict[int, list[dict[str, float]]](list)
        for each in found:
            if low <= each.reach < high:
                groups[each.cell["d"]].append(each.scores(kind))
        told = [
            f"{d}: {len(group)} {_geometric([s['ring'] / s['columns'] for s in group]):.2f} "
            f"{_geometric([s['ring'] / s['pairs'] for s in group]):.2f}"
            for d, group in sorted(groups.items())
        ]
        lines.append(f"  {low:4}-{high:<4} " + " | ".join(told))
    return lines


def _needing(found: Sequence[Found]) -> list[str]:
    """The cells in which pairs run today and are surely needed."""
    needing = [each for each in found if each.today == "pairs" and _without(each.scores("median")) > LOSES]
    return ["\nPairs run today and are surely needed:", *(_line(each) for each in needing if each.surely())]


def _line(found: Found) -> str:
    medians, rms = found.scores("median"), found.scores("rms")
    refused = np.isinf(found.errors).sum(axis=0)
    told = " | ".join(f"{o} {medians[o]:.2f} {rms[o]:.2f} {refused[k]:2}" for k, o in enumerate((*OPENINGS, "today")))
    ratio = 1 / _without(medians) if _without(medians) else math.nan
    size = f"n·mu {found.reach:5.0f} S {found.strength:5.1f} pairs/better {ratio:5.2f}"
    return f"  {found.name} {size} | {told} {found.today}"
