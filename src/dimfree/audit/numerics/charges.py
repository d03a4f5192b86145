"""What a mechanism charges against what it draws: noise as stated, costs no lower than asked for.

Every mechanism runs once with noise that draws nothing and records what it was asked for.
"""

import math
from collections.abc import Iterable, Iterator

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Pure
from dimfree.audit.audited import ChargeCase
from dimfree.audit.mechanisms.sparse_vector import MOST
from dimfree.audit.mechanisms.sparse_vector import NAME as SPARSE
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.registry import charge_cases

_NEAR = 1e-9  # of a cost: rounding


def charges(cases: Iterable[ChargeCase] | None = None) -> list[str]:
    """Every event states the noise that was drawn and costs no less than was asked for."""
    return [f"{case.name}: {line}" for case in cases or charge_cases() for line in complaints(case)]


def complaints(case: ChargeCase) -> Iterator[str]:
    noise = ZeroNoise()
    event = case.release(noise=noise).event
    if not noise.asked:
        yield "nothing was drawn"
        return
    check = _gaussian if isinstance(event, Gaussian) else _laplace
    yield from check(case, event, noise.asked)
    if case.draws not in (None, sum(size for _, _, size in noise.asked)):
        yield "another number of draws than stated"


def _gaussian(case: ChargeCase, event: Gaussian, asked: list[tuple[str, float, int]]) -> Iterator[str]:
    assert isinstance(case.cost, float)
    if {(kind, stddev) for kind, stddev, _ in asked} != {("gaussian", event.stddev)}:
        yield "the noise drawn is not the noise stated"
    if not math.isclose(event.mu, event.sensitivity / event.stddev, rel_tol=_NEAR):
        yield "the precision is not sensitivity over noise"
    if not math.isclose(event.mu, case.cost, rel_tol=_NEAR):
        yield "the precision stated is not the one asked for"
    if event.sensitivity * event.step < case.moves * (1 - _NEAR):
        yield "one record moves more than stated"
    if case.draws is not None and event.dimension != case.draws:
        yield "another dimension than the number of draws"


def _laplace(case: ChargeCase, event: Pure | Approximate, asked: list[tuple[str, float, int]]) -> Iterator[str]:
    assert isinstance(case.cost, tuple)
    stated = event.epsilon, getattr(event, "delta", 0.0)
    if any(low < wanted * (1 - _NEAR) for low, wanted in zip(stated, case.cost, strict=True)):
        yield "less is stated than was asked for"
    scales = {scale / times for (_, scale, _), times in zip(asked, _times(case, asked), strict=True)}
    if {kind for kind, _, _ in asked} != {"laplace"} or max(scales) > min(scales) * (1 + _NEAR):
        yield "the noise drawn is not that of the theorem"
    if _spent(case, min(scales), stated[1]) > event.epsilon * (1 + _NEAR):
        yield "less is stated than the noise gives"


def _times(case: ChargeCase, asked: list[tuple[str, float, int]]) -> list[int]:
    """The sparse vector draws twice the scale for the counts, which come second; everything else is drawn alike."""
    return [2 if case.name == SPARSE and place == 1 else 1 for place in range(len(asked))]


def _spent(case: ChargeCase, scale: float, delta: float) -> float:
    """What noise of the scale gives away: one count after another, or the sparse vector's stretches of 2/scale each."""
    each = case.moves / scale
    if case.name != SPARSE:
        return each
    spread = each * math.sqrt(-2 * MOST * math.log(delta))
    return min(MOST * each, MOST * each * math.tanh(each / 2) + spread)  # [Dwork–Rothblum–Vadhan], optimal drift
