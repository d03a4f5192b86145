"""What one-run audits of a mechanism share: the game, the table with canaries, and the run on real noise.

Every canary is a record on the clipping sphere, or at the edge of friendliness, along a coordinate of its own: it
changes the release in this coordinate only.
"""

from collections.abc import Callable

import numpy as np

from dimfree._types import Floats
from dimfree.audit.audited import DELTA
from dimfree.audit.canaries.one_run import Found, Game, Mask, Play, one_run
from dimfree.audit.noise_doubles import PooledNoise
from dimfree.noise import SystemNoise

FEW, MANY = 50, 100  # canaries of a mechanism, of a release
OFTEN, SELDOM = 400, 100  # releases of either


def game(canaries: int, releases: int, epsilon: float) -> Game:
    """Fewer guesses where each says more: a rule that sees the claim and nothing else."""
    share = min(0.4, max(0.08, 0.2 / epsilon))
    return Game(canaries, 2 * round(share * canaries / 2), releases)


def with_canaries(others: Floats, reach: float, coins: Mask) -> Floats:
    """The other records, then the canaries that are in, each at `reach` along a coordinate of its own."""
    return np.vstack([others, reach * np.eye(len(coins))[coins]])


def play_releases(play: Play, canaries: int, releases: int, epsilon: float, failure: float) -> Found:
    """What is found about the claim (epsilon, DELTA)."""
    return one_run(play, game(canaries, releases, epsilon), DELTA, failure, noise=PooledNoise(SystemNoise()))


def mechanism_run(make: Callable[[float], Play], epsilon: float, failure: float, releases: int = OFTEN) -> Found:
    return play_releases(make(epsilon), FEW, releases, epsilon, failure)
