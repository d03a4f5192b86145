"""How `dimfree mean` reads DATA and public files: columns, text, bounds, covariance, basis."""

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
from dimfree.errors import InvalidDataError, InvalidFileError, InvalidParameterError

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.read import OpenTable
    from dimfree.data.records import Records
    from dimfree.data.schema import Schema

_IN_FLAGS = ("columns", "exclude", "bounds", "format", "delimiter", "decimal", "encoding")
_IN_SCHEMA = (*_IN_FLAGS, "scales")
_UNCHANGED = "none"  # --basis: the columns themselves
_FORECASTS = {"forecast_own_axes": "columns", "forecast_dct": "dct", "forecast_learned": "learned"}
_MAX_SHOWN = 8  # columns on the card


@dataclass(frozen=True)
class Data:
    """DATA and its options: all public, all checked before a file is opened."""

    data: str
    format: str | None
    yes: bool
    schema: "Schema"
    scales: Mapping[str, float] = field(default_factory=dict)  # public SDs, by name

    @classmethod
    def of(cls, asked: Any) -> "Data":
        """Read the options, and what they leave out from the schema file."""
        from dimfree.data.schema import Schema

        given = {} if asked.schema is None else _read_schema(asked.schema)
        for name in _IN_FLAGS:
            if (value := getattr(asked, name)) is not None:
                given[name] = _READERS.get(name, lambda _, text: text)(f"--{name}", value)
        form, scales = given.pop("format", None), given.pop("scales", {})
        return cls(asked.data, form, asked.yes, Schema.from_arguments(**given), scales)

    def read(self, keys: tuple[str, ...] = (), workers: int = 0) -> "OpenTable":
        """Read all rows, and the columns of keys."""
        from dimfree.data.read import open_table

        return open_table(self.data, replace(self.schema, keys=keys), form=self.format, workers=workers)

    def knowledge(self, asked: Any, records: "Records") -> dict[str, Any]:
        """Read the public covariance and basis, as arguments of a release."""
        from dimfree.data.read_public import read_basis, read_covariance

        names, path = records.columns, find_basis_file(asked.basis)
        covariance = self._variances(names) if asked.covariance is None else read_covariance(asked.covariance, names)
        named = None if asked.basis == _UNCHANGED else asked.basis
        if asked.covariance_from is not None:
            covariance = self._public_covariance(asked.covariance_from, records)
        return {"covariance": covariance, "basis": named if path is None else read_basis(path, names)}

    def _variances(self, columns: tuple[str, ...] | None) -> list[float] | None:
        """Return the squares of the scales in the schema file, in the order of the columns."""
        if not self.scales:
            return None
        if columns is None or set(columns) - set(self.scales):
            lacking = sorted(set(columns or ()) - set(self.scales))
            which = f", also for {', '.join(map(repr, lacking[:8]))}" if lacking else ""
            raise InvalidParameterError(f"`scales` in --schema must have an SD for every released column{which}.")
        return [scale * scale for scale in (float(self.scales[name]) for name in columns)]

    def _public_covariance(self, path: Path, records: "Records") -> Any:
        """Return the covariance of a table of public records with the columns and the bounds of DATA."""
        from dimfree._validate import check_same_columns

        columns, held = records.columns, records.bounds
        chosen = None if self.schema.is_all or not columns else list(columns)
        public = dimfree.read_table(path, columns=chosen, bounds=None if held is None else held.ends)
        check_same_columns(str(path), public.columns, columns)
        try:
            return dimfree.Covariance.from_public(public)
        except InvalidDataError as error:
            raise InvalidFileError(f"{path} cannot be used: {error}") from None

    def confirm(self, table: "OpenTable") -> None:
        """Warn of columns that look like identifiers; on a terminal, ask."""
        from dimfree.data.columns import format_identifier_warning

        suspects = self.schema.find_identifiers(table.records.columns, table.texts)
        if not suspects or self.yes:
            return
        typer.echo(f"Warning: {format_identifier_warning(suspects)}", err=True)
        if not ask_user("Release them anyway?"):
            raise InvalidParameterError("No budget was charged. Choose the columns with --columns or --exclude.")

    def rows(self, table: "OpenTable") -> Iterator[tuple[str, str]]:
        """Return rows about the columns for the card."""
        from dimfree.data.columns import describe_identifiers

        if table.records.bounds is not None:
            yield from describe_bounds(table.records.bounds)
        if suspects := self.schema.find_identifiers(table.records.columns, table.texts):
            yield "check", f"{describe_identifiers(suspects)} by name or type; released as numbers"


def ask_user(question: str) -> bool:
    """Ask on a terminal, and return the answer; elsewhere return True."""
    asks = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    return not asks or typer.confirm(question, default=False, err=True)


