"""What is spent of a ledger, and the largest charge that fits, as numbers and as text."""

import math
from dataclasses import dataclass

from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget
from dimfree.ledger.filter import Account
from dimfree.ledger.rows import LedgerState
from dimfree.ledger.spending import Charge

_HALVINGS = 40


@dataclass(frozen=True)
class Status:
    """What is spent of a ledger, and what remains. `Ledger.status` returns one; `str` of it is one line.

    Attributes
    ----------
    total : Budget
        The total of the ledger.
    spent_epsilon : float
        The privacy loss of all charges, composed, at the delta of the total.
    next_budget : Budget or None
        The largest epsilon that the next charge may have, whatever is released, and its delta: that of the last charge
        (of the total, if there is none), or less if less remains. None if nothing fits.
    charges : int
        The number of charges.
    private : bool
        False if the noise of any release was seeded: then nothing is guaranteed.
    """

    total: Budget
    spent_epsilon: float
    next_budget: Budget | None
    charges: int
    private: bool

    def __str__(self) -> str:
        count = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        spent = f"epsilon {self.spent_epsilon:.4g} of {self.total.epsilon:.6g} is spent at delta {self.total.delta:.6g}"
        following = "no further release fits"
        if (budget := self.next_budget) is not None:
            following = f"the next release may use up to epsilon {budget.epsilon!r} (delta {budget.delta!r})"
        return f"{count}: {spent}; {following}"


def status_of(found: LedgerState, delta: float | None = None) -> Status:
    """`delta`: of the next release, that of the last one if it is None."""
    account, total = found.sums.account, found.terms.budget
    following = largest_next(account, delta or found.delta or total.delta)
    return Status(total, account.spent_epsilon, following, account.debits, found.sums.private)


def refusal(found: LedgerState, asked: Budget, dataset: str) -> str:
    """Why a charge does not fit, what is spent, and what would fit."""
    return (
        f"A charge of epsilon={asked.epsilon!r}, delta={asked.delta!r} exceeds the remaining budget of the ledger of "
        f"{dataset!r}. {status_of(found, asked.delta)}. No budget was charged, and nothing was released."
    )


def largest_next(account: Account, delta: float) -> Budget | None:
    """The largest epsilon that fits, whatever is released: at this delta, or at one below it that a rule has left.

    Rounded down to four digits, and checked to fit.
    """
    deltas = (delta, *(_rounded_down(left) for left in account.left_deltas if 0 < left < delta))
    usable = [each for each in deltas if each >= SMALLEST_DELTA and _fits(account, SMALLEST_EPSILON, each)]
    found = [Budget(_largest_epsilon(account, each), each) for each in usable]
    return max(found, key=lambda budget: budget.epsilon, default=None)


def _largest_epsilon(account: Account, delta: float) -> float:
    low, high = SMALLEST_EPSILON, account.total.epsilon
    if _fits(account, high, delta):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(account, middle, delta) else (low, middle)
    near = float(f"{low:.4g}")  # what adds up to a round number is found again
    return near if _fits(account, near, delta) else max(_rounded_down(low), SMALLEST_EPSILON)


def _fits(account: Account, epsilon: float, delta: float) -> bool:
    return account.decide(Charge(Budget(epsilon, delta))) is not None


def _rounded_down(number: float) -> float:
    """Rounded down to four digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 3)
    return float(f"{math.floor(number / unit) * unit:.4g}")
