"""A release in rows of words, for the command line and for the page: its columns, and what it was charged."""

import re

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import Bounded, Branch, Costs, Gaussian, OnlyGaussian, Tested, Unlisted
from dimfree.accounting.losses import Approximate, Loss, Pure
from dimfree.accounting.precision import compose
from dimfree.accounting.several_runs import AnyCosts, runs_of
from dimfree.report.rendering import spelt, words
from dimfree.results.confidence_sets import interval_note
from dimfree.results.mean_table import NO_INTERVAL, shown_names
from dimfree.results.release import Release

UNRESOLVED = "spread not learned, or only zeros seen; rare large entries may shift the mean beyond its error bars"
MOST_NAMED = 8  # columns in one line
_NUMBER = re.compile(r" \d+$")  # "stage 3" is one of several stages

Charge = tuple[str, str, str]


def column_rows(release: Release) -> list[tuple[str, str]]:
    """Return (what, words), the most important first; none if columns were not read one by one."""
    if release.refused or release.reach is None:
        return []
    objective = str(release.parameters.get("objective", ""))
    rows = [
        ("noise / spread", spread_words(release)),
        ("objective", words()["objectives"].get(objective, objective)),
        ("present", _present(release)),
        ("unresolved", _named(release, ~release.resolved, "resolved", UNRESOLVED) or "no column"),
        ("no interval", _named(release, release.one_value, "one_value", NO_INTERVAL)),
        ("intervals", interval_note(release.error_model).rstrip(".")),
    ]
    usual, reach = "", release.reach
    if release.shape is not None:
        length = float(np.linalg.norm(np.sqrt(release.shape.variances) / reach.scale))
        usual = f"; a usual record lies at about {length:.3g}"
    where = f"{reach.statement()}; distances are over all columns, each divided by its scale{usual}"
    return [(what, found) for what, found in [*rows, ("reach", where)] if found]


def spread_words(release: Release) -> str:
    """The noise over the SD of a column, at the unfavorable end of what is known of the SD."""
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


def _present(release: Release) -> str:
    """Which share of the people has an entry, as released."""
    if release.present is None:
        return ""
    low, high = float(release.present.min()), float(release.present.max())
    [name] = shown_names(release.columns, [int(release.present.argmin())])
    return f"about {low:.0%} of the people have the column that fewest have ({name}), {high:.0%} the one that most have"


def _named(release: Release, flags: NDArray[np.bool_], attribute: str, meaning: str) -> str:
    """The names of the columns that are flagged, and what that means; nothing if none is."""
    which = np.flatnonzero(flags)
    more = f" and {len(which) - MOST_NAMED} more (release.{attribute})" if len(which) > MOST_NAMED else ""
    return f"{', '.join(shown_names(release.columns, which[:MOST_NAMED]))}{more}: {meaning}" if len(which) else ""


_ROWS: dict[type[Gaussian | Branch | Loss], tuple[str, str, str]] = {
    Gaussian: ("{0.purpose}", "discrete Gaussian, {0.dimension} value(s)", "mu = {0.mu:.4g}"),
    Tested: ("stability test", "one bit, ladder of {0.ladder.length} steps", "then mu <= {0.mu:.4g}"),
    OnlyGaussian: ("no test", "Gaussian releases alone", "mu <= {0.mu:.4g}"),
    Unlisted: ("groups of one person", "named with probability {0.failure:.2g}", "else mu <= {0.mu:.4g}"),
    Bounded: ("noisy lower bound", "fails with probability {0.failure:.2g}", "mu <= {0.mu:.4g}"),
    Approximate: ("{0.purpose}", "approximate", "epsilon = {0.epsilon:.4g}, delta = {0.delta:.2g}"),
    Pure: ("{0.purpose}", "pure", "epsilon = {0.epsilon:.4g}"),
}


def summary_rows(costs: AnyCosts) -> list[tuple[str, str, str]]:
    """(what, how, cost) of every event, for a table; public numbers only."""
    described = ((_ROWS[type(event)], event) for event in costs.events)
    return [(what.format(event), how.format(event), cost.format(event)) for (what, how, cost), event in described]


def gathered(ledger: AnyCosts) -> list[Charge]:
    """Return (purpose, how, cost): Gaussians of one purpose add up, of prepared tests the dearest counts."""
    found: dict[object, list[tuple[Gaussian | Branch | Loss, Charge]]] = {}
    for place, (event, row) in enumerate(zip(ledger.events, summary_rows(ledger), strict=True)):
        alike = isinstance(event, Gaussian | Tested)
        found.setdefault((type(event), _NUMBER.sub("", row[0])) if alike else place, []).append((event, row))
    names = words()["purposes"]
    runs = [run for run in runs_of(ledger) if isinstance(run, Costs) and run.chosen is not None]
    if any(isinstance(run.menu[run.chosen or 0], OnlyGaussian) for run in runs):  # made of Gaussian releases alone
        names = names | words()["purposes_by_columns"]
    rows = []
    for parts in found.values():
        event, (purpose, how, cost) = parts[0]
        purpose, how = (_NUMBER.sub("", purpose), how) if len(parts) > 1 else (purpose, spelt(how))
        mus = [each.mu for each, _ in parts if isinstance(each, Gaussian | Tested)]
        if len(parts) > 1 and isinstance(event, Tested):
            how, cost = f"one bit, {len(parts)} prepared", f"then mu <= {max(mus):.4g}"
        elif len(parts) > 1:
            how, cost = f"discrete Gaussian, {len(parts)} times", f"mu = {compose(mus):.4g} together"
        rows.append((names.get(purpose, purpose), how, cost))
    return rows
