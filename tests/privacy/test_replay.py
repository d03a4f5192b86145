"""Whole releases at the kernel's border: programs need its answers alone, and one record moves these as was charged.

Every call of a program on an object of the kernel is noted with its answer. The transcript of one run then answers the
same request on a table without the records; and on a neighboring table, beside a kernel that holds that one.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from inspect import isfunction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from privacy.border import NoNoise, Scripted, Transcript
from routes import early_samples, with_options
from scipy import sparse

from dimfree import release_group_means, release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.kernel import (
    Directions,
    NoisyCounts,
    OuterProducts,
    Pairs,
    PrivateGroups,
    PrivateTable,
    RingPairs,
    Session,
    View,
)
from dimfree.shapes import DenseCovariance, LowRankCovariance

pytestmark = pytest.mark.filterwarnings("ignore::dimfree.errors.WeakGuaranteeWarning")


# ---- the ways to release


def mean(kind=np.asarray, early=None, **options):
    """`early`: about how many records everything before the last look sees."""
    given = with_options(**{"epsilon": 20.0, "delta": 1e-3, "missing": "complete-case", **options})

    def call(table, **rest):
        with early_samples(early) if early else nullcontext():
            return release_mean(kind(table), **given, **rest)

    return call


def grouped(keys=("above", "below"), **options):
    """Groups by the sign of the first coordinate."""
    given = {"groups": keys, "epsilon": 20.0, "delta": 1e-3, "missing": "complete-case", **options}

    def call(table, neighbors, **rest):
        return release_group_means(table, by=np.where(np.signbit(table[:, 0]), "below", "above"), **given, **rest)

    return call


def persons(**options):
    """Every record is one person with two rows about it; rows of all persons are mixed."""

    def call(table, **rest):
        keys = np.concatenate([np.arange(len(table)), np.arange(len(table))[::-1]]) + 1000
        return mean(privacy_unit=keys, **options)(np.concatenate([table, table[::-1]]), **rest)

    return call


def ordinary(rng, rows=160, columns=3):
    return rng.normal(size=(rows, columns)) * np.geomspace(1, 0.2, columns) + 0.3


def wide(rng):
    """Few records for so many columns, of which few vary much."""
    return rng.normal(size=(160, 150)) * np.where(np.arange(150) < 4, 1.0, 0.02) + 0.3


def correlated(rng, rows=300, columns=24):
    """Mostly along one oblique line, whose signs no cosine follows."""
    line = np.where(np.arange(columns) ** 2 % 7 < 3, 1.0, -1.0) / np.sqrt(columns)
    return 4 * rng.normal(size=(rows, 1)) * line + 0.2 * rng.normal(size=(rows, columns))


def mixed(rng, rows=300):
    """Units of their own: far from zero and narrow, mostly zeros, skewed, tiny, an indicator, a constant."""
    parts = 1e4 + rng.normal(size=rows), np.where(rng.random(rows) < 0.7, 0.0, rng.normal(size=rows))
    rest = np.exp(3 * rng.normal(size=rows)), 1e-9 * rng.normal(size=rows)
    return np.column_stack([*parts, *rest, (rng.random(rows) < 0.3) * 1.0, np.full(rows, 7.25)])


def gapped(rng, table=ordinary, **size):
    """The table with missing entries, a tenth in each column and half in the first."""
    given = table(rng, **size)
    return np.where(rng.random(given.shape) < np.where(np.arange(given.shape[1]) == 0, 0.5, 0.1), np.nan, given)


def thin(rng):
    table = ordinary(rng, columns=6)
    return np.where(np.abs(table) < 0.4, 0.0, table)


VARIANCES, MANY = np.array([1.0, 0.5, 0.1]), np.geomspace(1, 0.2, 24) ** 2
TURN = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
SCARCE = {"epsilon": 3.0, "delta": 1e-2}  # noise matters: the menu of coordinates asks
WIDE = {"epsilon": 5.0, "delta": 1e-3}  # records are few beside the root of the columns: neighbors on the ring
LOW = {"epsilon": 2.0, "delta": 1e-2}
gapped_units, of_24, of_400 = partial(gapped, table=mixed), partial(ordinary, columns=24), partial(ordinary, rows=400)
WAYS: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "known, diagonal": (mean(covariance=VARIANCES), ordinary),
    "known, dense": (mean(covariance=DenseCovariance(TURN * VARIANCES @ TURN.T)), ordinary),
    "known, learned scale": (mean(covariance=LowRankCovariance(TURN[:, :1], [2.0], 1.0), scale="learn"), ordinary),
    "known, early": (
        mean(early=400, covariance=MANY, core_sample=250, **SCARCE),
        partial(ordinary, rows=900, columns=24),
    ),
    "known, sparse": (mean(sparse.csr_array, covariance=np.ones(6)), thin),
    "auto, one column": (mean(), partial(ordinary, columns=1)),
    "auto, own axes": (mean(basis=None), of_24),
    "auto, sparse": (mean(sparse.csr_array, basis="dct"), thin),
    "auto, given basis": (mean(basis=TURN.T), ordinary),
    "auto, early": (mean(early=500, core_sample=500, **LOW), partial(correlated, rows=800)),
    "menu, correlated": (mean(**LOW), correlated),
    "menu, smooth": (mean(**SCARCE), lambda rng: np.cumsum(rng.normal(size=(400, 24)), axis=1)),
    "menu, spherical": (mean(**SCARCE), lambda rng: rng.normal(size=(400, 24))),
    "menu, uneven": (mean(**SCARCE), lambda rng: rng.normal(size=(400, 24)) * np.geomspace(1, 1e-3, 24)),
    "ring": (mean(**WIDE), wide),
    "ball, plain": (mean(norm=2.0, **SCARCE), lambda rng: rng.normal(size=(400, 24)) / 5),
    "ball, refined": (mean(norm=9.0, **LOW), correlated),
    "columns": (mean(objective="relative", **SCARCE), mixed),
    "columns, sparse": (mean(sparse.csr_array, objective="relative"), thin),
    "columns, early": (mean(early=200, objective="relative", core_sample=100), mixed),
    "columns, named": (mean(lambda table: pd.DataFrame(table).add_prefix("column ")), mixed),
    "columns, missing entries": (mean(missing="available-case"), gapped_units),
    "columns, missing entries, total": (mean(missing="available-case", objective="total", **SCARCE), gapped),
    "persons": (persons(missing="available-case"), gapped_units),
    "persons, totals": (persons(max_contributions=1, covariance=VARIANCES), ordinary),
    "groups": (grouped(), of_400),
    "groups, missing entries": (grouped(missing="available-case"), partial(gapped, rows=400)),
    "groups, known": (grouped(covariance=VARIANCES), of_400),
    "groups, private": (grouped("private", objective="relative"), of_400),
}
RELATIONS = ("add-remove", "replace-one")
CASES = [(name, relation) for name in WAYS for relation in RELATIONS[: 1 if name.startswith("groups") else 2]]
PLACE = 17  # of the odd record


def neighbors(table: np.ndarray, relation: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """An odd record more in one place; or one for another there."""
    middle, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    odd = [middle + 4 * spread, 1e308 * np.sign(middle), middle * np.nan, middle - 40 * spread]
    if relation == "add-remove":
        return [(np.insert(table, PLACE, record, axis=0), table) for record in odd]
    near, huge, invalid, far = (np.concatenate([table[:PLACE], record[None], table[PLACE + 1 :]]) for record in odd)
    return [(near, far), (huge, invalid), (far, huge)]


def run(name: str, relation: str, table: np.ndarray, noise: Any, transcript: Transcript, *, there: bool = True) -> str:
    """One release through the border, as it would be written; `there`: whether the kernel is."""

    def make_and_open(make, *given, **named):
        return transcript.root(make(*given, **named) if there else None)

    with pytest.MonkeyPatch.context() as patch:
        holder = type("Holder", (), {"from_records": partial(make_and_open, PrivateTable.from_records)})
        patch.setattr("dimfree.release.PrivateTable", holder)
        patch.setattr("dimfree.release_groups.PrivateGroups", partial(make_and_open, PrivateGroups))
        released = WAYS[name][0](table, neighbors=relation, noise=noise)
    assert transcript.asked == len(transcript.notes), "all that was answered was asked for again"
    return released.to_json()


def table_of(name: str) -> np.ndarray:
    return WAYS[name][1](np.random.default_rng(1))


@cache
def shares_of(name: str, relation: str) -> tuple[dict[str, float], set[str]]:
    """The largest moves over their sensitivities, and which queries were made; fails where a move is too large."""
    shares: dict[str, float] = {}
    methods: set[str] = set()
    for here, there in neighbors(table_of(name), relation):
        first, noise = Transcript(Neighbors(relation), methods=methods, shares=shares), Scripted(PLACE)
        released = run(name, relation, here, noise, first)
        assert run(name, relation, there, dataclasses.replace(noise, first=False, drawn=0), first.again()) == released
    return shares, methods


# ---- the tests


@pytest.mark.parametrize(("name", "relation"), CASES)
def test_a_program_needs_the_answers_of_the_kernel_alone(name, relation):
    table, transcript = table_of(name), Transcript(Neighbors(relation))
    released = run(name, relation, table, Scripted(), transcript)
    assert run(name, relation, np.zeros_like(table), NoNoise(), transcript.again(), there=False) == released


@pytest.mark.parametrize(("name", "relation"), CASES)
def test_no_answer_moves_by_more_than_its_sensitivity(name, relation):
    assert shares_of(name, relation)[0]


def test_programs_make_every_query_and_the_neighbors_are_extreme():
    """The comparisons could not fail if the answers hardly moved."""
    names = ("columns, early", "columns, missing entries", "known, early", "menu, correlated", "menu, uneven", "ring")
    found, largest = [shares_of(name, "add-remove") for name in names], Counter()
    kinds = (Directions, NoisyCounts, OuterProducts, Pairs, RingPairs, Session, View)
    queries = {name for each in kinds for name, what in vars(each).items() if isfunction(what) and name[0] != "_"}
    assert queries - {name for _, methods in found for name in methods} <= {"within", "shell_sum"}  # or no program does
    for shares, _ in found:
        largest |= shares
    assert {purpose for purpose, share in largest.items() if share < 0.9} <= {"l1 norm in the basis"}
