"""How every tested estimator begins: the branches, the released count, the core's sample, the core after its test.

The estimator chooses what comes in between: radius, thresholds, shares. Letters: n̂ = released number of
records, T = stability statistic.
"""

from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.accounting.events import Branch, Costs, Gaussian
from dimfree.core import stable
from dimfree.core.distances import PairDistances
from dimfree.core.subsample import fixed_samples, poisson_samples
from dimfree.data.blocks import Mask
from dimfree.errors import InvalidParameter
from dimfree.estimators.choose.constants import RADIUS_SEARCH_SHARE, RING_SHARE
from dimfree.estimators.choose.core import Size, StableChoice, core_sample_suffices, default_core_sample
from dimfree.estimators.run import Run
from dimfree.geometry.grid import RADIUS, IntegerRecords
from dimfree.mechanisms import Measured
from dimfree.mechanisms.bit import passes
from dimfree.mechanisms.count import noisy_count
from dimfree.mechanisms.gaussian import noisy_mean


class Searches(TypedDict):
    """Shares of the precision ahead of the test: of the searches for λ, and of all releases on the ring."""

    search_share: float
    ring_share: float


# Of every run that knows nothing. Who prices or charges such a run takes these: what is charged is what runs.
UNKNOWN: Searches = {"search_share": RADIUS_SEARCH_SHARE, "ring_share": RING_SHARE}


def calibrated(run: Run, search_share: float, *, bounded: bool = False, ring_share: float = 0.0) -> Calibration:
    """The branches that the budget allows. Public, like the check of the core's sample size."""
    if run.relation is Neighbours.REPLACE_ONE:
        calibration = calibrate_public_count(
            run.budget, run.failure / 2, search_share=search_share, ring_share=ring_share
        )
    else:
        extra = {"bounded": bounded, "untested": run.by_columns is not None}
        calibration = calibrate_private_count(
            run.budget, run.failure / 2, search_share=search_share, ring_share=ring_share, **extra
        )
    if run.core_sample and not core_sample_suffices(run.core_sample, calibration, run.failure, run.model.outliers):
        raise InvalidParameter(
            f"Expected core_sample={run.core_sample!r} to be large enough for the stability test at this budget; "
            "use a larger core_sample or a larger epsilon."
        )
    return calibration


def released_size(run: Run, calibration: Calibration) -> tuple[Size, tuple[Gaussian, ...]]:
    """What is public about the number of records, and what that has cost."""
    sample = run.core_sample or default_core_sample(calibration)
    if calibration.count_stddev is None:
        return Size(run.records.count, None, sample), ()
    counted = noisy_count(run.records.count, calibration.count_stddev, noise=run.noise)  # P5'
    return Size(counted.value, calibration.count_stddev, sample), (counted.event,)


def charged(run: Run, calibration: Calibration, before: tuple[Gaussian, ...], branch: Branch) -> Costs:
    """The count and the branches. Add/remove: n̂ chose the branch, so all of them are charged (P9). Replace-one: a
    public number chose it, so it alone is charged."""
    if run.relation is Neighbours.REPLACE_ONE:
        return run.ledger(before, (branch,), chosen=0)
    return run.ledger(before, calibration.menu, chosen=calibration.menu.index(branch))


def early_sample(run: Run, size: Size, rate: float = 1.0) -> tuple[Run, Mask | None]:
    """The run over what everything before the last look sees, and which of its records the core does; None: all.

    A share `rate` of the records, held in memory unless it is all. The core's lie within it, by the same coins (P16).
    """
    if size.rate >= 1:
        return run, None
    core, early = _samples(run, (size.rate, rate), (size.core_sample, round(rate * size.count)))
    if rate >= 1:
        return run, core
    held = run.records.held(early, size.capacity(rate))
    return replace(run, space=replace(run.space, records=held, _kept=[])), core[early]


def _samples(run: Run, rates: tuple[float, ...], sizes: tuple[int, ...]) -> list[Mask]:
    """Of these rates or, where the number of records is public, of these sizes (P8)."""
    if run.relation is Neighbours.REPLACE_ONE:
        return fixed_samples(run.records.count, sizes, run.noise)
    return poisson_samples(run.records.count, rates, run.noise)


def core_mean(
    run: Run, core: StableChoice, radius: float, mu: float, pairs: PairDistances
) -> Measured[NDArray[np.float64]] | None:
    """The stable core's noisy mean, or None where the test fails (P4, P5, P5', P6). Overwrites the rows of `pairs`."""
    counts = pairs.friend_counts(radius)
    integers = pairs.in_steps(radius)
    statistic = stable.stability(counts, core.full_share, core.budget, run.relation)  # P4, P13
    if core.floor is not None:
        statistic = stable.capped_by_count(statistic, integers.count, core.floor)  # P5'
    if not passes(statistic, core.branch.ladder, noise=run.noise):  # P6
        return None
    weights = stable.weights(counts, stable.start_share(integers.count, run.relation), core.full_share)
    return weighted_mean(run, integers, weights, core.sensitivity * RADIUS, mu, radius)  # P5


def weighted_mean(
    run: Run, integers: IntegerRecords, weights: NDArray[np.int64], moves: float, mu: float, radius: float
) -> Measured[NDArray[np.float64]]:
    """The noisy weighted mean of records on the grid of the given radius; `moves` in grid steps."""
    # invalid records and those off the grid come last and add nothing, whatever their weight
    inside = weights[: len(integers.values)]
    return noisy_mean(integers.values, inside, moves, mu, radius / RADIUS, noise=run.noise)
