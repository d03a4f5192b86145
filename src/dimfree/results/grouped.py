"""Means: one release for each group, under one guarantee for all of them together."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from dimfree._validate import require
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.events import Costs, OnlyGaussian, Unlisted
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts, Runs, runs_of
from dimfree.data.people.labels import Key, check_group_keys
from dimfree.results.codec import Format
from dimfree.results.confidence_sets import Target
from dimfree.results.release import Release
from dimfree.results.tables import Tabular

FORMAT = Format("means", "means", 1, frozenset({"guarantee", "overall", "groups"}), frozenset({"key_costs"}))
NO_GROUP = "No group had enough people to be named."


@dataclass(frozen=True, repr=False, eq=False)
class Means(Tabular, Mapping[Key, Release]):
    """One release for each group: ``means["north"].mean``. Everything in it was released or is public.

    `release_means` returns one. It is a mapping from the name of a group to its `Release`.

    Attributes
    ----------
    guarantee : Guarantee
        The guarantee of all means together, the run that learned their shared shape included. Each release states the
        same guarantee, because each mean depends on the shared shape, too.
    releases : mapping
        From the name of a group to its `Release`.
    overall : Release or None
        The run that learned the shared shape from all groups. None if the shape was given.
    key_costs : Runs or None
        With keys="private": what a person in none of the named groups is charged, the search for the groups first. None
        if the groups were listed beforehand.
    """

    _format: ClassVar[Format] = FORMAT
    guarantee: Guarantee
    releases: Mapping[Key, Release]
    overall: Release | None = None
    key_costs: Runs | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", MappingProxyType(dict(self.releases)))
        if self.releases or self.key_costs is None:
            check_group_keys(list(self.releases))
        self._check_charges()

    def _check_charges(self) -> None:
        """All state one guarantee and are charged the same: a search for groups, the overall run, then their own (G1).

        Replace-one may move a record to another group, so two groups would be charged.
        """
        stated, releases, search = self.guarantee, self.releases.values(), self.key_costs
        is_proved = stated.neighbours is Neighbours.ADD_REMOVE
        require(is_proved, "Expected neighbours='add-remove': groups are not proved for anything else.")
        is_one = all(release.guarantee == stated for release in releases)
        require(is_one, "Expected every release to state the promise of all of them.")
        whole: dict[str, Any] = {"epsilon": stated.epsilon, "delta": stated.delta}
        is_same = self.overall is None or replace(self.overall.guarantee, **whole) == stated
        require(is_same, "Expected the overall run to promise about the same people as all.")
        if search is not None:
            _searched(search)
            is_kept = (search.budget, search.neighbours) == (Budget(**whole), stated.neighbours)
            is_kept = is_kept and search.delta() <= stated.delta
            require(is_kept, "Expected key_costs to keep the promise of all releases.")
        charges = {_charge(ledger) for ledger in (*filter(None, [search]), *(each.ledger for each in releases))}
        learning = () if self.overall is None else runs_of(self.overall.ledger)
        before = learning if search is None else (search.runs[0], *learning)
        is_fair = len(charges) <= 1 and all(runs_of(each.ledger)[:-1] == before for each in releases)
        require(is_fair, "Expected every release to be charged for the overall run and one run of its own.")

    @property
    def ledger(self) -> AnyCosts:
        """What one record may be charged, whichever group it is in."""
        return next((release.ledger for release in self.releases.values()), self.key_costs)  # type: ignore[return-value]

    @property
    def least_people(self) -> float | None:
        """With keys="private": how many people, noise included, a group needed to be named. None for listed groups."""
        from dimfree.kernel.groups import least_people

        if self.key_costs is None:
            return None
        return least_people(_searched(self.key_costs), self.guarantee.neighbours)

    def __getitem__(self, key: Key) -> Release:
        return self.releases[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def refused(self) -> tuple[Key, ...]:
        """The groups without a mean. The release of each gives the reason."""
        return tuple(key for key, release in self.releases.items() if release.refused)

    def statement(self) -> str:
        """Return the guarantee of all means together, in sentences.

        Returns
        -------
        str
        """
        together = f"All {len(self)} means together" if self.releases else NO_GROUP.rstrip(".")
        own = "One person is in one group at most, and counts there with what belongs to that group."
        return " ".join([f"{together}: {self.guarantee.statement()} {own}", *self._outcome_lines()[1:]])

    def _outcome_lines(self) -> list[str]:
        """How many groups were released, and how groups were found that were not listed."""
        done = f"{len(self) - len(self.refused)} of {len(self)} groups released." if self else NO_GROUP
        if self.least_people is None:
            return [done]
        return [
            done,
            "Which groups exist was released under the same promise: a group is named if its people and the noise come "
            f"to {math.ceil(self.least_people)} or more. How many groups are not named is not told.",
        ]

    def plot(self, *, level: float = 0.95, target: Target = "population") -> Any:
        """Draw the means: a panel for each column, in it a row for each group.

        Bars are confidence intervals, each separately. At most 30 groups, in their order, and 12 columns are drawn;
        groups that were refused are left out. Nothing is spent.

        Parameters
        ----------
        level, target : float, str
            As in `Release.plot`.

        Returns
        -------
        altair.ConcatChart
            A notebook shows it; its method `save` writes .html, .svg or .png.
        """
        from dimfree.results.plot import means_plot

        return means_plot(self, level, target)

    def to_json(self) -> str:
        """Return all of it as JSON text.

        Returns
        -------
        str
            `Means.from_json` reads the same bits back.
        """
        groups = [{"key": key, "release": json.loads(release.to_json())} for key, release in self.releases.items()]
        overall = None if self.overall is None else json.loads(self.overall.to_json())
        document = {FORMAT.key: FORMAT.number, "guarantee": self.guarantee.to_dict(), "overall": overall}
        found = {} if self.key_costs is None else {"key_costs": self.key_costs.to_dict()}
        return json.dumps({**document, "groups": groups, **found}, allow_nan=False, indent=1) + "\n"

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        groups, overall = document["groups"], document["overall"]
        if groups:
            check_group_keys([group["key"] for group in groups])  # a repeated one would lose a release
        return cls(
            Guarantee.from_dict(document["guarantee"]),
            {group["key"]: Release.from_json(json.dumps(group["release"])) for group in groups},
            None if overall is None else Release.from_json(json.dumps(overall)),
            Runs.from_dict(document["key_costs"]) if "key_costs" in document else None,
        )

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        return f"<Means: {len(self)} group(s){refused}, {self._stated}>"


def shape_source(means: Means) -> Literal["all groups", "each group", "given"]:
    """Return the source of the noise's shape, by what is charged: also if no group was named or all were refused."""
    runs = [run for run in runs_of(means.ledger) if isinstance(run, Costs)][means.key_costs is not None :]
    if len(runs) > 1:
        return "all groups"
    own = all(isinstance(branch, OnlyGaussian) for run in runs for branch in run.menu)
    return "each group" if own else "given"


def _searched(costs: Runs) -> Unlisted:
    """The branch of the search for the groups; an error if there was none."""
    branch = costs.runs[0].menu[0]
    require(isinstance(branch, Unlisted), "Expected key_costs to begin with the search for the groups.")
    return branch  # type: ignore[return-value]


def _charge(ledger: AnyCosts) -> tuple[object, ...]:
    """What a run is charged whatever its outcome: the same for groups with one budget and one set of options."""
    runs = [(run.budget, run.before, run.menu, run.filtered) for run in runs_of(ledger) if isinstance(run, Costs)]
    return (ledger.budget, *runs)
