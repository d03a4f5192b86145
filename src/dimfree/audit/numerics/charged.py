"""Every mechanism that draws, with what it is asked to cost and what its theorem says one record can do to it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Ranged
from dimfree.audit.noise_doubles import Asked
from dimfree.audit.numerics.order import BALL, LOOKOUT, ROWS, made_up, space_of
from dimfree.core import soft
from dimfree.estimators.learn.radius import RadiusSearch, searched_radius
from dimfree.estimators.learn.scale import pair_distances
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.grid import RADIUS
from dimfree.mechanisms import Charged
from dimfree.mechanisms.clipped_sum import noisy_clipped_mean
from dimfree.mechanisms.count import noisy_count, noisy_total
from dimfree.mechanisms.directions import EVEN, noisy_spread, noisy_unevenness, noisy_weight, sighted
from dimfree.mechanisms.friend_radius import noisy_friend_radius
from dimfree.mechanisms.gaussian import noisy_mean
from dimfree.mechanisms.gaussian_histogram import heaviest_cells, lone_cells
from dimfree.mechanisms.medians import noisy_medians
from dimfree.mechanisms.outer_sum import noisy_outer_sum, noisy_togetherness, outer_sum
from dimfree.mechanisms.paper.group_means import noisy_group_means
from dimfree.mechanisms.paper.laplace_count import laplace_count
from dimfree.mechanisms.paper.quantile import private_quantile
from dimfree.mechanisms.paper.sparse_vector import sparse_vector
from dimfree.mechanisms.paper.stable_histogram import heaviest_cell, stable_histogram
from dimfree.mechanisms.paper.top_k import top_k
from dimfree.mechanisms.scores import Scoring, noisy_scores, noisy_unit
from dimfree.mechanisms.search import STEPS, noisy_search
from dimfree.noise import Noise

_MU, _EPSILON, _DELTA, _SCALE = 0.4, 0.7, 1e-2, 3.0
_GRID: Floats = 0.1 * np.power(1.5, np.arange(17, dtype=np.float64))  # sixteen cells: a search asks four times
_PICKS = 3
MOST = 2  # positive answers of the sparse vector
SPARSE = "sparse vector"

Release = Callable[[Noise], Charged[Any, Any]]


@dataclass(frozen=True)
class Case:
    """A mechanism, what it was asked to cost, and what one record can do to it by its theorem.

    `cost` is mu, or (epsilon, delta), or the scale of a choice. `moves` is the L2 sensitivity in units of what is
    released; for choices and Laplace noise, how many counts one record moves by one. `draws` says how many numbers are
    drawn; None where that depends on the records.
    """

    name: str
    release: Release
    cost: float | tuple[float, float]
    moves: float
    draws: int | None


def all_cases() -> list[Case]:
    return [*_totals(), *_sums(), *_directions(), *_searches(), *_many(), *_votes()]


def _totals() -> Iterator[Case]:
    step = noisy_count(0, 1.0, noise=Asked()).event.step  # of the same grid; rounding to it adds one
    yield Case("count", lambda noise: noisy_count(ROWS, 1 / _MU, noise=noise), _MU, 1.0, 1)
    total, most = Fraction(1001, 7), soft.TOTAL_SENSITIVITY
    yield Case(
        "total weight", lambda noise: noisy_total(total, most, _MU, "audit", noise=noise), _MU, 2.0 + step, 1
    )  # P3


def _sums() -> Iterator[Case]:
    space, scoring = space_of(made_up()), Scoring(BALL.centre, 1.0, 3.0)
    integers, moves, step = np.rint(made_up() * RADIUS / 2**25).astype(np.int64), RADIUS / 50, math.pi / RADIUS
    width = space.dimension

    def mean(noise: Noise) -> Charged[Any, Gaussian]:
        return noisy_mean(integers, np.arange(ROWS), moves, _MU, step, noise=noise)

    yield Case("core mean", mean, _MU, moves * step, width)
    for relation, radii, norms in ((Neighbours.ADD_REMOVE, 1, 1.0), (Neighbours.REPLACE_ONE, 2, math.sqrt(2))):

        def clipped(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            return noisy_clipped_mean(space, BALL, 210.7, _MU, relation, "audit", noise=noise)

        def scores(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            return noisy_scores(space, scoring, 0.7, _MU, relation, noise=noise)

        yield Case(f"clipped mean, {relation}", clipped, _MU, radii * BALL.radius, width)  # P8
        yield Case(f"scores, {relation}", scores, _MU, norms * scoring.norm, width)  # P10

    def groups(noise: Noise) -> Charged[Any, Gaussian]:
        return noisy_group_means(np.abs(made_up()), 2.0, _MU, "audit", noise=noise)

    yield Case("group means", groups, _MU, 2.0 * math.sqrt(width), width + 1)  # M2


def _directions() -> Iterator[Case]:
    """What the menu asks of directions (P11), and their outer products (P12)."""
    space = space_of(made_up())
    seen, outer = sighted(space, LOOKOUT, Cosine(space.dimension)), outer_sum(space, LOOKOUT)
    yield Case("unevenness", lambda noise: noisy_unevenness(seen, _MU, noise=noise), _MU, EVEN, 1)
    yield Case("weight of unevenness", lambda noise: noisy_weight(seen, _MU, noise=noise), _MU, 1.0, 1)
    yield Case("spread in a basis", lambda noise: noisy_spread(seen, _MU, noise=noise), _MU, 1.0, 1)
    for relation, moves in ((Neighbours.ADD_REMOVE, 1.0), (Neighbours.REPLACE_ONE, math.sqrt(2))):

        def together(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            return noisy_togetherness(outer, _MU, relation, noise=noise)

        def products(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            return noisy_outer_sum(outer, _MU, relation, noise=noise)

        yield Case(f"togetherness, {relation}", together, _MU, moves, 1)
        yield Case(f"outer products, {relation}", products, _MU, moves, space.dimension * (space.dimension + 1) // 2)


def _searches() -> Iterator[Case]:
    """Four queries, each of a count that one record moves by one (M5'), or by the friend average's move."""
    space, scoring = space_of(made_up()), Scoring(BALL.centre, 1.0, 3.0)
    pairs, share = pair_distances(space, None), Fraction(9, 10)

    def plain(noise: Noise) -> Charged[Any, Gaussian]:
        return noisy_search(lambda point: round((point - 1) * STEPS), _GRID, 1.0, _MU, "audit", noise=noise)

    def excess(noise: Noise) -> Charged[Any, Gaussian]:
        return searched_radius(space, BALL, RadiusSearch(_MU, 2.0, 100.0), noise=noise)

    yield Case("search", plain, _MU, 2.0, 4)
    yield Case("unit of the scores", lambda noise: noisy_unit(space, scoring, 40.0, _GRID, _MU, noise=noise), _MU, 2, 4)
    asked = Asked()
    excess(asked)
    yield Case("excess search", excess, _MU, math.sqrt(len(asked.asked)), None)
    for relation, move in ((Neighbours.ADD_REMOVE, 1.9), (Neighbours.REPLACE_ONE, 2.0)):

        def radius(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            return noisy_friend_radius(pairs, share, _GRID, _MU, relation, noise=noise)

        yield Case(f"friend radius, {relation}", radius, _MU, 2 * move, 4)


def _many() -> Iterator[Case]:
    """Many numbers of one record at once: medians, and a histogram of every coordinate."""
    table = made_up()
    width = table.shape[1]
    for relation, moved in ((Neighbours.ADD_REMOVE, 1), (Neighbours.REPLACE_ONE, 2)):

        def medians(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            widths = np.full(width, 0.5)
            return noisy_medians(lambda: [table], 4.0, widths, _MU, relation, "audit", noise=noise)

        def cells(noise: Noise, relation: Neighbours = relation) -> Charged[Any, Gaussian]:
            coordinates = [np.floor(table.T).astype(np.int64)]
            return heaviest_cells(coordinates, width, _MU, lone_cells(_DELTA), relation, noise=noise)

        answers = 4 * width  # [-4, 4] is halved four times
        yield Case(f"medians, {relation}", medians, _MU, moved * math.sqrt(answers), answers)
        yield Case(f"histograms of coordinates, {relation}", cells, _MU, math.sqrt(moved * width), None)


def _votes() -> Iterator[Case]:
    votes, items, both = np.arange(12, dtype=np.int64), np.sign(made_up()[:, 0]).tolist(), (_EPSILON, _DELTA)
    column, share = made_up()[:, 0], Fraction(2, 3)
    yield Case("Laplace count", lambda noise: laplace_count(ROWS, _EPSILON, noise=noise), (_EPSILON, 0.0), 1, 1)
    yield Case("histogram", lambda noise: stable_histogram(items, *both, noise=noise), both, 2, len(set(items)))  # M4
    yield Case("heaviest cell", lambda noise: heaviest_cell(items, *both, noise=noise), both, 2, len(set(items)))
    yield Case(SPARSE, lambda noise: sparse_vector(votes, 6.0, MOST, *both, noise=noise), both, 2, len(votes) + MOST)
    yield Case("top-k", lambda noise: top_k(votes, _PICKS, _SCALE, "audit", noise=noise), _SCALE, 2, _PICKS)  # M3

    def quantile(noise: Noise) -> Charged[Any, Ranged]:
        return private_quantile(column, share, _GRID, _SCALE, "audit", noise=noise)

    parts = share.denominator  # scores are counted in parts of an item, and so is the noise (M5)
    yield Case("quantile", quantile, _SCALE * parts, 2 * parts, 1)
