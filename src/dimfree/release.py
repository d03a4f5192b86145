"""The hall: `release_mean` checks what it was given and sends the records to one estimator.

known (stable core and recentring stages) · bounded (soft and basic cores) · unknown (nothing known but the records) ·
paper (Algorithm 2 as printed, made private).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._validate import (
    check_at_least,
    check_choice,
    check_columns,
    check_failure,
    check_flag,
    check_learned_options,
    check_magnitude,
    check_share,
    check_unit_rows,
    check_whole,
    check_window,
    is_word,
)
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.data.gpu.device import device_memory_unspoken, place_of
from dimfree.data.people.person_records import person_records, split_unit
from dimfree.data.records import ON_INVALID, Records, as_records, require_valid
from dimfree.errors import InvalidParameter, memory_unspoken
from dimfree.estimators.choose.core import HonestModel
from dimfree.estimators.known import refuse_known, release_cheapest, release_known
from dimfree.estimators.run import Run
from dimfree.estimators.unknown import refuse_unknown, release_unknown
from dimfree.estimators.without_test import release_basic, release_soft
from dimfree.geometry.bases import Basis, as_basis, check_basis
from dimfree.geometry.shape import Diagonal, Shape, as_shape
from dimfree.geometry.space import Space
from dimfree.ledger.charging import charged_run, check_ledger
from dimfree.ledger.ledger import Ledger
from dimfree.noise import Noise, SystemNoise, checked_noise
from dimfree.paper.algorithm2 import refuse_paper, release_paper
from dimfree.results.release import Release

CORES = ("auto", "stable", "soft", "basic")
LEARNED = ("auto", "paper")  # shapes that are learned from the records
TAILS = ("heavy", "gaussian")
SCALES = ("known", "learn")
MOST_STAGES = 20
CAUTION = 0.7  # of failure_probability is shared out; the rest is for what the public models of honest data miss
AUTO = "auto"
WINDOW = (1e-6, 1e6)  # where an unknown scale is looked for, in the units of the records


def release_mean(
    X: object,
    *,
    epsilon: float,
    delta: float,
    covariance: ArrayLike | None = None,
    shape: Shape | str | None = None,
    neighbours: str | Neighbours = "add-remove",
    core: str = "auto",
    failure_probability: float = 0.01,
    on_invalid: str = "raise",
    outliers: float = 0.03,
    tails: str = "heavy",
    scale: str = "known",
    stages: int | str = "auto",
    core_sample: int | str = "auto",
    window: Sequence[float] = WINDOW,
    basis: object = AUTO,
    denoise: bool = False,
    unit: object = None,
    unit_rows: int | None = None,
    device: str | None = None,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
) -> Release:
    """Release the mean of the rows of X with (epsilon, delta)-differential privacy in total.

    Guarantee: for neighbouring X the releases, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and on_invalid="neutral" (or "raise" where no row is invalid). Proof: proofs/README.md.

    Parameters: nothing but the budget need be given; location, scale and variances are then learned inside it
    (`shape="auto"`; `shape="paper"` is the paper's Algorithm 2, for comparison). Knowing more gives less noise:
    `covariance` (d,) variances or (d, d), or a `shape`; public knowledge, never computed from X.
    `neighbours` "add-remove" protects the number of records too, "replace-one" takes it as public.
    `failure_probability` bounds the chance of a refusal on honest data. `outliers` is the share of arbitrary records
    tolerated (costs accuracy: more unstable records must be allowed for). `window` (low, high) says where an unknown
    scale is looked for, in the units of the records. `basis` says in which coordinates the noise is shaped: "auto" asks
    the records, inside the budget, whether their own axes, a cosine transform over the order of the columns or learned
    directions promise less noise than a spherical one; None keeps the own axes; "dct", "haar", "hadamard" (padded to a
    power of two), an orthonormal matrix whose rows are the axes, or a SciPy LinearOperator: these (docs/guide.md says
    what they cost in memory). Whatever it is, mean, noise_stddev and intervals are in the original coordinates.
    `denoise` shrinks the released mean towards its bulk, which is
    free of charge and often nearer to the truth, but no longer unbiased.
    With a known covariance: `core` "auto" takes the one with the least predicted noise; `tails` "heavy" widens the
    friend radius by half over the Gaussian optimum, "gaussian" does not; `scale` "learn" takes the covariance as known
    up to one unknown factor; `stages` is the number of recentring stages at most, 0 the core alone.
    The quadratic core looks at about `core_sample` records; the stages see all.
    One row is one person, unless `unit` says whose each row is: the name of a column of X, which is then no coordinate,
    or one key for each row (whole numbers below 2**53 or text; 7, 7.0, "7" and "007" are one key; docs/choosing.md). A
    pandas Series beside a DataFrame must have its index. All rows of a person first become one record, their mean, so
    the guarantee is for persons with all their rows (proofs/data/people/person_records.md) and the release estimates
    the mean of person means; with `unit_rows`, a public number, the mean of the totals of each person's first rows, so
    many at most. Where people share a key (a household), one of them is promised 2 epsilon and (1 + exp(epsilon)) delta
    under add/remove. `on_invalid` "raise" stops at a non-finite entry, a missing key or a column that writes keys in
    more than one way (text beside numbers, "7" beside "007"), which tells the caller about the data and is not covered
    by the guarantee; "neutral" counts an invalid row and gives it no weight, and with `unit` leaves it out of the
    record of its person, and a row without a key out of all; an entry of a list or frame that is no number counts as
    not finite. `device` "cuda" works on a GPU (docs/gpu.md), as it does wherever X is a tensor on one, "cpu" does not:
    the release is the same to the last bit. `ledger` is charged before any noise is drawn (BudgetExceeded where not
    enough is left); a refusal that public numbers alone decide, and an error of the table, cost nothing. `noise` is for
    tests; leave it None to be private.

    Not covered by the guarantee: running time, and part of the memory taken. The core's buffers are sized by public
    numbers; the table's own size shows, and the operating system's memory is its own affair (docs/limits.md).
    """
    budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    core, tails = check_choice("core", core, CORES), check_choice("tails", tails, TAILS)
    failure_probability = check_failure(failure_probability)
    outliers, scale = check_share("outliers", outliers, below=0.3), check_choice("scale", scale, SCALES)
    most_stages = None if is_word(stages, AUTO) else check_whole("stages", stages, least=0, most=MOST_STAGES)
    sample = None if is_word(core_sample, AUTO) else check_whole("core_sample", core_sample, least=1)
    low, high = check_window("window", window)
    denoise = check_flag("denoise", denoise)
    if (scale == "learn" or most_stages) and core in ("soft", "basic"):
        raise InvalidParameter(f"core={core!r} stands alone: leave stages='auto' and scale='known', or use 'stable'.")
    if relation is Neighbours.REPLACE_ONE and core in ("soft", "basic"):
        raise InvalidParameter(f"core={core!r} is proved for neighbours='add-remove' only; use 'stable' or 'auto'.")
    check_basis(basis)
    check_choice("on_invalid", on_invalid, ON_INVALID)
    check_unit_rows(unit, unit_rows)
    place = place_of(device)
    check_ledger(ledger)
    door = SystemNoise() if noise is None else checked_noise(noise)
    with device_memory_unspoken(), memory_unspoken():
        records, whose = _opened(X, unit, unit_rows, on_invalid)
        records = records.on(place) if device is not None else records
        records = records.where_it_lies() if device in (None, "cuda") else records
    check_columns(records.dimension, budget.epsilon)
    learned = _learned_shape(covariance, shape)
    if learned:
        check_learned_options(learned, core, scale, stages)
    axes = _axes(basis, learned, covariance, shape, records)
    space, model, spectrum = _believed(records, learned, covariance, shape, axes, outliers, tails)
    run = Run(
        space,
        model,
        spectrum,
        budget,
        relation,
        CAUTION * failure_probability,
        scale == "learn",
        most_stages,
        sample,
        (low, high),
        denoise,
        door,
        menu=learned == "auto" and _left_open(basis),
    )
    name = _LEARNERS[learned] if learned else core
    estimator = _ESTIMATORS[name]
    with (
        device_memory_unspoken(),
        memory_unspoken(),
        np.errstate(all="ignore"),
    ):  # a floating-point error would end a run that has spent its budget
        if relation is Neighbours.REPLACE_ONE and (refusal := estimator.refuse(run)):
            return stated(refusal, whose)  # before any value is looked at, but to make records of persons' rows
        require_valid(records, on_invalid)
        return stated(charged_run(ledger, name, run, whose, estimator.release), whose)


def _opened(X: object, unit: object, unit_rows: int | None, on_invalid: str) -> tuple[Records, dict[str, Any]]:
    """One record for each person, and the public words about what one person is."""
    if unit is None:
        return as_records(X, on_invalid=on_invalid), {}
    table, keys = split_unit(X, unit)
    whose = {"unit": "person", "unit_column": keys.column, "unit_rows": unit_rows}
    return person_records(as_records(table, on_invalid=on_invalid), keys, unit_rows, on_invalid), whose


def stated(release: Release, whose: dict[str, Any]) -> Release:
    """The same release, whose promise says what one person is and what is estimated."""
    promise = replace(release.guarantee, **whose)
    return replace(release, guarantee=promise, parameters={**release.parameters, "estimates": promise.estimates})


def _learned_shape(covariance: ArrayLike | None, shape: Shape | str | None) -> str | None:
    """The name of a shape that has to be learned, or None where something is known."""
    if covariance is None and shape is None:
        return "auto"
    return shape if covariance is None and isinstance(shape, str) and shape in LEARNED else None


def _believed(
    records: Records,
    learned: str | None,
    covariance: ArrayLike | None,
    shape: Shape | str | None,
    axes: Basis | None,
    outliers: float,
    tails: str,
) -> tuple[Space, HonestModel, NDArray[np.float64]]:
    """The space to work in and what is believed of honest records there. Public."""
    if learned:
        flat = np.ones(records.dimension if axes is None else axes.width)
        return Space(records, Diagonal(flat), axes), HonestModel.unknown(outliers), flat
    known = as_shape(covariance, shape, records.dimension)
    spectrum = check_magnitude("covariance", known.spectrum(records.dimension))
    return Space(records, known), HonestModel.of(spectrum, outliers, tails), spectrum


def _left_open(basis: object) -> bool:
    return is_word(basis, AUTO)


def _axes(
    basis: object, learned: str | None, covariance: ArrayLike | None, shape: Shape | str | None, records: Records
) -> Basis | None:
    """The public coordinates asked for; None: the records' own, or whatever the records will say."""
    if basis is None or _left_open(basis):
        return None
    if learned != "auto":
        if learned is None:
            as_shape(covariance, shape, records.dimension)  # what is wrong there is said first
        raise InvalidParameter(
            "Expected basis to be left out: it is for shape='auto', where the shape of the noise is learned; "
            "a known covariance has its own directions, and shape='paper' knows the records' axes only."
        )
    return as_basis(basis, records.dimension, records.columns)


class _Estimator(NamedTuple):
    """How to release, and what the public number of records alone refuses under replace-one."""

    release: Callable[[Run], Release]
    refuse: Callable[[Run], Release | None]


_ESTIMATORS: dict[str, _Estimator] = {
    "auto": _Estimator(release_cheapest, refuse_known),
    "stable": _Estimator(release_known, refuse_known),
    "soft": _Estimator(release_soft, refuse_known),
    "basic": _Estimator(release_basic, refuse_known),
    "unknown": _Estimator(release_unknown, refuse_unknown),
    "paper": _Estimator(release_paper, refuse_paper),
}
_LEARNERS = {"auto": "unknown", "paper": "paper"}
