"""Every contestant of a cell of ordinary.py on the same draws, and what is kept of the draws."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.accuracy.ordinary_cells import OrdinaryCell
from benchmarks.accuracy.ordinary_contestants import answer
from benchmarks.accuracy.ordinary_figures import Figures, Truth, figures, rms
from benchmarks.accuracy.ordinary_oracle import HindsightOracle
from benchmarks.accuracy.resolving import median_interval, middle
from benchmarks.accuracy.running import DELTA
from dimfree.accounting.precision import largest_mu


def measure(cell: OrdinaryCell) -> dict[str, Any]:
    """All contestants of one cell."""
    drawn: dict[str, list[Figures]] = {name: [] for name in cell.contestants}
    oracle = None if cell.population is None else HindsightOracle(cell.population, cell.epsilon)
    for draw in range(cell.draws):
        truth = Truth.of(cell.records(draw), cell.population)
        if oracle:
            oracle.add(truth.X)
        for name, found in drawn.items():
            found.append(figures(answer(name, truth.X, cell, draw), truth))
    count, dimension = truth.X.shape
    place = {**asdict(cell), "half": cell.half, "count": count, "dimension": dimension}
    place["snr"] = count * largest_mu(cell.epsilon, DELTA) / math.sqrt(dimension)
    place |= {"name": cell.name, "oracle": oracle.error() if oracle else None}
    rows = {name: summary(found, place["oracle"]) for name, found in drawn.items()}
    return {**place, "estimators": rows}


def summary(drawn: Sequence[Mapping[str, float | None]], oracle: float | None) -> dict[str, Any]:
    """Over the draws. In medians a refused draw is infinitely far off; None stands for infinity and for nothing."""
    made = [draw for draw in drawn if "z" in draw]
    z, errors = ([_infinite(draw.get(key)) for draw in drawn] for key in ("z", "error"))
    z_rms, error_rms = rms(_values(made, "z")), rms(_values(made, "error"))
    width = _mean(made, "half_width")
    shares = ("covered", "covered_reach", "ball", "ball_reach", "covered_law", "covered_first")
    return {
        "refusals": len(drawn) - len(made),
        "z": _finite(middle(z)),
        "z_interval": [_finite(end) for end in median_interval(z)],
        "z_rms": z_rms,
        "error": _finite(middle(errors)),
        "error_rms": error_rms,
        "over_oracle": error_rms / oracle if oracle and error_rms is not None else None,
        "width_over_rms": width / z_rms if width is not None and z_rms else None,
        **{name: _mean(made, name) for name in shares},
        **{name: _total(made, name) for name in ("columns", "off", "off_marked", "unresolved")},
        "seconds": float(np.median(_values(drawn, "seconds"))),
        "draws": {"z": [_finite(value) for value in z], "error": [_finite(value) for value in errors]},
    }


def _values(drawn: Sequence[Mapping[str, float | None]], key: str) -> list[float]:
    return [value for draw in drawn if (value := draw.get(key)) is not None]


def _mean(drawn: Sequence[Mapping[str, float | None]], key: str) -> float | None:
    values = _values(drawn, key)
    return float(np.mean(values)) if values else None


def _total(drawn: Sequence[Mapping[str, float | None]], key: str) -> int | None:
    values = _values(drawn, key)
    return int(sum(values)) if values else None


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
