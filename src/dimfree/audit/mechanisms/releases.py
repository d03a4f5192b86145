"""Whole releases: refusal, mean, noise and released parameters, on pairs in units of the friend radius."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Costs, Gaussian, Tested
from dimfree.audit.audited import DELTA, Audited, Subject, off_lattice
from dimfree.audit.canaries.canaries import MANY, SELDOM, play_releases, with_canaries
from dimfree.audit.canaries.one_run import Found, Mask, Play
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import made_up
from dimfree.audit.pairs.pair import Pair, Table, TableSize
from dimfree.audit.pairs.spread import at_spread_stability, spread_pairs, spread_points
from dimfree.audit.pairs.suites import at_stability, pairs
from dimfree.audit.release_calls import FAILURE, KNOWN, PAPER, ReleaseCall, release_calls
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.algorithm2 import Learned, coordinate_blocks
from dimfree.paper.group_variances import bucket, bucket_edge
from dimfree.programs.run import CAUTION
from dimfree.release import release_mean
from dimfree.results.release import Release
from dimfree.shapes import Isotropic, Shape
from dimfree.simulation import public_simulation

_RELEASED = ("count", "weight_lower_bound", "radius", "scale", "top", "groups")
_REASONS = 997  # the text of a refusal as a number

Edge = Callable[[int], Pair]  # a number of records without friends -> the pair with one more of them


def whole_release(call: ReleaseCall, epsilon: float) -> Subject:
    def draw(table: Table, noise: Noise) -> Floats:
        return released_row(call.release(table, epsilon, noise))

    name, relation = f"release: {call.name}, {call.relation}", call.relation
    return Subject(name, epsilon, relation, draw, lambda: tuple(release_pairs(call, epsilon)), call.weight)


def released_row(release: Release) -> Floats:
    """Everything released, as numbers; the pairs differ along the first coordinate or along all alike."""
    known = [float(release.parameters.get(name, math.nan)) for name in _RELEASED]
    if release.refused:
        reason = sum(map(ord, release.refusal or "")) % _REASONS
        return np.array([1.0 + reason, *[math.nan] * 7, *known])
    mean, unbiased = release.mean, release.unbiased_mean
    noise = float(np.log(release.noise_stddev[0]))
    learned = math.nan if release.shape is None else float(np.log(release.shape.variances[0]))
    reach = math.nan if release.reach is None else float(np.log(release.reach.radius))
    length = float(np.linalg.norm(mean))
    return np.array([0.0, mean[0], mean.mean(), length, unbiased[0], noise, learned, reach, *known])


def release_pairs(call: ReleaseCall, epsilon: float) -> Iterator[Pair]:
    """The suite in units of the friend radius, and the edge of the stability test."""
    given, edge = table_size(call, epsilon), stability_edge(call, epsilon)
    found = _known_pairs(call, given) if call.tables == KNOWN else spread_pairs(call.relation, given)
    yield next(found)
    if call.tables != PAPER and call.options.core_sample == "auto":  # there the coins of the sample decide T
        most = given.size // (2 if call.tables == KNOWN else 4)  # with more of them another scale would be learned
        lonely = lonely_at_two(call, epsilon, edge, most)
        yield from [] if lonely is None else [edge(lonely)]
    yield from found


def table_size(call: ReleaseCall, epsilon: float) -> TableSize:
    """With the radius at which the code decides friendship, or clips: released with a mean, or known from the paper."""
    if call.tables == PAPER:
        return TableSize(call.size, _paper_radius(call.size))
    table = TableSize(call.size).table((call.size, 0.0)) if call.tables == KNOWN else spread_points(call.size)
    return TableSize(call.size, deciding_radius(call.release(table, epsilon, ZeroNoise())))


def deciding_radius(release: Release) -> float:
    """Of friendship, or, where every column is read by itself, how far a record may lie in one column and count."""
    if "radius" in release.parameters or release.reach is None:
        return float(release.parameters["radius"])
    return float(release.reach.columns.max())


def _paper_radius(size: int) -> float:
    """λ of the paper's average over both coordinates, for variances rounded to powers of four."""
    total = bucket_edge(bucket(float(spread_points(size).var(axis=0).sum())))
    learned = Learned(np.zeros(0, dtype=np.intp), np.zeros(0), np.arange(2), total)
    return coordinate_blocks(learned, size / 2, CAUTION * FAILURE)[0].radius


def stability_edge(call: ReleaseCall, epsilon: float) -> Edge:
    given = table_size(call, epsilon)
    if call.tables == KNOWN:
        return lambda lonely: _reshaped(at_stability(call.relation, given, lonely), call.shape)
    return lambda lonely: at_spread_stability(call.relation, given, lonely)


def _known_pairs(call: ReleaseCall, given: TableSize) -> Iterator[Pair]:
    """Of the plain suite, those that fit the shape; with an invalid record, where such are allowed."""
    if call.given.get("on_missing") == "drop":
        yield _invalid_pair(call.relation, given)
    for pair in pairs(call.relation, given):
        if call.shape.dimension in (None, pair.here.shape[1]):
            yield _reshaped(pair, call.shape)


