"""Tiny tables seen from a centre: what each record adds to the sums of P11 and P12, and a climb to the worst pair.

The sums are whole numbers that add up over records, so a table is a vector of them: any number of copies costs nothing.
Everything is computed by the code itself, with noise that draws nothing.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from exact.worlds import space_of
from recording import RecordingNoise
from sessions import standing_view

from dimfree.accounting.budget import Neighbours
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.statistics.outer_sum import outer_sum
from dimfree.kernel.statistics.unit_vectors import LENGTH, Lookout, Sighting, sighted

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, CENTRE = float("nan"), 0.25
UNIT = LENGTH**2
EVERY = ("unevenness", "weight", "spread", "togetherness", "matrix")
ALONG, ACROSS = (1.0 + CENTRE, CENTRE), (CENTRE, 1.0 + CENTRE)
UP, DOWN = (1.0 + CENTRE, 1.0 + CENTRE), (1.0 + CENTRE, CENTRE - 1.0)
_TIMES = (0, 1, 4, 1000, 2**16)  # the largest whose matrix is read off its floats exactly


def lookout_of(dimension):
    return Lookout(np.full(dimension, CENTRE), np.ones(dimension))


def sums_of(space, lookout=None, among=None):
    """Σ k·u∘u, Σ k, Σ |Tu|₁/√d and A, one after the other."""
    lookout = lookout or lookout_of(space.dimension)
    seen = sighted(space, lookout, Cosine(space.dimension), among)
    return np.concatenate([seen.squares, [seen.weight, seen.spread], outer_sum(space, lookout, among).ravel()])


@cache
def added_by(row):
    """What one record adds: it is the same in every table."""
    return sums_of(space_of([row]))


def total(camps, dimension):
    """The sums of a table of (times, row)."""
    parts = [times * added_by(row) for times, row in camps]
    return np.sum([np.zeros(dimension + 2 + dimension**2, dtype=np.int64), *parts], axis=0)


def measured(name, sums, dimension, relation, mu=1.0, noise=None):
    """The release of this name, of sums that are those of some table."""
    view = standing_view(np.zeros((1, dimension)), relation, noise=noise or RecordingNoise())
    seen, products = view.directions(lookout_of(dimension), None), view.outer_products(lookout_of(dimension))
    sighting = Sighting(sums[:dimension], int(sums[dimension]), int(sums[dimension + 1]))
    seen._seen = lambda: sighting
    products._outer = lambda: sums[dimension + 2 :].reshape(dimension, dimension)
    return getattr(products if name in ("togetherness", "matrix") else seen, name)(mu)


def half_matrix(value):
    """What the noise is added to, from a matrix without noise: (29·A_ii, 41·A_ij) in whole steps."""
    whole = np.rint(np.asarray(value) * UNIT).astype(np.int64)
    assert (whole == np.asarray(value) * UNIT).all()
    return [29 * int(v) for v in np.diagonal(whole)] + [41 * int(v) for v in whole[np.triu_indices(len(whole), 1)]]


def in_steps(name, found):
    """A release without noise, in the steps that its event counts in."""
    if name == "matrix":
        return half_matrix(found.value)
    assert found.value == round(found.value / found.event.step) * found.event.step
    return [round(found.value / found.event.step)]


def squared_move(name, one, other, dimension, relation):
    """By how much two sums are apart in the release of this name, squared, and what the release is charged."""
    both = [measured(name, sums, dimension, relation) for sums in (one, other)]
    steps = [in_steps(name, found) for found in both]
    return sum((a - b) ** 2 for a, b in zip(*steps, strict=True)), both[0].event


@dataclass(frozen=True)
class Couple:
    """Camps of bystanders, and the record that comes (other: None) or turns into another."""

    camps: tuple
    one: tuple
    other: tuple | None

    def totals(self):
        dimension = len(self.one)
        crowd = total(self.camps, dimension)
        return crowd + added_by(self.one), crowd if self.other is None else crowd + added_by(self.other)


def moved(name, couple, relation):
    """How far a couple is apart, in units of what is released; and the event."""
    squared, event = squared_move(name, *couple.totals(), len(couple.one), relation)
    return math.sqrt(squared) * event.step, event


def flat(dimension):
    """A record that uses every coordinate alike."""
    return (1.0 + CENTRE,) * dimension


def records(dimension):
    """At the centre, along the axes, oblique, tiny, huge, invalid."""
    grid = np.stack(np.meshgrid(*[(-1.0, 0.0, 1.0)] * dimension), axis=-1).reshape(-1, dimension)
    odd = [[1e300] * dimension, [5e-324] + [0.0] * (dimension - 1), [NAN] * dimension]
    return [tuple(row) for row in [*(grid + CENTRE).tolist(), *odd]]


def changed(couple, coins):
    """One record, or the size of a camp, is another."""
    dimension = len(couple.one)
    drawn = records(dimension)[coins.integers(len(records(dimension)))]
    nudged = tuple(np.array(couple.one) + 0.25 * (np.arange(dimension) == coins.integers(dimension)))
    which, place = coins.integers(5), coins.integers(len(couple.camps))
    camps = list(couple.camps)
    if which < 2:
        _, row = camps[place]
        camps[place] = (_TIMES[coins.integers(len(_TIMES))], drawn if which else row)
        return Couple(tuple(camps), couple.one, couple.other)
    if which == 2 and couple.other is not None:
        return Couple(couple.camps, couple.one, drawn)
    return Couple(couple.camps, drawn if which == 3 else nudged, couple.other)


def worst(name, dimension, relation, tries=260, seed=5):
    """The largest move found by climbing, in units of what is released; no move on the way exceeds its charge."""
    coins, start = np.random.default_rng(seed), flat(dimension)
    now = best = 0.0
    couple = Couple(((0, start), (0, start)), start, None if relation is ADD else start)
    for _ in range(tries):
        tried = changed(couple, coins)
        squared, event = squared_move(name, *tried.totals(), dimension, relation)
        assert squared <= event.sensitivity**2
        moves = math.sqrt(squared) * event.step
        if moves >= now - 0.2 * coins.random() ** 3 * now:
            couple, now, best = tried, moves, max(best, moves)
    return best
