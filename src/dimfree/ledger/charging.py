"""What a release is charged, computed from public numbers before anything is drawn.

Guarantee: a charge depends on budget, relation and options only; under add/remove not on the number of records. It
covers every path of the run. Proof: proofs/ledger/spending.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.beliefs import Beliefs
from dimfree.errors import InvalidParameter
from dimfree.ledger.entries import Terms, canonical
from dimfree.ledger.ledger import Charged, Ledger
from dimfree.ledger.spending import Charge
from dimfree.request import Request


class Debit:
    """The debit of one release: made when its table is opened, and on disk before anything is drawn."""

    def __init__(
        self, ledger: Ledger, request: Request, beliefs: Beliefs, whose: Mapping[str, Any], *, what: str, **more: Any
    ) -> None:
        """`whose`: the privacy unit; `more`: public parameters beside those of the request."""
        self._ledger, self._budget = ledger, request.budget
        self._said: dict[str, Any] = {
            "terms": terms_of(request.budget, request.relation, whose),
            "private": request.noise.private,
            "what": what,
            "parameters": _digest_parameters(what, request, beliefs, **more),
        }
        self._entry: Charged | None = None

    def charge(self, *costs: Costs) -> None:
        """Charge the costs; BudgetExceeded if not enough is left."""
        self._entry = self._ledger.charge(Charge(self._budget, costs), **self._said)

    def note(self, *, refused: bool) -> None:
        """Note how the release ended; nothing, if public numbers refused it before a debit."""
        if self._entry is not None:
            self._entry.noted(refused=refused)


def terms_of(budget: Budget, relation: Neighbours, whose: Mapping[str, Any]) -> Terms:
    """The terms of a release; `whose` is the text of its guarantee about persons."""
    return Terms(budget, relation, whose.get("unit", "row"), whose.get("unit_column"))


def check_ledger(ledger: object) -> None:
    """Check that this is a ledger or None, before any table is opened."""
    if not isinstance(ledger, Ledger | None):
        kind = type(ledger).__name__
        raise InvalidParameter(
            f"Expected ledger to be a dimfree.Ledger, got {kind}: with dimfree.Ledger(...) as ledger."
        )


def _digest_parameters(what: str, request: Request, beliefs: Beliefs, **more: Any) -> str:
    """SHA-256 of the public parameters of a run, covariance and bounds included: the same give the same digest."""
    basis = beliefs.basis
    if basis is not None:  # bases are told apart by the image of a fixed public vector
        turned = basis.moved(np.arange(1.0, basis.dimension + 1) / basis.dimension)
    content = {
        "program": what,
        "epsilon": request.budget.epsilon,
        "delta": request.budget.delta,
        "neighbours": request.relation.value,
        "on_missing": request.on_missing,
        "options": asdict(request.options),
        "basis": "auto" if request.chooses_basis else basis and f"{basis.name} {_digest(turned.tobytes())}",
        "columns": len(beliefs.spectrum),
        "spectrum": _digest(beliefs.spectrum.tobytes()),
        **({} if request.norm is None else {"norm": request.norm}),
        **more,
    }
    return _digest(canonical(content).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
