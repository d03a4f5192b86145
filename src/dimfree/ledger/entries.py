"""Entries of a ledger: a hash chain of an opening with the terms, debits, and outcomes for information.

Every entry carries the digest of the entry before it, so that a change is detected, and the account after it: a debit
reads the last entry instead of adding up all of them. Sums are exact: fractions, written as "numerator/denominator".

A rewrite of the whole chain is not detected: keep the digest of the last entry (the head) elsewhere; `verify` checks
that this entry still exists. Every entry has a random nonce: entries with the same content have different digests, so
removed entries that are written again differ from the old ones.
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

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.guarantee import UNITS, describe_privacy_unit
from dimfree.ledger.filter import Account, Debit, Filter
from dimfree.ledger.spending import Price

GENESIS = "0" * 64  # the digest before the first entry
OPENED, DEBIT, OUTCOME = "opened", "debit", "outcome"
OUTCOMES = ("released", "refused")
RULE = 1  # raise it if an older version would compute other sums
UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError)  # from damaged text
_NONCE_BYTES = 16  # drawn from the system; no record and no release depends on them
_OLDER_NAMES = {"unit": "privacy_unit", "unit_column": "privacy_id", "neighbours": "neighbors"}  # in older ledgers
_FRACTION = re.compile(r"[0-9]{1,640}(/[0-9]{1,640})?")  # no sum of 64-bit floats is longer
_NO_END = "The last entries or the stored head are missing."
_NOT_KEPT = "No entry has the digest that you kept: the ledger was rewritten, or its last entries were removed."


@dataclass(frozen=True)
class Entry:
    """One row of a ledger: public and never changed."""

    dataset: str
    number: int
    day: str  # a date: a finer time would reveal how long a release took
    event: str
    body: str  # canonical JSON
    sums: str  # canonical JSON: the sums of all charges, this entry included
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
        """Whether the entry was changed: its digest is not that of its content."""
        *parts, digest = vars(self).values()
        return bool(digest != _digest(*parts))


def canonical(content: dict[str, Any]) -> str:
    """Write the content as JSON with sorted names and floats in full."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(*parts: str | int) -> str:
    """Return the digest of the parts; parts that are neither text nor numbers have a digest of no entry."""
    return hashlib.sha256(json.dumps(parts, separators=(",", ":"), default=repr).encode()).hexdigest()


def broken_links(entry: Entry, before: Entry | None) -> list[str]:
    """Describe every way in which an entry does not follow `before`, None for the first entry."""
    place, previous = (0, GENESIS) if before is None else (before.number + 1, before.digest)
    found = []
    if entry.number != place:
        found.append(f"Entry {entry.number} is in the place of entry {place}: an entry was removed or inserted.")
    if entry.previous != previous:
        found.append(f"Entry {entry.number} does not follow the entry before it: that one was changed or removed.")
    if entry.changed:
        found.append(f"Entry {entry.number} was changed after it was written: its digest is wrong.")
    return found


@dataclass(frozen=True)
class Terms:
    """The total guarantee of a ledger: budget, neighboring relation, privacy unit; fixed when it is created."""

    budget: Budget
    neighbors: Neighbors
    privacy_unit: str  # "row", or "person": all rows with the same key
    privacy_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        total = {"rule": RULE, "epsilon": self.budget.epsilon, "delta": self.budget.delta}
        return {
            **total,
            "neighbors": self.neighbors.value,
            "privacy_unit": self.privacy_unit,
            "privacy_id": self.privacy_id,
        }

    @classmethod
    def of_entry(cls, entry: Entry) -> "Terms":
        """Read the terms in the first entry of a ledger, or raise ValueError."""
        try:
            terms = {_OLDER_NAMES.get(name, name): value for name, value in entry.content.items()}
            unit, column = terms["privacy_unit"], terms["privacy_id"]
            if (entry.event, terms["rule"]) == (OPENED, RULE) and unit in UNITS and isinstance(column, str | None):
                return cls(Budget(terms["epsilon"], terms["delta"]), Neighbors(terms["neighbors"]), unit, column)
        except UNREADABLE:
            pass
        raise ValueError("Entry 0 does not state the terms of the ledger.")

    @property
    def who(self) -> str:
        return describe_privacy_unit(self.privacy_unit, self.privacy_id)


# ---- accounts and debits as JSON


def to_text(account: Account) -> str:
    """Write the account as canonical JSON, for an entry."""
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
    """Read the account of an entry, or raise ValueError unless `to_text` wrote it."""
    try:
        stated = json.loads(entry.sums)
        *moments, reserve = map(_fraction, stated["taken"])
        added, inside = map(_fraction, stated["added"]), map(_fraction, stated.get("inside", ("0", "0")))
        limits, counted = _filter_of(stated["box"]), (int(stated["debits"]), bool(stated["private"]))
        sums: Any = (*added, limits, tuple(moments), reserve, *inside, *counted)
        account = Account(Budget(*stated["total"]), *sums)
        if len(moments) == (1 if limits is None else len(limits.orders)) and to_text(account) == entry.sums:
            return account
    except UNREADABLE:
        pass
    raise ValueError(f"Entry {entry.number} does not carry the sums of all charges.")


def _fraction(text: str) -> Fraction:
    if not _FRACTION.fullmatch(text):
        raise ValueError("Expected a fraction.")
    return Fraction(text)


