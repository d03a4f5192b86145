"""The charge of a release, computed from public numbers before any noise is drawn.

Guarantee: a charge depends on budget, neighboring relation and options only; under add-remove not on the number of
records. It covers every path of the run. Proof: proofs/ledger/spending.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs
from dimfree.beliefs import Beliefs
from dimfree.errors import InvalidParameterError
from dimfree.ledger.entries import Terms, canonical
from dimfree.ledger.ledger import Charged, PrivacyLedger
from dimfree.ledger.spending import Charge
from dimfree.request import Request


class Debit:
    """The debit of one release: prepared when its table is opened, and on disk before any noise is drawn."""

    def __init__(
        self,
        ledger: PrivacyLedger,
        request: Request,
        beliefs: Beliefs,
        unit_terms: Mapping[str, Any],
        *,
        what: str,
        **more: Any,
    ) -> None:
        """`unit_terms` state the privacy unit; `more` are public parameters in addition to the request."""
        self._ledger, self._budget = ledger, request.budget
        self._entry_fields: dict[str, Any] = {
            "terms": terms_of(request.budget, request.relation, unit_terms),
            "private": request.noise.private,
            "what": what,
            "parameters": _digest_parameters(what, request, beliefs, **more),
        }
        self._entry: Charged | None = None

    def charge(self, *costs: Costs) -> None:
        """Charge the costs, or raise BudgetExceededError."""
        self._entry = self._ledger.charge(Charge(self._budget, costs), **self._entry_fields)

    def note(self, *, refused: bool) -> None:
        """Record the outcome; do nothing if public numbers refused the release before the debit."""
        if self._entry is not None:
            self._entry.note_outcome(refused=refused)


def terms_of(budget: Budget, relation: Neighbors, unit_terms: Mapping[str, Any]) -> Terms:
    """Return the terms of a release with this privacy unit."""
    return Terms(budget, relation, unit_terms.get("privacy_unit", "row"), unit_terms.get("privacy_id"))


def check_ledger(ledger: object) -> None:
    """Check that this is a ledger or None, before any table is opened."""
    if not isinstance(ledger, PrivacyLedger | None):
        kind = type(ledger).__name__
        raise InvalidParameterError(f"`ledger` must be a dimfree.PrivacyLedger, got {kind}. No budget was charged.")


def _digest_parameters(what: str, request: Request, beliefs: Beliefs, **more: Any) -> str:
    """Return the SHA-256 of the public parameters of a run, covariance and bounds included."""
    basis = beliefs.basis
    if basis is not None:  # the image of a fixed public vector identifies the basis
        turned = basis.move_vector(np.arange(1.0, basis.dimension + 1) / basis.dimension)
    content = {
        "program": what,
        "epsilon": request.budget.epsilon,
        "delta": request.budget.delta,
        "neighbors": request.relation.value,
        "missing": request.missing,
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
