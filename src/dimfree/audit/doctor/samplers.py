"""A quick test of randomness: the system's entropy, and every sampler against its exact law.

Each test errs with at most its share of `FALSE_ALARM` on a healthy machine, by theorems that hold for every sample
size: exact binomial tails, and the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart. It catches gross faults (a
scale off by a third, a stuck or repeating source); `dimfree audit` looks deeper.
"""

import math
import os
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import bdtr, bdtrc

from dimfree._types import Floats, Integers
from dimfree.audit.doctor.finding import Finding, judged
from dimfree.noise import Noise, SystemNoise

FALSE_ALARM = 1e-6  # of all tests here together
TESTS = 8
_SHARE = FALSE_ALARM / TESTS
_DRAWS = 20_000
_SCALE = 2.5
_REMEDY = "Do not release on this machine: reinstall opendp, and see whether the system's random source works."


def entropy(source: Callable[[int], bytes] = os.urandom) -> Iterator[Finding]:
    """The operating system's source is ready, does not repeat itself, and its bits are fair."""
    yield judged("entropy", "source ready", _ready(), "getrandom" if hasattr(os, "getrandom") else "urandom", _REMEDY)
    blocks = [source(32) for _ in range(1000)]  # two alike with probability below 2^-236
    ones = sum(int.from_bytes(block, "little").bit_count() for block in blocks)
    fair = frequency_fits(ones, 256 * len(blocks), 0.5, _SHARE)
    yield judged("entropy", "bits", fair and len(set(blocks)) == len(blocks), "fair" if fair else "not fair", _REMEDY)


def samplers(noise: Noise | None = None) -> Iterator[Finding]:
    """Every kind of draw that a release may ask for, with the noise that releases use."""
    noise = SystemNoise() if noise is None else noise
    for name, draw, weight in (
        ("discrete Gaussian", noise.gaussian, lambda z: np.exp(-(z**2) / (2 * _SCALE**2))),
        ("discrete Laplace", noise.laplace, lambda z: np.exp(-np.abs(z) / _SCALE)),
    ):
        yield from _law(name, draw(_SCALE, _DRAWS), weight)
    wide = noise.gaussian(2.0**40, 1000)  # no two alike, but with probability 1000² / 2^41: not a test of luck
    odd = int((wide & 1).sum())
    yield _fit("wide Gaussian, last bit", frequency_fits(odd, len(wide), 0.5, _SHARE), f"{len(wide)} draws")
    heads = sum(noise.coin(1, 3) for _ in range(3000))
    yield _fit("coins", frequency_fits(heads, 3000, 1 / 3, _SHARE), "3000 coins of 1/3")
    sixes = int((noise.below(6, 3000) == 5).sum())
    yield _fit("whole numbers", frequency_fits(sixes, 3000, 1 / 6, _SHARE), "3000 throws of a die")


def _law(name: str, draws: Integers, weight: Callable[[Floats], Floats]) -> Iterator[Finding]:
    """The whole distribution; and whether neighbours repeat each other as often as independent draws do."""
    values = np.arange(-400, 401)
    law = weight(values.astype(np.float64))
    law /= law.sum()  # beyond 400 lies less than e^-160
    yield _fit(name, distribution_fits(draws, np.cumsum(law), _SHARE), f"{len(draws)} draws")
    alike = int((draws[::2] == draws[1::2]).sum())
    fits = frequency_fits(alike, len(draws) // 2, float((law**2).sum()), _SHARE)
    yield _fit(f"{name}, in pairs", fits, f"{len(draws) // 2} pairs")


def _fit(check: str, fits: bool, sample: str) -> Finding:
    said = "as its law says" if fits else "does not follow its law"
    return judged("samplers", check, fits, f"{said}, in {sample}", _REMEDY)


def distribution_fits(draws: Integers, cdf: Floats, false_alarm: float) -> bool:
    """Whether integers may come from `cdf` on -m … m: nowhere are the two farther apart than luck allows."""
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(draws)))
    reach = len(cdf) // 2
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(cdf))
    return bool(np.abs(np.cumsum(counts) / len(draws) - cdf).max() <= band)


def frequency_fits(successes: int, trials: int, probability: float, false_alarm: float) -> bool:
    """Whether a number of successes fits a probability, by the exact binomial tails."""
    low = bdtr(successes, trials, probability)
    high = bdtrc(successes - 1, trials, probability) if successes else 1.0
    return bool(min(low, high) > false_alarm / 2)


def _ready() -> bool:
    """Whether the kernel has gathered enough entropy since it started."""
    if not hasattr(os, "getrandom"):
        return True  # elsewhere urandom waits by itself
    try:
        return len(os.getrandom(16, os.GRND_NONBLOCK)) == 16
    except OSError:
        return False
