"""Sample sizes that are too small for every estimator, and those that are enough for some (docs/internals/errata.md).

Notation: σ = standard deviations, Σ = covariance with eigenvalues σ², d = dimension, α = accuracy (Euclidean),
β = failure probability, (ε, δ) = the whole budget, R = radius of the ball of means, S = the bucket: coordinates whose
σ are similar, log = natural logarithm. Theorems have their labels in the paper. A limit below one record is void, and
0 stands for a bound that does not apply. A *rate* is a theorem that hides its constant: the constant is 1
here, so a rate shows growth and guarantees nothing. `customized_records` alone has every constant of its proof.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree._validate import (
    check_at_least,
    check_choice,
    check_count,
    check_failure,
    check_lengths,
    check_magnitude,
    check_positive,
    check_probability,
    check_variances,
)
from dimfree.accounting.discrete import before_lifting
from dimfree.errors import InvalidParameterError

BUCKETS = ("octaves", "tops")
MEANS_WITHIN = 10.0  # [‖σ‖₂] radius of the ball of means, unless another is given
_SMALLEST = 1e-300  # smaller budgets leave the range of floats
_FEWEST_LOGARITHMS = 4.7  # log2 d counts as this much at least: log 1 = 0 would make one dimension impossible
_WIDEST_EPSILON = 10.0  # where thm:main-customizable ends; a larger budget is used as this one
_PROVED_UP_TO = 1 / 3  # α against |S|^1/2·σ_S, means within one σ_S (R = 1 in thm:KLSU-lb)


@dataclass(frozen=True)
class Limit:
    """Records below which no estimator is private and accurate, the theorem, and the coordinates it is applied to."""

    records: float
    theorem: str
    bucket: tuple[int, ...] | None


class Aim:
    """An error of at most 1 with probability 1 - β at (ε, δ), in units in which α = 1: no bound depends on units."""

    def __init__(
        self, stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float = 0.5, failure_probability: float = 0.5
    ) -> None:
        """Check every number; a bound without δ or β leaves them out."""
        given = check_magnitude("stddevs", check_variances("stddevs", stddevs))
        with np.errstate(all="ignore"):
            ratios = check_magnitude("stddevs / accuracy", given / check_positive("accuracy", accuracy))
        self.ratios: Floats = ratios  # σ/α, in the caller's order
        self.epsilon = check_at_least("epsilon", check_positive("epsilon", epsilon), _SMALLEST)
        self.delta = check_at_least("delta", check_probability("delta", delta), _SMALLEST)
        self.failure = check_failure("failure_probability", failure_probability)
        self.dimension, self.largest = len(ratios), float(ratios.max())
        self.square = float((ratios**2).sum())  # tr Σ/α²
        self.secrecy, self.sureness = -math.log(self.delta), -math.log(self.failure)  # log 1/δ, log 1/β
        # log d, at least 1: a factor that stands for "some logarithm" must not vanish in one dimension
        self.log_dimension = max(1.0, math.log(self.dimension))
        # (tr Σ + ‖Σ‖·log 1/β)/α²: the records without privacy (lem:gaussianconcentr), the constant taken as 1
        self.sampling = self.square + self.largest**2 * self.sureness
        # tr(Σ^1/2) sqrt(log 1/δ)/(αε): noise in the shape of Σ
        self.own_noise = float(ratios.sum()) * math.sqrt(self.secrecy) / self.epsilon
        self.centers = math.sqrt(self.dimension * self.secrecy) / self.epsilon  # a center for each coordinate

    def learning(self, top: Floats) -> Floats:
        """Return the records for this number of variances: k of alg:covmeanest solved for n; none: their sum alone."""
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
    """Return the records that every ε-private (δ = 0) estimator of a mean in a ball needs (thm:lower-bound-pure).

    n >= (d·log(R/(2α)) + log(1 - β))/ε, β = `failure_probability`, under both relations: n replacements lead to any
    other table, n removals to the empty one. The spectrum enters by its length d, and by the default radius R, ten
    times ‖σ‖₂. Printed without log(1 - β), for β = 1/10.
    """
    aim = Aim(stddevs, accuracy, epsilon, failure_probability=failure_probability)
    default = math.sqrt(aim.square) * MEANS_WITHIN
    within = default if radius is None else check_positive("radius", radius) / float(accuracy)
    packed = aim.dimension * math.log(within / 2) + math.log1p(-aim.failure)
    return Limit(max(0.0, packed / aim.epsilon), "the paper's lower bound for delta = 0", None)


def fingerprinting_lower_bound(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, *, buckets: str = "octaves"
) -> Limit:
    """Return the records that every (ε, δ)-private estimator with success probability 0.95 needs (thm:lower-bound).

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
    aim = Aim(stddevs, accuracy, epsilon, delta)
    if check_choice("buckets", buckets, BUCKETS) == "octaves":
        bucket = _heaviest_octave(aim.ratios)
        records = float(_fewest(aim, np.array([float(len(bucket))]), aim.ratios[bucket].min(keepdims=True))[0])
    else:
        order = np.argsort(-aim.ratios, kind="stable")
        each = _fewest(aim, np.arange(1.0, aim.dimension + 1), aim.ratios[order])
        bucket = np.sort(order[: int(np.argmax(each)) + 1])
        records = float(each.max())
    return Limit(records, "the paper's lower bound", tuple(bucket.tolist()))


