"""`compose`: the total guarantee of several releases about the same people (M9)."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dimfree._validate import check_positive, check_probability, require
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.several_runs import ComposedRuns, runs_of
from dimfree.errors import InvalidParameterError
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release


@dataclass(frozen=True, repr=False)
class Composed:
    """The total guarantee of several releases about the same people. `compose` returns one.

    Attributes
    ----------
    neighbors : Neighbors
        The neighboring relation that all releases share.
    private : bool
        False if the noise of any release was seeded: then there is no guarantee.
    releases : int
        The number of releases, refusals included.
    who : str
        The privacy unit.
    runs : ComposedRuns
        The charges of all releases.
    budgets : tuple of Budget
        The budget of each release; group means share one.
    """

    neighbors: Neighbors
    private: bool
    releases: int
    who: str
    runs: ComposedRuns
    budgets: tuple[Budget, ...]

    @np.errstate(under="ignore")  # a tail too thin for floats is 0
    def epsilon(self, delta: float) -> float:
        """Return the total epsilon of all releases at this delta, rounded up.

        Parameters
        ----------
        delta : float
            Between 0 and 1.

        Returns
        -------
        float
            If delta is too small, the error states the smallest delta that works.
        """
        found = self.runs.epsilon(check_probability("delta", delta))
        if found == float("inf"):
            least = sum(run.budget.delta for run in self.runs.costs) * (1 + 1e-15)
            raise InvalidParameterError(
                f"`delta` must exceed the total failure probability of the releases, got {delta!r}: {least!r} is "
                "enough."
            )
        return found

    @np.errstate(under="ignore")  # a tail too thin for floats is 0
    def delta(self, epsilon: float) -> float:
        """Return the total delta of all releases at this epsilon, rounded up.

        Parameters
        ----------
        epsilon : float
            Above 0.

        Returns
        -------
        float
        """
        return self.runs.delta(check_positive("epsilon", epsilon))

    @property
    def added(self) -> tuple[float, float]:
        """(epsilon, delta) by basic composition, the sum of the budgets: also valid, and larger."""
        epsilon = sum(Fraction(budget.usable_epsilon) for budget in self.budgets)
        delta = sum(Fraction(budget.delta) for budget in self.budgets)
        return float(epsilon) * (1 + 1e-15), float(delta) * (1 + 1e-15)

    def statement(self, delta: float) -> str:
        """Return the guarantee in sentences, with all digits.

        Parameters
        ----------
        delta : float
            Between 0 and 1.

        Returns
        -------
        str
        """
        epsilon = self.epsilon(delta)
        stated = (
            f"{self.releases} release(s) about the same people together satisfy differential privacy with "
            f"epsilon={epsilon!r} and delta={delta!r} ({self.neighbors}, {self.who}). Basic composition gives "
            f"epsilon={self.added[0]:.6g} and delta={self.added[1]:.3g}. The number of releases and their budgets must "
            "have been fixed before any output was seen; a second attempt after a refusal was not. Use a "
            "privacy ledger for adaptive composition."
        )
        return stated if self.private else f"Not private: seeded noise. With system noise: {stated}"

    def to_dict(self, delta: float) -> dict[str, Any]:
        """Return the public numbers as JSON values.

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
            "neighbors": self.neighbors.value,
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
        return f"<Composed: {self.releases} release(s), epsilon={epsilon:.6g}, delta={delta:.3g} added{warning}>"


def compose(releases: Iterable[Release | GroupMeans]) -> Composed:
    """Compose the guarantees of several releases about the same people, refusals included.

    Guarantee: the joint output is (composed.epsilon(delta), delta)-differentially private for every delta, if the
    number, budgets and parameters of the releases were fixed before any output was seen (non-adaptive composition).
    Proof: proofs/accounting/composition.md (M9). Gaussians compose by precision, tests by their privacy loss curves.

    Parameters
    ----------
    releases : iterable of Release or GroupMeans
        All releases about these people, with equal neighbors and privacy unit. A `GroupMeans` counts as one release.

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
    except Exception:  # noqa: BLE001 - its text may quote an entry
        given = []
    require(
        given and all(isinstance(release, Release | GroupMeans) for release in given),
        "`releases` must be a non-empty list of Release or GroupMeans objects.",
    )
    require(
        len({(each.guarantee.neighbors, each.guarantee.privacy_unit, each.guarantee.privacy_id) for each in given})
        == 1,
        "`releases` must share the neighboring relation and the privacy unit: guarantees for rows and for persons, or "
        "for add-remove and replace-one, do not compose.",
    )
    charges = tuple(run for release in given for run in runs_of(release.charges))
    private = all(release.guarantee.private for release in given)
    first = given[0].guarantee
    budgets = tuple(release.charges.budget for release in given)
    return Composed(first.neighbors, private, len(given), first.who, ComposedRuns(charges), budgets)
