"""The table of a release, or of the means of groups, in frames, in files and on a notebook card."""

import html
import importlib
import io
import re
import sys
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from dimfree._validate import check_choice, install_command
from dimfree.accounting.guarantee import Guarantee
from dimfree.data.endings import TABLES, PathLike, known_ending
from dimfree.errors import InvalidFile, InvalidParameter, RefusedRelease
from dimfree.results.codec import Format
from dimfree.results.confidence_sets import Target
from dimfree.results.mean_table import Columns, MeanTable, delta_warning, noise_line, shown_name
from dimfree.results.writing import write_file

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

STDOUT = "-"
LONG_TABLES = (".csv", ".parquet")  # endings of a table of groups: it holds text
LIBRARIES = {"pandas": ("frames", "DataFrame"), "polars": ("polars", "DataFrame"), "pyarrow": ("files", "table")}
MOST_ROWS = 20  # columns, or groups, on a card; the others are counted
_LEFT = "style='text-align:left'"
_RUN_BY_SPREADSHEETS = re.compile(r"[\s'=+\-@＝＋－＠]")  # first characters; the last four are full-width


class Tabular:
    """What has a table: a release, or the means of groups."""

    __slots__ = ()
    guarantee: Guarantee
    _format: ClassVar[Format]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text; anything else raises InvalidFile.

        Returns
        -------
        Release or Means
        """
        return cls._format.read(text, cls._from_document)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        raise NotImplementedError

    def to_frame(
        self,
        library: Literal["pandas", "polars", "pyarrow"] = "pandas",
        *,
        level: float = 0.95,
        target: Target = "population",
        simultaneous: bool = False,
    ) -> Any:
        """Return a table with a row for each column of the data, as `mean.csv` holds it; behind `group`, of each group.

        Its columns are name, mean, noise_stddev, ci_low and ci_high (from `confidence_interval`), ci_covers (the mean
        that the interval is for), and noise_over_spread, which is missing where the SD was not learned; with
        on_missing="column" also `present`. ci_low and ci_high are missing where there is no interval. A refused release
        raises RefusedRelease; of groups, those that were refused are left out.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default "pandas"
            Which library's table to make.
        level, target, simultaneous : float, str, bool
            As in `confidence_interval`.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        name = check_choice("library", library, tuple(LIBRARIES))
        extra, maker = LIBRARIES[name]
        try:
            make = getattr(importlib.import_module(name), maker)
        except ImportError:
            raise InvalidParameter(
                f"Expected library={library!r} to be installed: {install_command(extra)}, or choose another of "
                f"{', '.join(LIBRARIES)}."
            ) from None
        return make(columns_of(cast(Any, self), level, target, simultaneous))

    @property
    def _stated(self) -> str:
        """The guarantee in a repr."""
        stated, warning = self.guarantee, "" if self.guarantee.private else ", not private: seeded noise"
        return f"epsilon={stated.epsilon!r}, delta={stated.delta!r}, {stated.neighbours}{warning}"

    def _repr_html_(self) -> str:
        return _card(cast(Any, self))


def columns_of(release: "Release | Means", *intervals: Any) -> Columns:
    """Return the columns of a `MeanTable(release, *intervals)`; of groups that were released behind `group`."""
    if not isinstance(release, Mapping):
        return MeanTable(release, *intervals).columns()
    parts = [
        {"group": [key] * each.dimension, **MeanTable(each, *intervals).columns()}
        for key, each in release.items()
        if not each.refused
    ]
    if not parts:
        raise RefusedRelease(nothing_to_show(release))
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def nothing_to_show(means: "Means") -> str:
    """Why no group has a mean."""
    why = "All groups were refused" if means else "No group had enough people to be named"
    return f"{why}, so there is no mean to show{'; the release of each group states the reason' * bool(means)}."


# ------------------------------------------------------------------------------------------------ files


def write_mean(path: PathLike, release: "Release | Means", *, force: bool = False) -> None:
    """Write the table as .npy, .npz, .csv or .parquet, by the ending of the path; `-` prints it as CSV."""
    if str(path) != STDOUT:
        write_file(path, mean_bytes(path, release), force=force)
        return
    text = mean_csv(release)
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # a name that the terminal's encoding lacks: as a file has it
            sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()  # a closed pipe or a full disk raises here
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise InvalidFile(
            f"The mean could not be printed to standard output: {reason}; part of it may have been seen, so count the"
            " budget as spent, and write to a file next time."
        ) from None


