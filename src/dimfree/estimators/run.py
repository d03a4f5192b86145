"""One run of an estimator: what it works on, and how its outcome is written down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Branch, Costs, Gaussian
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs.costs import AnyCosts
from dimfree.data.records import Records
from dimfree.estimators.choose.core import HonestModel
from dimfree.estimators.learn.restore import Answer
from dimfree.estimators.learn.shrinkage import denoised
from dimfree.estimators.learn.stages import Knowledge
from dimfree.geometry.shape import Diagonal
from dimfree.geometry.space import Space
from dimfree.noise import Noise
from dimfree.results.error_model import ErrorModel
from dimfree.results.release import Release

TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
UNSTABLE = (
    "The stability test did not pass: too few records, too many of them far from the others, all of them too far from"
    " zero for their spread, or bad luck."
)
NO_SCALE = "The scale of the records was not found within the public window."
LOW_WEIGHT = (
    "Too few records agree with each other at the given covariance and budget, or they lie too far from zero for it."
)


@dataclass(frozen=True, repr=False)
class Run:
    """What one release works on, and how its outcome is written down."""

    space: Space
    model: HonestModel
    spectrum: Floats
    budget: Budget
    relation: Neighbours
    failure: float
    learn_scale: bool
    most_stages: int | None
    core_sample: int | None
    window: tuple[float, float]
    denoise: bool
    noise: Noise
    menu: bool = False  # whether the coordinates that the noise is shaped in are chosen on the way

    @property
    def records(self) -> Records:
        return self.space.records

    @property
    def searches(self) -> bool:
        """Whether clipping radii are searched: where the model is not trusted to the last per cent."""
        return self.learn_scale or self.model.factor > 1

    @property
    def coordinate_variances(self) -> Floats:
        """Of the rescaled coordinates, by the model: the diagonal of M^{1/2}, averaged unless the shape is diagonal.

        They weigh the outputs; equal weights keep the combination's noise V constant, so that it survives a rotation.
        """
        variances = self.space.shape.root_diagonal(self.space.dimension)
        return variances if isinstance(self.space.shape, Diagonal) else np.full_like(variances, variances.mean())

    def refused(self, reason: str, method: str, ledger: AnyCosts, **public: float | str) -> Release:
        return Release.refused_because(reason, **self._common(method, ledger, public))

    def answered(
        self, answer: Answer, method: str, ledger: AnyCosts, public: dict[str, float], words: Mapping[str, float | str]
    ) -> Release:
        """A release whose shape was learned: what the learner says in the coordinates of the records."""
        model = ErrorModel(
            noise_principal=answer.noise_principal,
            record_stddev=np.sqrt(answer.shape.variances),
            record_principal=answer.record_principal,
            records=public.get("averaged_at_least", public.get("count_at_least")),
            clipping=answer.clipping,
        )
        return Release.released(
            mean=answer.mean,
            noise_stddev=np.sqrt(answer.variance),
            error_model=model,
            shape=answer.shape,
            denoised=answer.denoised if self.denoise else None,
            **self._common(method, ledger, {**public, **words}),
        )

    def released(
        self,
        known: Knowledge,
        method: str,
        ledger: AnyCosts,
        public: dict[str, float],
        *,
        records_modelled: bool = True,
    ) -> Release:
        """The combination of all outputs, back in the original space: noise covariance M^{1/4} diag(V) M^{1/4}.

        V is constant unless the shape is diagonal, so the square roots of V times the diagonal of M^{1/2} are exact.
        `records_modelled=False`: nothing is known of the spread of the records, so error bars speak of the noise alone.
        """
        value, variance = known.combined()
        shape = self.space.shape
        model = self._error_model(variance, public) if records_modelled else ErrorModel()
        mean, stddev = shape.restore(value), np.sqrt(variance * shape.root_diagonal(self.space.dimension))
        return Release.released(
            mean=mean,
            noise_stddev=stddev,
            error_model=model,
            denoised=denoised(mean, stddev**2)[0] if self.denoise else None,
            **self._common(method, ledger, public),
        )

    def _error_model(self, variance: Floats, public: dict[str, float]) -> ErrorModel:
        """Principal variances of noise and records, both functions of the shape, and a likely lower bound on n."""
        shape, dimension, scale = self.space.shape, self.space.dimension, public.get("scale", 1.0)
        counted = public.get("averaged_at_least", public.get("count_at_least"))
        records = public.get("weight_lower_bound") if counted is None else counted
        record_stddev = scale * np.sqrt(shape.covariance_diagonal(dimension))
        if isinstance(shape, Diagonal):
            return ErrorModel(record_stddev=record_stddev, records=records)
        return ErrorModel(variance[0] * self.spectrum, record_stddev, (scale * self.spectrum) ** 2, records)

    def ledger(self, before: tuple[Gaussian, ...], menu: tuple[Branch, ...], **rest: Any) -> Costs:
        return Costs(self.budget, self.relation, before, menu, **rest)

    def _common(self, method: str, ledger: AnyCosts, public: dict[str, Any]) -> dict[str, Any]:
        if not ledger.delta() <= self.budget.delta:  # by calibration it never happens; nothing leaves if it does
            raise ValueError("The ledger of this run exceeds its budget.")
        promise = Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.noise.private)
        dimension, columns = self.records.dimension, self.records.columns
        return {
            "guarantee": promise,
            "ledger": ledger,
            "method": method,
            "dimension": dimension,
            "columns": columns,
            "parameters": public,
        }
