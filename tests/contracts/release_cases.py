"""About 160 seeded releases, over all estimators, relations, sources, bases and groups, with what each released.

Kept of each: mean and noise, the charges of its costs, its numeric parameters, and where a ledger was used what that
ledger has spent. Words (purposes, names of parameters) are not kept: renaming them changes nothing here.

The tables are made from integers by exact arithmetic, so that they are the same on every machine.

    export PYTHONPATH=tests
    python tests/contracts/release_cases.py          # what differs from the stored table, to the last bit
    python tests/contracts/release_cases.py --store  # after a change that is meant to change releases
"""

import hashlib
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from routes import early_samples
from scipy import sparse

import dimfree
from dimfree import Options, release_group_means, release_mean
from dimfree.paper import variance_profile
from dimfree.request import Request
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance, LowRankCovariance
from dimfree.testing import SeededNoise

STORE = Path(__file__).with_name("release_cases.json")
RELATIONS = ("add-remove", "replace-one")
DEVIATIONS = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.25, 0.125, 0.125])
CORRELATED = np.diag(DEVIATIONS[:4] ** 2) + 0.05
STRONG = {"epsilon": 6.0, "delta": 1e-6}
CORE = " core"  # ends the name of a twin: the same release, with the same seed, by the stable core


def uniform(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Multiples of 2^-20 in (0, 1): a linear congruential sequence, the same everywhere."""
    state, drawn = seed, []
    for _ in range(rows * columns):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        drawn.append((state >> 44) + 0.5)
    return np.array(drawn).reshape(rows, columns) / 2**20


def bell(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Sums of four uniform numbers, with variance about 1 and no rounding."""
    parts = uniform(rows * 4, columns, seed).reshape(rows, 4, columns)
    return (parts.sum(axis=1) - 2.0) * 1.75


GAUSSIAN, LEARN = {"options": Options(tails="gaussian")}, {"options": Options(scale="learn")}
SAMPLED = {"options": Options(core_sample=900)}
PILOT_SIZE = {"options": Options(core_sample=500)}
PILOT = {**PILOT_SIZE, "objective": "total"}
PRIVATE_GROUPS = {"by": [row % 5 for row in range(1600)], "groups": "private", "delta": 1e-4}
THIRDS = {"by": [row % 3 for row in range(1200)], "groups": [0, 1, 2]}


def table(rows: int = 700, seed: int = 1) -> np.ndarray:
    return bell(rows, len(DEVIATIONS), seed) * DEVIATIONS + np.arange(len(DEVIATIONS))


def with_gaps() -> np.ndarray:
    return with_invalid_rows(table())


def with_invalid_rows(X: np.ndarray) -> np.ndarray:
    X[::50, 3] = np.nan
    return X


def with_far_entries() -> np.ndarray:
    """Held at the cap of the way by columns."""
    X = table()
    X[::50, 3] += 1e6
    return X


def wide(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    """Multiples of 2^-18 with mean 0 and variance about 1; spectrum i^(-1/2), means of all signs."""
    parts = np.random.default_rng(seed).integers(-(2**18), 2**18, size=(4, rows, columns)).sum(axis=0) * (0.875 / 2**18)
    return parts / np.sqrt(np.arange(1, columns + 1)) + np.resize([0.0, 2.0, -1.0], columns)


def correlated(rows: int, columns: int) -> np.ndarray:
    """Most of the variance lies along one oblique direction."""
    factor = wide(rows, 1, 7) * np.where(np.arange(columns) % 3, 1.0, -1.0)
    return factor * 2 + wide(rows, columns, 8) * 0.25


def smooth(rows: int, columns: int) -> np.ndarray:
    """Neighboring columns are alike."""
    return np.cumsum(wide(rows, columns, 9), axis=1) / 4


def mixed(rows: int) -> np.ndarray:
    """Columns of real tables: far from zero, mostly zeros, an indicator, a constant, counts, tiny, with a far group."""
    X = wide(rows, 8, 5)
    indicator, far = uniform(rows, 1, 11)[:, 0] < 0.3, uniform(rows, 1, 12)[:, 0] < 0.2
    return np.column_stack([
        1e4 + X[:, 0], np.where(indicator, X[:, 1] ** 2, 0.0), indicator, np.full(rows, 45.0),
        np.floor(np.abs(X[:, 2]) * 4), X[:, 3] * 1e-9, np.where(far, 50.0, 1.0) * (1 + X[:, 4] / 8),
    ])  # fmt: skip


def with_missing(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[::7, 1], X[::3, 2], X[3::50, 0] = np.nan, np.nan, np.nan
    return X


def through_a_ledger(X: np.ndarray, *, folder: Path, neighbors: str, **given: object) -> object:
    """The second of two releases on one ledger."""
    terms, given["neighbors"] = {"epsilon": 20.0, "delta": 1e-5, "neighbors": neighbors}, neighbors
    with dimfree.PrivacyLedger(folder / f"{neighbors}.db", dataset="study", **terms) as ledger:
        release_mean(X, ledger=ledger, **given)
        return release_mean(X, ledger=ledger, **given)


def by_core(X: object, **given: object) -> object:
    """A release without the branch of the per-column estimator."""
    with mock.patch.object(Request, "by_columns", return_value=None):
        return release_mean(X, **given)


def piloted(X: np.ndarray, release: Callable[..., object] = release_mean, **given: object) -> object:
    """A release whose pilot sample is small, as a table of this size would not have one."""
    with early_samples(500):
        return release(X, **given)


def keys(rows: int = 700) -> list[int]:
    """Every fifth row belongs to the person of the row before it."""
    return [row - (row % 5 == 4) for row in range(rows)]


def streamed(ending: str, folder: Path) -> object:
    """The table in a file of this ending, opened without reading it whole."""
    path, frame = folder / f"table{ending}", pd.DataFrame(table(), columns=[f"c{k}" for k in range(len(DEVIATIONS))])
    match ending:
        case ".npy":
            np.save(path, table())
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
    return dimfree.read_table(path)


def in_parts(rows: int = 700) -> object:
    import dask.array

    return dask.array.from_array(table(rows), chunks=(200, -1))


def framed(folder: Path) -> object:
    """A CSV file whose columns have public bounds."""
    path = folder / "bounded.csv"
    pd.DataFrame(mixed(1200), columns=list("abcdefg")).to_csv(path, index=False)
    return dimfree.read_table(path, bounds={"c": (0, 1), "d": (0, 60), "g": (0, 100)})


def outlying() -> np.ndarray:
    X = table(900)
    X[::60] = 1e3
    return X


def cases(folder: Path) -> dict[str, Callable[[], object]]:
    """name → a release under seeded noise; every case makes its own noise."""
    found: dict[str, Callable[[], object]] = {}

    def add(name: str, make: Callable[[], object], release: Callable[..., object] = release_mean, **given: object):
        seed = len(name.removesuffix(CORE))
        found[name] = lambda: release(make(), **{**STRONG, "noise": SeededNoise(seed), **given})

    def twice(name: str, make: Callable[[], object], **given: object):
        """By the branch that the count chooses, which may be that of the columns, and by the stable core."""
        add(name, make, **given)
        add(name + CORE, make, by_core, **given)

    known = {"covariance": DEVIATIONS**2}
    for relation in RELATIONS:
        here = partial(add, neighbors=relation)  # type: ignore[arg-type]
        here_twice = partial(twice, neighbors=relation)  # type: ignore[arg-type]
        here_twice(f"auto {relation}", table)
        here_twice(f"auto own axes {relation}", table, basis=None)
        here_twice(f"auto small epsilon {relation}", partial(table, 1500), epsilon=1.5)
        here_twice(f"auto few {relation}", partial(table, 60))
        here_twice(f"auto wide {relation}", partial(bell, 600, 40))
        here(f"relative {relation}", table, objective="relative")
        here(f"relative far entries {relation}", with_far_entries, objective="relative")
        for basis in ("dct",):
            here(f"auto {basis} {relation}", table, basis=basis)
        here(f"known diagonal {relation}", table, **known)
        here(f"known gaussian tails {relation}", table, **known, **GAUSSIAN)
        here(f"known factor {relation}", table, **known, **LEARN)
        here(f"known few {relation}", partial(table, 30), **known)
        here(f"isotropic {relation}", table, covariance=IsotropicCovariance(4.0))
        here(f"dense {relation}", lambda: table()[:, :4], covariance=DenseCovariance(CORRELATED))
        here(
            f"low rank {relation}",
            lambda: table()[:, :4],
            covariance=LowRankCovariance(np.eye(4)[:, :2], [16.0, 4.0], 1.0),
        )
        here(f"sampled core {relation}", partial(table, 1500), **known, **SAMPLED)
        here_twice(f"persons {relation}", table, privacy_unit=keys())
        here_twice(f"persons totals {relation}", table, privacy_unit=keys(), max_contributions=2)
        here(f"sparse {relation}", lambda: sparse.csr_array(np.where(table() > 0, table(), 0.0)), **known)
        here_twice(f"sparse auto {relation}", lambda: sparse.csr_array(np.where(table() > 0, table(), 0.0)))
        here_twice(f"invalid rows {relation}", with_gaps, missing="complete-case")
        here(f"profile {relation}", partial(table, 1500), variance_profile)
    halves = {"by": [row % 2 for row in range(1600)], "groups": [0, 1]}
    add("groups", partial(table, 1600), release_group_means, **halves)
    add("groups known", partial(table, 1600), release_group_means, **halves, **known)
    add("groups of persons", partial(table, 1600), release_group_means, **halves, **known, privacy_unit=keys(1600))
    add("diagonal shape", table, covariance=DiagonalCovariance(DEVIATIONS**2))
    add("frame", lambda: pd.DataFrame(table()), **known)
    for ending in (".npy", ".csv", ".parquet"):
        twice(f"file {ending}", partial(streamed, ending, folder))
    twice("dask", in_parts)
    add("private groups", partial(table, 1600), release_group_means, **PRIVATE_GROUPS)
    add("private groups known", partial(table, 1600), release_group_means, **PRIVATE_GROUPS, **known)
    add(
        "private groups of persons",
        partial(table, 1600),
        release_group_means,
        **PRIVATE_GROUPS,
        privacy_unit=keys(1600),
    )
    add("listed groups", partial(table, 1600), release_group_means, **{**halves, "epsilon": 2.0})
    add("wide groups", partial(wide, 1200, 40), release_group_means, **THIRDS)
    add("relative groups", partial(mixed, 1200), release_group_means, **THIRDS, objective="relative")
    for relation in RELATIONS:
        here = partial(add, neighbors=relation)  # type: ignore[arg-type]
        one = {"epsilon": 1.0, "delta": 1e-6}
        here(f"ring {relation}", partial(wide, 700, 60), **one)
        here(f"ring wide {relation}", partial(wide, 700, 400), **one)
        here(f"ring sparse {relation}", lambda: sparse.csr_array(np.maximum(wide(700, 60), 1.0) - 1.0), **one)
        here(f"spherical opening {relation}", partial(wide, 300, 60), **one)
        here(f"coordinates found {relation}", partial(correlated, 1500, 40), by_core, epsilon=3.0)
        here(f"cosine found {relation}", partial(smooth, 1500, 64), by_core, epsilon=3.0)
        here(f"own axes kept {relation}", partial(correlated, 1500, 40), by_core, epsilon=3.0, basis=None)
        here(f"pilot sample {relation}", partial(wide, 4000, 24), piloted, **PILOT)
        here(f"pilot sample core {relation}", partial(wide, 4000, 24), partial(piloted, release=by_core), **PILOT_SIZE)
        here(f"pilot sample known {relation}", partial(wide, 4000, 24), piloted, covariance=np.ones(24), **PILOT)
        here(f"mixed units {relation}", partial(mixed, 1200), epsilon=1.0, objective="relative")
        here(f"mixed units few {relation}", partial(mixed, 400), epsilon=1.0, objective="relative")
        here(f"one column {relation}", lambda: mixed(900)[:, 4:5], epsilon=1.0)
        here(f"missing {relation}", lambda: with_missing(table(1500)), missing="available-case", epsilon=3.0)
        here(f"missing mixed {relation}", lambda: with_missing(mixed(1500)), missing="available-case", epsilon=3.0)
        here(f"missing dropped {relation}", lambda: with_invalid_rows(wide(1500, 40)), by_core, missing="complete-case")
        here(f"float32 {relation}", lambda: wide(900, 30).astype(np.float32))
        here(f"named frame {relation}", lambda: pd.DataFrame(mixed(1200), columns=list("abcdefg")), epsilon=2.0)
        here(f"bounds {relation}", partial(framed, folder), epsilon=2.0)
        here(f"excluded column {relation}", lambda: pd.DataFrame(mixed(900), columns=list("abcdefg")), exclude=["c"])
        here(f"ledger {relation}", table, partial(through_a_ledger, folder=folder))
        here(f"dask known {relation}", in_parts, **known)
        here(f"dask few {relation}", partial(in_parts, 300), **one)
        here(f"integers {relation}", lambda: np.floor(table(900) * 4).astype(np.int32))
        here(f"several rows {relation}", partial(mixed, 1200), privacy_unit=keys(1200), objective="relative")
        here(f"far from zero {relation}", lambda: table(900) + 1e6)
        here(f"outliers {relation}", outlying, covariance=DEVIATIONS**2)
        here(f"outliers unknown {relation}", outlying)
    return found


def said(outcome: object) -> list[list[float]]:
    """The released numbers, their charges and the numeric parameters; of a refusal the last two alone."""
    if isinstance(outcome, dimfree.GroupMeans):
        return [numbers for release in outcome.values() for numbers in said(release)] + [charges(outcome.charges)]
    parameters = getattr(outcome, "parameters", {}).values()  # a profile has none
    common = [charges(outcome.charges), sorted(float(value) for value in parameters if not isinstance(value, str))]
    if outcome.refused:
        return common
    if isinstance(outcome, dimfree.Release):
        return [outcome.mean.tolist(), outcome.noise_stddev.tolist(), *common]
    return [[float(count) for count in outcome.counts], *common]


def charges(costs: object) -> list[float]:
    """Every number in the costs, in order, rungs of ladders included; no words."""
    found: list[float] = []

    def walk(value: object, key: str = "") -> None:
        if isinstance(value, dict):
            for name in sorted(value, key=lambda name: "menu" if name == "branches" else name):  # the stored order
                walk(value[name], name)
        elif isinstance(value, list | tuple):
            for each in value:
                walk(each, key)
        elif isinstance(value, str):
            found.extend([float(int(value, 16))] if key == "rungs" else [])
        elif value is not None:
            found.append(float(value))

    walk(costs.to_dict())
    return [float(len(found)), float(np.sum(np.log1p(np.abs(found)))), *found[:40]]


def digest(numbers: list[list[float]]) -> str:
    return hashlib.sha256(np.concatenate([[0.0], *numbers]).tobytes()).hexdigest()[:16]


def stored() -> dict[str, dict[str, object]]:
    return json.loads(STORE.read_text(encoding="utf-8"))


def main(folder: Path, store: bool) -> int:
    now = {name: said(release()) for name, release in cases(folder).items()}
    if store:
        entries = {name: {"digest": digest(numbers), "said": numbers} for name, numbers in now.items()}
        STORE.write_text(json.dumps(entries, indent=0).replace(",\n", ", ") + "\n", encoding="utf-8")
        return 0
    kept = stored()
    changed = sorted(
        name for name in now.keys() | kept if kept.get(name, {}).get("digest") != digest(now.get(name, []))
    )
    sys.stdout.write("".join(f"changed: {name}\n" for name in changed) or f"all {len(now)} releases are the same\n")
    return 1 if changed else 0


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        sys.exit(main(Path(place), "--store" in sys.argv))
