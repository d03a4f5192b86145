"""How many records are enough: the sample complexities of the paper and of the methods that it compares with.

Notation: σ = standard deviations, Σ = covariance with eigenvalues σ², d = dimensions, α = accuracy (Euclidean),
β = failure probability, (ε, δ) = the whole budget, log = natural logarithm. Theorems go by their labels in the paper.
A *rate* is a theorem that hides its constant: here the constant is 1, so it shows how the need grows and where one
method overtakes another, and is no promise. `customised_records` alone has every constant of its proof.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_count, check_lengths, check_magnitude, check_positive, check_variances
from dimfree.errors import InvalidParameter
from dimfree.planning.paper_bounds.aim import Aim
from dimfree.planning.paper_bounds.error_bound import ErrorBound


@dataclass(frozen=True)
class Need:
    """Records that are enough, what asks for how many of them, and the theorem that says so."""

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
    """Enough records, as a rate, for Algorithm 1 with Σ known: free of the dimension (thm:main-customizable, M = Σ).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + tr(Σ^1/2) sqrt(log 1/δ)/(αε) + t·max(1, log t) + log(1/(δβ))/ε, where
    t = ‖Σ‖^1/2 sqrt(log 1/δ) log(1/β)/(αε). The second logarithm is of t itself, as the short form of the theorem
    says; eq:main-sc prints ‖Σ‖ for its root there, which changes with the units of the records.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    root = math.sqrt(aim.secrecy)
    direction = aim.largest * root * aim.sureness / aim.epsilon
    return _sum(
        "the paper's main theorem, covariance known; a rate",
        sampling=aim.sampling,
        noise=aim.total * root / aim.epsilon,
        direction=direction * max(1.0, math.log(max(direction, 1.0))),
        count=(aim.secrecy + aim.sureness) / aim.epsilon,
    )


def folklore_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Enough records, as a rate, for coordinate-wise Karwa–Vadhan centres and round noise (section 1.2 of the paper).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + sqrt(d log 1/δ)/ε + sqrt(d·tr Σ·log 1/δ)/(αε). The paper leaves δ out here; the root
    of log 1/δ is what Gaussian noise and composition cost at least. Factors log d and the range of the mean stay out,
    in this method's favour. One ball instead of d centres: `customised_records` with `shape_stddevs` all ones (M = I).
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    centre = math.sqrt(aim.dimension * aim.secrecy) / aim.epsilon
    noise = centre * math.sqrt(aim.square)
    return _sum("section 1.2, folklore after Karwa–Vadhan; a rate", sampling=aim.sampling, centre=centre, noise=noise)


def plan_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Enough records, as a rate, for PLAN of Aumüller et al., diagonal Σ almost known (section 1.2 of the paper).

    n = (tr Σ + ‖Σ‖ log 1/β)/α² + sqrt(d log 1/δ)/ε + tr(Σ^1/2) sqrt(log 1/δ)/(αε). δ is put in, and logarithms of d
    and of the range of the mean are left out, as in `folklore_records`.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    centre = math.sqrt(aim.dimension * aim.secrecy) / aim.epsilon
    noise = aim.total * math.sqrt(aim.secrecy) / aim.epsilon
    return _sum("section 1.2, Aumüller et al.; a rate", sampling=aim.sampling, centre=centre, noise=noise)


