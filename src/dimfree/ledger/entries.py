"""Entries of a ledger: a hash chain of an opening with the terms, debits, and outcomes for information.

Every entry carries the digest of the one before it, so that a change shows, and the account after it: a debit reads the
last one instead of adding up all entries. Sums are exact: fractions, written as "numerator/denominator".

Somebody who can rewrite the whole chain is not detected: keep the digest of the last entry (the head) elsewhere, and
`verify` checks that this entry is still in its place. Every entry holds a random nonce: two entries with the same
content have different digests, so entries that were removed at the end and written again are not taken for the old
ones.
"""

import hashlib
import json
import math
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.guarantee import UNITS, who
from dimfree.ledger.filter import Account, Debit, Filter
from dimfree.ledger.spending import Price

GENESIS = "0" * 64  # before the first entry
OPENED, DEBIT, OUTCOME = "opened", "debit", "outcome"
OUTCOMES = ("released", "refused")
RULE = 1  # raise it whenever an older version would add up differently
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)  # from damaged text
_NONCE_BYTES = 16  # drawn from the system; no record and no release depends on them
_FRACTION = re.compile(r"[0-9]{1,640}(/[0-9]{1,640})?")  # no sum of 64-bit floats is longer
_NO_END = "The last entries, or the head that is stored beside them, are missing."
_NOT_KEPT = "No entry has the digest that was kept: the ledger was rewritten, or entries were taken off its end."


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


@dataclass(frozen=True)
class Terms:
    """What a ledger guarantees in total, and about whom: fixed when it is opened."""

    budget: Budget
    neighbours: Neighbours
    unit: str  # "row", or "person": all rows with the same key
    unit_column: str | None = None

    def to_dict(self) -> dict[str, Any]:
        total = {"rule": RULE, "epsilon": self.budget.epsilon, "delta": self.budget.delta}
        return {**total, "neighbours": self.neighbours.value, "unit": self.unit, "unit_column": self.unit_column}

    @classmethod
    def of_entry(cls, entry: Entry) -> "Terms":
        """The terms that the first entry of a ledger states; ValueError where it states none."""
        try:
            said = entry.content
            unit, column = said["unit"], said["unit_column"]
            if (entry.event, said["rule"]) == (OPENED, RULE) and unit in UNITS and isinstance(column, str | None):
                return cls(Budget(said["epsilon"], said["delta"]), Neighbours(said["neighbours"]), unit, column)
        except UNREADABLE:
            pass
        raise ValueError("Entry 0 does not state the terms of the ledger.")

    @property
    def who(self) -> str:
        return who(self.unit, self.unit_column)


# ---- accounts and debits as JSON


def to_text(account: Account) -> str:
    """The account as canonical JSON, for an entry."""
    found = {
        "total": [account.total.epsilon, account.total.delta],
        "added": [str(account.added_epsilon), str(account.added_delta)],
        "box": _filter_to_dict(account.filter),
        "taken": [*map(str, account.moments), str(account.reserve)],
        "debits": account.debits,
        "private": account.private,
    }
    if account.filter is not None and account.filter.delta:
        found["inside"] = [str(account.epsilon), str(account.delta)]
    return canonical(found)


def account_of(entry: Entry) -> Account:
    """The account that an entry carries; ValueError unless `to_text` wrote it."""
    try:
        said = json.loads(entry.sums)
        *moments, reserve = map(_fraction, said["taken"])
        added, inside = map(_fraction, said["added"]), map(_fraction, said.get("inside", ("0", "0")))
        limits, counted = _filter_of(said["box"]), (int(said["debits"]), bool(said["private"]))
        sums: Any = (*added, limits, tuple(moments), reserve, *inside, *counted)
        account = Account(Budget(*said["total"]), *sums)
        if len(moments) == (1 if limits is None else len(limits.orders)) and to_text(account) == entry.sums:
            return account
    except UNREADABLE:
        pass
    raise ValueError(f"Entry {entry.number} does not carry the sums up to it.")


def _fraction(text: str) -> Fraction:
    if not _FRACTION.fullmatch(text):
        raise ValueError("Expected a fraction.")
    return Fraction(text)


def _filter_to_dict(limits: Filter | None) -> dict[str, Any] | None:
    """As entries hold it; older ledgers hold one order, as a number, and nothing for adding up."""
    if limits is None:
        return None
    found = {"order": _numbers(limits.orders), "moment": _numbers(limits.moments), "reserve": limits.reserve}
    return {**found, "delta": limits.delta} if limits.delta else found


def _filter_of(said: dict[str, Any] | None) -> Filter | None:
    if said is None:
        return None
    orders, moments = _floats(said["order"]), _floats(said["moment"])
    if len(orders) != len(moments) or not all(order >= 1 for order in orders) or not orders:
        raise ValueError("Expected a limit for every order, and orders of at least 1.")
    return Filter(orders, moments, float(said["reserve"]), float(said.get("delta", 0.0)))


def _numbers(found: tuple[float, ...]) -> float | list[float]:
    """A list, or the number if there is one."""
    return found[0] if len(found) == 1 else list(found)


