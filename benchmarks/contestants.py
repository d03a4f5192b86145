"""The estimators of a comparison: those of dimfree and the baselines, and what each is told beforehand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from dimfree._types import Floats
from dimfree._validate import check_each, check_text
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.ball import ball
from dimfree.comparison.baselines.clipped import clipped
from dimfree.comparison.baselines.coinpress import coinpress
from dimfree.comparison.baselines.friendly_core import friendly_core
from dimfree.comparison.baselines.huang_liang_yi import huang_liang_yi
from dimfree.comparison.baselines.karwa_vadhan import karwa_vadhan
from dimfree.comparison.baselines.not_private import empirical_mean, oracle_floor
from dimfree.comparison.baselines.plan import plan
from dimfree.comparison.worlds import Priors, World
from dimfree.errors import InvalidParameter
from dimfree.options import Options
from dimfree.release import release_mean

FACTS: dict[str, str] = {  # what an estimator may be told, for people
    "σ": "the standard deviation of every coordinate",
    "largest σ": "the largest of the standard deviations",
    "pairs": "a distance that 99 % of all pairs of records keep to; σ tells it in Gaussian worlds, not in a table",
    "R": "the radius of a ball about the origin that holds the mean, ten times too large",
    "mean": "the mean itself",
}
_IMPLIED = {"σ": ("largest σ",), "mean": ("R",)}
_IMPLIED_IF_GAUSSIAN = {"σ": ("pairs",)}  # without correlations: elsewhere σ says nothing about tails or about pairs
BOTH = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)


class Answer(Protocol):
    """What an estimator returns: a Release, or a reference value that is not private."""

    @property
    def refused(self) -> bool: ...

    @property
    def mean(self) -> Floats: ...


@dataclass(frozen=True)
class Contestant:
    """An estimator, the facts it is told, and the parameters in which it is told them."""

    name: str
    facts: tuple[str, ...]
    estimate: Callable[..., Answer]
    priors: Callable[[Priors], dict[str, Any]] = lambda _: {}
    private: bool = True
    ours: bool = False
    proved: tuple[Neighbours, ...] = BOTH

    @property
    def told(self) -> str:
        return ", ".join(self.facts) or "nothing"

    def answer(self, X: Floats, known: Priors, **promise: Any) -> Answer:
        return self.estimate(X, **promise, **self.priors(known))

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


def _covariance(known: Priors) -> dict[str, Any]:
    return {"covariance": known.stddevs**2}


def _stddevs(known: Priors) -> dict[str, Any]:
    return {"stddevs": known.stddevs}


def _pairs(known: Priors) -> dict[str, Any]:
    return {"radius": known.pair_distance}


def _radius(known: Priors) -> dict[str, Any]:
    return {"radius": known.radius}


def _radius_and_largest(known: Priors) -> dict[str, Any]:
    return {"radius": known.radius, "stddev": float(known.stddevs.max())}


def _radius_and_stddevs(known: Priors) -> dict[str, Any]:
    return {"radius": known.radius, "stddevs": known.stddevs}


def _truth(known: Priors) -> dict[str, Any]:
    return {"mean": known.mean, "stddevs": known.stddevs}


def _without_promise(X: Floats, **_: Any) -> Answer:
    return empirical_mean(X)


# The paper's Algorithm 1 is proved for add/remove alone; its Algorithm 2, FriendlyCore and the ball for both.
_BASIC = partial(release_mean, options=Options(core="basic"))
_ADD_REMOVE = (Neighbours.ADD_REMOVE,)

CONTESTANTS: tuple[Contestant, ...] = (
    Contestant("empirical mean", (), _without_promise, private=False),
    Contestant("oracle floor", ("mean", "σ"), oracle_floor, _truth, private=False),
    Contestant("dimfree", (), partial(release_mean, objective="total"), ours=True),
    Contestant("dimfree known", ("σ",), release_mean, _covariance, ours=True),
    Contestant("Algorithm 2", (), partial(release_mean, shape="paper")),
    Contestant("Algorithm 1", ("σ",), _BASIC, _covariance, proved=_ADD_REMOVE),
    Contestant("ball", ("σ",), ball, _stddevs),
    Contestant("Karwa-Vadhan", ("σ",), karwa_vadhan, _stddevs),
    Contestant("FriendlyCore", ("pairs",), friendly_core, _pairs),
    Contestant("PLAN", ("σ", "R"), plan, _radius_and_stddevs),
    Contestant("CoinPress", ("largest σ", "R"), coinpress, _radius_and_largest),
    Contestant("Huang-Liang-Yi", ("R",), huang_liang_yi, _radius),
    Contestant("clipped mean", ("R",), clipped, _radius),
)


def chosen(names: Sequence[str] | None) -> tuple[Contestant, ...]:
    """Those named, in the order of the list, whatever the case; all where none is named."""
    if names is None:
        return CONTESTANTS
    known = {contestant.name.lower(): contestant.name for contestant in CONTESTANTS}
    need = f"one of {', '.join(map(repr, known.values()))}"
    wanted = check_each("estimators", names, lambda _, name: known[check_text("estimators", name).lower()], need)
    if not wanted:
        raise InvalidParameter("Expected estimators to name at least one estimator, or to be None for all of them.")
    return tuple(contestant for contestant in CONTESTANTS if contestant.name in wanted)
