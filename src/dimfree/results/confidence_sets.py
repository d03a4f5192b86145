"""Intervals, a ball or a box about a released mean, and what their size is made of: noise, and modelled sampling.

Noise is drawn by the library, so its law is known exactly. Sampling is a model: records that are independent draws with
the variances given or learned. Public values only.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Floats
from dimfree._validate import check_array, check_choice, check_flag, check_lengths
from dimfree.results.codec import frozen_numbers, plain
from dimfree.results.error_model import NOT_EXCLUDED, ErrorModel, LearnedShape, Reach
from dimfree.results.quantiles import coordinate_quantile, coordinate_reach, length_quantile

Target = Literal["population", "sample"]
TARGETS: tuple[Target, ...] = ("population", "sample")
POPULATION = "the population mean"
FAR_ONES = f"the mean of these records, far ones drawn in or weighing less ({NOT_EXCLUDED})"  # no reach is stated
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
MIN_CLIPPING = 0.005  # of `clipping`: less changes no digit of a set


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """The difference between a release and the mean it estimates, part by part; every entry is public.

    `noise` and `sampling` are SDs per coordinate, `…_principal` variances along common directions. A set allows for
    `model.clipping` as for so many SDs of noise more: wide enough for a shift of as many, at any usual confidence.
    """

    noise: Floats
    noise_principal: Floats
    covers: str
    model: ErrorModel
    sampling: Floats | None = None  # None: not modelled, so that there is no set about the population
    sampling_principal: Floats | None = None
    log_stddev: Floats | None = None  # of the logarithm of `sampling`, upwards; None: its variances were given

    @classmethod
    @np.errstate(all="ignore")  # squares may leave the range of floats
    def of(
        cls, noise: Floats, model: ErrorModel, learned: LearnedShape | None, reach: Reach | None, target: Target
    ) -> Self:
        check_choice("target", target, TARGETS)
        principal = noise**2 if model.noise_principal is None else model.noise_principal
        covers = POPULATION if target == "population" else FAR_ONES if reach is None else reach.statement()
        if target == "sample" or model.record_stddev is None or model.records is None:
            return cls(noise, principal, covers, model)
        present = 1.0 if model.present is None else model.present
        share, records = model.widening / (model.records * present), model.record_principal
        spread = share * (model.record_stddev**2 if records is None else records)
        if model.correlation:
            principal, spread = np.sort(principal)[::-1], _correlated(spread, model.correlation)
        log_stddev = None if learned is None else learned.log_above
        return cls(noise, principal, covers, model, model.record_stddev * np.sqrt(share), spread, log_stddev)

    @property
    def is_missing(self) -> bool:
        """Whether there is no set: it would be about the population, which the release does not model."""
        return self.covers == POPULATION and self.sampling is None

    def length(self, confidence: float) -> float:
        """The Euclidean distance all parts together stay within; learned variances count at their expectation."""
        if self.is_missing:
            return math.inf
        sampling = 0.0 if self.sampling_principal is None else self.sampling_principal
        return length_quantile(self.noise_principal * (1 + self.model.clipping**2) + sampling, confidence)

    def reach(self, confidence: float, *, simultaneous: bool) -> Floats:
        """The distance every coordinate stays within, by its uncertain variance; infinite if it has no interval."""
        if self.is_missing:
            return np.full_like(self.noise, np.inf)
        coordinates = len(self.noise) if simultaneous else 1
        hidden = self.model.hidden  # of clipping, where it is known column by column
        noise = np.hypot(self.noise, self.noise * self.model.clipping if hidden is None else hidden)
        sampling = np.zeros_like(noise) if self.sampling is None else self.sampling
        if self.log_stddev is None:
            reach = coordinate_quantile(confidence, coordinates) * np.hypot(noise, sampling)
        else:
            reach = coordinate_reach(noise, sampling, self.log_stddev, confidence ** (1 / coordinates))  # Šidák
        return reach if self.model.one_value is None else np.where(self.model.one_value, np.inf, reach)


def _correlated(variances: Floats, correlation: float) -> Floats:
    """Principal variances, falling, if any two coordinates had this correlation ρ: (1 - ρ)·diag(v) + ρ·√v·√vᵀ.

    Lists of eigenvalues, both falling, add up to one that majorises the eigenvalues of the sum (Ky Fan).
    """
    falling = (1 - correlation) * np.sort(variances)[::-1]
    falling[0] += correlation * variances.sum()
    return np.asarray(falling)


class Parts(NamedTuple):
    """The radius of each part alone and its share of the mean squared distance; of a box: the SDs of each part."""

    noise: Any
    sampling: Any
    noise_share: float | None = None
    sampling_share: float | None = None


def _allowances(uncertainty: Uncertainty, confidence: float) -> dict[str, Any]:
    model = uncertainty.model
    return {
        "confidence": confidence,
        "covers": uncertainty.covers,
        "learned": uncertainty.log_stddev is not None,
        "clipping": model.clipping,
        "uncovered": 0 if model.one_value is None else int(model.one_value.sum()),
        "unmeasured": model.unmeasured,
    }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceSet:
    """What a ball and a box have in common: what they cover, and what they allow for."""

    confidence: float
    covers: str
    learned: bool
    clipping: float  # allowed for, in deviations of the noise
    uncovered: int  # columns that have no interval
    unmeasured: bool  # whether some records may lie farther out than was measured
    parts: Parts

    def statement(self) -> str:
        """What the set covers, and which part of its size is noise and which is sampling, in plain sentences."""
        raise NotImplementedError

    def _sentences(self, where: str, noise: str, word: str, sampling: str | None) -> str:
        """The statement; `noise` and `sampling` are the sizes of the parts, `word` is what the latter is."""
        source = (
            "released on the way, themselves uncertain, widened and correlated as the lengths of the records tell"
            if self.learned
            else "that were given"
        )
        sentences = {
            f"With confidence {self.confidence:g}, {self.covers} lies {where}.": True,
            f"Noise ({noise}): drawn for privacy, its law is known exactly.": True,
            f"Drawing in far records: allowed for like {self.clipping:.2g} times as much noise, by the released "
            "lengths.": self.clipping >= MIN_CLIPPING,
            "Sampling is not modelled: nothing is said of the population the records come from.": sampling is None,
            f"Sampling ({word} {sampling}): a model, of independent records with the variances {source}.": sampling,
            UNMEASURED: self.unmeasured,
            f"Columns without an interval are not covered: {self.uncovered}.": self.uncovered,
        }
        return " ".join(sentence for sentence, given in sentences.items() if given)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, for JSON; None where there is no interval."""
        sizes = {name: plain(part) for name, part in self.parts._asdict().items()}
        sizes = sizes if self.parts.noise_share is not None else {name: sizes[name] for name in ("noise", "sampling")}
        values = {name: plain(value) for name, value in vars(self).items()}
        return {**values, "parts": sizes, "statement": self.statement()}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceBall(ConfidenceSet):
    """All points within `radius` of `centre`: with the stated confidence one of them is what it `covers`."""

    kind: str = "ball"
    centre: Floats
    radius: float

    @classmethod
    def about(cls, centre: Floats, uncertainty: Uncertainty, confidence: float) -> Self:
        """Return the ball of `Release.confidence_ball`."""
        noise, sampling = uncertainty.noise_principal, uncertainty.sampling_principal
        parts = Parts(length_quantile(noise, confidence), None, 1.0)
        if sampling is not None:
            with np.errstate(all="ignore"):  # squares may leave the range of floats
                share = float(noise.sum() / (noise.sum() + sampling.sum()))
            parts = Parts(parts.noise, length_quantile(sampling, confidence), share, 1 - share)
        return cls(
            centre=frozen_numbers("centre", centre, len(centre)),
            radius=uncertainty.length(confidence),
            parts=parts,
            **_allowances(uncertainty, confidence),
        )

    def contains(self, point: ArrayLike) -> bool:
        """Whether a point lies in the ball, its surface included."""
        return bool(np.linalg.norm(_point(point, len(self.centre)) - self.centre) <= self.radius)

    def statement(self) -> str:
        parts, of = self.parts, "of the mean squared distance"
        sampling = None if parts.sampling is None else f"{parts.sampling:.4g} alone, {parts.sampling_share:.0%} {of}"
        if math.isinf(self.radius):
            return NO_POPULATION if self.covers == POPULATION and sampling is None else OUT_OF_RANGE
        noise = f"radius {parts.noise:.4g} alone, {parts.noise_share:.0%} {of}"
        return self._sentences(f"within {self.radius:.4g} of the ball's centre", noise, "radius", sampling)

    def __repr__(self) -> str:
        within = f"within {self.radius:.4g}" if math.isfinite(self.radius) else "not claimed"
        return f"<ConfidenceBall: {self.covers} {within}, confidence {self.confidence:g}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceBox(ConfidenceSet):
    """An interval per coordinate: with the stated confidence each, or with `simultaneous` all, hold; or infinite."""

    kind: str = "box"
    simultaneous: bool
    low: Floats
    high: Floats

    @classmethod
    def about(
        cls,
        centre: Floats,
        uncertainty: Uncertainty,
        confidence: float,
        limits: tuple[Floats, Floats],
        simultaneous: bool,
    ) -> Self:
        """Return the box of `Release.confidence_box`, within declared limits; no array of it can be changed."""
        reach = uncertainty.reach(confidence, simultaneous=check_flag("simultaneous", simultaneous))
        arrays = (*np.clip((centre - reach, centre + reach), *limits), uncertainty.noise, uncertainty.sampling)
        frozen: Any = [None if each is None else np.frombuffer(each.tobytes()) for each in arrays]
        common = _allowances(uncertainty, confidence)
        return cls(low=frozen[0], high=frozen[1], simultaneous=simultaneous, parts=Parts(*frozen[2:]), **common)

    def contains(self, point: ArrayLike) -> bool:
        """Whether every coordinate of a point lies in its interval, the ends included."""
        inside = _point(point, len(self.low))
        return bool(((self.low <= inside) & (inside <= self.high)).all())

    def statement(self) -> str:
        sampling = None if self.parts.sampling is None else f"{self.parts.sampling.max():.4g}"
        if self.covers == POPULATION and sampling is None:
            return NO_POPULATION
        noise = f"standard deviation up to {self.parts.noise.max():.4g}"
        return self._sentences(f"in these intervals, {self._which}", noise, "standard deviation up to", sampling)

    @property
    def _which(self) -> str:
        return "all coordinates at once" if self.simultaneous else "each coordinate by itself"

    def __repr__(self) -> str:
        return f"<ConfidenceBox: {self.covers}, {self._which}, confidence {self.confidence:g}>"


def stated_limits(
    parameters: Mapping[str, Any], columns: Sequence[str] | None, dimension: int
) -> tuple[Floats, Floats]:
    """The public bounds of each column that the parameters of a release state; infinite where they state none."""
    low, high = np.full(dimension, -np.inf), np.full(dimension, np.inf)
    stated = json.loads(str(parameters.get("bounds", "{}")))
    for at, name in enumerate(map(str, range(dimension)) if columns is None else columns):
        if name in stated:
            low[at], high[at] = stated[name]
    return low, high


def interval_note(model: ErrorModel, target: Target = "population") -> str:
    """What the intervals of a release cover: a footnote."""
    if target == "population" and not model.covers_population:
        return NO_POPULATION
    note = SAMPLE_NOTE if target == "sample" else POPULATION_NOTE
    return f"{note} {UNMEASURED}" if model.unmeasured else note


def _point(point: ArrayLike, dimension: int) -> Floats:
    array = check_array("point", point, rank=1)
    check_lengths("point", len(array), "coordinate", dimension)
    return array