def check_knowledge(asked: Any, data: Data) -> None:
    """Check the options of prior knowledge before their files are read."""
    scales = "scales" if data.scales else None
    known = {"--covariance": asked.covariance, "--by": asked.by, "--schema with scales": scales}
    basis = None if asked.basis == "auto" else asked.basis
    excluding = {
        "--covariance-from": (asked.covariance_from, known),
        "--basis": (basis, {**known, "--covariance-from": asked.covariance_from}),
        "--covariance": (asked.covariance, {"scales in --schema": scales}),
        "--scheduler": (asked.scheduler, {"--privacy-unit": asked.privacy_unit, "--by": asked.by}),
    }
    for name, (value, others) in excluding.items():
        for other, another in others.items():
            if value is not None and another is not None:
                raise InvalidParameterError(
                    f"{name} and {other} exclude each other: leave out one. No budget was charged."
                )
    files = {"--covariance-from": asked.covariance_from, "--basis": find_basis_file(basis), "--groups": asked.groups}
    for name, path in files.items():
        if path is not None and path.resolve() == Path(asked.data).resolve():
            raise InvalidParameterError(f"`{name}` must be a public file, never DATA. No budget was charged.")


def find_basis_file(basis: str | None) -> Path | None:
    """Return the file of the basis; None if the basis has a name."""
    if basis is None:
        return None
    from dimfree.bases import AUTO, NAMED
    from dimfree.data.endings import TABLES

    names = (AUTO, _UNCHANGED, *NAMED)
    if basis in names:
        return None
    if Path(basis).suffix.lower() not in TABLES:
        raise InvalidParameterError(
            f"`--basis` must be {', '.join(names)}, or a file with an orthonormal matrix that ends in "
            f"{' or '.join(TABLES)}, got {basis!r}."
        )
    return Path(basis)


def describe_basis(basis: Any, records: "Records", release: "dimfree.Release") -> Iterator[tuple[str, str]]:
    """Return the coordinates of the noise, the numbers that chose them, and the memory for a sparse table."""
    public = release.parameters
    chosen = str(public.get("basis", ""))
    gains = [
        f"{name} {public[word]:.3g}" if public[word] else f"{name} not at this budget"
        for word, name in _FORECASTS.items()
        if word in public
    ]
    if chosen:
        yield "basis", chosen + (f" (predicted gain over isotropic noise: {', '.join(gains)})" if gains else "")
    rotated = chosen in ("dct", "learned") if isinstance(basis, str) and basis == "auto" else basis is not None
    if records.is_sparse and rotated:
        from dimfree.bases import describe_memory

        yield "memory", describe_memory(records.dimension)


def describe_bounds(bounds: Any) -> Iterator[tuple[str, str]]:
    """Return the public bounds to which columns were clipped."""
    from dimfree.results.mean_table import shorten_name

    shown = [f"{shorten_name(name)} {low:.15g} to {high:.15g}" for name, (low, high) in bounds.ends.items()]
    more = f"; and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    yield "bounds", f"{'; '.join(shown[:_MAX_SHOWN])}{more}: values outside count as the bound (public bounds)"


def _read_schema(path: Path) -> dict[str, Any]:
    """Read a public TOML or JSON file with the options of DATA."""
    from dimfree.data.schema import Bounds

    parse, ending = {".toml": tomllib.loads, ".json": json.loads}.get(path.suffix.lower()), path.suffix.lower()
    if parse is None:
        raise InvalidFileError(f"{path} must end in .toml or .json.")
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except OSError:
        raise InvalidFileError(f"{path} cannot be read. Check the path of --schema.") from None
    except ValueError:
        raise InvalidFileError(f"{path} is not a {ending} file in UTF-8. Check its commas and quotes.") from None
    if not isinstance(found, dict) or set(found) - set(_IN_SCHEMA):
        raise InvalidFileError(f"{path} cannot be used: only {', '.join(_IN_SCHEMA)} may be in it.")
    scales = found.get("scales", {})
    numbers = list(scales.values()) if isinstance(scales, dict) else [0]
    if not all(type(number) in (int, float) and 0 < number < float("inf") for number in numbers):
        raise InvalidFileError(f"{path} cannot be used: `scales` must give a positive number per column.")
    try:
        return {**found, "bounds": Bounds.from_arguments(found.get("bounds"))}
    except InvalidParameterError as error:
        raise InvalidFileError(f"{path} cannot be used: {error}") from None


def _split_names(flag: str, text: str) -> list[str]:
    """Read names between commas; a name with a comma is in quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not all(names) or (flag == "--columns" and not names):
        raise InvalidParameterError(f"`{flag}` must be column names between commas, as in {flag} age,income.")
    return names


def _parse_bounds(flag: str, text: str) -> dict[str, tuple[float, float]]:
    """Read names with two numbers each, between commas."""
    parts = [part.rpartition("=") for part in _split_names(flag, text)]
    try:
        ends = [tuple(map(float, numbers.split(":"))) for _, _, numbers in parts]
        found = {name.strip(): (low, high) for (name, _, _), (low, high) in zip(parts, ends, strict=True)}
    except ValueError:
        raise InvalidParameterError(
            f"`{flag}` must give two numbers per column, as in {flag} age=0:120,income=0:1e6."
        ) from None
    if len(found) < len(parts):
        raise InvalidParameterError(f"`{flag}` must name each column once.")
    return found


_READERS = {"columns": _split_names, "exclude": _split_names, "bounds": _parse_bounds}
