"""What a guarantee means for one person, and the trade-off curve of one release with the closest Gaussian.

Notation: a = false-positive rate, f(a) = the least false-negative rate of any test that tells two neighbouring tables
apart. Every level epsilon with its delta(epsilon) bounds f from below, so a few levels are enough to be valid.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from dimfree._types import Floats
from dimfree.accounting.discrete import reserve
from dimfree.accounting.events import Costs, branches_profile
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.precision import after_gaussians, compose
from dimfree.accounting.several_runs import AnyCosts, ComposedRuns, runs_of

CHORDS = 2000  # on one grid for all levels; any number is sound, more are tighter
RATES = np.concatenate([np.geomspace(1e-4, 0.02, 25)[:-1], np.linspace(0.02, 1.0, 50)])

FALSE_ALARM = 0.01
FARTHEST = 600.0  # [loss] the exponential of a larger level would leave the range of floats
MUS = np.geomspace(1e-3, 40.0, 2000)


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """The curve as (levels, deltas), and `mu` of the Gaussian whose curve lies within `apart` of it everywhere."""

    levels: Floats
    deltas: Floats
    mu: float
    apart: float

    @classmethod
    def of(cls, ledger: AnyCosts) -> Self | None:
        """Of everything that was charged; None where nothing was."""
        if not ledger.events:
            return None
        farthest = min(2 * ledger.budget.epsilon, FARTHEST)  # twice the stated epsilon; levels are closer near 0
        near, far = np.geomspace(farthest / 500, farthest / 10, 50), np.linspace(0.1, 1, 90)[1:] * farthest
        levels = np.concatenate([[0.0], near, far])
        with np.errstate(all="ignore"):  # an overflow proves nothing: delta = 1
            deltas = np.nan_to_num(_deltas(ledger, levels), nan=1.0, posinf=1.0)
        curve = cls(levels, np.minimum.accumulate(np.minimum(deltas, 1.0)), 0.0, 0.0)
        missed = curve.missed(RATES)
        apart = np.array([np.abs(gaussian_missed(mu, RATES) - missed).max() for mu in MUS])  # mu to half a per cent
        return replace(curve, mu=float(MUS[apart.argmin()]), apart=float(apart.min()))

    def missed(self, rates: Floats) -> Floats:
        """The least false-negative rate at each false-positive rate, rounded down to what the levels prove."""
        kept, rise = 1 - self.deltas[:, None], np.exp(self.levels)[:, None]
        return np.maximum(0.0, np.maximum(kept - rise * rates, (kept - rates) / rise).max(axis=0))

    def detected(self, rate: float) -> float:
        """The largest true-positive rate at this false-positive rate."""
        return 1 - float(self.missed(np.array([rate]))[0])

    @property
    def guessed_right(self) -> float:
        """The largest probability of a correct guess between two equally likely neighbours: (1 + delta(0))/2."""
        return (1 + float(self.deltas[0])) / 2


def _deltas(ledger: AnyCosts, levels: Floats) -> Floats:
    """delta at each level, rounded up: of one tested run by its profile (P9, M8), of others composed (M9)."""
    runs = runs_of(ledger)
    run = runs[0]
    if len(runs) > 1 or not isinstance(run, Costs) or run.filtered:
        composed = ComposedRuns(runs)
        return np.array([composed.delta(float(level)) for level in levels])
    left = reserve(run.budget.usable_epsilon, run.budget.delta)
    before, profile = compose(event.mu for event in run.before), partial(branches_profile, run.menu)
    ideal = after_gaussians(before, profile, levels - left.epsilon, CHORDS)
    return math.exp(left.ratio) * ideal + left.tail


def gaussian_missed(mu: float, rates: Floats) -> Floats:
    """The trade-off curve of one Gaussian release: the false-negative rate of the best test."""
    return ndtr(ndtri(1 - rates) - mu)


def guessed_right(guarantee: Guarantee) -> float:
    """The largest probability of a correct guess between two equally likely neighbours: (e^ε + δ)/(e^ε + 1)."""
    return (1 + guarantee.delta * math.exp(-guarantee.epsilon)) / (1 + math.exp(-guarantee.epsilon))


def detected(guarantee: Guarantee, false_alarm: float = FALSE_ALARM) -> float:
    """The largest true-positive rate at this false-positive rate a: min(e^ε·a + δ, 1 - e^-ε·(1 - δ - a))."""
    shrink = math.exp(-guarantee.epsilon)
    directly = false_alarm / shrink + guarantee.delta if shrink else 1.0
    return min(1.0, directly, 1 - shrink * max(0.0, 1 - guarantee.delta - false_alarm))


def percent_up(share: float) -> str:
    """Rounded up, so that no guarantee looks better than it is."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):.1f} %"


def attacks(guarantee: Guarantee, curve: Tradeoff | None) -> dict[str, str]:
    """What an attacker who knows all other rows can achieve at most, by the guarantee and by all that was charged."""
    guess, test = guessed_right(guarantee), detected(guarantee)
    found = {"guess": percent_up(guess), "test": percent_up(test), "at": f"{100 * FALSE_ALARM:g} %"}
    if curve is not None:
        found["charged_guess"] = percent_up(min(curve.guessed_right, guess))
        found["charged_test"] = percent_up(min(curve.detected(FALSE_ALARM), test))
        found["apart"] = str(math.ceil(100 * curve.apart))
    return found
