"""`algorithm1` and `algorithm2`: the algorithms of the paper, from a table to a `Release`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dimfree._validate import check_choice, check_columns, check_magnitude, check_positive
from dimfree.accounting.budget import Neighbors
from dimfree.accounting.guarantee import Guarantee
from dimfree.data.gpu.device import redact_device_memory_errors
from dimfree.data.records import BY_ROW
from dimfree.errors import AccountingError, DimfreeError, InvalidParameterError, redact_memory_errors
from dimfree.ledger.charging import check_ledger, terms_of
from dimfree.ledger.ledger import Charged, PrivacyLedger
from dimfree.ledger.spending import Charge
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.averaging import Block
from dimfree.paper.kernel import PaperTable
from dimfree.paper.unknown_covariance import Outcome, average_by_halves, whole_half
from dimfree.programs.run import CAUTION, DROPPED, OUT_OF_RANGE
from dimfree.request import Persons, Request, open_records
from dimfree.results.error_model import ErrorModel
from dimfree.results.release import Release
from dimfree.shapes import Covariance, DiagonalCovariance, IsotropicCovariance, as_covariance

LOW_WEIGHT = (
    "Too few records are within the given radius of each other at this budget, or they lie too far from zero for it."
)


def algorithm1(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    covariance: ArrayLike | Covariance | None = None,
    neighbors: Literal["add-remove", "replace-one"] | Neighbors = "add-remove",
    privacy_unit: object = None,
    max_contributions: int | None = None,
    missing: Literal["raise", "complete-case"] = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    ledger: PrivacyLedger | None = None,
    noise: Noise | None = None,
) -> Release:
    """Release the mean by Algorithm 1 of the paper (Avg, with BasicFilter), for any M and λ.

    Guarantee: (epsilon, delta)-differential privacy under `neighbors`, whatever M and λ; both must not depend on the
    records. Proof: proofs/paper/averaging.md.

    Parameters
    ----------
    X : table
        Any table that `release_mean` takes.
    epsilon, delta : float
        The privacy budget of the release.
    radius : float
        λ: records x, y are friends if ``|M^(-1/4) (x - y)| <= radius``. If M is the covariance of n Gaussian records,
        and T and v are the trace and the largest eigenvalue of ``M^(1/2)``, all pairs are friends at
        ``sqrt(2 T) + 2 sqrt(2 v log(n / β))`` except with probability about β.
    covariance : array_like or Covariance, optional
        M, as variances (d,), a matrix (d, d) or a `Covariance`. Default: the identity.
    neighbors, privacy_unit, max_contributions, missing, columns, exclude, ledger, noise
        As in `release_mean`; `missing` is "raise" or "complete-case".

    Returns
    -------
    Release
        The mean with its noise and charges, or a refusal. Intervals cover the noise alone.

    Raises
    ------
    InvalidParameterError, InvalidDataError, BudgetExceededError
        As in `release_mean`. Nothing is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree.paper import algorithm1
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> algorithm1(X, epsilon=1.0, delta=1e-6, covariance=np.ones(5), radius=18.0).dimension
    5
    """
    check_choice("missing", missing, BY_ROW)
    radius = check_positive("radius", radius)
    covariance = IsotropicCovariance(1.0) if covariance is None else covariance
    request = Request.from_arguments(options=Options(), **_request_of(locals()))
    check_ledger(ledger)
    opened = open_records(X, request)
    if request.relation is Neighbors.REPLACE_ONE:
        request.warn_of_weak_guarantee(opened.records.count)
    known = as_covariance(covariance, opened.records.dimension)
    check_magnitude("covariance", known.spectrum(opened.records.dimension))
    block = Block(known, radius)
    return release_by(lambda table: average_all(table, block), opened, request, ledger, "basic")


def average_all(table: PaperTable, block: Block) -> Outcome:
    """Run Algorithm 1: one average with the whole budget."""
    found = table.average(block, whole_half(table.budget, table.relation).average(1))
    if found is None:
        return Outcome(refusal=LOW_WEIGHT)
    apart = isinstance(block.shape, DiagonalCovariance | IsotropicCovariance)
    principal = None if apart else found.rescaled_variance * block.shape.spectrum(table.dimension)
    return Outcome({"radius": block.radius}, found.mean, np.sqrt(found.variance), noise_principal=principal)


def algorithm2(
    X: object,
    *,
    epsilon: float,
    delta: float,
    neighbors: Literal["add-remove", "replace-one"] | Neighbors = "add-remove",
    privacy_unit: object = None,
    max_contributions: int | None = None,
    missing: Literal["raise", "complete-case"] = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    failure_probability: float = 0.01,
    ledger: PrivacyLedger | None = None,
    noise: Noise | None = None,
) -> Release:
    """Release the mean by Algorithm 2 of the paper, without prior knowledge.

    Guarantee: (epsilon, delta)-differential privacy under `neighbors`. Proof: proofs/paper/kernel.md.
    The released mean is that of a random half of the records plus noise. `noise_stddev` and intervals cover the
    distance from that half's mean. The mean of all records differs from it by a standard error of σ/sqrt(n).

    Parameters
    ----------
    X : table
        Any table that `release_mean` takes.
    epsilon, delta : float
        The privacy budget of the release.
    failure_probability : float
        β in the choice of k, l, m and λ. It does not affect privacy.
    neighbors, privacy_unit, max_contributions, missing, columns, exclude, ledger, noise
        As in `release_mean`; `missing` is "raise" or "complete-case".

    Returns
    -------
    Release
        The mean with its noise and charges, or a refusal with a public reason.

    Raises
    ------
    InvalidParameterError, InvalidDataError, BudgetExceededError
        As in `release_mean`. Nothing is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree.paper import algorithm2
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> algorithm2(X, epsilon=1.0, delta=1e-6).dimension
    5
    """
    check_choice("missing", missing, BY_ROW)
    request = Request.from_arguments(options=Options(failure_probability=failure_probability), **_request_of(locals()))
    check_ledger(ledger)
    opened = open_records(X, request)
    if request.relation is Neighbors.REPLACE_ONE:
        request.warn_of_weak_guarantee(opened.records.count)
    failure = CAUTION * request.options.failure_probability
    return release_by(lambda table: average_by_halves(table, failure), opened, request, ledger, "paper")


def _request_of(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call that a request of `release_mean` has too."""
    return {name: arguments[name] for name in arguments.keys() - {"X", "radius", "failure_probability", "ledger"}}


