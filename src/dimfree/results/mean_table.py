"""The table of a mean: a row for each column with its mean, interval, noise, SD and verdict, as numbers and as text.

Files, frames, cards, pictures and reports draw from it. A verdict compares noise with the SD of one record at the
unfavorable end of its bounds: a column is precise only if it is so for the smallest SD that is left possible.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.accounting.budget import large_delta
from dimfree.results.confidence_sets import Target, interval_note
from dimfree.results.quantiles import coordinate_quantile

if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

PRECISE, ROUGH, LOST, UNLEARNED = range(4)
NAMES = ("precise", "rough", "lost in noise", "spread not learned")
NO_INTERVAL = "no interval: records may lie farther out than was measured"  # if `one_value` is True
NO_MODEL = "no interval: the population is not modelled"
PRECISION = 0.1  # of one record's standard deviation: noise below it is small
MIXED_UNITS = 100.0  # ratio of SDs above which columns do not share an axis

LONGEST = 120  # characters of a name in a table
_TURNING = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # would reverse the direction of other text
_UNSEEN = ("Cc", "Cs", "Co", "Cn")  # control characters, lone surrogates, private and unassigned characters

Places = NDArray[np.intp]
Columns = dict[str, list[Any]]


class MeanTable:
    """The rows of one release that was not refused; an array holds one number or flag for each column.

    `low`, `high`: confidence intervals of the target, each column separately, or with `simultaneous` all at once.
    Infinite: there is no interval.
    """

    def __init__(
        self, release: "Release", level: float = 0.95, target: Target = "population", simultaneous: bool = False
    ) -> None:
        self.release, self.level, self.target, self.dimension = release, level, target, release.dimension
        self.mean, self.noise = release.mean, release.noise_stddev
        self.low, self.high = release.confidence_interval(level, target=target, simultaneous=simultaneous)
        self.without = np.isinf(self.low)  # columns without an interval
        self.over_spread = release.noise_over_spread()  # an upper bound on noise over SD; infinite: not known
        bounds = release.spread_bounds()
        self.spread = np.zeros(self.dimension) if bounds is None else bounds[0]  # the low end of the SD; 0: not known
        self.verdicts = verdicts(release)
        self.precise = int((self.verdicts == PRECISE).sum())
        with np.errstate(over="ignore"):  # of a noise of nearly 0
            self.strength = np.abs(self.mean) / self.noise
        self.by_columns = release.reach is not None  # every column was read separately
        self.bounded = release.shape is not None  # the SD is known up to a factor only
        self.compared = bool(np.isfinite(self.over_spread).any())
        self.note, self.line = interval_note(release.error_model, target), noise_line([release])

    def columns(self) -> Columns:
        """Return the columns of a file or a frame; NaN: the SD was not learned, or there is no interval."""
        present = {} if self.release.present is None else {"present": self.release.present.tolist()}
        return {
            "name": list(self.release.columns or map(str, range(self.dimension))),
            "mean": self.mean.tolist(),
            "noise_stddev": self.noise.tolist(),
            "ci_low": _known(self.low),
            "ci_high": _known(self.high),
            "ci_covers": ["no interval" if none else f"{self.target} mean" for none in self.without],
            "noise_over_spread": _known(self.over_spread),
            **present,
        }

    @cached_property
    def ends(self) -> dict[str, Floats]:
        """What a picture draws; `all_…`: all columns at once. The mean where there is no interval: no bar is drawn."""
        together = self.release.confidence_interval(self.level, target=self.target, simultaneous=True)
        ends = zip(("low", "high", "all_low", "all_high"), (self.low, self.high, *together), strict=True)
        return {"mean": self.mean} | {name: np.where(self.without, self.mean, end) for name, end in ends}

    def ends_in_spreads(self) -> dict[str, Floats]:
        """Return `ends` of each column from its mean, in units of its SD; 0 where that is unknown."""
        unit = np.where(self.spread > 0, self.spread, np.inf)
        return {name: (end - self.mean) / unit for name, end in self.ends.items()}

    @cached_property
    def mixed(self) -> bool:
        """Whether the units of the columns differ so much that one axis would hide most of them."""
        known = self.spread[self.spread > 0]
        return 2 * len(known) >= self.dimension and bool(known.max() > MIXED_UNITS * known.min())

    @property
    def clear(self) -> int:
        """How many means have a certain sign, all at once."""
        return int(((self.ends["all_low"] > 0) | (self.ends["all_high"] < 0))[~self.without].sum())

    @property
    def threshold(self) -> float:
        """The strength above which the sign of the sample mean is certain."""
        clipping = self.release.error_model.clipping
        return coordinate_quantile(self.level, self.dimension) * math.hypot(1.0, clipping)

    def counts(self) -> list[tuple[str, int]]:
        """Return (verdict, how many), in the order of the verdicts."""
        return [(word, int((self.verdicts == verdict).sum())) for verdict, word in enumerate(NAMES)]

    def foremost(self) -> Places:
        """Return all places, the most telling first: the strongest, or by columns the noisiest relative to their SD."""
        return np.argsort(-(self.over_spread if self.by_columns else self.strength), kind="stable")

    def drawn_places(self, most: int) -> Places:
        """Return up to `most` places, in their order: the foremost half, and others spread evenly over the rest."""
        order = self.foremost()
        if len(order) <= most:
            return np.sort(order)
        head, rest = order[: most // 2], np.sort(order[most // 2 :])
        evenly = rest[np.linspace(0, len(rest) - 1, most - len(head)).round().astype(np.intp)]
        return np.sort(np.concatenate([head, evenly]))

    def row(self, place: int) -> dict[str, str]:
        """Return the row of one column as text: numbers with two digits of the noise, and why there is no interval."""
        columns = (self.mean, self.low, self.high, self.noise, self.over_spread)
        mean, low, high, noise, over = (float(each[place]) for each in columns)
        write, reach = partial(with_noise_digits, noise), self.release.reach
        if self.without[place]:
            is_modelled = self.target == "sample" or self.release.error_model.covers_population
            interval = NO_INTERVAL if is_modelled else NO_MODEL
        elif max(mean - low, high - mean) > (high - low) / 2 * (1 + 1e-6):  # cut at a declared bound
            interval = f"{write(low)} to {write(high)}"
        else:
            interval = f"± {write((high - low) / 2)}"
        within = ""
        if reach is not None:  # from where to where a record may lie in one column alone and count in full
            centre, far = float(reach.centre[place]), float(reach.columns[place])
            within = spanned(with_noise_digits(far, centre - far), with_noise_digits(far, centre + far))
        return {
            "place": str(place),
            "name": shown_names(self.release.columns, [place])[0],
            "mean": write(mean),
            "interval": interval,
            "noise": write(noise),
            "over": f"{'≤ ' if self.bounded else ''}{digits(over, 2)}" if math.isfinite(over) else "–",
            "verdict": NAMES[self.verdicts[place]],
            "strength": digits(float(self.strength[place]), 3),
            "within": within,
        }


def _known(numbers: Floats) -> list[float]:
    return list(np.where(np.isfinite(numbers), numbers, np.nan).tolist())


def verdicts(release: "Release") -> Places:
    """Return one verdict for each column of a release that was not refused."""
    bounds = release.spread_bounds()
    if bounds is None:
        return np.full(release.dimension, UNLEARNED, dtype=np.intp)
    noise, (low, high) = release.noise_stddev, bounds
    unlearned = low <= 0
    lost = (noise > high) | (~unlearned & (noise > low))
    chosen = [lost, unlearned, noise <= PRECISION * low]
    return np.select(chosen, [LOST, UNLEARNED, PRECISE], ROUGH).astype(np.intp)


def noise_line(releases: "Sequence[Release]") -> str:
    """How many columns of these releases have noise below a tenth of their SD, above it, or neither known."""
    found = np.concatenate([verdicts(release) for release in releases])
    precise, lost, unlearned = (int((found == verdict).sum()) for verdict in (PRECISE, LOST, UNLEARNED))
    have = "columns have" if len(found) > 1 else "column has"
    line = f"{precise} of {len(found)} {have} noise below a tenth of the spread, {lost} above one spread"
    return line if not unlearned else f"{line}; spread not learned: {unlearned}, whose noise may be above it"


def delta_warning(release: "Release | Means") -> str | None:
    """A warning if delta is large for the number of records that is stated; None if none is, or all is well."""
    each = release.values() if isinstance(release, Mapping) else [release]
    counts = [found for one in each if isinstance(found := one.parameters.get("count"), int | float)]
    return large_delta(release.guarantee.delta, sum(counts)) if counts else None


# names and numbers as short text: names whatever they contain, numbers with no more digits than their noise leaves


def shown_name(name: object, longest: int = LONGEST) -> str:
    """One line without control characters, cut if it grows too long; wide letters count twice."""
    letters = {each for each in str(name) if not each.isspace()}
    unseen = {each for each in letters if each in _TURNING or unicodedata.category(each) in _UNSEEN}
    line = " ".join("".join("\N{REPLACEMENT CHARACTER}" if each in unseen else each for each in str(name)).split())
    width = 0
    for at, letter in enumerate(line):
        width += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width > longest:
            return line[: max(at - 1, 1)] + "…"
    return line or "(no name)"


def shown_names(columns: Sequence[str] | None, places: Iterable[int]) -> list[str]:
    """Return the names of the columns at these places; numbers from 0 if the table had no names."""
    return [f"column {place}" if columns is None else shown_name(columns[place]) for place in places]


def with_noise_digits(noise: float, value: float) -> str:
    """As many decimals as give the noise two digits: more would be meaningless."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def digits(value: float, count: int) -> str:
    """This many digits, also if the last one is 0."""
    return typeset(f"{value:#.{count}g}".rstrip("."))


def spanned(low: str, high: str) -> str:
    """From one number to another, or the one that both are."""
    return low if low == high else f"{low} to {high}"


def typeset(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
