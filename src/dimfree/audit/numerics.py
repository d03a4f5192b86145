"""Where privacy usually leaks although the mathematics is right: the bits of the output, the order of a sum, words.

Every check returns the complaints it has, none if all is well. What they say is public.
"""

import math
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dimfree.accounting.events import Gaussian
from dimfree.audit.doors import Pooled
from dimfree.budget import Neighbours
from dimfree.core.friends import friend_counts
from dimfree.errors import DimfreeError, NoiseMisuse
from dimfree.grid import RADIUS
from dimfree.mechanisms.clipped_sum import Ball, clipped_sum, noisy_clipped_mean
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.mechanisms.scores import Scoring, noisy_scores
from dimfree.noise import Noise, SystemNoise, public_simulation
from dimfree.records import as_records
from dimfree.release import release_mean
from dimfree.shape import Diagonal, Isotropic
from dimfree.space import Space

Floats = NDArray[np.float64]

_EXACT = 2.0**52  # beyond, every float is a whole number and the lattice says nothing
_CANARY = 918273645.125
_SONGS = ("918273645", "9.18273645", "918_273", "9182736")
_ROWS, _COLUMNS = 211, 5


def off_lattice(values: Any, event: Gaussian, divisor: float = 1.0) -> int:
    """How many values are not a whole number of the event's steps, divided by a public number, bit for bit.

    A float with noise of its own lies on the lattice with probability about (lattice points) / (floats) < 2^-20.
    """
    given = np.atleast_1d(np.asarray(values, dtype=np.float64))
    steps = np.rint(given * divisor / event.step)
    return int(((steps * event.step / divisor != given) | (np.abs(steps) > _EXACT)).sum())


def _table() -> Floats:
    """Public made-up records of many sizes; sums of them in floats depend on the order."""
    coins = public_simulation(7)
    return np.asarray(coins.normal(size=(_ROWS, _COLUMNS)) * np.exp(coins.normal(size=(_ROWS, 1))))


def _space(table: Any) -> Space:
    return Space(as_records(table), Diagonal(np.array([1.0, 2.0, 0.5, 1.0, 3.0])))


_BALL = Ball(np.array([0.1, -0.2, 0.3, 0.0, 0.7]), 1.0, 2.5)


def lattice(noise: Noise | None = None) -> list[str]:
    """Every released number is a whole number of the steps that its ledger event states."""
    door = noise or Pooled(SystemNoise())
    return [f"{name}: {off} value(s) off the lattice" for name, off in _lattice_cases(door) if off]


def _lattice_cases(door: Noise) -> Iterator[tuple[str, int]]:
    space, integers = _space(_table()), np.rint(_table() * RADIUS / 8).astype(np.int64)
    count = noisy_count(_ROWS, 3.7, noise=door)
    yield "count", off_lattice(count.value, count.event)
    total = noisy_total(Fraction(1001, 7), 2.0, 0.3, "audit", noise=door)
    yield "total weight", off_lattice(total.value, total.event)
    mean = noisy_mean(integers, np.arange(_ROWS), RADIUS / 50, 0.4, math.pi / RADIUS, noise=door)
    yield "core mean", off_lattice(mean.value, mean.event)
    for relation in Neighbours:
        clipped = noisy_clipped_mean(space, _BALL, 210.7, 0.4, relation, "audit", noise=door)
        yield f"clipped mean, {relation}", off_lattice(clipped.value, clipped.event, 210.7)
        scores = noisy_scores(space, Scoring(_BALL.centre, 1.0, 3.0), 0.7, 0.4, relation, noise=door)
        yield f"scores, {relation}", off_lattice(scores.value, scores.event)
    yield from _release_cases(door)


def _release_cases(door: Noise) -> Iterator[tuple[str, int]]:
    """Whole releases of one mean in its own space: what leaves is what the last event states."""
    ways: tuple[dict[str, Any], ...] = (
        {"core": "soft"},
        {"core": "basic"},
        {"core": "stable", "stages": 0, "neighbours": "replace-one"},
    )
    for way in ways:
        found = release_mean(_table() / 4, epsilon=4.0, delta=1e-2, shape=Isotropic(1.0), noise=door, **way)
        events = [event for event in found.ledger.events if isinstance(event, Gaussian) and event.purpose == "mean"]
        if not found.refused:
            yield f"release, {way['core']}", off_lattice(found.mean, events[-1])


