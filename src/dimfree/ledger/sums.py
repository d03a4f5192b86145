"""The running sums of a ledger. Every entry carries them: a debit reads the last ones instead of adding up all rows.

Sums are exact: fractions, written as "numerator/denominator".
"""

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dimfree.accounting.budget import Budget
from dimfree.ledger.chain import UNREADABLE, canonical
from dimfree.ledger.filter import Account, Debit, Filter

_FRACTION = re.compile(r"[0-9]{1,640}(/[0-9]{1,640})?")  # no sum of 64-bit floats is longer


@dataclass(frozen=True)
class Sums:
    """What was spent up to and with an entry."""

    account: Account
    private: bool = True  # whether every debit was for system noise

    def after(self, debit: Debit, *, private: bool) -> "Sums | None":
        """The sums after the debit; None where it would exceed the total."""
        account = self.account.admitted(debit)
        return None if account is None else replace(self, account=account, private=self.private and private)

    @property
    def text(self) -> str:
        """Canonical JSON, for an entry."""
        account = self.account
        found = {
            "total": [account.total.epsilon, account.total.delta],
            "added": [str(account.added_epsilon), str(account.added_delta)],
            "box": filter_to_dict(account.filter),
            "taken": [*map(str, account.moments), str(account.reserve)],
            "debits": account.debits,
            "private": self.private,
        }
        if account.filter is not None and account.filter.delta:
            found["inside"] = [str(account.epsilon), str(account.delta)]
        return canonical(found)

    @classmethod
    def read(cls, text: str) -> "Sums":
        """The sums that were written as this text; any other text raises ValueError."""
        try:
            found = _read(json.loads(text))
        except UNREADABLE:
            raise ValueError("The text holds no sums.") from None
        if found.text != text:
            raise ValueError("The text is not how sums are written.")
        return found


def _read(said: dict[str, Any]) -> Sums:
    added_epsilon, added_delta = map(_fraction, said["added"])
    epsilon, delta = map(_fraction, said.get("inside", ("0", "0")))
    *moments, reserve = map(_fraction, said["taken"])
    total, limits, debits = Budget(*said["total"]), filter_of(said["box"]), int(said["debits"])
    if len(moments) != (1 if limits is None else len(limits.orders)):
        raise ValueError("Expected a sum of moments for every order.")
    account = Account(total, added_epsilon, added_delta, limits, tuple(moments), reserve, epsilon, delta, debits)
    return Sums(account, bool(said["private"]))


def _fraction(text: str) -> Fraction:
    if not _FRACTION.fullmatch(text):
        raise ValueError("Expected a fraction.")
    return Fraction(text)


def filter_to_dict(limits: Filter | None) -> dict[str, Any] | None:
    """As entries hold it; older ledgers hold one order, as a number, and nothing for adding up."""
    if limits is None:
        return None
    found = {"order": numbers(limits.orders), "moment": numbers(limits.moments), "reserve": limits.reserve}
    return {**found, "delta": limits.delta} if limits.delta else found


def filter_of(said: dict[str, Any] | None) -> Filter | None:
    if said is None:
        return None
    orders, moments = floats(said["order"]), floats(said["moment"])
    if len(orders) != len(moments) or not all(order > 1 for order in orders) or not orders:
        raise ValueError("Expected a limit for every order, and orders above 1.")
    return Filter(orders, moments, float(said["reserve"]), float(said.get("delta", 0.0)))


def numbers(found: tuple[float, ...]) -> float | list[float]:
    """A list, or the number if there is one."""
    return found[0] if len(found) == 1 else list(found)


def floats(said: float | list[float]) -> tuple[float, ...]:
    return tuple(map(float, said)) if isinstance(said, list) else (float(said),)
