"""A release as a table: one row per column of the data. The same table in memory and in files. Public."""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, install_command
from dimfree.errors import InvalidParameter, RefusedRelease
from dimfree.results.confidence_sets import Target

LIBRARIES = ("pandas", "polars", "pyarrow")
_EXTRAS = {"pandas": "frames", "polars": "polars", "pyarrow": "files"}
_MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}

Columns = dict[str, list[Any]]


class ReleaseLike(Protocol):
    """The part of a release that a table shows. (A protocol: Release imports this module.)"""

    @property
    def columns(self) -> tuple[str, ...] | None: ...
    @property
    def dimension(self) -> int: ...
    @property
    def refused(self) -> bool: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def noise_stddev(self) -> Floats: ...
    @property
    def present(self) -> Floats | None: ...
    def noise_over_spread(self) -> Floats: ...
    def confidence_interval(
        self, level: float = ..., *, target: Target = ..., simultaneous: bool = ...
    ) -> tuple[Floats, Floats]: ...


def release_frame(release: ReleaseLike, library: str, **intervals: Any) -> Any:
    """The table of one release; `intervals` are the parameters of `Release.confidence_interval`."""
    make = _maker(library)
    return make(release_columns(release, **intervals))


def means_frame(releases: Mapping[Any, ReleaseLike], library: str, **intervals: Any) -> Any:
    """The same for every group, behind the column `group`; groups that were refused have no rows."""
    make = _maker(library)
    return make(means_columns(releases, **intervals))


def means_columns(releases: Mapping[Any, ReleaseLike], **intervals: Any) -> Columns:
    """What the table of several groups holds, column by column."""
    parts = [
        {"group": [key] * each.dimension, **release_columns(each, **intervals)}
        for key, each in releases.items()
        if not each.refused
    ]
    if not parts:
        raise RefusedRelease(nothing_to_show(releases))
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def nothing_to_show(releases: Mapping[Any, ReleaseLike]) -> str:
    """Why no group has a mean."""
    if not releases:
        return "No group had enough people to be named, so there is no mean to show."
    return "All groups were refused, so there is no mean to show; each group's release says why."


def release_columns(
    release: ReleaseLike, level: float = 0.95, *, target: Target = "population", simultaneous: bool = False
) -> Columns:
    """What the table of one release holds, column by column. NaN: the spread was not learned; no interval is given.

    `ci_covers` names the mean that the interval is for.
    """
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


def _maker(library: str) -> Any:
    """The function that makes a table from columns; an error names the extra of a library that is not installed."""
    name = check_choice("library", library, LIBRARIES)
    try:
        return getattr(importlib.import_module(name), _MAKERS[name])
    except ImportError:
        raise InvalidParameter(
            f"Expected library={library!r} to be installed: {install_command(_EXTRAS[name])}, or choose another of "
            f"{', '.join(LIBRARIES)}."
        ) from None
