"""The public calls that the audit attacks, and worst-case neighboring tables for each.

A table is an array with the columns of the records and a last column, the group of each record.
"""

import math
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbors
from dimfree.errors import RefusalWarning, WeakGuaranteeWarning
from dimfree.interop.mean import PrivateMean
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.release import release_mean
from dimfree.release_groups import release_group_means
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release

DELTA = 1e-2  # a smaller delta finds less in the same time, with the same code
FAR, NEAR, HUGE = 1e6, 4.0, 1.7e308  # in standard deviations of the other records
GROUPS, RARE = (0, 1), 2  # keys of typical tables, and a rare key
_RARE_SIZES = (1, 10, 20, 30, 40)
_LONELY_SHARES = (0.02, 0.1, 0.2)
_PARAMETERS = ("count", "radius", "scale")


class Pair(NamedTuple):
    """Two neighboring tables."""

    name: str
    here: Floats
    there: Floats


@dataclass(frozen=True)
class Call:
    """A public call with one neighboring relation, and the number of records that it needs."""

    name: str
    size: int
    given: Mapping[str, Any]
    relation: Neighbors = Neighbors.ADD_REMOVE
    columns: int = 2
    door: Callable[..., Any] = release_mean

    def __str__(self) -> str:
        return f"{self.name}, {self.relation}"

    def release(
        self, table: Floats, epsilon: float, noise: Noise | None = None, store: Callable[..., Any] = np.asarray
    ) -> Any:
        """Call the public function; `store` turns the records into another container."""
        given = {"epsilon": epsilon, "delta": DELTA, "noise": noise, **self.given}
        if self.door is release_group_means:
            given["by"] = table[:, -1].astype(int)
        else:
            given["neighbors"] = self.relation.value
        with warnings.catch_warnings():
            for expected in (WeakGuaranteeWarning, RefusalWarning):
                warnings.simplefilter("ignore", expected)
            return self.door(store(table[:, :-1]), **given)

    def table(self, size: int | None = None) -> Floats:
        """Return typical records: quantiles of a normal distribution at multiples of irrational numbers, not random."""
        size, candidates = size or self.size, np.arange(2.0, 2 * self.columns + 20)
        irrational = np.sqrt(candidates[np.sqrt(candidates) % 1 > 0][: self.columns])
        points = ndtri(np.clip(np.multiply.outer(np.arange(1.0, size + 1), irrational) % 1, 1e-6, 1 - 1e-6))
        return np.column_stack([points, np.arange(size) % len(GROUPS)])


def fit(X: object, **given: Any) -> Release:
    """Release with the scikit-learn estimator."""
    return PrivateMean(**given).fit(X).release_


def calls(epsilon: float) -> list[Call]:
    """List every estimator with each neighboring relation, missing values, groups, and PrivateMean."""
    many, unknown = math.ceil(80 + 140 / epsilon), math.ceil(300 + 400 / epsilon)
    often = Options(failure_probability=0.2)  # smaller tables are answered
    known = {"covariance": [1.0, 1.0], "options": often}
    factor = {"covariance": [1.0, 1.0], "options": Options(failure_probability=0.2, scale="learn")}
    total, relative = {"objective": "total"}, {"objective": "relative"}
    both: list[tuple[str, int, Mapping[str, Any]]] = [
        ("known covariance", many, known),
        ("no prior knowledge", unknown, total),
        ("per column", unknown, relative),
        ("missing entries", unknown, {"missing": "available-case"}),
    ]
    wide = {**total, "options": often}
    return [
        *(Call(name, size, given, relation) for name, size, given in both for relation in Neighbors),
        *(Call("many columns", unknown // 2, wide, relation, 60) for relation in Neighbors),
        Call("known covariance, unknown factor", unknown, factor),
        Call("invalid rows", many, {**known, "missing": "complete-case"}, Neighbors.REPLACE_ONE),
        Call("group means", 2 * unknown, {**relative, "groups": GROUPS}, door=release_group_means),
        Call("group means, known covariance", 2 * many, {**known, "groups": GROUPS}, door=release_group_means),
        Call("group means, private keys", 2 * unknown, {**relative, "groups": "private"}, door=release_group_means),
        Call("PrivateMean", unknown, {}, door=fit),
    ]


def pairs(call: Call) -> Iterator[Pair]:
    """Yield neighboring tables, the strongest first, since a short attack tries only the first."""
    others, added = call.table(call.size - 1), call.relation is Neighbors.ADD_REMOVE

    def join(table: Floats, row: Floats) -> Floats:
        return np.vstack([table, [*row, GROUPS[0]]])

    found = _odd_records(call.columns, missing="missing" in call.given)
    for name, (record, other) in found.items():
        yield Pair(name, join(others, record), others if added else join(others, other))
    equal = others * ([0.0] * call.columns + [1.0])
    record, other = found["far"]
    yield Pair("far from equal records", join(equal, record), equal if added else join(equal, other))
    for share in _LONELY_SHARES:
        lonely, base = math.ceil(share * call.size), others.copy()
        base[:lonely, 0] = 100.0 * NEAR * np.arange(1, lonely + 1)
        yield Pair(f"{lonely} lonely records", join(base, other), base if added else join(base, 0 * other))
    for size in _RARE_SIZES if call.given.get("groups") == "private" else ():
        base = others.copy()
        base[:size, -1] = RARE
        yield Pair(f"group of {size}", base, base[1:])


def _odd_records(columns: int, *, missing: bool) -> dict[str, tuple[Floats, Floats]]:
    """Return pairs of records: the first is added, or replaced by the second."""
    first, last, every = np.eye(columns)[0], np.eye(columns)[-1], np.ones(columns)
    found = {"far": (FAR * first, -FAR * first), "far in every column": (FAR * every, -FAR * every)}
    found |= {"ordinary": (NEAR * first, -NEAR * first), "along another column": (FAR * first, FAR * last)}
    found |= {"at zero": (0 * first, FAR * first), "extreme magnitudes": (HUGE * every, -HUGE * every)}
    if missing:
        found["missing row"] = np.nan * every, FAR * first
        found["missing entry"] = np.where(first == 1, np.nan, FAR), FAR * every
    return found


def list_released_numbers(outcome: Release | GroupMeans) -> Floats:
    """List all released numbers of an outcome, NaN for those that were not released."""
    if isinstance(outcome, GroupMeans):
        return np.concatenate([_numbers(outcome.get(key)) for key in (*GROUPS, RARE)])
    return _numbers(outcome)


def _numbers(release: Release | None) -> Floats:
    found = np.full(9 + len(_PARAMETERS), math.nan)
    found[0] = -1.0
    if release is None:
        return found
    found[9:] = [float(release.parameters.get(name, math.nan)) for name in _PARAMETERS]
    found[0] = zlib.crc32((release.refusal or "").encode()) % 997  # 0 for a mean
    if not release.refused:
        mean, shape, clipping, present = release.mean, release.estimated_variances, release.clipping, release.present
        found[1:6] = mean[0], mean[-1], mean.sum(), np.linalg.norm(mean), np.log(release.noise_stddev[0])
        found[6] = math.nan if shape is None else np.log(shape.variances[0])
        found[7] = math.nan if clipping is None else np.log(clipping.radius)
        found[8] = math.nan if present is None else present[0]
    return found
