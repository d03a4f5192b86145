"""What a mechanism charges, held against what it drew: noise as stated, costs no lower than what was asked for.

An event that understates would be composed, reported and believed; the noise itself may be quite right. Every mechanism
runs here once, behind a door that draws nothing and remembers what it was asked for.
"""

import math
from collections.abc import Iterable, Iterator

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Pure
from dimfree.audit.noise_doubles import Asked
from dimfree.audit.numerics.charged import MOST, SPARSE, Case, all_cases

_NEAR = 1e-9  # of a cost: rounding


def charges(cases: Iterable[Case] | None = None) -> list[str]:
    """Every event states the noise that was drawn and costs no less than was asked for."""
    return [f"{case.name}: {line}" for case in cases or all_cases() for line in complaints(case)]


def complaints(case: Case) -> Iterator[str]:
    door = Asked()
    event = case.release(door).event
    if not door.asked:
        yield "nothing was drawn"
        return
    check = _gaussian if isinstance(event, Gaussian) else _laplace
    yield from check(case, event, door.asked)
    if case.draws not in (None, sum(size for _, _, size in door.asked)):
        yield "another number of draws than stated"


def _gaussian(case: Case, event: Gaussian, asked: list[tuple[str, float, int]]) -> Iterator[str]:
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


def _laplace(case: Case, event: Pure | Approximate, asked: list[tuple[str, float, int]]) -> Iterator[str]:
    assert isinstance(case.cost, tuple)
    stated = event.epsilon, getattr(event, "delta", 0.0)
    if any(low < wanted * (1 - _NEAR) for low, wanted in zip(stated, case.cost, strict=True)):
        yield "less is stated than was asked for"
    scales = {scale / times for (_, scale, _), times in zip(asked, _times(case, asked), strict=True)}
    if {kind for kind, _, _ in asked} != {"laplace"} or max(scales) > min(scales) * (1 + _NEAR):
        yield "the noise drawn is not that of the theorem"
    if _spent(case, min(scales), stated[1]) > event.epsilon * (1 + _NEAR):
        yield "less is stated than the noise gives"


def _times(case: Case, asked: list[tuple[str, float, int]]) -> list[int]:
    """The sparse vector draws twice the scale for the counts, which come second; everything else is drawn alike."""
    return [2 if case.name == SPARSE and place == 1 else 1 for place in range(len(asked))]


def _spent(case: Case, scale: float, delta: float) -> float:
    """What noise of the scale gives away: one count after another, or the sparse vector's stretches of 2/scale each."""
    each = case.moves / scale
    if case.name != SPARSE:
        return each
    spread = each * math.sqrt(-2 * MOST * math.log(delta))
    return min(MOST * each, MOST * each * math.tanh(each / 2) + spread)  # [Dwork–Rothblum–Vadhan], optimal drift
