"""One run on a private table: the count, one branch, and a privacy filter that no program can exceed.

Every query takes one path: event -> charge -> read the records -> draw noise -> `Released`.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from dimfree._types import Integers
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.discrete import EPSILON_SHARE, MAX_RELEASES, slack
from dimfree.accounting.events import (
    COUNT_STEPS,
    SEARCH_STEPS,
    Branch,
    Costs,
    Gaussian,
    OnlyGaussian,
    Tested,
    charge_gaussian,
    make_count,
    refining_bits,
)
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.accounting.precision import compose
from dimfree.kernel.parameters import KernelError, positive, precision, whole, within
from dimfree.kernel.rows.space import Space
from dimfree.noise import MAX_STDDEV, Noise

if TYPE_CHECKING:
    from dimfree.kernel.views import View

Value = TypeVar("Value")
Read = Callable[[], Any]  # reads the records, after the charge
Count = Callable[[], Callable[[float], int]]  # the same, and returns the exact count in steps at any point
Domain = tuple[float, float]
REALS: Domain = (-sys.float_info.max, sys.float_info.max)
_ROUNDING = 1 + 1e-12  # of a sum of squares


@dataclass(frozen=True)
class Released(Generic[Value]):
    """A released value (statistic plus noise) and the event that was charged for it."""

    value: Value
    event: Gaussian

    @property
    def stddev(self) -> float:
        """The standard deviation of the noise of one number, in the units of the value."""
        return self.event.stddev * self.event.step


class Sealed:
    """An object of the kernel. It is not copied: a copy would have a phase, and charges, of its own."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> str:
        raise KernelError("Objects of the kernel cannot be copied.")


class Phase(Enum):
    """The phase of a session. A session never returns to an earlier phase."""

    COUNTED = "no branch is taken"
    SEARCHING = "the stability test has not been made"
    SPENDING = "releases are charged to the branch"
    CLOSED = "the stability test did not pass"


class ChargedNoise(Sealed):
    """The noise of one charged event. No other object draws noise, and none draws more than was charged."""

    __slots__ = ("_left", "_noise", "event")

    def __init__(self, event: Gaussian, noise: Noise) -> None:
        self.event, self._noise, self._left = event, noise, event.dimension

    def draw(self, size: int) -> Integers:
        if not 0 <= size <= self._left:
            raise KernelError("More numbers were drawn than were charged.")
        self._left -= size
        return self._noise.gaussian(self.event.stddev, size)


