"""About eighty seeded releases, over all estimators, relations, sources, bases and groups; a table of what each said.

The tables are made from integers by exact arithmetic, so that they are the same on every machine.

    python tests/contracts/release_cases.py          # what differs from the stored table, to the last bit
    python tests/contracts/release_cases.py --store  # after a change that is meant to change releases
"""

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import dimfree
from dimfree import (
    Dense,
    Diagonal,
    Isotropic,
    LowRank,
    Options,
    SeededNoise,
    release_mean,
    release_means,
    variance_profile,
)

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


DENOISED, ALONE = {"options": Options(denoise=True)}, {"options": Options(stages=0)}
GAUSSIAN, LEARN = {"options": Options(tails="gaussian")}, {"options": Options(scale="learn")}
SAMPLED = {"options": Options(core_sample=900)}
SOFT, BASIC = {"options": Options(core="soft")}, {"options": Options(core="basic")}


def table(rows: int = 700, seed: int = 1) -> np.ndarray:
    return bell(rows, len(DEVIATIONS), seed) * DEVIATIONS + np.arange(len(DEVIATIONS))


def with_gaps() -> np.ndarray:
    X = table()
    X[::50, 3] = np.nan
    return X


def with_far_entries() -> np.ndarray:
    """Held at the cap of the way by columns."""
    X = table()
    X[::50, 3] += 1e6
    return X


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


def in_parts() -> object:
    import dask.array

    return dask.array.from_array(table(), chunks=(200, -1))


def cases(folder: Path) -> dict[str, Callable[[], object]]:
    """name → a release under seeded noise; every case makes its own noise."""
    found: dict[str, Callable[[], object]] = {}

    def add(name: str, make: Callable[[], object], release: Callable[..., object] = release_mean, **given: object):
        seed = len(name.removesuffix(CORE))
        found[name] = lambda: release(make(), **{**STRONG, "noise": SeededNoise(seed), **given})

    def twice(name: str, make: Callable[[], object], **given: object):
        """As it comes, which may be column by column, and by the stable core."""
        add(name, make, **given)
        add(name + CORE, make, **given | {"options": replace(given.get("options", Options()), core="stable")})

    known = {"covariance": DEVIATIONS**2}
    for relation in RELATIONS:
        here = partial(add, neighbours=relation)  # type: ignore[arg-type]
        here_twice = partial(twice, neighbours=relation)  # type: ignore[arg-type]
        here_twice(f"auto {relation}", table)
        here_twice(f"auto own axes {relation}", table, basis=None)
        here_twice(f"auto small epsilon {relation}", partial(table, 1500), epsilon=1.5)
        here_twice(f"auto few {relation}", partial(table, 60))
        here_twice(f"auto denoised {relation}", table, **DENOISED)
        here_twice(f"auto wide {relation}", partial(bell, 600, 40))
        here(f"relative {relation}", table, objective="relative")
        here(f"relative far entries {relation}", with_far_entries, objective="relative")
        for basis in ("dct", "haar", "hadamard"):
            here(f"auto {basis} {relation}", table, basis=basis)
        here(f"known diagonal {relation}", table, **known)
        here(f"known stable alone {relation}", table, **known, **ALONE)
        here(f"known gaussian tails {relation}", table, **known, **GAUSSIAN)
        here(f"known factor {relation}", table, **known, **LEARN)
        here(f"known few {relation}", partial(table, 30), **known)
        here(f"isotropic {relation}", table, shape=Isotropic(4.0))
        here(f"dense {relation}", lambda: table()[:, :4], shape=Dense(CORRELATED))
        here(f"low rank {relation}", lambda: table()[:, :4], shape=LowRank(np.eye(4)[:, :2], [16.0, 4.0], 1.0))
        here(f"sampled core {relation}", partial(table, 1500), **known, **SAMPLED)
        here_twice(f"persons {relation}", table, unit=keys())
        here_twice(f"persons totals {relation}", table, unit=keys(), unit_rows=2)
        here(f"sparse {relation}", lambda: sparse.csr_array(np.where(table() > 0, table(), 0.0)), **known)
        here_twice(f"sparse auto {relation}", lambda: sparse.csr_array(np.where(table() > 0, table(), 0.0)))
        here_twice(f"invalid rows {relation}", with_gaps, on_missing="drop")
        here(f"profile {relation}", partial(table, 1500), variance_profile)
    halves = {"groups": [row % 2 for row in range(1600)], "keys": [0, 1]}
    add("groups", partial(table, 1600), release_means, **halves)
    add("groups known", partial(table, 1600), release_means, **halves, **known)
    add("groups of persons", partial(table, 1600), release_means, **halves, **known, unit=keys(1600))
    add("paper", partial(table, 1200), shape="paper", epsilon=20.0)
    add("known soft", table, **known, **SOFT)
    add("known basic", table, **known, **BASIC)
    add("diagonal shape", table, shape=Diagonal(DEVIATIONS**2))
    add("frame", lambda: pd.DataFrame(table()), **known)
    for ending in (".npy", ".csv", ".parquet"):
        twice(f"file {ending}", partial(streamed, ending, folder))
    twice("dask", in_parts)
    return found


def said(outcome: object) -> list[list[float]]:
    """The released numbers: mean and noise, or counts; nothing where the run was refused."""
    if isinstance(outcome, dimfree.Means):
        return [numbers for release in outcome.values() for numbers in said(release)]
    if outcome.refused:
        return []
    if isinstance(outcome, dimfree.Release):
        return [outcome.mean.tolist(), outcome.noise_stddev.tolist()]
    return [[float(count) for count in outcome.counts]]


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
