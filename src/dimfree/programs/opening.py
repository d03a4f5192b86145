"""How every program begins: the branches that the budget allows, the released count, the secret samples."""

from typing import TypedDict

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_private_count, calibrate_public_count
from dimfree.errors import InvalidParameter
from dimfree.kernel import Session, View
from dimfree.programs.choose.constants import RADIUS_SEARCH_SHARE, RING_SHARE
from dimfree.programs.choose.core import Size, core_sample_suffices, default_core_sample
from dimfree.programs.run import Run


class Searches(TypedDict):
    """Shares of the precision ahead of the test: of the searches for λ, and of all releases on the ring."""

    search_share: float
    ring_share: float


# Of every run that knows nothing. Who prices or charges such a run takes these: what is charged is what runs.
UNKNOWN: Searches = {"search_share": RADIUS_SEARCH_SHARE, "ring_share": RING_SHARE}


def calibrated(run: Run, search_share: float, *, ring_share: float = 0.0) -> Calibration:
    """The branches that the budget allows. Public, like the check of the core's sample size."""
    if run.relation is Neighbours.REPLACE_ONE:
        calibration = calibrate_public_count(
            run.budget, run.failure / 2, search_share=search_share, ring_share=ring_share
        )
    else:
        extra = {"untested": run.by_columns is not None}
        calibration = calibrate_private_count(
            run.budget, run.failure / 2, search_share=search_share, ring_share=ring_share, **extra
        )
    if run.core_sample and not core_sample_suffices(run.core_sample, calibration, run.failure, run.model.outliers):
        raise InvalidParameter(
            f"Expected core_sample={run.core_sample!r} to be large enough for the stability test at this budget; "
            "use a larger core_sample or a larger epsilon."
        )
    return calibration


def open_table(run: Run, calibration: Calibration) -> tuple[Session, Size]:
    """Open the table with these branches; return the session, and what is public about the number of records."""
    session = run.table.open(calibration)
    return session, Size(session.count, session.count_stddev, run.core_sample or default_core_sample(calibration))


def public_size(run: Run, calibration: Calibration) -> Size:
    """Return the public number of records, under replace-one, before the table is opened."""
    return Size(run.table.public_count, None, run.core_sample or default_core_sample(calibration))


def early_sample(view: View, size: Size, rate: float = 1.0) -> tuple[View, View]:
    """What everything before the last look sees, and, within it, what the core does (P16)."""
    sizes = size.core_sample, round(rate * size.count)
    return view.nested_samples((size.rate, rate), sizes, size.capacity(rate))