def order(total: Callable[[Any], Any] | None = None) -> list[str]:
    """Sums and friend counts do not depend on the order of the records, on how they are cut or stored."""
    add = total or (lambda table: clipped_sum(_space(table), _BALL))
    table = _table()
    whole, shuffle = add(table), public_simulation(11).permutation(_ROWS)
    complaints = []
    if not np.array_equal(add(table[shuffle]), whole):
        complaints.append("a sum depends on the order of the records")
    if any(not np.array_equal(add(table[:cut]) + add(table[cut:]), whole) for cut in (1, 64, 100, 210)):
        complaints.append("a sum depends on how the records are cut")
    if total is None and not np.array_equal(add(sparse.csr_array(table)), whole):
        complaints.append("a sum depends on how the records are stored")
    return complaints + _predicate(table, shuffle)


def _predicate(table: Floats, shuffle: Any) -> list[str]:
    """A record's friends do not depend on where it stands, or on who else is in its batch."""
    integers = np.rint(table * RADIUS / 2).astype(np.int64)
    counts = friend_counts(integers)
    alone = np.array([sum(friend_counts(integers[[j, k]])[0] - 1 for k in range(30)) for j in range(30)])
    moved = friend_counts(integers[shuffle])
    complaints = [] if np.array_equal(moved, counts[shuffle]) else ["the predicate depends on the position"]
    return complaints + (
        [] if np.array_equal(alone, friend_counts(integers[:30])) else ["the predicate depends on the batch"]
    )


def silence(release: Callable[..., Any] = release_mean) -> list[str]:
    """A secret number shows in no text of a release, a refusal or an error, and refusals do not tell tables apart."""
    table = public_simulation(5).normal(size=(467, 3))
    table[11] = _CANARY
    complaints, reasons = [], set()
    for spread in (1.0, 1e-7):
        for way in ({"core": "soft"}, {"core": "stable"}, {"core": "stable", "neighbours": "replace-one"}):
            found = release(table, epsilon=4.0, delta=1e-3, shape=Isotropic(spread), **way)
            if found.refused:
                reasons.add((way["core"], found.refusal))
            complaints += [f"a release with {way} sings" for text in _texts(found) if _sings(text)]
    if len(reasons) > len({core for core, _ in reasons}):
        complaints.append("refusals of one core differ in their words")
    return sorted(set(complaints + _errors(table, release) + _copies()))


def _texts(found: Any) -> list[str]:
    texts = [found.to_json(), repr(found), str(found), repr(found.ledger), found.guarantee.statement()]
    return [*texts, str(dict(found.parameters)), str(pickle.dumps(found))]


def _sings(text: str) -> bool:
    return any(song in text for song in _SONGS)


def _errors(table: Floats, release: Callable[..., Any]) -> list[str]:
    """Errors name parameters and schema, neither values nor how many records there are."""
    spoiled: tuple[Any, ...] = (np.where(np.arange(3) == 1, np.nan, table), table[:, 0], table.astype(str), table[None])
    complaints = []
    for wrong in spoiled:
        try:
            release(wrong, epsilon=4.0, delta=1e-3, shape=Isotropic(1.0))
            complaints.append("a table that cannot be used was used")
        except DimfreeError as error:
            if _sings(str(error)) or str(len(table)) in str(error):
                complaints.append("an error sings")
    return complaints


def _copies() -> list[str]:
    """A door to noise cannot be copied: two processes would draw the same."""
    try:
        pickle.dumps(SystemNoise())
    except NoiseMisuse:
        return []
    return ["a noise door can be copied"]


NUMERICS: dict[str, Callable[[], list[str]]] = {
    "outputs on the lattice": lattice,
    "order and chunks": order,
    "silence": silence,
}
