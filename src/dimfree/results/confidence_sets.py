"""Confidence sets about a released mean, and what their size is made of: noise, sampling, an allowance for clipping.

Noise is drawn by the library, so its law is known exactly. Sampling is a model: records that are independent draws with
the variances given or learned. Clipping moves the mean by an unknown, fixed amount of which only a bound is stated.
"""

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import check_array, check_flag, check_lengths, check_probability
from dimfree.results.error_model import ErrorModel, LearnedShape, frozen_numbers
from dimfree.results.quantiles import coordinate_quantile, coordinate_reach, length_quantile

# Not the plain mean of the records: far ones weigh less or are clipped; the core and Algorithm 2 use a sample.
THESE_RECORDS, POPULATION = "what was averaged of these records", "the population mean"


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """The difference between a release and the mean it estimates, part by part; every entry is public.

    `noise` and `sampling` are standard deviations per coordinate, `…_principal` variances along common directions.
    """

    noise: Floats
    noise_principal: Floats
    sampling: Floats | None  # None: not modelled; the set is about these records
    sampling_principal: Floats | None
    log_stddev: Floats | None  # of the logarithm of `sampling`, upwards; None: its variances were given
    clipping: Floats | None  # None: not modelled

    @classmethod
    def of(cls, noise: Floats, model: ErrorModel, learned: LearnedShape | None, *, include_sampling: bool) -> Self:
        principal = noise**2 if model.noise_principal is None else model.noise_principal
        if not include_sampling or model.record_stddev is None or model.records is None:
            return cls(noise, principal, None, None, None, model.clipping)
        sampling = model.record_stddev / np.sqrt(model.records)
        spread = sampling**2 if model.record_principal is None else model.record_principal / model.records
        return cls(noise, principal, sampling, spread, None if learned is None else learned.log_above, model.clipping)

    @property
    def covers(self) -> str:
        return THESE_RECORDS if self.sampling is None else POPULATION

    def length(self, confidence: float) -> float:
        """The Euclidean distance all parts together stay within; learned variances count at their expectation."""
        spread = (
            self.noise_principal if self.sampling_principal is None else self.noise_principal + self.sampling_principal
        )
        return length_quantile(spread, confidence, self._shift(spread))

    def _shift(self, spread: Floats) -> Floats | None:
        """How far clipping may move the mean along each principal variance.

        Coordinate by coordinate where coordinates are principal. Otherwise all of it along the largest variance, since
        its direction is not known.
        """
        if self.clipping is None or np.array_equal(self.noise_principal, self.noise**2):
            return self.clipping
        shift = np.zeros_like(spread)
        shift[np.argmax(spread)] = np.linalg.norm(self.clipping)
        return shift

    def reach(self, confidence: float, *, simultaneous: bool) -> Floats:
        """The distance every coordinate stays within; a coordinate's learned variance counts with its uncertainty."""
        coordinates, nothing = len(self.noise) if simultaneous else 1, np.zeros_like(self.noise)
        sampling = nothing if self.sampling is None else self.sampling
        if self.clipping is None and self.log_stddev is None:
            return coordinate_quantile(confidence, coordinates) * np.hypot(self.noise, sampling)
        # Šidák's inequality needs coordinates centred at 0; where clipping may shift them, the union bound holds.
        each = confidence ** (1 / coordinates) if self.clipping is None else 1 - (1 - confidence) / coordinates
        log_stddev = nothing if self.log_stddev is None else self.log_stddev
        return coordinate_reach(
            self.noise, sampling, log_stddev, nothing if self.clipping is None else self.clipping, each
        )


@dataclass(frozen=True)
class BallParts:
    """Radius of each part alone, at the confidence of the ball, and its share of the mean squared distance.

    The shares add up to 1, clipping counted at its bound; None: the part is not modelled.
    """

    noise: float
    sampling: float | None
    clipping: float | None
    noise_share: float
    sampling_share: float | None
    clipping_share: float | None

    @classmethod
    def of(cls, parts: Uncertainty, confidence: float) -> Self:
        variances = (parts.noise_principal, parts.sampling_principal)
        squares = [*variances, None if parts.clipping is None else parts.clipping**2]
        whole = sum(float(square.sum()) for square in squares if square is not None)
        shares = [None if square is None else float(square.sum()) / whole for square in squares]
        noise, sampling = (None if found is None else length_quantile(found, confidence) for found in variances)
        clipping = None if parts.clipping is None else float(np.linalg.norm(parts.clipping))
        return cls(noise, sampling, clipping, *shares)  # type: ignore[arg-type]  # noise is never None


