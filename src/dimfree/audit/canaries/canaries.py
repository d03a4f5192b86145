"""Where canaries sing: mechanisms and whole releases that give out a vector, with canaries in directions of their own.

Every canary is a record on the clipping sphere, or at the edge of friendliness, along one coordinate: what it does to
the release shows there, and only there.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.discrete import idealised
from dimfree.accounting.precision import largest_mu
from dimfree.audit.canaries.one_run import Found, Game, Mask, Play, one_run
from dimfree.audit.noise_doubles import Asked, Pooled
from dimfree.data.records import as_records
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.mechanisms.clipped_sum import Ball, noisy_clipped_mean
from dimfree.mechanisms.scores import Scoring, noisy_scores
from dimfree.noise import Noise, SystemNoise, public_simulation
from dimfree.options import Options
from dimfree.release import release_mean

DELTA = 1e-2  # of the audited claims
_FEW, _MANY = 50, 100  # canaries of a mechanism, of a release
_OFTEN, _SELDOM = 400, 100  # releases of either
_OPTIONS = Options(failure_probability=0.02)  # accepted chance of a refusal: a release that refuses has no guess right
_BEYOND = 1e3  # so far from the centre that every score is clipped


def game(canaries: int, releases: int, epsilon: float) -> Game:
    """Fewer guesses where each says more: a rule that sees the claim and nothing else."""
    share = min(0.4, max(0.08, 0.2 / epsilon))
    return Game(canaries, 2 * round(share * canaries / 2), releases)


def _space(table: Floats) -> Space:
    return Space(as_records(table), Isotropic(1.0))


def _with_canaries(crowd: Floats, reach: float, coins: Mask) -> Floats:
    """The crowd, then the canaries that are in, each at `reach` along a coordinate of its own."""
    return np.vstack([crowd, reach * np.eye(len(coins))[coins]])


def clipped_sum_play(epsilon: float, canaries: int = _FEW) -> Play:
    """The plain Gaussian release of a clipped sum, at the whole budget; canaries on the sphere."""
    mu, crowd = largest_mu(*idealised(epsilon, DELTA)), np.zeros((1, canaries))
    ball = Ball(np.zeros(canaries), 1.0, 1.0)

    def play(coins: Mask, noise: Noise) -> Floats:
        space = _space(_with_canaries(crowd, 1.0, coins))
        return noisy_clipped_mean(space, ball, 1.0, mu, Neighbours.ADD_REMOVE, "audit", noise=noise).value

    return play


def scores_play(epsilon: float, canaries: int = _FEW) -> Play:
    """The noisy sum of clipped scores (P10); canaries beyond the norm of a score."""
    mu, crowd = largest_mu(*idealised(epsilon, DELTA)), np.zeros((1, canaries))
    scoring = Scoring(np.zeros(canaries), 1.0, 1.0)

    def play(coins: Mask, noise: Noise) -> Floats:
        space = _space(_with_canaries(crowd, _BEYOND, coins))
        return noisy_scores(space, scoring, 1.0, mu, Neighbours.ADD_REMOVE, noise=noise).value

    return play


def release_play(epsilon: float, crowd: Floats, edge: float, given: dict[str, Any]) -> Play:
    """A whole release; canaries at a share of the friend radius that the code uses on the crowd. A refusal is mute."""
    canaries = crowd.shape[1]

    def release(table: Floats, noise: Noise) -> Any:
        return release_mean(table, epsilon=epsilon, delta=DELTA, noise=noise, **{"options": _OPTIONS, **given})

    reach, centre = edge * float(release(crowd, Asked()).parameters["radius"]), crowd.mean(axis=0)

    def play(coins: Mask, noise: Noise) -> Floats:
        found = release(_with_canaries(crowd, reach, coins), noise)
        return np.full(canaries, np.nan) if found.refused else found.mean - centre

    return play


def _at_the_origin(size: int) -> Floats:
    return np.zeros((size, _MANY))


def _about_the_origin(size: int) -> Floats:
    """Normal records, always the same: their scale can be learned."""
    return public_simulation().normal(size=(size, _MANY))


def _mechanism(make: Callable[[float], Play], epsilon: float, failure: float, releases: int = _OFTEN) -> Found:
    return one_run(make(epsilon), game(_FEW, releases, epsilon), DELTA, failure, noise=Pooled(SystemNoise()))


def _release(
    crowd: Callable[[int], Floats],
    edge: float,
    given: dict[str, Any],
    epsilon: float,
    failure: float,
    releases: int = _SELDOM,
) -> Found:
    size = 400 + 400 * math.ceil(1 / epsilon)
    play = release_play(epsilon, crowd(size), edge, given)
    return one_run(play, game(_MANY, releases, epsilon), DELTA, failure, noise=Pooled(SystemNoise()))


_KNOWN: dict[str, Any] = {"shape": Isotropic(1.0), "options": replace(_OPTIONS, core="stable")}
_ALONE: dict[str, Any] = {"shape": Isotropic(1.0), "options": replace(_OPTIONS, core="stable", stages=0)}
_EDGE, _SPREAD_EDGE = 0.97, 0.7  # of the radius, which moves with the noisy count; less beside a crowd with a spread

# (epsilon claimed at DELTA, failure) → what was found; add/remove
ONE_RUN: dict[str, Callable[..., Found]] = {
    "clipped mean, add-remove": partial(_mechanism, clipped_sum_play),
    "scores, add-remove": partial(_mechanism, scores_play),
    "release: stable, add-remove": partial(_release, _at_the_origin, _EDGE, _ALONE),
    "release: recentred, add-remove": partial(_release, _at_the_origin, _EDGE, _KNOWN),
    "release: auto, add-remove": partial(_release, _about_the_origin, _SPREAD_EDGE, {}),
}
