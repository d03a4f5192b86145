"""A quick test of randomness: the system's entropy, and every sampler against its exact law.

Each test errs with at most its share of `FALSE_ALARM` on a healthy machine, by theorems that hold for every sample
size: exact binomial tails, and the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart. It catches gross faults (a
scale off by a third, a stuck or repeating source).
"""

import math
import os
from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import bdtr, bdtrc

from dimfree._types import Floats, Integers
from dimfree.audit.doctor import Finding, judge
from dimfree.noise import Noise, SystemNoise

FALSE_ALARM = 1e-6  # of all tests here together
TESTS = 8
_SHARE = FALSE_ALARM / TESTS
_DRAWS, _SCALE = 20_000, 2.5
_REMEDY = "Do not release on this machine: reinstall opendp, and see whether the system's random source works."


def check_entropy(source: Callable[[int], bytes] = os.urandom) -> Iterator[Finding]:
    """Check that the operating system's source is ready, does not repeat itself, and has fair bits."""
    yield judge("entropy", "source ready", _is_ready(), "getrandom" if hasattr(os, "getrandom") else "urandom", _REMEDY)
    blocks = [source(32) for _ in range(1000)]  # two alike with probability below 2^-236
    ones = sum(int.from_bytes(block, "little").bit_count() for block in blocks)
    fair = frequency_fits(ones, 256 * len(blocks), 0.5, _SHARE) and len(set(blocks)) == len(blocks)
    yield judge("entropy", "bits", fair, "fair" if fair else "not fair", _REMEDY)


def check_samplers(noise: Noise | None = None) -> Iterator[Finding]:
    """Check every kind of draw that a release may make, with the noise that releases use."""
    noise = SystemNoise() if noise is None else noise
    values = np.arange(-400.0, 401.0)  # beyond lies less than e^-160
    yield from _check_law("discrete Gaussian", noise.gaussian(_SCALE, _DRAWS), np.exp(-((values / _SCALE) ** 2) / 2))
    yield from _check_law("discrete Laplace", noise.laplace(_SCALE, _DRAWS), np.exp(-np.abs(values) / _SCALE))
    wide = noise.gaussian(2.0**40, 1000)
    odd = int((wide & 1).sum())
    yield _check_fit("wide Gaussian, last bit", frequency_fits(odd, len(wide), 0.5, _SHARE), f"{len(wide)} draws")
    heads = sum(noise.coin(1, 3) for _ in range(3000))
    yield _check_fit("coins", frequency_fits(heads, 3000, 1 / 3, _SHARE), "3000 coins of 1/3")
    sixes = int((noise.below(6, 3000) == 5).sum())
    yield _check_fit("uniform integers", frequency_fits(sixes, 3000, 1 / 6, _SHARE), "3000 throws of a die")


def _check_law(name: str, draws: Integers, weights: Floats) -> Iterator[Finding]:
    """Check the whole distribution; and that successive draws are equal as often as independent ones are."""
    law = weights / weights.sum()
    yield _check_fit(name, distribution_fits(draws, np.cumsum(law), _SHARE), f"{len(draws)} draws")
    alike = int((draws[::2] == draws[1::2]).sum())
    fits = frequency_fits(alike, len(draws) // 2, float((law**2).sum()), _SHARE)
    yield _check_fit(f"{name}, in pairs", fits, f"{len(draws) // 2} pairs")


def _check_fit(check: str, fits: bool, sample: str) -> Finding:
    found = "follows its law" if fits else "does not follow its law"
    return judge("samplers", check, fits, f"{found}, in {sample}", _REMEDY)


def distribution_fits(draws: Integers, cdf: Floats, false_alarm: float) -> bool:
    """Return whether integers may come from `cdf` on -m … m: the two are nowhere farther apart than chance allows."""
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(draws)))
    reach = len(cdf) // 2
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=len(cdf))
    return bool(np.abs(np.cumsum(counts) / len(draws) - cdf).max() <= band)


def frequency_fits(successes: int, trials: int, probability: float, false_alarm: float) -> bool:
    """Return whether a number of successes fits a probability, by the exact binomial tails."""
    low = bdtr(successes, trials, probability)
    high = bdtrc(successes - 1, trials, probability) if successes else 1.0
    return bool(min(low, high) > false_alarm / 2)


def _is_ready() -> bool:
    """Return whether the operating system has gathered enough entropy since it started."""
    if not hasattr(os, "getrandom"):
        return True  # elsewhere urandom waits
    try:
        return len(os.getrandom(16, os.GRND_NONBLOCK)) == 16
    except OSError:
        return False
