"""The calls of `release_mean` that are sampled, with tables just large enough to be answered."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.audited import DELTA
from dimfree.audit.pairs.pair import Table
from dimfree.audit.pairs.spread import SEVERAL
from dimfree.interop.mean import PrivateMean, RefusalWarning
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.shares import choose_steps, paper_shares
from dimfree.programs.run import CAUTION
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import Dense, Diagonal, Isotropic, LowRank, Shape

FAILURE = 0.2  # accepted chance of a refusal: shorter ladders, so smaller tables

KNOWN, SPREAD, PAPER = "known", "spread", "paper"  # tables in units of a known shape, or with a scale to be learned


def fitted(table: Table, *, options: Options, **given: Any) -> Release:
    """The release inside the scikit-learn estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefusalWarning)
        return PrivateMean(**given, **vars(options)).fit(table).release_


@dataclass(frozen=True)
class ReleaseCall:
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
        """The shape in whose units the tables are made."""
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


def release_calls(epsilon: float) -> list[ReleaseCall]:
    """Every estimator in each of its relations; then every option that changes what is computed, once."""
    more, replaced = math.ceil(1 / epsilon), Neighbours.REPLACE_ONE
    known: dict[str, Any] = {"shape": Isotropic(1.0)}
    core, stages, learn = Options(core="stable", stages=0), Options(core="stable"), Options(scale="learn")
    few, many, unknown = 60 + 90 * more, 80 + 140 * more, math.ceil(200 + 400 / epsilon)
    return [
        ReleaseCall("soft", known, 30 + 25 * more, weight=4.0, options=Options(core="soft")),
        ReleaseCall("basic", known, 40 + 60 * more, weight=4.0, options=Options(core="basic")),
        ReleaseCall("stable", known, many, weight=4.0, options=core),
        ReleaseCall("stable", known, few, replaced, weight=4.0, options=core),
        ReleaseCall("recentred", known, many, weight=4.0, options=stages),
        ReleaseCall("recentred", known, few, replaced, weight=4.0, options=stages),
        ReleaseCall("cheapest", known, many),
        ReleaseCall("cheapest", known, few, replaced),
        ReleaseCall("unknown scale", known, unknown, tables=SPREAD, weight=4.0, options=learn),
        ReleaseCall("unknown scale", known, unknown, replaced, tables=SPREAD, weight=4.0, options=learn),
        ReleaseCall("auto", {}, unknown, tables=SPREAD, weight=6.0, options=Options(core="stable")),
        ReleaseCall("auto", {}, unknown, replaced, tables=SPREAD, weight=6.0, options=Options(core="stable")),
        *(
            ReleaseCall(f"columns, {aim}", {"objective": aim}, unknown, relation, SPREAD, weight=4.0)
            for aim in ("relative", "total")
            for relation in Neighbours
        ),
        ReleaseCall("missing entries", {"on_missing": "column"}, unknown, replaced, SPREAD, weight=4.0),
        *(ReleaseCall("paper", {"shape": "paper"}, paper_size(epsilon, r), r, PAPER) for r in Neighbours),
        ReleaseCall("denoised", known, few, replaced, options=replace(stages, denoise=True)),
        ReleaseCall("sampled core", known, 2 * many, options=replace(stages, core_sample=many)),
        ReleaseCall("sampled core", known, 2 * few, replaced, options=replace(stages, core_sample=few)),
        ReleaseCall("invalid rows", {**known, "on_missing": "drop"}, few, replaced, options=stages),
        ReleaseCall("scikit-learn", known, few, replaced, call=fitted, options=core),
        *(ReleaseCall(type(shape).__name__, {"shape": shape}, few, replaced, options=stages) for shape in shapes()),
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
