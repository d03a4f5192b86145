"""The release as an OpenDP measurement, for a Context, an odometer or a filter with other OpenDP measurements.

`import opendp` below is the library: imports are absolute, and this module is `dimfree.interop.opendp`.
"""

import math
import warnings
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_at_least, check_columns, check_count, check_kind, is_word
from dimfree.accounting.budget import MIN_DELTA, MIN_EPSILON, Budget, Neighbors
from dimfree.bases import as_basis, check_basis
from dimfree.errors import DimfreeError, InvalidDataError, InvalidParameterError, raise_alone
from dimfree.noise import Noise, SeededNoise, SystemNoise
from dimfree.options import AUTO, Options
from dimfree.release import release_mean
from dimfree.request import Objective
from dimfree.results.release import Release
from dimfree.shapes import as_covariance

RELATIONS = {
    "SymmetricDistance": Neighbors.ADD_REMOVE,
    "InsertDeleteDistance": Neighbors.ADD_REMOVE,
    "ChangeOneDistance": Neighbors.REPLACE_ONE,
    "HammingDistance": Neighbors.REPLACE_ONE,
}
UNORDERED = ("SymmetricDistance", "ChangeOneDistance")  # distances between multisets, without an order of rows
FEATURES = ("contrib", "honest-but-curious")

_ROUNDING = (
    1 + 1e-12
)  # above the rounding of a group delta: exp of at most 709, with relative error 2^-53 of its argument
_KEYS = 2**62
_DOMAIN_REMEDY = "Pass opendp.prelude.numpy.array2_domain(T=float, num_columns=d)"