def _invalid_pair(relation: Neighbours, given: TableSize) -> Pair:
    """One row is invalid, or a friend of everybody at the edge."""
    here = given.table((given.size - 1, 0.0), (1, 1.0))
    there = here.copy()
    there[-1] = math.nan
    return Pair("invalid row", relation, here, there)


def _reshaped(pair: Pair, shape: Shape) -> Pair:
    """The same pair for a shape: what was a radius away is a radius away after rescaling."""
    if isinstance(shape, Isotropic):
        return pair
    here, there = (_restored(table, shape) for table in (pair.here, pair.there))
    return Pair(pair.name, pair.relation, here, there)


def _restored(table: Floats, shape: Shape) -> Floats:
    rows, places = np.unique(table, axis=0, return_inverse=True)
    return np.array([shape.restore(row) for row in rows])[places.ravel()]


def lonely_at_two(call: ReleaseCall, epsilon: float, edge: Edge, most: int) -> int | None:
    """The number of records without friends at which the code tosses the coin of T = 2; None where it tosses none.

    T falls by one with each of them (P4), and the chance of the coin tells T up to the first rungs.
    """
    low, high = 0, most
    if _lowest_coin(call, epsilon, edge(low)) is not False or _lowest_coin(call, epsilon, edge(high)) is not True:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _lowest_coin(call, epsilon, edge(middle)) else (middle, high)
    return high


def _lowest_coin(call: ReleaseCall, epsilon: float, pair: Pair) -> bool | None:
    """Whether the bit was tossed with the chance of T <= 2."""
    noise = ZeroNoise()
    ledger = call.release(pair.here, epsilon, noise).ledger
    coins = [numerator for kind, numerator, _ in noise.asked if kind == "coin"]
    if not coins or not isinstance(ledger, Costs) or ledger.chosen is None:
        return None
    branch = ledger.menu[ledger.chosen]
    return coins[0] == branch.ladder.rungs[2] if isinstance(branch, Tested) else None


# ---- lattice and canaries


def _off_lattice(noise: Noise) -> Iterator[tuple[str, int]]:
    """Releases of one mean in its own space: the released mean is on the lattice of the last event."""
    near, alone = np.clip(made_up(), -1, 1) / 4, Options(core="stable", stages=0)
    calls: tuple[dict[str, Any], ...] = (
        {"options": Options(core="soft")},
        {"options": Options(core="basic")},
        {"options": alone, "neighbours": "replace-one"},
    )
    for each in calls:
        found = release_mean(near, epsilon=4.0, delta=DELTA, shape=Isotropic(1.0), noise=noise, **each)
        events = [event for event in found.ledger.events if isinstance(event, Gaussian) and event.purpose == "mean"]
        if not found.refused:
            yield f"release, {each['options'].core}", off_lattice(found.mean, events[-1])


_OPTIONS = Options(failure_probability=0.02)  # accepted chance of a refusal: after a refusal no guess is right
_STABLE: dict[str, Any] = {"shape": Isotropic(1.0), "options": replace(_OPTIONS, core="stable")}
_CORE: dict[str, Any] = {"options": replace(_OPTIONS, core="stable")}
_ALONE: dict[str, Any] = {"shape": Isotropic(1.0), "options": replace(_OPTIONS, core="stable", stages=0)}


def canary_play(epsilon: float, others: Floats, edge: float, given: dict[str, Any]) -> Play:
    """Canaries at a share of the friend radius that the code uses on the other records. A refusal gives no score."""
    canaries = others.shape[1]

    def release(table: Floats, noise: Noise) -> Any:
        return release_mean(table, epsilon=epsilon, delta=DELTA, noise=noise, **{"options": _OPTIONS, **given})

    reach, centre = edge * float(release(others, ZeroNoise()).parameters["radius"]), others.mean(axis=0)

    def play(coins: Mask, noise: Noise) -> Floats:
        found = release(with_canaries(others, reach, coins), noise)
        return np.full(canaries, np.nan) if found.refused else found.mean - centre

    return play


def at_the_origin(size: int) -> Floats:
    return np.zeros((size, MANY))


def normal_records(size: int) -> Floats:
    """Always the same: their scale can be learned."""
    return public_simulation().normal(size=(size, MANY))


def _canary_run(
    others: Callable[[int], Floats],
    edge: float,
    given: dict[str, Any],
    epsilon: float,
    failure: float,
    releases: int = SELDOM,
) -> Found:
    play = canary_play(epsilon, others(400 + 400 * math.ceil(1 / epsilon)), edge, given)
    return play_releases(play, MANY, releases, epsilon, failure)


AUDIT = Audited(
    other_subjects=lambda epsilon: [whole_release(call, epsilon) for call in release_calls(epsilon)],
    lattice=_off_lattice,
    canaries={  # inside the radius, which moves with the noisy count; further inside where a scale is learned
        "release: stable, add-remove": partial(_canary_run, at_the_origin, 0.97, _ALONE),
        "release: recentred, add-remove": partial(_canary_run, at_the_origin, 0.97, _STABLE),
        "release: auto, add-remove": partial(_canary_run, normal_records, 0.7, _CORE),
    },
)
