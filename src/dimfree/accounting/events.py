"""The costs of one run, and the delta that they compose to.

A run makes Gaussian releases `before`; then public numbers choose one of the `branches`; on that branch it makes
Gaussian `searches`, the stability bit, and Gaussian releases `after`. The precisions of the searches, and those of the
releases after the bit, sum to at most what the branch declares (P9). Proof: proofs/accounting/profile.md.
"""

import math
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.discrete import (
    EPSILON_SHARE,
    MAX_RELEASES,
    Slack,
    after_lifting,
    before_lifting,
    idealize,
    slack,
)
from dimfree.accounting.ladder import Ladder, ladder_profile
from dimfree.accounting.precision import after_gaussians, compose, hockey_stick, largest_mu, total_delta
from dimfree.errors import AccountingError

MIN_STDDEV = 2.0**24  # in steps of a refined grid: there the extra cost of discrete noise is negligible (M8)
COUNT_STEPS = 2**14  # grid steps to one record, in a noisy count
SEARCH_STEPS = 2**20  # the same in the noisy answers of a search
_GAUSSIANS = "before", "searches", "after"  # the lists of Gaussian releases in `Costs`
COARSE_SHARE = 0.25  # of the extra cost of one noisy count with all of the precision: more than the counts of any run


@dataclass(frozen=True)
class Gaussian:
    """The cost of one release with discrete Gaussian noise. Sensitivity and stddev are in grid steps."""

    purpose: str
    sensitivity: float
    stddev: float
    dimension: int
    step: float  # one grid step, in units of the released quantity

    @property
    def mu(self) -> float:
        """sensitivity / stddev, rounded up."""
        return self.sensitivity / self.stddev * (1 + 1e-15)


def charge_gaussian(sensitivity: float, mu: float, dimension: int, step: float, purpose: str) -> Gaussian:
    """Return the cost of one Gaussian release of precision mu², with the SD that its noise must have.
    `sensitivity`: the L2 sensitivity of the released integers, in grid steps, rounded up by the caller.
    The only place where noise is computed from mu: the quotient is rounded up, so that sensitivity / stddev <= mu.
    Proof: proofs/accounting/precision.md (part 4)."""
    return Gaussian(purpose, sensitivity, sensitivity / mu * (1 + 1e-15), dimension, step)


def refining_bits(sensitivity: float, mu: float) -> int:
    """Return by how many bits a grid is refined so that the charged stddev is at least MIN_STDDEV of its steps."""
    return max(0, math.ceil(math.log2(MIN_STDDEV * mu / sensitivity)))


def has_fine_noise(budget: Budget) -> bool:
    """Return whether the discrete noise of every run of this budget fits the reserved part of epsilon (M8).
    Grids of records are refined (`refining_bits`). Those of counts and totals are not: a run has two or three of them,
    with 1/64, 3/10 or, at twice the sensitivity, half of the precision. Fails if delta is large and epsilon small."""
    mu = largest_mu(budget.usable_epsilon, budget.delta)
    coarse = slack(COUNT_STEPS / mu, COUNT_STEPS, 1, budget.delta).epsilon
    return COARSE_SHARE * coarse <= EPSILON_SHARE * budget.usable_epsilon


def make_count(stddev: float) -> Gaussian:
    """Return the cost of the noisy number of records; `stddev` in records. The sensitivity is one record (P5')."""
    return Gaussian("number of records", COUNT_STEPS, stddev * COUNT_STEPS, 1, 1 / COUNT_STEPS)


@dataclass(frozen=True)
class Tested:
    """A branch with a stability test: searches of total search_mu, the bit, then releases of total mu (P6)."""

    ladder: Ladder
    mu: float
    search_mu: float = 0.0

    def profile(self, x: Floats) -> Floats:
        return after_gaussians(self.search_mu, self.without_searches, x)

    def without_searches(self, x: Floats) -> Floats:
        return ladder_profile(self.ladder, self.mu, x)


@dataclass(frozen=True)
class Bounded:
    """A branch whose noise is scaled by a noisy lower bound, which is wrong with probability `failure` (P3)."""

    mu: float
    failure: float
    search_mu: ClassVar[float] = 0.0

    def profile(self, x: Floats) -> Floats:
        return hockey_stick(self.mu, x) + self.failure

    without_searches = profile


@dataclass(frozen=True)
class Unlisted(Bounded):
    """Noisy counts of keys that are not listed; a key of one person is published with probability `failure` (M4)."""


@dataclass(frozen=True)
class OnlyGaussian:
    """A branch of Gaussian releases alone, of total mu; which ones may follow from those before (P17, P18)."""

    mu: float
    search_mu: ClassVar[float] = 0.0

    def profile(self, x: Floats) -> Floats:
        return hockey_stick(self.mu, x)

    without_searches = profile


Branch = Tested | Bounded | OnlyGaussian
_KINDS: dict[str, type[Branch]] = {"tested": Tested, "bounded": Bounded, "unlisted": Unlisted, "gaussian": OnlyGaussian}


