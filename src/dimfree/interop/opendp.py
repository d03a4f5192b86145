"""The release as an OpenDP measurement, for a Context, an odometer or a filter beside OpenDP's own measurements.

`import opendp` below is the library: imports are absolute, and this module is `dimfree.interop.opendp`.
"""

import math
import warnings
from fractions import Fraction
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import check_at_least, check_columns, check_count, check_kind, is_word
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.bases import as_basis, check_basis
from dimfree.errors import DimfreeError, InvalidParameter, InvalidRecords, raise_alone
from dimfree.noise import Noise, SeededNoise, SystemNoise
from dimfree.options import AUTO, Options
from dimfree.release import release_mean
from dimfree.request import Learned, Objective
from dimfree.results.release import Release
from dimfree.shapes import Shape, as_shape

RELATIONS = {
    "SymmetricDistance": Neighbours.ADD_REMOVE,
    "InsertDeleteDistance": Neighbours.ADD_REMOVE,
    "ChangeOneDistance": Neighbours.REPLACE_ONE,
    "HammingDistance": Neighbours.REPLACE_ONE,
}
UNORDERED = ("SymmetricDistance", "ChangeOneDistance")  # between multisets: the order of rows must not matter
FEATURES = ("contrib", "honest-but-curious")

_ROUNDING = 1 + 1e-12  # above every rounding of a group's delta: exp of at most 709, whose argument is off by 2^-53
_KEYS = 2**62
_A_DOMAIN = "Pass opendp.prelude.numpy.array2_domain(T=float, num_columns=d)"