def _filter_to_dict(limits: Filter | None) -> dict[str, Any] | None:
    """Write a filter for an entry; older ledgers have one order, as a number, and no delta."""
    if limits is None:
        return None
    found = {"order": _numbers(limits.orders), "moment": _numbers(limits.moments), "reserve": limits.reserve}
    return {**found, "delta": limits.delta} if limits.delta else found


def _filter_of(stated: dict[str, Any] | None) -> Filter | None:
    if stated is None:
        return None
    orders, moments = _floats(stated["order"]), _floats(stated["moment"])
    if len(orders) != len(moments) or not all(order >= 1 for order in orders) or not orders:
        raise ValueError("Expected a limit for every order, and orders of at least 1.")
    return Filter(orders, moments, float(stated["reserve"]), float(stated.get("delta", 0.0)))


def _numbers(found: tuple[float, ...]) -> float | list[float]:
    """Write a list, or the number if there is one."""
    return found[0] if len(found) == 1 else list(found)


def _floats(stated: float | list[float]) -> tuple[float, ...]:
    return tuple(map(float, stated)) if isinstance(stated, list) else (float(stated),)


def debit_to_dict(debit: Debit) -> dict[str, Any]:
    """Write the numbers of a debit for an entry."""
    price = debit.price and {"moment": _numbers(debit.price.moments), "reserve": debit.price.reserve}
    budget = {"epsilon": debit.budget.epsilon, "delta": debit.budget.delta}
    return {**budget, "price": price, "opens": _filter_to_dict(debit.opens), "private": debit.private}


def debit_of(entry: Entry) -> Debit:
    """Read the debit of an entry, or raise ValueError; no price may be negative."""
    try:
        stated = entry.content
        price = stated["price"] and Price(_floats(stated["price"]["moment"]), float(stated["price"]["reserve"]))
        paid = (*price.moments, price.reserve) if price else ()
        words = (
            isinstance(stated["what"], str)
            and isinstance(stated["purpose"], str)
            and isinstance(stated["private"], bool)
        )
        if words and all(0 <= number < math.inf for number in paid):
            budget, opens = Budget(stated["epsilon"], stated["delta"]), _filter_of(stated["opens"])
            return Debit(budget, price or None, opens, stated["private"])
    except UNREADABLE:
        pass
    raise ValueError(f"Entry {entry.number} does not state its charge.")


# ---- a whole ledger


def next_account(before: Account | None, entry: Entry) -> Account:
    """Return the account after this entry; ValueError if it exceeds the total or differs from that in the entry."""
    found = Account(Terms.of_entry(entry).budget) if before is None else _add_up(before, entry)
    if entry.sums != to_text(found):
        raise ValueError(f"Entry {entry.number} does not carry the sums of all charges.")
    return found


def _add_up(before: Account, entry: Entry) -> Account:
    wrong, after = "is neither a debit nor an outcome", None
    try:
        if entry.event == OUTCOME:
            wrong = "does not state the outcome of a debit"
            if entry.content["outcome"] in OUTCOMES and 0 < int(entry.content["debit"]) < entry.number:
                after = before
        elif entry.event == DEBIT:
            wrong = "does not state its charge"
            after = before.admit(debit_of(entry))
            wrong = "exceeds the remaining budget"
    except UNREADABLE:
        pass
    if after is None:
        raise ValueError(f"Entry {entry.number} {wrong}.")
    return after


class LedgerState(NamedTuple):
    """The state of a ledger: its guarantee, its charges, its last entry, and the delta of the last charge."""

    terms: Terms
    account: Account
    last: Entry
    delta: float | None  # None: the last two entries are not charges


def state_of(
    first: Entry | None, before: Entry | None, last: Entry | None, head: tuple[int, str] | None
) -> LedgerState:
    """Read the state of a ledger from its first, second to last and last entry; ValueError if they do not agree.

    The account before the last entry is read from the entry before it, and not computed again: `problems_in` finds a
    change of an earlier entry, which does not affect the next debit.
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
        raise ValueError(f"Entry {last.number} has another total than entry 0.")
    charged = [entry for entry in (last, before) if entry is not None and entry.event == DEBIT]
    return LedgerState(terms, account, last, debit_of(charged[0]).budget.delta if charged else None)


def problems_in(entries: Iterable[Entry], head: tuple[int, str] | None, kept: str | None = None) -> list[str]:
    """List all problems of a ledger: of its chain, its sums and its head.

    `head` is stored with the entries; `kept` is a digest that was kept elsewhere.
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


def show_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Return the charges for a table: entry, day, what, purpose, epsilon, delta, spent epsilon, outcome."""
    outcomes = {each["debit"]: each["outcome"] for each in (row.content for row in entries if row.event == OUTCOME)}
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        if entry.event == DEBIT:
            stated, spent = entry.content, account_of(entry).spent_epsilon
            what = stated["what"] + ("" if stated["private"] else " (seeded noise)")
            numbers = (f"{stated['epsilon']:.6g}", f"{stated['delta']:.3g}", f"{spent:.4g}")
            outcome = outcomes.get(entry.number, "interrupted?")
            rows.append((str(entry.number), entry.day, what, stated["purpose"], *numbers, outcome))
    return rows
