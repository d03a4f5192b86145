"""The noisy count of the records, and that of the valid ones."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree.audit.audited import MU, Audited, ChargeCase, ExactCheck, plain_space, value_off_lattice
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import LatticeShift, whole_mu
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import ROWS, made_up, space_of
from dimfree.kernel.statistics.count import noisy_count, noisy_valid_count


def gaussian_count(epsilon: float, delta: float) -> LatticeShift:
    """The shift and the scale that the code asks for at the whole budget."""
    mu = precise(whole_mu(epsilon, delta), lambda each: noisy_count(7, 1 / each, noise=ZeroNoise()).event)
    noises = ZeroNoise(), ZeroNoise()
    fewer, more = (noisy_count(n, 1 / mu, noise=noise) for n, noise in zip((7, 8), noises, strict=True))
    return LatticeShift.read_off(noises, more.value - fewer.value, more.event.step)


def gaussian_valid_count(epsilon: float, delta: float) -> LatticeShift:
    """The same for valid records: seven of them, and an eighth beside an invalid one."""
    fewer, more = (plain_space(np.append(np.zeros(n), np.nan)[:, None]) for n in (7, 8))
    mu = precise(whole_mu(epsilon, delta), lambda each: noisy_valid_count(fewer, each, noise=ZeroNoise()).event)
    noises = ZeroNoise(), ZeroNoise()
    few, many = (noisy_valid_count(space, mu, noise=n) for space, n in zip((fewer, more), noises, strict=True))
    return LatticeShift.read_off(noises, many.value - few.value, many.event.step)


def _charges() -> Iterator[ChargeCase]:
    yield ChargeCase("count", partial(noisy_count, ROWS, 1 / MU), MU, 1.0, 1, value_off_lattice)
    release = partial(noisy_valid_count, space_of(made_up()), MU)
    yield ChargeCase("valid records", release, MU, 1.0, 1, value_off_lattice)


AUDIT = Audited(
    exact={"count (Gaussian)": ExactCheck(gaussian_count), "valid records": ExactCheck(gaussian_valid_count)},
    charges=_charges,
)
