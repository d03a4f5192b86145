"""The tiny worlds themselves: one function for each discrete mechanism, giving the laws of its code on neighbours.

Where the noise is too wide to run the code on every draw (the sparse vector), the law is summed by hand and held
against the code under a small made-up noise first.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.calibrate import calibrate_private_count
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import Tested
from dimfree.accounting.lifting import before_lifting
from dimfree.accounting.precision import largest_mu
from dimfree.audit.doors import Asked, Law, Masses, exact_law
from dimfree.audit.exact import BitWorld, Laws, ShiftedGaussian, World, laplace_masses, laws
from dimfree.budget import Budget
from dimfree.core import basic
from dimfree.core.friends import friend_counts
from dimfree.grid import RADIUS
from dimfree.mechanisms.bit import passes
from dimfree.mechanisms.count import noisy_count
from dimfree.mechanisms.laplace_count import laplace_count
from dimfree.mechanisms.quantile import private_quantile
from dimfree.mechanisms.sparse_vector import sparse_scale, sparse_vector
from dimfree.mechanisms.stable_histogram import publishing_threshold, stable_histogram
from dimfree.mechanisms.top_k import top_k

Items = tuple[Hashable, ...]

_REACH = 12.0  # scales of Laplace noise that are enumerated where two are drawn; e^-12 is left out of each
_SMALL = {-2: 0.1, 0: 0.5, 1: 0.3, 3: 0.1}  # a made-up noise
_FAILURE = 0.01


def _none(scale: float) -> Masses:
    raise ValueError("No Laplace noise is expected here.")


# ---- counts


def gaussian_count(epsilon: float, delta: float) -> World:
    """`noisy_count` calibrated to the budget: the shift and the scale that the code asks for."""
    stddev = 1 / largest_mu(*idealised(epsilon, delta))
    doors = Asked(), Asked()
    fewer, more = (noisy_count(n, stddev, noise=door) for n, door in zip((7, 8), doors, strict=True))
    shift = round((more.value - fewer.value) / more.event.step)
    return ShiftedGaussian(min(door.asked[0][1] for door in doors), shift)


def pure_count(epsilon: float, delta: float) -> World:
    """`laplace_count`: pure, so delta is not used."""

    def law(count: int) -> Law:
        return exact_law(lambda noise: laplace_count(count, epsilon, noise=noise).value, laplace_masses(30))

    return laws(law, [(3, 4), (0, 1)], slack=1e-12)


# ---- the bit


def bit(epsilon: float, delta: float) -> World:
    """Every branch of the menu that this budget is calibrated to, behind its noisy count."""
    menu = calibrate_private_count(Budget(epsilon, delta), _FAILURE)
    before = 1 / menu.count_stddev if menu.count_stddev else 0.0
    for branch in menu.tested:
        _require_ladder(branch)
    return Largest([BitWorld(branch.ladder, before, branch.mu) for branch in menu.tested])


def _require_ladder(branch: Tested) -> None:
    """The code's coin is the ladder's, at every statistic."""
    ladder = branch.ladder
    for statistic, chance in enumerate([*ladder.probabilities(), ladder.probabilities()[-1]]):
        law = exact_law(lambda noise, t=statistic: passes(t, ladder, noise=noise), _none)  # type: ignore[misc]
        if not math.isclose(law.get(True, 0.0), chance, rel_tol=1e-12):
            raise AssertionError("The bit does not pass with the probability of its ladder.")


class Largest:
    """Several worlds at once: the worst counts."""

    slack = 0.0

    def __init__(self, worlds: list[BitWorld]) -> None:
        self.worlds = worlds

    @property
    def pairs(self) -> int:
        return sum(world.pairs for world in self.worlds)

    def delta_at(self, level: float) -> float:
        return max(world.delta_at(level) for world in self.worlds)


# ---- the histogram


def histogram_pairs(heavy: int) -> list[tuple[Items, Items]]:
    """A cell that appears, one that grows, an item that moves to an empty cell; an item between two heavy cells."""
    one, other = ("a",) * heavy, ("b",) * heavy
    light: list[tuple[Items, Items]] = [(("a",), ()), (("a", "a"), ("a",)), (("a",), ("b",)), (("a", "a"), ("a", "b"))]
    return [*light, (one + other, (*one, "a", *other[1:])), (one, one[1:])]


def histogram(epsilon: float, delta: float) -> World:
    """`stable_histogram`, run on every draw."""

    def law(cells: Items) -> Law:
        return exact_law(
            lambda noise: tuple(stable_histogram(cells, epsilon, delta, noise=noise).value.items()),
            laplace_masses(_REACH),
        )

    return laws(law, histogram_pairs(publishing_threshold(epsilon, delta)), slack=2 * math.exp(-_REACH))


# ---- the sparse vector


def sparse(epsilon: float, delta: float) -> World:
    """`sparse_vector` with one and two positive answers; counts around the threshold, moved in every way."""
    both = []
    for most in (1, 2):
        _require_sparse_law(most)
        scale = sparse_scale(most, epsilon, delta)
        lifts, noise = (laplace_masses(30)(each) for each in (scale, 2 * scale))
        size = most + 1
        here = sparse_law((0,) * size, 0, most, lifts, noise)
        moves = list(product((-1, 1), repeat=size))
        both += [(here, sparse_law(shift, 0, most, lifts, noise)) for shift in moves]
    return Laws(both, slack=1e-12)


def _require_sparse_law(most: int) -> None:
    """The code has the law that is summed below, whatever the noise; shown for a small one."""
    counts = (2, 0, 1)
    found = exact_law(
        lambda noise: tuple(sparse_vector(np.array(counts), 0.6, most, 1.0, 0.1, noise=noise).value), lambda _: _SMALL
    )
    expected = sparse_law(counts, 1, most, _SMALL, _SMALL)
    if any(not math.isclose(found.get(o, 0.0), p, abs_tol=1e-12) for o, p in expected.items()):
        raise AssertionError("The sparse vector does not follow its law.")


def sparse_law(
    counts: tuple[int, ...], bar: int, most: int, lifts: Masses, noise: Masses, *, redrawn: bool = True
) -> Law:
    """{positions: probability}, summed over the threshold's noise; given it, the answers are independent."""
    drawn, weight = np.array(list(lifts)), np.array(list(lifts.values()))
    above = [_tail(noise, bar + drawn - count) for count in counts]
    below = [_tail({-z: mass for z, mass in noise.items()}, count - bar - drawn + 1) for count in counts]
    found: dict[Hashable, float] = defaultdict(float)

    def walk(start: int, positions: tuple[int, ...], left: NDArray[np.float64]) -> None:
        if len(positions) < most:
            for place in range(start, len(counts)):
                hit = left * above[place]
                walk(place + 1, (*positions, place), weight * hit.sum() if redrawn else hit)
                left = left * below[place]
        found[positions] += float(left.sum())

    walk(0, (), weight)
    return dict(found)


