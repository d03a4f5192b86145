"""`release.write_report` and its HTML page, and the registry entry of a release."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from dimfree._validate import check_each, check_probability, quote, require
from dimfree.data.endings import PathLike
from dimfree.report.rendering import fill_template, require_report
from dimfree.results.confidence_sets import NO_POPULATION
from dimfree.results.grouped import GroupMeans
from dimfree.results.mean_table import PRECISION, shorten_name
from dimfree.results.release import Release
from dimfree.results.writing import check_target, write_file

ENDINGS = (".html",)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
ABOUT = {"dataset": "data set", "purpose": "purpose", "owner": "owner"}


def write_report(release: Release | GroupMeans, path: PathLike, *, force: bool = False, **options: Any) -> None:
    """Write the page of `release.write_report`, which documents the options."""
    check_report_place(path, force=force)
    write_file(path, render_report(release, **options), force=force)


def check_report_place(path: PathLike, *, force: bool = False) -> None:
    """Raise the errors that could stop the report; call it before any budget is charged."""
    require_report()
    check_target(path, force=force, endings=ENDINGS)


def render_report(
    release: Release | GroupMeans,
    *,
    spending: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    rules: Mapping[str, object] | None = None,
    level: float = 0.95,
    written: date | None = None,
    **about: str | None,
) -> str:
    """Return the report as HTML; the arguments are those of `write_report`. Every value is escaped."""
    require_report()
    is_result = isinstance(release, Release | GroupMeans)
    require(is_result, f"`release` must be a Release or GroupMeans, got {quote(release)}.")
    level = check_probability("level", level)
    for name, text in about.items():
        is_text = isinstance(text, str | None) and name in ("title", *ABOUT)
        require(is_text, f"`{name}` must be a text, got {quote(text)}.")
    # a lone surrogate cannot be encoded as UTF-8
    is_text = isinstance(command, str | None) and (command or "").encode("utf-8", "ignore").decode() == (command or "")
    require(is_text, f"`command` must be a text, got {quote(command)}.")
    is_mapping = isinstance(rules, Mapping | None)
    require(is_mapping, f"`rules` must map names of options to values, got {quote(rules)}.")
    from dimfree.report.context import page_of  # it loads Altair

    return fill_template(
        "release.html" if isinstance(release, Release) else "means.html",
        **page_of(release, level, rules or {}),
        title=shorten_name(about["title"]) if about.get("title") else _make_title(release),
        about=[(what, shorten_name(text, 1000)) for name, what in ABOUT.items() if (text := about.get(name))],
        spending=check_each("spending", spending, _check_row, "a pair (label, text)"),
        command=command,
        confidence=f"{100 * level:g}%",
        written=(written or datetime.now(UTC).date()).isoformat(),
        policy=POLICY,
        infinity=math.inf,
        no_population=NO_POPULATION,
        precision=PRECISION,
    )


def render_registry(release: Release | GroupMeans, *, written: date, **about: str | None) -> str:
    """Return a draft JSON entry for the registry of differential privacy deployments; nothing is sent."""
    require_report()
    from dimfree.report.context import collect_facts

    given = {name: about.get(name) for name in ("title", *ABOUT)}
    text = fill_template("registry.json", **collect_facts(release), **given, written=written.isoformat())
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _check_row(_: str, pair: Any) -> tuple[str, str]:
    what, much = pair
    return shorten_name(what), shorten_name(much, 1000)


def _make_title(release: Release | GroupMeans) -> str:
    if isinstance(release, GroupMeans):
        return f"Private means of {len(release)} group{'s' * (len(release) != 1)}"
    return f"Private means of {release.dimension} column{'s' * (release.dimension > 1)}"
