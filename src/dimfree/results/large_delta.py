"""A warning where delta is large for the number of records. Post-processing: that number is public or was released."""

from dimfree.accounting.budget import large_delta
from dimfree.results.grouped import Means
from dimfree.results.release import Release


def delta_warning(release: Release | Means) -> str | None:
    """The warning for a release, by the number of records that it states; None where it states none, or all is well."""
    each = [release] if isinstance(release, Release) else list(release.values())
    counts = [found for one in each if isinstance(found := one.parameters.get("count"), int | float)]
    return large_delta(release.guarantee.delta, sum(counts)) if counts else None
