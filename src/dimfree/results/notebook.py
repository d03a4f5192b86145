"""A release as a card in a notebook: the promise, and a verdict for each column. Every name is escaped."""

import html
from collections.abc import Sequence

from dimfree.results.grouped import NO_GROUP, Means, found_words
from dimfree.results.names import shown_name, shown_names
from dimfree.results.reading import NAMES, Reading, delta_warning, noise_line
from dimfree.results.release import Release

MOST_ROWS = 20  # columns, or groups; the others are counted
_LEFT = "style='text-align:left'"


def release_card(release: Release) -> str:
    """The card of one release."""
    if release.refusal is not None:
        return _card("Refused", release, [release.refusal])
    seen = Reading.of(release, 0.95)
    listed = range(release.dimension) if release.dimension <= MOST_ROWS else seen.foremost()[:MOST_ROWS].tolist()
    rows = [("column", "mean", "95% confidence interval", "noise / spread", "verdict")]
    for place, name in zip(listed, shown_names(release.columns, listed), strict=True):
        numbers = seen.mean_text(place), seen.interval_text(place), seen.over_text(place)
        rows.append((name, *numbers, NAMES[seen.verdicts[place]]))
    return _card("Released", release, [f"{seen.line}.", seen.note], rows, f"of {release.dimension} columns")


def means_card(means: Means) -> str:
    """The card of the means of groups, a row for each group."""
    done = f"{len(means) - len(means.refused)} of {len(means)} groups released." if means else NO_GROUP
    found = [] if means.least_people is None else [found_words(means.least_people)]
    rows = [("group", "outcome")]
    rows += [(shown_name(key), each.refusal or noise_line([each])) for key, each in list(means.items())[:MOST_ROWS]]
    return _card("Means of groups", means, [done, *found], rows, f"of {len(means)} groups")


def _card(
    title: str, release: Release | Means, lines: Sequence[str], rows: Sequence[Sequence[str]] = (), whole: str = ""
) -> str:
    """`rows`: the head of a table, then its rows; `whole`: of how many."""
    stated, warning = release.guarantee, None if title == "Refused" else delta_warning(release)
    said = [f"epsilon = {stated.epsilon!r}, delta = {stated.delta!r}, {stated.neighbours}, {stated.who}"]
    said += [] if stated.private else ["Not private: the noise was seeded."]
    said += [*lines, *([f"Warning: {warning}"] if warning else [])]
    text = "".join(f"<p style='margin:.3em 0'>{html.escape(line)}</p>" for line in said)
    return f"<div><strong>{html.escape(title)}</strong>{text}{_table(rows, whole) if rows else ''}</div>"


def _table(rows: Sequence[Sequence[str]], whole: str) -> str:
    head, *body = ["".join(f"<{tag} {_LEFT}>{html.escape(cell)}</{tag}>" for cell in row)
                   for tag, row in zip(["th"] + ["td"] * len(rows), rows, strict=False)]  # fmt: skip
    more = f"<p>{len(body)} {whole}.</p>" if len(body) < int(whole.split()[1]) else ""
    shown = "".join(f"<tr>{row}</tr>" for row in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{shown}</tbody></table>{more}"
