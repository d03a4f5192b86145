"""One run of an estimator: what it works on, how it begins, and how its outcome is written down."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts
from dimfree.errors import AccountingError, InvalidParameter
from dimfree.kernel import Ball, PrivateTable, Session, View
from dimfree.programs.choose.constants import RADIUS_SEARCH_SHARE, RING_SHARE
from dimfree.programs.choose.core import HonestModel, Size, core_sample_suffices, default_core_sample
from dimfree.programs.learn.restore import Answer
from dimfree.programs.learn.state import Knowledge
from dimfree.results.confidence_sets import stated_limits
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
    totals: bool = False  # whether a record adds up rows, so that bounds of entries are none of records
    norm: float | None = None  # the public radius of a ball about the origin that holds the records
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
    def limits(self) -> tuple[Floats, Floats]:
        """The declared ends of each column of a record; infinite where none were declared."""
        return stated_limits({} if self.totals else self.bounds, self.columns, self.table.columns)

    @property
    def coordinate_variances(self) -> Floats:
        """The diagonal of M^{1/2}, averaged unless the shape is diagonal: equal weights survive a rotation."""
        variances = self.table.shape.root_diagonal(self.dimension)
        return variances if isinstance(self.table.shape, Diagonal) else np.full_like(variances, variances.mean())

    def refused(self, reason: str, method: str, ledger: AnyCosts, **public: float | str) -> Release:
        """Refuse; the reason follows from public and released numbers, and from the request."""
        advice = DROPPED if self.on_missing == "drop" else ""
        advice += BY_COLUMN if advice and self.by_columns is not None else ""
        return Release.refused_because(reason + advice, **self._common(method, ledger, public))

    def answered(
        self, answer: Answer, method: str, ledger: AnyCosts, public: dict[str, float], words: Mapping[str, float | str]
    ) -> Release:
        """Write down an answer whose shape was learned."""
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
            mean=np.clip(answer.mean, *self.limits),
            noise_stddev=np.sqrt(answer.variance),
            error_model=model,
            shape=answer.shape,
            reach=answer.reach,
            **self._common(method, ledger, {**public, **words}),
        )

    def released(
        self, known: Knowledge, size: Size, ball: Ball | None, bias: float, costs: AnyCosts, public: dict[str, float]
    ) -> Release:
        """Write down an answer in a known shape, restored: its noise covariance is M^{1/4} diag(V) M^{1/4}.

        V is constant unless the shape is diagonal, so the square roots of V times the diagonal of M^{1/2} are exact.
        Offsets were divided by `size`; the last stage clipped at `ball`, if there was one, which may bias by `bias`
        standard deviations of the noise.
        """
        (value, variance, offset), shape, dimension = known.answer(), self.table.shape, self.dimension
        miscounted = shape.restore(offset * ((size.stddev or 0.0) / size.count))
        scale, root = public["scale"], shape.root_diagonal(dimension)
        records = public.get("averaged_at_least", public["count_at_least"])
        record_stddev = scale * np.sqrt(shape.covariance_diagonal(dimension))
        reach = None
        if isinstance(shape, Diagonal):
            model = ErrorModel(record_stddev=record_stddev, records=records, clipping=bias)
            if ball is not None and ball.block is None:  # the columns are apart, and all of them were summed
                reach = Reach(ball.radius, shape.restore(ball.centre), np.sqrt(root))
        else:
            noise = variance[0] * self.spectrum
            noise[np.argmax(noise)] += float(miscounted @ miscounted)
            model = ErrorModel(noise, record_stddev, (scale * self.spectrum) ** 2, records, clipping=bias)
        return Release.released(
            mean=np.clip(shape.restore(value), *self.limits),
            noise_stddev=np.sqrt(variance * root + miscounted**2),
            error_model=model,
            reach=reach,
            **self._common("recentred" if public["stages"] else "stable", costs, public),
        )

    def no_costs(self) -> Costs:
        """The costs of a refusal that public numbers alone decide."""
        return Costs(self.budget, self.relation, (), ())

    def _common(self, method: str, ledger: AnyCosts, public: dict[str, Any]) -> dict[str, Any]:
        if not ledger.delta() <= self.budget.delta:  # by calibration it never happens; nothing leaves if it does
            raise AccountingError("The ledger of this run exceeds its budget.")
        return {
            "guarantee": Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.table.is_private),
            "ledger": ledger,
            "method": method,
            "dimension": self.table.columns,
            "columns": self.columns,
            "parameters": {**public, **self.bounds},
        }


class Searches(TypedDict):
    """Shares of the precision ahead of the test: of the searches for λ, and of all releases on the ring."""

    search_share: float
    ring_share: float


# Of every run that knows nothing. Who prices or charges such a run takes these: what is charged is what runs.
UNKNOWN: Searches = {"search_share": RADIUS_SEARCH_SHARE, "ring_share": RING_SHARE}


def calibrated(run: Run, search_share: float, *, ring_share: float = 0.0) -> Calibration:
    """The branches that the budget allows. Public, like the check of the core's sample size."""
    shares = Searches(search_share=search_share, ring_share=ring_share)
    if run.relation is Neighbours.REPLACE_ONE:
        calibration = calibrate_public_count(run.budget, run.failure / 2, **shares)
    else:
        untested = run.by_columns is not None
        calibration = calibrate_private_count(run.budget, run.failure / 2, untested=untested, **shares)
    if run.core_sample and not core_sample_suffices(run.core_sample, calibration, run.failure, run.model.outliers):
        raise InvalidParameter(
            f"Expected core_sample={run.core_sample!r} to be large enough for the stability test at this budget; "
            "use a larger core_sample or a larger epsilon."
        )
    return calibration


def open_table(run: Run, calibration: Calibration) -> tuple[Session, Size]:
    """The session of these branches, and what is public about the number of records."""
    session = run.table.open(calibration)
    return session, Size(session.count, session.count_stddev, run.core_sample or default_core_sample(calibration))


def public_size(run: Run, calibration: Calibration) -> Size:
    """The public number of records, under replace-one, before the table is opened."""
    return Size(run.table.public_count, None, run.core_sample or default_core_sample(calibration))


def early_sample(view: View, size: Size, rate: float = 1.0) -> tuple[View, View]:
    """What everything before the last look sees, and, within it, what the core does (P16)."""
    sizes = size.core_sample, round(rate * size.count)
    return view.nested_samples((size.rate, rate), sizes, size.capacity(rate))
