"""Every way to call an estimator that the audit samples, with tables just large enough to be answered."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.neighbours import Table
from dimfree.audit.pairs.crowds import SEVERAL
from dimfree.audit.subjects.subject import DELTA
from dimfree.estimators.run import CAUTION
from dimfree.geometry.shape import Dense, Diagonal, Isotropic, LowRank, Shape
from dimfree.interop.mean import PrivateMean, RefusalWarning
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.shares import choose_steps, paper_shares
from dimfree.release import release_mean
from dimfree.results.release import Release

FAILURE = 0.2  # accepted chance of a refusal: shorter ladders, so smaller tables

KNOWN, SPREAD, PAPER = (
    "known",
    "spread",
    "paper",
)  # which tables: in units of a known shape, or with a scale of their own


def fitted(table: Table, *, options: Options, **given: Any) -> Release:
    """The release behind the scikit-learn facade."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefusalWarning)
        return PrivateMean(**given, **vars(options)).fit(table).release_


@dataclass(frozen=True)
class Way:
    """How `release_mean` is called, and how many records it needs at this budget."""

    name: str
    given: dict[str, Any]
    size: int
    relation: Neighbours = Neighbours.ADD_REMOVE
    tables: str = KNOWN
    call: Callable[..., Release] = release_mean
    weight: float = 2.0
    options: Options = Options()

    @property
    def shape(self) -> Shape:
        """In whose units the tables are made."""
        given = self.given.get("shape")
        return given if isinstance(given, Shape) else Isotropic(1.0)

    def release(self, table: Table, epsilon: float, noise: Noise) -> Release:
        return self.call(
            table,
            epsilon=epsilon,
            delta=DELTA,
            neighbours=self.relation.value,
            noise=noise,
            options=replace(self.options, failure_probability=FAILURE),
            **self.given,
        )


def ways(epsilon: float) -> list[Way]:
    """Every estimator, both relations where it has both; then every option that changes what is computed, once."""
    more, replaced = math.ceil(1 / epsilon), Neighbours.REPLACE_ONE
    known: dict[str, Any] = {"shape": Isotropic(1.0)}
    core, stages, learn = Options(core="stable", stages=0), Options(core="stable"), Options(scale="learn")
    few, many, unknown = 60 + 90 * more, 80 + 140 * more, math.ceil(200 + 400 / epsilon)
    return [
        Way("soft", known, 30 + 25 * more, weight=4.0, options=Options(core="soft")),
        Way("basic", known, 40 + 60 * more, weight=4.0, options=Options(core="basic")),
        Way("stable", known, many, weight=4.0, options=core),
        Way("stable", known, few, replaced, weight=4.0, options=core),
        Way("recentred", known, many, weight=4.0, options=stages),
        Way("recentred", known, few, replaced, weight=4.0, options=stages),
        Way("cheapest", known, many),
        Way("cheapest", known, few, replaced),
        Way("unknown scale", known, unknown, tables=SPREAD, weight=4.0, options=learn),
        Way("unknown scale", known, unknown, replaced, tables=SPREAD, weight=4.0, options=learn),
        Way("auto", {}, unknown, tables=SPREAD, weight=6.0),
        Way("auto", {}, unknown, replaced, tables=SPREAD, weight=6.0),
        *(Way("paper", {"shape": "paper"}, paper_size(epsilon, r), r, PAPER) for r in Neighbours),
        Way("denoised", known, few, replaced, options=replace(stages, denoise=True)),
        Way("sampled core", known, 2 * many, options=replace(stages, core_sample=many)),
        Way("sampled core", known, 2 * few, replaced, options=replace(stages, core_sample=few)),
        Way("invalid rows", {**known, "on_invalid": "neutral"}, few, replaced, options=stages),
        Way("scikit-learn", known, few, replaced, call=fitted, options=core),
        *(Way(type(shape).__name__, {"shape": shape}, few, replaced, options=stages) for shape in shapes()),
    ]


def shapes() -> list[Shape]:
    """One of each kind, none of them a sphere."""
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    return [
        Diagonal([4.0, 0.25]),
        Dense(turned @ np.diag([4.0, 0.25]) @ turned.T),
        LowRank(turned[:, :1], [4.0], 0.25),
    ]


def paper_size(epsilon: float, relation: Neighbours) -> int:
    """A third more records than Algorithm 2 needs to try at all, for the widest of the pairs."""
    shares, count = paper_shares(Budget(epsilon, DELTA), relation), 64
    while choose_steps(shares.surely(count), SEVERAL, shares, CAUTION * FAILURE) is None:
        count = math.ceil(1.05 * count)
    return math.ceil(1.33 * count)