def _floats(said: float | list[float]) -> tuple[float, ...]:
    return tuple(map(float, said)) if isinstance(said, list) else (float(said),)


def debit_to_dict(debit: Debit) -> dict[str, Any]:
    """The numbers of a debit, as an entry holds them."""
    price = debit.price and {"moment": _numbers(debit.price.moments), "reserve": debit.price.reserve}
    budget = {"epsilon": debit.budget.epsilon, "delta": debit.budget.delta}
    return {**budget, "price": price, "opens": _filter_to_dict(debit.opens), "private": debit.private}


def debit_of(entry: Entry) -> Debit:
    """The debit that an entry states; ValueError where it states none, or one that gives something back."""
    try:
        said = entry.content
        price = said["price"] and Price(_floats(said["price"]["moment"]), float(said["price"]["reserve"]))
        paid = (*price.moments, price.reserve) if price else ()
        words = isinstance(said["what"], str) and isinstance(said["purpose"], str) and isinstance(said["private"], bool)
        if words and all(0 <= number < math.inf for number in paid):
            budget, opens = Budget(said["epsilon"], said["delta"]), _filter_of(said["opens"])
            return Debit(budget, price or None, opens, said["private"])
    except UNREADABLE:
        pass
    raise ValueError(f"Entry {entry.number} does not say what it spends.")


# ---- a whole ledger


def next_account(before: Account | None, entry: Entry) -> Account:
    """The account after this entry; ValueError, naming it, where it exceeds the total or is not the one it carries."""
    found = Account(Terms.of_entry(entry).budget) if before is None else _added(before, entry)
    if entry.sums != to_text(found):
        raise ValueError(f"Entry {entry.number} does not carry the sums up to it.")
    return found


def _added(before: Account, entry: Entry) -> Account:
    wrong, after = "is neither a debit nor an outcome", None
    try:
        if entry.event == OUTCOME:
            wrong = "does not say what became of a debit"
            if entry.content["outcome"] in OUTCOMES and 0 < int(entry.content["debit"]) < entry.number:
                after = before
        elif entry.event == DEBIT:
            wrong = "does not say what it spends"
            after = before.admitted(debit_of(entry))
            wrong = "spends more than was left"
    except UNREADABLE:  # also numbers that do not fit each other
        pass
    if after is None:
        raise ValueError(f"Entry {entry.number} {wrong}.")
    return after


class LedgerState(NamedTuple):
    """The state of a ledger: its guarantee, what was spent, its last entry, and the delta of the last charge."""

    terms: Terms
    account: Account
    last: Entry
    delta: float | None  # None: the last two entries are not charges


def state_of(
    first: Entry | None, before: Entry | None, last: Entry | None, head: tuple[int, str] | None
) -> LedgerState:
    """The state of a ledger, from its first, second to last and last entry; ValueError where they do not fit together.

    The account before the last entry is taken from the entry before it, and not added up again: a change further back
    is found by `problems_in`, and does not affect what the next debit is charged against.
    """
    if first is None or last is None or head != (last.number, last.digest):
        raise ValueError(_NO_END)
    problems = broken_links(first, None)
    if before is not None:
        problems += broken_links(last, before)
        problems += [f"Entry {before.number} was changed after it was written."] if before.changed else []
    if problems:
        raise ValueError(problems[0])
    terms, account = Terms.of_entry(first), next_account(None if before is None else account_of(before), last)
    if account.total != terms.budget:
        raise ValueError(f"Entry {last.number} is about another total than entry 0.")
    charged = [entry for entry in (last, before) if entry is not None and entry.event == DEBIT]
    return LedgerState(terms, account, last, debit_of(charged[0]).budget.delta if charged else None)


def problems_in(entries: Iterable[Entry], head: tuple[int, str] | None, kept: str | None = None) -> list[str]:
    """Everything that is wrong with a whole ledger, one sentence each: its chain, its sums, its head.

    `head` is the one stored beside the entries; `kept` is a digest that was kept elsewhere.
    """
    found: list[str] = []
    last: Entry | None = None
    account: Account | None = None
    adding, seen = True, kept is None
    for entry in entries:
        found += broken_links(entry, last)
        if adding:
            try:
                account = next_account(account, entry)
            except ValueError as error:
                found.append(str(error))
                adding = False  # later accounts would be wrong as well
        seen, last = seen or entry.digest == kept, entry
    found += [_NO_END] if last is None or head != (last.number, last.digest) else []
    return found if seen else [*found, _NOT_KEPT]


def shown_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Each charge for a table: entry, day, what, purpose, epsilon, delta, epsilon spent by then, outcome."""
    outcomes = {each["debit"]: each["outcome"] for each in (row.content for row in entries if row.event == OUTCOME)}
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        if entry.event == DEBIT:
            said, spent = entry.content, account_of(entry).spent_epsilon
            what = said["what"] + ("" if said["private"] else " (seeded noise)")
            numbers = (f"{said['epsilon']:.6g}", f"{said['delta']:.3g}", f"{spent:.4g}")
            outcome = outcomes.get(entry.number, "interrupted?")  # none: it may have been
            rows.append((str(entry.number), entry.day, what, said["purpose"], *numbers, outcome))
    return rows
