"""Sampling tests that state how often they fail by bad luck, and the account of all of them together."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

MARK = "sampling"
MOST_FALSE_ALARMS = 1e-3  # of the whole suite
DECLARED: pytest.StashKey[dict[str, float]] = pytest.StashKey()


def sampling(false_alarm: float) -> pytest.MarkDecorator:
    """Declare that a test fails with at most this probability when the code is right. Each parametrisation counts."""
    return pytest.mark.sampling(false_alarm=false_alarm)


def declared_rates(items) -> dict[str, float]:
    """What every collected test declares, by its id."""
    return {item.nodeid: mark.kwargs["false_alarm"] for item in items if (mark := item.get_closest_marker(MARK))}


def distribution_fits(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray], false_alarm: float) -> bool:
    """Whether integers may come from `cdf`; wrong with at most `false_alarm` (Dvoretzky–Kiefer–Wolfowitz–Massart).

    The bound holds for every sample size and every distribution, so the rate is a theorem, not an approximation.
    """
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(draws)))
    values, counts = np.unique(draws, return_counts=True)
    above = np.cumsum(counts) / len(draws)
    below = above - counts / len(draws)
    farthest = max(np.abs(above - cdf(values)).max(), np.abs(below - cdf(values - 1)).max())
    return bool(farthest <= band)


def frequency_fits(successes: int, trials: int, probability: float, false_alarm: float) -> bool:
    """Whether a number of successes fits a probability, by the exact binomial tails."""
    low, high = bdtr(successes, trials, probability), bdtrc(successes - 1, trials, probability) if successes else 1.0
    return bool(min(low, high) > false_alarm / 2)


def phi(u: np.ndarray) -> np.ndarray:
    """u up to 1, then 2√u - 1: what scores are made of."""
    return np.where(u <= 1, u, 2 * np.sqrt(np.maximum(u, 1)) - 1)
