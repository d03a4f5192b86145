"""`dimfree compose`: what several releases about the same people promise together."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dimfree.errors import InvalidFile

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release


def compose(
    records: Annotated[
        list[Path], typer.Argument(metavar="RECORD...", help="Release records, as dimfree mean --json writes them.")
    ],
    delta: Annotated[float, typer.Option(help="The delta that you accept for all of them together.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Say what several releases about the same people promise together.

    That is less than their epsilons added up. Refused releases count, too:
    their budget is spent. Means of groups count as one. No table is read.

    Example: two looks at the same patients.

      dimfree compose first.json second.json --delta 2e-6

    Budgets must have been chosen without looking at earlier outputs.
    """
    from dimfree.results.composed import compose as composed

    together = composed([read_record(path) for path in records])
    if json:
        typer.echo(json_text.dumps(together.to_dict(delta), indent=2))
    else:
        typer.echo(together.statement(delta))


def read_record(path: Path) -> "Release | Means":
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

    try:
        text = path.read_text(encoding="utf-8")
        return Means.from_json(text) if '"means"' in text[:40] else Release.from_json(text)
    except (OSError, UnicodeDecodeError):
        raise InvalidFile(f"{str(path)!r} cannot be read: pass a record that dimfree mean --json wrote.") from None
    except InvalidFile as error:
        raise InvalidFile(f"{str(path)!r}: {error}") from None
