"""Every way to release something, as a call on a table: small public tables on which all of them answer quickly."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.options import Options
from dimfree.paper.variance_profile import variance_profile
from dimfree.release import release_mean
from dimfree.shapes import Dense, Diagonal, Isotropic, LowRank, Shape
from dimfree.simulation import public_simulation

Call = Callable[..., Any]  # (table, **options) -> a release, a refusal or a profile

BUDGET = {"epsilon": 8.0, "delta": 1e-2}
COLUMNS = 4
ROWS = 479  # a prime that no public parameter comes near


@cache
def known_shapes() -> dict[str, Shape]:
    """One of each kind, for records of COLUMNS numbers."""
    turn = np.linalg.qr(public_simulation(3).normal(size=(COLUMNS, COLUMNS)))[0]
    spread = np.array([1.0, 2.0, 0.5, 1.5])
    return {
        "Isotropic": Isotropic(1.0),
        "Diagonal": Diagonal(spread),
        "Dense": Dense(turn * spread @ turn.T),
        "LowRank": LowRank(turn[:, :1], [2.0], 1.0),
    }


@cache
def ways() -> Mapping[str, dict[str, Any]]:
    """What `release_mean` is called with."""
    known = {"shape": known_shapes()["Isotropic"]}
    stable, replaced = {**known, "options": Options(core="stable")}, {"neighbours": "replace-one"}
    core: dict[str, Any] = {"options": Options(core="stable")}
    alone = {**known, "options": Options(core="stable", stages=0)}
    shaped = {f"recentred, {name}": {**stable, "shape": shape} for name, shape in known_shapes().items()}
    return {
        "soft": {**known, "options": Options(core="soft")},
        "basic": {**known, "options": Options(core="basic")},
        "stable": alone,
        "stable, replace-one": {**alone, **replaced},
        **shaped,
        "unknown scale": {**known, "options": Options(core="stable", scale="learn")},
        "auto": core,
        "auto, replace-one": {**core, **replaced},
        "relative": {"objective": "relative"},
        "relative, replace-one": {"objective": "relative", **replaced},
        "total": {"objective": "total"},
        "paper": {"shape": "paper"},
    }


def calls(release: Call = release_mean, profile: Call = variance_profile) -> dict[str, Call]:
    """All of them by name, each waiting for a table."""
    means = {name: partial(release, **BUDGET, **options) for name, options in ways().items()}
    return {**means, "variance profile": partial(profile, **BUDGET)}


def table(rows: int = ROWS, seed: int = 5) -> Floats:
    """Made-up records that lie close together: everybody is everybody's friend in a known shape."""
    return public_simulation(seed).normal(size=(rows, COLUMNS)) / 4
