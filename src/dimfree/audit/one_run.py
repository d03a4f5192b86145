"""Many canaries in few releases: a lower confidence bound on epsilon from how many of them are guessed right.

Each canary is a record that a fair coin puts into the table or leaves out (add-remove). An auditor who sees the release
guesses "in" for the highest scores and "out" for the lowest. If the release is (ε, δ)-private, few guesses can be
right. The game is that of Steinke, Nasr and Jagielski (2023); the p-value is another, see proofs/audit/one_run.md. One
release never reaches a p-value below δ, so a small failure at a large δ takes many releases, each with its own coins.

Letters: m = canaries and r = guesses of one release, R = releases, q = e^ε/(1 + e^ε).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dimfree._types import Floats
from dimfree._validate import check_count, check_probability, check_share
from dimfree.noise import Noise

Mask = NDArray[np.bool_]
Play = Callable[[Mask], Floats]  # which canaries are in → a score of each, NaN where nothing was released

_LARGEST, _HALVINGS = 30.0, 30  # where epsilon is searched
_STEPS = 24  # of prices and tilts tried at a time; any of them gives a bound
_OUTWARD = 1e-9  # for rounding


@dataclass(frozen=True)
class Game:
    """How many canaries there are, how many of them are guessed at most, and in how many releases. Fixed beforehand."""

    canaries: int
    guesses: int
    releases: int = 1

    def __post_init__(self) -> None:
        check_count("canaries", self.canaries)
        check_count("guesses", self.guesses, most=self.canaries)
        check_count("releases", self.releases)

    @property
    def most(self) -> int:
        """How many guesses can be right."""
        return self.guesses * self.releases


def count_right(play: Play, game: Game, coins: Noise) -> int:
    """Toss the coins, release, guess; return how many guesses are right."""
    correct = 0
    for _ in range(game.releases):
        present = coins.below(2, game.canaries) == 1
        correct += int(np.sum(guess(play(present), game.guesses) == np.where(present, 1, -1)))
    return correct


def guess(scores: Floats, most: int) -> NDArray[np.int64]:
    """1 (in) for the highest scores, -1 (out) for the lowest, as many of either, `most` together; 0 elsewhere."""
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    half = min(most, len(order)) // 2
    guesses = np.zeros(len(scores), dtype=np.int64)
    guesses[order[len(order) - half :]], guesses[order[:half]] = 1, -1
    return guesses


def epsilon_at_least(correct: int, game: Game, delta: float, failure: float) -> float:
    """Return the largest ε that `correct` right guesses rule out; too large with probability at most `failure`."""
    check_count("correct", correct, least=0, most=game.most)
    delta, failure = check_share("delta", delta, below=1), check_probability("failure", failure)
    if p_value(correct, game, 0.0, delta) > failure:
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):  # the lower end is always ruled out
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(correct, game, middle, delta) <= failure else (low, middle)
    return low


def fewest_releases(game: Game, epsilon: float, delta: float, failure: float) -> int:
    """Return how many releases let guesses that are all right show this epsilon: fewer can find nothing."""
    releases = 1
    while epsilon_at_least((played := replace(game, releases=releases)).most, played, delta, failure) < epsilon:
        releases = math.ceil(1.2 * releases)
    return releases


def p_value(correct: int, game: Game, epsilon: float, delta: float) -> float:
    """Bound the chance of so many right guesses, or more, under any (ε, δ)-private release.

    The least over tilts of e^(-tilt·correct)·(the largest mean of e^(tilt·right) in one release)^R.
    """
    share = float(expit(epsilon))  # q

    def logs(tilts: Floats) -> Floats:
        return game.releases * _log_mean(tilts, game, share, delta) - tilts * correct

    lowest = float(_least(logs, np.geomspace(1e-3, 3.0, _STEPS)))
    return min(1.0, math.exp(min(0.0, lowest)) * (1 + _OUTWARD))


def largest_mean(payoff: Floats, share: float, price: Floats) -> Floats:
    """h_r(0): the most that a gambler wins who is paid payoff[right guesses] and may buy right guesses.

    Each of the r guesses is right with probability `share`, or surely at a `price`. Leading axes run in parallel.
    """
    while payoff.shape[-1] > 1:
        better, worse = payoff[..., 1:], payoff[..., :-1]
        payoff = np.maximum(share * better + (1 - share) * worse, better - price)
    return payoff[..., 0]


def _log_mean(tilts: Floats, game: Game, share: float, delta: float) -> Floats:
    """ln of the least over prices of price·mδ + h_r(0), paid e^(tilt·right guesses)."""
    tilt, guesses = tilts[:, None], game.guesses
    payoff = np.exp(tilt * (np.arange(guesses + 1.0) - guesses))  # less e^(tilt·r), so that nothing overflows
    steady = 1 - share + share * np.exp(tilt)
    lowest = np.exp(-tilt * guesses) * np.expm1(tilt) * steady ** (guesses - 1)  # below it everything is bought
    highest = -np.expm1(-tilt)  # above it nothing is

    def means(prices: Floats) -> Floats:
        return prices * game.canaries * delta + largest_mean(payoff[:, None, :], share, prices[:, :, None])

    prices = (1 - share) * np.geomspace(lowest[:, 0], highest[:, 0], _STEPS, axis=-1)
    return np.log(_least(means, prices)) + tilts * guesses


def _least(bound: Callable[[Floats], Floats], grid: Floats) -> Floats:
    """Return the least of the bound along the last axis of the grid, and of a finer one about its best place."""
    first, last = bound(grid), grid.shape[-1] - 1
    best = np.argmin(first, axis=-1, keepdims=True)
    before, after = (np.take_along_axis(grid, np.clip(best + step, 0, last), -1)[..., 0] for step in (-1, 1))
    second = bound(np.geomspace(before, after, last + 1, axis=-1))
    return np.minimum(first.min(axis=-1), second.min(axis=-1))
