"""One run of an estimator: its input, its start, and the release that it makes of its answer."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts
from dimfree.errors import AccountingError, InvalidParameterError
from dimfree.kernel import Ball, PrivateTable, Session, View
from dimfree.programs.choose.constants import RADIUS_SEARCH_SHARE, RING_SHARE
from dimfree.programs.choose.core import DataModel, Size, choose_core_sample, is_core_sample_enough
from dimfree.programs.learn.restore import Answer
from dimfree.programs.learn.state import Knowledge
from dimfree.results.confidence_sets import read_limits
from dimfree.results.error_model import Clipping, ErrorModel
from dimfree.results.release import Release
from dimfree.shapes import DiagonalCovariance

CAUTION = 0.7  # of failure_probability is used; the rest covers errors of the public models of the data

TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
UNSTABLE = (
    "The stability test did not pass: too few records, too many of them far from the others, all of them too far from"
    " zero relative to their SDs, or chance."
)
NO_SCALE = "The scale of the records was not found within the public window."
OUT_OF_RANGE = (
    "The released numbers left the range of the arithmetic: the noise was extraordinarily large, or the records lie"
    " extremely far apart."
)

DROPPED = " Rows with missing values do not count, since missing='complete-case'."
BY_COLUMN = " missing='available-case' averages each column over the rows that have it."


@dataclass(frozen=True, repr=False)
class Run:
    """The input of one release, and the release made of its answer."""

    table: PrivateTable
    columns: tuple[str, ...] | None
    bounds: Mapping[str, Any]  # public bounds of the columns, as parameters of the release
    model: DataModel
    spectrum: Floats
    failure: float
    learn_scale: bool
    core_sample: int | None
    window: tuple[float, float]
    chooses_basis: bool = False  # whether released numbers choose the coordinates of the noise
    missing: str = "raise"
    totals: bool = False  # whether a record is a sum of rows, so that bounds of values do not bound it
    norm: float | None = None  # the public radius of a ball about the origin that holds the records
    by_columns: str | None = None  # objective of the per-column estimator: "relative", "total"; None: not used

    @property
    def budget(self) -> Budget:
        return self.table.budget

    @property
    def relation(self) -> Neighbors:
        return self.table.relation

    @property
    def dimension(self) -> int:
        """The number of coordinates that the program works in."""
        return self.table.dimension

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The declared bounds of each column of a record; infinite if not declared."""
        return read_limits({} if self.totals else self.bounds, self.columns, self.table.columns)

    @property
    def coordinate_variances(self) -> Floats:
        """The diagonal of M^{1/2}, averaged unless the shape is diagonal: equal weights survive a rotation."""
        variances = self.table.shape.root_diagonal(self.dimension)
        return (
            variances if isinstance(self.table.shape, DiagonalCovariance) else np.full_like(variances, variances.mean())
        )

    def refuse(self, reason: str, method: str, ledger: AnyCosts, **public: float | str) -> Release:
        """Make a refusal; its reason follows from public and released numbers, and from the request."""
        advice = DROPPED if self.missing == "complete-case" else ""
        advice += BY_COLUMN if advice and self.by_columns is not None else ""
        return Release.from_refusal(reason + advice, **self._common(method, ledger, public))

    def answer_learned(
        self, answer: Answer, method: str, ledger: AnyCosts, public: dict[str, float], words: Mapping[str, float | str]
    ) -> Release:
        """Make a release of an answer with estimated variances."""
        model = ErrorModel(
            answer.noise_principal,
            np.sqrt(answer.estimated_variances.variances),
            answer.record_principal,
            public.get("averaged_at_least", public.get("count_at_least")),
            present=answer.present,
            without_interval=answer.without_interval,
            clipping_bias=answer.bias,
            hidden=answer.hidden,
            **asdict(answer.population),
        )
        return Release.released(
            mean=np.clip(answer.mean, *self.limits),
            noise_stddev=np.sqrt(answer.variance),
            error_model=model,
            estimated_variances=answer.estimated_variances,
            clipping=answer.clipping,
            **self._common(method, ledger, {**public, **words}),
        )

    def answer_known(
        self, known: Knowledge, size: Size, ball: Ball | None, bias: float, costs: AnyCosts, public: dict[str, float]
    ) -> Release:
        """Make a release of an answer with a known covariance: its noise covariance is M^{1/4} diag(V) M^{1/4}.

        V is constant unless the covariance is diagonal, so the square roots of V times the diagonal of M^{1/2} are
        exact. Offsets were divided by `size`; the last step, if any, clipped at `ball`, with a bias of up to `bias` SDs
        of the noise.
        """
        (value, variance, offset), shape, dimension = known.answer(), self.table.shape, self.dimension
        count_error = shape.restore(offset * ((size.stddev or 0.0) / size.count))
        scale, root = public["scale"], shape.root_diagonal(dimension)
        records = public.get("averaged_at_least", public["count_at_least"])
        record_stddev = scale * np.sqrt(shape.covariance_diagonal(dimension))
        clipping = None
        if isinstance(shape, DiagonalCovariance):
            model = ErrorModel(record_stddev=record_stddev, records=records, clipping_bias=bias)
            if ball is not None and ball.block is None:  # all columns were clipped and summed, unrotated
                clipping = Clipping(ball.radius, shape.restore(ball.center), np.sqrt(root))
        else:
            noise = variance[0] * self.spectrum
            noise[np.argmax(noise)] += float(count_error @ count_error)
            model = ErrorModel(noise, record_stddev, (scale * self.spectrum) ** 2, records, clipping_bias=bias)
        return Release.released(
            mean=np.clip(shape.restore(value), *self.limits),
            noise_stddev=np.sqrt(variance * root + count_error**2),
            error_model=model,
            clipping=clipping,
            **self._common("recentered" if public["stages"] else "stable", costs, public),
        )

    def no_costs(self) -> Costs:
        """Return the costs of a refusal that public numbers alone decide."""
        return Costs(self.budget, self.relation, (), ())

    def _common(self, method: str, ledger: AnyCosts, public: dict[str, Any]) -> dict[str, Any]:
        if not ledger.delta() <= self.budget.delta:  # cannot happen by calibration; then nothing is released
            raise AccountingError("The charges of this run exceed its budget; nothing was released.")
        return {
            "guarantee": Guarantee(self.budget.epsilon, self.budget.delta, self.relation, self.table.is_private),
            "charges": ledger,
            "method": method,
            "dimension": self.table.columns,
            "columns": self.columns,
            "parameters": {**public, **self.bounds},
        }


