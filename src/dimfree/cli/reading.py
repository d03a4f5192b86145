"""How `dimfree mean` reads DATA and the public files beside it: columns, text, bounds, covariance, basis, shape."""

import csv
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import dimfree
from dimfree.errors import InvalidFile, InvalidParameter, InvalidRecords

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.read import Opened
    from dimfree.data.records import Records
    from dimfree.data.schema import Schema

_IN_FLAGS = ("columns", "exclude", "bounds", "format", "delimiter", "decimal", "encoding")
_IN_SCHEMA = (*_IN_FLAGS, "scales")
_UNCHANGED = "none"  # --basis: the columns themselves
_FORECASTS = {"forecast_own_axes": "columns", "forecast_dct": "dct", "forecast_learned": "learned"}
_MAX_SHOWN = 8  # columns on the card


@dataclass(frozen=True)
class Data:
    """DATA and the options about it: all public, all checked before a file is opened."""

    data: str
    format: str | None
    yes: bool
    schema: "Schema"
    scales: Mapping[str, float] = field(default_factory=dict)  # public standard deviations, by name

    @classmethod
    def of(cls, asked: Any) -> "Data":
        """From the flags; what no flag gives, the schema file may."""
        from dimfree.data.schema import Schema

        given = {} if asked.schema is None else _read_schema(asked.schema)
        for name in _IN_FLAGS:
            if (value := getattr(asked, name)) is not None:
                given[name] = _READERS.get(name, lambda _, text: text)(f"--{name}", value)
        form, scales = given.pop("format", None), given.pop("scales", {})
        return cls(asked.data, form, asked.yes, Schema.checked(**given), scales)

    def read(self, keys: tuple[str, ...] = (), workers: int = 0) -> "Opened":
        """The coordinates of all rows, and the columns of keys."""
        from dimfree.data.read import open_table

        return open_table(self.data, replace(self.schema, keys=keys), form=self.format, workers=workers)

    def knowledge(self, asked: Any, records: "Records") -> dict[str, Any]:
        """What is publicly known beforehand, from its files, as arguments of a release."""
        from dimfree.data.read_public import read_basis, read_covariance

        names, path = records.columns, basis_file(asked.basis)
        covariance = self._variances(names) if asked.covariance is None else read_covariance(asked.covariance, names)
        named = None if asked.basis == _UNCHANGED else asked.basis
        shape = asked.shape if asked.shape_from is None else self._public_shape(asked.shape_from, records)
        return {"covariance": covariance, "shape": shape, "basis": named if path is None else read_basis(path, names)}

    def _variances(self, columns: tuple[str, ...] | None) -> list[float] | None:
        """The squares of the scales in the schema file, in the order of the columns."""
        if not self.scales:
            return None
        if columns is None or set(columns) - set(self.scales):
            lacking = sorted(set(columns or ()) - set(self.scales))
            which = f": {', '.join(map(repr, lacking[:8]))}" if lacking else ""
            raise InvalidParameter(f"Expected a scale in --schema for every column that is released{which}.")
        return [scale * scale for scale in (float(self.scales[name]) for name in columns)]

    def _public_shape(self, path: Path, records: "Records") -> Any:
        """The shape of a table of public records, clipped to the same bounds; it must have the columns of DATA.

        If columns of DATA were chosen by name, the public table is read with the same.
        """
        from dimfree._validate import check_same_columns

        columns, held = records.columns, records.bounds
        chosen = None if self.schema.is_all or not columns else list(columns)
        public = dimfree.read_table(path, columns=chosen, bounds=None if held is None else held.ends)
        check_same_columns(str(path), public.columns, columns)
        try:
            return dimfree.shape_from(public)
        except InvalidRecords as error:
            raise InvalidFile(f"{path} cannot be used: {error}") from None

    def confirm(self, table: "Opened") -> None:
        """Ask about columns that look like identifiers, on a terminal; elsewhere warn."""
        from dimfree.data.columns import identifier_words

        suspects = self.schema.identifiers(table.records.columns, table.texts)
        if not suspects or self.yes:
            return
        typer.echo(f"Warning: {identifier_words(suspects)}", err=True)
        if not confirmed("Release them anyway?"):
            raise InvalidParameter("Nothing was spent: say which columns you want with --columns or --exclude.")

    def rows(self, table: "Opened") -> Iterator[tuple[str, str]]:
        """What the card shows of the columns."""
        from dimfree.data.columns import looks_like

        if table.records.bounds is not None:
            yield from bounds_rows(table.records.bounds)
        if suspects := self.schema.identifiers(table.records.columns, table.texts):
            yield "check", f"{looks_like(suspects)}, by name or declared type; released as numbers"


def confirmed(question: str) -> bool:
    """The answer on a terminal; elsewhere nobody is asked."""
    asks = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return not asks or typer.confirm(question, default=False, err=True)


