"""What noisy soft histograms say of columns: their magnitude, centre and spread. Released values only; sees no record.

A histogram is compared with templates, the histograms that columns of known laws would have. The noise is Gaussian, so
the posterior over templates is a product of a prior and exp((h·F - |F|²/2)/η²), where F is a template, h the released
histogram over the number of records, and η the noise of one cell of it, with a little more for laws that no template
has. Where the number of records is uncertain, h is about a·F, a normal about 1 with deviation τ, and a is averaged
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
    """Histograms of known laws, each summing over cells as released ones do, and the logarithm of their prior."""

    histograms: Floats  # (templates, cells)
    prior: Floats  # (templates,), or (columns, templates)

    def posterior(self, shares: Floats, noise: Floats, miscount: Floats) -> Floats:
        """Probabilities, (columns, templates), of released shares of records, the noise of a cell in each column, and
        how uncertain its number of records is, as a share of it (τ)."""
        products, squares = shares @ self.histograms.T, (self.histograms**2).sum(axis=1)
        variance, spread = (noise**2 + c.TEMPLATE_ERROR**2)[:, None], miscount[:, None] ** 2
        logs = (products - 0.5 * squares) / variance + self.prior
        logs += 0.5 * spread * (products - squares) ** 2 / (variance * (variance + spread * squares))
        logs -= 0.5 * np.log1p(spread * squares / variance)
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def _law() -> Floats:
    """Quantiles of the standard normal law."""
    return np.asarray(ndtri((np.arange(c.TEMPLATE_POINTS) + 0.5) / c.TEMPLATE_POINTS))


def _template(cells: Cells, values: Floats) -> Floats:
    """The histogram of each column of values, over the number of values."""
    return np.asarray(weights_of(cells, values) / len(values))


def _of_columns(count: int, *numbers: Floats | float) -> list[Floats]:
    """One number for all columns, or one for each, as one for each."""
    return [np.broadcast_to(np.float64(number), count) for number in numbers]


# --- magnitude --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MagnitudeTemplates:
    """Lognormal columns of every magnitude, with more or fewer zeros in them, and a column of zeros (magnitude 0)."""

    magnitudes: Floats
    shares: Floats  # of entries that are not zero
    templates: Templates

    def seen_with(self, noise: Floats) -> Templates:
        """For each column, those whose entries stand out of the noise of a cell: fewer cannot be told from none."""
        seen = (self.shares >= c.STANDS_OUT * noise[:, None]) | (self.shares == 0) | (self.shares == 1)
        return Templates(self.templates.histograms, np.where(seen, self.templates.prior, -np.inf))


@lru_cache(maxsize=1)
def magnitude_templates() -> MagnitudeTemplates:
    """Half-octave steps over all cells. The prior on the decade of a magnitude is Cauchy about 1."""
    cells = Magnitudes()
    highest = cells.lowest + cells.octaves * (cells.cells - 1)
    magnitudes = 2.0 ** np.arange(cells.lowest + 2, highest - 1, 0.5)
    whole = _template(cells, np.exp(c.MAGNITUDE_SPREAD * _law())[:, None] * magnitudes)
    zeros = _template(cells, np.zeros((1, 1)))
    mixed = [share * whole + (1 - share) * zeros for share in c.NONZERO_SHARES]
    prior = -np.log1p(np.log10(magnitudes) ** 2)
    priors = [prior + (0.0 if share == 1 else c.SOME_ZEROS_PRIOR) for share in c.NONZERO_SHARES]
    return MagnitudeTemplates(
        np.concatenate([np.tile(magnitudes, len(mixed)), [0.0]]),
        np.concatenate([np.repeat(c.NONZERO_SHARES, len(magnitudes)), [0.0]]),
        Templates(np.concatenate([*mixed, zeros]), np.concatenate([*priors, [c.ALL_ZEROS_PRIOR]])),
    )


class Seen(NamedTuple):
    """What a histogram of magnitudes shows of each column."""

    magnitude: Floats  # of the bulk of the entries; 0: that is zeros
    sureness: Floats  # probability that the magnitude is near that
    far_magnitude: Floats  # of the likeliest group of entries far beyond the bulk
    far_share: Floats  # share of the records in that group
    far_odds: Floats  # log odds of that group


def read_magnitudes(shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0) -> Seen:
    """The likeliest template is the bulk; what the histogram shows beyond it may be a group far outside."""
    known, noise, miscount = magnitude_templates(), *_of_columns(len(shares), noise, miscount)
    posterior = known.seen_with(noise).posterior(shares, noise, miscount)
    best = posterior.argmax(axis=1)
    bulk = known.magnitudes[best][:, None]
    near = (known.magnitudes <= c.NEAR_MAGNITUDE * bulk) & (known.magnitudes * c.NEAR_MAGNITUDE >= bulk)
    group = _far_group(shares, noise, bulk)
    return Seen(bulk[:, 0], (posterior * near).sum(axis=1), *group)


def _far_group(shares: Floats, noise: Floats, bulk: Floats) -> tuple[Floats, Floats, Floats]:
    """(magnitude, share of the records, log odds) of the likeliest group of entries beyond the bulk.

    For each magnitude the share that fits best, by least squares. The prior falls with the distance from the bulk, and
    from 1 if the bulk is zeros. No template has so few entries: the error allowed to templates is larger than they are.
    """
    known, cells = magnitude_templates(), Magnitudes()
    whole = known.shares == 1
    histograms, magnitudes = known.templates.histograms[whole], known.magnitudes[whole]
    middles = np.append(-1.0, 2.0 ** (cells.lowest + cells.octaves * np.arange(cells.cells - 1)))
    outside = middles > c.BULK_REACH * 2**cells.octaves * bulk  # cells that no entry of the bulk is divided between
    lengths = np.sqrt(outside @ (histograms**2).T)
    noise = np.maximum(noise, 1e-12)  # histograms without noise
    heights = np.maximum((shares * outside) @ histograms.T / np.maximum(lengths, 0.5) / noise[:, None], 0.0)
    decades = np.log10(magnitudes / np.where(bulk > 0, bulk, 1.0))
    odds = np.where(lengths > 0.5, 0.5 * heights**2 - np.log1p(decades**2), -np.inf)
    found = heights * noise[:, None] / np.maximum(lengths, 0.5)
    odds = np.where((found >= c.LEAST_BEHIND) | (bulk == 0), odds, -np.inf)
    best = odds.argmax(axis=1)[:, None]
    share, odds = (np.take_along_axis(each, best, axis=1)[:, 0] for each in (found, odds))
    return magnitudes[best[:, 0]], share, odds


# --- centre and spread ------------------------------------------------------------------------------------------------

_CENTRES = np.arange(-4, 4.01, 0.25)
_SPREADS = np.array([0.03, 0.06, 0.1, 0.17, 0.28, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0])
_STEP_VARIANCE = 0.25**2 / 12  # of a place between two grid points


class Places(NamedTuple):
    """Of each column, in cells: centre and its variance, spread, variance of ln spread, the probability that the
    column is as narrow as the narrowest template or narrower; the same if some records may lie at one end besides."""

    centre: Floats
    variance: Floats
    spread: Floats
    log_variance: Floats
    narrowest: Floats
    one_value: Floats


_TWO_VALUES = np.array([0.02, 0.06, *np.arange(0.1, 0.95, 0.1), 0.94, 0.98])  # shares of the higher one
_BEHIND = (0.1, 0.3)  # shares of the records in the first or last cell, beside the narrowest templates


class PlaceTemplates(NamedTuple):
    """Normal columns on a grid of centres and spreads; columns of two values, one in each end cell; after them the
    narrowest normal ones, with records left behind."""

    centres: Floats
    spreads: Floats
    two: Booleans  # of all templates, those of two values
    templates: Templates


@lru_cache(maxsize=1)
def _place_templates() -> PlaceTemplates:
    centres, spreads = (grid.ravel() for grid in np.meshgrid(_CENTRES, _SPREADS, indexing="ij"))
    cells = Offsets(np.zeros(len(centres)), 1.0)
    normal = _template(cells, centres + spreads * _law()[:, None])
    narrowest = normal[spreads == spreads.min()]
    ends = [share * np.eye(cells.cells)[end] for share in _BEHIND for end in (0, -1)]
    behind = np.concatenate([(1 - end.sum()) * narrowest + end for end in ends])
    low, high = np.eye(cells.cells)[[0, -1]]
    two = [(1 - share) * low + share * high for share in _TWO_VALUES]
    between = 2 * cells.middle * (_TWO_VALUES - 0.5)
    apart = 2 * cells.middle * np.sqrt(_TWO_VALUES * (1 - _TWO_VALUES))
    logs = (0.0, np.log(len(normal) / len(two)), -np.log(len(ends)))  # of each, so that the kinds weigh alike
    kind = np.repeat([0, 1, 2], [len(normal), len(two), len(behind)])
    templates = Templates(np.concatenate([normal, two, behind]), np.take(logs, kind))
    return PlaceTemplates(np.append(centres, between), np.append(spreads, apart), kind == 1, templates)


def read_places(
    shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0, whole: Booleans | bool = False
) -> Places:
    """Normal columns on a grid of centres and spreads: posterior means. `whole`: columns whose cells span all that
    their entries may be; there may be two values, at the ends."""
    centres, spreads, two, templates = _place_templates()
    off = two & ~np.broadcast_to(whole, len(shares))[:, None]
    templates = Templates(templates.histograms, np.where(off, -np.inf, templates.prior))
    both, logs = templates.posterior(shares, *_of_columns(len(shares), noise, miscount)), np.log(spreads)
    normal, narrow = both[:, : len(centres)], spreads == spreads.min()
    one_value = normal @ narrow + both[:, len(centres) :].sum(axis=1)
    posterior = normal / normal.sum(axis=1, keepdims=True)
    centre, log_spread = posterior @ centres, posterior @ logs
    variance = posterior @ centres**2 - centre**2 + _STEP_VARIANCE
    log_variance = np.maximum(posterior @ logs**2 - log_spread**2, 0.0)
    spread = np.exp(log_spread + 0.5 * np.minimum(log_variance, 0.5))
    return Places(centre, variance, spread, log_variance, posterior @ narrow, one_value)
