"""What a run is charged, computed from public numbers before anything is drawn.

Guarantee: a charge depends on budget, relation and options only; under add/remove not on the number of records. It
covers every path of the run. Proof: proofs/ledger/spending.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.beliefs import Beliefs
from dimfree.errors import InvalidParameter
from dimfree.kernel.rows.bases.basis import Basis
from dimfree.ledger.chain import digest_of
from dimfree.ledger.ledger import Charged, Ledger
from dimfree.ledger.spending import Charge
from dimfree.ledger.terms import Terms
from dimfree.request import Request


class Debit:
    """The debit of one release: made when its table is opened, and on disk before anything is drawn."""

    def __init__(
        self,
        ledger: Ledger,
        request: Request,
        beliefs: Beliefs,
        whose: Mapping[str, Any],
        *,
        what: str,
        **more: Any,
    ) -> None:
        """`whose`: the privacy unit; `more`: public parameters beside those of the request."""
        terms = terms_of(request.budget, request.relation, whose)
        digest = public_digest(what, request, beliefs, **more)
        private = request.noise.private
        self._charge = partial(ledger.charge, terms=terms, private=private, what=what, parameters=digest)
        self._budget = request.budget
        self._entry: Charged | None = None

    def charge(self, *costs: Costs) -> None:
        """Charge the costs; BudgetExceeded if not enough is left."""
        self._entry = self._charge(Charge(self._budget, costs))

    def note(self, *, refused: bool) -> None:
        """Note how the release ended; nothing, if public numbers refused it before a debit."""
        if self._entry is not None:
            self._entry.noted(refused=refused)


def terms_of(budget: Budget, relation: Neighbours, whose: Mapping[str, Any]) -> Terms:
    """What a release promises, and about whom; `whose` is the text of its guarantee about persons."""
    return Terms(budget, relation, whose.get("unit", "row"), whose.get("unit_column"))


def check_ledger(ledger: object) -> None:
    """Check that this is a ledger or None, before any table is opened."""
    if not isinstance(ledger, Ledger | None):
        kind = type(ledger).__name__
        raise InvalidParameter(
            f"Expected ledger to be a dimfree.Ledger, got {kind}: with dimfree.Ledger(...) as ledger."
        )


def _basis_digest(basis: Basis | None) -> str | None:
    """A digest of the image of a fixed public vector, which tells bases apart."""
    if basis is None:
        return None
    turned = basis.moved(np.arange(1.0, basis.dimension + 1) / basis.dimension)
    return f"{basis.name} {hashlib.sha256(turned.tobytes()).hexdigest()}"


def public_digest(what: str, request: Request, beliefs: Beliefs, **more: Any) -> str:
    """SHA-256 of the public parameters of a run, covariance and bounds included: the same give the same digest."""
    options = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(request.options).items()
    }
    return digest_of(
        {
            "program": what,
            "epsilon": request.budget.epsilon,
            "delta": request.budget.delta,
            "neighbours": request.relation.value,
            "on_missing": request.on_missing,
            "options": {**options, "window": list(options["window"])},
            "basis": "auto" if request.chooses_basis else _basis_digest(beliefs.basis),
            "columns": len(beliefs.spectrum),
            "spectrum": hashlib.sha256(beliefs.spectrum.tobytes()).hexdigest(),
            **more,
        }
    )