def check_knowledge(asked: Any, data: Data) -> None:
    """Whatever can fail without the files of public knowledge fails here."""
    scales = "scales" if data.scales else None
    known = {"--covariance": asked.covariance, "--group-by": asked.group_by, "--schema with scales": scales}
    basis = None if asked.basis == "auto" else asked.basis
    excluding = {
        "--shape-from": (asked.shape_from, {**known, "--shape": asked.shape}),
        "--basis": (basis, {**known, "--shape-from": asked.shape_from}),
        "--covariance": (asked.covariance, {"scales in --schema": scales}),
        "--scheduler": (asked.scheduler, {"--unit": asked.unit, "--group-by": asked.group_by}),
    }
    for name, (value, others) in excluding.items():
        for other, another in others.items():
            if value is not None and another is not None:
                raise InvalidParameter(f"Expected {name} or {other}, not both. Drop one of them.")
    files = {"--shape-from": asked.shape_from, "--basis": basis_file(basis), "--groups": asked.groups}
    for name, path in files.items():
        if path is not None and path.resolve() == Path(asked.data).resolve():
            raise InvalidParameter(f"Expected {name} to be a file of public knowledge, never DATA itself.")


def basis_file(basis: str | None) -> Path | None:
    """Where the basis is written down; None if it has a name."""
    if basis is None:
        return None
    from dimfree.bases import AUTO, NAMED
    from dimfree.data.endings import TABLES

    names = (AUTO, _UNCHANGED, *NAMED)
    if basis in names:
        return None
    if Path(basis).suffix.lower() not in TABLES:
        raise InvalidParameter(
            f"Expected --basis {basis!r} to be {', '.join(names)}, or the path of an orthonormal matrix that ends in "
            f"{' or '.join(TABLES)}."
        )
    return Path(basis)


def basis_rows(basis: Any, records: "Records", release: "dimfree.Release") -> Iterator[tuple[str, str]]:
    """For the card: the coordinates, what was released to choose them, and their memory if the table is sparse."""
    public = release.parameters
    chosen = str(public.get("basis", ""))
    gains = [
        f"{name} {public[word]:.3g}" if public[word] else f"{name} not at this budget"
        for word, name in _FORECASTS.items()
        if word in public
    ]
    if chosen:
        yield "basis", chosen + (f" (forecast gains over spherical noise: {', '.join(gains)})" if gains else "")
    rotated = chosen in ("dct", "learned") if isinstance(basis, str) and basis == "auto" else basis is not None
    if records.is_sparse and rotated:
        from dimfree.bases import memory_needed

        yield "memory", memory_needed(records.dimension)


def bounds_rows(bounds: Any) -> Iterator[tuple[str, str]]:
    """Which columns were clipped to public bounds, and what that means, for the card."""
    from dimfree.results.mean_table import shown_name

    shown = [f"{shown_name(name)} {low:.15g} to {high:.15g}" for name, (low, high) in bounds.ends.items()]
    more = f"; and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    effect = "An entry beyond counts as the bound, and the mean is that of the clipped entries; a missing one stays so"
    yield "bounds", f"{'; '.join(shown[:_MAX_SHOWN])}{more}: public. {effect}"


def _read_schema(path: Path) -> dict[str, Any]:
    """A public file in TOML or JSON with the options of DATA; an error states what may stand in it."""
    from dimfree.data.schema import Bounds

    parse, ending = {".toml": tomllib.loads, ".json": json.loads}.get(path.suffix.lower()), path.suffix.lower()
    if parse is None:
        raise InvalidFile(f"{path} has an unknown ending: expected a path ending in .toml or .json.")
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidFile(f"{path} cannot be read: check the path of --schema.") from None
    except ValueError:
        raise InvalidFile(f"{path} is not a {ending} file in UTF-8: check its commas and quotes.") from None
    if not isinstance(found, dict) or set(found) - set(_IN_SCHEMA):
        raise InvalidFile(f"{path} cannot be used: expected nothing but {', '.join(_IN_SCHEMA)} in it.")
    scales = found.get("scales", {})
    numbers = list(scales.values()) if isinstance(scales, dict) else [0]
    if not all(type(number) in (int, float) and 0 < number < float("inf") for number in numbers):
        raise InvalidFile(f"{path} cannot be used: expected scales to give a positive number for each column.")
    try:
        return {**found, "bounds": Bounds.checked(found.get("bounds"))}
    except InvalidParameter as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None


def _listed(flag: str, text: str) -> list[str]:
    """Names between commas; one with a comma in it stands in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not all(names) or (flag == "--columns" and not names):
        raise InvalidParameter(f"Expected {flag} to list column names between commas, as in {flag} age,income.")
    return names


def _intervals(flag: str, text: str) -> dict[str, tuple[float, float]]:
    """Names with two numbers each, between commas."""
    parts = [part.rpartition("=") for part in _listed(flag, text)]
    try:
        ends = [tuple(map(float, numbers.split(":"))) for _, _, numbers in parts]
        found = {name.strip(): (low, high) for (name, _, _), (low, high) in zip(parts, ends, strict=True)}
    except ValueError:
        raise InvalidParameter(
            f"Expected {flag} to give two numbers for each column, as in {flag} age=0:120,income=0:1e6."
        ) from None
    if len(found) < len(parts):
        raise InvalidParameter(f"Expected {flag} to name each column once.")
    return found


_READERS = {"columns": _listed, "exclude": _listed, "bounds": _intervals}
