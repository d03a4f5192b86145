"""The table of a release or of group means: printed, as a frame, in files, and on a notebook card."""

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
from dimfree.data.endings import TABLES, PathLike, find_ending
from dimfree.errors import InvalidFileError, InvalidParameterError, RefusedReleaseError
from dimfree.results.codec import Format
from dimfree.results.confidence_sets import Target
from dimfree.results.mean_table import Columns, MeanTable, count_noisy_columns, describe_large_delta, shorten_name
from dimfree.results.writing import write_file

if TYPE_CHECKING:
    from dimfree.results.grouped import GroupMeans
    from dimfree.results.release import Release

STDOUT = "-"
LONG_TABLES = (".csv", ".parquet")  # endings of a table of groups, which holds text
LIBRARIES = {"pandas": ("frames", "DataFrame"), "polars": ("polars", "DataFrame"), "pyarrow": ("files", "table")}
MAX_ROWS = 20  # columns or groups on a card
MAX_PRINTED = 33  # rows of a printed table, which has at most 40 lines
MAX_WIDTH = 30  # letters of a name in a printed table
_ASCII = str.maketrans({"\N{NARROW NO-BREAK SPACE}": ",", "\N{MINUS SIGN}": "-"})  # for any terminal
_LEFT = "style='text-align:left'"
_RUN_BY_SPREADSHEETS = re.compile(r"[\s'=+\-@＝＋－＠]")  # first characters; the last four are full-width


