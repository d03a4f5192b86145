"""The entries of a ledger and their meaning: an opening with the total, debits, and outcomes for information."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dimfree.accounting.budget import Budget
from dimfree.ledger.chain import DEBIT, OUTCOME, UNREADABLE, Ends, Entry, broken_links
from dimfree.ledger.filter import Account, Debit
from dimfree.ledger.spending import Price
from dimfree.ledger.sums import Sums, filter_of, filter_to_dict, floats, numbers
from dimfree.ledger.terms import Terms

OUTCOMES = ("released", "refused")
_NO_TERMS = "Entry 0 does not state the terms of the ledger."
_NO_END = "The last entries, or the head that is stored beside them, are missing."


def debit_to_dict(debit: Debit) -> dict[str, Any]:
    """The numbers of a debit, as an entry holds them."""
    price = debit.price and {"moment": numbers(debit.price.moments), "reserve": debit.price.reserve}
    opens = filter_to_dict(debit.opens)
    return {"epsilon": debit.budget.epsilon, "delta": debit.budget.delta, "price": price, "opens": opens}


def debit_of(said: dict[str, Any]) -> Debit:
    price = said["price"] and Price(floats(said["price"]["moment"]), float(said["price"]["reserve"]))
    return Debit(Budget(said["epsilon"], said["delta"]), price or None, filter_of(said["opens"]))


def next_sums(before: Sums | None, entry: Entry) -> Sums:
    """The sums after this entry; ValueError, naming it, where they exceed the total or differ from those it carries."""
    found = Sums(Account(_terms(entry).budget)) if before is None else _added(before, entry)
    if entry.sums != found.text:
        raise ValueError(f"Entry {entry.number} does not carry the sums up to it.")
    return found


def _terms(entry: Entry) -> Terms:
    try:
        return Terms.from_entry(entry)
    except UNREADABLE:
        raise ValueError(_NO_TERMS) from None


def _added(before: Sums, entry: Entry) -> Sums:
    if entry.event == OUTCOME:
        _check_outcome(entry)
        return before
    if entry.event != DEBIT:
        raise ValueError(f"Entry {entry.number} is neither a debit nor an outcome.")
    try:
        debit, private = _read(entry)
        after = before.after(debit, private=private)
    except UNREADABLE:
        raise ValueError(f"Entry {entry.number} does not say what it spends.") from None
    if after is None:
        raise ValueError(f"Entry {entry.number} spends more than was left.")
    return after


def _read(entry: Entry) -> tuple[Debit, bool]:
    said = entry.content
    debit, private = debit_of(said), said["private"]
    paid = (*debit.price.moments, debit.price.reserve) if debit.price else ()
    if not all(0 <= number < math.inf for number in paid) or not isinstance(private, bool):
        raise ValueError("Expected a price that gives nothing back.")
    if not isinstance(said["what"], str) or not isinstance(said["purpose"], str):
        raise ValueError("Expected words.")
    return debit, private


def _check_outcome(entry: Entry) -> None:
    try:
        fits = entry.content["outcome"] in OUTCOMES and 0 < int(entry.content["debit"]) < entry.number
    except UNREADABLE:
        fits = False
    if not fits:
        raise ValueError(f"Entry {entry.number} does not say what became of a debit.")


class LedgerState(NamedTuple):
    """The state of a ledger: its guarantee, what was spent, its last entry, and the delta of the last charge."""

    terms: Terms
    sums: Sums
    last: Entry
    delta: float | None  # None: the last two entries are not charges


def state_of(ends: Ends) -> LedgerState:
    """The state of a ledger, from its first and last entries only; ValueError where they do not fit together.

    The sums before the last entry are taken from the entry before it, and not added up again: a change further back is
    found by `problems_in`, and does not affect what the next debit is charged against.
    """
    first, before, last, head = ends
    if first is None or last is None or head != (last.number, last.digest):
        raise ValueError(_NO_END)
    problems = broken_links(first, None)
    if before is not None:
        problems += broken_links(last, before)
        problems += [f"Entry {before.number} was changed after it was written."] if before.changed else []
    if problems:
        raise ValueError(problems[0])
    terms = _terms(first)
    sums = next_sums(None if before is None else _carried(before), last)
    if sums.account.total != terms.budget:
        raise ValueError(f"Entry {last.number} is about another total than entry 0.")
    charged = [entry for entry in (last, before) if entry is not None and entry.event == DEBIT]
    return LedgerState(terms, sums, last, _delta_of(charged[0]) if charged else None)


def _delta_of(entry: Entry) -> float:
    try:
        return debit_of(entry.content).budget.delta
    except UNREADABLE:
        raise ValueError(f"Entry {entry.number} does not say what it spends.") from None


def _carried(entry: Entry) -> Sums:
    try:
        return Sums.read(entry.sums)
    except ValueError:
        raise ValueError(f"Entry {entry.number} does not carry the sums up to it.") from None


def problems_in(entries: Iterable[Entry], head: tuple[int, str] | None, kept: str | None = None) -> list[str]:
    """Everything that is wrong with a whole ledger, one sentence each: its chain, its sums, its head.

    `head` is the one stored beside the entries; `kept` is a digest that was kept elsewhere.
    """
    found: list[str] = []
    last: Entry | None = None
    sums: Sums | None = None
    summing, seen = True, kept is None
    for entry in entries:
        found += broken_links(entry, last)
        if summing:
            try:
                sums = next_sums(sums, entry)
            except ValueError as error:
                found.append(str(error))
                summing = False  # later sums would be wrong as well
        seen, last = seen or entry.digest == kept, entry
    if last is None or head != (last.number, last.digest):
        found.append(_NO_END)
    if not seen:
        found.append(
            "No entry has the digest that was kept: the ledger was rewritten, or entries were taken off its end."
        )
    return found


def outcomes_of(entries: Sequence[Entry]) -> dict[int, str]:
    """The outcomes of debits by their number; a debit without one may have been interrupted."""
    said = [entry.content for entry in entries if entry.event == OUTCOME]
    return {each["debit"]: each["outcome"] for each in said}


def shown_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Each charge for a table: entry, day, what, purpose, epsilon, delta, epsilon spent by then, outcome."""
    outcomes, account = outcomes_of(entries), Account(Terms.from_entry(entries[0]).budget)
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        if entry.event == DEBIT:
            said = entry.content
            account = account.after(debit_of(said))
            words = (said["what"] + ("" if said["private"] else " (seeded noise)"), said["purpose"])
            numbers = (f"{said['epsilon']:.6g}", f"{said['delta']:.3g}", f"{account.spent_epsilon:.4g}")
            rows.append((str(entry.number), entry.day, *words, *numbers, outcomes.get(entry.number, "interrupted?")))
    return rows
