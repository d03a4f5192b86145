"""From an opened table to a `Release` by one of the paper's algorithms: run the program, write its outcome down."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_columns
from dimfree.accounting.guarantee import Guarantee
from dimfree.data.gpu.device import device_memory_unspoken
from dimfree.errors import AccountingError, DimfreeError, InvalidParameter, memory_unspoken
from dimfree.ledger.charging import terms_of
from dimfree.ledger.ledger import Charged, Ledger
from dimfree.ledger.spending import Charge
from dimfree.paper.kernel import PaperTable
from dimfree.programs.run import DROPPED, OUT_OF_RANGE
from dimfree.request import Persons, Request
from dimfree.results.error_model import ErrorModel
from dimfree.results.release import Release


@dataclass(frozen=True)
class Outcome:
    """What a program found: a mean with the standard deviation of its noise, or a refusal. Released and public."""

    public: Mapping[str, float] = field(default_factory=dict)
    mean: Floats | None = None
    noise_stddev: Floats | None = None
    refusal: str | None = None
    noise_principal: Floats | None = None  # principal variances of the noise, if the coordinates are not principal


Program = Callable[[PaperTable], Outcome]


def release_by(program: Program, opened: Persons, request: Request, ledger: Ledger | None, method: str) -> Release:
    """Run a program on the opened records. A ledger is charged the guarantee, before the program's first charge."""
    (records, unit), entries = opened, list[Charged]()
    check_columns(records.dimension, request.budget.epsilon)

    def debit() -> None:
        if ledger is not None:
            terms, private = terms_of(request.budget, request.relation, unit), request.noise.private
            entries.append(ledger.charge(Charge(request.budget), terms=terms, private=private, what=f"mean, {method}"))

    table = PaperTable(
        records, request.budget, request.relation, request.noise, on_missing=request.on_missing, debit=debit
    )
    with device_memory_unspoken(), memory_unspoken(), np.errstate(all="ignore"):
        outcome = _outcome_in_range(program, table)
    costs = table.composition
    if not costs.fits():  # by the kernel it never happens; nothing leaves if it does
        raise AccountingError("The charges of this release exceed its budget.")
    for entry in entries:
        entry.noted(refused=outcome.refusal is not None)
    guarantee = replace(
        Guarantee(request.budget.epsilon, request.budget.delta, request.relation, table.is_private), **unit
    )
    bounds = {} if records.bounds is None else records.bounds.stated()
    common: dict[str, Any] = {
        "guarantee": guarantee,
        "ledger": costs,
        "method": method,
        "dimension": records.dimension,
        "columns": records.columns,
        "parameters": {**outcome.public, **bounds, "estimates": guarantee.estimates},
    }
    if outcome.mean is None or outcome.noise_stddev is None:
        advice = DROPPED if request.on_missing == "drop" else ""
        return Release.refused_because(f"{outcome.refusal}{advice}", **common)
    model = ErrorModel(outcome.noise_principal)  # no SD of the records is stated: intervals cover the noise alone
    return Release.released(mean=outcome.mean, noise_stddev=outcome.noise_stddev, error_model=model, **common)


def _outcome_in_range(program: Program, table: PaperTable) -> Outcome:
    """Run the program; refuse if released numbers leave the range of the arithmetic.

    The kernel raises nothing that depends on a record, so whether this happens is a function of released numbers.
    """
    try:
        outcome = program(table)
        parts = (outcome.mean, outcome.noise_stddev, outcome.noise_principal)
        if all(part is None or np.isfinite(part).all() for part in parts):
            return outcome
    except (ArithmeticError, IndexError, ValueError) as error:
        caller = isinstance(error, DimfreeError) and not isinstance(error, InvalidParameter)
        if caller or not table.composition.losses:
            raise
    return Outcome(refusal=OUT_OF_RANGE)