def release_by(
    program: Callable[[PaperTable], Outcome],
    opened: Persons,
    request: Request,
    ledger: PrivacyLedger | None,
    method: str,
) -> Release:
    """Run a program on the opened records. A ledger is charged the guarantee, before the program's first charge."""
    (records, unit), entries, budget = opened, list[Charged](), request.budget
    check_columns(records.dimension, budget.epsilon)

    def debit() -> None:
        if ledger is not None:
            terms, private = terms_of(budget, request.relation, unit), request.noise.private
            entries.append(ledger.charge(Charge(budget), terms=terms, private=private, what=f"mean, {method}"))

    table = PaperTable(records, budget, request.relation, request.noise, missing=request.missing, debit=debit)
    with redact_device_memory_errors(), redact_memory_errors(), np.errstate(all="ignore"):
        outcome = _outcome_in_range(program, table)
    costs = table.composition
    if not costs.fits():  # by the kernel it never happens; nothing leaves if it does
        raise AccountingError("The charges of this release exceed its budget. Nothing was released.")
    for entry in entries:
        entry.note_outcome(refused=outcome.refusal is not None)
    guarantee = replace(Guarantee(budget.epsilon, budget.delta, request.relation, table.is_private), **unit)
    bounds = {} if records.bounds is None else records.bounds.to_parameters()
    common: dict[str, Any] = {
        "guarantee": guarantee,
        "charges": costs,
        "method": method,
        "dimension": records.dimension,
        "columns": records.columns,
        "parameters": {**outcome.public, **bounds, "estimates": guarantee.estimates},
    }
    if outcome.mean is None or outcome.noise_stddev is None:
        advice = DROPPED if request.missing == "complete-case" else ""
        return Release.from_refusal(f"{outcome.refusal}{advice}", **common)
    model = ErrorModel(outcome.noise_principal)  # no SD of the records is stated: intervals cover the noise alone
    return Release.released(mean=outcome.mean, noise_stddev=outcome.noise_stddev, error_model=model, **common)


def _outcome_in_range(program: Callable[[PaperTable], Outcome], table: PaperTable) -> Outcome:
    """Run the program; refuse if released numbers leave the range of the arithmetic.

    The kernel raises nothing that depends on a record, so whether this happens is a function of released numbers.
    """
    try:
        outcome = program(table)
        parts = (outcome.mean, outcome.noise_stddev, outcome.noise_principal)
        if all(part is None or np.isfinite(part).all() for part in parts):
            return outcome
    except (ArithmeticError, IndexError, ValueError) as error:
        caller = isinstance(error, DimfreeError) and not isinstance(error, InvalidParameterError)
        if caller or not table.composition.losses:
            raise
    return Outcome(refusal=OUT_OF_RANGE)
