"""The ledger of a command: it tells the command what it was charged."""

from typing import Any

from dimfree.cli.course import current
from dimfree.cli.signals import undivided
from dimfree.ledger.ledger import Charged, Ledger
from dimfree.ledger.spending import Charge


class ToldLedger(Ledger):
    """A ledger whose debits are known to the command: no signal comes between a debit and the word about it."""

    def charge(self, charge: Charge, **said: Any) -> Charged:
        charge.prepare()  # takes long, so it may be stopped
        with undivided():
            charged = super().charge(charge, **said)
            budget = charge.budget
            current().charged = (
                f"epsilon={budget.epsilon!r} and delta={budget.delta!r}, entry {charged.number} of {self.dataset!r} "
                f"in {str(self.path)!r}"
            )
        return charged
