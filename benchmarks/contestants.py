"""The estimators of a comparison: those of dimfree and the peers, and what each is told beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from benchmarks.peers.ball import algorithm_1, ball
from benchmarks.peers.clipped import clipped
from benchmarks.peers.coinpress import coinpress
from benchmarks.peers.friendly_core import friendly_core
from benchmarks.peers.huang_liang_yi import huang_liang_yi
from benchmarks.peers.karwa_vadhan import karwa_vadhan
from benchmarks.peers.not_private import empirical_mean, oracle_floor
from benchmarks.peers.plan import plan
from benchmarks.worlds import Priors, World
from dimfree import Release, release_mean
from dimfree._types import Floats
from dimfree.paper import algorithm2
from dimfree.testing import SeededNoise

FACTS: dict[str, str] = {  # what an estimator may be told, for people
    "σ": "the standard deviation of every coordinate",
    "largest σ": "the largest of the standard deviations",
    "pairs": "a distance that 99 % of all pairs of records keep to; σ tells it in Gaussian worlds, not in a table",
    "R": "the radius of a ball about the origin that holds the mean, ten times too large",
    "mean": "the mean itself",
}
_IMPLIED = {"σ": ("largest σ",), "mean": ("R",)}
_IMPLIED_IF_GAUSSIAN = {"σ": ("pairs",)}  # without correlations: elsewhere σ says nothing about tails or about pairs
ADD, REPLACE = "add-remove", "replace-one"
FLOOR = "oracle floor"

Estimate = Callable[..., Floats | None]


@dataclass(frozen=True)
class Contestant:
    """An estimator `f(X, epsilon, delta, coins, neighbors=..., **what it is told)`; None is a refusal.

    `coins`: a NumPy generator, or for one that comes from dimfree a `SeededNoise`.
    """

    name: str
    facts: tuple[str, ...]
    estimate: Estimate
    told_in: Callable[[Priors], dict[str, Any]] = lambda _: {}
    private: bool = True
    ours: bool = False
    packaged: bool = False  # it comes from dimfree
    proved: tuple[str, ...] = (ADD, REPLACE)

    @property
    def told(self) -> str:
        return ", ".join(self.facts) or "nothing"

    def answer(
        self, X: Floats, known: Priors, epsilon: float, delta: float, neighbors: str, seed: int
    ) -> Floats | None:
        coins = SeededNoise(seed) if self.packaged else np.random.default_rng(seed)
        return self.estimate(X, epsilon, delta, coins, neighbors=neighbors, **self.told_in(known))

    def knows(self, other: "Contestant", world: World) -> str:
        """This one's prior knowledge beside another's: "less", "equal", "more", or "other" where neither has all."""
        own, others = self._knowledge(world), other._knowledge(world)
        if own == others:
            return "equal"
        return "less" if own < others else "more" if own > others else "other"

    def _knowledge(self, world: World) -> frozenset[str]:
        """What it was told and what follows from that, which depends on the world."""
        rules = (_IMPLIED, _IMPLIED_IF_GAUSSIAN) if world.gaussian else (_IMPLIED,)
        return frozenset(self.facts).union(*(rule.get(fact, ()) for rule in rules for fact in self.facts))


def _ours(X: Floats, epsilon: float, delta: float, noise: SeededNoise, **given: Any) -> Floats | None:
    return _mean_of(release_mean(X, epsilon=epsilon, delta=delta, noise=noise, **given))


def _algorithm_2(X: Floats, epsilon: float, delta: float, noise: SeededNoise, **given: Any) -> Floats | None:
    return _mean_of(algorithm2(X, epsilon=epsilon, delta=delta, noise=noise, **given))


def _mean_of(release: Release) -> Floats | None:
    return None if release.refused else np.asarray(release.mean)


def _given(**facts: Callable[[Priors], Any]) -> Callable[[Priors], dict[str, Any]]:
    """From what may be known to the keywords of an estimator."""
    return lambda known: {name: fact(known) for name, fact in facts.items()}


_MEAN, _STDDEVS, _RADIUS = attrgetter("mean"), attrgetter("stddevs"), attrgetter("radius")
CONTESTANTS: tuple[Contestant, ...] = (
    Contestant("empirical mean", (), empirical_mean, private=False),
    Contestant(FLOOR, ("mean", "σ"), oracle_floor, _given(mean=_MEAN, stddevs=_STDDEVS), private=False),
    Contestant("dimfree", (), partial(_ours, objective="total"), ours=True, packaged=True),
    Contestant(
        "dimfree known", ("σ",), _ours, _given(covariance=lambda known: known.stddevs**2), ours=True, packaged=True
    ),
    Contestant("Algorithm 2", (), _algorithm_2, packaged=True),
    Contestant("Algorithm 1", ("σ",), algorithm_1, _given(stddevs=_STDDEVS)),
    Contestant("ball", ("σ",), ball, _given(stddevs=_STDDEVS)),
    Contestant("Karwa-Vadhan", ("σ",), karwa_vadhan, _given(stddevs=_STDDEVS)),
    Contestant("FriendlyCore", ("pairs",), friendly_core, _given(radius=attrgetter("pair_distance"))),
    Contestant("PLAN", ("σ", "R"), plan, _given(radius=_RADIUS, stddevs=_STDDEVS)),
    Contestant(
        "CoinPress",
        ("largest σ", "R"),
        coinpress,
        _given(radius=_RADIUS, stddev=lambda known: float(known.stddevs.max())),
    ),
    Contestant("Huang-Liang-Yi", ("R",), huang_liang_yi, _given(radius=_RADIUS)),
    Contestant("clipped mean", ("R",), clipped, _given(radius=_RADIUS)),
)


def contestants_named(names: Sequence[str]) -> list[Contestant]:
    """Return those with these names, in the order of the list."""
    return [each for each in CONTESTANTS if each.name in names]