def _tail(masses: Masses, least: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(Z >= least); the given masses are taken to be everything."""
    places = np.array(sorted(masses))
    above = np.append(np.cumsum(np.array([masses[z] for z in sorted(masses)])[::-1])[::-1], 0.0)
    return np.asarray(above[np.searchsorted(places, least)])


# ---- choices


def choices(epsilon: float, delta: float) -> World:
    """`top_k` with one and two picks: scores that move in every direction. Pure at range·picks."""
    both: list[tuple[Law, Law]] = []
    for count in (1, 2):
        scale = 2 * count / epsilon

        def law(scores: Items, count: int = count, scale: float = scale) -> Law:
            whole = np.array(scores, dtype=np.int64)
            return exact_law(
                lambda noise: tuple(top_k(whole, count, scale, "audit", noise=noise).value.tolist()), _none
            )

        both += laws(law, _moved_scores()).both
    return Laws(both)


def _moved_scores() -> Iterator[tuple[Items, Items]]:
    for scores in ((0, 0, 0), (4, 2, 0), (0, 0, 0, 9)):
        for shift in product((-1, 0, 1), repeat=len(scores)):
            yield scores, tuple(a + b for a, b in zip(scores, shift, strict=True))


def quantile(epsilon: float, delta: float) -> World:
    """`private_quantile`: tables of at most three values, one removed or exchanged. Pure."""
    grid, places = np.array([0.0, 1.0, 2.0, 4.0]), (-1.0, 0.5, 1.0, 3.0, math.inf)

    def law(values: Items) -> Law:
        given = np.array(values, dtype=np.float64)
        return exact_law(
            lambda noise: private_quantile(given, Fraction(2, 3), grid, 2 / epsilon, "audit", noise=noise).value, _none
        )

    tables = [table for size in (1, 2, 3) for table in combinations_with_replacement(places, size)]
    removed = [(table, table[:j] + table[j + 1 :]) for table in tables for j in range(len(table))]
    exchanged = [(table, tuple(sorted((*table[1:], place)))) for table in tables for place in places]
    return laws(law, removed + exchanged)


# ---- the paper's filter


def lifted(epsilon: float, delta: float) -> World:
    """The paper's coins before a counting mechanism that is private on friendly data at what P1 leaves (pure)."""
    return filtered_world(before_lifting(epsilon, 0.5)[0])


def filtered_world(inner: float, most: int = 4) -> World:
    """Tables of at most `most` records on a line, with every table that lacks one of them."""
    places = (0, RADIUS, -RADIUS, 2 * RADIUS)

    def law(table: Items) -> Law:
        column = np.array(table, dtype=np.int64).reshape(-1, 1)
        counts = friend_counts(column)
        kept = exact_law(lambda noise: int(basic.keep(counts, noise).sum()), _none)
        return _noisy_number(kept, inner, most)

    tables = [table for size in range(1, most + 1) for table in combinations_with_replacement(sorted(places), size)]
    return laws(law, [(t, t[:j] + t[j + 1 :]) for t in tables for j in range(len(t))])


def _noisy_number(kept: Law, inner: float, most: int) -> Law:
    """The number kept plus two-sided geometric noise, held within 0 … most: tight at `inner`."""
    q = math.exp(-inner)
    found: Law = dict.fromkeys(range(most + 1), 0.0)
    for number, chance in kept.items():
        for outcome in range(most + 1):
            edge = 1 / (1 + q) if outcome in (0, most) else (1 - q) / (1 + q)
            found[outcome] += chance * edge * q ** abs(outcome - number)  # type: ignore[operator]
    return found


Maker = Callable[[float, float], World]

WORLDS: dict[str, tuple[Maker, bool]] = {  # name -> (world of a budget, whether the claim has a delta)
    "count (Gaussian)": (gaussian_count, True),
    "count (Laplace)": (pure_count, False),
    "bit and Gaussian": (bit, True),
    "stable histogram": (histogram, True),
    "sparse vector": (sparse, True),
    "top-k": (choices, False),
    "quantile": (quantile, False),
    "basic filter": (lifted, False),
}
