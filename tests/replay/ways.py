"""Every way to release something, on a small table on which it answers, and its replay on a neighbouring table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from early import early_samples
from flat_options import with_options
from replay.moves import Moves, compared
from replay.neighbours import Pair
from replay.transcript import Diverged, FirstRun, SecondRun
from scipy import sparse

from dimfree import release_mean, release_means
from dimfree.paper.variance_profile import variance_profile
from dimfree.results.grouped import Means
from dimfree.shapes import Dense, Diagonal, Isotropic, LowRank

BOTH = ("add-remove", "replace-one")
ADDED = ("add-remove",)
ROWS = 160
BUDGET = {"epsilon": 20.0, "delta": 1e-3}
SCARCE = {"epsilon": 3.0, "delta": 1e-2}  # noise matters: the menu of coordinates asks
WIDE = {"epsilon": 5.0, "delta": 1e-3}  # records are few beside the root of the columns: neighbours on the ring


@dataclass(frozen=True)
class Way:
    """`call(table, noise=…)` releases; `table` makes ordinary records for it."""

    call: Callable[..., Any]
    table: Callable[[np.random.Generator], np.ndarray]
    relations: tuple[str, ...] = BOTH

    def replayed(self, pair: Pair, relation: str, seed: int, **first: Any) -> Moves:
        return replayed(partial(self.call, neighbours=relation), pair, FirstRun(seed=seed, **first))


def kinds(table: np.ndarray) -> dict[str, np.ndarray]:
    """Which records are valid, and which of them lie on the grid of a core, which ends at about 2^41 radii."""
    return {"valid": np.isfinite(table).all(axis=1), "near": (np.abs(table) < 1e13).all(axis=1)}


def replayed(call, pair: Pair, first: FirstRun, second: SecondRun | None = None) -> Moves:
    there = {"valid_there": np.isfinite(pair.there).all(axis=1)}
    second = second or SecondRun(first=first, removed=pair.removed, **kinds(pair.here), **there)
    here = call(pair.here, noise=first)
    try:
        there = call(pair.there, noise=second)
    except Diverged as found:
        return Moves([str(found)])
    return compared(first, second, (here, there), (runs_of(here), runs_of(there)))


def runs_of(outcome) -> list:
    """Of every run in order: what it cost, and the lower bound that its noise rests on, if it does."""
    if not isinstance(outcome, Means):
        return [(outcome.ledger, lowest(outcome))]
    overall = [] if outcome.overall is None else [(outcome.overall.ledger, lowest(outcome.overall))]
    if outcome.key_costs is not None:
        overall.insert(0, (outcome.key_costs.runs[0], -np.inf))
    return overall + [(getattr(one.ledger, "runs", [one.ledger])[-1], lowest(one)) for one in outcome.releases.values()]


def lowest(outcome) -> float:
    return getattr(outcome, "parameters", {}).get("weight_lower_bound", -np.inf)


def ordinary(rng, rows=ROWS, columns=3):
    return rng.normal(size=(rows, columns)) * np.geomspace(1, 0.2, columns) + 0.3


def wide(rng, rows=ROWS, columns=150):
    """Few records for so many columns, of which few vary much."""
    return rng.normal(size=(rows, columns)) * np.where(np.arange(columns) < 4, 1.0, 0.02) + 0.3


def correlated(rng, rows=300, columns=24):
    """Mostly along one oblique line, whose signs no cosine follows."""
    line = np.where(np.arange(columns) ** 2 % 7 < 3, 1.0, -1.0) / np.sqrt(columns)
    return 4 * rng.normal(size=(rows, 1)) * line + 0.2 * rng.normal(size=(rows, columns))


def smooth(rng, rows=400, columns=24):
    """Columns that follow each other."""
    return np.cumsum(rng.normal(size=(rows, columns)), axis=1)


def spherical(rng, rows=400, columns=24):
    return rng.normal(size=(rows, columns))


def uneven(rng, rows=400, columns=24):
    return rng.normal(size=(rows, columns)) * np.geomspace(1, 1e-3, columns)


def mean(**options):
    return partial(release_mean, on_missing="drop", **with_options(**{**BUDGET, **options}))


def early(call, records=200):
    """The same, where everything before the last look sees about so many records."""

    def sampled(table, **rest):
        with early_samples(records):
            return call(table, **rest)

    return sampled


def as_sparse(**options):
    def call(table, **rest):
        return release_mean(sparse.csr_array(table), on_missing="drop", **with_options(**{**BUDGET, **options}), **rest)

    return call


def mixed(rng, rows=300):
    """Units of their own: far from zero and narrow, mostly zeros, an indicator, a constant, skewed, tiny."""
    return np.column_stack(
        [
            1e4 + rng.normal(size=rows),
            np.where(rng.random(rows) < 0.7, 0.0, rng.normal(size=rows)),
            (rng.random(rows) < 0.3) * 1.0,
            np.full(rows, 7.25),
            np.exp(3 * rng.normal(size=rows)),
            1e-9 * rng.normal(size=rows),
        ]
    )


def gapped(table, rng):
    """The table with missing entries, a tenth in each column and half in the first."""
    given = table(rng)
    given[rng.random(given.shape) < np.where(np.arange(given.shape[1]) == 0, 0.5, 0.1)] = np.nan
    return given


def by_entry(kind=np.asarray, **options):
    def call(table, **rest):
        return release_mean(kind(table), on_missing="column", **with_options(**{**BUDGET, **options}), **rest)

    return call


def blank(rng, rows=200):
    """A column in which only zeros are, and an ordinary one."""
    return np.column_stack([np.zeros(rows), rng.normal(size=rows)])


def named(**options):
    """A table with names of columns, invalid rows and all."""

    def call(table, **rest):
        frame = pd.DataFrame(table, columns=[f"column {k}" for k in range(table.shape[1])])
        return release_mean(frame, on_missing="drop", **with_options(**{**BUDGET, **options}), **rest)

    return call


def thin(rng):
    table = ordinary(rng, columns=6)
    table[np.abs(table) < 0.4] = 0.0
    return table


def profile(table, **rest):
    return variance_profile(table, on_missing="drop", **BUDGET, **rest)


def persons(**options):
    """Every record is one person with two rows about it; rows of all persons are mixed."""

    def call(table, **rest):
        keys = np.concatenate([np.arange(len(table)), np.arange(len(table))[::-1]]) + 1000
        rows = np.concatenate([table, table[::-1]])
        given = {"on_missing": "drop", **BUDGET, **options}
        return release_mean(rows, unit=keys, **with_options(**given), **rest)

    return call


def grouped(keys=("above", "below"), **options):
    """Groups by the first coordinate's sign bit: a function of the record; NaN is in the first group."""

    def call(table, neighbours, **rest):
        labels = np.where(np.signbit(table[:, 0]), "below", "above")
        return release_means(
            table,
            groups=labels,
            keys=keys,
            **with_options(**{"on_missing": "drop", **BUDGET, **options}),
            **rest,
        )

    return call


