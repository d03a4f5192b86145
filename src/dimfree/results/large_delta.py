"""A warning where delta is large for the number of records. Post-processing: that number is public or was released."""

from dimfree.results.grouped import Means
from dimfree.results.release import Release

MOST_ROWS = 0.1  # [records] expected number of people whose records a promise with this delta would let anybody publish


def delta_warning(release: Release | Means) -> str | None:
    """The warning for a release, by the number of records that it states; None where it states none, or all is well."""
    each = [release] if isinstance(release, Release) else list(release.values())
    counts = [found for one in each if isinstance(found := one.parameters.get("count"), int | float)]
    return large_delta(release.guarantee.delta, sum(counts)) if counts else None


def large_delta(delta: float, records: float) -> str | None:
    """A sentence if delta is not far below 1 / records."""
    rows = delta * max(records, 1.0)
    if rows < MOST_ROWS:
        return None
    return (
        f"delta = {delta:g} is large for about {max(records, 1.0):.3g} records: publishing each record in full with "
        f"that probability, {rows:.2g} records on average, would keep the same promise. Choose delta far "
        "below 1 / records."
    )
