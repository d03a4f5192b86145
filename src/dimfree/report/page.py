"""`dimfree.write_report`: a release, or the means of groups, as one self-contained HTML page."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from dimfree._validate import check_each, check_probability, quoted
from dimfree.data.endings import PathLike
from dimfree.errors import InvalidParameter
from dimfree.report.rendering import rendered, require_report, versions, words
from dimfree.results.confidence_sets import NO_POPULATION
from dimfree.results.grouped import Means, shape_source
from dimfree.results.names import shown_name
from dimfree.results.plot import COLOURS, GRID, INK, MUTED, PALE
from dimfree.results.reading import PRECISION, delta_warning
from dimfree.results.release import Release
from dimfree.results.writing import check_target, write_file

ENDINGS = (".html",)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
ABOUT = {"dataset": "data set", "purpose": "purpose", "owner": "owner"}
MOST_PICTURED, MOST_SECTIONS = 24, 200  # groups with a picture; with a section of their own


def write_report(
    release: Release | Means,
    path: PathLike,
    *,
    force: bool = False,
    title: str | None = None,
    dataset: str | None = None,
    purpose: str | None = None,
    owner: str | None = None,
    spending: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    rules: Mapping[str, object] | None = None,
    level: float = 0.95,
) -> None:
    """Write an HTML page about a release. It spends no budget and holds released and public values only.

    The page is one file that loads nothing else. It is written completely or not at all.

    Parameters
    ----------
    release : Release or Means
        What the page is about.
    path : str or Path
        A path ending in .html.
    force : bool, default False
        Whether an existing file may be replaced.
    title : str, optional
        Title of the page.
    dataset, purpose, owner : str, optional
        Which data the release is about, what it is for, and who answers for it: at the top of the page.
    spending : sequence of (str, str), optional
        Rows (what, how much) about a budget that covers more than this release.
    command : str, optional
        The command that made the release.
    rules : mapping, optional
        The options `outliers`, `tails` and `failure_probability` of the release, for the predicted error beside it;
        their defaults where left out.
    level : float, default 0.95
        Of the confidence intervals, which are for the population mean.

    Returns
    -------
    None
        If the page cannot be written, or exists and `force` is False, InvalidFile is raised.
    """
    check_report_place(path, force=force)
    about: dict[str, Any] = {"title": title, "dataset": dataset, "purpose": purpose, "owner": owner}
    page = report_html(release, spending=spending, command=command, rules=rules, level=level, **about)
    write_file(path, page, force=force)


def check_report_place(path: PathLike, *, force: bool = False) -> None:
    """Raise any error that could stop the report. Call it before any budget is spent."""
    require_report()
    check_target(path, force=force, endings=ENDINGS)


def report_html(
    release: Release | Means,
    *,
    spending: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    rules: Mapping[str, object] | None = None,
    level: float = 0.95,
    written: date | None = None,
    **about: str | None,
) -> str:
    """The page as text, with the words that `write_report` takes. Every value is escaped."""
    require_report()
    if not isinstance(release, Release | Means):
        raise InvalidParameter(f"Expected release to be a Release or Means, got {quoted(release)}.")
    level = check_probability("level", level)
    _check_texts(about, command, rules)
    rows = check_each("spending", spending, _spent, "a pair (what, how much)")
    from markupsafe import Markup

    from dimfree.report.charges import gathered
    from dimfree.report.charts import tradeoff_chart
    from dimfree.report.tradeoff import Tradeoff, attacks

    curve = Tradeoff.of(release.ledger)
    return rendered(
        "release.html" if isinstance(release, Release) else "means.html",
        **_views(release, level, rules or {}),
        title=shown_name(about["title"]) if about.get("title") else _title(release),
        guarantee=release.guarantee,
        about=[(what, shown_name(text, 1000)) for name, what in ABOUT.items() if (text := about.get(name))],
        promised=attacks(release.guarantee, curve),
        curve=curve,
        curve_svg=None if curve is None else Markup(tradeoff_chart(curve, release.guarantee)),
        warning=delta_warning(release),
        ledger=release.ledger,
        charges=gathered(release.ledger),
        spending=rows,
        command=command,
        code=code_of(release),
        versions=versions(),
        fingerprint=fingerprint(release),
        paper=words("PAPER"),
        bibtex=rendered("bibtex.txt", version=dict(versions())["dimfree"]),
        confidence=f"{100 * level:g}%",
        written=(written or datetime.now(UTC).date()).isoformat(),
        policy=POLICY,
        infinity=math.inf,
        no_population=NO_POPULATION,
        precision=PRECISION,
        colours={"ink": INK, "muted": MUTED, "grid": GRID, "pale": PALE, "verdicts": COLOURS},
    )


def fingerprint(release: Release | Means) -> str:
    """SHA-256 of the release record as --json writes it: it shows that a page and a record belong together."""
    return hashlib.sha256(release.to_json().encode("utf-8")).hexdigest()


def code_of(release: Release | Means) -> str:
    """A call that makes such a release. What the record does not contain is an ellipsis."""
    first = release if isinstance(release, Release) else release.overall
    known = first is not None and first.method in ("recentred", "stable", "soft", "basic")
    return rendered(
        "code.txt",
        call="release_mean" if isinstance(release, Release) else "release_means",
        guarantee=release.guarantee,
        private_keys=isinstance(release, Means) and release.key_costs is not None,
        known=shape_source(release) == "given" if isinstance(release, Means) else known,
        method=first and first.method,
    )


def _check_texts(texts: Mapping[str, object], command: object, rules: object) -> None:
    for name, text in texts.items():
        if not isinstance(text, str | None) or name not in ("title", *ABOUT):
            raise InvalidParameter(f"Expected {name} to be a text, got {quoted(text)}.")
    # half of a pair of surrogates cannot be written as UTF-8
    if not isinstance(command, str | None) or (command or "").encode("utf-8", "ignore").decode() != (command or ""):
        raise InvalidParameter(f"Expected command to be a text, got {quoted(command)}.")
    if not isinstance(rules, Mapping | None):
        raise InvalidParameter(f"Expected rules to map the names of options to values, got {quoted(rules)}.")


def _spent(_: str, pair: Any) -> tuple[str, str]:
    what, much = pair
    return shown_name(what), shown_name(much, 1000)


def _title(release: Release | Means) -> str:
    if isinstance(release, Means):
        return f"Private means of {len(release)} group{'s' * (len(release) != 1)}"
    return f"Private mean of {release.dimension} column{'s' * (release.dimension > 1)}"


def _views(release: Release | Means, level: float, rules: Mapping[str, object]) -> dict[str, Any]:
    from dimfree.report.context import view_of

    if isinstance(release, Release):
        return {"view": view_of(release, level, rules)}
    among = max(2, len(release))
    views = [
        (shown_name(key), view_of(each, level, rules, among=among, pictures=at < MOST_PICTURED))
        for at, (key, each) in enumerate(release.items())
    ]
    overall = None if release.overall is None else view_of(release.overall, level, rules, among=among, pictures=False)
    outcomes = [view["outcome"] for _, view in views if view["outcome"]]
    return {
        "means": release,
        "views": views,
        "overall": overall,
        "shape_source": shape_source(release),
        "longest": max((each["noise_length"] for each in outcomes), default=1.0),
        "own_units": any(each["own_units"] for each in outcomes),  # then no length over all columns says anything
        "most_sections": MOST_SECTIONS,
        "most_pictured": MOST_PICTURED,
    }
