"""A release by columns in words: noise beside spread, what was to be small, unresolved columns, how far records count.

For the card and for the page. Post-processing of public values.
"""

import numpy as np

from dimfree.results.names import shown_names
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
        ("unresolved", unresolved_words(release)),
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


def unresolved_words(release: Release, most: int = MOST_NAMED) -> str:
    """The names of the columns whose spread is not known, and what that means."""
    which = np.flatnonzero(~release.resolved)
    if not len(which):
        return "no column"
    more = f" and {len(which) - most} more (release.resolved)" if len(which) > most else ""
    return f"{', '.join(shown_names(release.columns, which[:most]))}{more}: {UNRESOLVED}"


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
