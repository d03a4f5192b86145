"""The one door to randomness. Mechanisms are handed a door; nothing else in the package draws a random number.

`SystemNoise` is private: OpenDP's exact discrete Gaussian and integer coins on the operating system's entropy.
`SeededNoise` is for tests and simulations: reproducible, and whatever it releases is marked "not private".
"""

import os
import secrets
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dimfree.errors import NoiseMisuse

LARGEST_STDDEV = 2.0**56  # in grid steps; beyond it the sampler's integers could saturate


class Noise(Protocol):
    """What a mechanism may ask of the door."""

    @property
    def private(self) -> bool: ...

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        """`size` independent discrete Gaussian integers."""
        ...

    def coin(self, numerator: int, denominator: int) -> bool:
        """True with probability exactly numerator / denominator."""
        ...

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """`size` independent uniform integers in [0, bound)."""
        ...


class SystemNoise:
    """Exact samplers on operating-system entropy, usable only by the process that opened the door."""

    private = True

    def __init__(self) -> None:
        self._owner = os.getpid()

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        self._check_owner()
        if not stddev <= LARGEST_STDDEV:
            raise NoiseMisuse("Expected noise that fits 64-bit integers: use a coarser grid.")
        import opendp.prelude as dp  # slow to import, needed only here

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        sampler = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(stddev))
        return np.array(sampler([0] * size), dtype=np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        self._check_owner()
        return secrets.randbelow(denominator) < numerator

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        self._check_owner()
        return np.array([secrets.randbelow(bound) for _ in range(size)], dtype=np.int64)

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise NoiseMisuse("This noise belongs to another process; draw it once, in the process that releases.")

    def __reduce__(self) -> str:
        raise NoiseMisuse("A noise door cannot be copied to another process; open SystemNoise() there instead.")


class SeededNoise:
    """Reproducible noise for tests and simulations. Not private."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        return np.rint(self._generator.normal(0.0, stddev, size)).astype(np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        drawn = int.from_bytes(self._generator.bytes(32), "little")
        return drawn * denominator < numerator << 256

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        return self._generator.integers(0, bound, size, dtype=np.int64)


def public_simulation(seed: int = 20240701) -> np.random.Generator:
    """Coins for simulating public models (the friend radius): fixed, public, and never near a record."""
    return np.random.default_rng(seed)