def branches_profile(branches: tuple[Branch, ...], x: Floats) -> Floats:
    """Return the profile of a public choice among the branches or a refusal: the largest at every level (P9)."""
    return np.max([hockey_stick(0.0, x), *(branch.profile(x) for branch in branches)], axis=0)


@lru_cache(maxsize=256)
def ideal_delta(epsilon: float, mu_before: float, branches: tuple[Branch, ...]) -> float:
    """Return delta of continuous Gaussian releases of precision mu_before², then a choice of branch (P9)."""
    return total_delta(epsilon, mu_before, partial(branches_profile, branches))


@dataclass(frozen=True)
class Costs:
    """All costs of one run; together at most its budget. `release.charges` is one of these."""

    budget: Budget
    neighbors: Neighbors
    before: tuple[Gaussian, ...]
    branches: tuple[Branch, ...]
    chosen: int | None = None  # position of the branch taken; None: a public refusal
    after: tuple[Gaussian, ...] = ()
    filtered: bool = False  # after the paper's random filter: costs are lifted (P1)
    searches: tuple[Gaussian, ...] = ()  # on the chosen branch, before its bit

    def __post_init__(self) -> None:
        if self.filtered and self.before:
            raise AccountingError("The lifting of P1 covers only releases after the filter.")
        branch = None if self.chosen is None else self.branches[self.chosen]
        for events, limit in ((self.searches, branch and branch.search_mu), (self.after, branch and branch.mu)):
            if compose(event.mu for event in events) > (limit or 0.0) * (1 + 1e-12):
                raise AccountingError("The releases after the choice exceed the precision of the chosen branch.")
        if len(self._gaussians) > MAX_RELEASES:
            raise AccountingError("More Gaussian releases than the discrete noise was charged for.")
        if sum(loss.epsilon for loss in self._slacks()) > EPSILON_SHARE * self._inner[0]:
            raise AccountingError("The discrete noise is too coarse for this epsilon.")

    @property
    def events(self) -> tuple[Gaussian | Branch, ...]:
        return (*self.before, *self.branches, *self.searches, *self.after)

    @property
    def _gaussians(self) -> tuple[Gaussian, ...]:
        return (*self.before, *self.searches, *self.after)

    def delta(self) -> float:
        """Return the delta spent at the epsilon of the budget, rounded up."""
        (epsilon, delta), losses = self._inner, self._slacks()
        level, _ = idealize(epsilon, delta)  # at most epsilon less all slacks (`__post_init__`), and one for all runs
        ideal = ideal_delta(level, compose(event.mu for event in self.before), self.branches)
        spent = math.exp(sum(loss.ratio for loss in losses)) * ideal + sum(loss.tail for loss in losses)
        return after_lifting(epsilon, spent)[1] if self.filtered else spent

    @property
    def _inner(self) -> tuple[float, float]:
        """The (epsilon, delta) that these costs may use; after a filter, the part that the lifting of P1 leaves."""
        total = self.budget.usable_epsilon, self.budget.delta
        return before_lifting(*total) if self.filtered else total

    def _slacks(self) -> list[Slack]:
        """Return the extra cost of each discrete release over the continuous one (M8)."""
        return [slack(g.stddev, g.sensitivity, g.dimension, self._inner[1]) for g in self._gaussians]

    def to_dict(self) -> dict[str, Any]:
        return {
            **header(self.budget, self.neighbors),
            "before": [asdict(event) for event in self.before],
            "branches": [_branch_to_dict(branch) for branch in self.branches],
            "chosen": self.chosen,
            "searches": [asdict(event) for event in self.searches],
            "after": [asdict(event) for event in self.after],
            "filtered": self.filtered,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Costs":
        parts: dict[str, Any] = {name: tuple(Gaussian(**event) for event in data[name]) for name in _GAUSSIANS}
        branches = tuple(map(_branch_from_dict, data["branches"]))
        return cls(*read_header(data), branches=branches, chosen=data["chosen"], filtered=data["filtered"], **parts)


def header(budget: Budget, neighbors: Neighbors) -> dict[str, Any]:
    """Return the first entries of the dictionary of any costs."""
    return {"epsilon": budget.epsilon, "delta": budget.delta, "neighbors": neighbors.value}


def read_header(data: dict[str, Any]) -> tuple[Budget, Neighbors]:
    """Return the budget and the relation that `header` wrote."""
    return Budget(data["epsilon"], data["delta"]), Neighbors(data["neighbors"])


def _branch_to_dict(branch: Branch) -> dict[str, Any]:
    found = {"kind": next(name for name, kind in _KINDS.items() if kind is type(branch)), **asdict(branch)}
    if ladder := found.pop("ladder", None):
        found["rungs"] = [f"{rung:x}" for rung in ladder["rungs"]]
    return found


def _branch_from_dict(data: dict[str, Any]) -> Branch:
    fields = {name: value for name, value in data.items() if name not in ("kind", "rungs")}
    if "rungs" in data:
        fields["ladder"] = Ladder(tuple(int(rung, 16) for rung in data["rungs"]))
    return _KINDS[data["kind"]](**fields)
