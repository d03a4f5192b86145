"""How `dimfree mean` reads DATA: which columns, how text is written, the schema file, the question before spending."""

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dimfree.cli.bounds import bounds_rows, checked_bounds
from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dimfree.data.bounds import Bounds
    from dimfree.data.read import Opened
    from dimfree.data.schema import Schema

_IN_SCHEMA = ("columns", "exclude", "format", "delimiter", "decimal", "encoding", "scales", "bounds")


@dataclass(frozen=True)
class DataOptions:
    """DATA and the options about it: all public, all checked before a file is opened."""

    data: str
    format: str | None
    yes: bool
    how: "Schema"
    scales: Mapping[str, float] = field(default_factory=dict)  # public standard deviations, by name

    @classmethod
    def of(cls, data: str, schema: Path | None, yes: bool, **given: str | None) -> "DataOptions":
        """Of the flags; what a flag does not say, the schema file may."""
        from dimfree.data.schema import Schema

        told = {} if schema is None else read_schema(schema)
        for name, value in given.items():
            if value is not None:
                told[name] = _listed(f"--{name}", value) if name in ("columns", "exclude") else value
        form, scales = told.pop("format", None), told.pop("scales", {})
        return cls(data, form, yes, Schema.checked(**told), scales)

    @property
    def path(self) -> Path:
        """For comparisons with other files; standard input and addresses are none of them."""
        return Path(self.data)

    def read(self, keys: tuple[str, ...] = (), workers: int = 0) -> "Opened":
        """The coordinates of all rows, and the columns of keys."""
        from dataclasses import replace

        from dimfree.data.read import open_table

        return open_table(self.data, replace(self.how, keys=keys), form=self.format, workers=workers)

    def variances(self, columns: tuple[str, ...] | None) -> "NDArray[np.float64] | None":
        """The squares of the scales in the schema file, in the order of the columns."""
        if not self.scales:
            return None
        import numpy as np

        if columns is None or set(columns) - set(self.scales):
            lacking = sorted(set(columns or ()) - set(self.scales))
            which = f": {', '.join(map(repr, lacking[:8]))}" if lacking else ""
            raise InvalidParameter(f"Expected a scale in --schema for every column that is released{which}.")
        return np.square([self.scales[name] for name in columns])

    def bounds(self, columns: tuple[str, ...] | None) -> "Bounds":
        """The bounds of the columns that are released."""
        return self.how.bounds.among(columns)

    def confirm(self, table: "Opened") -> None:
        """Before anything is spent: tell of columns that are named as identifiers, and ask on a terminal."""
        from dimfree.data.columns import identifier_words

        suspects = self._identifiers(table)
        if not suspects or self.yes:
            return
        typer.echo(f"Warning: {identifier_words(suspects)}", err=True)
        if not confirmed("Release them anyway?"):
            raise InvalidParameter("Nothing was spent: say which columns you want with --columns or --exclude.")

    def rows(self, table: "Opened") -> Iterator[tuple[str, str]]:
        """What was said of the columns, for the card."""
        yield from bounds_rows(self.bounds(table.records.columns))
        from dimfree.data.columns import looks_like

        if suspects := self._identifiers(table):
            yield "check", f"{looks_like(suspects)}, by name or declared type; released as numbers"

    def _identifiers(self, table: "Opened") -> list[str]:
        return self.how.identifiers(table.records.columns, table.texts)


def confirmed(question: str) -> bool:
    """The answer on a terminal; elsewhere nobody is asked."""
    asks = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return not asks or typer.confirm(question, default=False, err=True)


def read_schema(path: Path) -> dict[str, Any]:
    """A public file in TOML or JSON with the options of DATA; an error states what may stand in it."""
    import json
    import tomllib

    readers = {".toml": tomllib.loads, ".json": json.loads}
    if path.suffix.lower() not in readers:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in .toml or .json.")
    try:
        found = readers[path.suffix.lower()](path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidFile(f"{path} cannot be read: check the path of --schema.") from None
    except ValueError:
        raise InvalidFile(f"{path} is no {path.suffix.lower()} file in UTF-8: check its commas and quotes.") from None
    if not isinstance(found, dict) or set(found) - set(_IN_SCHEMA):
        raise InvalidFile(f"{path} cannot be used: expected nothing but {', '.join(_IN_SCHEMA)} in it.")
    _check_scales(path, found.get("scales", {}))
    if "bounds" in found:
        found["bounds"] = checked_bounds(path, found["bounds"])
    return found


def _check_scales(path: Path, scales: object) -> None:
    numbers = list(scales.values()) if isinstance(scales, dict) else [0]
    if not all(type(number) in (int, float) and 0 < number < float("inf") for number in numbers):
        raise InvalidFile(f"{path} cannot be used: expected scales to give a positive number for each column.")


def _listed(flag: str, text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not all(names) or (flag == "--columns" and not names):
        raise InvalidParameter(f"Expected {flag} to list column names between commas, as in {flag} age,income.")
    return names