class Searches(TypedDict):
    """Shares of the precision before the test: of the searches for λ, and of all releases on the ring."""

    search_share: float
    ring_share: float


# Of every run without prior knowledge: prices and charges of such a run use these.
UNKNOWN: Searches = {"search_share": RADIUS_SEARCH_SHARE, "ring_share": RING_SHARE}


def calibrate_run(run: Run, search_share: float, *, ring_share: float = 0.0) -> Calibration:
    """Calibrate the branches that the budget allows, and check the core's sample size. Public."""
    shares = Searches(search_share=search_share, ring_share=ring_share)
    if run.relation is Neighbors.REPLACE_ONE:
        calibration = calibrate_public_count(run.budget, run.failure / 2, **shares)
    else:
        untested = run.by_columns is not None
        calibration = calibrate_private_count(run.budget, run.failure / 2, untested=untested, **shares)
    if run.core_sample and not is_core_sample_enough(run.core_sample, calibration, run.failure, run.model.outliers):
        raise InvalidParameterError(
            f"`core_sample` must be large enough for the stability test at this budget, got {run.core_sample!r}: use a "
            "larger core_sample or a larger epsilon. No budget was charged."
        )
    return calibration


def open_table(run: Run, calibration: Calibration) -> tuple[Session, Size]:
    """Open the session of these branches; return it with the public or released number of records."""
    session = run.table.open(calibration)
    return session, Size(session.count, session.count_stddev, run.core_sample or choose_core_sample(calibration))


def read_public_size(run: Run, calibration: Calibration) -> Size:
    """Return the public number of records (replace-one) before the table is opened."""
    return Size(run.table.public_count, None, run.core_sample or choose_core_sample(calibration))


def draw_pilot_sample(view: View, size: Size, rate: float = 1.0) -> tuple[View, View]:
    """Draw the pilot sample and, within it, the core's sample (P16)."""
    sizes = size.core_sample, round(rate * size.count)
    return view.draw_nested_samples((size.rate, rate), sizes, size.capacity(rate))
