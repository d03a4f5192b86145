"""The one door to randomness. Mechanisms are handed a door; nothing else in the package draws a random number.

`SystemNoise` is private: OpenDP's exact discrete Gaussian and Laplace, its exact noisy choice, and integer coins, all
on the operating system's entropy.
`SeededNoise` is for tests and simulations: reproducible, and whatever it releases is marked "not private".
"""

import math
import os
import secrets
from collections.abc import Sequence
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_count, quoted
from dimfree.errors import InvalidParameter, NoiseMisuse

LARGEST_STDDEV = 2.0**56  # in grid steps; beyond it the sampler's integers could saturate
LARGEST_LAPLACE = 2.0**52  # likewise; its tails are longer: e^-2048 at 2^63


class Noise(Protocol):
    """What a mechanism may ask of the door."""

    @property
    def private(self) -> bool: ...

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        """`size` independent discrete Gaussian integers."""
        ...

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        """`size` independent discrete Laplace integers: z has weight exp(-|z| / scale)."""
        ...

    def noisy_top(self, scores: NDArray[np.int64], count: int, scale: float) -> NDArray[np.int64]:
        """Where the `count` largest of scores plus independent Gumbel(scale) are, the largest first."""
        ...

    def coin(self, numerator: int, denominator: int) -> bool:
        """True with probability exactly numerator / denominator."""
        ...

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """`size` independent uniform integers in [0, bound)."""
        ...


def opened(noise: Noise | None) -> Noise:
    """The noise of a release: the system's own where none was given; another must say whether it is private."""
    if noise is None:
        return SystemNoise()
    if not isinstance(getattr(noise, "private", None), bool):
        raise InvalidParameter(f"Expected noise to be None, or SeededNoise(seed) for a test, got {quoted(noise)}.")
    return noise


def check_noise(noise: Noise, draw: str) -> Noise:
    """Something that can be asked for such a draw."""
    if not callable(getattr(type(noise), draw, None)):
        raise InvalidParameter(f"Expected noise to be SystemNoise() or SeededNoise(seed), got {quoted(noise)}.")
    return noise


class SystemNoise:
    """Exact samplers on operating-system entropy, usable only by the process that opened the door."""

    private = True

    def __init__(self) -> None:
        self._owner = os.getpid()

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_stddev(stddev, size)
        import opendp.prelude as dp  # slow to import, needed only here

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        sampler = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(stddev))
        return np.array(sampler([0] * size), dtype=np.int64)

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_scale(scale, size)
        import opendp.prelude as dp

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        sampler = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
        return np.array(sampler([0] * size), dtype=np.int64)

    def noisy_top(self, scores: NDArray[np.int64], count: int, scale: float) -> NDArray[np.int64]:
        self._check_owner()
        _check_top(scores, count, scale)
        import opendp.prelude as dp

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        metric = dp.linf_distance(T="i64", monotonic=False)
        measure = dp.zero_concentrated_divergence()  # Gumbel noise; the other measure would permute and flip (M3)
        choice = dp.m.make_noisy_top_k(domain, metric, measure, k=int(count), scale=float(scale))
        return np.array(choice([int(score) for score in scores]), dtype=np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        self._check_owner()
        _check_coin(numerator, denominator)
        return secrets.randbelow(int(denominator)) < numerator

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_whole(bound, size)
        return np.array([secrets.randbelow(int(bound)) for _ in range(size)], dtype=np.int64)

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise NoiseMisuse("This noise belongs to another process; draw it once, in the process that releases.")

    def __reduce__(self) -> str:
        raise NoiseMisuse("A noise door cannot be copied to another process; open SystemNoise() there instead.")


class SeededNoise:
    """Reproducible noise for tests and simulations. Not private."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(check_count("seed", seed, least=0, most=2**128))

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        _check_stddev(stddev, size)
        return np.rint(self._generator.normal(0.0, abs(stddev), size)).astype(np.int64)

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        _check_scale(scale, size)
        stop = -np.expm1(-1.0 / scale)  # the difference of two geometric counts
        first, second = self._generator.geometric(stop, (2, size))
        return np.asarray(first - second, dtype=np.int64)

    def noisy_top(self, scores: NDArray[np.int64], count: int, scale: float) -> NDArray[np.int64]:
        _check_top(scores, count, scale)
        noisy = np.asarray(scores) + self._generator.gumbel(0.0, scale, len(scores))
        return np.argsort(-noisy, kind="stable")[:count].astype(np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        _check_coin(numerator, denominator)
        drawn = int.from_bytes(self._generator.bytes(32), "little")
        return drawn * int(denominator) < int(numerator) << 256

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        _check_whole(bound, size)
        return self._generator.integers(0, bound, size, dtype=np.int64)


_SPANS: tuple[type, ...] = (np.timedelta64,)  # to NumPy, a span of time is a whole number


def _check_whole(*numbers: int) -> None:
    """Python's own or NumPy's, from 0 on, that 64 bits hold."""
    for number in numbers:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or type(number) in _SPANS:
            raise NoiseMisuse("Expected whole numbers.")
        if not 0 <= number < 2**63:
            raise NoiseMisuse("Expected whole numbers of at least 0 that fit 64 bits.")


def _check_coin(numerator: int, denominator: int) -> None:
    """Of any length: the probabilities of a ladder are exact."""
    whole = all(isinstance(part, int | np.integer) and type(part) not in _SPANS for part in (numerator, denominator))
    if not whole or not denominator > 0:
        raise NoiseMisuse("Expected a fraction of whole numbers, its denominator above 0.")


def _float(number: object) -> float:
    """NaN for what is no number that a float holds."""
    try:
        return float(number) if isinstance(number, Real) and type(number) not in _SPANS else math.nan
    except OverflowError:
        return math.nan


def _check_stddev(stddev: float, size: int) -> None:
    _check_whole(size)
    if not 0 <= _float(stddev) <= LARGEST_STDDEV:
        raise NoiseMisuse("Expected noise that fits 64-bit integers: use a coarser grid.")


def _check_scale(scale: float, size: int) -> None:
    """Above zero, where the sampler would add nothing, and below the scale at which its integers could saturate."""
    _check_whole(size)
    if not 0 < _float(scale) <= LARGEST_LAPLACE:
        raise NoiseMisuse("Expected noise of a scale above 0 that fits 64-bit integers: use another grid.")


def _check_top(scores: NDArray[np.int64], count: int, scale: float) -> None:
    _check_scale(scale, 1)
    if not isinstance(scores, np.ndarray) or scores.ndim != 1 or scores.dtype.kind not in "iu":
        raise NoiseMisuse("Expected scores to be a vector of whole numbers.")
    if not isinstance(count, int | np.integer) or type(count) in _SPANS or not 0 < count <= len(scores):
        raise NoiseMisuse("Expected to choose at least one of the scores, and not more than there are.")


def public_simulation(seed: int | Sequence[int] = 20240701) -> np.random.Generator:
    """Coins for public models (the friend radius, draws of a comparison): fixed, public, and never near a record."""
    return np.random.default_rng(seed)
