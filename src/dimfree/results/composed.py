"""compose: the guarantee of several releases about the same people, less than their epsilons added up (M9)."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dimfree._validate import check_positive, check_probability, require
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.several_runs import ComposedRuns, runs_of
from dimfree.errors import InvalidParameter
from dimfree.results.grouped import Means
from dimfree.results.release import Release


@dataclass(frozen=True, repr=False)
class Composed:
    """The guarantee of several releases about the same people together. `compose` returns one.

    Attributes
    ----------
    neighbours : Neighbours
        The neighboring relation of all releases.
    private : bool
        False if the noise of any release was seeded: then there is no guarantee.
    releases : int
        How many releases, refusals included.
    who : str
        What one person is.
    looks : ComposedRuns
        The ledgers of the releases, for the composition.
    promises : tuple of Budget
        The budget of each release; the runs of means of groups share one.
    """

    neighbours: Neighbours
    private: bool
    releases: int
    who: str
    looks: ComposedRuns
    promises: tuple[Budget, ...]

    @np.errstate(under="ignore")  # a tail too thin for floats is 0
    def epsilon(self, delta: float) -> float:
        """Return the epsilon of all releases together at this delta, rounded up.

        Parameters
        ----------
        delta : float
            Between 0 and 1.

        Returns
        -------
        float
            If none holds at so small a delta, the error says which delta is enough.
        """
        found = self.looks.epsilon(check_probability("delta", delta))
        if found == float("inf"):
            least = sum(run.budget.delta for run in self.looks.costs) * (1 + 1e-15)
            raise InvalidParameter(
                f"Expected delta={delta!r} to be above the chance that one of the releases tells all; ask for a larger "
                f"delta: {least!r} is enough."
            )
        return found

    @np.errstate(under="ignore")  # a tail too thin for floats is 0
    def delta(self, epsilon: float) -> float:
        """Return the delta of all releases together at this epsilon, rounded up.

        Parameters
        ----------
        epsilon : float
            Above 0.

        Returns
        -------
        float
        """
        return self.looks.delta(check_positive("epsilon", epsilon))

    @property
    def added(self) -> tuple[float, float]:
        """(epsilon, delta) by adding up the promises: also valid, and larger."""
        epsilon = sum(Fraction(promise.usable_epsilon) for promise in self.promises)
        delta = sum(Fraction(promise.delta) for promise in self.promises)
        return float(epsilon) * (1 + 1e-15), float(delta) * (1 + 1e-15)

    def statement(self, delta: float) -> str:
        """Return the guarantee in sentences, with its numbers in full.

        Parameters
        ----------
        delta : float
            Between 0 and 1.

        Returns
        -------
        str
        """
        epsilon = self.epsilon(delta)
        promise = (
            f"{self.releases} release(s) about the same people are together differentially private with "
            f"epsilon={epsilon!r} and delta={delta!r} ({self.neighbours}, {self.who}); added up, their promises would "
            f"say epsilon={self.added[0]:.6g} and delta={self.added[1]:.3g}. This holds if it was settled without "
            "looking at any output how many releases there would be, and with which budgets: another try after a "
            "refusal is not settled beforehand."
        )
        return promise if self.private else f"Not private: seeded noise. With system noise: {promise}"

    def to_dict(self, delta: float) -> dict[str, Any]:
        """Return public numbers, for a program.

        Parameters
        ----------
        delta : float
            Between 0 and 1.

        Returns
        -------
        dict
        """
        return {
            "releases": self.releases,
            "neighbours": self.neighbours.value,
            "private": self.private,
            "who": self.who,
            "epsilon": self.epsilon(delta),
            "delta": delta,
            "added_epsilon": self.added[0],
            "added_delta": self.added[1],
        }

    def __repr__(self) -> str:
        epsilon, delta = self.added
        warning = "" if self.private else ", not private: seeded noise"
        return f"<Composed: {self.releases} release(s), epsilon={epsilon:.6g}, delta={delta:.3g} added up{warning}>"


def compose(releases: Iterable[Release | Means]) -> Composed:
    """Return the guarantee of releases about the same people together, refusals included.

    Guarantee: all of them at once are (composed.epsilon(delta), delta)-private for every delta, if the number of
    releases and the budget and parameters of each were decided without looking at any output.
    Proof: proofs/accounting/composition.md (M9). Gaussians add up by precision, tests by the curves of
    their losses.

    Parameters
    ----------
    releases : iterable of Release or Means
        All releases about these people, alike in neighbours and unit. A `Means` counts as one release.

    Returns
    -------
    Composed

    Examples
    --------
    >>> both = compose([first, second])  # doctest: +SKIP
    >>> both.epsilon(1e-5)  # doctest: +SKIP
    1.38
    """
    try:
        given = list(releases)
    except Exception:  # noqa: BLE001 - it may quote an entry
        given = []
    require(
        given and all(isinstance(release, Release | Means) for release in given),
        "Expected releases to be a list of at least one Release or Means, as release_mean and release_means return.",
    )
    require(
        len({(each.guarantee.neighbours, each.guarantee.unit, each.guarantee.unit_column) for each in given}) == 1,
        "Expected releases that promise about the same neighbours and the same unit: a promise about rows and one "
        "about persons, or add-remove and replace-one, do not add up.",
    )
    ledgers = tuple(run for release in given for run in runs_of(release.ledger))
    private = all(release.guarantee.private for release in given)
    first = given[0].guarantee
    promises = tuple(release.ledger.budget for release in given)
    return Composed(first.neighbours, private, len(given), first.who, ComposedRuns(ledgers), promises)
