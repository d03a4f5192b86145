"""A release as a card in a notebook: the promise, and a verdict for each column. Every name is escaped."""

import html
import math
from collections.abc import Sequence

from dimfree.accounting.guarantee import Guarantee
from dimfree.results.digits import with_noise_digits
from dimfree.results.grouped import NO_GROUP, Means, found_words
from dimfree.results.large_delta import delta_warning
from dimfree.results.names import shown_name, shown_names
from dimfree.results.reading import Reading
from dimfree.results.release import Release
from dimfree.results.verdicts import NAMES, noise_line

MOST_ROWS = 20  # columns, or groups; the others are counted
_HEAD = ("column", "mean", "95% confidence interval", "noise / spread", "verdict")


def release_card(release: Release) -> str:
    """The card of one release."""
    if release.refusal is not None:
        return _card("Refused", release.guarantee, [release.refusal], "")
    reading = Reading.of(release, 0.95)
    listed = range(release.dimension) if release.dimension <= MOST_ROWS else reading.foremost()[:MOST_ROWS].tolist()
    names = zip(listed, shown_names(release.columns, listed), strict=True)
    table = _table(_HEAD, [(name, *_numbers(reading, place)) for place, name in names], release.dimension, "columns")
    return _card("Released", release.guarantee, [f"{reading.line}.", reading.note, *_warned(release)], table)


def means_card(means: Means) -> str:
    """The card of the means of groups, a row for each group."""
    rows = [
        (shown_name(key), noise_line([each]) if each.refusal is None else each.refusal)
        for key, each in list(means.items())[:MOST_ROWS]
    ]
    done = f"{len(means) - len(means.refused)} of {len(means)} groups released." if means else NO_GROUP
    found = [] if means.least_people is None else [found_words(means.least_people)]
    table = _table(("group", "outcome"), rows, len(means), "groups")
    return _card("Means of groups", means.guarantee, [done, *found, *_warned(means)], table)


def _warned(release: Release | Means) -> list[str]:
    warning = delta_warning(release)
    return [f"Warning: {warning}"] if warning else []


def _numbers(reading: Reading, place: int) -> tuple[str, str, str, str]:
    noise, ratio = float(reading.noise[place]), float(reading.over_spread[place])
    half = float(reading.high[place] - reading.low[place]) / 2
    over = f"{'≤ ' if reading.bounded else ''}{ratio:.2g}" if math.isfinite(ratio) else "not known"
    mean = with_noise_digits(noise, float(reading.mean[place]))
    around = reading.why_without if reading.without[place] else f"± {with_noise_digits(noise, half)}"
    return mean, around, over, NAMES[reading.verdicts[place]]


def _card(title: str, guarantee: Guarantee, lines: Sequence[str], table: str) -> str:
    promise = f"epsilon = {guarantee.epsilon!r}, delta = {guarantee.delta!r}, {guarantee.neighbours}, {guarantee.who}"
    seeded = [] if guarantee.private else ["Not private: the noise was seeded."]
    said = "".join(f"<p style='margin:.3em 0'>{html.escape(line)}</p>" for line in [promise, *seeded, *lines])
    return f"<div><strong>{html.escape(title)}</strong>{said}{table}</div>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], whole: int, what: str) -> str:
    heads = "".join(f"<th style='text-align:left'>{html.escape(word)}</th>" for word in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    more = f"<p>{len(rows)} of {whole} {what}.</p>" if len(rows) < whole else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(text: str) -> str:
    return f"<td style='text-align:left'>{html.escape(text)}</td>"
