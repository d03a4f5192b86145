"""One run of an estimator: what it works on, and how its outcome is written down."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts
from dimfree.errors import AccountingError
from dimfree.kernel import Ball, PrivateTable
from dimfree.programs.choose.core import HonestModel, Size
from dimfree.programs.learn.knowledge import Knowledge
from dimfree.programs.learn.restore import Answer
from dimfree.results.error_model import ErrorModel, Reach
from dimfree.results.release import Release
from dimfree.shapes import Diagonal

CAUTION = 0.7  # of failure_probability is shared out; the rest is for what the public models of honest data miss

TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
UNSTABLE = (
    "The stability test did not pass: too few records, too many of them far from the others, all of them too far from"
    " zero for their spread, or bad luck."
)
NO_SCALE = "The scale of the records was not found within the public window."
OUT_OF_RANGE = (
    "The released numbers left the range of the arithmetic: the noise was extraordinarily large, or the records lie"
    " extremely far apart."
)

DROPPED = " Rows with a missing entry, if there are any, do not count, since on_missing='drop'."
BY_COLUMN = " on_missing='column' would average each column over the rows that have it."


@dataclass(frozen=True, repr=False)
class Run:
    """What one release works on, and how its outcome is written down."""

    table: PrivateTable
    columns: tuple[str, ...] | None
    bounds: Mapping[str, Any]  # public bounds of the columns, as parameters of the release
    model: HonestModel
    spectrum: Floats
    failure: float
    learn_scale: bool
    core_sample: int | None
    window: tuple[float, float]
    chooses_basis: bool = False  # whether the coordinates of the noise are chosen by released numbers
    on_missing: str = "raise"
    by_columns: str | None = None  # objective of the per-column estimator: "relative", "total"; None: not used

    @property
    def budget(self) -> Budget:
        return self.table.budget

    @property
    def relation(self) -> Neighbours:
        return self.table.relation

    @property
    def dimension(self) -> int:
        """The number of coordinates that the program works in."""
        return self.table.dimension

    @property
    def looks(self) -> bool:
        """Whether the records' lengths are looked at: where the model is not trusted to the last per cent."""
        return self.learn_scale or self.model.factor > 1

    @property
    def coordinate_variances(self) -> Floats:
        """Of the rescaled coordinates, by the model: the diagonal of M^{1/2}, averaged unless the shape is diagonal.

        They weigh the outputs; equal weights keep the combination's noise V constant, so that it survives a rotation.
        """
        variances = self.table.shape.root_diagonal(self.dimension)
        return variances if isinstance(self.table.shape, Diagonal) else np.full_like(variances, variances.mean())

    def refused(self, reason: str, method: str, ledger: AnyCosts, **public: float | str) -> Release:
        """A refusal; what its reason says follows from public and released numbers, and from what was asked for."""
        advice = DROPPED if self.on_missing == "drop" else ""
        advice += BY_COLUMN if advice and self.by_columns is not None else ""
        return Release.refused_because(reason + advice, **self._common(method, ledger, public))

    def answered(
        self,
        answer: Answer,
        method: str,
        ledger: AnyCosts,
        public: dict[str, float],
        words: Mapping[str, float | str],
    ) -> Release:
        """A release whose shape was learned: what the learner says in the coordinates of the records."""
        model = ErrorModel(
            answer.noise_principal,
            np.sqrt(answer.shape.variances),
            answer.record_principal,
            public.get("averaged_at_least", public.get("count_at_least")),
            present=answer.present,
            one_value=answer.one_value,
            clipping=answer.bias,
            hidden=answer.hidden,
            **asdict(answer.population),
        )
        return Release.released(
            mean=answer.mean,
            noise_stddev=np.sqrt(answer.variance),
            error_model=model,
            shape=answer.shape,
            reach=answer.reach,
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
        size: Size | None = None,
        ball: Ball | None = None,
        bias: float = 0.0,
    ) -> Release:
        """The answer, back in the original space: noise covariance M^{1/4} diag(V) M^{1/4}.

        V is constant unless the shape is diagonal, so the square roots of V times the diagonal of M^{1/2} are exact.
        `size`: the number of records that offsets were divided by. `ball`: where the last stage clipped; `bias`: what
        error bars allow for it, in deviations of the noise.
        `records_modelled=False`: nothing is known of the spread of the records, so error bars speak of the noise alone.
        """
        found, shape = known.answer(), self.table.shape
        miscount = 0.0 if size is None or not size.stddev else size.stddev / size.count
        miscounted = shape.restore(found.offset * miscount)
        model = self._error_model(found.variance, miscounted, public) if records_modelled else ErrorModel()
        mean = shape.restore(found.value)
        stddev = np.sqrt(found.variance * shape.root_diagonal(self.dimension) + miscounted**2)
        return Release.released(
            mean=mean,
            noise_stddev=stddev,
            error_model=replace(model, clipping=bias),
            reach=self._reach(ball),
            **self._common(method, ledger, public),
        )

    def _reach(self, ball: Ball | None) -> Reach | None:
        """Where records were clipped, if the shape leaves the columns apart and all of them were summed."""
        shape = self.table.shape
        if ball is None or ball.block is not None or not isinstance(shape, Diagonal):
            return None
        scale = np.sqrt(shape.root_diagonal(self.dimension))
        return Reach(ball.radius, shape.restore(ball.centre), scale)

    def _error_model(self, variance: Floats, miscounted: Floats, public: dict[str, float]) -> ErrorModel:
        """Principal variances of noise and records, both functions of the shape, and a likely lower bound on n."""
        shape, dimension, scale = self.table.shape, self.dimension, public.get("scale", 1.0)
        counted = public.get("averaged_at_least", public.get("count_at_least"))
        records = public.get("weight_lower_bound") if counted is None else counted
        record_stddev = scale * np.sqrt(shape.covariance_diagonal(dimension))
        if isinstance(shape, Diagonal):
            return ErrorModel(record_stddev=record_stddev, records=records)
        noise = variance[0] * self.spectrum
        noise[np.argmax(noise)] += float(miscounted @ miscounted)
        return ErrorModel(noise, record_stddev, (scale * self.spectrum) ** 2, records)

    def no_costs(self) -> Costs:
        """Return the costs of a refusal that public numbers alone decide."""
        return Costs(self.budget, self.relation, (), ())

    def _common(self, method: str, ledger: AnyCosts, public: dict[str, Any]) -> dict[str, Any]:
        if not ledger.delta() <= self.budget.delta:  # by calibration it never happens; nothing leaves if it does
            raise AccountingError("The ledger of this run exceeds its budget.")
        promise = Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.table.is_private)
        return {
            "guarantee": promise,
            "ledger": ledger,
            "method": method,
            "dimension": self.table.columns,
            "columns": self.columns,
            "parameters": {**public, **self.bounds},
        }
