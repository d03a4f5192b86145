"""Where results go: files are checked before anything is spent; a release's record is written first, and never lost."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from dimfree.errors import DimfreeError, InvalidParameter


class Rescued(DimfreeError):
    """An output could not be written; the release is made, and the message says where its record is."""


def check_outputs(
    outputs: Mapping[str, tuple[Path | None, Sequence[str]]], inputs: Mapping[str, Path | None], *, force: bool
) -> None:
    """Whatever can stop the writing stops it here; no file is two of them, nor one of the inputs."""
    from dimfree.results.writing import check_target

    taken = {path.resolve(): name for name, path in inputs.items() if path}
    for name, (path, endings) in outputs.items():
        if path is not None:
            if (known := taken.setdefault(path.resolve(), name)) != name:
                raise InvalidParameter(f"Expected {name}={str(path)!r} to differ from {known}.")
            check_target(path, force=force, endings=endings)


@dataclass(frozen=True)
class Places:
    """The options that say where a release goes."""

    out: str
    json: Path | None
    report: Path | None
    force: bool

    @property
    def prints(self) -> bool:
        return self.out == "-"

    def check(self, inputs: Mapping[str, Path | None], endings: Sequence[str] | None = None) -> None:
        """Check all of them; `endings`: of the table."""
        from dimfree.data.endings import TABLES
        from dimfree.report.rendering import require_report

        if self.prints and sys.stdout is None:
            raise InvalidParameter("Standard output is closed: open it, or name a file with --out.")
        out, record = (None if self.prints else Path(self.out), endings or TABLES), (self.json, (".json",))
        outputs = {"--out": out, "--json": record, "--report": (self.report, (".html",))}
        check_outputs(outputs, inputs, force=self.force)
        if self.report is not None:
            require_report()

    def write(self, release: "dimfree.Release | dimfree.Means", released: bool, page: Callable[[], str]) -> None:
        """The record first, since `dimfree report` makes the others from it; if nothing was released, no mean.

        The release is paid for: if an output cannot be written, the error names the record.
        """
        from dimfree.results.tables import mean_bytes, write_mean

        recorded = None
        try:
            if self.json is not None:
                self._write(self.json, release.to_json())
                recorded = self.json
            if released and not self.prints:
                self._write(Path(self.out), mean_bytes(self.out, release))
            if self.report is not None:
                self._write(self.report, page())
            if released and self.prints:
                with current().output(STDOUT):
                    write_mean("-", release)
        except Exception as error:  # noqa: BLE001 - whatever it is, a release that is paid for is not lost
            _rescue(release, error, recorded)

    def _write(self, path: Path, content: str | bytes) -> None:
        from dimfree.results.writing import write_file

        with current().output(str(path)):
            write_file(path, content, force=self.force)

    def rows(self, released: bool) -> Iterator[tuple[str, str]]:
        """Where everything is, for a card."""
        yield "mean", "not written" if not released else STDOUT if self.prints else self.out
        for name, path in (("record", self.json), ("report", self.report)):
            if path is not None:
                yield name, str(path)


def _rescue(release: "dimfree.Release | dimfree.Means", error: Exception, record: Path | None) -> NoReturn:
    """Put the record somewhere unless it is written, then say where, why, and what is spent."""
    with suppress(OSError, ValueError, AttributeError):  # no descriptor where stdout is captured, closed or none
        try:
            sys.stdout.flush()
        except OSError:  # it takes nothing more: the interpreter would complain when it flushes on the way out
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    where = f"in {str(record)!r}" if record else _file_record(release.to_json())
    if os.environ.get("DIMFREE_TRACEBACK") and not isinstance(error, DimfreeError):
        raise error
    reason = str(error) if isinstance(error, DimfreeError) else f"The outputs failed ({type(error).__name__})."
    budget = f"epsilon={release.guarantee.epsilon!r} and delta={release.guarantee.delta!r}"
    raise Rescued(
        f"{reason} The release is made all the same, with {budget}. Its record (JSON) is {where}: keep it; `dimfree "
        "report` makes the mean and the report from it."
    ) from None


def _file_record(text: str) -> str:
    """In a new file of the current folder, or of the folder for temporary files; at last, on standard error."""
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
    """A table of rows, each in its style. A text, such as a path or a name, is never taken for markup."""
    table = Table(*header, title=title, show_header=bool(header), title_justify="left", **options)
    for style, texts in rows:
        table.add_row(*map(Text, texts), style=style)
    return table


def show_card(title: str, rows: Iterable[tuple[str, str]], private: bool) -> None:
    """Print rows of names and texts to stderr."""
    console = Console(stderr=True)
    console.print(draw_table(title, (("", row) for row in rows)))
    if not private:
        console.print("Not private: the noise was seeded.", style="bold red")


def show_product(drawn: Callable[[], Any], lines: Iterable[Sequence[str]]) -> None:
    """Print a table to stdout: drawn on a terminal, else its cells with tabs between."""
    console = Console()
    if console.is_terminal:
        console.print(drawn())
    else:
        typer.echo("\n".join("\t".join(cells).rstrip() for cells in lines))
