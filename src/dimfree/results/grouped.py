"""Means: one release for each public group, under one guarantee for all of them together."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, Self

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs.costs import AnyCosts, runs_of
from dimfree.data.people.labels import Key, check_group_keys
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.results.release import Release

FORMAT = 1
_AGAIN = "export it again with means.to_json()."
_ENTRIES = {"means", "guarantee", "overall", "groups"}


@dataclass(frozen=True, repr=False, eq=False)
class Means(Mapping[Key, Release]):
    """One release for each public group: ``means["north"].mean``. Everything in it was released or is public.

    `release_means` returns one. It is a mapping from the name of a group to its `Release`.

    Attributes
    ----------
    guarantee : Guarantee
        The promise of all means together, the run that learned their shared shape included. Each release states the
        same promise, because each mean depends on the shared shape, too.
    releases : mapping
        From the name of a group to its `Release`.
    overall : Release or None
        The run that learned the shared shape from all groups. None where the shape was given.
    """

    guarantee: Guarantee
    releases: Mapping[Key, Release]
    overall: Release | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", MappingProxyType(dict(self.releases)))
        check_group_keys(list(self.releases))
        self._check_promises()

    def _check_promises(self) -> None:
        """All releases state one promise and are charged the same: the overall run, then the run of their group (G1).

        Replace-one may move a record to another group, so two groups would be charged.
        """
        if self.guarantee.neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidParameter("Expected neighbours='add-remove': groups are not proved for anything else.")
        if any(release.guarantee != self.guarantee for release in self.releases.values()):
            raise InvalidParameter("Expected every release to state the promise of all of them.")
        whole: dict[str, Any] = {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta}
        if self.overall is not None and replace(self.overall.guarantee, **whole) != self.guarantee:
            raise InvalidParameter("Expected the overall run to promise about the same people as all.")
        charges = {_charge(release.ledger) for release in self.releases.values()}
        before = () if self.overall is None else runs_of(self.overall.ledger)
        if len(charges) > 1 or any(runs_of(r.ledger)[:-1] != before for r in self.releases.values()):
            raise InvalidParameter("Expected every release to be charged for the overall run and one run of its own.")

    @property
    def ledger(self) -> AnyCosts:
        """What one record may be charged, whichever group it is in."""
        return next(iter(self.releases.values())).ledger

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
        """The promise of all means together, in sentences.

        Returns
        -------
        str
        """
        return (
            f"All {len(self)} means together: {self.guarantee.statement()} "
            "One person is in one group at most, and counts there with what belongs to that group."
        )

    def to_frame(
        self,
        library: Literal["pandas", "polars", "pyarrow"] = "pandas",
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        include_sampling: bool = False,
    ) -> Any:
        """One table with a row for each group and coordinate: group, then the columns of `Release.to_frame`.

        Groups that were refused are left out.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default "pandas"
            Which library's table to make.
        confidence : float, default 0.95
            As in `Release.interval`.
        simultaneous : bool, default False
            As in `Release.interval`.
        include_sampling : bool, default False
            As in `Release.interval`.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table

        Raises
        ------
        RefusedRelease
            If all groups were refused.
        """
        from dimfree.results.frames import means_frame

        bars = {"simultaneous": simultaneous, "include_sampling": include_sampling}
        return means_frame(self.releases, library, confidence, **bars)

    def _repr_html_(self) -> str:
        from dimfree.results.notebook import means_card

        return means_card(self)

    def to_json(self) -> str:
        """All of it as JSON text.

        Returns
        -------
        str
            `Means.from_json` reads the same bits back.
        """
        groups = [{"key": key, "release": json.loads(release.to_json())} for key, release in self.releases.items()]
        overall = None if self.overall is None else json.loads(self.overall.to_json())
        document = {"means": FORMAT, "guarantee": self.guarantee.to_dict(), "overall": overall, "groups": groups}
        return json.dumps(document, allow_nan=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The means that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text.

        Returns
        -------
        Means

        Raises
        ------
        InvalidFile
            If the text is anything else.
        """
        document = _parsed(text)
        try:
            return cls(
                Guarantee.from_dict(document["guarantee"]),
                _by_key(document["groups"]),
                None if document["overall"] is None else Release.from_json(json.dumps(document["overall"])),
            )
        except (InvalidParameter, InvalidFile, LookupError, TypeError, ValueError, AttributeError):
            raise InvalidFile(f"The text is not a complete record of means: {_AGAIN}") from None

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        promise = f"epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r}, {self.guarantee.neighbours}"
        warning = "" if self.guarantee.private else ", not private: seeded noise"
        return f"<Means: {len(self)} group(s){refused}, {promise}{warning}>"


def _by_key(groups: list[dict[str, Any]]) -> dict[Key, Release]:
    check_group_keys([group["key"] for group in groups])  # a repeated name would lose a release
    return {group["key"]: Release.from_json(json.dumps(group["release"])) for group in groups}


def _charge(ledger: AnyCosts) -> tuple[object, ...]:
    """What a run is charged whatever its outcome: the same for groups with one budget and one set of options."""
    runs = [(run.budget, run.before, run.menu, run.filtered) for run in runs_of(ledger) if isinstance(run, Costs)]
    return (ledger.budget, *runs)


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {_AGAIN}") from None
    if not isinstance(document, dict) or set(document) != _ENTRIES or document["means"] != FORMAT:
        raise InvalidFile(f"The JSON is not a record of means of format {FORMAT}: {_AGAIN}")
    return document
