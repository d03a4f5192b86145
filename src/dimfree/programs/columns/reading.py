"""Magnitude, center and SD of columns from noisy soft histograms. Released values only; reads no record.

A histogram is compared with templates, the histograms of columns of known distributions. The noise is Gaussian, so the
posterior over templates is a product of a prior and exp((h·F - |F|²/2)/η²), where F is a template, h the released
histogram over the number of records, and η the noise of one cell of it, with a small model error. If the number of
records is uncertain, h is about a·F, a normal about 1 with deviation τ, and a is averaged
out.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dimfree._types import Booleans, Floats
from dimfree.kernel import Cells, Magnitudes, Offsets, weights_of
from dimfree.programs.choose import constants as c


class Templates(NamedTuple):
    """Histograms of known distributions, summing over cells like released ones, and their log prior."""

    histograms: Floats  # (templates, cells)
    prior: Floats  # (templates,), or (columns, templates)

    def posterior(self, shares: Floats, noise: Floats, miscount: Floats) -> Floats:
        """Compute the posterior, (columns, templates), of released shares of records with this noise of a cell.

        `miscount`: relative SD of the number of records in each column (τ).
        """
        products, squares = shares @ self.histograms.T, (self.histograms**2).sum(axis=1)
        variance, count_variance = (noise**2 + c.TEMPLATE_ERROR**2)[:, None], miscount[:, None] ** 2
        logs = (products - 0.5 * squares) / variance + self.prior
        logs += 0.5 * count_variance * (products - squares) ** 2 / (variance * (variance + count_variance * squares))
        logs -= 0.5 * np.log1p(count_variance * squares / variance)
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def _normal_quantiles() -> Floats:
    """Return quantiles of the standard normal distribution."""
    return np.asarray(ndtri((np.arange(c.TEMPLATE_POINTS) + 0.5) / c.TEMPLATE_POINTS))


def _make_template(cells: Cells, values: Floats) -> Floats:
    """Compute the histogram of each column of values, over the number of values."""
    return np.asarray(weights_of(cells, values) / len(values))


def _broadcast(count: int, *numbers: Floats | float) -> list[Floats]:
    """Broadcast numbers to all columns."""
    return [np.broadcast_to(np.float64(number), count) for number in numbers]


# --- magnitude --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MagnitudeTemplates:
    """Lognormal columns of every magnitude, with more or fewer zeros in them, and a column of zeros (magnitude 0)."""

    magnitudes: Floats
    shares: Floats  # of entries that are not zero
    templates: Templates

    def match_templates(self, noise: Floats) -> Templates:
        """Keep, for each column, the templates with detectable values."""
        seen = (self.shares >= c.DETECTION_DEVIATIONS * noise[:, None]) | (self.shares == 0) | (self.shares == 1)
        return Templates(self.templates.histograms, np.where(seen, self.templates.prior, -np.inf))


@lru_cache(maxsize=1)
def make_magnitude_templates() -> MagnitudeTemplates:
    """Make templates in half-octave steps over all cells; the prior of the decade is Cauchy about 1."""
    cells = Magnitudes()
    highest = cells.lowest + cells.octaves * (cells.cells - 1)
    magnitudes = 2.0 ** np.arange(cells.lowest + 2, highest - 1, 0.5)
    whole = _make_template(cells, np.exp(c.MAGNITUDE_LOG_SD * _normal_quantiles())[:, None] * magnitudes)
    zeros = _make_template(cells, np.zeros((1, 1)))
    mixed = [share * whole + (1 - share) * zeros for share in c.NONZERO_SHARES]
    prior = -np.log1p(np.log10(magnitudes) ** 2)
    priors = [prior + (0.0 if share == 1 else c.SOME_ZEROS_PRIOR) for share in c.NONZERO_SHARES]
    return MagnitudeTemplates(
        np.concatenate([np.tile(magnitudes, len(mixed)), [0.0]]),
        np.concatenate([np.repeat(c.NONZERO_SHARES, len(magnitudes)), [0.0]]),
        Templates(np.concatenate([*mixed, zeros]), np.concatenate([*priors, [c.ALL_ZEROS_PRIOR]])),
    )


class MagnitudeReading(NamedTuple):
    """The reading of a histogram of magnitudes, for each column."""

    magnitude: Floats  # of the bulk of the entries; 0: that is zeros
    sureness: Floats  # probability that the magnitude is near that
    far_magnitude: Floats  # of the likeliest group of entries far beyond the bulk
    far_share: Floats  # share of the records in that group
    far_odds: Floats  # log odds of that group


def read_magnitudes(shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0) -> MagnitudeReading:
    """Read the bulk from the likeliest template, and a far group from the rest of the histogram."""
    known, noise, miscount = make_magnitude_templates(), *_broadcast(len(shares), noise, miscount)
    posterior = known.match_templates(noise).posterior(shares, noise, miscount)
    best = posterior.argmax(axis=1)
    bulk = known.magnitudes[best][:, None]
    near = (known.magnitudes <= c.NEAR_MAGNITUDE * bulk) & (known.magnitudes * c.NEAR_MAGNITUDE >= bulk)
    group = _find_far_group(shares, noise, bulk)
    return MagnitudeReading(bulk[:, 0], (posterior * near).sum(axis=1), *group)


def _find_far_group(shares: Floats, noise: Floats, bulk: Floats) -> tuple[Floats, Floats, Floats]:
    """Find (magnitude, share of the records, log odds) of the likeliest group of values beyond the bulk.

    The share of each magnitude is fitted by least squares. The prior falls with the distance from the bulk, or from 1
    if the bulk is zeros. Templates cannot show such small groups: their model error is larger.
    """
    known, cells = make_magnitude_templates(), Magnitudes()
    whole = known.shares == 1
    histograms, magnitudes = known.templates.histograms[whole], known.magnitudes[whole]
    middles = np.append(-1.0, 2.0 ** (cells.lowest + cells.octaves * np.arange(cells.cells - 1)))
    outside = middles > c.BULK_FACTOR * 2**cells.octaves * bulk  # cells that no value of the bulk falls into
    lengths = np.sqrt(outside @ (histograms**2).T)
    noise = np.maximum(noise, 1e-12)  # histograms without noise
    heights = np.maximum((shares * outside) @ histograms.T / np.maximum(lengths, 0.5) / noise[:, None], 0.0)
    decades = np.log10(magnitudes / np.where(bulk > 0, bulk, 1.0))
    odds = np.where(lengths > 0.5, 0.5 * heights**2 - np.log1p(decades**2), -np.inf)
    found = heights * noise[:, None] / np.maximum(lengths, 0.5)
    odds = np.where((found >= c.MIN_OUTLYING_SHARE) | (bulk == 0), odds, -np.inf)
    best = odds.argmax(axis=1)[:, None]
    share, odds = (np.take_along_axis(each, best, axis=1)[:, 0] for each in (found, odds))
    return magnitudes[best[:, 0]], share, odds


# --- center and SD ----------------------------------------------------------------------------------------------------

_CENTERS = np.arange(-4, 4.01, 0.25)
_SDS = np.array([0.03, 0.06, 0.1, 0.17, 0.28, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0])
_STEP_VARIANCE = 0.25**2 / 12  # of a place between two grid points


class Locations(NamedTuple):
    """Of each column, in cells: center and its variance, SD, variance of ln SD, the probability that the column is as
    narrow as the narrowest template or narrower; the same if some records may lie at one end as well."""

    center: Floats
    variance: Floats
    sd: Floats
    log_variance: Floats
    narrowest: Floats
    without_interval: Floats


_TWO_VALUES = np.array([0.02, 0.06, *np.arange(0.1, 0.95, 0.1), 0.94, 0.98])  # shares of the higher one
_BEHIND = (0.1, 0.3)  # shares of the records in the first or last cell, next to the narrowest templates


class PlaceTemplates(NamedTuple):
    """Normal columns on a grid of centers and SDs; columns of two values, one in each end cell; then the narrowest
    normal ones with records in an end cell."""

    centers: Floats
    sds: Floats
    two: Booleans  # of all templates, those of two values
    templates: Templates


@lru_cache(maxsize=1)
def _make_place_templates() -> PlaceTemplates:
    centers, sds = (grid.ravel() for grid in np.meshgrid(_CENTERS, _SDS, indexing="ij"))
    cells = Offsets(np.zeros(len(centers)), 1.0)
    normal = _make_template(cells, centers + sds * _normal_quantiles()[:, None])
    narrowest = normal[sds == sds.min()]
    ends = [share * np.eye(cells.cells)[end] for share in _BEHIND for end in (0, -1)]
    behind = np.concatenate([(1 - end.sum()) * narrowest + end for end in ends])
    low, high = np.eye(cells.cells)[[0, -1]]
    two = [(1 - share) * low + share * high for share in _TWO_VALUES]
    between = 2 * cells.middle * (_TWO_VALUES - 0.5)
    apart = 2 * cells.middle * np.sqrt(_TWO_VALUES * (1 - _TWO_VALUES))
    logs = (0.0, np.log(len(normal) / len(two)), -np.log(len(ends)))  # of each, so that the kinds weigh alike
    kind = np.repeat([0, 1, 2], [len(normal), len(two), len(behind)])
    templates = Templates(np.concatenate([normal, two, behind]), np.take(logs, kind))
    return PlaceTemplates(np.append(centers, between), np.append(sds, apart), kind == 1, templates)


def read_places(
    shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0, whole: Booleans | bool = False
) -> Locations:
    """Read posterior means of center and SD. `whole`: columns whose cells span their bounds, where two values at the
    ends are possible."""
    centers, sds, two, templates = _make_place_templates()
    off = two & ~np.broadcast_to(whole, len(shares))[:, None]
    templates = Templates(templates.histograms, np.where(off, -np.inf, templates.prior))
    both, logs = templates.posterior(shares, *_broadcast(len(shares), noise, miscount)), np.log(sds)
    normal, narrow = both[:, : len(centers)], sds == sds.min()
    without_interval = normal @ narrow + both[:, len(centers) :].sum(axis=1)
    posterior = normal / normal.sum(axis=1, keepdims=True)
    center, log_sd = posterior @ centers, posterior @ logs
    variance = posterior @ centers**2 - center**2 + _STEP_VARIANCE
    log_variance = np.maximum(posterior @ logs**2 - log_sd**2, 0.0)
    sd = np.exp(log_sd + 0.5 * np.minimum(log_variance, 0.5))
    return Locations(center, variance, sd, log_variance, posterior @ narrow, without_interval)
