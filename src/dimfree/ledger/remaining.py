"""What is left in a ledger, as text, and the largest release that would fit."""

import math
from collections.abc import Callable
from fractions import Fraction

from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget
from dimfree.errors import InvalidParameter
from dimfree.ledger.filter import Account
from dimfree.ledger.spending import Charge

_TRIES = (0.95, 0.8, 0.6)  # times the epsilon that would fit if the cost grew with its square
_SMALLEST_TRY = 0.1  # times the requested epsilon: smaller ones take long to price
_HALVINGS = 40


def fitting(account: Account, charge: Charge) -> Budget | None:
    """A budget that was checked to fit: of the same kind of release, or else of any release with that promise."""
    guess = _guess(account, charge)
    for share in _TRIES:
        if charge.again is None or guess is None or share * guess.epsilon < _SMALLEST_TRY * charge.budget.epsilon:
            break
        smaller = Budget(_rounded_down(share * guess.epsilon), guess.delta)
        if _fits(account, charge.again, smaller):
            return smaller
    return _promised(account, charge.budget if guess is None else Budget(charge.budget.epsilon, guess.delta))


def _guess(account: Account, charge: Charge) -> Budget | None:
    """About what would fit: a moment grows with the square of epsilon, a reserve with delta."""
    box, asked = account.box, charge.budget
    if box is None:
        epsilon, delta = float(account.left_epsilon), float(account.left_delta)
        return (
            Budget(min(asked.epsilon, epsilon), min(asked.delta, _rounded_down(delta))) if epsilon * delta > 0 else None
        )
    price = charge.price(box.order, box.moment, box.reserve)
    moment, reserve = box.moment - float(account.moment), box.reserve - float(account.reserve)
    if moment <= 0 or reserve <= 0 or not math.isfinite(price.moment):
        return None
    delta = min(asked.delta, _rounded_down(0.9 * asked.delta * reserve / price.reserve))
    return Budget(asked.epsilon * min(1.0, math.sqrt(moment / price.moment)), delta)


def _promised(account: Account, asked: Budget) -> Budget | None:
    """The largest epsilon at this delta for a release known by its promise only; fast to price."""
    if account.box is not None and account.reserve < Fraction(account.box.reserve):
        most = float(Fraction(account.box.reserve) - account.reserve)
        asked = Budget(asked.epsilon, min(asked.delta, _rounded_down(most / 2)))
    low, high = 0.0, asked.epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(account, Charge, Budget(middle, asked.delta)) else (low, middle)
    found = Budget(_rounded_down(low), asked.delta) if low > SMALLEST_EPSILON else None
    return found if found is not None and _fits(account, Charge, found) else None


def _fits(account: Account, again: Callable[[Budget], Charge], budget: Budget) -> bool:
    if budget.epsilon < SMALLEST_EPSILON or budget.delta < SMALLEST_DELTA:
        return False
    try:
        return account.decide(again(budget)) is not None
    except InvalidParameter:  # the options do not allow so small an epsilon
        return False


def _rounded_down(number: float) -> float:
    """Rounded down to three digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.floor(number / unit) * unit:.3g}")


def left(account: Account) -> str:
    """What is left, as text."""
    if account.box is None:
        epsilon, delta = (max(0.0, float(each)) for each in (account.left_epsilon, account.left_delta))
        return f"epsilon {epsilon:.6g} and delta {delta:.3g} are left"
    return f"{math.floor(1e4 * max(0.0, 1 - account.spent)) / 1e4:.2%} of it is left, composed"


def refusal(account: Account, charge: Charge, dataset: str) -> str:
    """Why a charge does not fit, what is left, and what would fit."""
    asked, total, fits = charge.budget, account.total, fitting(account, charge)
    remedy = "nothing like it was found to fit"
    if fits is not None:
        remedy = f"epsilon={fits.epsilon!r}, delta={fits.delta!r} fits"
    return (
        f"Expected epsilon={asked.epsilon!r}, delta={asked.delta!r} to be within what is left of the ledger of "
        f"{dataset!r}, which holds epsilon={total.epsilon!r}, delta={total.delta!r} in all: {left(account)}; {remedy}. "
        "Nothing was charged, nothing was released."
    )
