"""`dimfree.write_report`: a release, or the means of groups, as one self-contained HTML page."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from dimfree._validate import check_each, check_probability, quoted, require
from dimfree.data.endings import PathLike
from dimfree.report.rendering import rendered, require_report
from dimfree.results.confidence_sets import NO_POPULATION
from dimfree.results.grouped import Means
from dimfree.results.mean_table import PRECISION, shown_name
from dimfree.results.release import Release
from dimfree.results.writing import check_target, write_file

ENDINGS = (".html",)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
ABOUT = {"dataset": "data set", "purpose": "purpose", "owner": "owner"}


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
    """Return the page as text, with the words that `write_report` takes. Every value is escaped."""
    require_report()
    is_result = isinstance(release, Release | Means)
    require(is_result, f"Expected release to be a Release or Means, got {quoted(release)}.")
    level = check_probability("level", level)
    for name, text in about.items():
        is_text = isinstance(text, str | None) and name in ("title", *ABOUT)
        require(is_text, f"Expected {name} to be a text, got {quoted(text)}.")
    # half of a pair of surrogates cannot be written as UTF-8
    is_text = isinstance(command, str | None) and (command or "").encode("utf-8", "ignore").decode() == (command or "")
    require(is_text, f"Expected command to be a text, got {quoted(command)}.")
    is_mapping = isinstance(rules, Mapping | None)
    require(is_mapping, f"Expected rules to map the names of options to values, got {quoted(rules)}.")
    from dimfree.report.context import page_of  # it loads Altair

    return rendered(
        "release.html" if isinstance(release, Release) else "means.html",
        **page_of(release, level, rules or {}),
        title=shown_name(about["title"]) if about.get("title") else _title(release),
        about=[(what, shown_name(text, 1000)) for name, what in ABOUT.items() if (text := about.get(name))],
        spending=check_each("spending", spending, _spent, "a pair (what, how much)"),
        command=command,
        confidence=f"{100 * level:g}%",
        written=(written or datetime.now(UTC).date()).isoformat(),
        policy=POLICY,
        infinity=math.inf,
        no_population=NO_POPULATION,
        precision=PRECISION,
    )


def registry_json(release: Release | Means, *, written: date, **about: str | None) -> str:
    """Return a draft entry, in JSON, for the registry of deployments of differential privacy; nothing is sent."""
    require_report()
    from dimfree.report.context import facts_of

    given = {name: about.get(name) for name in ("title", *ABOUT)}
    text = rendered("registry.json", **facts_of(release), **given, written=written.isoformat())
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _spent(_: str, pair: Any) -> tuple[str, str]:
    what, much = pair
    return shown_name(what), shown_name(much, 1000)


def _title(release: Release | Means) -> str:
    if isinstance(release, Means):
        return f"Private means of {len(release)} group{'s' * (len(release) != 1)}"
    return f"Private mean of {release.dimension} column{'s' * (release.dimension > 1)}"
