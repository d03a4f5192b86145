"""Neighbouring tables: ordinary records, and one that is anything but."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

HUGE, TINY = 1.7e308, 5e-324
QUICK = (  # names of odd records; one of each kind
    "all NaN",
    "infinite",
    "1e308",
    "denormal",
    "zeros",
    "a duplicate",
    "far",
    "1.0 spreads aside",
    "4.0 spreads aside",
    "3.0 spreads along one axis",
)


@dataclass(frozen=True)
class Pair:
    """Two tables. `removed` is the place of the record that only the first one has; None: one was exchanged."""

    name: str
    here: np.ndarray
    there: np.ndarray
    removed: int | None


def odd_records(table: np.ndarray) -> dict[str, np.ndarray]:
    """By name, each as wide as the table."""
    d, middle = table.shape[1], table.mean(axis=0)
    spread = float(np.linalg.norm(table.std(axis=0)))
    aside, first = np.ones(d) / np.sqrt(d), np.eye(d)[0]
    found = {
        "all NaN": np.full(d, np.nan),
        "one NaN": np.where(first > 0, np.nan, middle),
        "infinite": np.full(d, np.inf),
        "minus infinity in one column": np.where(first > 0, -np.inf, middle),
        "1e308": np.full(d, 1e308),
        "the largest floats, signs in turn": HUGE * (-1.0) ** np.arange(d),
        "one entry of 1e300": 1e300 * first,
        "denormal": np.full(d, TINY),
        "one denormal entry": middle + TINY * first,
        "zeros": np.zeros(d),
        "minus zeros": -np.zeros(d),
        "the mean": middle,
        "a duplicate": table[-1].copy(),
        "the opposite of a record": -table[-1],
        "far": np.full(d, 1e15),
        "far the other way": -1e15 * first,
    }
    for times in (0.7, 1.0, 1.5, 2.2, 4.0, 9.0, 40.0):
        found[f"{times} spreads aside"] = middle + times * spread * aside
    for times in (0.5, 1.0, 1.9, 3.0, 12.0):
        found[f"{times} spreads along one axis"] = middle + times * spread * first
    return found


def neighbours(table: np.ndarray, relation: str, place: int, names: tuple[str, ...] | None = None) -> list[Pair]:
    """Pairs for all odd records, or for those named."""
    odd = {name: record for name, record in odd_records(table).items() if names is None or name in names}
    return removals(table, place, odd) if relation == "add-remove" else exchanges(table, place, odd)


def removals(table, place, odd) -> list[Pair]:
    """An odd record more, in the given place."""
    return [
        Pair(f"without {name}", np.insert(table, place, record, axis=0), table, place) for name, record in odd.items()
    ]


def exchanges(table, place, odd) -> list[Pair]:
    """An odd record for the next one; for what lies opposite, as seen from the mean; for an ordinary one."""
    pairs = [*pairwise(odd.items())]
    pairs += [((name, record), ("its opposite", opposite(table, record))) for name, record in odd.items()]
    if len(odd) > len(QUICK):
        pairs += [(one, ("an ordinary record", table[place])) for one in odd.items()]
    return [
        Pair(f"{one} for {other}", put(table, place, record), put(table, place, instead), None)
        for (one, record), (other, instead) in pairs
    ]


def opposite(table, record):
    """Where that is beyond the floats, minus the record."""
    with np.errstate(all="ignore"):
        across = 2 * table.mean(axis=0) - record
    return across if np.isfinite(across).all() else -record


def put(table, place, record):
    changed = table.copy()
    changed[place] = record
    return changed


def emptied(table: np.ndarray) -> list[Pair]:
    """One record, and none."""
    nobody = np.zeros((0, table.shape[1]))
    return [Pair(f"only {name}", record[None], nobody, 0) for name, record in odd_records(table).items()]


def scattered(table: np.ndarray, far: int) -> list[Pair]:
    """So many records far from all others, one of which leaves, comes nearer, or is an ordinary one."""
    apart = np.arange(1, far + 1)[:, None] * 1e6 * np.ones(table.shape[1])
    crowd = np.concatenate([apart, table[far:]])
    return [
        Pair("without a far record", crowd, crowd[1:], 0),
        Pair("without an ordinary record", crowd, crowd[:-1], len(crowd) - 1),
        Pair("a far record for an ordinary one", crowd, put(crowd, 0, table[0]), None),
        Pair("an ordinary record for NaN", crowd, put(crowd, len(crowd) - 1, np.full(table.shape[1], np.nan)), None),
    ]
