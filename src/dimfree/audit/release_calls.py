"""The calls of `release_mean` that are sampled, with tables just large enough to be answered."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.audited import DELTA
from dimfree.audit.pairs.pair import Table
from dimfree.audit.pairs.spread import SEVERAL
from dimfree.geometry.shape import Dense, Diagonal, Isotropic, LowRank, Shape
from dimfree.interop.mean import PrivateMean, RefusalWarning
from dimfree.noise import Noise
from dimfree.paper.shares import choose_steps, paper_shares
from dimfree.release import CAUTION, release_mean
from dimfree.results.release import Release

FAILURE = 0.2  # accepted chance of a refusal: shorter ladders, so smaller tables

KNOWN, SPREAD, PAPER = "known", "spread", "paper"  # tables in units of a known shape, or with a scale to be learned


def fitted(table: Table, **options: Any) -> Release:
    """The release inside the scikit-learn estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefusalWarning)
        return PrivateMean(**options).fit(table).release_


@dataclass(frozen=True)
class ReleaseCall:
    """How `release_mean` is called, and how many records it needs at this budget."""

    name: str
    options: dict[str, Any]
    size: int
    relation: Neighbours = Neighbours.ADD_REMOVE
    tables: str = KNOWN
    call: Callable[..., Release] = release_mean
    weight: float = 2.0

    @property
    def shape(self) -> Shape:
        """The shape in whose units the tables are made."""
        given = self.options.get("shape")
        return given if isinstance(given, Shape) else Isotropic(1.0)

    def release(self, table: Table, epsilon: float, noise: Noise) -> Release:
        return self.call(
            table,
            epsilon=epsilon,
            delta=DELTA,
            neighbours=self.relation.value,
            failure_probability=FAILURE,
            noise=noise,
            **self.options,
        )


def release_calls(epsilon: float) -> list[ReleaseCall]:
    """Every estimator in each of its relations; then every option that changes what is computed, once."""
    more, replaced = math.ceil(1 / epsilon), Neighbours.REPLACE_ONE
    known: dict[str, Any] = {"shape": Isotropic(1.0)}
    core, stages = {**known, "core": "stable", "stages": 0}, {**known, "core": "stable"}
    few, many, unknown = 60 + 90 * more, 80 + 140 * more, math.ceil(200 + 400 / epsilon)
    return [
        ReleaseCall("soft", {**known, "core": "soft"}, 30 + 25 * more, weight=4.0),
        ReleaseCall("basic", {**known, "core": "basic"}, 40 + 60 * more, weight=4.0),
        ReleaseCall("stable", core, many, weight=4.0),
        ReleaseCall("stable", core, few, replaced, weight=4.0),
        ReleaseCall("recentred", stages, many, weight=4.0),
        ReleaseCall("recentred", stages, few, replaced, weight=4.0),
        ReleaseCall("cheapest", known, many),
        ReleaseCall("cheapest", known, few, replaced),
        ReleaseCall("unknown scale", {**known, "scale": "learn"}, unknown, tables=SPREAD, weight=4.0),
        ReleaseCall("unknown scale", {**known, "scale": "learn"}, unknown, replaced, tables=SPREAD, weight=4.0),
        ReleaseCall("auto", {}, unknown, tables=SPREAD, weight=6.0),
        ReleaseCall("auto", {}, unknown, replaced, tables=SPREAD, weight=6.0),
        *(ReleaseCall("paper", {"shape": "paper"}, paper_size(epsilon, r), r, PAPER) for r in Neighbours),
        ReleaseCall("denoised", {**stages, "denoise": True}, few, replaced),
        ReleaseCall("sampled core", {**stages, "core_sample": many}, 2 * many),
        ReleaseCall("sampled core", {**stages, "core_sample": few}, 2 * few, replaced),
        ReleaseCall("invalid rows", {**stages, "on_invalid": "neutral"}, few, replaced),
        ReleaseCall("scikit-learn", core, few, replaced, call=fitted),
        *(ReleaseCall(type(shape).__name__, {"shape": shape, "core": "stable"}, few, replaced) for shape in shapes()),
    ]


def shapes() -> list[Shape]:
    """One of each kind, none of them a sphere."""
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    return [Diagonal([4.0, 0.25]), Dense(turned @ np.diag([4.0, 0.25]) @ turned.T), LowRank(turned[:, :1], [4.0], 0.25)]


def paper_size(epsilon: float, relation: Neighbours) -> int:
    """A third more records than Algorithm 2 needs to try at all, for the widest of the pairs."""
    shares, count = paper_shares(Budget(epsilon, DELTA), relation), 64
    while choose_steps(shares.surely(count), SEVERAL, shares, CAUTION * FAILURE) is None:
        count = math.ceil(1.05 * count)
    return math.ceil(1.33 * count)
