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
from dimfree.ledger.filter import Account, Box, Debit

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
        return canonical(
            {
                "total": [account.total.epsilon, account.total.delta],
                "added": [str(account.added_epsilon), str(account.added_delta)],
                "box": box_to_dict(account.box),
                "taken": [str(account.moment), str(account.reserve)],
                "debits": account.debits,
                "private": self.private,
            }
        )

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
    (epsilon, delta), (moment, reserve) = (map(_fraction, said[name]) for name in ("added", "taken"))
    total, box = Budget(*said["total"]), box_of(said["box"])
    return Sums(Account(total, epsilon, delta, box, moment, reserve, int(said["debits"])), bool(said["private"]))


def _fraction(text: str) -> Fraction:
    if not _FRACTION.fullmatch(text):
        raise ValueError("Expected a fraction.")
    return Fraction(text)


def box_to_dict(box: Box | None) -> dict[str, float] | None:
    return None if box is None else {"order": box.order, "moment": box.moment, "reserve": box.reserve}


def box_of(said: dict[str, Any] | None) -> Box | None:
    return None if said is None else Box(*(float(said[name]) for name in ("order", "moment", "reserve")))
