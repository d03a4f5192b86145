"""The paper's Algorithm 1: the mean for a known M and friend radius λ, behind the random filter."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dimfree._validate import check_choice, check_magnitude, check_positive
from dimfree.accounting.budget import Neighbours
from dimfree.data.records import BY_ROW
from dimfree.ledger.charging import check_ledger
from dimfree.ledger.ledger import Ledger
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.averaging import Block
from dimfree.paper.kernel import PaperTable
from dimfree.paper.releasing import Outcome, release_by
from dimfree.paper.shares import whole_half
from dimfree.request import Request, open_records
from dimfree.results.release import Release
from dimfree.shapes import Diagonal, Isotropic, Shape, as_shape

METHOD = "basic"

LOW_WEIGHT = (
    "Too few records agree with each other at the given covariance and budget, or they lie too far from zero for it."
)


def algorithm1(
    X: object,
    *,
    epsilon: float,
    delta: float,
    radius: float,
    covariance: ArrayLike | None = None,
    shape: Shape | None = None,
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    unit: object = None,
    unit_rows: int | None = None,
    on_missing: Literal["raise", "drop"] = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
) -> Release:
    """Release the mean by the paper's Algorithm 1 (Avg, with BasicFilter), for any M and λ.

    Guarantee: (epsilon, delta)-differential privacy under `neighbours`, whatever M and λ; both must not depend on the
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
    covariance : array_like, optional
        M, as variances (d,) or a matrix (d, d). Give this or `shape`.
    shape : Shape, optional
        M as `Isotropic`, `Diagonal`, `Dense` or `LowRank`.
    neighbours, unit, unit_rows, on_missing, columns, exclude, ledger, noise
        As in `release_mean`; `on_missing` is "raise" or "drop".

    Returns
    -------
    Release
        The mean with its noise and charges, or a refusal. Intervals cover the noise alone.

    Raises
    ------
    InvalidParameter, InvalidRecords, BudgetExceeded
        As in `release_mean`. Nothing is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree.paper import algorithm1
    >>> X = np.random.default_rng(0).normal(size=(3000, 5))
    >>> algorithm1(X, epsilon=1.0, delta=1e-6, covariance=np.ones(5), radius=18.0).dimension
    5
    """
    check_choice("on_missing", on_missing, BY_ROW)
    check_positive("radius", radius)
    request = Request.checked(
        epsilon=epsilon,
        delta=delta,
        options=Options(),
        covariance=covariance,
        shape=Isotropic(1.0) if covariance is None and shape is None else shape,
        neighbours=neighbours,
        unit=unit,
        unit_rows=unit_rows,
        on_missing=on_missing,
        columns=columns,
        exclude=exclude,
        noise=noise,
    )
    check_ledger(ledger)
    opened = open_records(X, request)
    if request.relation is Neighbours.REPLACE_ONE:
        request.warn_of_weak_guarantee(opened.records.count)
    known = as_shape(covariance, request.shape, opened.records.dimension)
    check_magnitude("covariance", known.spectrum(opened.records.dimension))
    block = Block(known, radius)
    return release_by(lambda table: average_all(table, block), opened, request, ledger, METHOD)


def average_all(table: PaperTable, block: Block) -> Outcome:
    """Algorithm 1 as a program: the whole budget pays for one average."""
    found = table.average(block, whole_half(table.budget, table.relation).average(1))
    if found is None:
        return Outcome(refusal=LOW_WEIGHT)
    apart = isinstance(block.shape, Diagonal | Isotropic)
    principal = None if apart else found.rescaled_variance * block.shape.spectrum(table.dimension)
    return Outcome({"radius": block.radius}, found.mean, np.sqrt(found.variance), noise_principal=principal)
