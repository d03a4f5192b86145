"""What a command with an axis needs: lists of values, a picture and a table of numbers as files."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dimfree.errors import InvalidParameter

if TYPE_CHECKING:
    from dimfree.planning.tradeoff import Tradeoff

Value = TypeVar("Value")


def several(name: str, text: str | None, kind: Callable[[str], Value]) -> Value | list[Value] | None:
    """One value, or a list where commas are."""
    if text is None:
        return None
    try:
        values = [kind(part.strip()) for part in text.split(",")]
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise InvalidParameter(f"Expected --{name} {text!r} to be {what}, or several with commas between.") from None
    return values if len(values) > 1 else values[0]


def check_places(chart: Path | None, out: Path | None, force: bool) -> None:
    """Whatever can fail at the end fails here."""
    from dimfree.planning.tradeoff_chart import ENDINGS, require_altair
    from dimfree.results.writing import check_target

    if chart is not None:
        require_altair()
        check_target(chart, force=force, endings=ENDINGS)
    if out is not None:
        check_target(out, force=force, endings=(".json", ".md"))
    if chart is not None and out is not None and chart.resolve() == out.resolve():
        raise InvalidParameter(f"Expected --chart={str(chart)!r} to differ from --out.")


def write_places(
    found: "Tradeoff", drawn: Callable[[str], bytes], chart: Path | None, out: Path | None, force: bool
) -> None:
    """The numbers, then the picture; `drawn` gives the picture in the format of an ending."""
    from dimfree.results.writing import write_file

    picture = None if chart is None else drawn(chart.suffix.lower())
    if out is not None:
        write_file(out, found.to_json() if out.suffix.lower() == ".json" else found.to_markdown(), force=force)
    if chart is not None and picture is not None:
        write_file(chart, picture, force=force)
