"""Where a release goes: places are checked before anything is spent; the record is written first."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dimfree.cli.course import STDOUT, current
from dimfree.cli.rescue import rescue
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

REFUSED = 3  # the exit code


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
        """Whatever can stop the writing stops it here; no file is two of them, nor one of the inputs."""
        from dimfree.data.endings import TABLES

        if self.prints and sys.stdout is None:
            raise InvalidParameter("Standard output is closed: open it, or name a file with --out.")
        taken = {path.resolve(): name for name, path in inputs.items() if path}
        out = None if self.prints else Path(self.out)
        for name, path, allowed in (
            ("--out", out, endings or TABLES),
            ("--json", self.json, (".json",)),
            ("--report", self.report, (".html",)),
        ):
            if path is not None:
                self._check_one(name, path, allowed, taken)
                taken[path.resolve()] = name

    def _check_one(self, name: str, path: Path, allowed: Sequence[str], taken: Mapping[Path, str]) -> None:
        from dimfree.results.writing import check_target

        if path.resolve() in taken:
            raise InvalidParameter(f"Expected {name}={str(path)!r} to differ from {taken[path.resolve()]}.")
        check_target(path, force=self.force, endings=allowed)
        if name == "--report":
            from dimfree.report.rendering import require_report

            require_report()

    def write(self, release: "Release | Means", released: bool, page: Callable[[], str]) -> None:
        """The record first, since `dimfree report` makes the others from it; where nothing was released, no mean.

        The release is paid for: if an output cannot be written, the error names the record.
        """
        from dimfree.results.tables import mean_bytes, write_mean
        from dimfree.results.writing import write_file

        course, recorded = current(), None
        try:
            if self.json is not None:
                with course.output(str(self.json)):
                    write_file(self.json, release.to_json(), force=self.force)
                recorded = self.json
            if released and not self.prints:
                content = mean_bytes(self.out, release)
                with course.output(self.out):
                    write_file(self.out, content, force=self.force)
            if self.report is not None:
                content = page().encode()
                with course.output(str(self.report)):
                    write_file(self.report, content, force=self.force)
            if released and self.prints:
                with course.output(STDOUT):
                    write_mean("-", release)
        except Exception as error:  # noqa: BLE001 - whatever it is, a release that is paid for is not lost
            rescue(release, error, recorded)

    def rows(self, released: bool) -> Iterator[tuple[str, str]]:
        """Where everything is, for a card."""
        if not released:
            yield "mean", "not written"
        else:
            yield "mean", "standard output" if self.prints else self.out
        if self.json is not None:
            yield "record", str(self.json)


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
