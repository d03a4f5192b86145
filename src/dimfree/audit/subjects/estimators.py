"""Whole releases as subjects: refusal, mean, noise and released parameters, on pairs in units that the code uses."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Costs, Tested
from dimfree.audit.neighbours import Pair, Place, Table, at_stability, pairs
from dimfree.audit.noise_doubles import Asked
from dimfree.audit.pairs.crowds import at_spread_stability, crowd, spread_pairs
from dimfree.audit.subjects.subject import DELTA, Subject
from dimfree.audit.subjects.ways import FAILURE, KNOWN, PAPER, Way
from dimfree.estimators.run import CAUTION
from dimfree.geometry.shape import Isotropic, Shape
from dimfree.noise import Noise
from dimfree.paper.algorithm2 import Learned, coordinate_blocks
from dimfree.paper.group_variances import bucket, bucket_edge
from dimfree.results.release import Release

_RELEASED = ("count", "weight_lower_bound", "radius", "scale", "top", "groups")
_REASONS = 997  # a refusal's words as a number

Edge = Callable[[int], Pair]


def estimator(way: Way, epsilon: float) -> Subject:
    """A whole release."""

    def draw(table: Table, noise: Noise) -> Floats:
        return released_row(way.release(table, epsilon, noise))

    name = f"release: {way.name}, {way.relation}"
    return Subject(name, epsilon, DELTA, way.relation, draw, lambda: tuple(release_pairs(way, epsilon)), way.weight)


def released_row(release: Release) -> Floats:
    """Everything that left, as numbers; the pairs differ along the first coordinate or along all alike."""
    known = [float(release.parameters.get(name, math.nan)) for name in _RELEASED]
    if release.refused:
        reason = sum(map(ord, release.refusal or "")) % _REASONS
        return np.array([1.0 + reason, *[math.nan] * 6, *known])
    mean, unbiased = release.mean, release.unbiased_mean
    noise = float(np.log(release.noise_stddev[0]))
    learned = math.nan if release.shape is None else float(np.log(release.shape.variances[0]))
    return np.array([0.0, mean[0], mean.mean(), float(np.linalg.norm(mean)), unbiased[0], noise, learned, *known])


def release_pairs(way: Way, epsilon: float) -> Iterator[Pair]:
    """The suite in units of the friend radius that the code uses, and the edge of its stability test."""
    place = probed_place(way, epsilon)
    if way.tables == KNOWN:
        found, edge = _known_pairs(way, place), _known_edge(way, place)
    else:
        found, edge = spread_pairs(way.relation, place), _spread_edge(way, place)
    yield next(found)
    if way.tables != PAPER and way.options.core_sample == "auto":  # coins that choose the sample would choose T
        most = place.size // (2 if way.tables == KNOWN else 4)  # with more of them there is another scale to be found
        lonely = lonely_at_two(way, epsilon, edge, most)
        yield from [] if lonely is None else [edge(lonely)]
    yield from found


def probed_place(way: Way, epsilon: float) -> Place:
    """The radius that the code decides friendship at: released with a mean, or known from what the paper learns."""
    if way.tables == PAPER:
        return Place(way.size, _paper_radius(way.size))
    table = Place(way.size).at((way.size, 0.0)) if way.tables == KNOWN else crowd(way.size)
    return Place(way.size, float(way.release(table, epsilon, Asked()).parameters["radius"]))


def _paper_radius(size: int) -> float:
    """λ of the paper's average over both coordinates, for the crowd's variances rounded to powers of four."""
    total = bucket_edge(bucket(float(crowd(size).var(axis=0).sum())))
    learned = Learned(np.zeros(0, dtype=np.intp), np.zeros(0), np.arange(2), total)
    return coordinate_blocks(learned, size / 2, CAUTION * FAILURE)[0].radius


def _known_edge(way: Way, place: Place) -> Edge:
    return lambda lonely: _reshaped(at_stability(way.relation, place, lonely), way.shape)


def _spread_edge(way: Way, place: Place) -> Edge:
    return lambda lonely: at_spread_stability(way.relation, place, lonely)


def _known_pairs(way: Way, place: Place) -> Iterator[Pair]:
    """Of the plain suite, those that fit the shape; with a record that is invalid, where such are allowed."""
    if way.given.get("on_invalid") == "neutral":
        yield _invalid_pair(way.relation, place)
    for pair in pairs(way.relation, place):
        if way.shape.dimension in (None, pair.here.shape[1]):
            yield _reshaped(pair, way.shape)


def _invalid_pair(relation: Neighbours, place: Place) -> Pair:
    """One row is no record at all, or a friend of everybody at the edge."""
    here = place.at((place.size - 1, 0.0), (1, 1.0))
    there = here.copy()
    there[-1] = math.nan
    return Pair("invalid row", relation, here, there)


def _reshaped(pair: Pair, shape: Shape) -> Pair:
    """The same pair in front of a shape: what was a radius away is a radius away after rescaling."""
    if isinstance(shape, Isotropic):
        return pair
    here, there = (_restored(table, shape) for table in (pair.here, pair.there))
    return Pair(pair.name, pair.relation, here, there)


def _restored(table: Floats, shape: Shape) -> Floats:
    rows, places = np.unique(table, axis=0, return_inverse=True)
    return np.array([shape.restore(row) for row in rows])[places.ravel()]


def lonely_at_two(way: Way, epsilon: float, edge: Edge, most: int) -> int | None:
    """With how many lonely records the code tosses the coin of T = 2; None where it tosses none.

    T falls by one with each of them (P4), and the coin's weight, which a door sees, tells T up to the first rungs.
    """
    low, high = 0, most
    if _lowest_coin(way, epsilon, edge(low)) is not False or _lowest_coin(way, epsilon, edge(high)) is not True:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _lowest_coin(way, epsilon, edge(middle)) else (middle, high)
    return high


def _lowest_coin(way: Way, epsilon: float, pair: Pair) -> bool | None:
    """Whether the bit was tossed with the chance of T <= 2."""
    door = Asked()
    ledger = way.release(pair.here, epsilon, door).ledger
    coins = [numerator for kind, numerator, _ in door.asked if kind == "coin"]
    if not coins or not isinstance(ledger, Costs) or ledger.chosen is None:
        return None
    branch = ledger.menu[ledger.chosen]
    return coins[0] == branch.ladder.rungs[2] if isinstance(branch, Tested) else None
