"""The noisy count of the records."""

from collections.abc import Iterator
from functools import partial

from dimfree.audit.audited import MU, Audited, ChargeCase, ExactCheck, value_off_lattice
from dimfree.audit.exact.claims import precise
from dimfree.audit.exact.divergence import LatticeShift, whole_mu
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.records import ROWS
from dimfree.mechanisms.count import noisy_count


def gaussian_count(epsilon: float, delta: float) -> LatticeShift:
    """The shift and the scale that the code asks for at the whole budget."""
    mu = precise(whole_mu(epsilon, delta), lambda each: noisy_count(7, 1 / each, noise=ZeroNoise()).event)
    noises = ZeroNoise(), ZeroNoise()
    fewer, more = (noisy_count(n, 1 / mu, noise=noise) for n, noise in zip((7, 8), noises, strict=True))
    return LatticeShift.read_off(noises, more.value - fewer.value, more.event.step)


def _charges() -> Iterator[ChargeCase]:
    yield ChargeCase("count", partial(noisy_count, ROWS, 1 / MU), MU, 1.0, 1, value_off_lattice)


AUDIT = Audited(exact={"count (Gaussian)": ExactCheck(gaussian_count)}, charges=_charges)
