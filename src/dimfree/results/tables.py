"""A release as a table with a row for each column of the data: the same table in memory, in files and in print."""

import importlib
import io
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, install_command
from dimfree.data.endings import TABLES, PathLike, known_ending
from dimfree.errors import InvalidFile, InvalidParameter, RefusedRelease
from dimfree.results.confidence_sets import Target
from dimfree.results.writing import write_file

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

STDOUT = "-"
LONG_TABLES = (".csv", ".parquet")  # endings of a table of groups: it holds text
LIBRARIES = {"pandas": ("frames", "DataFrame"), "polars": ("polars", "DataFrame"), "pyarrow": ("files", "table")}
_RUN_BY_SPREADSHEETS = re.compile(r"[\s'=+\-@＝＋－＠]")  # first characters; the last four are full-width

Columns = dict[str, list[Any]]


def columns_of(release: "Release | Means", **intervals: Any) -> Columns:
    """Return what the table holds, column by column; `intervals` are parameters of `Release.confidence_interval`.

    NaN: the standard deviation was not learned, or no interval is given. `ci_covers` names the mean that the interval
    is for. Means of groups become one long table behind the column `group`, without the groups that were refused.
    """
    if not isinstance(release, Mapping):
        return _one_release(release, **intervals)
    parts = [
        {"group": [key] * each.dimension, **_one_release(each, **intervals)}
        for key, each in release.items()
        if not each.refused
    ]
    if not parts:
        raise RefusedRelease(nothing_to_show(release))
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def _one_release(
    release: "Release", level: float = 0.95, *, target: Target = "population", simultaneous: bool = False
) -> Columns:
    low, high = release.confidence_interval(level, target=target, simultaneous=simultaneous)
    present = {} if release.present is None else {"present": release.present.tolist()}
    return {
        "name": list(release.columns or map(str, range(release.dimension))),
        "mean": release.mean.tolist(),
        "noise_stddev": release.noise_stddev.tolist(),
        "ci_low": _known(low),
        "ci_high": _known(high),
        "ci_covers": [f"{target} mean" if given else "no interval" for given in np.isfinite(low).tolist()],
        "noise_over_spread": _known(release.noise_over_spread()),
        **present,
    }


def _known(numbers: Floats) -> list[float]:
    """NaN where a number is infinite: not known."""
    return list(np.where(np.isfinite(numbers), numbers, np.nan).tolist())


def nothing_to_show(means: "Means") -> str:
    """Why no group has a mean."""
    if not means:
        return "No group had enough people to be named, so there is no mean to show."
    return "All groups were refused, so there is no mean to show; each group's release says why."


def frame_of(release: "Release | Means", library: str, **intervals: Any) -> Any:
    """Return the table as a frame; an error names the extra of a library that is not installed."""
    name = check_choice("library", library, tuple(LIBRARIES))
    extra, maker = LIBRARIES[name]
    try:
        make = getattr(importlib.import_module(name), maker)
    except ImportError:
        raise InvalidParameter(
            f"Expected library={library!r} to be installed: {install_command(extra)}, or choose another of "
            f"{', '.join(LIBRARIES)}."
        ) from None
    return make(columns_of(release, **intervals))


class Tabular:
    """What has a table: a release, or the means of groups."""

    __slots__ = ()

    def to_frame(
        self,
        library: Literal["pandas", "polars", "pyarrow"] = "pandas",
        *,
        level: float = 0.95,
        target: Target = "population",
        simultaneous: bool = False,
    ) -> Any:
        """A table with a row for each column of the data, as `mean.csv` holds it; behind `group`, for each group.

        Its columns are name, mean, noise_stddev, ci_low and ci_high (from `confidence_interval`), ci_covers (the mean
        that the interval is for), and noise_over_spread, which is missing where the spread was not learned; with
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
        return frame_of(cast(Any, self), library, level=level, target=target, simultaneous=simultaneous)


# ------------------------------------------------------------------------------------------------ files


def write_mean(path: PathLike, release: "Release | Means", *, force: bool = False) -> None:
    """Write the table as .npy, .npz, .csv or .parquet, by the ending of the path; `-` prints it as CSV."""
    if str(path) == STDOUT:
        _print(mean_csv(release))
    else:
        write_file(path, mean_bytes(path, release), force=force)


def mean_bytes(path: PathLike, release: "Release | Means", level: float = 0.95) -> bytes:
    """Return the table in the format that the ending of the path asks for; .npy holds the mean alone."""
    ending = known_ending(path, LONG_TABLES if isinstance(release, Mapping) else TABLES)
    if ending == ".csv":
        return mean_csv(release, level).encode()
    buffer, columns = io.BytesIO(), columns_of(release, level=level)
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
    columns = columns_of(release, level=level)
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def no_formula(name: str) -> str:
    """A spreadsheet would run a name such as `=1+1`: an apostrophe goes in front, as before one that has one already.

    Hence taking one apostrophe off a name that begins with one gives the name back.
    """
    return f"'{name}" if _RUN_BY_SPREADSHEETS.match(name) else name


def _cell(value: object) -> str:
    """One cell of CSV; NaN is an empty one."""
    if not isinstance(value, str):
        return "" if value != value else repr(value)
    text = no_formula(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text


def _print(text: str) -> None:
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
