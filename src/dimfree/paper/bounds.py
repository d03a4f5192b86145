"""How few records are too few for every estimator: the paper's two lower bounds, repaired (docs/errata.md).

Notation: σ = standard deviations, Σ = covariance with eigenvalues σ², d = dimension, α = accuracy (Euclidean),
β = failure probability, (ε, δ) = the whole budget, R = radius of the ball of means, S = the bucket: coordinates whose
σ are alike. Theorems go by their labels in the paper. A limit of less than one record states nothing, and 0 stands for
a bound that does not apply.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree._validate import (
    check_at_least,
    check_choice,
    check_failure,
    check_magnitude,
    check_positive,
    check_probability,
    check_variances,
)

BUCKETS = ("octaves", "tops")
MEANS_WITHIN = 10.0  # [‖σ‖₂] radius of the ball of means, unless another is given
_SMALLEST = 1e-300  # smaller budgets leave the range of floats
_FEWEST_LOGARITHMS = 4.7  # log2 d counts as this much at least: log 1 = 0 would make one dimension impossible
_PROVED_UP_TO = 1 / 3  # α against |S|^1/2·σ_S, means within one σ_S (R = 1 in thm:KLSU-lb)


@dataclass(frozen=True)
class Limit:
    """Records below which no estimator is private and accurate, the theorem, and the coordinates it is applied to."""

    records: float
    theorem: str
    bucket: tuple[int, ...] | None


@dataclass(frozen=True)
class Aim:
    """An error of at most 1 with probability 1 - β at (ε, δ), in units in which α = 1: no bound depends on units."""

    spread: Floats  # σ/α, in the caller's order
    epsilon: float
    delta: float
    failure: float

    @classmethod
    def checked(
        cls, stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float = 0.5, failure_probability: float = 0.5
    ) -> Self:
        """Check every number; a bound without δ or β leaves them out."""
        spread = check_magnitude("stddevs", check_variances("stddevs", stddevs))
        with np.errstate(all="ignore"):
            ratios = check_magnitude("stddevs / accuracy", spread / check_positive("accuracy", accuracy))
        return cls(
            ratios,
            check_at_least("epsilon", check_positive("epsilon", epsilon), _SMALLEST),
            check_at_least("delta", check_probability("delta", delta), _SMALLEST),
            check_failure("failure_probability", failure_probability),
        )

    @property
    def dimension(self) -> int:
        return len(self.spread)

    @property
    def largest(self) -> float:
        return float(self.spread.max())

    @property
    def square(self) -> float:
        """tr Σ/α²."""
        return float((self.spread**2).sum())

    @property
    def secrecy(self) -> float:
        """log 1/δ."""
        return -math.log(self.delta)

    @property
    def sureness(self) -> float:
        """log 1/β."""
        return -math.log(self.failure)

    @property
    def log_dimension(self) -> float:
        """log d, at least 1: a factor that stands for "some logarithm" must not vanish in one dimension."""
        return max(1.0, math.log(self.dimension))

    @property
    def sampling(self) -> float:
        """(tr Σ + ‖Σ‖·log 1/β)/α²: the records without privacy (lem:gaussianconcentr), the constant taken as 1."""
        return self.square + self.largest**2 * self.sureness

    @property
    def own_noise(self) -> float:
        """tr(Σ^1/2) sqrt(log 1/δ)/(αε): noise in the shape of Σ."""
        return float(self.spread.sum()) * math.sqrt(self.secrecy) / self.epsilon

    @property
    def centers(self) -> float:
        """sqrt(d log 1/δ)/ε: a center for each coordinate."""
        return math.sqrt(self.dimension * self.secrecy) / self.epsilon

    def learning(self, top: Floats) -> Floats:
        """Records that so many variances need: k of alg:covmeanest solved for n; none: their sum alone."""
        log = self.secrecy + self.sureness
        found = np.sqrt(top * self.secrecy) * (math.log(self.dimension) + log)
        return self.log_dimension**2 + self.log_dimension * np.maximum(found, log * (top == 0)) / self.epsilon


def packing_lower_bound(
    stddevs: ArrayLike,
    accuracy: float,
    epsilon: float,
    *,
    radius: float | None = None,
    failure_probability: float = 0.1,
) -> Limit:
    """Return what every ε-private (δ = 0) estimator of every mean in a ball needs (thm:lower-bound-pure).

    n >= (d·log(R/(2α)) + log(1 - β))/ε, β = `failure_probability`, under both relations: n replacements lead to any
    other table, n removals to the empty one. The spectrum enters by its length d, and by the default radius R, ten
    times ‖σ‖₂. Printed without log(1 - β), for β = 1/10.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, failure_probability=failure_probability)
    default = math.sqrt(aim.square) * MEANS_WITHIN
    within = default if radius is None else check_positive("radius", radius) / float(accuracy)
    packed = aim.dimension * math.log(within / 2) + math.log1p(-aim.failure)
    return Limit(max(0.0, packed / aim.epsilon), "the paper's lower bound for delta = 0", None)


