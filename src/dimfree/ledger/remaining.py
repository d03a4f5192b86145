"""What is spent of a ledger, and the largest charge that fits, as numbers and as text."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget
from dimfree.accounting.events import has_fine_noise
from dimfree.accounting.sharing import gaussian_budget, gaussian_opening
from dimfree.ledger.filter import Account
from dimfree.ledger.spending import GAUSSIAN, Charge

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
    next_gaussian : Budget or None
        The same of a next release with Gaussian noise alone (the per-column estimator), if that is more.
    charges : int
        The number of charges.
    private : bool
        False if the noise of any release was seeded: then nothing is guaranteed.
    """

    total: Budget
    spent_epsilon: float
    next_budget: Budget | None
    next_gaussian: Budget | None
    charges: int
    private: bool

    def __str__(self) -> str:
        count = "1 charge" if self.charges == 1 else f"{self.charges} charges"
        spent = f"epsilon {self.spent_epsilon:.4g} of {self.total.epsilon:.6g} is spent at delta {self.total.delta:.6g}"
        conditions = (
            ("", self.next_budget),
            ("with Gaussian noise alone (the per-column estimator) ", self.next_gaussian),
        )
        ways = [f"{how}up to epsilon {each.epsilon!r} (delta {each.delta!r})" for how, each in conditions if each]
        following = f"the next release may use {', or '.join(ways)}" if ways else "no further release fits"
        return f"{count}: {spent}; {following}"


def status_of(account: Account, delta: float | None) -> Status:
    """`delta`: of the next release, that of the total if it is None."""
    delta = delta or account.total.delta
    following, gaussian = largest_next(account, delta), _largest_gaussian(account, delta)
    if following and gaussian and gaussian.epsilon <= following.epsilon:
        gaussian = None
    return Status(account.total, account.spent_epsilon, following, gaussian, account.debits, account.private)


def largest_next(account: Account, delta: float) -> Budget | None:
    """The largest epsilon that fits, whatever is released: at this delta, or at one below it that a rule has left.

    Rounded down to four digits, and checked to fit.
    """
    deltas = (delta, *(_round_down(left) for left in account.left_deltas if 0 < left < delta))
    usable = [each for each in deltas if each >= SMALLEST_DELTA and _fits(account, SMALLEST_EPSILON, each)]
    found = [Budget(_largest_epsilon(account, each), each) for each in usable]
    return max(found, key=lambda budget: budget.epsilon, default=None)


def _largest_gaussian(account: Account, delta: float) -> Budget | None:
    """The largest epsilon that the rule for Gaussian releases has left at this delta; checked to fit."""
    if account.filter is None or account.filter.orders[0] != GAUSSIAN:
        return None
    left = float(Fraction(account.filter.moments[0]) - account.moments[0])
    epsilon = gaussian_budget(math.sqrt(max(left, 0.0)), delta, account.total.epsilon).epsilon
    budget = Budget(_round_down(epsilon), delta)
    if epsilon <= SMALLEST_EPSILON or not has_fine_noise(budget):
        return None
    return budget if account.decide(Charge(budget, (gaussian_opening(budget),))) is not None else None


def _largest_epsilon(account: Account, delta: float) -> float:
    low, high = SMALLEST_EPSILON, account.total.epsilon
    if _fits(account, high, delta):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(account, middle, delta) else (low, middle)
    near = float(f"{low:.4g}")  # what adds up to a round number is found again
    return near if _fits(account, near, delta) else max(_round_down(low), SMALLEST_EPSILON)


def _fits(account: Account, epsilon: float, delta: float) -> bool:
    return account.decide(Charge(Budget(epsilon, delta))) is not None


def _round_down(number: float) -> float:
    """Round down to four digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 3)
    return float(f"{math.floor(number / unit) * unit:.4g}")
