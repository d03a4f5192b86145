"""The meaning of a guarantee for one person, and the trade-off curve of a release with the closest Gaussian.

Notation: a = false-positive rate, f(a) = the smallest false-negative rate of any test between two neighboring tables.
Every pair (epsilon, delta(epsilon)) bounds f from below, so a few levels give a valid bound.
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

CHORDS = 2000  # of one grid for all levels; more are tighter
RATES = np.concatenate([np.geomspace(1e-4, 0.02, 25)[:-1], np.linspace(0.02, 1.0, 50)])

FALSE_ALARM = 0.01
MAX_LEVEL = 600.0  # [loss] the exponential of a larger level overflows
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
        """Compute the curve of all charges; None without a charge."""
        if not ledger.events:
            return None
        farthest = min(2 * ledger.budget.epsilon, MAX_LEVEL)  # twice the stated epsilon; finer near 0
        near, far = np.geomspace(farthest / 500, farthest / 10, 50), np.linspace(0.1, 1, 90)[1:] * farthest
        levels = np.concatenate([[0.0], near, far])
        with np.errstate(all="ignore"):  # after an overflow delta = 1
            deltas = np.nan_to_num(_deltas(ledger, levels), nan=1.0, posinf=1.0)
        curve = cls(levels, np.minimum.accumulate(np.minimum(deltas, 1.0)), 0.0, 0.0)
        missed = curve.compute_missed(RATES)
        apart = np.array([np.abs(gaussian_missed(mu, RATES) - missed).max() for mu in MUS])  # mu to half a percent
        return replace(curve, mu=float(MUS[apart.argmin()]), apart=float(apart.min()))

    def compute_missed(self, rates: Floats) -> Floats:
        """Return the smallest false-negative rate at each false-positive rate, rounded down."""
        kept, rise = 1 - self.deltas[:, None], np.exp(self.levels)[:, None]
        return np.maximum(0.0, np.maximum(kept - rise * rates, (kept - rates) / rise).max(axis=0))

    def compute_detected(self, rate: float) -> float:
        """Return the largest true-positive rate at this false-positive rate."""
        return 1 - float(self.compute_missed(np.array([rate]))[0])

    @property
    def guessed_right(self) -> float:
        """The largest probability of a correct guess between two equally likely neighbors: (1 + delta(0))/2."""
        return (1 + float(self.deltas[0])) / 2


def _deltas(ledger: AnyCosts, levels: Floats) -> Floats:
    """Return delta at each level, rounded up: one run by its profile (P9, M8), several by composition (M9)."""
    runs = runs_of(ledger)
    run = runs[0]
    if len(runs) > 1 or not isinstance(run, Costs) or run.filtered:
        composed = ComposedRuns(runs)
        return np.array([composed.delta(float(level)) for level in levels])
    left = reserve(run.budget.usable_epsilon, run.budget.delta)
    before, profile = compose(event.mu for event in run.before), partial(branches_profile, run.branches)
    ideal = after_gaussians(before, profile, levels - left.epsilon, CHORDS)
    return math.exp(left.ratio) * ideal + left.tail


def gaussian_missed(mu: float, rates: Floats) -> Floats:
    """Return the trade-off curve of one Gaussian release: the false-negative rate of the best test."""
    return ndtr(ndtri(1 - rates) - mu)


def guessed_right(guarantee: Guarantee) -> float:
    """Return the largest probability of a correct guess between two equally likely neighbors: (e^ε + δ)/(e^ε + 1)."""
    return (1 + guarantee.delta * math.exp(-guarantee.epsilon)) / (1 + math.exp(-guarantee.epsilon))


def compute_detected(guarantee: Guarantee, false_alarm: float = FALSE_ALARM) -> float:
    """Return the largest true-positive rate at false-positive rate a: min(e^ε·a + δ, 1 - e^-ε·(1 - δ - a))."""
    shrink = math.exp(-guarantee.epsilon)
    directly = false_alarm / shrink + guarantee.delta if shrink else 1.0
    return min(1.0, directly, 1 - shrink * max(0.0, 1 - guarantee.delta - false_alarm))


def round_up_percent(share: float) -> str:
    """Format a share in percent, rounded up."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):.1f}%"


def describe_attacks(guarantee: Guarantee, curve: Tradeoff | None) -> dict[str, str]:
    """Return the success limits of an attacker who knows all other rows, by the guarantee and by the charges."""
    guess, test = guessed_right(guarantee), compute_detected(guarantee)
    found = {"guess": round_up_percent(guess), "test": round_up_percent(test), "at": f"{100 * FALSE_ALARM:g}%"}
    if curve is not None:
        found["charged_guess"] = round_up_percent(min(curve.guessed_right, guess))
        found["charged_test"] = round_up_percent(min(curve.compute_detected(FALSE_ALARM), test))
        found["apart"] = str(math.ceil(100 * curve.apart))
    return found
