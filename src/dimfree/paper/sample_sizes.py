"""How many records are enough: the sample complexities of the paper and of the methods that it compares with.

Notation as in bounds.py, log = natural logarithm. A *rate* is a theorem that hides its constant: the constant is 1
here, so a rate shows growth and guarantees nothing. `customised_records` alone has every constant of its proof.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dimfree._validate import check_count, check_lengths, check_magnitude, check_positive, check_variances
from dimfree.accounting.lifting import before_lifting
from dimfree.errors import InvalidParameter
from dimfree.paper.bounds import Aim

_WIDEST_EPSILON = 10.0  # where thm:main-customizable ends; a larger budget is used as this one


@dataclass(frozen=True)
class Need:
    """Records that are enough, the terms of that number, and the theorem."""

    records: float
    terms: tuple[tuple[str, float], ...]
    theorem: str


def _sum(theorem: str, **terms: float) -> Need:
    return Need(sum(terms.values()), tuple(terms.items()), theorem)


def _largest(theorem: str, **terms: float) -> Need:
    return Need(max(terms.values()), tuple(terms.items()), theorem)


def known_covariance_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of Algorithm 1 with Σ known: free of the dimension (thm:main-customizable, M = Σ).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + tr(Σ^1/2) sqrt(log 1/δ)/(αε) + t·max(1, log t) + log(1/(δβ))/ε, where
    t = ‖Σ‖^1/2 sqrt(log 1/δ) log(1/β)/(αε). The second logarithm is of t itself, as in the short form of the theorem;
    eq:main-sc prints ‖Σ‖ for its root there, which changes with the units of the records.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    direction = aim.largest * math.sqrt(aim.secrecy) * aim.sureness / aim.epsilon
    return _sum(
        "the paper's main theorem, covariance known; a rate",
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
    favor of this method. One ball instead of d centers: `customised_records` with `shape_stddevs` all ones (M = I).
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    noise = aim.centers * math.sqrt(aim.square)
    theorem = "section 1.2, folklore after Karwa–Vadhan; a rate"
    return _sum(theorem, sampling=aim.sampling, centre=aim.centers, noise=noise)


def plan_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of PLAN of Aumüller et al., diagonal Σ almost known (section 1.2 of the paper).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + sqrt(d log 1/δ)/ε + tr(Σ^1/2) sqrt(log 1/δ)/(αε), with δ put in and logarithms left
    out as in `folklore_records`.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    theorem = "section 1.2, Aumüller et al.; a rate"
    return _sum(theorem, sampling=aim.sampling, centre=aim.centers, noise=aim.own_noise)


def unknown_covariance_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Return the rate of Algorithm 2: Σ unknown, its dimension enters as d^1/4 (thm:unknown).

    The largest of its four conditions: variances, log² d + log d·log(d/(δβ))·sqrt(log 1/δ)/ε; sampling,
    (tr Σ + ‖Σ‖ log 1/β)/α²; top, Σσ·sqrt(log 1/δ)/(αε); bottom, d^1/4·sqrt(Σσ)·log^5/4(1/δ)·log d/(α^1/2·ε). σ are
    the coordinates' own. The first prints log(1/(δβ)): too little where d is beyond every power of 1/δ, because TopVar
    needs log(d/β) (docs/errata.md); the last survives that correction as printed.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    bottom = aim.dimension**0.25 * math.sqrt(float(aim.spread.sum())) * aim.secrecy**1.25 * aim.log_dimension
    return _largest(
        "the paper's theorem for an unknown covariance, all four conditions; a rate",
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
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    d, noise = aim.dimension, math.sqrt(aim.secrecy) / aim.epsilon
    ranked = np.sort(aim.spread)[::-1]
    top = noise * np.concatenate(([0.0], np.cumsum(ranked)))
    tail = np.concatenate((np.cumsum(ranked[::-1] ** 2)[::-1], [0.0]))
    bottom = noise * np.sqrt(np.arange(d, -1, -1) * tail)
    learning = aim.learning(np.arange(d + 1.0))
    fewest = int(np.argmin(np.maximum(np.maximum(top, bottom), learning)))
    k = fewest if learned is None else check_count("learned", learned, least=0, most=d)
    theorem = f"the paper's remark on easy instances, {k} variances learned; a rate"
    parts = {"variances": float(learning[k]), "top": float(top[k]), "bottom": float(bottom[k])}
    return _largest(theorem, sampling=aim.sampling, **parts)


def customised_records(
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
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    given = stddevs if shape_stddevs is None else shape_stddevs
    roots = check_magnitude("shape_stddevs", check_variances("shape_stddevs", given))
    check_lengths("shape_stddevs", len(roots), "standard deviation", aim.dimension)
    inside, delta_inside = before_lifting(min(aim.epsilon, _WIDEST_EPSILON), aim.delta)  # P1
    step, step_delta = inside / 2, delta_inside / 1.5  # a count, ε'; a mean, (ε', δ'); δ'/2 for too high a count
    failure, rescaled = aim.failure * 2 / 7, aim.spread**2 / roots
    sure = -math.log(failure)
    sampling = math.sqrt(aim.square) + math.sqrt(2 * sure) * aim.largest
    reach = math.sqrt(float(roots.sum())) + math.sqrt(2 * float(roots.max()) * sure)
    noise = 4 * math.sqrt(2 * math.log(1.25 / step_delta)) * reach / step
    fixed = None if radius is None else check_positive("radius", radius) / float(accuracy)

    def least_radius(records: float) -> float:
        log = math.log(records / failure)
        return math.sqrt(2 * float(rescaled.sum())) + math.sqrt(8 * float(rescaled.max()) * log)

    def records(sampling: float) -> float:
        """Where the error is α: with λ held, a quadratic in n^1/2; λ follows, a contraction by 2/5 or less."""
        found = 1.0
        for _ in range(60):
            pull = noise * (least_radius(found) if fixed is None else fixed)
            found = max(1.0, ((sampling + math.sqrt(sampling**2 + 4 * pull)) / 2) ** 2)
        return found

    together, count = records(sampling), 2 * (sure - math.log(step_delta)) / step
    needed = max(together, count)
    if fixed is not None and fixed < least_radius(needed) * (1 - 1e-12):
        raise InvalidParameter(
            f"Expected radius={radius!r} to be at least {least_radius(needed) * float(accuracy):.6g}, which the theorem"
            f" asks for at the {math.ceil(needed)} records it would need: leave radius out, or pass a larger one."
        )
    terms = (("sampling", sampling**2), ("noise", records(0.0)), ("together", together), ("count", count))
    return Need(needed, terms, "the paper's accuracy theorem for Algorithm 1; every constant explicit")
