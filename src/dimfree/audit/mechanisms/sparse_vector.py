"""The sparse vector: the law of the code, which runs once for every outcome of its comparisons."""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import partial
from itertools import product

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.losses import Approximate
from dimfree.audit.audited import DELTA, EPSILON, Audited, ChargeCase, ExactCheck, off_list
from dimfree.audit.exact.claims import promising
from dimfree.audit.exact.compared import compared_law, tail
from dimfree.audit.exact.divergence import Laws, laplace_masses
from dimfree.audit.noise_doubles import Law, Masses, ZeroNoise
from dimfree.audit.pairs.pair import TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.laws import View, law_target, vote_domain, votes
from dimfree.paper.sparse_vector import sparse_vector

MOST = 2  # positive answers of the charged call
NAME = "sparse vector"
_LARGEST_DELTA = 1 - 1e-6  # at which the sparse vector takes the scale at which its stretches just add up


def sparse(epsilon: float, delta: float) -> Laws:
    """`sparse_vector` with one and two positive answers; counts around the threshold, moved in every way."""
    asked = promising(epsilon, delta, sparse_cost)
    both = []
    for most in (1, 2):
        size = most + 1
        here = coded_sparse_law((0,) * size, 0, most, asked)
        _require_law_of_the_proof(here, size, most, asked)
        both += [(here, coded_sparse_law(shift, 0, most, asked)) for shift in product((-1, 1), repeat=size)]
    return Laws(both, slack=1e-12)


def sparse_stretches(epsilon: float, delta: float) -> Laws:
    """Each stretch up to a positive answer is private by itself, whatever was answered before and however long it is.

    At 2·epsilon for two answers without any delta, each of them has epsilon; many counts follow the first one.
    """
    asked, size = promising(2 * epsilon, _LARGEST_DELTA, sparse_cost), 4 + math.ceil(8 / min(epsilon, 1.0))
    rest = (1,) * (size - 2)
    moves = [(first, *(sign * step for step in (*rest, -1))) for first in (-1, 1) for sign in (-1, 1)]
    here, *there = (coded_sparse_law(shift, 0, 2, asked) for shift in ((0,) * size, *moves))
    pairs = [(part(here), part(other)) for other in there for part in (_first_answer, _after_the_first)]
    return Laws(pairs, slack=1e-11)


def sparse_cost(epsilon: float, delta: float) -> Approximate:
    return sparse_vector(np.zeros(1, dtype=np.int64), 0, 2, epsilon, delta, noise=ZeroNoise()).event


def coded_sparse_law(counts: tuple[int, ...], bar: int, most: int, asked: tuple[float, float]) -> Law:
    """{positions: probability} of the code itself at (epsilon, delta)."""
    given = np.array(counts, dtype=np.int64)
    return compared_law(
        lambda noise: tuple(sparse_vector(given, bar, most, *asked, noise=noise).value), laplace_masses(30)
    )


def _first_answer(law: Law) -> Law:
    found: dict[Hashable, float] = defaultdict(float)
    for positions, mass in law.items():
        found[positions[:1]] += mass  # type: ignore[index]
    return dict(found)


def _after_the_first(law: Law) -> Law:
    """Given that the first count was a positive answer."""
    kept = {positions: mass for positions, mass in law.items() if positions and positions[0] == 0}  # type: ignore[index]
    total = math.fsum(kept.values())
    return {positions: mass / total for positions, mass in kept.items()}


def _require_law_of_the_proof(found: Law, size: int, most: int, asked: tuple[float, float]) -> None:
    """With few answers a wrong law may keep the claim all the same; so the law is compared with that of the proof."""
    asked_noise = ZeroNoise()
    sparse_vector(np.zeros(size, dtype=np.int64), 0, most, *asked, noise=asked_noise)
    lifts, noise = (laplace_masses(30)(scale) for _, scale, _ in asked_noise.asked[:2])
    expected = sparse_law((0,) * size, 0, most, lifts, noise)
    if any(not math.isclose(found.get(o, 0.0), p, abs_tol=1e-11) for o, p in expected.items()):
        raise AssertionError("The sparse vector does not follow its law.")


def sparse_law(
    counts: tuple[int, ...], bar: int, most: int, lifts: Masses, noise: Masses, *, redrawn: bool = True
) -> Law:
    """{positions: probability}, summed over the threshold's noise; given it, the answers are independent."""
    drawn, weight = np.array(list(lifts)), np.array(list(lifts.values()))
    above = [tail(noise, bar + drawn - count) for count in counts]
    below = [tail({-z: mass for z, mass in noise.items()}, count - bar - drawn + 1) for count in counts]
    found: dict[Hashable, float] = defaultdict(float)

    def walk(start: int, positions: tuple[int, ...], left: Floats) -> None:
        if len(positions) < most:
            for place in range(start, len(counts)):
                hit = left * above[place]
                walk(place + 1, (*positions, place), weight * hit.sum() if redrawn else hit)
                left = left * below[place]
        found[positions] += float(left.sum())

    walk(0, (), weight)
    return dict(found)


def stretch_target(epsilon: float, relation: Neighbours) -> Target:
    """One stretch, which is pure: the code up to its first answer."""
    asked = promising(epsilon, _LARGEST_DELTA, sparse_cost)

    def law(counts: View) -> Law:
        return coded_sparse_law(tuple(int(count) for count in counts), 2, 1, asked)

    given, slack = TableSize(4, dimension=6), 1e-12  # the law leaves e^-30 of each noise out
    return law_target(NAME, (epsilon, 0.0), relation, votes, law, given, vote_domain(2 / epsilon), slack)


def _charges() -> Iterator[ChargeCase]:
    counts, cost = np.arange(12, dtype=np.int64), (EPSILON, DELTA)
    release = partial(sparse_vector, counts, 6.0, MOST, *cost)
    yield ChargeCase(NAME, release, cost, 2, len(counts) + MOST, off_list(counts))


AUDIT = Audited(
    exact={NAME: ExactCheck(sparse), "sparse vector, stretches": ExactCheck(sparse_stretches, delta=0.0)},
    searches={NAME: stretch_target},
    charges=_charges,
)
