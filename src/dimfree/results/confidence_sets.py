"""Confidence sets about a released mean, and what their size is made of: noise, and sampling where it is modelled.

Noise is drawn by the library, so its law is known exactly. Sampling is a model: records that are independent draws with
the variances given or learned.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dimfree._types import Floats
from dimfree._validate import check_array, check_flag, check_lengths, check_probability
from dimfree.results.error_model import ErrorModel, LearnedShape, frozen_numbers
from dimfree.results.quantiles import coordinate_quantile, coordinate_reach, length_quantile
from dimfree.results.reach import Reach, what_is_averaged

Target = Literal["population", "sample"]
TARGETS: tuple[Target, ...] = ("population", "sample")
POPULATION = "the population mean"
POPULATION_NOTE = "Intervals are for the population mean: sampling error, privacy noise and clipping bias together."
SAMPLE_NOTE = "Intervals are for the sample mean: privacy noise and clipping bias, without sampling error."
UNMEASURED = (
    "Some records may lie farther out than was measured; they count at the edge of what was, and no interval covers"
    " what they would add."
)
NO_POPULATION = (
    "No interval is given for the population mean: the release states no standard deviation or number of records."
    " target='sample' covers the privacy noise."
)
OUT_OF_RANGE = (
    "No radius is given: the squares of the standard deviations leave the range of floating-point numbers."
    " confidence_box has an interval for each column."
)
LEAST_TOLD = 0.005  # of `clipping`: less changes no digit of a set


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """The difference between a release and the mean it estimates, part by part; every entry is public.

    `noise` and `sampling` are standard deviations per coordinate, `…_principal` variances along common directions.
    Coordinates of which `one_value` is True have no interval. A set allows for `clipping` as for so many deviations of
    noise more, independent of it: wide enough for a shift of as many deviations, at any usual confidence.
    """

    noise: Floats
    noise_principal: Floats
    covers: str
    clipping: float
    sampling: Floats | None = None  # None: not modelled, so that there is no set about the population
    sampling_principal: Floats | None = None
    log_stddev: Floats | None = None  # of the logarithm of `sampling`, upwards; None: its variances were given
    one_value: NDArray[np.bool_] | None = None  # None: no such coordinate
    unmeasured: bool = False  # whether some records may lie farther out than was measured

    @classmethod
    @np.errstate(all="ignore")  # squares may leave the range of floats
    def of(
        cls,
        noise: Floats,
        model: ErrorModel,
        learned: LearnedShape | None,
        reach: Reach | None,
        target: Target,
    ) -> Self:
        principal = noise**2 if model.noise_principal is None else model.noise_principal
        covers = POPULATION if target == "population" else what_is_averaged(reach)
        if target == "sample" or model.record_stddev is None or model.records is None:
            nothing = (None, None, None)  # of sampling
            return cls(noise, principal, covers, model.clipping, *nothing, model.one_value, model.unmeasured)
        present = 1.0 if model.present is None else model.present
        share, records = model.widening / (model.records * present), model.record_principal
        spread = share * (model.record_stddev**2 if records is None else records)
        if model.correlation:
            principal, spread = np.sort(principal)[::-1], _correlated(spread, model.correlation)
        log_stddev = None if learned is None else learned.log_above
        sampling = model.record_stddev * np.sqrt(share)
        parts = (sampling, spread, log_stddev, model.one_value, model.unmeasured)
        return cls(noise, principal, POPULATION, model.clipping, *parts)

    @property
    def missing(self) -> bool:
        """Whether there is no set: it would be about the population, which the release does not model."""
        return self.covers == POPULATION and self.sampling is None

    def length(self, confidence: float) -> float:
        """The Euclidean distance all parts together stay within; learned variances count at their expectation."""
        if self.missing:
            return math.inf
        sampling = 0.0 if self.sampling_principal is None else self.sampling_principal
        return length_quantile(self.noise_principal * (1 + self.clipping**2) + sampling, confidence)

    def reach(self, confidence: float, *, simultaneous: bool) -> Floats:
        """The distance every coordinate stays within; a coordinate's learned variance counts with its uncertainty.

        Infinite where a coordinate has no interval, and everywhere if there is no set.
        """
        reach = self._finite_reach(confidence, len(self.noise) if simultaneous else 1)
        return reach if self.one_value is None else np.where(self.one_value, np.inf, reach)

    @property
    def uncovered(self) -> int:
        """How many coordinates have no interval."""
        return 0 if self.one_value is None else int(self.one_value.sum())

    def _finite_reach(self, confidence: float, coordinates: int) -> Floats:
        if self.missing:
            return np.full_like(self.noise, np.inf)
        noise = self.noise * math.hypot(1.0, self.clipping)
        sampling = np.zeros_like(noise) if self.sampling is None else self.sampling
        if self.log_stddev is None:
            return coordinate_quantile(confidence, coordinates) * np.hypot(noise, sampling)
        return coordinate_reach(noise, sampling, self.log_stddev, confidence ** (1 / coordinates))  # Šidák


@dataclass(frozen=True)
class BallParts:
    """Radius of each part alone, at the confidence of the ball, and its share of the mean squared distance.

    The shares add up to 1; None: sampling is not modelled.
    """

    noise: float
    sampling: float | None
    noise_share: float
    sampling_share: float | None

    @classmethod
    def of(cls, parts: Uncertainty, confidence: float) -> Self:
        noise, sampling = parts.noise_principal, parts.sampling_principal
        alone = length_quantile(noise, confidence)
        if sampling is None:
            return cls(alone, None, 1.0, None)
        with np.errstate(all="ignore"):  # squares may leave the range of floats
            share = float(noise.sum() / (noise.sum() + sampling.sum()))
        return cls(alone, length_quantile(sampling, confidence), share, 1 - share)


@dataclass(frozen=True, eq=False)
class BoxParts:
    """Per coordinate: standard deviation of noise and of sampling; None: not modelled."""

    noise: Floats
    sampling: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBall:
    """All points within `radius` of `centre`: with the stated confidence one of them is what it `covers`."""

    centre: Floats
    radius: float
    confidence: float
    covers: str
    learned: bool
    parts: BallParts
    clipping: float = 0.0  # allowed for, in deviations of the noise
    uncovered: int = 0  # columns that have no interval
    unmeasured: bool = False  # whether some records may lie farther out than was measured

    @classmethod
    def about(cls, centre: Floats, parts: Uncertainty, confidence: float) -> Self:
        confidence = check_probability("confidence", confidence)
        radius, middle = parts.length(confidence), frozen_numbers("centre", centre, len(centre))
        learned, made_of = parts.log_stddev is not None, BallParts.of(parts, confidence)
        left_out = (parts.clipping, parts.uncovered, parts.unmeasured)
        return cls(middle, radius, confidence, parts.covers, learned, made_of, *left_out)

    def contains(self, point: ArrayLike) -> bool:
        """Whether a point lies in the ball, its surface included."""
        return bool(np.linalg.norm(_point(point, len(self.centre)) - self.centre) <= self.radius)

    def statement(self) -> str:
        """What the ball covers, and which part of its radius is noise and which is sampling, in plain sentences."""
        parts, of = self.parts, "of the mean squared distance"
        sampling = None if parts.sampling is None else f"{parts.sampling:.4g} alone, {parts.sampling_share:.0%} {of}"
        if math.isinf(self.radius):
            return NO_POPULATION if self.covers == POPULATION and parts.sampling is None else OUT_OF_RANGE
        return " ".join([
            f"With confidence {self.confidence:g}, {self.covers} lies within {self.radius:.4g} of the ball's centre.",
            _noise_sentence(f"radius {parts.noise:.4g} alone, {parts.noise_share:.0%} {of}"),
            *_clipping_sentences(self.clipping),
            _sampling_sentence("radius", sampling, learned=self.learned),
            *([UNMEASURED] if self.unmeasured else []),
            *_uncovered_sentences(self.uncovered),
        ])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        shown = {"kind": "ball", "confidence": self.confidence, "covers": self.covers, "learned": self.learned}
        radius, *parts = (_finite(each) for each in (self.radius, *asdict(self.parts).values()))
        named = dict(zip(asdict(self.parts), parts, strict=True))
        middle = {"centre": self.centre.tolist(), "radius": radius, "parts": named}
        rest = {"clipping": self.clipping, "uncovered": self.uncovered, "unmeasured": self.unmeasured}
        return shown | middle | rest | {"statement": self.statement()}

    def __repr__(self) -> str:
        within = f"within {self.radius:.4g}" if math.isfinite(self.radius) else "not claimed"
        return f"<ConfidenceBall: {self.covers} {within}, confidence {self.confidence:g}>"


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBox:
    """An interval per coordinate: with the stated confidence each of them, or with `simultaneous` all, hold.

    Infinite where a column has no interval, and everywhere if the population is not modelled: no interval.
    """

    low: Floats
    high: Floats
    confidence: float
    simultaneous: bool
    covers: str
    learned: bool
    parts: BoxParts
    clipping: float = 0.0  # allowed for, in deviations of the noise
    unmeasured: bool = False  # whether some records may lie farther out than was measured

    @classmethod
    def about(cls, centre: Floats, parts: Uncertainty, confidence: float, *, simultaneous: bool) -> Self:
        confidence = check_probability("confidence", confidence)
        simultaneous = check_flag("simultaneous", simultaneous)
        reach = parts.reach(confidence, simultaneous=simultaneous)
        low, high = (np.frombuffer(end.tobytes()) for end in (centre - reach, centre + reach))
        noise, sampling = (
            None if part is None else frozen_numbers("a part", part, len(centre))
            for part in (parts.noise, parts.sampling)
        )
        assert noise is not None  # for the type checker
        learned, made_of = parts.log_stddev is not None, BoxParts(noise, sampling)
        left_out = (parts.clipping, parts.unmeasured)
        return cls(low, high, confidence, simultaneous, parts.covers, learned, made_of, *left_out)

    def contains(self, point: ArrayLike) -> bool:
        """Whether every coordinate of a point lies in its interval, the ends included."""
        inside = _point(point, len(self.low))
        return bool(((self.low <= inside) & (inside <= self.high)).all())

    def statement(self) -> str:
        """What the intervals cover, and which part of their width is noise and which is sampling, in sentences."""
        sampling = None if self.parts.sampling is None else f"{self.parts.sampling.max():.4g}"
        if self.covers == POPULATION and self.parts.sampling is None:
            return NO_POPULATION
        return " ".join([
            f"With confidence {self.confidence:g}, {self.covers} lies in these intervals, {self._which}.",
            _noise_sentence(f"standard deviation up to {self.parts.noise.max():.4g}"),
            *_clipping_sentences(self.clipping),
            _sampling_sentence("standard deviation up to", sampling, learned=self.learned),
            *([UNMEASURED] if self.unmeasured else []),
            *_uncovered_sentences(int(np.isinf(self.low).sum())),
        ])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON; None where there is no interval."""
        low, high = ([_finite(each) for each in end.tolist()] for end in (self.low, self.high))
        parts = {name: None if part is None else part.tolist() for name, part in vars(self.parts).items()}
        shown = {"kind": "box", "confidence": self.confidence, "simultaneous": self.simultaneous, "covers": self.covers}
        ends = {"learned": self.learned, "low": low, "high": high, "clipping": self.clipping, "parts": parts}
        return shown | ends | {"unmeasured": self.unmeasured, "statement": self.statement()}

    @property
    def _which(self) -> str:
        return "all coordinates at once" if self.simultaneous else "each coordinate by itself"

    def __repr__(self) -> str:
        return f"<ConfidenceBox: {self.covers}, {self._which}, confidence {self.confidence:g}>"