VARIANCES = np.array([1.0, 0.5, 0.1])
MANY_VARIANCES = np.geomspace(1, 0.2, 24) ** 2  # a stage for the centre is worth its share
TURN = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
KNOWN = {
    "isotropic": {"shape": Isotropic(1.0)},
    "diagonal": {"shape": Diagonal(VARIANCES)},
    "dense": {"shape": Dense(TURN * VARIANCES @ TURN.T)},
    "low rank": {"shape": LowRank(TURN[:, :1], [2.0], 1.0)},
}
STABLE = {"covariance": VARIANCES, "core": "stable"}

WAYS: Mapping[str, Way] = {
    **{f"stable, {name}": Way(mean(core="stable", **shape), ordinary) for name, shape in KNOWN.items()},
    "stable core alone": Way(mean(**STABLE, stages=0), ordinary),
    "stable, Gaussian tails": Way(mean(**STABLE, tails="gaussian"), ordinary),
    "stable, learned scale": Way(mean(**STABLE, scale="learn"), ordinary),
    "stable, a sample": Way(mean(**STABLE, core_sample=100), ordinary),
    "stable, early sample": Way(
        early(mean(covariance=MANY_VARIANCES, core="stable", core_sample=250, **SCARCE), 400),
        partial(ordinary, rows=900, columns=24),
    ),
    "cheapest core": Way(mean(covariance=VARIANCES), ordinary),
    "soft": Way(mean(covariance=VARIANCES, core="soft"), ordinary, ADDED),
    "basic": Way(mean(covariance=VARIANCES, core="basic"), ordinary, ADDED),
    "auto": Way(mean(core="stable"), ordinary),
    "auto, one column": Way(mean(core="stable"), partial(ordinary, columns=1)),
    "auto, own axes only": Way(mean(core="stable", basis=None), ordinary),
    "auto, a sample": Way(mean(core="stable", core_sample=100), ordinary),
    "auto, early sample": Way(early(mean(core="stable", core_sample=100)), partial(ordinary, rows=400)),
    "ring": Way(mean(core="stable", **WIDE), wide),
    "ring, own axes only": Way(mean(core="stable", basis=None, **WIDE), wide),
    "columns, relative": Way(mean(objective="relative"), mixed),
    "columns, scarce": Way(mean(objective="relative", **SCARCE), mixed),
    "columns, one": Way(mean(objective="relative"), partial(ordinary, columns=1)),
    "columns, few": Way(mean(objective="relative"), blank),
    "columns, total": Way(mean(objective="total"), ordinary),
    "columns, early sample": Way(early(mean(objective="relative", core_sample=100)), mixed),
    "columns, by default": Way(mean(), ordinary),
    "columns, named": Way(named(), mixed),
    "columns, missing entries": Way(by_entry(), partial(gapped, mixed)),
    "columns, missing entries, total": Way(by_entry(objective="total", **SCARCE), partial(gapped, ordinary)),
    "columns, missing entries, sparse": Way(by_entry(sparse.csr_array), partial(gapped, thin)),
    "persons, missing entries": Way(persons(on_missing="column"), partial(gapped, mixed)),
    **{f"auto, {name}": Way(mean(basis=name), partial(ordinary, columns=5)) for name in ("dct", "haar", "hadamard")},
    "auto, given basis": Way(mean(basis=TURN.T), ordinary),
    "menu, correlated": Way(mean(epsilon=2.0, delta=1e-2), correlated),
    "menu, early sample": Way(
        early(mean(core="stable", core_sample=500, epsilon=2.0, delta=1e-2), 500), partial(correlated, rows=800)
    ),
    "menu, smooth": Way(mean(**SCARCE), smooth),
    "menu, spherical": Way(mean(**SCARCE), spherical),
    "menu, uneven": Way(mean(**SCARCE), uneven),
    "paper": Way(mean(shape="paper"), partial(ordinary, rows=400)),
    "paper, many groups": Way(mean(shape="paper", epsilon=60.0), partial(ordinary, rows=1500)),
    "variance profile": Way(profile, ordinary),
    "sparse, auto": Way(as_sparse(core="stable"), thin),
    "sparse, relative": Way(as_sparse(objective="relative"), thin),
    "sparse, known": Way(as_sparse(covariance=np.ones(6), core="stable"), thin),
    "persons": Way(persons(core="stable"), ordinary),
    "persons, a sample": Way(persons(core="stable", core_sample=100), ordinary, ADDED),
    "persons, relative": Way(persons(objective="relative"), mixed),
    "persons, totals": Way(persons(unit_rows=1, covariance=VARIANCES), ordinary),
    "groups": Way(grouped(), partial(ordinary, rows=400), ADDED),
    "groups, missing entries": Way(grouped(on_missing="column"), partial(gapped, partial(ordinary, rows=400)), ADDED),
    "groups, known": Way(grouped(covariance=VARIANCES), partial(ordinary, rows=300), ADDED),
    "groups, private": Way(grouped("private", objective="relative"), partial(ordinary, rows=300), ADDED),
}
