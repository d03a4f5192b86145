"""What noisy soft histograms say of columns: their magnitude, centre and spread. Released values only; sees no record.

A histogram is compared with templates, the histograms that columns of known laws would have. The noise is Gaussian, so
the posterior over templates is a product of a prior and exp((h·F - |F|²/2)/η²), where F is a template, h the released
histogram over the number of records, and η the noise of one cell of it, with a little more for laws that no template
has. Where the number of records is uncertain, h is about a·F, a normal about 1 with deviation τ, and a is averaged out.
Proof that nothing private is used: proofs/estimators/columns.md.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.estimators.choose.constants import (
    ALL_ZEROS_PRIOR,
    MAGNITUDE_SPREAD,
    NEAR_MAGNITUDE,
    NONZERO_SHARES,
    RARE_ODDS,
    SOME_ZEROS_PRIOR,
    STANDS_OUT,
    TEMPLATE_ERROR,
    TEMPLATE_POINTS,
)
from dimfree.mechanisms.soft_histogram import Cells, Magnitudes, Offsets, weights_of


class Templates(NamedTuple):
    """Histograms of known laws, each summing over cells as released ones do, and the logarithm of their prior."""

    histograms: Floats  # (templates, cells)
    prior: Floats  # (templates,), or (columns, templates)

    def posterior(self, shares: Floats, noise: Floats, miscount: Floats) -> Floats:
        """Probabilities, (columns, templates), of released shares of records, the noise of a cell in each column, and
        how uncertain its number of records is, as a share of it (τ)."""
        products, squares = shares @ self.histograms.T, (self.histograms**2).sum(axis=1)
        variance, spread = (noise**2 + TEMPLATE_ERROR**2)[:, None], miscount[:, None] ** 2
        logs = (products - 0.5 * squares) / variance + self.prior
        logs += 0.5 * spread * (products - squares) ** 2 / (variance * (variance + spread * squares))
        logs -= 0.5 * np.log1p(spread * squares / variance)
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(found / found.sum(axis=1, keepdims=True))


def _law() -> Floats:
    """Quantiles of the standard normal law."""
    return np.asarray(ndtri((np.arange(TEMPLATE_POINTS) + 0.5) / TEMPLATE_POINTS))


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
        seen = (self.shares >= STANDS_OUT * noise[:, None]) | (self.shares == 0) | (self.shares == 1)
        return Templates(self.templates.histograms, np.where(seen, self.templates.prior, -np.inf))


@lru_cache(maxsize=1)
def magnitude_templates() -> MagnitudeTemplates:
    """Half-octave steps over all cells. The prior on the decade of a magnitude is Cauchy about 1."""
    cells = Magnitudes()
    highest = cells.lowest + cells.octaves * (cells.cells - 1)
    magnitudes = 2.0 ** np.arange(cells.lowest + 2, highest - 1, 0.5)
    whole = _template(cells, np.exp(MAGNITUDE_SPREAD * _law())[:, None] * magnitudes)
    zeros = _template(cells, np.zeros((1, 1)))
    mixed = [share * whole + (1 - share) * zeros for share in NONZERO_SHARES]
    prior = -np.log1p(np.log10(magnitudes) ** 2)
    priors = [prior + (0.0 if share == 1 else SOME_ZEROS_PRIOR) for share in NONZERO_SHARES]
    return MagnitudeTemplates(
        np.concatenate([np.tile(magnitudes, len(mixed)), [0.0]]),
        np.concatenate([np.repeat(NONZERO_SHARES, len(magnitudes)), [0.0]]),
        Templates(np.concatenate([*mixed, zeros]), np.concatenate([*priors, [ALL_ZEROS_PRIOR]])),
    )


def read_magnitudes(shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """The likeliest magnitude of each column, 0 if only zeros were seen, and the probability that it is near that."""
    known, noise, miscount = magnitude_templates(), *_of_columns(len(shares), noise, miscount)
    posterior = known.seen_with(noise).posterior(shares, noise, miscount)
    likeliest = known.magnitudes[posterior.argmax(axis=1)][:, None]
    near = (known.magnitudes <= NEAR_MAGNITUDE * likeliest) & (known.magnitudes * NEAR_MAGNITUDE >= likeliest)
    return likeliest[:, 0], (posterior * near).sum(axis=1)


def read_rare(shares: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Of columns that show hardly anything but zeros: magnitude of the other entries, and their share of the records.

    For each magnitude the share that fits best, by least squares; the likeliest magnitude. Both are 0 where no share
    stands out of its noise. No template has so few entries: the error allowed to templates is larger than they are.
    """
    known = magnitude_templates()
    whole = known.shares == 1
    histograms, prior = known.templates.histograms[whole, 1:], known.templates.prior[whole]  # without the zeros' cell
    lengths = np.linalg.norm(histograms, axis=1)
    heights = np.maximum(shares[:, 1:] @ (histograms / lengths[:, None]).T / noise[:, None], 0.0)
    odds = 0.5 * heights**2 + prior
    best = odds.argmax(axis=1)
    found = odds.max(axis=1) >= RARE_ODDS
    share = heights[np.arange(len(best)), best] * noise / lengths[best]
    return np.where(found, known.magnitudes[whole][best], 0.0), np.where(found, share, 0.0)


# --- centre and spread ------------------------------------------------------------------------------------------------

_CENTRES = np.arange(-4, 4.01, 0.25)
_SPREADS = np.array([0.03, 0.06, 0.1, 0.17, 0.28, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0])
_STEP_VARIANCE = 0.25**2 / 12  # of a place between two grid points


class Places(NamedTuple):
    """Of each column, in cells: centre and its variance, spread, variance of ln spread, the share of records in the
    first and last cell that the likeliest template does not expect there, and the probability that the column is as
    narrow as the narrowest template or narrower."""

    centre: Floats
    variance: Floats
    spread: Floats
    log_variance: Floats
    aside: Floats
    narrowest: Floats


@lru_cache(maxsize=1)
def _place_templates() -> tuple[Floats, Floats, Templates]:
    centres, spreads = (grid.ravel() for grid in np.meshgrid(_CENTRES, _SPREADS, indexing="ij"))
    cells = Offsets(np.zeros(len(centres)), 1.0)
    return centres, spreads, Templates(_template(cells, centres + spreads * _law()[:, None]), np.zeros(len(centres)))


def read_places(shares: Floats, noise: Floats | float, miscount: Floats | float = 0.0) -> Places:
    """Normal columns on a grid of centres and spreads: posterior means."""
    centres, spreads, templates = _place_templates()
    posterior, logs = templates.posterior(shares, *_of_columns(len(shares), noise, miscount)), np.log(spreads)
    centre, log_spread = posterior @ centres, posterior @ logs
    variance = posterior @ centres**2 - centre**2 + _STEP_VARIANCE
    log_variance = np.maximum(posterior @ logs**2 - log_spread**2, 0.0)
    spread = np.exp(log_spread + 0.5 * np.minimum(log_variance, 0.5))
    unexpected = shares - templates.histograms[posterior.argmax(axis=1)]
    narrowest = posterior @ (spreads == spreads.min())
    return Places(centre, variance, spread, log_variance, unexpected[:, 0] + unexpected[:, -1], narrowest)
