"""Means: one release for each public group, under one promise for all of them together."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from dimfree.accounting.composition import AnyLedger
from dimfree.accounting.events import Ledger
from dimfree.accounting.looks import Looks
from dimfree.budget import Neighbours
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.guarantee import Guarantee
from dimfree.labels import Key, check_group_keys
from dimfree.result import Release

FORMAT = 1
_AGAIN = "export it again with means.to_json()."


@dataclass(frozen=True, repr=False, eq=False)
class Means(Mapping[Key, Release]):
    """One release for each public group: `means["north"].mean`. Everything in it was released or is public.

    `guarantee` is the promise of all of them together, the run that learned their shared shape (`overall`) included;
    the promise that each release states is that of its own run.
    """

    guarantee: Guarantee
    releases: Mapping[Key, Release]
    overall: Release | None = None  # learned the shared shape from all groups; None where the shape was given

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", MappingProxyType(dict(self.releases)))
        check_group_keys(list(self.releases))
        self._check_promises()
        for ledgers in self._paths():  # G1
            if not Looks(ledgers).delta(self.guarantee.epsilon) <= self.guarantee.delta:
                raise InvalidParameter("Expected the runs of each group to compose to at most the promise of all.")

    def _check_promises(self) -> None:
        """All are about the same neighbours, who differ in one group: replace-one may move a record to another."""
        if self.guarantee.neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidParameter("Expected neighbours='add-remove': groups are not proved for anything else.")
        whole = {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta}
        runs = (*self.releases.values(), *(() if self.overall is None else (self.overall,)))
        if any(replace(run.guarantee, **whole) != self.guarantee for run in runs):
            raise InvalidParameter("Expected every release to promise the same but for epsilon and delta.")

    def _paths(self) -> list[tuple[AnyLedger, ...]]:
        """What a record of each group may be charged: the overall run, then its group's; equal charges once.

        Groups of one budget have equal menus; what differs is the slack of discrete noise, for which there is room.
        """
        before = () if self.overall is None else (self.overall.ledger,)
        ledgers = {_charge(release.ledger): release.ledger for release in self.releases.values()}
        return [(*before, ledger) for ledger in ledgers.values()]

    @property
    def ledgers(self) -> tuple[AnyLedger, ...]:
        """What one record may be charged at most, for `dimfree.compose`."""
        return max(self._paths(), key=lambda path: Looks(path).delta(self.guarantee.epsilon))

    def __getitem__(self, key: Key) -> Release:
        return self.releases[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.releases)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def refused(self) -> tuple[Key, ...]:
        """The groups without a mean; each one's release says why."""
        return tuple(key for key, release in self.releases.items() if release.refused)

    def statement(self) -> str:
        """The promise of all means together, in plain words."""
        return f"All {len(self)} means together: {self.guarantee.statement()} One person is in one group at most."

    def to_json(self) -> str:
        """All of it as JSON text; `from_json` gives back the same."""
        groups = [{"key": key, "release": json.loads(release.to_json())} for key, release in self.releases.items()]
        overall = None if self.overall is None else json.loads(self.overall.to_json())
        document = {"means": FORMAT, "guarantee": self.guarantee.to_dict(), "overall": overall, "groups": groups}
        return json.dumps(document, allow_nan=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The means `to_json` wrote; anything else raises InvalidFile."""
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
        return f"<Means: {len(self)} group(s){refused}, {promise}>"


def _by_key(groups: list[dict[str, Any]]) -> dict[Key, Release]:
    check_group_keys([group["key"] for group in groups])  # a name that is there twice would lose a release
    return {group["key"]: Release.from_json(json.dumps(group["release"])) for group in groups}


def _charge(ledger: AnyLedger) -> tuple[object, ...]:
    return (ledger.budget, *((ledger.before, ledger.menu) if isinstance(ledger, Ledger) else ledger.losses))


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidFile(f"The text is not valid JSON, perhaps cut short: {_AGAIN}") from None
    if not isinstance(document, dict) or document.get("means") != FORMAT:
        raise InvalidFile(f"The JSON is not a record of means of format {FORMAT}: {_AGAIN}")
    return document
