"""A release by columns in words: noise beside spread, what was to be small, unresolved columns, how far records count.

For the card and for the page. Post-processing of public values.
"""

import numpy as np
from numpy.typing import NDArray

from dimfree.results.confidence_sets import interval_note
from dimfree.results.names import shown_names
from dimfree.results.reading import NO_INTERVAL
from dimfree.results.release import Release

OBJECTIVES = {
    "relative": "relative: every column's error is kept small beside that column's own spread",
    "total": "total: the error over all columns together, in their units, is kept small",
}
UNRESOLVED = "spread not learned, or only zeros seen; rare large entries may shift the mean beyond its error bars"
MOST_NAMED = 8  # columns in one line

Rows = list[tuple[str, str]]


def column_rows(release: Release) -> Rows:
    """(what, words), the most important first; none where columns were not read one by one."""
    if release.refused or release.reach is None:
        return []
    objective = str(release.parameters.get("objective", ""))
    rows = [
        ("noise / spread", spread_words(release)),
        ("objective", OBJECTIVES.get(objective, objective)),
        ("present", present_words(release)),
        ("unresolved", _named(release, ~release.resolved, "resolved", UNRESOLVED) or "no column"),
        ("no interval", _named(release, release.one_value, "one_value", NO_INTERVAL)),
        ("intervals", interval_note(release.error_model).rstrip(".")),
        ("reach", reach_words(release)),
    ]
    return [(what, words) for what, words in rows if words]


def spread_words(release: Release) -> str:
    """The noise over the spread of a column, at the unfavourable end of what is known of the spread."""
    over = release.noise_over_spread()
    known = np.flatnonzero(np.isfinite(over))
    if not len(known):
        return "not known: no column's spread was learned"
    worst = known[np.argmax(over[known])]
    if release.dimension == 1:
        return f"at most {over[worst]:.2g} of the spread"
    [name] = shown_names(release.columns, [worst])
    of = "the columns" if len(known) == release.dimension else f"the {len(known)} columns whose spread was learned"
    half = np.quantile(over[known], 0.5, method="higher")
    return f"at most {half:.2g} of the spread in half of {of}, {over[worst]:.2g} in the worst ({name})"


def present_words(release: Release) -> str:
    """Which share of the people has an entry, as released."""
    if release.present is None:
        return ""
    low, high = float(release.present.min()), float(release.present.max())
    [name] = shown_names(release.columns, [int(release.present.argmin())])
    return f"about {low:.0%} of the people have the column that fewest have ({name}), {high:.0%} the one that most have"


def _named(release: Release, flags: NDArray[np.bool_], attribute: str, meaning: str) -> str:
    """The names of the columns that are flagged, and what that means; nothing where none is."""
    which = np.flatnonzero(flags)
    more = f" and {len(which) - MOST_NAMED} more (release.{attribute})" if len(which) > MOST_NAMED else ""
    return f"{', '.join(shown_names(release.columns, which[:MOST_NAMED]))}{more}: {meaning}" if len(which) else ""


def reach_words(release: Release) -> str:
    """What the release is a mean of."""
    reach = release.reach
    if reach is None:
        return ""
    usual = ""
    if release.shape is not None:
        length = float(np.linalg.norm(np.sqrt(release.shape.variances) / reach.scale))
        usual = f"; a usual record lies at about {length:.3g}"
    return f"{reach.statement()}; distances are over all columns, each divided by its scale{usual}"
