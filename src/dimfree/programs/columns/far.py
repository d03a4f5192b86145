"""The posterior, given votes for far values, over stored distributions of real columns. Reads no record.

Letters: z = offset of a value from its center, in SDs.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.programs.choose import constants as c

_HALF = np.array([0, 0.3, 1, 2, 4, 7, 12, 20, 30, 45, 65, 90, 120, 160, 200, 250, 300, 350, 400, 450, 500]) / 1000
_MIDDLES = np.append(np.sqrt(c.VOTE_LEVELS[:-1] * c.VOTE_LEVELS[1:]), 2 * c.VOTE_LEVELS[-1])
_WEIGHTS = np.diff(np.concatenate([_HALF, 1 - _HALF[-2::-1]]))  # of the bins of a quantile function


class Laws(NamedTuple):
    """Columns of real tables before a vote: means of z over the bins of the quantile function."""

    offsets: Floats  # (laws, bins)
    prior: Floats  # (laws,), logarithms
    votes: Floats  # (laws, sides and levels), as shares of the records


@cache
def load_laws() -> Laws:
    """Load the stored distributions, and add normal columns with a group at one level."""
    with np.load(Path(__file__).with_name("laws.npz")) as stored:
        offsets, prior = np.sinh(stored["quantiles"] / 400), stored["prior"] / stored["prior"].sum()
    groups = [_add_group(side * far, share) for far in _MIDDLES for share in c.GROUP_SHARES for side in (-1, 1)]
    prior = np.append((1 - c.GROUP_PRIOR) * prior, np.full(len(groups), c.GROUP_PRIOR / len(groups)))
    offsets = np.concatenate([offsets, groups])
    passed = np.searchsorted(c.VOTE_LEVELS, np.abs(offsets), side="right")
    cells = (offsets > 0) * len(c.VOTE_LEVELS) + passed - 1
    votes = np.zeros((len(offsets), 2 * len(c.VOTE_LEVELS)))
    for law, (cell, far) in enumerate(zip(cells, passed > 0, strict=True)):
        votes[law] = np.bincount(cell[far], _WEIGHTS[far], votes.shape[1])
    return Laws(offsets, np.log(prior), votes)


def _add_group(place: float, share: float) -> Floats:
    """Return the bins of a normal column with a share of values at one place."""
    below = np.cumsum(_WEIGHTS)
    group = below > 1 - share if place > 0 else below <= share
    return np.where(group, place, ndtri(below - _WEIGHTS / 2))


@dataclass(frozen=True, repr=False)
class Far:
    """Posterior probabilities of the distributions, (columns, laws), in columns divided by `unit`."""

    posterior: Floats
    unit: Floats

    @classmethod
    def read(cls, shares: Floats, noise: Floats, unit: Floats, before: "Far | None" = None) -> "Far":
        laws, noise = load_laws(), noise[:, None] ** 2
        known = laws.prior if before is None else np.log(np.maximum(before.posterior, 1e-300))
        logs = np.zeros((len(shares), len(laws.prior))) + known
        for seen, expected in zip(shares.T, laws.votes.T, strict=True):  # one cell at a time
            variance = noise + (c.LAW_ERROR * expected) ** 2
            logs -= 0.5 * ((seen[:, None] - expected) ** 2 / variance + np.log(variance))
        found = np.exp(logs - logs.max(axis=1, keepdims=True))
        return cls(found / found.sum(axis=1, keepdims=True), unit)

    def cut(self, caps: Floats) -> Floats:
        """Return the probability, by column, that more than a few of its values exceed its bound, in its unit."""
        beyond = (np.abs(load_laws().offsets) > caps[:, None, None]) @ _WEIGHTS
        return np.asarray((self.posterior * (beyond > c.CUT_SHARE)).sum(axis=1))


def predict_bias(radius: float, rest: float, factor: float = 1.0) -> Floats:
    """Predict, by distribution, the clipping bias of a column in its unit, if `factor` times that divides it."""
    z = load_laws().offsets
    kept = radius / np.maximum(np.hypot(z / factor, rest), radius)
    return np.asarray((z * (1 - kept)) @ _WEIGHTS)