class Session(Sealed):
    """One run under one budget: a released count, one branch, and its charges."""

    __slots__ = (
        *("_after", "_before", "_branch", "_calibration", "_budget", "_count"),
        *("_noise", "_phase", "_relation", "_searches", "_space"),
    )

    def __init__(
        self, space: Space, noise: Noise, budget: Budget, relation: Neighbors, calibration: Calibration
    ) -> None:
        self._space, self._noise, self._calibration = space, noise, calibration
        self._budget, self._relation = budget, relation
        self._before: list[Gaussian] = []
        self._searches: list[Gaussian] = []
        self._after: list[Gaussian] = []
        self._branch: Branch | None = None
        self._phase = Phase.COUNTED
        if calibration.count_stddev is None:
            self._count = self._public_count()
        else:
            event = make_count(calibration.count_stddev)  # charged with the branches, whose check includes it
            self._before.append(event)
            self._count = self._noisy_count(ChargedNoise(event, noise))  # P5', P9

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def relation(self) -> Neighbors:
        return self._relation

    @property
    def count(self) -> float:
        """The released number of records; the public one under replace-one."""
        return self._count

    @property
    def count_stddev(self) -> float | None:
        """The standard deviation of the noise of the count; None if the count is public."""
        return self._calibration.count_stddev

    def take(self, branch: Branch) -> "View":
        """Take one branch, chosen by released or public numbers, and return the view of all records (P9, P18)."""
        from dimfree.kernel.views import View

        opened = (each for each in self._calibration.branches if type(each) is type(branch) and each == branch)
        found = next(opened, None)  # its own object, not the program's
        if self._phase is not Phase.COUNTED or found is None:
            raise KernelError("One of the opened branches is taken, once.")
        if not isinstance(found, Tested | OnlyGaussian):
            raise KernelError("The kernel has no queries for a branch of this kind.")
        self._branch = found
        self._phase = Phase.SEARCHING if isinstance(found, Tested) else Phase.SPENDING
        return View(self, self._space)

    def count_again(self, stddev: float) -> Released[float]:
        """Release a second count, charged to the branch; sensitivity 1 (P5')."""
        charged = self._charge(make_count(positive("stddev", stddev)))
        return Released(self._noisy_count(charged), charged.event)

    def costs(self) -> Costs:
        """Return the charges: all branches that a released count could have chosen, and the releases on the one taken.
        Under replace-one a public number chooses, so that only the branch taken is charged."""
        branches = self._calibration.branches
        if self.relation is Neighbors.REPLACE_ONE:
            branches = () if self._branch is None else (self._branch,)
        chosen = None if self._branch is None else branches.index(self._branch)
        before, searches, after = (tuple(part) for part in (self._before, self._searches, self._after))
        return Costs(self.budget, self.relation, before, branches, chosen, after, searches=searches)

    def _charge(self, event: Gaussian) -> ChargedNoise:
        """Charge an event before a record is read, or raise KernelError (the privacy filter, P17)."""
        if self._branch is None or self._phase not in (Phase.SEARCHING, Phase.SPENDING):
            raise KernelError(f"No query is answered now: {self._phase.value}.")
        searching = self._phase is Phase.SEARCHING
        limit, spent = (self._branch.search_mu, self._searches) if searching else (self._branch.mu, self._after)
        self._check_fits(event, limit, spent)
        spent.append(event)
        return ChargedNoise(event, self._noise)

    def _check_fits(self, event: Gaussian, limit: float, spent: list[Gaussian]) -> None:
        """Refuse an event beyond the limit of its phase; every comparison is written so that a NaN fails."""
        if not (0 < event.mu < math.inf and 1 <= event.stddev <= MAX_STDDEV and event.dimension >= 0):
            raise KernelError("A release needs a positive and finite cost.")
        if not compose(each.mu for each in (*spent, event)) <= limit * _ROUNDING:
            raise KernelError("This release exceeds the rest of the branch's budget.")
        check_noise((*self._before, *self._searches, *self._after, event), self.budget)

    def _release(
        self,
        statistic: Read,
        size: int,
        moves: float,
        step: float,
        mu: float,
        purpose: str,
        *,
        refined: bool = True,
    ) -> Released[Any]:
        """Release whole numbers of L2 sensitivity `moves` with discrete Gaussian noise. One step of the statistic is
        worth `step`. The grid is refined until the extra cost of discrete noise is negligible (M8). The event is
        charged, then the records are read, then noise is drawn."""
        mu = precision(mu)
        bits = refining_bits(moves, mu) if refined else 0
        charged = self._charge(charge_gaussian(moves * 2**bits, mu, size, step / 2**bits, purpose))
        noisy = self._exact(statistic()) * 2**bits + charged.draw(size)
        return Released(noisy * charged.event.step, charged.event)

    def _release_number(
        self, statistic: Read, moves: float, step: float, mu: float, purpose: str, *, refined: bool = False
    ) -> Released[float]:
        found = self._release(lambda: np.array([statistic()]), 1, moves, step, mu, purpose, refined=refined)
        return Released(float(found.value[0]), found.event)

    def _check_after_test(self, event: Gaussian) -> None:
        """Refuse a stability test whose mean exceeds the budget of its branch, before a record is read."""
        if self._phase is not Phase.SEARCHING or not isinstance(self._branch, Tested):
            raise KernelError("A branch has one stability test, before its other releases.")
        self._check_fits(event, self._branch.mu, self._after)

    def _test(self, statistic: int) -> bool:
        """Make the stability test of the branch, once: it passes with probability p_T (P6), or closes the session."""
        assert isinstance(self._branch, Tested)  # `_check_after_test`
        passed = self._noise.coin(self._branch.ladder.numerator(statistic), DENOMINATOR)
        self._phase = Phase.SPENDING if passed else Phase.CLOSED
        return passed

    def _exact(self, statistic: Any) -> Any:
        """Return the statistic; a simulation in which few records stand for many overrides this."""
        return statistic

    def _public_count(self) -> float:
        return self._space.count

    def _noisy_count(self, charged: ChargedNoise) -> float:
        return (self._exact(self._space.count) * COUNT_STEPS + int(charged.draw(1)[0])) / COUNT_STEPS


class NoisyCounts(Sealed):
    """Noisy answers of one count, at points that the program chooses: a fixed number, charged together (M5', P17).
    `moves` is the sensitivity of the count at every point; that of all answers is `moves` times their number's root."""

    __slots__ = ("_charged", "_domain", "_exact", "_session")

    def __init__(
        self,
        session: Session,
        read: Count,
        answers: int,
        moves: float,
        mu: float,
        purpose: str,
        domain: Domain = REALS,
    ) -> None:
        answers = whole("answers", answers, least=1)
        steps = moves * SEARCH_STEPS * math.sqrt(answers)
        event = charge_gaussian(steps, precision(mu), answers, 1 / SEARCH_STEPS, purpose)
        self._domain, self._charged = domain, session._charge(event)
        self._session, self._exact = session, cache(read())

    @property
    def event(self) -> Gaussian:
        """The charge of all answers together."""
        return self._charged.event

    @property
    def stddev(self) -> float:
        """The standard deviation of the noise of one answer."""
        return self.event.stddev / SEARCH_STEPS

    def at(self, point: float) -> float:
        """Release the count at a public point."""
        exact = self._session._exact(self._exact(within("point", point, *self._domain)))
        return (exact + int(self._charged.draw(1)[0])) / SEARCH_STEPS


def check_noise(drawn: Sequence[Gaussian], budget: Budget) -> None:
    """Refuse noise whose extra cost as discrete noise exceeds its reserve (M8)."""
    if not all(1 <= event.stddev <= MAX_STDDEV for event in drawn):
        raise KernelError("A release needs a positive and finite cost.")
    extra = sum(slack(g.stddev, g.sensitivity, g.dimension, budget.delta).epsilon for g in drawn)
    if not (len(drawn) <= MAX_RELEASES and extra <= EPSILON_SHARE * budget.usable_epsilon):
        raise KernelError("The run has more releases, or coarser noise, than the reserve for discrete noise allows.")