def make_private_mean(
    input_domain: Any,
    input_metric: Any,
    epsilon: float,
    delta: float,
    *,
    objective: Objective = "auto",
    covariance: ArrayLike | None = None,
    shape: Shape | Learned | None = None,
    basis: Any = AUTO,
    options: Options = Options(),
) -> Any:
    """An OpenDP Measurement whose answer is a `Release`: the mean of the rows, or a refusal, (epsilon, delta)-private.

    Guarantee: for arrays at distance 1, answers are (epsilon, delta)-indistinguishable; at distance k the map gives
    what k steps leave of that, rounded up (`group_loss`). The measure is Approximate(MaxDivergence).

    Parameters
    ----------
    input_domain : OpenDP domain
        `dp.numpy.array2_domain(T=float, num_columns=d)`: the number of columns is schema and must be there.
    input_metric : OpenDP metric
        What one step is. SymmetricDistance and InsertDeleteDistance count rows added and removed (a replacement is 2).
        ChangeOneDistance and HammingDistance count rows replaced and take the number of rows as public.
    epsilon, delta, objective, covariance, shape, basis, options
        As in `release_mean`. Rows that are not finite have no weight. Objective "auto" is "total" here.

    Returns
    -------
    Measurement

    Notes
    -----
    Measurements of one's own need `dp.enable_features("contrib", "honest-but-curious")`: OpenDP takes our word for the
    map (proofs/README.md). In a Context, after `dp.register(make_private_mean)`: `context.query().private_mean(1.0,
    1e-7)`; without epsilon, OpenDP finds the one that the query's allowance leaves.
    """
    dimension, size = _schema(input_domain)
    kind = str(input_metric.type) if hasattr(input_metric, "type") else type(input_metric).__name__
    if kind not in RELATIONS:
        raise InvalidParameter(f"Expected input_metric={kind} to be one of {', '.join(RELATIONS)}.")
    budget = Budget(epsilon, delta)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    check_columns(dimension, budget.epsilon)
    known, axes = _opened(covariance, shape, basis, dimension)
    given: dict[str, Any] = {"objective": objective, "shape": known, "basis": axes, "options": options}
    given["neighbours"] = RELATIONS[kind]
    # about nobody, at a budget whose plan is kept: a wrong parameter fails now, not when a Context has charged for it
    release_mean(np.empty((0, dimension)), epsilon=1.0, delta=1e-6, noise=SeededNoise(0), **given)
    public_size = size if RELATIONS[kind] is Neighbours.REPLACE_ONE else None

    def answer(X: object) -> Release:
        table, noise = _table(X, dimension, public_size), SystemNoise()
        return _spoken(_shuffled(table, noise) if kind in UNORDERED else table, budget, given, noise)

    import opendp.prelude as dp
    from opendp.mod import GLOBAL_FEATURES

    if set(FEATURES) - set(GLOBAL_FEATURES):
        raise InvalidParameter(
            "OpenDP asks for your consent to measurements that are not its own: call "
            'opendp.prelude.enable_features("contrib", "honest-but-curious") first.'
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        measure = dp.approximate(dp.max_divergence())
        loss = partial(group_loss, budget)
        return dp.m.make_user_measurement(input_domain, input_metric, measure, answer, loss)


def group_loss(budget: Budget, steps: int) -> tuple[float, float]:
    """(epsilon, delta) between arrays that are `steps` apart, rounded up: k epsilon, and delta Σ_{i<k} e^{i epsilon}.

    Go from one array to the other step by step; each step multiplies what was before by e^epsilon and adds delta. A
    delta of 1 promises nothing, which always holds.
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


def _schema(domain: Any) -> tuple[int, int | None]:
    """How many columns, and how many rows where the domain says so; NaN is for us to deal with, whatever it says."""
    schema: Any = getattr(domain, "descriptor", None)
    if type(schema).__name__ != "NPArray2Domain":
        raise InvalidParameter(f"Expected input_domain to be one of two-dimensional NumPy arrays. {_A_DOMAIN}.")
    if schema.num_columns is None:
        raise InvalidParameter(f"Expected input_domain with num_columns, which is public. {_A_DOMAIN}.")
    if schema.num_columns < 1 or str(schema.T) == "String":
        raise InvalidParameter(f"Expected input_domain of numbers with at least one column. {_A_DOMAIN}.")
    return int(schema.num_columns), schema.size


def _opened(known: ArrayLike | None, shape: Shape | str | None, basis: Any, dimension: int) -> tuple[Any, Any]:
    """A known shape and a given basis, made once for all calls; or the names of what is learned."""
    check_basis(basis)
    is_learned = known is None and (shape is None or (isinstance(shape, str) and shape in get_args(Learned)))
    is_open = basis is None or is_word(basis, AUTO)
    return (
        shape if is_learned else as_shape(known, shape, dimension),
        basis if is_open else as_basis(basis, dimension),
    )


def _table(X: object, dimension: int, size: int | None) -> NDArray[np.float64]:
    """OpenDP does not look at what a user measurement is given, so we do; errors speak of the schema."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.dtype.kind not in "biuf":
        raise InvalidRecords("Expected a NumPy array of real numbers, without a mask, as the domain says.")
    if X.ndim != 2 or X.shape[1] != dimension:
        raise InvalidRecords(f"Expected an array of rank 2 with {dimension} column(s), as the domain says.")
    if size is not None and len(X) != size:  # public: the metric takes the number of rows as known
        raise InvalidRecords(f"Expected an array of {size} rows, as the domain says.")
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, hence invalid
        return np.ascontiguousarray(X, dtype=np.float64)


def _shuffled(table: NDArray[np.float64], noise: Noise) -> NDArray[np.float64]:
    """The rows in a secret order, exactly uniform: that of independent keys, drawn again where two are alike.

    So the answer is about the multiset. Uniform orders of neighbouring multisets can be coupled such that one list is
    the other with one row inserted, or replaced in its place: what `release_mean` is proved for, and mixtures over
    coupled pairs keep its bound (joint convexity).
    """
    while True:
        keys = noise.below(_KEYS, len(table))
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            return table[order]


def _spoken(table: NDArray[np.float64], budget: Budget, given: dict[str, Any], noise: Noise) -> Release:
    """OpenDP repeats an exception word for word: ours tell nothing of records, others are replaced."""
    try:
        promise: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta}
        return release_mean(table, **promise, on_missing="drop", noise=noise, **given)
    except DimfreeError:
        raise
    except Exception:  # noqa: BLE001 - a mistake of ours; even then the data stay inside
        raise_alone(RuntimeError("A mistake in dimfree; details are hidden because they may quote records."))
