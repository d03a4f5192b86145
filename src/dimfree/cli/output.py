"""Outputs: paths are checked before budget is charged; the release file is written first, so that it is never lost."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import dimfree
from dimfree.cli.course import STDOUT, current
from dimfree.errors import DimfreeError, InvalidParameterError


class OutputError(DimfreeError):
    """An output of a release could not be written. The message names its release file."""


def check_outputs(
    outputs: Mapping[str, tuple[Path | None, Sequence[str]]], inputs: Mapping[str, Path | None], *, force: bool
) -> None:
    """Check that all outputs can be written, and that all paths of outputs and inputs differ."""
    from dimfree.results.writing import check_target

    taken = {path.resolve(): name for name, path in inputs.items() if path}
    for name, (path, endings) in outputs.items():
        if path is not None:
            if (known := taken.setdefault(path.resolve(), name)) != name:
                raise InvalidParameterError(f"`{name}` must differ from {known}, got {str(path)!r} for both.")
            check_target(path, force=force, endings=endings)


@dataclass(frozen=True)
class Places:
    """The options that name the outputs of a release."""

    out: str
    json: Path | None
    report: Path | None
    force: bool

    @property
    def prints(self) -> bool:
        return self.out == "-"

    def check(self, inputs: Mapping[str, Path | None], endings: Sequence[str] | None = None) -> None:
        """Check all outputs; `endings` are those of the table."""
        from dimfree.data.endings import TABLES
        from dimfree.report.rendering import require_report

        if self.prints and sys.stdout is None:
            raise InvalidParameterError("Standard output is closed. Open it, or name a file with --out.")
        out, record = (None if self.prints else Path(self.out), endings or TABLES), (self.json, (".json",))
        outputs = {"--out": out, "--json": record, "--report": (self.report, (".html",))}
        check_outputs(outputs, inputs, force=self.force)
        if self.report is not None:
            require_report()

    def write(self, release: "dimfree.Release | dimfree.GroupMeans", released: bool, page: Callable[[], str]) -> None:
        """Write the release file first, since `dimfree report` makes the others from it; write no mean of a refusal.

        The budget is charged by now: if an output cannot be written, the error names the release file.
        """
        from dimfree.results.tables import encode_table, write_mean

        recorded = None
        try:
            if self.json is not None:
                self._write(self.json, release.to_json())
                recorded = self.json
            if released and not self.prints:
                self._write(Path(self.out), encode_table(self.out, release))
            if self.report is not None:
                self._write(self.report, page())
            if released and self.prints:
                with current().output(STDOUT):
                    write_mean("-", release)
        except Exception as error:  # noqa: BLE001 - its budget is charged, so the release must not be lost
            _rescue(release, error, recorded)

    def _write(self, path: Path, content: str | bytes) -> None:
        from dimfree.results.writing import write_file

        with current().output(str(path)):
            write_file(path, content, force=self.force)

    def describe(self, released: bool) -> str:
        """List the outputs that were written."""
        mean = "no mean" if not released else STDOUT if self.prints else self.out
        return ", ".join([mean, *(str(path) for path in (self.json, self.report) if path is not None)])


def _rescue(release: "dimfree.Release | dimfree.GroupMeans", error: Exception, record: Path | None) -> NoReturn:
    """Write the release file somewhere unless it is written, and raise an error that names it."""
    with suppress(OSError, ValueError, AttributeError):  # no descriptor where stdout is captured, closed or none
        try:
            sys.stdout.flush()
        except OSError:  # else the interpreter would fail when it flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    where = f"in {str(record)!r}" if record else _file_record(release.to_json())
    if os.environ.get("DIMFREE_TRACEBACK") and not isinstance(error, DimfreeError):
        raise error
    reason = str(error) if isinstance(error, DimfreeError) else f"The outputs failed ({type(error).__name__})."
    budget = f"epsilon={release.guarantee.epsilon!r} and delta={release.guarantee.delta!r}"
    raise OutputError(
        f"{reason} The release was made anyway and has spent {budget}. Its release file (JSON) is {where}: keep it. "
        "`dimfree report` makes the mean and the report from it."
    ) from None


def _file_record(text: str) -> str:
    """Write a new file in the current or the temporary folder, else to standard error; return where it is."""
    from dimfree.results.writing import write_file

    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        with suppress(OSError, DimfreeError):
            path = folder() / f"dimfree-rescue-{os.getpid()}-{time.time_ns()}.json"
            write_file(path, text)
            return f"in {str(path)!r}"
    sys.stderr.write(text)
    return "above, on standard error"


def draw_table(
    title: str | None, rows: Iterable[tuple[str, Sequence[str]]], header: Sequence[str] = (), **options: Any
) -> Any:
    """Draw a table of rows, each in its style. Texts are never read as markup."""
    table = Table(*header, title=title, show_header=bool(header), title_justify="left", **options)
    for style, texts in rows:
        table.add_row(*map(Text, texts), style=style)
    return table


def show_card(title: str, means: str, rows: Iterable[tuple[str, str]], private: bool) -> None:
    """Print a title, the table of means, and rows of labels and texts to stderr."""
    console = Console(stderr=True)
    console.print(title, style="bold")
    console.print(means, markup=False, highlight=False, soft_wrap=True)
    console.print(draw_table(None, (("", row) for row in rows), box=None))
    if not private:
        console.print("Not private: the noise was seeded.", style="bold red")


def show_product(drawn: Callable[[], Any], lines: Iterable[Sequence[str]]) -> None:
    """Print a table to stdout: drawn on a terminal, else as text with tabs between the cells."""
    console = Console()
    if console.is_terminal:
        console.print(drawn())
    else:
        typer.echo("\n".join("\t".join(cells).rstrip() for cells in lines))
