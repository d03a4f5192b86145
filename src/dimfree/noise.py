"""The only place that draws random numbers. Mechanisms draw integers from a `Noise` object.

`SystemNoise` is private: OpenDP's exact discrete Gaussian and Laplace samplers, and uniform integers, all from the
random bytes of the operating system. `SeededNoise` is for tests and simulations: it is reproducible, and a release that
used it is marked "not private". Proof: proofs/noise.md.
"""

import math
import os
import secrets
from functools import cache, partial
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_count, quote
from dimfree.errors import DimfreeError, InstallationError, InvalidParameterError, NoiseMisuseError
from dimfree.threads import cores, in_order

MAX_STDDEV = 2.0**56  # in grid steps; beyond it the sampler's integers could saturate
MAX_LAPLACE_SCALE = 2.0**52  # likewise; its tails are longer: e^-2048 at 2^63
_TRIED = (("gaussian", 1.0, 1), ("laplace", 1.0, 1), ("below", 3, 1), ("coin", 1, 3))  # trial draws, thrown away

_FEW_DRAWS = 2**10  # draws for which no thread is started


class Noise(Protocol):
    """The draws that a mechanism may make."""

    @property
    def private(self) -> bool: ...

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        """Draw independent discrete Gaussian integers.

        Parameters
        ----------
        stddev : float
            At most 2**56.
        size : int
            The number of draws.

        Returns
        -------
        array of int64
            `size` of them.
        """
        ...

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        """Draw independent discrete Laplace integers: z has weight exp(-|z| / scale).

        Parameters
        ----------
        scale : float
            Above 0, at most 2**52.
        size : int
            The number of draws.

        Returns
        -------
        array of int64
            `size` of them.
        """
        ...

    def coin(self, numerator: int, denominator: int) -> bool:
        """Return True with probability exactly numerator / denominator.

        Parameters
        ----------
        numerator, denominator : int
            Whole numbers of any length.

        Returns
        -------
        bool
            One toss.
        """
        ...

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Draw independent uniform integers in [0, bound).

        Parameters
        ----------
        bound : int
            Above 0.
        size : int
            The number of draws.

        Returns
        -------
        array of int64
            `size` of them.
        """
        ...


def open_noise(noise: Noise | None) -> Noise:
    """Return the noise of a release: `SystemNoise` by default; other noise must declare whether it is private.

    System noise makes trial draws here, before a release is charged. Seeded noise does not: its draws are in order.
    """
    noise = SystemNoise() if noise is None else noise
    if not isinstance(getattr(noise, "private", None), bool):
        raise InvalidParameterError(f"`noise` must be None, or SeededNoise(seed) for a test, got {quote(noise)}.")
    if (require_draws := getattr(type(noise), "_require_draws", None)) is not None:
        require_draws(noise)
    return noise


def check_noise(noise: Noise, draw: str) -> Noise:
    """Return the same object; refuse it if it has no method called `draw`."""
    if not callable(getattr(type(noise), draw, None)):
        raise InvalidParameterError(f"`noise` must be SystemNoise() or SeededNoise(seed), got {quote(noise)}.")
    return noise


class SystemNoise:
    """Private noise: exact samplers on the random bytes of the operating system.

    An object draws only in the process that made it, and cannot be copied or pickled. It has no seed.

    Attributes
    ----------
    private : bool
        True.

    Raises
    ------
    NoiseMisuseError
        By every method, in another process or for a scale that does not fit 64-bit integers.

    Examples
    --------
    >>> noise = SystemNoise()
    >>> noise.private, len(noise.gaussian(100.0, 3))
    (True, 3)
    """

    private = True

    def __init__(self) -> None:
        self._owner = os.getpid()

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_stddev(stddev, size)
        from opendp.measurements import make_gaussian  # needed only here; opendp.prelude would take a second to import
        from opendp.metrics import l2_distance

        sampler = make_gaussian(_integer_vectors(), l2_distance(T=float), scale=float(stddev))
        parts = in_order(partial(_draw_on_zeros, sampler), _shares(int(size)), cores())
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_scale(scale, size)
        from opendp.measurements import make_laplace
        from opendp.metrics import l1_distance

        sampler = make_laplace(_integer_vectors(), l1_distance(T="i64"), scale=float(scale))
        return np.array(sampler([0] * size), dtype=np.int64)

    def coin(self, numerator: int, denominator: int) -> bool:
        self._check_owner()
        _check_coin(numerator, denominator)
        return secrets.randbelow(int(denominator)) < numerator

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        self._check_owner()
        _check_whole(bound, size)
        if bound > 0 and bound & (bound - 1) == 0:  # the last bits of uniform 64-bit words
            words = np.frombuffer(secrets.token_bytes(8 * int(size)), dtype=np.uint64)
            return (words & np.uint64(bound - 1)).astype(np.int64)
        return np.array([secrets.randbelow(int(bound)) for _ in range(size)], dtype=np.int64)

    def _require_draws(self) -> None:
        """Make one draw of each kind, so that an error appears before the charge. The draws are thrown away."""
        try:
            for draw, *asked in _TRIED:
                getattr(self, draw)(*asked)
        except DimfreeError:
            raise
        except Exception as error:  # noqa: BLE001 - missing, or whatever a broken library raises
            raise InstallationError(
                f"The noise source does not work ({type(error).__name__}): OpenDP cannot be loaded, or cannot draw. "
                "Run 'dimfree doctor' and reinstall opendp. No budget was charged."
            ) from None

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise NoiseMisuseError("This SystemNoise was made in another process. Draw where the release is made.")

    def __reduce__(self) -> str:
        raise NoiseMisuseError("SystemNoise cannot be copied to another process. Make SystemNoise() there instead.")


class SeededNoise:
    """Reproducible noise for tests and simulations. Not private.

    Parameters
    ----------
    seed : int
        At least 0. The same seed gives the same draws in the same order.

    Raises
    ------
    InvalidParameterError
        If `seed` is not a whole number of at least 0.

    Examples
    --------
    >>> SeededNoise(0).coin(1, 2) == SeededNoise(0).coin(1, 2)
    True
    """

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

    def coin(self, numerator: int, denominator: int) -> bool:
        _check_coin(numerator, denominator)
        drawn = int.from_bytes(self._generator.bytes(32), "little")
        return drawn * int(denominator) < int(numerator) << 256

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        _check_whole(bound, size)
        return self._generator.integers(0, bound, size, dtype=np.int64)


_TIMES: tuple[type, ...] = (np.timedelta64,)  # a subclass of NumPy's integers


def _check_whole(*numbers: int) -> None:
    """Refuse all but Python or NumPy integers that are at least 0 and fit 64 bits."""
    for number in numbers:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or type(number) in _TIMES:
            raise NoiseMisuseError("Counts and bounds of noise must be whole numbers.")
        if not 0 <= number < 2**63:
            raise NoiseMisuseError("Counts and bounds of noise must be at least 0 and fit 64 bits.")


def _check_coin(numerator: int, denominator: int) -> None:
    """Refuse all but a fraction of whole numbers of any length: pass probabilities are exact fractions."""
    whole = all(isinstance(part, int | np.integer) and type(part) not in _TIMES for part in (numerator, denominator))
    if not whole or not denominator > 0:
        raise NoiseMisuseError("The probability of a coin must be a fraction of whole numbers, denominator above 0.")


def _float(number: object) -> float:
    """Return the number as a float; NaN if it is not a real number or too large."""
    try:
        return float(number) if isinstance(number, Real) and type(number) not in _TIMES else math.nan
    except OverflowError:
        return math.nan


def _integer_vectors() -> Any:
    """Return OpenDP's domain of integer vectors; its constructors require the feature "contrib"."""
    from opendp.mod import enable_features

    enable_features("contrib")
    return _integer_domain()