@dataclass(frozen=True, eq=False)
class BoxParts:
    """Per coordinate: standard deviation of noise and of sampling, bound on clipping; None: not modelled."""

    noise: Floats
    sampling: Floats | None
    clipping: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBall:
    """All points within `radius` of `centre`: with the stated confidence one of them is what it `covers`."""

    centre: Floats
    radius: float
    confidence: float
    covers: str
    learned: bool
    parts: BallParts

    @classmethod
    def about(cls, centre: Floats, parts: Uncertainty, confidence: float) -> Self:
        confidence = check_probability("confidence", confidence)
        radius, middle = parts.length(confidence), frozen_numbers("centre", centre, len(centre))
        learned, made_of = parts.log_stddev is not None, BallParts.of(parts, confidence)
        return cls(middle, radius, confidence, parts.covers, learned, made_of)

    def contains(self, point: ArrayLike) -> bool:
        """Whether a point lies in the ball, its surface included."""
        return bool(np.linalg.norm(_point(point, len(self.centre)) - self.centre) <= self.radius)

    def statement(self) -> str:
        """What the ball covers, and which part of its radius is noise, sampling and clipping, in plain sentences."""
        parts = self.parts
        return " ".join([
            f"With confidence {self.confidence:g}, {self.covers} lies within {self.radius:.4g} of the centre.",
            _noise_sentence(f"radius {parts.noise:.4g} alone, {parts.noise_share:.0%} of the mean squared distance"),
            _sampling_sentence(_alone("radius", parts.sampling, parts.sampling_share), learned=self.learned),
            _clipping_sentence(_alone("at most", parts.clipping, parts.clipping_share)),
        ])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        shown = {"kind": "ball", "confidence": self.confidence, "covers": self.covers, "learned": self.learned}
        middle = {"centre": self.centre.tolist(), "radius": self.radius, "parts": asdict(self.parts)}
        return shown | middle | {"statement": self.statement()}

    def __repr__(self) -> str:
        return f"<ConfidenceBall: {self.covers} within {self.radius:.4g}, confidence {self.confidence:g}>"


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBox:
    """An interval per coordinate: with the stated confidence each of them, or with `simultaneous` all, hold."""

    low: Floats
    high: Floats
    confidence: float
    simultaneous: bool
    covers: str
    learned: bool
    parts: BoxParts

    @classmethod
    def about(cls, centre: Floats, parts: Uncertainty, confidence: float, *, simultaneous: bool) -> Self:
        confidence = check_probability("confidence", confidence)
        simultaneous = check_flag("simultaneous", simultaneous)
        reach = parts.reach(confidence, simultaneous=simultaneous)
        low, high = (frozen_numbers("an end", end, len(centre)) for end in (centre - reach, centre + reach))
        arrays = (
            None if a is None else frozen_numbers("a part", a, len(centre)) for a in (parts.sampling, parts.clipping)
        )
        made_of = BoxParts(frozen_numbers("a part", parts.noise, len(centre)), *arrays)
        return cls(low, high, confidence, simultaneous, parts.covers, parts.log_stddev is not None, made_of)

    def contains(self, point: ArrayLike) -> bool:
        """Whether every coordinate of a point lies in its interval, the ends included."""
        inside = _point(point, len(self.low))
        return bool(((self.low <= inside) & (inside <= self.high)).all())

    def statement(self) -> str:
        """What the intervals cover, and which part of their width is noise, sampling and clipping, in sentences."""
        which = "all coordinates at once" if self.simultaneous else "each coordinate by itself"
        noise, sampling, clipping = (
            _largest(part) for part in (self.parts.noise, self.parts.sampling, self.parts.clipping)
        )
        return " ".join([
            f"With confidence {self.confidence:g}, {self.covers} lies in these intervals, {which}.",
            _noise_sentence(f"standard deviation up to {noise:.4g}"),
            _sampling_sentence(_alone("standard deviation up to", sampling, None), learned=self.learned),
            _clipping_sentence(_alone("at most", clipping, None)),
        ])  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON."""
        parts = {name: None if part is None else part.tolist() for name, part in vars(self.parts).items()}
        shown = {"kind": "box", "confidence": self.confidence, "simultaneous": self.simultaneous, "covers": self.covers}
        ends = {"learned": self.learned, "low": self.low.tolist(), "high": self.high.tolist(), "parts": parts}
        return shown | ends | {"statement": self.statement()}

    def __repr__(self) -> str:
        which = "all coordinates at once" if self.simultaneous else "each coordinate by itself"
        return f"<ConfidenceBox: {self.covers}, {which}, confidence {self.confidence:g}>"


def _largest(values: Floats | None) -> float | None:
    return None if values is None else float(values.max())


def _point(point: ArrayLike, dimension: int) -> Floats:
    array = check_array("point", point, rank=1)
    check_lengths("point", len(array), "coordinate", dimension)
    return array


def _alone(word: str, size: float | None, share: float | None) -> str | None:
    """A part in numbers; None where it is not modelled."""
    if size is None:
        return None
    ending = (
        "" if share is None else f"{' alone' if word == 'radius' else ''}, {share:.0%} of the mean squared distance"
    )
    return f"{word} {size:.4g}{ending}"


def _noise_sentence(size: str) -> str:
    return f"Noise ({size}): drawn for privacy, its law is known exactly."


def _sampling_sentence(size: str | None, *, learned: bool) -> str:
    if size is None:
        return "Sampling is not modelled: nothing is said of the population the records come from."
    source = (
        "released on the way and themselves uncertain, uncorrelated in the coordinates that the noise was shaped in"
        if learned
        else "that were given"
    )
    return f"Sampling ({size}): a model, of independent records with the variances {source}."


def _clipping_sentence(size: str | None) -> str:
    if size is None:
        return "No allowance is made for clipping: records that it shortened, all on one side, are not covered."
    return (
        f"Clipping ({size}): an allowance for records that were shortened on one side; not random, no law is claimed."
    )