def make_private_mean(
    input_domain: Any,
    input_metric: Any,
    epsilon: float,
    delta: float,
    *,
    objective: Objective = "auto",
    covariance: ArrayLike | None = None,
    basis: Any = AUTO,
    options: Options = Options(),
) -> Any:
    """Return an OpenDP measurement that releases the mean of the rows, or a refusal, as a `Release`.

    Guarantee: for arrays at distance 1, outputs are (epsilon, delta)-indistinguishable; at distance k the privacy map
    returns group privacy, rounded up (`group_loss`). The measure is Approximate(MaxDivergence).

    Parameters
    ----------
    input_domain : OpenDP domain
        `dp.numpy.array2_domain(T=float, num_columns=d)`. The number of columns is required, because it is public.
    input_metric : OpenDP metric
        The neighboring relation. SymmetricDistance and InsertDeleteDistance count added and removed rows (a replacement
        is 2). ChangeOneDistance and HammingDistance count replaced rows; the number of rows is public.
    epsilon, delta, objective, covariance, basis, options
        See `release_mean`. Rows that are not finite have no weight. Objective "auto" is "total" here.

    Returns
    -------
    Measurement

    Notes
    -----
    User measurements need `dp.enable_features("contrib", "honest-but-curious")`: OpenDP does not verify the privacy map
    (proofs/README.md). In a Context, after `dp.register(make_private_mean)`: `context.query().private_mean(1.0,
    1e-7)`; without epsilon, OpenDP uses the largest one that the remaining budget allows.
    """
    dimension, size = _read_schema(input_domain)
    kind = str(input_metric.type) if hasattr(input_metric, "type") else type(input_metric).__name__
    if kind not in RELATIONS:
        raise InvalidParameterError(f"`input_metric` must be one of {', '.join(RELATIONS)}, got {kind}.")
    budget = Budget(epsilon, delta)
    check_at_least("epsilon", budget.epsilon, MIN_EPSILON)
    check_at_least("delta", budget.delta, MIN_DELTA)
    check_columns(dimension, budget.epsilon)
    known, axes = _convert_prior(covariance, basis, dimension)
    given: dict[str, Any] = {"objective": objective, "covariance": known, "basis": axes, "options": options}
    given["neighbors"] = RELATIONS[kind]
    # a release of no rows: a wrong parameter fails now, not after a Context has charged for it
    release_mean(np.empty((0, dimension)), epsilon=1.0, delta=1e-6, noise=SeededNoise(0), **given)
    public_size = size if RELATIONS[kind] is Neighbors.REPLACE_ONE else None

    def answer(X: object) -> Release:
        table, noise = _check_table(X, dimension, public_size), SystemNoise()
        return _redact_errors(_shuffle(table, noise) if kind in UNORDERED else table, budget, given, noise)

    import opendp.prelude as dp
    from opendp.mod import GLOBAL_FEATURES

    if set(FEATURES) - set(GLOBAL_FEATURES):
        raise InvalidParameterError(
            "OpenDP requires consent to user measurements: call "
            'opendp.prelude.enable_features("contrib", "honest-but-curious") first.'
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        measure = dp.approximate(dp.max_divergence())
        loss = partial(group_loss, budget)
        return dp.m.make_user_measurement(input_domain, input_metric, measure, answer, loss)


def group_loss(budget: Budget, steps: int) -> tuple[float, float]:
    """Return (epsilon, delta) for arrays `steps` apart, rounded up: k epsilon and delta Σ_{i<k} e^{i epsilon}.

    Group privacy: each step multiplies by e^epsilon and adds delta. A delta of 1 always holds.
    """
    check_kind("budget", budget, Budget)
    steps = check_count("steps", steps, least=0)
    if steps == 0:
        return 0.0, 0.0
    if steps == 1:
        return budget.epsilon, budget.delta
    exact = Fraction(budget.epsilon) * steps
    total = float(exact)
    total = total if Fraction(total) >= exact else math.nextafter(total, math.inf)
    if total > 700:
        return total, 1.0
    return total, min(1.0, budget.delta * (math.expm1(total) / math.expm1(budget.epsilon)) * _ROUNDING)


def _read_schema(domain: Any) -> tuple[int, int | None]:
    """Return the number of columns, and of rows if the domain has it; NaN is handled in any case."""
    schema: Any = getattr(domain, "descriptor", None)
    if type(schema).__name__ != "NPArray2Domain":
        raise InvalidParameterError(
            f"`input_domain` must be a domain of two-dimensional NumPy arrays. {_DOMAIN_REMEDY}."
        )
    if schema.num_columns is None:
        raise InvalidParameterError(f"`input_domain` must have num_columns, which is public. {_DOMAIN_REMEDY}.")
    if schema.num_columns < 1 or str(schema.T) == "String":
        raise InvalidParameterError(f"`input_domain` must hold numbers and at least one column. {_DOMAIN_REMEDY}.")
    return int(schema.num_columns), schema.size


def _convert_prior(covariance: Any, basis: Any, dimension: int) -> tuple[Any, Any]:
    """Convert a given covariance and basis once for all calls."""
    check_basis(basis)
    is_open = basis is None or is_word(basis, AUTO)
    known = None if covariance is None else as_covariance(covariance, dimension)
    return known, basis if is_open else as_basis(basis, dimension)


def _check_table(X: object, dimension: int, size: int | None) -> NDArray[np.float64]:
    """Check the argument against the domain, since OpenDP does not; errors name the schema alone."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.dtype.kind not in "biuf":
        raise InvalidDataError("The argument must be a NumPy array of real numbers without a mask, as in the domain.")
    if X.ndim != 2 or X.shape[1] != dimension:
        raise InvalidDataError(f"The argument must be an array of rank 2 with {dimension} column(s), as in the domain.")
    if size is not None and len(X) != size:  # public under this metric
        raise InvalidDataError(f"The argument must be an array of {size} rows, as in the domain.")
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite and invalid
        return np.ascontiguousarray(X, dtype=np.float64)


def _shuffle(table: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
    """Return the rows in a secret, exactly uniform order: the order of independent keys, drawn again after a tie.

    So the output depends on the multiset. Uniform orders of neighboring multisets can be coupled such that one list is
    the other with one row inserted, or replaced in place. `release_mean` is proved for such pairs, and mixtures over
    coupled pairs keep its bound (joint convexity).
    """
    while True:
        keys = noise.below(_KEYS, len(table))
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            return table[order]


def _redact_errors(table: NDArray[np.float64], budget: Budget, given: dict[str, Any], noise: Noise) -> Release:
    """Release the mean; replace unexpected exceptions, because OpenDP repeats their text and it may quote records."""
    try:
        return release_mean(
            table, epsilon=budget.epsilon, delta=budget.delta, missing="complete-case", noise=noise, **given
        )
    except DimfreeError:
        raise
    except Exception:  # noqa: BLE001 - a bug, which must not expose data
        raise_alone(RuntimeError("Internal error in dimfree; details are hidden because they may quote records."))