@cache
def _integer_domain() -> Any:
    """Make the domain once for all draws: it takes as long as a draw."""
    from opendp.domains import atom_domain, vector_domain

    return vector_domain(atom_domain(T="i64"))


def _shares(size: int) -> list[int]:
    """Return how many of the draws each thread makes: one thread makes a few draws alone."""
    threads = max(1, min(cores(), size // _FEW_DRAWS))
    return [size // threads + (place < size % threads) for place in range(threads)]


def _draw_on_zeros(sampler: Any, size: int) -> NDArray[np.int64]:
    """Return what OpenDP's sampler adds to this number of zeros: independent draws, on any thread."""
    return np.array(sampler(np.zeros(size, dtype=np.int64)), dtype=np.int64)


def _check_stddev(stddev: float, size: int) -> None:
    _check_whole(size)
    if not 0 <= _float(stddev) <= MAX_STDDEV:
        raise NoiseMisuseError("The SD of the noise must be at least 0 and fit 64-bit integers: use a coarser grid.")


def _check_scale(scale: float, size: int) -> None:
    """Refuse a scale of 0, which would add nothing, and one so large that the integers could saturate."""
    _check_whole(size)
    if not 0 < _float(scale) <= MAX_LAPLACE_SCALE:
        raise NoiseMisuseError("The scale of Laplace noise must be above 0 and fit 64-bit integers: use another grid.")
