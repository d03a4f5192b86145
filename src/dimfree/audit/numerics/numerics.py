"""Where privacy usually leaks although the mathematics is right: bits, order, batches, words, copies of noise.

Every check returns the complaints it has, none if all is well. What they say is public. Here are the lattice and the
list of all checks; each of the others is a room of its own.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.audit.noise_doubles import Pooled
from dimfree.audit.numerics.batches import predicate, recordwise
from dimfree.audit.numerics.charges import charges
from dimfree.audit.numerics.isolation import isolation
from dimfree.audit.numerics.order import BALL, LOOKOUT, ROWS, made_up, order, space_of, storage
from dimfree.audit.numerics.refusals import errors, extremes, invalid_rows, refusals
from dimfree.audit.numerics.replay import lattice_points
from dimfree.audit.numerics.silence import silence
from dimfree.estimators.learn.scale import pair_distances
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.grid import RADIUS
from dimfree.geometry.shape import Isotropic
from dimfree.mechanisms.clipped_sum import noisy_clipped_mean
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.directions import LENGTH, noisy_spread, noisy_unevenness, noisy_weight, sighted
from dimfree.mechanisms.friend_radius import noisy_friend_radius
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.mechanisms.outer_sum import noisy_outer_sum, noisy_togetherness, outer_sum
from dimfree.mechanisms.paper.laplace_count import laplace_count
from dimfree.mechanisms.paper.sparse_vector import sparse_vector
from dimfree.mechanisms.paper.stable_histogram import stable_histogram
from dimfree.mechanisms.scores import Scoring, noisy_scores, noisy_unit
from dimfree.mechanisms.search import geometric_grid
from dimfree.noise import Noise, SystemNoise
from dimfree.options import Options
from dimfree.release import release_mean

_EXACT = 2.0**52  # beyond, every float is a whole number and the lattice says nothing


def off_lattice(values: Any, event: Gaussian, divisor: float = 1.0) -> int:
    """How many values are not a whole number of the event's steps, divided by a public number, bit for bit.

    A float with noise of its own lies on the lattice with probability about (lattice points) / (floats) < 2^-20.
    """
    given = np.atleast_1d(np.asarray(values, dtype=np.float64))
    steps = np.rint(given * divisor / event.step)
    return int(((steps * event.step / divisor != given) | (np.abs(steps) > _EXACT)).sum())


def off_list(values: Any, listed: Any) -> int:
    """How many values are not among the listed ones, bit for bit."""
    return int((~np.isin(np.atleast_1d(values), np.asarray(listed))).sum())


def lattice(noise: Noise | None = None) -> list[str]:
    """Every released number is a whole number of the steps that its ledger event states, or from a public list."""
    door = noise or Pooled(SystemNoise())
    cases = (*_lattice_cases(door), *_listed_cases(door))
    return [f"{name}: {off} value(s) off the lattice" for name, off in cases if off]


def _lattice_cases(door: Noise) -> Iterator[tuple[str, int]]:
    space, integers = space_of(made_up()), np.rint(made_up() * RADIUS / 2**25).astype(np.int64)
    count = noisy_count(ROWS, 3.7, noise=door)
    yield "count", off_lattice(count.value, count.event)
    total = noisy_total(Fraction(1001, 7), 2.0, 0.3, "audit", noise=door)
    yield "total weight", off_lattice(total.value, total.event)
    mean = noisy_mean(integers, np.arange(ROWS), RADIUS / 50, 0.4, math.pi / RADIUS, noise=door)
    yield "core mean", off_lattice(mean.value, mean.event)
    for relation in Neighbours:
        clipped = noisy_clipped_mean(space, BALL, 210.7, 0.4, relation, "audit", noise=door)
        yield f"clipped mean, {relation}", off_lattice(clipped.value, clipped.event, 210.7)
        scores = noisy_scores(space, Scoring(BALL.centre, 1.0, 3.0), 0.7, 0.4, relation, noise=door)
        yield f"scores, {relation}", off_lattice(scores.value, scores.event)
    yield from _direction_cases(door)
    yield from _release_cases(door)


def _direction_cases(door: Noise) -> Iterator[tuple[str, int]]:
    """Numbers, and a matrix whose diagonal is counted in 29ths and the rest in 41sts of a step (P12)."""
    space, relation = space_of(made_up()), Neighbours.REPLACE_ONE
    seen, outer = sighted(space, LOOKOUT, Cosine(space.dimension)), outer_sum(space, LOOKOUT)
    for found in (
        noisy_unevenness(seen, 0.4, noise=door),
        noisy_weight(seen, 0.4, noise=door),
        noisy_spread(seen, 0.4, noise=door),
        noisy_togetherness(outer, 0.4, relation, noise=door),
    ):
        yield found.event.purpose, off_lattice(found.value, found.event)
    products = noisy_outer_sum(outer, 0.4, relation, noise=door)
    whole, beside = replace(products.event, step=1.0), np.triu_indices(len(outer), 1)
    steps = products.value * float(LENGTH) ** 2
    yield "outer products", off_lattice(np.diagonal(steps), whole, 29.0) + off_lattice(steps[beside], whole, 41.0)


def _release_cases(door: Noise) -> Iterator[tuple[str, int]]:
    """Whole releases of one mean in its own space: what leaves is what the last event states."""
    ways: tuple[dict[str, Any], ...] = (
        {"options": Options(core="soft")},
        {"options": Options(core="basic")},
        {"options": Options(core="stable", stages=0), "neighbours": "replace-one"},
    )
    for way in ways:
        near = np.clip(made_up(), -1, 1) / 4
        found = release_mean(near, epsilon=4.0, delta=1e-2, shape=Isotropic(1.0), noise=door, **way)
        events = [event for event in found.ledger.events if isinstance(event, Gaussian) and event.purpose == "mean"]
        if not found.refused:
            yield f"release, {way['options'].core}", off_lattice(found.mean, events[-1])


def _listed_cases(door: Noise) -> Iterator[tuple[str, int]]:
    """Choices and counts: points of a public grid, positions, whole numbers."""
    space, grid, column = space_of(made_up()), geometric_grid(0.1, 10.0, 1.3), made_up()[:, 0]
    votes = np.arange(12, dtype=np.int64)
    pairs = pair_distances(space, None)
    radius = noisy_friend_radius(pairs, Fraction(1, 2), grid, 1.0, Neighbours.ADD_REMOVE, noise=door)
    yield "friend radius", off_list(radius.value, grid)
    unit = noisy_unit(space, Scoring(BALL.centre, 1.0, 3.0), 40.0, grid, 1.0, noise=door)
    yield "unit of the scores", off_list(unit.value, grid)
    yield "sparse vector", off_list(sparse_vector(votes, 6.0, 3, 1.0, 1e-2, noise=door).value, votes)
    yield "Laplace count", off_list(laplace_count(ROWS, 1.0, noise=door).value, np.arange(-1000, 1000))
    cells = stable_histogram(np.sign(column).tolist(), 1.0, 1e-2, noise=door).value
    yield "histogram", off_list(list(cells), (-1.0, 0.0, 1.0)) + off_list(list(cells.values()), np.arange(1000))


NUMERICS: dict[str, Callable[[], list[str]]] = {
    "outputs on the lattice": lattice,
    "outputs from lattice points alone": lattice_points,
    "charges state what was drawn": charges,
    "order and chunks": order,
    "storage and blocks": storage,
    "the predicate": predicate,
    "maps of one record": recordwise,
    "silence": silence,
    "refusals alike": refusals,
    "errors alike": errors,
    "numbers out of range": extremes,
    "invalid records alike": invalid_rows,
    "noise of processes and threads": isolation,
}
