"""Confidence intervals, balls and boxes around a released mean, with the parts of their size.

The distribution of the privacy noise is known exactly. Sampling error is a model: independent records with the given or
privately estimated variances. Only public values enter.
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
from dimfree.results.codec import freeze_numbers, to_json_value
from dimfree.results.error_model import Clipping, ErrorModel, EstimatedVariances
from dimfree.results.quantiles import coordinate_quantile, length_quantile, uncertain_quantile

Target = Literal["population", "sample"]
TARGETS: tuple[Target, ...] = ("population", "sample")
POPULATION = "the population mean"
SAMPLE = "the mean of these records after clipping"
POPULATION_NOTE = "Intervals are for the population mean: sampling error, privacy noise and clipping bias together."
SAMPLE_NOTE = "Intervals are for the sample mean: privacy noise and clipping bias, without sampling error."
UNMEASURED = (
    "Some records may lie beyond the measured range: they are clipped at its edge, and no interval covers their effect."
)
NO_POPULATION = (
    "No interval is given for the population mean, because the release does not state the SD and the number of records."
    " target='sample' gives intervals for the sample mean."
)
OUT_OF_RANGE = (
    "No radius is given, because squared standard deviations exceed the range of floating-point numbers."
    " confidence_box() has an interval for each column."
)
MIN_CLIPPING = 0.005  # a smaller `clipping_bias` changes no printed digit


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty:
    """The error of a released mean, part by part; every field is public.

    `noise` and `sampling` are SDs per column, `…_principal` variances along common directions. A set allows for
    `model.clipping_bias` as for that many more noise SDs, which covers a shift of this size at any usual confidence.
    """

    noise: Floats
    noise_principal: Floats
    covers: str
    model: ErrorModel
    sampling: Floats | None = None  # None: not modeled, so the population mean has no set
    sampling_principal: Floats | None = None
    log_stddev: Floats | None = None  # upper standard error of log(`sampling`); None: the variances were given

    @classmethod
    @np.errstate(all="ignore")  # squares may leave the range of floats
    def of(
        cls,
        noise: Floats,
        model: ErrorModel,
        learned: EstimatedVariances | None,
        clipping: Clipping | None,
        target: Target,
    ) -> Self:
        check_choice("target", target, TARGETS)
        principal = noise**2 if model.noise_principal is None else model.noise_principal
        radius = "" if clipping is None else f" at radius {clipping.radius:.3g}"
        covers = POPULATION if target == "population" else SAMPLE + radius
        if target == "sample" or model.record_stddev is None or model.records is None:
            return cls(noise, principal, covers, model)
        present = 1.0 if model.present is None else model.present
        share, records = model.widening / (model.records * present), model.record_principal
        variances = share * (model.record_stddev**2 if records is None else records)
        if model.correlation:
            principal, variances = np.sort(principal)[::-1], _correlate(variances, model.correlation)
        log_stddev = None if learned is None else learned.log_above
        return cls(noise, principal, covers, model, model.record_stddev * np.sqrt(share), variances, log_stddev)

    @property
    def is_missing(self) -> bool:
        """Whether the set is missing: it is for the population mean, and sampling is not modeled."""
        return self.covers == POPULATION and self.sampling is None

    def length(self, confidence: float) -> float:
        """Return the radius that bounds the sum of all parts; estimated variances count at their expectation."""
        if self.is_missing:
            return math.inf
        sampling = 0.0 if self.sampling_principal is None else self.sampling_principal
        return length_quantile(self.noise_principal * (1 + self.model.clipping_bias**2) + sampling, confidence)

    def half_widths(self, confidence: float, *, simultaneous: bool) -> Floats:
        """Return the half-width of each interval, given its uncertain variance; infinite without an interval."""
        if self.is_missing:
            return np.full_like(self.noise, np.inf)
        coordinates = len(self.noise) if simultaneous else 1
        hidden = self.model.hidden  # the clipping bias per column, if known
        noise = np.hypot(self.noise, self.noise * self.model.clipping_bias if hidden is None else hidden)
        sampling = np.zeros_like(noise) if self.sampling is None else self.sampling
        if self.log_stddev is None:
            half = coordinate_quantile(confidence, coordinates) * np.hypot(noise, sampling)
        else:
            half = uncertain_quantile(noise, sampling, self.log_stddev, confidence ** (1 / coordinates))  # Šidák
        return half if self.model.without_interval is None else np.where(self.model.without_interval, np.inf, half)


def _correlate(variances: Floats, correlation: float) -> Floats:
    """Return the eigenvalues, decreasing, of (1 - ρ)·diag(v) + ρ·√v·√vᵀ: every two columns have correlation ρ.

    The sum of two decreasing lists of eigenvalues majorizes the eigenvalues of the sum (Ky Fan).
    """
    falling = (1 - correlation) * np.sort(variances)[::-1]
    falling[0] += correlation * variances.sum()
    return np.asarray(falling)


class Parts(NamedTuple):
    """Radius of each part alone and its share of the mean squared distance; for a box: the SDs of each part."""

    noise: Any
    sampling: Any
    noise_share: float | None = None
    sampling_share: float | None = None


def _list_allowances(uncertainty: Uncertainty, confidence: float) -> dict[str, Any]:
    model = uncertainty.model
    return {
        "confidence": confidence,
        "covers": uncertainty.covers,
        "learned": uncertainty.log_stddev is not None,
        "clipping_bias": model.clipping_bias,
        "uncovered": 0 if model.without_interval is None else int(model.without_interval.sum()),
        "unmeasured": model.unmeasured,
    }


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceSet:
    """The common fields of a ball and a box: what they cover and what they allow for."""

    confidence: float
    covers: str
    learned: bool
    clipping_bias: float  # in noise SDs
    uncovered: int  # number of columns without an interval
    unmeasured: bool  # whether some records may lie beyond the measured range
    parts: Parts

    def statement(self) -> str:
        """Return in sentences what the set covers and how noise and sampling error contribute to its size."""
        raise NotImplementedError

    def _join_sentences(self, where: str, noise: str, word: str, sampling: str | None) -> str:
        """Return the statement; `noise` and `sampling` are the sizes of the parts, `word` names the size."""
        source = "privately estimated, with their uncertainty, widening and correlation" if self.learned else "given"
        sentences = {
            f"With {100 * self.confidence:g}% confidence, {self.covers} lies {where}.": True,
            f"Privacy noise ({noise}): its distribution is known exactly.": True,
            f"Clipping bias: allowed for as {self.clipping_bias:.2g} additional noise SDs.": self.clipping_bias
            >= MIN_CLIPPING,
            "Sampling error is not covered.": sampling is None,
            f"Sampling error ({word} {sampling}): a model of independent records, variances {source}.": sampling,
            UNMEASURED: self.unmeasured,
            f"Columns without an interval are not covered ({self.uncovered}).": self.uncovered,
        }
        return " ".join(sentence for sentence, given in sentences.items() if given)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values; None without an interval."""
        sizes = {name: to_json_value(part) for name, part in self.parts._asdict().items()}
        sizes = sizes if self.parts.noise_share is not None else {name: sizes[name] for name in ("noise", "sampling")}
        values = {name: to_json_value(value) for name, value in vars(self).items()}
        return {**values, "parts": sizes, "statement": self.statement()}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceBall(ConfidenceSet):
    """All points within `radius` of `center`; with the stated confidence the ball contains what it `covers`."""

    kind: str = "ball"
    center: Floats
    radius: float

    @classmethod
    def about(cls, center: Floats, uncertainty: Uncertainty, confidence: float) -> Self:
        """Return the ball of `Release.confidence_ball`."""
        noise, sampling = uncertainty.noise_principal, uncertainty.sampling_principal
        parts = Parts(length_quantile(noise, confidence), None, 1.0)
        if sampling is not None:
            with np.errstate(all="ignore"):  # squares may leave the range of floats
                share = float(noise.sum() / (noise.sum() + sampling.sum()))
            parts = Parts(parts.noise, length_quantile(sampling, confidence), share, 1 - share)
        return cls(
            center=freeze_numbers("center", center, len(center)),
            radius=uncertainty.length(confidence),
            parts=parts,
            **_list_allowances(uncertainty, confidence),
        )

    def contains(self, point: ArrayLike) -> bool:
        """Return whether a point lies in the ball or on its surface."""
        return bool(np.linalg.norm(_check_point(point, len(self.center)) - self.center) <= self.radius)

    def statement(self) -> str:
        parts, of = self.parts, "of the mean squared distance"
        sampling = None if parts.sampling is None else f"{parts.sampling:.4g} alone, {parts.sampling_share:.0%} {of}"
        if math.isinf(self.radius):
            return NO_POPULATION if self.covers == POPULATION and sampling is None else OUT_OF_RANGE
        noise = f"radius {parts.noise:.4g} alone, {parts.noise_share:.0%} {of}"
        return self._join_sentences(
            f"within {self.radius:.4g} of the center (Euclidean distance)", noise, "radius", sampling
        )

    def __repr__(self) -> str:
        within = f"within {self.radius:.4g}" if math.isfinite(self.radius) else "has no radius"
        return f"<ConfidenceBall: {self.covers} {within}, confidence {self.confidence:g}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ConfidenceBox(ConfidenceSet):
    """One interval per column; with the stated confidence each interval holds, or all if `simultaneous`."""

    kind: str = "box"
    simultaneous: bool
    low: Floats
    high: Floats

    @classmethod
    def about(
        cls,
        center: Floats,
        uncertainty: Uncertainty,
        confidence: float,
        limits: tuple[Floats, Floats],
        simultaneous: bool,
    ) -> Self:
        """Return the box of `Release.confidence_box`, cut at declared bounds; its arrays are read-only."""
        half = uncertainty.half_widths(confidence, simultaneous=check_flag("simultaneous", simultaneous))
        arrays = (*np.clip((center - half, center + half), *limits), uncertainty.noise, uncertainty.sampling)
        frozen: Any = [None if each is None else np.frombuffer(each.tobytes()) for each in arrays]
        common = _list_allowances(uncertainty, confidence)
        return cls(low=frozen[0], high=frozen[1], simultaneous=simultaneous, parts=Parts(*frozen[2:]), **common)

    def contains(self, point: ArrayLike) -> bool:
        """Return whether every coordinate of a point lies in its interval, the ends included."""
        inside = _check_point(point, len(self.low))
        return bool(((self.low <= inside) & (inside <= self.high)).all())

    def statement(self) -> str:
        sampling = None if self.parts.sampling is None else f"{self.parts.sampling.max():.4g}"
        if self.covers == POPULATION and sampling is None:
            return NO_POPULATION
        noise = f"SD up to {self.parts.noise.max():.4g}"
        return self._join_sentences(f"in these intervals, {self._which}", noise, "SD up to", sampling)

    @property
    def _which(self) -> str:
        return "all columns simultaneously" if self.simultaneous else "each column separately"

    def __repr__(self) -> str:
        return f"<ConfidenceBox: {self.covers}, {self._which}, confidence {self.confidence:g}>"


def read_limits(parameters: Mapping[str, Any], columns: Sequence[str] | None, dimension: int) -> tuple[Floats, Floats]:
    """Return the public bounds of each column from the parameters of a release; infinite without bounds."""
    low, high = np.full(dimension, -np.inf), np.full(dimension, np.inf)
    stated = json.loads(str(parameters.get("bounds", "{}")))
    for at, name in enumerate(map(str, range(dimension)) if columns is None else columns):
        if name in stated:
            low[at], high[at] = stated[name]
    return low, high


def describe_intervals(model: ErrorModel, target: Target = "population") -> str:
    """Return the footnote that states what the intervals cover."""
    if target == "population" and not model.covers_population:
        return NO_POPULATION
    note = SAMPLE_NOTE if target == "sample" else POPULATION_NOTE
    return f"{note} {UNMEASURED}" if model.unmeasured else note


def _check_point(point: ArrayLike, dimension: int) -> Floats:
    array = check_array("point", point, rank=1)
    check_lengths("point", len(array), "coordinate", dimension)
    return array
