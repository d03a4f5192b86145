"""The table of a mean: one row per column with mean, interval, noise, SD and verdict, as numbers and as text.

Files, frames, printed tables, plots and reports use it. A verdict compares the noise with the lower bound of the SD, so
a column is precise only if its noise is small for every SD within the bounds.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import explain_large_delta
from dimfree.results.confidence_sets import Target, describe_intervals
from dimfree.results.quantiles import coordinate_quantile

if TYPE_CHECKING:
    from dimfree.results.grouped import GroupMeans
    from dimfree.results.release import Release

PRECISE, ROUGH, LOST, UNLEARNED = range(4)
NAMES = ("precise", "rough", "lost in noise", "SD not estimated")
NO_INTERVAL = "no interval: records may lie beyond the measured range"  # if `without_interval` is True
NO_MODEL = "no interval: the population is not modeled"
PRECISION = 0.1  # noise below this share of the SD is small
MIXED_UNITS = 100.0  # ratio of SDs above which columns do not share an axis

MAX_NAME = 120  # characters of a name in a table
_TURNING = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # change the direction of other text
_UNSEEN = ("Cc", "Cs", "Co", "Cn")  # control characters, lone surrogates, private and unassigned characters

Places = NDArray[np.intp]
Columns = dict[str, list[Any]]


class MeanTable:
    """The rows of one release with a mean; each array has one entry per column.

    `low`, `high`: confidence intervals of the target, separately per column or simultaneous; infinite: no interval.
    """

    def __init__(
        self, release: "Release", level: float = 0.95, target: Target = "population", simultaneous: bool = False
    ) -> None:
        self.release, self.level, self.target, self.dimension = release, level, target, release.dimension
        self.mean, self.noise = release.mean, release.noise_stddev
        self.low, self.high = release.confidence_interval(level, target=target, simultaneous=simultaneous)
        self.without = np.isinf(self.low)  # columns without an interval
        self.noise_to_sd = release.noise_to_sd()  # an upper bound; infinite: unknown
        bounds = release.sd_bounds()
        self.sd = np.zeros(self.dimension) if bounds is None else bounds[0]  # the lower bound of the SD; 0: unknown
        self.verdicts = verdicts(release)
        self.precise = int((self.verdicts == PRECISE).sum())
        with np.errstate(over="ignore"):  # of a noise of nearly 0
            self.strength = np.abs(self.mean) / self.noise
        self.by_columns = release.clipping is not None  # the per-column estimator
        self.bounded = release.estimated_variances is not None  # the SD is known up to a factor
        self.compared = bool(np.isfinite(self.noise_to_sd).any())
        self.note, self.line = describe_intervals(release.error_model, target), count_noisy_columns([release])

    def columns(self) -> Columns:
        """Return the columns of a file or frame; NaN: SD not estimated, or no interval."""
        present = {} if self.release.present is None else {"present": self.release.present.tolist()}
        return {
            "name": list(self.release.columns or map(str, range(self.dimension))),
            "mean": self.mean.tolist(),
            "noise_stddev": self.noise.tolist(),
            "ci_low": _replace_unknown(self.low),
            "ci_high": _replace_unknown(self.high),
            "ci_covers": ["no interval" if none else f"{self.target} mean" for none in self.without],
            "noise_to_sd": _replace_unknown(self.noise_to_sd),
            **present,
        }

    @cached_property
    def ends(self) -> dict[str, Floats]:
        """Ends of the drawn bars; `all_…`: simultaneous. Without an interval both ends equal the mean: no bar."""
        together = self.release.confidence_interval(self.level, target=self.target, simultaneous=True)
        ends = zip(("low", "high", "all_low", "all_high"), (self.low, self.high, *together), strict=True)
        return {"mean": self.mean} | {name: np.where(self.without, self.mean, end) for name, end in ends}

    def scale_ends(self) -> dict[str, Floats]:
        """Return `ends` relative to the mean of each column, in units of its SD; 0 if the SD is unknown."""
        sd = np.where(self.sd > 0, self.sd, np.inf)
        return {name: (end - self.mean) / sd for name, end in self.ends.items()}

    @cached_property
    def mixed(self) -> bool:
        """Whether the units of the columns differ too much for one axis."""
        known = self.sd[self.sd > 0]
        return 2 * len(known) >= self.dimension and bool(known.max() > MIXED_UNITS * known.min())

    @property
    def clear(self) -> int:
        """The number of means whose sign is certain, simultaneously."""
        return int(((self.ends["all_low"] > 0) | (self.ends["all_high"] < 0))[~self.without].sum())

    @property
    def threshold(self) -> float:
        """The |mean| / noise above which the sign of the sample mean is certain."""
        clipping_bias = self.release.error_model.clipping_bias
        return coordinate_quantile(self.level, self.dimension) * math.hypot(1.0, clipping_bias)

    def counts(self) -> list[tuple[str, int]]:
        """Return (verdict, number of columns), in the order of the verdicts."""
        return [(word, int((self.verdicts == verdict).sum())) for verdict, word in enumerate(NAMES)]

    def rank_places(self) -> Places:
        """Return all places: by |mean| / noise, or for the per-column estimator by noise / SD, largest first."""
        return np.argsort(-(self.noise_to_sd if self.by_columns else self.strength), kind="stable")

    def choose_places(self, most: int) -> Places:
        """Return up to `most` places in table order: the top ranks, and others at even distances over the rest."""
        order = self.rank_places()
        if len(order) <= most:
            return np.sort(order)
        head, rest = order[: most // 2], np.sort(order[most // 2 :])
        evenly = rest[np.linspace(0, len(rest) - 1, most - len(head)).round().astype(np.intp)]
        return np.sort(np.concatenate([head, evenly]))

    def row(self, place: int) -> dict[str, str]:
        """Return the row of one column as text; numbers have two digits of the noise."""
        columns = (self.mean, self.low, self.high, self.noise, self.noise_to_sd)
        mean, low, high, noise, ratio = (float(each[place]) for each in columns)
        write, clipping = partial(format_to_noise, noise), self.release.clipping
        if self.without[place]:
            is_modeled = self.target == "sample" or self.release.error_model.covers_population
            interval = NO_INTERVAL if is_modeled else NO_MODEL
        elif max(mean - low, high - mean) > (high - low) / 2 * (1 + 1e-6):  # cut at a declared bound
            interval = f"{write(low)} to {write(high)}"
        else:
            interval = f"± {write((high - low) / 2)}"
        is_noisy, within = self.verdicts[place] != PRECISE, ""
        if clipping is not None:  # the unclipped range of one column, if the record is at the center of all others
            center, far = float(clipping.center[place]), float(clipping.column_radii[place])
            within = format_span(format_to_noise(far, center - far), format_to_noise(far, center + far))
        return {
            "place": str(place),
            "name": shorten_names(self.release.columns, [place])[0],
            "mean": write(mean),
            "interval": interval,
            "range": "no interval" if self.without[place] else f"{write(low)} to {write(high)}",
            "note": "; ".join([interval] * bool(self.without[place]) + [NAMES[self.verdicts[place]]] * bool(is_noisy)),
            "noise": write(noise),
            "over": f"{'≤ ' if self.bounded else ''}{format_digits(ratio, 2)}" if math.isfinite(ratio) else "–",
            "verdict": NAMES[self.verdicts[place]],
            "strength": format_digits(float(self.strength[place]), 3),
            "within": within,
        }


def _replace_unknown(numbers: Floats) -> list[float]:
    return list(np.where(np.isfinite(numbers), numbers, np.nan).tolist())


def verdicts(release: "Release") -> Places:
    """Return one verdict per column of a release with a mean."""
    bounds = release.sd_bounds()
    if bounds is None:
        return np.full(release.dimension, UNLEARNED, dtype=np.intp)
    noise, (low, high) = release.noise_stddev, bounds
    unlearned = low <= 0
    lost = (noise > high) | (~unlearned & (noise > low))
    chosen = [lost, unlearned, noise <= PRECISION * low]
    return np.select(chosen, [LOST, UNLEARNED, PRECISE], ROUGH).astype(np.intp)


def count_noisy_columns(releases: "Sequence[Release]") -> str:
    """Return in one line in how many columns the noise is small, large or unknown relative to the SD."""
    found = np.concatenate([verdicts(release) for release in releases])
    precise, lost, unlearned = (int((found == verdict).sum()) for verdict in (PRECISE, LOST, UNLEARNED))
    columns = f"{len(found)} column{'s' * (len(found) != 1)}"
    line = f"Noise is below {PRECISION:.0%} of the SD in {precise} of {columns}"
    if not precise and not unlearned:
        line = f"Noise may exceed {PRECISION:.0%} of the SD in all {columns}"
    line += f", and may exceed the SD in {lost}" if lost else ""
    return f"{line}; the SD of {unlearned} could not be estimated" if unlearned else line


def describe_large_delta(release: "Release | GroupMeans") -> str | None:
    """Return a warning if delta is large for the released number of records, else None."""
    each = release.values() if isinstance(release, Mapping) else [release]
    counts = [found for one in each if isinstance(found := one.parameters.get("count"), int | float)]
    return explain_large_delta(release.guarantee.delta, sum(counts)) if counts else None


# names as one safe line, numbers with the digits that the noise leaves


def shorten_name(name: object, longest: int = MAX_NAME) -> str:
    """Return one line without control characters, cut at `longest` characters; wide letters count twice."""
    letters = {each for each in str(name) if not each.isspace()}
    unseen = {each for each in letters if each in _TURNING or unicodedata.category(each) in _UNSEEN}
    line = " ".join("".join("\N{REPLACEMENT CHARACTER}" if each in unseen else each for each in str(name)).split())
    width = 0
    for at, letter in enumerate(line):
        width += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width > longest:
            return line[: max(at - 1, 1)] + "…"
    return line or "(no name)"


def shorten_names(columns: Sequence[str] | None, places: Iterable[int]) -> list[str]:
    """Return the names of the columns at these places; numbers from 0 if the table has no names."""
    return [f"column {place}" if columns is None else shorten_name(columns[place]) for place in places]


def format_to_noise(noise: float, value: float) -> str:
    """Format a value with as many decimals as give the noise two digits."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def format_digits(value: float, count: int) -> str:
    """Format with this many significant digits, trailing zeros included."""
    return typeset(f"{value:#.{count}g}".rstrip("."))


def format_span(low: str, high: str) -> str:
    """Join two numbers as a range, or return the number if both are equal."""
    return low if low == high else f"{low} to {high}"


def typeset(text: str) -> str:
    """Use a narrow space between thousands and a minus sign."""
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