def _heaviest_octave(ratios: Floats) -> NDArray[np.intp]:
    """Return the indices of the octave with the largest sum; the edges are exact, because halving is."""
    octaves = max(1, math.ceil(math.log2(len(ratios))))
    edges = ratios.max() * 2.0 ** -np.arange(octaves, 0, -1)
    octave = octaves - np.searchsorted(edges, ratios, side="left")  # the number of edges at σ or above it
    sums = np.bincount(octave, weights=ratios, minlength=octaves)[:octaves]
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


@dataclass(frozen=True)
class Need:
    """Records that are enough, the terms of that number, and the theorem."""

    records: float
    terms: tuple[tuple[str, float], ...]
    theorem: str

    @classmethod
    def of(cls, theorem: str, combine: Callable[[Iterable[float]], float], **terms: float) -> "Need":
        return cls(combine(terms.values()), tuple(terms.items()), theorem)


def known_covariance_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of Algorithm 1 with Σ known: free of the dimension (thm:main-customizable, M = Σ).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + tr(Σ^1/2) sqrt(log 1/δ)/(αε) + t·max(1, log t) + log(1/(δβ))/ε, where
    t = ‖Σ‖^1/2 sqrt(log 1/δ) log(1/β)/(αε). The second logarithm is of t itself, as in the short form of the theorem;
    eq:main-sc prints ‖Σ‖ for its root there, which changes with the units of the records.
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    direction = aim.largest * math.sqrt(aim.secrecy) * aim.sureness / aim.epsilon
    return Need.of(
        "the paper's main theorem, covariance known; a rate",
        sum,
        sampling=aim.sampling,
        noise=aim.own_noise,
        direction=direction * max(1.0, math.log(max(direction, 1.0))),
        count=(aim.secrecy + aim.sureness) / aim.epsilon,
    )


def folklore_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of coordinate-wise Karwa–Vadhan centers and isotropic noise (section 1.2 of the paper).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + sqrt(d log 1/δ)/ε + sqrt(d·tr Σ·log 1/δ)/(αε). The paper leaves δ out; the root of
    log 1/δ is what Gaussian noise and composition cost at least. Factors log d and the range of the mean stay out, in
    favor of this method. One ball instead of d centers: `customized_records` with `shape_stddevs` all ones (M = I).
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    noise = aim.centers * math.sqrt(aim.square)
    theorem = "section 1.2, folklore after Karwa–Vadhan; a rate"
    return Need.of(theorem, sum, sampling=aim.sampling, center=aim.centers, noise=noise)


def plan_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of PLAN of Aumüller et al., diagonal Σ almost known (section 1.2 of the paper).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + sqrt(d log 1/δ)/ε + tr(Σ^1/2) sqrt(log 1/δ)/(αε), with δ put in and logarithms left
    out as in `folklore_records`.
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    theorem = "section 1.2, Aumüller et al.; a rate"
    return Need.of(theorem, sum, sampling=aim.sampling, center=aim.centers, noise=aim.own_noise)


def unknown_covariance_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of Algorithm 2: Σ unknown, its dimension enters as d^1/4 (thm:unknown).

    The largest of its four conditions: variances, log² d + log d·log(d/(δβ))·sqrt(log 1/δ)/ε; sampling,
    (tr Σ + ‖Σ‖ log 1/β)/α²; top, Σσ·sqrt(log 1/δ)/(αε); bottom, d^1/4·sqrt(Σσ)·log^5/4(1/δ)·log d/(α^1/2·ε). σ are
    the coordinates' own. The first prints log(1/(δβ)): too little where d is beyond every power of 1/δ, because TopVar
    needs log(d/β) (docs/internals/errata.md); the last survives that correction as printed.
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    bottom = aim.dimension**0.25 * math.sqrt(float(aim.ratios.sum())) * aim.secrecy**1.25 * aim.log_dimension
    return Need.of(
        "the paper's theorem for an unknown covariance, all four conditions; a rate",
        max,
        variances=float(aim.learning(np.ones(1))[0]),
        sampling=aim.sampling,
        top=aim.own_noise,
        bottom=bottom / aim.epsilon,
    )


