"""`release_mean`: the whole course of one release, from the request to the Release.

The programs: `known` (a known covariance), `unknown` (nothing known but the records), `columns` (every column
separately). They run on the privacy kernel and hold no record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dimfree.accounting.budget import Neighbours
from dimfree.beliefs import Beliefs
from dimfree.data.gpu.device import device_memory_unspoken
from dimfree.data.records import Records
from dimfree.errors import DimfreeError, InvalidParameter, memory_unspoken
from dimfree.kernel import PrivateTable
from dimfree.ledger.charging import Debit, check_ledger
from dimfree.ledger.ledger import Ledger
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.programs.ball import METHOD as BALL
from dimfree.programs.ball import refuse_ball, release_ball
from dimfree.programs.columns.run import refuse_columns, release_columns
from dimfree.programs.known import refuse_known, release_known
from dimfree.programs.run import OUT_OF_RANGE, Run
from dimfree.programs.unknown import refuse_unknown, release_unknown
from dimfree.request import Learned, NeighboursName, Objective, OnMissing, Request, open_records
from dimfree.results.release import Release
from dimfree.shapes import Shape


class Program(NamedTuple):
    """How to release, what the public number of records alone refuses under replace-one, and the name of a refusal."""

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
    covariance: ArrayLike | None = None,
    shape: Shape | Learned | None = None,
    basis: object = "auto",
    neighbours: NeighboursName | Neighbours = "add-remove",
    unit: object = None,
    unit_rows: int | None = None,
    on_missing: OnMissing = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    norm: float | None = None,
    ledger: Ledger | None = None,
    device: str | None = None,
    noise: Noise | None = None,
    options: Options = Options(),
) -> Release:
    """Release the mean of the rows of X with (epsilon, delta)-differential privacy in total.

    Guarantee: for neighbouring X the releases, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and on_missing="drop" or "column" (or "raise" where nothing is missing). Proof: proofs/README.md.

    Nothing but the budget need be given: location, scale and variances are then learned inside it. Knowing more gives
    less noise.

    Parameters
    ----------
    X : table of numbers, shape (n, d)
        One row is one person, unless `unit` says otherwise. An array, a frame, a sparse matrix, an AnnData, a Dask
        array or frame, a tensor, a polars LazyFrame, a DuckDB relation or another Arrow stream, the path of a file, or
        what `read_table` returns (docs/formats.md). X is never written to.
    epsilon : float
        The total privacy loss of this release. A `WeakGuaranteeWarning` is issued above 10, before anything is read.
    delta : float
        The slack in that promise; far below 1 / n. A `WeakGuaranteeWarning` is issued above 1e-3, or, with
        neighbours="replace-one", above a tenth of 1 / n. Nothing is charged before it.
    objective : {"auto", "relative", "total"}
        What "accurate" means. "relative": the error of every column is small beside that column's own spread, whatever
        the units; every column is read by itself, with Gaussian noise alone. Refused, by public numbers, where the
        records are too few for so many columns. "total": the least Euclidean error; wide columns count most. "auto":
        "relative" for a table with named columns, if the released number of records is large enough, else "total".
        `covariance`, `shape` and a named `basis` go with "total" only. docs/choosing.md says which suits what.
    covariance : array, shape (d,) or (d, d), optional
        Publicly known variances of the columns, or their covariance matrix. Never computed from X.
    shape : Shape or "auto", optional
        The same knowledge as a `Diagonal`, `Dense`, `LowRank` or `Isotropic`, or from `shape_from`. "auto", the default
        without `covariance`, learns the variances.
    basis : str, matrix, LinearOperator or None
        The coordinates in which the noise is shaped, where the shape is learned. "auto" asks the records, inside the
        budget, whether their own axes, a cosine transform over the order of the columns, or learned directions promise
        less noise than a spherical one. None keeps the columns as they are. "dct", an
        orthonormal matrix whose rows are the axes, or a SciPy LinearOperator name others;
        docs/guide.md says what they cost in memory. Mean, noise_stddev and intervals are always in the columns of X.
    neighbours : {"add-remove", "replace-one"}
        "add-remove" protects the number of records too; "replace-one" takes it as public.
    unit : str or one key for each row, optional
        Whose each row is: the name of a column of X, which is then no coordinate, or the keys themselves (text,
        verbatim, or whole numbers; 7, 7.0 and "7" are one key, "007" is another; docs/choosing.md). A pandas Series
        with a DataFrame must have its index. All rows of a person first become one record, their mean. So the guarantee
        is for persons with all their rows (proofs/data/people/person_records.md), and the mean of person means is
        estimated. Where people share a key (a household), one of them is promised 2 epsilon and
        (1 + exp(epsilon)) delta under add/remove.
    unit_rows : int, optional
        With `unit`: a public number. A person counts with the total of their first rows, so many at most, instead of
        their mean.
    on_missing : {"raise", "drop", "column"}
        An entry that is not a finite number is missing: NaN, a null, an empty cell, infinity, and, with "drop" and
        "column", what is no number in a list or frame. "raise" stops at one, at a missing key, and at a column of
        keys that mixes kinds, such as text and numbers. The error tells the caller about the
        data and is not covered by the guarantee. "drop" gives a row with a missing entry no weight; with `unit` it
        leaves the row out of the record of its person. "column" estimates each column's mean over the people who have
        it, and releases their share in each column too (`Release.present`); every column is then read by itself, so
        that `covariance`, `shape`, a named `basis` and `unit_rows` must be left out. With `unit` the record of a person
        is, in each column, the mean of their rows that have it. "drop" and "column" leave out rows without a key.
    columns : str or sequence of str, optional
        The names of the columns to release, where X has names; the others are not looked at. They keep their order.
    exclude : str or sequence of str, optional
        The names of columns to leave out, such as identifiers. A column that was not asked for and has the name of an
        identifier ("patient_id", "index") brings an `IdentifierWarning` before anything is spent.
    bounds : mapping of names to (low, high), optional
        Publicly known ends of columns, such as {"age": (0, 120)}, never computed from X: an entry beyond counts as the
        bound, before anything else is done with it. A column without a name goes by its place. The release states them.
    norm : float, optional
        A publicly known bound on the Euclidean length of every record, as of unit-norm embeddings or clipped updates.
        Longer records are clipped to it. Any number of records is answered: there is no core and no refusal.
    ledger : Ledger, optional
        A persistent budget. It is charged before any noise is drawn. A refusal that public numbers alone decide, and
        an error about the table, cost nothing.
    device : str, optional
        "cuda" works on a GPU (docs/gpu.md), as it does wherever X is a tensor on one; "cpu" does not. The release is
        the same to the last bit.
    noise : Noise, optional
        For tests. Leave it None to be private.
    options : Options
        Expert options: core_sample, scale, tails, outliers, window, failure_probability.

    Returns
    -------
    Release
        The mean with its noise, guarantee and charges; or a refusal with a public reason. Where every column was read
        by itself, `method` is "columns", `parameters["objective"]` says what was aimed at, `reach` how far from a
        centre records counted in full, and `resolved` which columns' spreads were learned.

    Raises
    ------
    InvalidParameter
        A parameter cannot be used. Nothing is charged.
    InvalidRecords
        X is no table of numbers, or, with on_missing="raise", a row is invalid. Nothing is charged.
    BudgetExceeded
        Not enough is left in `ledger`.
    InstallationError
        OpenDP or SciPy cannot be loaded, or the noise source does not work. Nothing is charged.

    Notes
    -----
    Not covered by the guarantee: running time, and part of the memory taken. The core's buffers are sized by public
    numbers; the table's own size shows, and the memory of the operating system is not under our control
    (docs/limits.md).

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import release_mean
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> release_mean(X, epsilon=1.0, delta=1e-6).dimension
    5
    """
    request = Request.checked(**{name: value for name, value in locals().items() if name not in ("X", "ledger")})
    check_ledger(ledger)
    records, whose = open_records(X, request)
    if request.relation is Neighbours.REPLACE_ONE:
        request.warn_of_weak_guarantee(records.count)
    beliefs, bounds = Beliefs.of(request, records.dimension, records.columns), stated_bounds(records)
    debit = None
    if ledger is not None:
        debit = Debit(ledger, request, beliefs, whose, what=f"mean, {request.program}", **bounds)
    return complete(prepare(request, beliefs, records), request, whose, debit)


def prepare(request: Request, beliefs: Beliefs, records: Records) -> Run:
    """Hand the records to the kernel, and return the run that works on them. No value is looked at."""
    table = PrivateTable.holding(
        records,
        beliefs.shape,
        beliefs.basis,
        request.budget,
        request.relation,
        request.noise,
        by_entry=request.on_missing == "column",
    )
    return beliefs.run(request, table, records.columns, stated_bounds(records))


def stated_bounds(records: Records) -> Mapping[str, Any]:
    """Return the public bounds within which entries were held as they were read, as parameters of the release."""
    return {} if records.bounds is None else records.bounds.stated()


def complete(run: Run, request: Request, whose: Mapping[str, Any], debit: Debit | None = None) -> Release:
    """Return the release of a run; its ledger is charged before any noise is drawn. `whose`: the privacy unit."""
    program = PROGRAMS[request.program]
    with (
        device_memory_unspoken(),
        memory_unspoken(),
        np.errstate(all="ignore"),
    ):  # a floating-point error would end a run that has spent its budget
        if run.relation is Neighbours.REPLACE_ONE and (refusal := program.refuse(run)):
            # before any value is looked at, but to make records of persons' rows
            return with_terms(refusal, whose)
        run.table.require_valid(request.on_missing)
        if debit is not None:
            run.table.charge_with(debit.charge)
        release = _in_range(run, program)
        if debit is not None:
            debit.note(refused=release.refused)
        return with_terms(release, whose)


def _in_range(run: Run, program: Program) -> Release:
    """The release; a refusal where the released numbers lead out of the range of the arithmetic.

    The kernel raises nothing that depends on a record, so where this happens is a function of released numbers.
    """
    try:
        return program.release(run)
    except InvalidParameter:  # a number of the release is not finite; whatever a caller can get wrong was checked
        if run.table.costs is None:
            raise
    except DimfreeError:
        raise
    except (ArithmeticError, IndexError, ValueError):  # the kernel's RangeError is a ValueError
        if run.table.costs is None:
            raise
    return run.refused(OUT_OF_RANGE, program.method, run.table.costs)


def with_terms(release: Release, whose: Mapping[str, Any]) -> Release:
    """Return the same release, whose guarantee states the privacy unit, and its parameters what is estimated."""
    promise = replace(release.guarantee, **whose)
    return replace(release, guarantee=promise, parameters={**release.parameters, "estimates": promise.estimates})
