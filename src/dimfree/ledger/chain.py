"""Rows that hold each other: every entry carries the digest of the one before it, so that a change shows.

A chain proves nothing to somebody who may rewrite all of it: keep the digest of the last entry (the head) elsewhere,
and `verify` can tell whether that entry is still in its place.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

GENESIS = "0" * 64  # before the first entry
OPENED, DEBIT, OUTCOME = "opened", "debit", "outcome"


@dataclass(frozen=True)
class Entry:
    """One row of a book: public, and never changed."""

    dataset: str
    number: int
    time: str
    event: str
    body: str  # canonical JSON
    previous: str
    digest: str

    @classmethod
    def following(cls, last: "Entry | None", dataset: str, time: str, event: str, content: dict[str, Any]) -> "Entry":
        number, previous = (0, GENESIS) if last is None else (last.number + 1, last.digest)
        body = canonical(content)
        return cls(dataset, number, time, event, body, previous, _digest(dataset, number, time, event, body, previous))

    @property
    def content(self) -> dict[str, Any]:
        """What the body says; a body that is no JSON object raises ValueError."""
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError("The body of an entry is a JSON object.")
        return found

    def computed_digest(self) -> str:
        return _digest(self.dataset, self.number, self.time, self.event, self.body, self.previous)


def canonical(content: dict[str, Any]) -> str:
    """One text for one content: sorted names, floats in full."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(content: dict[str, Any]) -> str:
    """SHA-256 of public parameters."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def _digest(*parts: str | int) -> str:
    """Of the parts; what is neither text nor a number was not written here, and has a digest that fits nothing."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=repr).encode()).hexdigest()


def broken_links(entries: Sequence[Entry]) -> list[str]:
    """One sentence for every entry that is not what the chain says it should be."""
    found, previous = [], GENESIS
    for place, entry in enumerate(entries):
        if entry.number != place:
            found.append(f"Entry {entry.number} stands where entry {place} should: one is missing or was put in.")
        if entry.previous != previous:
            found.append(f"Entry {entry.number} does not follow the entry before it: that one was changed or removed.")
        if entry.digest != entry.computed_digest():
            found.append(f"Entry {entry.number} was changed after it was written: its digest does not fit it.")
        previous = entry.digest
    return found
