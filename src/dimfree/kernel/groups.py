"""Records in groups, each in at most one: private names, one table of all groups, one table of each group.

Names that are not listed are found by private partition selection (M4): each gets a noisy count, and is published if
that reaches a threshold, which the key of one person reaches with small probability. Names are released, no count.
Proofs: proofs/statistics/group_keys.md, proofs/kernel.md (G1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from dimfree._types import Integers
from dimfree.accounting.budget import CHANGED_RECORDS, Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_unlisted
from dimfree.accounting.events import Costs, Gaussian, Unlisted, charge_gaussian, refining_bits
from dimfree.accounting.several_runs import Runs
from dimfree.accounting.sharing import price_key_search
from dimfree.data.people.labels import NO_GROUP, Key, public_order, select_members, unify_keys
from dimfree.data.records import Records
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.session import ChargedNoise, Sealed
from dimfree.kernel.table import PrivateTable
from dimfree.noise import Noise
from dimfree.shapes import Covariance


@dataclass(frozen=True)
class GroupCosts:
    """The charges for groups, fixed before a record is read: a record takes part in the search for the names, in the
    run over all groups, and in the run of its own group; the number of groups costs nothing (G1)."""

    budget: Budget  # of all groups together
    search: Budget | None  # of the search for the names; None if they are listed
    overall: Costs | None  # of the run over all groups, before anything is drawn; None without one
    group: Costs  # of the run of each group, before anything is drawn

    @property
    def runs(self) -> tuple[Costs, ...]:
        """The runs that one record takes part in."""
        search = () if self.search is None else (price_key_search(self.search),)
        return *search, *(() if self.overall is None else (self.overall,)), self.group


class PrivateGroups(Sealed):
    """Records and the group of each, under one budget for all groups, whose relation is add-remove."""

    __slots__ = ("_costs", "_given", "_labels", "_names", "_noise", "_records", "_searched", "_searches")

    def __init__(
        self, records: Records, labels: Integers, names: tuple[Key, ...], costs: GroupCosts, noise: Noise
    ) -> None:
        """`names` are public; with a search they are all keys that occur, and private."""
        if not Runs(costs.budget, Neighbors.ADD_REMOVE, costs.runs).delta() <= costs.budget.delta:
            raise KernelError("The runs of the groups exceed the budget.")
        self._records, self._labels, self._names = records, labels, names
        self._costs, self._noise = costs, noise
        self._searched, self._searches = costs.search is None, False
        self._given: set[int | None] = set()

    @property
    def names(self) -> tuple[Key, ...]:
        """The names of the groups: listed, or released."""
        if not self._searched:
            raise KernelError("The names have not been released.")
        return self._names

    def search(self) -> Costs:
        """Release the names that many people have (M4), once. They are the groups from then on."""
        budget = self._costs.search
        if budget is None or self._searches:
            raise KernelError("The names are searched once, if they are not listed.")
        self._searches = True
        opening, branch = price_key_search(budget), calibrate_unlisted(budget)
        event, bits, least = calibrate_publication(branch, opening.neighbors)
        charged = Costs(budget, opening.neighbors, (), opening.branches, chosen=0, after=(event,))  # checks the charge
        held, counts = count_keys(self._labels, len(self._names), lambda place: public_order(self._names[place]))
        noisy = counts * 2**bits + ChargedNoise(replace(event, dimension=len(held)), self._noise).draw(len(held))
        published = [place for place, count in zip(held, noisy, strict=True) if count >= least]
        moved = np.full(len(self._names) + 1, NO_GROUP, dtype=np.int64)
        moved[published] = np.arange(len(published))
        self._records, self._labels = select_members(self._records, moved[self._labels])
        self._names = unify_keys(tuple(self._names[place] for place in published))
        self._searched = True  # last: an interrupted search releases nothing
        return charged

    def overall(self, shape: Covariance, *, by_entry: bool) -> PrivateTable:
        """Return the table of all groups together; once."""
        costs = self._costs.overall
        if costs is None:
            raise KernelError("No run over all groups is charged.")
        return self._table(None, self._records, costs, shape, by_entry)

    def group(self, place: int, shape: Covariance, *, by_entry: bool) -> PrivateTable:
        """Return the table of one group; once each (G1)."""
        if type(place) is not int or not 0 <= place < len(self.names):
            raise KernelError("A group is named by its position among the names.")
        return self._table(place, self._records.select_rows(self._labels == place), self._costs.group, shape, by_entry)

    def _table(
        self, which: int | None, records: Records, costs: Costs, shape: Covariance, by_entry: bool
    ) -> PrivateTable:
        if not self._searched:
            raise KernelError("The names have not been released.")
        if which in self._given:
            raise KernelError("The table of a group is handed out once.")
        self._given.add(which)
        return PrivateTable.from_records(
            records, shape, None, costs.budget, costs.neighbors, self._noise, by_entry=by_entry, expected=costs
        )


def calibrate_publication(branch: Unlisted, relation: Neighbors) -> tuple[Gaussian, int, int]:
    """Return the cost of the noisy counts, the bits of their grid, and the least published count in grid steps. One
    person changes one count by one, replacing a person two counts (M2). A key that one person has alone is published
    with probability `branch.failure` at most."""
    cells = CHANGED_RECORDS[relation]
    bits = refining_bits(math.sqrt(cells), branch.mu)
    moves = math.sqrt(cells) * 2**bits * (1 + 1e-15)
    event = charge_gaussian(moves, branch.mu, cells, 1 / 2**bits, "which groups exist")
    distance = float(-ndtri(branch.failure / cells)) * (1 + 1e-12) + 1e-9
    return event, bits, 2**bits + math.ceil(event.stddev * distance) + 1


def min_group_size(branch: Unlisted, relation: Neighbors) -> float:
    """Return how many people, noise included, a key needs to be published. Public."""
    event, _, least = calibrate_publication(branch, relation)
    return least * event.step


def count_keys(places: Integers, keys: int, order: Callable[[int], Any]) -> tuple[list[int], Integers]:
    """Return the positions of the keys that occur, in public order, and how many people have each. Private.
    `places`: for each person the position of their key, -1 without one: a function of the rows of this person."""
    counts = np.bincount(places[places >= 0], minlength=keys)
    held = sorted(np.flatnonzero(counts).tolist(), key=order)
    return held, counts[held]