def unknown_covariance_records(
    stddevs: ArrayLike, accuracy: float, epsilon: float, delta: float, failure_probability: float = 0.05
) -> Need:
    """Enough records, as a rate, for Algorithm 2: Σ unknown, its dimension enters as d^1/4 (thm:unknown).

    The largest of its four conditions: variances, log² d + log d·log(d/(δβ))·sqrt(log 1/δ)/ε; sampling,
    (tr Σ + ‖Σ‖ log 1/β)/α²; top, Σσ·sqrt(log 1/δ)/(αε); bottom, d^1/4·sqrt(Σσ)·log^5/4(1/δ)·log d/(α^1/2·ε). σ are
    the coordinates' own. log d counts as 1 at least. The first prints log(1/(δβ)): too little where d is beyond every
    power of 1/δ, because TopVar needs log(d/β) (docs/errata.md); the last survives that correction as printed.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    bottom = aim.dimension**0.25 * math.sqrt(aim.total) * aim.secrecy**1.25 * aim.log_dimension
    return _largest(
        "the paper's theorem for an unknown covariance, all four conditions; a rate",
        variances=float(_learning(aim, np.ones(1))[0]),
        sampling=aim.sampling,
        top=aim.total * math.sqrt(aim.secrecy) / aim.epsilon,
        bottom=bottom / aim.epsilon,
    )


def _learning(aim: Aim, top: NDArray[np.float64]) -> NDArray[np.float64]:
    """Records with which so many variances are found: k of alg:covmeanest solved for n; none: their sum alone."""
    log = aim.secrecy + aim.sureness
    found = np.sqrt(top * aim.secrecy) * (math.log(aim.dimension) + log)
    return aim.log_dimension**2 + aim.log_dimension * np.maximum(found, log * (top == 0)) / aim.epsilon


def easy_instance_records(
    stddevs: ArrayLike,
    accuracy: float,
    epsilon: float,
    delta: float,
    failure_probability: float = 0.05,
    *,
    learned: int | None = None,
) -> Need:
    """Enough records, as a rate, for Algorithm 2 on this very spectrum, `learned` of whose variances it finds.

    The remark after thm:unknown, with k = learned: the largest of log² d + k^1/2·log d·log(d/(δβ))·sqrt(log 1/δ)/ε,
    sampling, ‖σ_top‖₁·sqrt(log 1/δ)/(αε) and ((d − k)·log 1/δ)^1/2·‖σ_bottom‖₂/(αε); at k = 0 the first is
    log² d + log d·log(1/(δβ))/ε, for the sum of all variances. By default k is the number that
    needs fewest records; for exponential decay some k of order log d does, and the first condition is then of order
    log^3/2(d)·sqrt(log 1/δ)·log(d/(δβ))/ε (the introduction prints log^5/3 d, which is more).
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    d, noise = aim.dimension, math.sqrt(aim.secrecy) / aim.epsilon
    ranked = np.sort(aim.spread)[::-1]
    top = noise * np.concatenate(([0.0], np.cumsum(ranked)))
    tail = np.concatenate((np.cumsum(ranked[::-1] ** 2)[::-1], [0.0]))
    bottom = noise * np.sqrt(np.arange(d, -1, -1) * tail)
    learning = _learning(aim, np.arange(d + 1.0))
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
    """Records with which Algorithm 1 surely reaches the accuracy, for any M and λ: no constant is hidden.

    thm:accuracy_main: at n >= 2·log(1/(δ'β'))/ε' (count) and λ >= sqrt(2 tr A) + sqrt(8‖A‖ log(n/β')), where
    A = M^-1/4 Σ M^-1/4, the error is, but for 7/2·β', at most sqrt(tr Σ/n) + sqrt(2‖Σ‖ log(1/β')/n) (sampling) +
    4·sqrt(2 log(1.25/δ'))·λ·(sqrt(tr M^1/2) + sqrt(2‖M^1/2‖ log(1/β')))/(ε'n) (noise). Solved for n: alone, alone, and
    together. `shape_stddevs` are the roots of M's eigenvalues, in the order of `stddevs` and with the same axes (left
    out: M = Σ); `radius` is λ (left out: the smallest allowed). β' = 2/7·β. The theorem's (ε', δ') are those of one
    step; here ε is the total: log(1 + ε/2) = 2ε' and δε/(2(e^ε − 1)) = 1.5δ' (P1), with ε at most 10.
    """
    aim = Aim.checked(stddevs, accuracy, epsilon, delta, failure_probability)
    given = stddevs if shape_stddevs is None else shape_stddevs
    roots = check_magnitude("shape_stddevs", check_variances("shape_stddevs", given))
    check_lengths("shape_stddevs", len(roots), "standard deviation", aim.dimension)
    bound = ErrorBound.of(aim, roots)
    fixed = None if radius is None else check_positive("radius", radius) / float(accuracy)
    together = bound.records(bound.sampling, fixed)
    needed = max(together, bound.count)
    if fixed is not None and fixed < bound.radius(needed) * (1 - 1e-12):
        raise InvalidParameter(
            f"Expected radius={radius!r} to be at least {bound.radius(needed) * float(accuracy):.6g}, which the theorem"
            f" asks for at the {math.ceil(needed)} records it would need: leave radius out, or pass a larger one."
        )
    terms = (("sampling", bound.sampling**2), ("noise", bound.records(0.0, fixed)), ("together", together))
    return Need(
        needed,
        (*terms, ("count", bound.count)),
        "the paper's accuracy theorem for Algorithm 1; every constant explicit",
    )