def mean_bytes(path: PathLike, release: "Release | Means", level: float = 0.95) -> bytes:
    """Return the table in the format that the ending of the path asks for; .npy holds the mean alone."""
    ending = known_ending(path, LONG_TABLES if isinstance(release, Mapping) else TABLES)
    if ending == ".csv":
        return mean_csv(release, level).encode()
    buffer, columns = io.BytesIO(), columns_of(release, level)
    if ending == ".npy":
        np.save(buffer, np.array(columns["mean"]), allow_pickle=False)
    elif ending == ".npz":
        np.savez(buffer, **{name: np.array(values) for name, values in columns.items()})  # type: ignore[arg-type]
    else:
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def mean_csv(release: "Release | Means", level: float = 0.95) -> str:
    """Return the table as text; numbers read back bit for bit, and what is not known is an empty cell."""
    columns = columns_of(release, level)
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def picture_bytes(chart: Any, ending: str) -> bytes:
    """A chart in the format that a file's ending asks for; an .html file needs no network to be looked at."""
    if ending == ".png":
        picture = io.BytesIO()
        chart.save(picture, format="png", scale_factor=2)
        return picture.getvalue()
    text = io.StringIO()
    chart.save(text, format=ending[1:], **({"inline": True} if ending == ".html" else {}))
    return text.getvalue().encode()


def _cell(value: object) -> str:
    """One cell of CSV; NaN is an empty one."""
    if not isinstance(value, str):
        return "" if value != value else repr(value)
    text = no_formula(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def no_formula(name: str) -> str:
    """A spreadsheet would run a name such as `=1+1`: an apostrophe goes in front, as before one that has one already.

    Hence taking one apostrophe off a name that begins with one gives the name back.
    """
    return f"'{name}" if _RUN_BY_SPREADSHEETS.match(name) else name


# ------------------------------------------------------------------------------------------------ card


def _card(release: "Release | Means") -> str:
    """The guarantee and the first rows of the table in HTML; every name is escaped."""
    rows: list[Sequence[str]] = []
    if isinstance(release, Mapping):
        title, whole, lines = "Means of groups", f"of {len(release)} groups", release._outcome_lines()
        keys = list(release)[:MOST_ROWS]
        rows += [(shown_name(key), release[key].refusal or noise_line([release[key]])) for key in keys]
        rows = [("group", "outcome"), *rows]
    elif release.refusal is not None:
        title, whole, lines = "Refused", "", [release.refusal]
    else:
        table = MeanTable(release)
        title, whole, lines = "Released", f"of {table.dimension} columns", [f"{table.line}.", table.note]
        few = table.dimension <= MOST_ROWS
        places = range(table.dimension) if few else table.foremost()[:MOST_ROWS].tolist()
        rows = [itemgetter("name", "mean", "interval", "over", "verdict")(table.row(place)) for place in places]
        rows = [("column", "mean", "95% confidence interval", "noise / spread", "verdict"), *rows]
    stated, warning = release.guarantee, None if title == "Refused" else delta_warning(release)
    said = [f"epsilon = {stated.epsilon!r}, delta = {stated.delta!r}, {stated.neighbours}, {stated.who}"]
    said += [] if stated.private else ["Not private: the noise was seeded."]
    said += [*lines, *([f"Warning: {warning}"] if warning else [])]
    text = "".join(f"<p style='margin:.3em 0'>{html.escape(line)}</p>" for line in said)
    if not rows:
        return f"<div><strong>{title}</strong>{text}</div>"
    tags = ["th"] + ["td"] * (len(rows) - 1)
    head, *body = ["".join(f"<{tag} {_LEFT}>{html.escape(cell)}</{tag}>" for cell in row)
                   for tag, row in zip(tags, rows, strict=True)]  # fmt: skip
    more = f"<p>{len(body)} {whole}.</p>" if len(body) < int(whole.split()[1]) else ""
    shown = "".join(f"<tr>{row}</tr>" for row in body)
    cells = f"<table><thead><tr>{head}</tr></thead><tbody>{shown}</tbody></table>{more}"
    return f"<div><strong>{title}</strong>{text}{cells}</div>"