class Tabular:
    """The common methods of a release and of group means."""

    __slots__ = ()
    guarantee: Guarantee
    _format: ClassVar[Format]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON text that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text. Other text raises InvalidFileError.

        Returns
        -------
        Release or GroupMeans
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
        """Return the table of means as a frame, like `mean.csv`: one row per column, for groups per group and column.

        The columns are name, mean, noise_stddev, ci_low, ci_high, ci_covers (the target of the interval) and
        noise_to_sd; for groups `group` comes first, and missing="available-case" adds `present`. ci_low and ci_high are
        missing without an interval, noise_to_sd without an estimated SD. A refused release raises
        RefusedReleaseError; refused groups are left out.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default "pandas"
            The library of the frame.
        level, target, simultaneous : float, str, bool
            See `confidence_interval`.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        name = check_choice("library", library, tuple(LIBRARIES))
        extra, maker = LIBRARIES[name]
        try:
            make = getattr(importlib.import_module(name), maker)
        except ImportError:
            raise InvalidParameterError(
                f"library={library!r} is not installed: run {install_command(extra)}, or choose another of "
                f"{', '.join(LIBRARIES)}."
            ) from None
        return make(build_columns(cast(Any, self), level, target, simultaneous))

    def write_report(
        self,
        path: PathLike,
        *,
        force: bool = False,
        title: str | None = None,
        dataset: str | None = None,
        purpose: str | None = None,
        owner: str | None = None,
        spending: Sequence[tuple[str, str]] = (),
        command: str | None = None,
        rules: Mapping[str, object] | None = None,
        level: float = 0.95,
    ) -> None:
        """Write an HTML report: results, guarantee, charges, and a methods paragraph to quote. It spends no budget.

        The report is one file that loads nothing else. It holds released and public values only.

        Parameters
        ----------
        path : str or Path
            A path ending in .html. The file is written completely or not at all.
        force : bool, default False
            Whether to replace an existing file.
        title : str, optional
            Title of the report.
        dataset, purpose, owner : str, optional
            Data set, purpose and responsible person, shown at the top.
        spending : sequence of (str, str), optional
            Rows (label, text) about a budget that covers more than this release.
        command : str, optional
            The command that made the release.
        rules : mapping, optional
            The options `outliers`, `tails` and `failure_probability` of the release, for the predicted noise.
        level : float, default 0.95
            Level of the confidence intervals, which are for the population mean.

        Raises
        ------
        InvalidFileError
            If the report cannot be written, or if it exists and `force` is False.
        """
        about = {"title": title, "dataset": dataset, "purpose": purpose, "owner": owner}
        importlib.import_module("dimfree.report.page").write_report(
            self, path, force=force, spending=spending, command=command, rules=rules, level=level, **about
        )

    def __str__(self) -> str:
        return format_table(cast(Any, self))

    @property
    def _stated(self) -> str:
        """The guarantee as part of a repr."""
        stated, warning = self.guarantee, "" if self.guarantee.private else ", not private: seeded noise"
        return f"epsilon={stated.epsilon!r}, delta={stated.delta!r}, {stated.neighbors}{warning}"

    def _repr_html_(self) -> str:
        return _format_card(cast(Any, self))


def build_columns(release: "Release | GroupMeans", *intervals: Any) -> Columns:
    """Return the columns of `MeanTable(release, *intervals)`; for groups, `group` comes first."""
    if not isinstance(release, Mapping):
        return MeanTable(release, *intervals).columns()
    parts = [
        {"group": [key] * each.dimension, **MeanTable(each, *intervals).columns()}
        for key, each in release.items()
        if not each.refused
    ]
    if not parts:
        raise RefusedReleaseError(explain_no_means(release))
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def format_table(release: "Release | GroupMeans") -> str:
    """Return the table of means as text of at most 40 lines: rows, footnotes, guarantee."""
    if not isinstance(release, Mapping) and release.refused:
        return f"Refused: {release.refusal}\nGuarantee: {release._stated}."
    parts = list(release.items()) if isinstance(release, Mapping) else [("", release)]
    total = sum(1 if each.refused else each.dimension for _, each in parts)
    rows = [["group", "column", "mean", "95% confidence interval", "noise SD", "note"]]
    notes: dict[str, None] = {}
    for key, each in parts:
        room, group = MAX_PRINTED + 1 - len(rows), shorten_name(key, MAX_WIDTH)
        if each.refusal is not None:
            rows += [[group, "", "", "", "", f"refused: {each.refusal}"]][:room]
            continue
        table = MeanTable(each)
        notes[table.note] = None
        for row in map(table.row, range(min(each.dimension, room))):
            figures = [row[name].translate(_ASCII) for name in ("mean", "range", "noise")]
            rows.append([group, shorten_name(row["name"], MAX_WIDTH), *figures, row["note"]])
    rows = rows if isinstance(release, Mapping) else [row[1:] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    names = len(widths) - 4  # columns of text before the numbers
    lines = [
        "  ".join(
            cell.rjust(width) if names <= at < names + 3 else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    if not parts:
        lines = [explain_no_means(cast(Any, release))]
    more = [f"{len(rows) - 1} of {total} rows are shown; to_frame() has all of them."] * (len(rows) - 1 < total)
    return "\n".join([*lines, *notes, *more, f"Guarantee: {release._stated}."])


def explain_no_means(means: "GroupMeans") -> str:
    """Return why no group has a mean."""
    if not means:
        return "No group had enough people to be released, so there are no means."
    return "All groups were refused, so there are no means; the release of each group states the reason."


# ------------------------------------------------------------------------------------------------ files


def write_mean(path: PathLike, release: "Release | GroupMeans", *, force: bool = False) -> None:
    """Write the table as .npy, .npz, .csv or .parquet, by the ending of the path; `-` prints CSV."""
    if str(path) != STDOUT:
        write_file(path, encode_table(path, release), force=force)
        return
    text = format_csv(release)
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # the terminal cannot encode a name: write UTF-8, as in a file
            sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()  # a closed pipe or a full disk raises here
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise InvalidFileError(
            f"The mean could not be printed to standard output: {reason}. The budget was charged, and part of the"
            " output may have been seen. Write to a file next time."
        ) from None


def encode_table(path: PathLike, release: "Release | GroupMeans", level: float = 0.95) -> bytes:
    """Encode the table in the format of the path; .npy holds the mean alone."""
    ending = find_ending(path, LONG_TABLES if isinstance(release, Mapping) else TABLES)
    if ending == ".csv":
        return format_csv(release, level).encode()
    buffer, columns = io.BytesIO(), build_columns(release, level)
    if ending == ".npy":
        np.save(buffer, np.array(columns["mean"]), allow_pickle=False)
    elif ending == ".npz":
        np.savez(buffer, **{name: np.array(values) for name, values in columns.items()})  # type: ignore[arg-type]
    else:
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def format_csv(release: "Release | GroupMeans", level: float = 0.95) -> str:
    """Return the table as CSV; numbers read back bit for bit, unknown values are empty cells."""
    columns = build_columns(release, level)
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_format_cell, row)) + "\n" for row in rows)


def encode_picture(chart: Any, ending: str) -> bytes:
    """Encode a chart in the format of a file ending; an .html file works offline."""
    if ending == ".png":
        image = io.BytesIO()
        chart.save(image, format="png", scale_factor=2)
        return image.getvalue()
    text = io.StringIO()
    chart.save(text, format=ending[1:], **({"inline": True} if ending == ".html" else {}))
    return text.getvalue().encode()


def _format_cell(value: object) -> str:
    """Return one CSV cell; NaN is an empty cell."""
    if not isinstance(value, str):
        return "" if value != value else repr(value)
    text = escape_formula(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def escape_formula(name: str) -> str:
    """Put an apostrophe before a name that a spreadsheet would run as a formula, or that begins with an apostrophe.

    Removing one leading apostrophe restores the name.
    """
    return f"'{name}" if _RUN_BY_SPREADSHEETS.match(name) else name


# ------------------------------------------------------------------------------------------------ card


def _format_card(release: "Release | GroupMeans") -> str:
    """Return the guarantee and the first rows of the table as HTML; every name is escaped."""
    rows: list[Sequence[str]] = []
    if isinstance(release, Mapping):
        title, whole, lines = "Group means", f"of {len(release)} groups", release._describe_outcome()
        keys = list(release)[:MAX_ROWS]
        rows += [(shorten_name(key), release[key].refusal or count_noisy_columns([release[key]])) for key in keys]
        rows = [("group", "outcome"), *rows]
    elif release.refusal is not None:
        title, whole, lines = "Refused", "", [release.refusal]
    else:
        table = MeanTable(release)
        title, whole, lines = "Released", f"of {table.dimension} columns", [f"{table.line}.", table.note]
        few = table.dimension <= MAX_ROWS
        places = range(table.dimension) if few else table.rank_places()[:MAX_ROWS].tolist()
        rows = [itemgetter("name", "mean", "interval", "over", "verdict")(table.row(place)) for place in places]
        rows = [("column", "mean", "95% confidence interval", "noise / SD", "verdict"), *rows]
    stated, warning = release.guarantee, None if title == "Refused" else describe_large_delta(release)
    texts = [f"epsilon = {stated.epsilon!r}, delta = {stated.delta!r}, {stated.neighbors}, {stated.who}"]
    texts += [] if stated.private else ["Not private: the noise was seeded."]
    texts += [*lines, *([f"Warning: {warning}"] if warning else [])]
    text = "".join(f"<p style='margin:.3em 0'>{html.escape(line)}</p>" for line in texts)
    if not rows:
        return f"<div><strong>{title}</strong>{text}</div>"
    tags = ["th"] + ["td"] * (len(rows) - 1)
    head, *body = ["".join(f"<{tag} {_LEFT}>{html.escape(cell)}</{tag}>" for cell in row)
                   for tag, row in zip(tags, rows, strict=True)]  # fmt: skip
    more = f"<p>{len(body)} {whole}.</p>" if len(body) < int(whole.split()[1]) else ""
    shown = "".join(f"<tr>{row}</tr>" for row in body)
    cells = f"<table><thead><tr>{head}</tr></thead><tbody>{shown}</tbody></table>{more}"
    return f"<div><strong>{title}</strong>{text}{cells}</div>"