def fingerprinting_lower_bound(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, *, buckets: str = "octaves"
) -> Limit:
    """Return what every (ε, δ)-private estimator that succeeds with probability 0.95 needs (thm:lower-bound).

    n >= |S|·σ_S/(24·α·ε·log d), by thm:KLSU-lb on the coordinates S alone, σ_S the *smallest* in S: records with
    equal σ_S become records with these σ by adding noise to each, not the other way round. 24 is the proof's constant;
    log d is to base 2 and 4.7 at least; where ε is above 1, the larger of ε and sinh(ε)·e^(ε/2)/2 stands for it: the
    fingerprinting argument gives no more, under either relation. The bound is 0 unless α <= |S|^1/2·σ_S/3, and never
    exceeds 1/(144·δ·(1 + (1.3 + sqrt(2 + 2·log 1/δ))/|S|^1/2)), up to which δ is small enough for it (in the paper:
    δ = O(1/(n·sqrt(log n)))). Proof: proofs/paper/bounds.md.

    `buckets="octaves"`: of the sets (σ_1/2^k, σ_1/2^(k-1)], k = 1 … ⌈log2 d⌉, the one with the largest sum of σ, as in
    the paper; the rest sums to less than σ_1, so that it never is that one. `"tops"`: of the sets of the j largest σ
    the one that gives the largest bound; never below the other, and monotone in every σ.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta)
    if check_choice("buckets", buckets, BUCKETS) == "octaves":
        bucket = _heaviest_octave(aim.spread)
        records = float(_fewest(aim, np.array([float(len(bucket))]), aim.spread[bucket].min(keepdims=True))[0])
    else:
        order = np.argsort(-aim.spread, kind="stable")
        each = _fewest(aim, np.arange(1.0, aim.dimension + 1), aim.spread[order])
        bucket = np.sort(order[: int(np.argmax(each)) + 1])
        records = float(each.max())
    return Limit(records, "the paper's lower bound", tuple(bucket.tolist()))


def _heaviest_octave(spread: Floats) -> NDArray[np.intp]:
    """Return the indices of the octave with the largest sum; the edges are exact, because halving is."""
    octaves = max(1, math.ceil(math.log2(len(spread))))
    edges = spread.max() * 2.0 ** -np.arange(octaves, 0, -1)
    octave = octaves - np.searchsorted(edges, spread, side="left")  # how many edges lie at σ or above it
    sums = np.bincount(octave, weights=spread, minlength=octaves)[:octaves]
    return np.flatnonzero(octave == int(np.argmax(sums)))


def _fewest(aim: Aim, sizes: Floats, smallest: Floats) -> Floats:
    """Return the bound for buckets of these sizes and smallest standard deviations, in units of α."""
    strong = min(aim.epsilon, 400.0)  # beyond, floats overflow and the bound is 0 to every digit
    price = max(aim.epsilon, math.sinh(strong) * math.exp(strong / 2) / 2)
    logarithm = max(_FEWEST_LOGARITHMS, math.log2(aim.dimension))
    needed = sizes * smallest / (24 * price * logarithm)
    tail = 1 + (1.3 + math.sqrt(2 + 2 * aim.secrecy)) / np.sqrt(sizes)
    applies = np.sqrt(sizes) * smallest * _PROVED_UP_TO >= 1
    return np.where(applies, np.minimum(needed, 1 / (144 * aim.delta * tail)), 0.0)
