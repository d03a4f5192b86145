"""A release as a table: one row per column of the data. The same table in memory and in files. Public."""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice, install_command
from dimfree.errors import InvalidParameter, RefusedRelease

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
    def interval(
        self, confidence: float = ..., *, simultaneous: bool = ..., include_sampling: bool = ...
    ) -> tuple[Floats, Floats]: ...


def release_frame(release: ReleaseLike, library: str, confidence: float, **bars: bool) -> Any:
    """The table of one release; `bars` are those of `Release.interval`."""
    make = _maker(library)
    return make(release_columns(release, confidence, **bars))


def means_frame(releases: Mapping[Any, ReleaseLike], library: str, confidence: float, **bars: bool) -> Any:
    """The same for every group, behind the column `group`; groups that were refused have no rows."""
    make = _maker(library)
    return make(means_columns(releases, confidence, **bars))


def means_columns(releases: Mapping[Any, ReleaseLike], confidence: float = 0.95, **bars: bool) -> Columns:
    """What the table of several groups holds, column by column."""
    parts = [
        {"group": [key] * each.dimension, **release_columns(each, confidence, **bars)}
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


def release_columns(release: ReleaseLike, confidence: float = 0.95, **bars: bool) -> Columns:
    """What the table of one release holds, column by column. NaN: the spread was not learned; no interval is given."""
    lower, upper = release.interval(confidence, **bars)
    present = {} if release.present is None else {"present": release.present.tolist()}
    return {
        "name": list(release.columns or map(str, range(release.dimension))),
        "mean": release.mean.tolist(),
        "noise_stddev": release.noise_stddev.tolist(),
        "lower": _known(lower),
        "upper": _known(upper),
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
