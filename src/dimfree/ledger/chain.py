"""Entries of a ledger as a hash chain: every entry carries the digest of the one before it, so that a change shows.

Somebody who can rewrite the whole chain is not detected: keep the digest of the last entry (the head) elsewhere, and
`verify` checks that this entry is still in its place. Every entry holds a random nonce: two entries with the same
content have different digests, so entries that were removed at the end and written again are not taken for the old
ones.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

GENESIS = "0" * 64  # before the first entry
OPENED, DEBIT, OUTCOME = "opened", "debit", "outcome"
_NONCE_BYTES = 16  # drawn from the system; no record and no release depends on them
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)  # from damaged text


@dataclass(frozen=True)
class Entry:
    """One row of a ledger: public, and never changed."""

    dataset: str
    number: int
    day: str  # a date: a finer time would reveal how long a release took
    event: str
    body: str  # canonical JSON
    sums: str  # canonical JSON: what was spent, this entry included
    nonce: str
    previous: str
    digest: str

    @classmethod
    def following(
        cls, last: "Entry | None", dataset: str, day: str, event: str, content: dict[str, Any], sums: str
    ) -> "Entry":
        number, previous = (0, GENESIS) if last is None else (last.number + 1, last.digest)
        parts = (dataset, number, day, event, canonical(content), sums, secrets.token_hex(_NONCE_BYTES), previous)
        return cls(*parts, digest=_digest(*parts))

    @property
    def content(self) -> dict[str, Any]:
        """The parsed body. A body that is not a JSON object raises one of UNREADABLE."""
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError("The body of an entry is a JSON object.")
        return found

    @property
    def changed(self) -> bool:
        """Whether the entry was changed: its digest does not fit it."""
        *parts, digest = vars(self).values()
        return bool(digest != _digest(*parts))


class Ends(NamedTuple):
    """What a debit reads of a ledger, however long it is: the first entry, the last two, and the stored head."""

    first: Entry | None
    before: Entry | None  # the second to last
    last: Entry | None
    head: tuple[int, str] | None  # number and digest of the last entry, as stored beside the entries


def canonical(content: dict[str, Any]) -> str:
    """The same text for the same content: sorted names, floats in full."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(*parts: str | int) -> str:
    """Digest of the parts. Parts that are neither text nor numbers were not written here; their digest fits nothing."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=repr).encode()).hexdigest()


def broken_links(entry: Entry, before: Entry | None) -> list[str]:
    """One sentence for each way in which an entry does not follow `before`; None: there is no entry before."""
    place, previous = (0, GENESIS) if before is None else (before.number + 1, before.digest)
    found = []
    if entry.number != place:
        found.append(f"Entry {entry.number} stands where entry {place} should: one is missing or was put in.")
    if entry.previous != previous:
        found.append(f"Entry {entry.number} does not follow the entry before it: that one was changed or removed.")
    if entry.changed:
        found.append(f"Entry {entry.number} was changed after it was written: its digest does not fit it.")
    return found