def easy_instance_records(
    stddevs: ArrayLike,
    accuracy: float,
    epsilon: float,
    delta: float,
    failure_probability: float = 0.05,
    *,
    learned: int | None = None,
) -> Need:
    """Return the rate of Algorithm 2 on this very spectrum, if it estimates `learned` of the variances.

    The remark after thm:unknown, with k = learned: the largest of log² d + k^1/2·log d·log(d/(δβ))·sqrt(log 1/δ)/ε,
    sampling, ‖σ_top‖₁·sqrt(log 1/δ)/(αε) and ((d - k)·log 1/δ)^1/2·‖σ_bottom‖₂/(αε); at k = 0 the first is
    log² d + log d·log(1/(δβ))/ε, for the sum of all variances. By default k is the number that needs fewest records;
    for exponential decay some k of order log d does, and the first condition is then of order
    log^3/2(d)·sqrt(log 1/δ)·log(d/(δβ))/ε (the introduction prints log^5/3 d, which is more).
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    d, noise = aim.dimension, math.sqrt(aim.secrecy) / aim.epsilon
    ranked = np.sort(aim.ratios)[::-1]
    top = noise * np.concatenate(([0.0], np.cumsum(ranked)))
    tail = np.concatenate((np.cumsum(ranked[::-1] ** 2)[::-1], [0.0]))
    bottom = noise * np.sqrt(np.arange(d, -1, -1) * tail)
    learning = aim.learning(np.arange(d + 1.0))
    fewest = int(np.argmin(np.maximum(np.maximum(top, bottom), learning)))
    k = fewest if learned is None else check_count("learned", learned, least=0, most=d)
    theorem = f"the paper's remark on easy instances, {k} variances learned; a rate"
    parts = {"variances": float(learning[k]), "top": float(top[k]), "bottom": float(bottom[k])}
    return Need.of(theorem, max, sampling=aim.sampling, **parts)


def customized_records(
    stddevs: ArrayLike,
    accuracy: float,
    epsilon: float,
    delta: float,
    failure_probability: float = 0.05,
    *,
    shape_stddevs: ArrayLike | None = None,
    radius: float | None = None,
) -> Need:
    """Return the records with which Algorithm 1 reaches the accuracy, for any M and λ: no constant is hidden.

    thm:accuracy_main: at n >= 2·log(1/(δ'β'))/ε' (count) and λ >= sqrt(2 tr A) + sqrt(8‖A‖ log(n/β')), where
    A = M^-1/4 Σ M^-1/4, the error is, but for 7/2·β', at most sqrt(tr Σ/n) + sqrt(2‖Σ‖ log(1/β')/n) (sampling) +
    4·sqrt(2 log(1.25/δ'))·λ·(sqrt(tr M^1/2) + sqrt(2‖M^1/2‖ log(1/β')))/(ε'n) (noise). Solved for n: separately, and
    together. `shape_stddevs` are the roots of M's eigenvalues, in the order of `stddevs` and with the same axes (left
    out: M = Σ); `radius` is λ (left out: the smallest allowed). β' = 2/7·β. The theorem's (ε', δ') are those of one
    step; here ε is the total: log(1 + ε/2) = 2ε' and δε/(2(e^ε - 1)) = 1.5δ' (P1), with ε at most 10.
    """
    aim = Aim(stddevs, accuracy, epsilon, delta, failure_probability)
    given = stddevs if shape_stddevs is None else shape_stddevs
    roots = check_magnitude("shape_stddevs", check_variances("shape_stddevs", given))
    check_lengths("shape_stddevs", len(roots), "standard deviation", aim.dimension)
    inside, delta_inside = before_lifting(min(aim.epsilon, _WIDEST_EPSILON), aim.delta)  # P1
    step, step_delta = inside / 2, delta_inside / 1.5  # a count, ε'; a mean, (ε', δ'); δ'/2 for too high a count
    failure, rescaled = aim.failure * 2 / 7, aim.ratios**2 / roots
    sure = -math.log(failure)
    sampling = math.sqrt(aim.square) + math.sqrt(2 * sure) * aim.largest
    extent = math.sqrt(float(roots.sum())) + math.sqrt(2 * float(roots.max()) * sure)
    noise = 4 * math.sqrt(2 * math.log(1.25 / step_delta)) * extent / step
    fixed = None if radius is None else check_positive("radius", radius) / float(accuracy)

    def least_radius(records: float) -> float:
        log = math.log(records / failure)
        return math.sqrt(2 * float(rescaled.sum())) + math.sqrt(8 * float(rescaled.max()) * log)

    def records(sampling: float) -> float:
        """Solve for error α: with λ fixed, a quadratic in n^1/2; then λ, a contraction by 2/5 or less."""
        found = 1.0
        for _ in range(60):
            pull = noise * (least_radius(found) if fixed is None else fixed)
            found = max(1.0, ((sampling + math.sqrt(sampling**2 + 4 * pull)) / 2) ** 2)
        return found

    together, count = records(sampling), 2 * (sure - math.log(step_delta)) / step
    needed = max(together, count)
    if fixed is not None and fixed < least_radius(needed) * (1 - 1e-12):
        raise InvalidParameterError(
            f"`radius` must be at least {least_radius(needed) * float(accuracy):.6g}, by the theorem for the "
            f"{math.ceil(needed)} records it needs, got {radius!r}. Leave radius out, or pass a larger one."
        )
    terms = (("sampling", sampling**2), ("noise", records(0.0)), ("together", together), ("count", count))
    return Need(needed, terms, "the paper's accuracy theorem for Algorithm 1; every constant explicit")
