"""Rows of text about a release for the command line and the report: its columns and its charges."""

import re

import numpy as np
from numpy.typing import NDArray

from dimfree.accounting.events import Bounded, Branch, Costs, Gaussian, OnlyGaussian, Tested, Unlisted
from dimfree.accounting.losses import Approximate, Loss, Pure
from dimfree.accounting.precision import compose
from dimfree.accounting.several_runs import AnyCosts, runs_of
from dimfree.report.rendering import load_words, pluralize
from dimfree.results.confidence_sets import describe_intervals
from dimfree.results.mean_table import NO_INTERVAL, shorten_names
from dimfree.results.release import Release

UNRESOLVED = "no estimate; rare large values may move the mean out of its interval"
MAX_NAMED = 8  # columns in one line
_NUMBER = re.compile(r" \d+$")  # "refinement step 3" is one of several

Charge = tuple[str, str, str]


def describe_columns(release: Release) -> list[tuple[str, str]]:
    """Return (label, text), most important first; empty unless the per-column estimator was used."""
    if release.refused or release.clipping is None:
        return []
    objective = str(release.parameters.get("objective", ""))
    rows = [
        ("noise / SD", describe_noise(release)),
        ("objective", load_words()["objectives"].get(objective, objective)),
        ("with a value", _describe_presence(release)),
        ("SD not estimated", _name_columns(release, ~release.resolved, "resolved", UNRESOLVED) or "no column"),
        ("no interval", _name_columns(release, release.without_interval, "without_interval", NO_INTERVAL)),
        ("intervals", describe_intervals(release.error_model).rstrip(".")),
    ]
    typical, clipping = None, release.clipping
    if release.estimated_variances is not None:
        typical = float(np.linalg.norm(np.sqrt(release.estimated_variances.variances) / clipping.scale))
    rows.append(("clipping", clipping.statement(typical).removeprefix("Clipping: ").rstrip(".")))
    return [(label, text) for label, text in rows if text]


def describe_noise(release: Release) -> str:
    """Return the noise-to-SD ratio of half of the columns and of the worst one, at the lower bound of the SD."""
    over = release.noise_to_sd()
    known = np.flatnonzero(np.isfinite(over))
    if not len(known):
        return "unknown, because no SD could be estimated"
    worst = known[np.argmax(over[known])]
    if release.dimension == 1:
        return f"at most {over[worst]:.2g}"
    [name] = shorten_names(release.columns, [worst])
    of = "the columns" if len(known) == release.dimension else f"the {len(known)} columns with an estimated SD"
    half = np.quantile(over[known], 0.5, method="higher")
    return f"at most {half:.2g} in half of {of}, {over[worst]:.2g} in the worst ({name})"


def _describe_presence(release: Release) -> str:
    """Return the range of the released shares of people with a value."""
    if release.present is None:
        return ""
    low, high = float(release.present.min()), float(release.present.max())
    [name] = shorten_names(release.columns, [int(release.present.argmin())])
    return f"{low:.0%} of the people in the column with the most missing values ({name}), up to {high:.0%} in others"


def _name_columns(release: Release, flags: NDArray[np.bool_], attribute: str, meaning: str) -> str:
    """Return the names of the flagged columns with a meaning; empty if there are none."""
    which = np.flatnonzero(flags)
    more = f" and {len(which) - MAX_NAMED} more (release.{attribute})" if len(which) > MAX_NAMED else ""
    return f"{', '.join(shorten_names(release.columns, which[:MAX_NAMED]))}{more}: {meaning}" if len(which) else ""


_ROWS: dict[type[Gaussian | Branch | Loss], tuple[str, str, str]] = {
    Gaussian: ("{0.purpose}", "discrete Gaussian, {0.dimension} value(s)", "mu = {0.mu:.4g}"),
    Tested: ("stability test", "one bit, ladder of {0.ladder.length} steps", "then mu <= {0.mu:.4g}"),
    OnlyGaussian: ("no test", "Gaussian releases alone", "mu <= {0.mu:.4g}"),
    Unlisted: ("groups of one person", "released with probability {0.failure:.2g}", "else mu <= {0.mu:.4g}"),
    Bounded: ("noisy lower bound", "fails with probability {0.failure:.2g}", "mu <= {0.mu:.4g}"),
    Approximate: ("{0.purpose}", "approximate", "epsilon = {0.epsilon:.4g}, delta = {0.delta:.2g}"),
    Pure: ("{0.purpose}", "pure", "epsilon = {0.epsilon:.4g}"),
}


def describe_charges(costs: AnyCosts) -> list[tuple[str, str, str]]:
    """Return (purpose, how, cost) of every event; public numbers only."""
    described = ((_ROWS[type(event)], event) for event in costs.events)
    return [(what.format(event), how.format(event), cost.format(event)) for (what, how, cost), event in described]


def gather_charges(costs: AnyCosts) -> list[Charge]:
    """Return (purpose, how, cost): Gaussians of one purpose compose; of reserved tests the largest counts."""
    found: dict[object, list[tuple[Gaussian | Branch | Loss, Charge]]] = {}
    for place, (event, row) in enumerate(zip(costs.events, describe_charges(costs), strict=True)):
        alike = isinstance(event, Gaussian | Tested)
        found.setdefault((type(event), _NUMBER.sub("", row[0])) if alike else place, []).append((event, row))
    names = load_words()["purposes"]
    runs = [run for run in runs_of(costs) if isinstance(run, Costs) and run.chosen is not None]
    if any(isinstance(run.branches[run.chosen or 0], OnlyGaussian) for run in runs):  # Gaussian releases alone
        names = names | load_words()["purposes_by_columns"]
    rows = []
    for parts in found.values():
        event, (purpose, how, cost) = parts[0]
        purpose, how = (_NUMBER.sub("", purpose), how) if len(parts) > 1 else (purpose, pluralize(how))
        mus = [each.mu for each, _ in parts if isinstance(each, Gaussian | Tested)]
        if len(parts) > 1 and isinstance(event, Tested):
            how, cost = f"one bit, {len(parts)} reserved", f"then mu <= {max(mus):.4g}"
        elif len(parts) > 1:
            how, cost = f"discrete Gaussian, {len(parts)} times", f"mu = {compose(mus):.4g} together"
        rows.append((names.get(purpose, purpose), how, cost))
    return rows
