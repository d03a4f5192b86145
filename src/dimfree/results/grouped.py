"""GroupMeans: one release per group, with one guarantee for all groups together."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from dimfree._validate import require
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs, OnlyGaussian, Unlisted
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts, Runs, runs_of
from dimfree.data.people.labels import Key, check_group_keys
from dimfree.results.codec import Format
from dimfree.results.confidence_sets import Target
from dimfree.results.release import Release
from dimfree.results.tables import Tabular

FORMAT = Format("means", "means", 2, frozenset({"guarantee", "overall", "groups"}), frozenset({"key_charges"}))
NO_GROUP = "No group had enough people to be released."


@dataclass(frozen=True, repr=False, eq=False)
class GroupMeans(Tabular, Mapping[Key, Release]):
    """One release per group: ``means["north"].mean``. All fields were released or are public.

    `release_group_means` returns one. It is a mapping from groups to releases. `print(means)` shows the table of means.

    Attributes
    ----------
    guarantee : Guarantee
        The total guarantee of all means, including the run that estimates their shared variances. Every release states
        this guarantee.
    releases : mapping
        From groups to releases.
    overall : Release or None
        The run over all groups that estimates their shared variances. None if there was no such run.
    key_charges : Runs or None
        With groups="private": the charges of a person in no released group; the partition selection comes first. None
        for a public list of groups.
    """

    _format: ClassVar[Format] = FORMAT
    guarantee: Guarantee
    releases: Mapping[Key, Release]
    overall: Release | None = None
    key_charges: Runs | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", MappingProxyType(dict(self.releases)))
        if self.releases or self.key_charges is None:
            check_group_keys(list(self.releases))
        self._check_charges()

    def _check_charges(self) -> None:
        """Check that all releases have one guarantee and equal charges: selection, overall run, own run (G1).

        Under replace-one a record may move to another group, which would charge two groups.
        """
        stated, releases, search = self.guarantee, self.releases.values(), self.key_charges
        is_add_remove = stated.neighbors is Neighbors.ADD_REMOVE
        require(is_add_remove, "`neighbors` must be 'add-remove' for group means.")
        is_one = all(release.guarantee == stated for release in releases)
        require(is_one, "Every release must state the guarantee of all groups together.")
        whole: dict[str, Any] = {"epsilon": stated.epsilon, "delta": stated.delta}
        is_same = self.overall is None or replace(self.overall.guarantee, **whole) == stated
        require(is_same, "The overall run must protect the same people as the groups.")
        if search is not None:
            _find_search(search)
            is_kept = (search.budget, search.neighbors) == (Budget(**whole), stated.neighbors)
            is_kept = is_kept and search.delta() <= stated.delta
            require(is_kept, "`key_charges` must stay within the guarantee of all groups.")
        charges = {_fixed_charges(ledger) for ledger in (*filter(None, [search]), *(each.charges for each in releases))}
        learning = () if self.overall is None else runs_of(self.overall.charges)
        before = learning if search is None else (search.runs[0], *learning)
        is_fair = len(charges) <= 1 and all(runs_of(each.charges)[:-1] == before for each in releases)
        require(is_fair, "Every release must be charged for the overall run and one run of its own.")

    @property
    def charges(self) -> AnyCosts:
        """The charges of one record, in whichever group it is."""
        return next((release.charges for release in self.releases.values()), self.key_charges)  # type: ignore[return-value]

    @property
    def min_group_size(self) -> float | None:
        """With groups="private": the noisy number of people that a group needs to be released, else None."""
        from dimfree.kernel.groups import min_group_size

        if self.key_charges is None:
            return None
        return min_group_size(_find_search(self.key_charges), self.guarantee.neighbors)

    def __getitem__(self, key: Key) -> Release:
        return self.releases[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def refused(self) -> tuple[Key, ...]:
        """The groups without a mean; the release of each group states the reason."""
        return tuple(key for key, release in self.releases.items() if release.refused)

    def statement(self) -> str:
        """Return the guarantee of all group means in sentences.

        Returns
        -------
        str
        """
        together = f"All {len(self)} group means together" if self.releases else NO_GROUP.rstrip(".")
        own = "Each person is in at most one group."
        return " ".join([f"{together}: {self.guarantee.statement()} {own}", *self._describe_outcome()[1:]])

    def _describe_outcome(self) -> list[str]:
        """Return how many groups were released, and how private partition selection decided."""
        done = f"{len(self) - len(self.refused)} of {len(self)} groups released." if self else NO_GROUP
        if self.min_group_size is None:
            return [done]
        return [
            done,
            "The groups were found by private partition selection within the same budget: a group is released if its "
            f"noisy number of people is at least {math.ceil(self.min_group_size)}. The number of other groups is not "
            "released.",
        ]

    def plot(self, *, level: float = 0.95, target: Target = "population") -> Any:
        """Draw the group means: one panel per column, one row per group.

        Bars are confidence intervals, each at the given level. Up to 30 groups and 12 columns are drawn; refused
        groups are left out. Plotting spends no budget.

        Parameters
        ----------
        level, target : float, str
            See `Release.plot`.

        Returns
        -------
        altair.ConcatChart
            A notebook shows it; `chart.save(path)` writes .html, .svg or .png.
        """
        from dimfree.results.plot import plot_means

        return plot_means(self, level, target)

    def to_json(self) -> str:
        """Return the group means as JSON text.

        Returns
        -------
        str
            `GroupMeans.from_json` and `dimfree.load` read the same bits back.
        """
        groups = [{"key": key, "release": json.loads(release.to_json())} for key, release in self.releases.items()]
        overall = None if self.overall is None else json.loads(self.overall.to_json())
        document = {FORMAT.key: FORMAT.number, "guarantee": self.guarantee.to_dict(), "overall": overall}
        found = {} if self.key_charges is None else {"key_charges": self.key_charges.to_dict()}
        return json.dumps({**document, "groups": groups, **found}, allow_nan=False, indent=1) + "\n"

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        groups, overall = document["groups"], document["overall"]
        if groups:
            check_group_keys([group["key"] for group in groups])  # a repeated key would lose a release
        return cls(
            Guarantee.from_dict(document["guarantee"]),
            {group["key"]: Release.from_json(json.dumps(group["release"])) for group in groups},
            None if overall is None else Release.from_json(json.dumps(overall)),
            Runs.from_dict(document["key_charges"]) if "key_charges" in document else None,
        )

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        return f"<GroupMeans: {len(self)} group(s){refused}, {self._stated}>"


def find_variance_source(means: GroupMeans) -> Literal["all groups", "each group", "given"]:
    """Return the source of the variances, from the charges: also if every group was refused."""
    runs = [run for run in runs_of(means.charges) if isinstance(run, Costs)][means.key_charges is not None :]
    if len(runs) > 1:
        return "all groups"
    own = all(isinstance(branch, OnlyGaussian) for run in runs for branch in run.branches)
    return "each group" if own else "given"


def _find_search(costs: Runs) -> Unlisted:
    """Return the charge of the partition selection; raise an error without one."""
    branch = costs.runs[0].branches[0]
    require(isinstance(branch, Unlisted), "`key_charges` must begin with the partition selection.")
    return branch  # type: ignore[return-value]


def _fixed_charges(ledger: AnyCosts) -> tuple[object, ...]:
    """Return the charges of a run that do not depend on its outcome: equal for all groups of one call."""
    runs = [(run.budget, run.before, run.branches, run.filtered) for run in runs_of(ledger) if isinstance(run, Costs)]
    return (ledger.budget, *runs)
