"""`release_mean`: all steps of one release, from the request to the Release.

The estimators: `known` (known covariance), `unknown` (no prior knowledge), `columns` (every column separately) and
`ball` (known bound on the length of records). They run on the privacy kernel and hold no record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dimfree.accounting.budget import Neighbors
from dimfree.beliefs import Beliefs
from dimfree.data.gpu.device import redact_device_memory_errors
from dimfree.data.records import Records
from dimfree.errors import DimfreeError, InvalidParameterError, redact_memory_errors
from dimfree.kernel import PrivateTable
from dimfree.ledger.charging import Debit, check_ledger
from dimfree.ledger.ledger import PrivacyLedger
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.programs.ball import METHOD as BALL
from dimfree.programs.ball import refuse_ball, release_ball
from dimfree.programs.columns.run import refuse_columns, release_columns
from dimfree.programs.known import refuse_known, release_known
from dimfree.programs.run import OUT_OF_RANGE, Run
from dimfree.programs.unknown import refuse_unknown, release_unknown
from dimfree.request import Missing, NeighborsName, Objective, Request, open_records
from dimfree.results.release import Release
from dimfree.shapes import Covariance


class Program(NamedTuple):
    """An estimator, its refusal by the public number of records (replace-one), and the method that a refusal states."""

    release: Callable[[Run], Release]
    refuse: Callable[[Run], Release | None]
    method: str


PROGRAMS: dict[str, Program] = {
    "known": Program(release_known, refuse_known, "stable"),
    "unknown": Program(release_unknown, refuse_unknown, "auto"),
    "columns": Program(release_columns, refuse_columns, "columns"),
    "ball": Program(release_ball, refuse_ball, BALL),
}


def release_mean(
    X: object,
    *,
    epsilon: float,
    delta: float,
    objective: Objective = "auto",
    covariance: "ArrayLike | Covariance | None" = None,
    basis: object = "auto",
    neighbors: NeighborsName | Neighbors = "add-remove",
    privacy_unit: object = None,
    max_contributions: int | None = None,
    missing: Missing = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    norm: float | None = None,
    ledger: PrivacyLedger | None = None,
    device: str | None = None,
    noise: Noise | None = None,
    options: Options = Options(),
) -> Release:
    """Release the mean of every column of a table with (epsilon, delta)-differential privacy.

    Guarantee: for tables that differ by one record (`neighbors`), or with `privacy_unit` by one person with all their
    rows, all outcomes, refusals included, are (epsilon, delta)-indistinguishable. This holds for the default noise, and
    for `missing="complete-case"` or `"available-case"`, or if no value is missing. Proof: proofs/README.md.

    Parameters
    ----------
    X : table of numbers, shape (n, d)
        One row per person, unless `privacy_unit` is given: an array, a frame, a sparse matrix, a tensor, a Dask table,
        a path, or what `read_table` returns. docs/reference/formats.md lists all formats. X is never modified.
    epsilon, delta : float
        The total privacy budget of this release. delta is far below 1 / n.
    objective : {"auto", "relative", "total"}
        Which error is small: "relative" that of each column relative to its SD, "total" the Euclidean error. "auto" is
        "relative" for a table with named columns and enough rows, else "total".
    covariance : array of shape (d,) or (d, d), or Covariance, optional
        Publicly known variances or covariance, never computed from X. Without it they are privately estimated.
    basis : {"auto", "dct"}, matrix, LinearOperator or None
        The coordinates of the noise, if the covariance is estimated. "auto" chooses them within the budget. None keeps
        the columns. A matrix has orthonormal rows, the axes. Means and intervals are always in the columns of X.
    neighbors : {"add-remove", "replace-one"}
        The neighboring relation. "add-remove" also protects the number of records; "replace-one" takes it as public.
    privacy_unit : str or one privacy ID per row, optional
        The column of privacy IDs. All rows of a person become one record, their mean, and the guarantee is for persons
        with all their rows. If several people share an ID (a household), one of them has 2 epsilon and
        (1 + exp(epsilon)) delta under add-remove.
    max_contributions : int, optional
        With `privacy_unit`: a person counts with the sum of their first rows, up to this number, not with their mean.
    missing : {"raise", "complete-case", "available-case"}
        "raise" stops at a missing value; this error depends on the data and is not covered by the guarantee.
        "complete-case" gives a row with a missing value no weight. "available-case" estimates the mean of each column
        over the people who have a value there, and releases their share (`Release.present`); it excludes `covariance`,
        a named `basis` and `max_contributions`.
    columns, exclude : str or sequence of str, optional
        Names of the columns to release, or to leave out. A column that is named like an identifier and was not asked
        for raises an `IdentifierWarning` before any budget is charged.
    bounds : mapping of names to (low, high), optional
        Publicly known bounds of columns, never computed from X; an entry beyond counts as the bound. Columns without
        names go by position.
    norm : float, optional
        A publicly known bound on the Euclidean length of every record, as of embeddings. Longer records are clipped.
        This estimator has neither a stable core nor refusals.
    ledger : PrivacyLedger, optional
        A persistent budget, charged before any noise is drawn.
    device : {"cuda", "cpu"} or a device such as "cuda:1", optional
        Where the records are processed. The release is the same, bit for bit (docs/how-to/gpu.md).
    noise : Noise, optional
        `dimfree.testing.SeededNoise` for tests; then the release states that it is not private.
    options : Options
        Expert options.

    Returns
    -------
    Release
        The mean with its noise SD and confidence intervals; or a refusal (`release.refused`), if there are too few
        records for this budget.

    Raises
    ------
    InvalidParameterError
        A parameter cannot be used. No budget was charged.
    InvalidDataError
        X is not a table of numbers, or has a missing value with missing="raise". No budget was charged.
    BudgetExceededError
        The ledger has too little budget left. No budget was charged.
    InstallationError
        OpenDP or SciPy cannot be loaded, or the noise source does not work. No budget was charged.

    Notes
    -----
    Running time and part of the memory are not protected (SECURITY.md).

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import release_mean
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> release_mean(X, epsilon=1.0, delta=1e-6).dimension
    5
    """
    request = Request.from_arguments(**{name: value for name, value in locals().items() if name not in ("X", "ledger")})
    check_ledger(ledger)
    records, unit_terms = open_records(X, request)
    if request.relation is Neighbors.REPLACE_ONE:
        request.warn_of_weak_guarantee(records.count)
    beliefs, bounds = Beliefs.of(request, records.dimension, records.columns), state_bounds(records)
    debit = None
    if ledger is not None:
        debit = Debit(ledger, request, beliefs, unit_terms, what=f"mean, {request.program}", **bounds)
    return complete(prepare(request, beliefs, records), request, unit_terms, debit)


def prepare(request: Request, beliefs: Beliefs, records: Records) -> Run:
    """Hand the records to the kernel, and return the run on them. Nothing depends on a value here."""
    table = PrivateTable.from_records(
        records,
        beliefs.shape,
        beliefs.basis,
        request.budget,
        request.relation,
        request.noise,
        by_entry=request.missing == "available-case",
    )
    return beliefs.run(request, table, records.columns, state_bounds(records))


def state_bounds(records: Records) -> Mapping[str, Any]:
    """Return the public bounds to which values were clipped when read, as parameters of the release."""
    return {} if records.bounds is None else records.bounds.to_parameters()


def complete(run: Run, request: Request, unit_terms: Mapping[str, Any], debit: Debit | None = None) -> Release:
    """Charge the ledger, then return the release of a run. `unit_terms` state the privacy unit."""
    program = PROGRAMS[request.program]
    with (
        redact_device_memory_errors(),
        redact_memory_errors(),
        np.errstate(all="ignore"),  # a floating-point error would end a run after its charge
    ):
        if run.relation is Neighbors.REPLACE_ONE and (refusal := program.refuse(run)):
            return with_terms(refusal, unit_terms)  # depends on public numbers only
        run.table.require_valid(request.missing)
        if debit is not None:
            run.table.charge_with(debit.charge)
        release = _run_program(run, program)
        if debit is not None:
            debit.note(refused=release.refused)
        return with_terms(release, unit_terms)


def _run_program(run: Run, program: Program) -> Release:
    """Run the estimator; return a refusal if the released numbers leave the range of the arithmetic.

    The kernel raises nothing that depends on a record, so this is a function of released numbers.
    """
    try:
        return program.release(run)
    except InvalidParameterError:  # a released number is not finite; the parameters were checked before
        if run.table.costs is None:
            raise
    except DimfreeError:
        raise
    except (ArithmeticError, IndexError, ValueError):  # the kernel's RangeError is a ValueError
        if run.table.costs is None:
            raise
    return run.refuse(OUT_OF_RANGE, program.method, run.table.costs)


def with_terms(release: Release, unit_terms: Mapping[str, Any]) -> Release:
    """Return the release with the privacy unit in its guarantee and the estimand in its parameters."""
    guarantee = replace(release.guarantee, **unit_terms)
    return replace(release, guarantee=guarantee, parameters={**release.parameters, "estimates": guarantee.estimates})
