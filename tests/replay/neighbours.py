"""Neighbouring tables: ordinary records, and one that is anything but."""

from dataclasses import dataclass

import numpy as np

HUGE, TINY = 1.7e308, 5e-324


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
    aside = np.ones(d) / np.sqrt(d)
    first = np.eye(d)[0]
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
    edges = {f"{times} spreads aside": middle + times * spread * aside for times in (0.7, 1.0, 1.5, 2.2, 4.0, 9.0, 40.0)}
    along = {f"{times} spreads along one axis": middle + times * spread * first for times in (0.5, 1.0, 1.9, 3.0, 12.0)}
    return found | edges | along


def removals(table: np.ndarray, place: int) -> list[Pair]:
    """An odd record more, in the given place."""
    return [
        Pair(f"without {name}", np.insert(table, place, record, axis=0), table, place)
        for name, record in odd_records(table).items()
    ]


def exchanges(table: np.ndarray, place: int) -> list[Pair]:
    """An odd record against the next odd one, against the opposite of it about the mean, and against an ordinary one."""
    odd = list(odd_records(table).items())
    pairs = [(one, other) for one, other in zip(odd, odd[1:] + odd[:1], strict=True)]
    ordinary = ("an ordinary record", table[place])
    middle = table.mean(axis=0)
    pairs += [(one, ordinary) for one in odd]
    pairs += [(one, (f"its reflection", 2 * middle - one[1])) for one in odd if np.isfinite(one[1]).all() and abs(one[1]).max() < 1e300]
    return [
        Pair(f"{one} for {other}", put(table, place, record), put(table, place, instead), None)
        for (one, record), (other, instead) in pairs
    ]


def put(table, place, record):
    changed = table.copy()
    changed[place] = record
    return changed


def neighbours(table: np.ndarray, relation: str, place: int = 0) -> list[Pair]:
    return removals(table, place) if relation == "add-remove" else exchanges(table, place)


def emptied(table: np.ndarray) -> list[Pair]:
    """One record and none."""
    nobody = np.zeros((0, table.shape[1]))
    return [Pair(f"only {name}", record[None], nobody, 0) for name, record in odd_records(table).items()]
