"""Many canaries in few releases: a lower confidence bound on epsilon from how many of them are guessed right.

Each canary is a record that a fair coin puts into the table or leaves out (add/remove). An auditor who sees the release
says "in" of those whose score is highest, "out" of those whose score is lowest, and nothing of the others. If the
release is (ε, δ)-private, not many guesses can be right. The idea is that of Steinke, Nasr and Jagielski (2023); the
p-value is another, see proofs/audit/one_run.md. One release never reaches a p-value below δ (it may publish everything
with probability δ), so a small failure at a large δ takes many releases, each with coins of its own.

It does not apply under replace-one, where no record can be left out, nor to mechanisms that give out one number, where
the canaries would drown each other: `lower_bound` serves there.

Letters: m = canaries and r = guesses of one release, R = releases, q = e^ε/(1 + e^ε).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, expit

from dimfree._types import Floats
from dimfree._validate import check_count, check_probability, check_share
from dimfree.noise import Noise

Mask = NDArray[np.bool_]
Play = Callable[[Mask, Noise], Floats]  # which canaries are in → a score of each, NaN where nothing left

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


@dataclass(frozen=True)
class Found:
    """With the stated confidence epsilon is at least this, at the delta asked for."""

    epsilon: float
    correct: int
    game: Game
    confidence: float


def one_run(play: Play, game: Game, delta: float, failure: float, *, noise: Noise) -> Found:
    """Toss the coins, release, guess, count. Wrong with probability at most `failure`, whatever `play` does inside."""
    correct = 0
    for _ in range(game.releases):
        coins = noise.below(2, game.canaries) == 1
        correct += right(guess(play(coins, noise), game.guesses), coins)
    return Found(epsilon_at_least(correct, game, delta, failure), correct, game, 1 - failure)


def guess(scores: Floats, most: int) -> NDArray[np.int64]:
    """1 (in) for the highest scores, -1 (out) for the lowest, as many of either, `most` together; 0 elsewhere."""
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(scores[known], kind="stable")]
    half = min(most, len(order)) // 2
    guesses = np.zeros(len(scores), dtype=np.int64)
    guesses[order[len(order) - half :]], guesses[order[:half]] = 1, -1
    return guesses


def right(guesses: NDArray[np.int64], coins: Mask) -> int:
    """How many guesses are right."""
    return int(np.sum(guesses == np.where(coins, 1, -1)))


def epsilon_at_least(correct: int, game: Game, delta: float, failure: float) -> float:
    """The largest ε that so many right guesses rule out, at this δ; too large with probability at most `failure`."""
    check_count("correct", correct, least=0, most=game.most)
    delta, failure = check_share("delta", delta, below=1), check_probability("failure", failure)
    if p_value(correct, game, 0.0, delta) > failure:
        return 0.0
    low, high = 0.0, _LARGEST
    for _ in range(_HALVINGS):  # the lower end is always ruled out
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(correct, game, middle, delta) <= failure else (low, middle)
    return low


def fewest_releases(game: Game, epsilon: float, delta: float, failure: float, times: float = 1.3) -> int:
    """So many releases that guesses which are all right would show `times` times epsilon: fewer can find nothing."""
    releases = 1
    while epsilon_at_least((played := replace(game, releases=releases)).most, played, delta, failure) < times * epsilon:
        releases = math.ceil(1.2 * releases)
    return releases


def p_value(correct: int, game: Game, epsilon: float, delta: float) -> float:
    """An upper bound on the chance of so many right guesses, or more, under any (ε, δ)-private release."""
    share = float(expit(epsilon))  # q
    if correct == 0:
        return 1.0
    if delta == 0:  # coins of probability q at best: attained by randomised response
        chance = float(bdtrc(correct - 1, game.most, share))
    elif game.releases == 1:
        chance = _one_release(correct, game, share, delta)
    else:
        chance = _many_releases(correct, game, share, delta)
    return min(1.0, chance * (1 + _OUTWARD))


def largest_mean(payoff: Floats, share: float, price: Floats) -> Floats:
    """h_r(0): the most that a gambler wins who is paid payoff[right guesses] and may buy right guesses.

    Each of the r guesses is right with probability `share`, or for sure at a `price`. Leading axes run in parallel.
    """
    while payoff.shape[-1] > 1:
        better, worse = payoff[..., 1:], payoff[..., :-1]
        payoff = np.maximum(share * better + (1 - share) * worse, better - price)
    return payoff[..., 0]


def _one_release(correct: int, game: Game, share: float, delta: float) -> float:
    """min over prices of price·mδ + h_r(0), paid 1 for `correct` right guesses or more."""
    payoff = (np.arange(game.guesses + 1) >= correct).astype(np.float64)

    def chances(prices: Floats) -> Floats:
        return prices * game.canaries * delta + largest_mean(payoff[None, :], share, prices[:, None])

    return float(_least(chances, np.geomspace(1e-15, 1 - share, 2 * _STEPS)))


def _many_releases(correct: int, game: Game, share: float, delta: float) -> float:
    """min over tilts of e^(-tilt·correct)·(the largest mean of e^(tilt·right) in one release)^R."""

    def logs(tilts: Floats) -> Floats:
        return game.releases * _log_tilted(tilts, game, share, delta) - tilts * correct

    return math.exp(min(0.0, float(_least(logs, np.geomspace(1e-3, 3.0, _STEPS)))))


def _log_tilted(tilts: Floats, game: Game, share: float, delta: float) -> Floats:
    """ln of min over prices of price·mδ + h_r(0), paid e^(tilt·right guesses)."""
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
    """The least of the bound along the last axis of the grid, and of a finer one about its best place."""
    first, last = bound(grid), grid.shape[-1] - 1
    best = np.argmin(first, axis=-1, keepdims=True)
    before, after = (np.take_along_axis(grid, np.clip(best + step, 0, last), -1)[..., 0] for step in (-1, 1))
    second = bound(np.geomspace(before, after, last + 1, axis=-1))
    return np.minimum(first.min(axis=-1), second.min(axis=-1))
