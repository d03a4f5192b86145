"""Noisy answers of one monotone count, at points of the program's choice."""

import math
import sys
from collections.abc import Callable
from functools import cache

from dimfree.accounting.events import SEARCH_STEPS, Gaussian, charged_gaussian
from dimfree.kernel.numbers import precision, whole, within
from dimfree.kernel.released import Sealed
from dimfree.kernel.session import Session

LARGEST = sys.float_info.max


class NoisyCounts(Sealed):
    """A given number of noisy answers, charged together (M5', P17).

    At every point one record moves the exact count by at most `moves`, so that the vector of all answers moves by
    `moves` times the root of their number. Which point comes next may depend on earlier answers.
    """

    __slots__ = ("_charged", "_domain", "_exact", "_session")

    def __init__(
        self,
        session: Session,
        read: Callable[[], Callable[[float], int]],
        answers: int,
        moves: float,
        mu: float,
        purpose: str,
        domain: tuple[float, float] = (-LARGEST, LARGEST),
    ) -> None:
        """`read` looks at the records, after the charge, and returns the exact count in steps at points of `domain`."""
        answers = whole("answers", answers, least=1)
        event = charged_gaussian(
            moves * SEARCH_STEPS * math.sqrt(answers), precision(mu), answers, 1 / SEARCH_STEPS, purpose
        )
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
