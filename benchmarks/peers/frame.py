"""What every baseline shares: opening the table as `release_mean` does, the budget as one precision, the Release."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import (
    check_at_least,
    check_choice,
    check_columns,
    check_lengths,
    check_magnitude,
    check_variances,
)
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.accounting.composition import Composition, largest_fitting
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import Gaussian, charged_gaussian
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.losses import Failure, Loss
from dimfree.accounting.precision import largest_mu
from dimfree.data.records import ON_MISSING, as_records, require_valid
from dimfree.errors import memory_unspoken
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.count import noisy_count
from dimfree.noise import Noise, opened
from dimfree.results.release import Release
from dimfree.shapes import Isotropic

Event = Gaussian | Loss
P = ParamSpec("P")
Answer = TypeVar("Answer")

COUNT_SHARE = 0.016  # of the precision, for the noisy count under add/remove: as much as release_mean spends
_PROBE = 2.0**30  # steps to a standard deviation: a Gaussian whose discreteness costs next to nothing


@dataclass(frozen=True, repr=False)
class Frame:
    """Private: the records as they are, with everything that a baseline is told about the promise."""

    space: Space
    budget: Budget
    relation: Neighbours
    noise: Noise

    @property
    def dimension(self) -> int:
        return self.space.dimension

    def stddevs(self, given: ArrayLike) -> Floats:
        """A prior: one standard deviation for each column, public."""
        spread = check_magnitude("stddevs", check_variances("stddevs", given))
        check_lengths("stddevs", len(spread), "column", self.dimension)
        return spread

    @property
    def mu(self) -> float:
        """The whole budget as one Gaussian precision."""
        return _whole(self.budget)

    def mu_beside(self, *others: Loss) -> float:
        """The largest Gaussian precision that fits beside these costs (M9)."""
        return _beside(self.budget, self.relation, others)

    def count(self, mu: float) -> tuple[float, list[Event]]:
        """How many records, and what it cost: a noisy number under add/remove, public under replace-one."""
        if self.relation is Neighbours.REPLACE_ONE:
            return float(self.space.count), []
        stddev = charged_gaussian(1, mu, 1, 1.0, "number of records").stddev
        found = noisy_count(self.space.count, stddev, noise=self.noise)
        return found.value, [found.event]

    def count_mu(self, mu: float) -> tuple[float, float]:
        """(precision of the count, precision that is left); the first is not used where the number is public."""
        if self.relation is Neighbours.REPLACE_ONE:
            return mu, mu
        return mu * COUNT_SHARE**0.5, mu * (1 - COUNT_SHARE) ** 0.5 * (1 - 1e-12)

    def released(
        self, method: str, mean: ArrayLike, noise_stddev: ArrayLike, costs: list[Event], **public: float | str
    ) -> Release:
        return Release.released(mean=mean, noise_stddev=noise_stddev, **self._common(method, costs, public))

    def refused(self, method: str, reason: str, costs: list[Event], **public: float | str) -> Release:
        return Release.refused_because(reason, **self._common(method, costs, public))

    def _common(self, method: str, costs: list[Event], public: dict[str, Any]) -> dict[str, Any]:
        ledger = Composition(self.budget, self.relation, tuple(costs))
        if not ledger.fits():  # by calibration it never happens; nothing leaves if it does
            raise ValueError("The ledger of this run exceeds its budget.")
        return {
            "guarantee": Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.noise.private),
            "ledger": ledger,
            "method": method,
            "dimension": self.dimension,
            "columns": self.space.records.columns,
            "parameters": public,
        }


def unspoken(estimator: Callable[P, Answer]) -> Callable[P, Answer]:
    """The estimator, with errors about memory and floating point that do not reveal the records, as in release_mean."""

    @wraps(estimator)
    def run(*args: P.args, **kwargs: P.kwargs) -> Answer:
        with memory_unspoken(), np.errstate(all="ignore"):
            return estimator(*args, **kwargs)

    return run


def open_frame(
    X: object,
    epsilon: float,
    delta: float,
    neighbours: str | Neighbours,
    on_missing: str,
    noise: Noise | None,
) -> Frame:
    """Everything that can be wrong with the table or the budget is an error here, with the texts of release_mean."""
    budget, relation = Budget(epsilon, delta), Neighbours.parse(neighbours)
    check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, SMALLEST_DELTA)
    check_choice("on_missing", on_missing, ON_MISSING)
    checked_noise = opened(noise)
    records = as_records(X, on_missing=on_missing)
    check_columns(records.dimension, budget.epsilon)
    require_valid(records, on_missing)
    return Frame(Space(records, Isotropic(1.0)), budget, relation, checked_noise)


def _whole(budget: Budget) -> float:
    return largest_mu(*idealised(budget.usable_epsilon, budget.delta)) * (1 - 1e-12)


@lru_cache(maxsize=256)
def _beside(budget: Budget, relation: Neighbours, others: tuple[Loss, ...]) -> float:
    whole = _whole(budget)
    if not others:
        return whole
    failures = [other.delta for other in others if isinstance(other, Failure)]
    if len(failures) == len(others):
        return _beside_failures(budget, failures)
    ideal = Budget(*idealised(budget.usable_epsilon, budget.delta))

    def with_gaussian(mu: float) -> Composition:
        return Composition(ideal, relation, (*others, Gaussian("all Gaussians", mu * _PROBE, _PROBE, 1, 1.0)))

    return largest_fitting(with_gaussian, 1e-3 * whole, whole) * (1 - 1e-9)


def _beside_failures(budget: Budget, failures: list[float]) -> float:
    """In closed form: f + (1 - f)·h_mu(ε) = δ."""
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    f = -math.expm1(sum(math.log1p(-each) for each in failures))
    return largest_mu(epsilon, (delta - f) / (1 - f) * (1 - 1e-9)) * (1 - 1e-12)
