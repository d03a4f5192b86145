"""How few records are too few, for every estimator: the paper's two lower bounds, repaired (docs/errata.md).

Notation: σ = standard deviations, d = dimensions, α = accuracy (Euclidean), R = radius of the ball of means,
S = the bucket: coordinates whose σ are alike. Theorems go by their labels in the paper. A limit of less than one
record says nothing, and 0 stands for a bound that does not apply.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_choice, check_positive
from dimfree.planning.paper_bounds.aim import Aim
from dimfree.planning.spectra import DISTANCE

BUCKETS = ("octaves", "tops")
_FEWEST_LOGARITHMS = 4.7  # log2 d counts as this much at least: log 1 = 0 would make one dimension impossible
_PROVED_UP_TO = 1 / 3  # α against |S|^1/2·σ_S, means within one σ_S (R = 1 in thm:KLSU-lb)


@dataclass(frozen=True)
class Limit:
    """Records below which no estimator keeps both promises, the theorem, and the coordinates it was applied to."""

    records: float
    theorem: str
    bucket: tuple[int, ...] | None


def packing_lower_bound(
    stddevs: ArrayLike,
    accuracy: float,
    epsilon: float,
    *,
    radius: float | None = None,
    failure_probability: float = 0.1,
) -> Limit:
    """Fewer records cannot serve any ε-private (δ = 0) estimator of every mean in a ball (thm:lower-bound-pure).

    n >= (d·log(R/(2α)) + log(1 − β))/ε, β = `failure_probability`, under both relations: n replacements lead to any
    other table, n removals to the empty one. The spectrum enters by its length d, and by the default radius R, ten
    times ‖σ‖₂. Printed without log(1 − β), for β = 1/10.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, failure_probability=failure_probability)
    within = math.sqrt(aim.square) * DISTANCE if radius is None else check_positive("radius", radius) / float(accuracy)
    packed = aim.dimension * math.log(within / 2) + math.log1p(-aim.failure)
    return Limit(max(0.0, packed / aim.epsilon), "the paper's lower bound for delta = 0", None)


def fingerprinting_lower_bound(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, *, buckets: str = "octaves"
) -> Limit:
    """Fewer records cannot serve any (ε, δ)-private estimator that succeeds with probability 0.95 (thm:lower-bound).

    n >= |S|·σ_S/(24·α·ε·log d), by thm:KLSU-lb on the coordinates S alone, σ_S the *smallest* in S: records with
    equal σ_S become records with these σ by adding noise to each, not the other way round. 24 is the proof's constant;
    log d is to base 2 and 4.7 at least; where ε is above 1, the larger of ε and sinh(ε)·e^(ε/2)/2 stands for it: the
    fingerprinting argument gives no more, under either relation. The bound is 0 unless α <= |S|^1/2·σ_S/3, and never
    exceeds 1/(144·δ·(1 + (1.3 + sqrt(2 + 2·log 1/δ))/|S|^1/2)), up to which δ is small enough for it (in the paper:
    δ = O(1/(n·sqrt(log n)))).

    `buckets="octaves"`: of the sets (σ_1/2^k, σ_1/2^(k−1)], k = 1 … ⌈log2 d⌉, the one with the largest sum of σ, as in
    the paper; the rest sums to less than σ_1, so that it never is that one. `"tops"`: of the sets of the j largest σ
    the one that gives the largest bound; never below the other, and monotone in every σ.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta)
    if check_choice("buckets", buckets, BUCKETS) == "octaves":
        bucket = _heaviest_octave(aim.spread)
        records = float(_records(aim, np.array([float(len(bucket))]), aim.spread[bucket].min(keepdims=True))[0])
    else:
        order = np.argsort(-aim.spread, kind="stable")
        each = _records(aim, np.arange(1.0, aim.dimension + 1), aim.spread[order])
        bucket = np.sort(order[: int(np.argmax(each)) + 1])
        records = float(each.max())
    return Limit(records, "the paper's lower bound", tuple(bucket.tolist()))


def _heaviest_octave(spread: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of the octave with the largest sum; the edges are exact, because halving is."""
    octaves = max(1, math.ceil(math.log2(len(spread))))
    edges = spread.max() * 2.0 ** -np.arange(octaves, 0, -1)
    octave = octaves - np.searchsorted(edges, spread, side="left")  # how many edges lie at σ or above it
    sums = np.bincount(octave, weights=spread, minlength=octaves)[:octaves]
    return np.flatnonzero(octave == int(np.argmax(sums)))


def _records(aim: Aim, sizes: NDArray[np.float64], smallest: NDArray[np.float64]) -> NDArray[np.float64]:
    """The bound for buckets of these sizes and smallest standard deviations, in units of α."""
    strong = min(aim.epsilon, 400.0)  # beyond, floats overflow and the bound is 0 to every digit
    price = max(aim.epsilon, math.sinh(strong) * math.exp(strong / 2) / 2)
    logarithm = max(_FEWEST_LOGARITHMS, math.log2(aim.dimension))
    needed = sizes * smallest / (24 * price * logarithm)
    tail = 1 + (1.3 + math.sqrt(2 + 2 * aim.secrecy)) / np.sqrt(sizes)
    applies = np.sqrt(sizes) * smallest * _PROVED_UP_TO >= 1
    return np.where(applies, np.minimum(needed, 1 / (144 * aim.delta * tail)), 0.0)