def interval_note(model: ErrorModel, target: Target = "population") -> str:
    """What the intervals of a release cover: a footnote."""
    if target == "population" and not model.covers_population:
        return NO_POPULATION
    note = SAMPLE_NOTE if target == "sample" else POPULATION_NOTE
    return f"{note} {UNMEASURED}" if model.unmeasured else note


def _correlated(variances: Floats, correlation: float) -> Floats:
    """Principal variances, falling, if any two coordinates had this correlation ρ: (1 - ρ)·diag(v) + ρ·√v·√vᵀ.

    Lists of eigenvalues, both falling, add up to one that majorises the eigenvalues of the sum (Ky Fan).
    """
    falling = (1 - correlation) * np.sort(variances)[::-1]
    falling[0] += correlation * variances.sum()
    return np.asarray(falling)


def _finite(number: float | None) -> float | None:
    """For JSON, which has no other numbers."""
    return number if number is not None and math.isfinite(number) else None


def _point(point: ArrayLike, dimension: int) -> Floats:
    array = check_array("point", point, rank=1)
    check_lengths("point", len(array), "coordinate", dimension)
    return array


def _uncovered_sentences(uncovered: int) -> list[str]:
    """About the columns that have no interval, if there are any."""
    return [f"Columns without an interval are not covered: {uncovered}."] if uncovered else []


def _clipping_sentences(clipping: float) -> list[str]:
    """About what the set allows for records that were drawn in, if it does."""
    if clipping < LEAST_TOLD:
        return []
    return [f"Drawing in far records: allowed for like {clipping:.2g} times as much noise, by the released lengths."]


def _noise_sentence(size: str) -> str:
    return f"Noise ({size}): drawn for privacy, its law is known exactly."


def _sampling_sentence(word: str, size: str | None, *, learned: bool) -> str:
    if size is None:
        return "Sampling is not modelled: nothing is said of the population the records come from."
    source = (
        "released on the way, themselves uncertain, widened and correlated as the lengths of the records tell"
        if learned
        else "that were given"
    )
    return f"Sampling ({word} {size}): a model, of independent records with the variances {source}."
