"""Where a release goes: places are checked before anything is spent, filled all at once, and told on a card."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.means import Means
    from dimfree.result import Release

REFUSED = 3  # the exit code


def check_places(
    inputs: Mapping[str, Path | None],
    out: str,
    json: Path | None,
    force: bool,
    endings: Sequence[str] | None = None,
) -> None:
    """Whatever can stop the writing stops it here; no file is two of them."""
    from dimfree.files import TABLES
    from dimfree.writing import STDOUT, check_target

    taken = {path.resolve(): name for name, path in inputs.items() if path}
    for name, path, allowed in (
        ("--out", None if out == STDOUT else Path(out), endings or TABLES),
        ("--json", json, (".json",)),
    ):
        if path is None:
            continue
        check_target(path, force=force, endings=allowed)
        if path.resolve() in taken:
            raise InvalidParameter(f"Expected {name}={str(path)!r} to differ from {taken[path.resolve()]}.")
        taken[path.resolve()] = name


def write(release: "Release | Means", released: bool, out: str, json: Path | None, force: bool) -> None:
    """The files, all or none, then what is printed; where nothing was released, the record alone."""
    from dimfree.writing import STDOUT, draft_mean, draft_text, publish_together, write_mean

    drafting = []
    if released and out != STDOUT:
        drafting.append(partial(draft_mean, out, release, force=force))
    if json is not None:
        drafting.append(partial(draft_text, json, release.to_json(), force=force))
    publish_together(drafting)
    if released and out == STDOUT:
        try:
            write_mean(STDOUT, release)
        except InvalidFile:
            _abandon_stdout()
            raise


def _abandon_stdout() -> None:
    """Point stdout nowhere, or the interpreter complains once more when it flushes on the way out."""
    with suppress(OSError):  # there is no descriptor where stdout is captured
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def places(released: bool, out: str, json: Path | None) -> Iterator[tuple[str, str]]:
    """Where everything is, for a card."""
    if not released:
        yield "mean", "not written"
    else:
        yield "mean", "standard output" if out == "-" else out
    if json is not None:
        yield "record", str(json)


def show_card(title: str, rows: Iterable[tuple[str, str]], private: bool) -> None:
    """Talk, hence stderr."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, show_header=False, title_justify="left")
    for name, text in rows:
        table.add_row(name, Text(text))  # Text: a path or a name is never taken for markup
    console = Console(stderr=True)
    console.print(table)
    if not private:
        console.print("Not private: the noise was seeded.", style="bold red")
