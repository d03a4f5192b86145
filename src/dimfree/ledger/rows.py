"""The entries of a book and what they mean: opened with a total, debits in turn, outcomes as information."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from dimfree.budget import Budget
from dimfree.ledger.chain import DEBIT, OUTCOME, Entry, broken_links
from dimfree.ledger.filter import Account, Box, Debit
from dimfree.ledger.spending import Price
from dimfree.ledger.terms import Terms

OUTCOMES = ("released", "refused")


def debit_to_dict(debit: Debit) -> dict[str, Any]:
    """The numbers of a debit, as an entry holds them."""
    box = debit.opens and {"order": debit.opens.order, "moment": debit.opens.moment, "reserve": debit.opens.reserve}
    price = debit.price and {"moment": debit.price.moment, "reserve": debit.price.reserve}
    return {"epsilon": debit.budget.epsilon, "delta": debit.budget.delta, "price": price, "opens": box}


def debit_of(said: dict[str, Any]) -> Debit:
    price, box = said["price"], said["opens"]
    return Debit(Budget(said["epsilon"], said["delta"]), price and Price(**price), box and Box(**box))


def account_of(entries: Sequence[Entry]) -> Account:
    """The sums over a book; raises ValueError, naming the entry, where they do not hold."""
    account = Account(Terms.from_entry(entries[0]).budget)
    for entry in entries[1:]:
        if entry.event == DEBIT:
            after = account.admitted(_read(entry))
            if after is None:
                raise ValueError(f"Entry {entry.number} spends more than was left.")
            account = after
        elif entry.event != OUTCOME:
            raise ValueError(f"Entry {entry.number} is neither a debit nor an outcome.")
    return account


def _read(entry: Entry) -> Debit:
    try:
        said = entry.content
        debit = debit_of(said)
        numbers = (debit.price.moment, debit.price.reserve) if debit.price else ()
        if not all(0 <= number < math.inf for number in numbers) or not isinstance(said["private"], bool):
            raise ValueError
    except (ValueError, TypeError, LookupError):
        raise ValueError(f"Entry {entry.number} does not say what it spends.") from None
    return debit


class Examined(NamedTuple):
    """Everything that is wrong with a book, one sentence each, and its sums where they could be formed."""

    problems: list[str]
    account: Account | None


def examined(entries: Sequence[Entry], head: str | None = None) -> Examined:
    """Chain and sums of a book, and whether a digest that was kept elsewhere is still in its place."""
    found, account = broken_links(entries), None
    try:
        account = account_of(entries)
    except (ValueError, TypeError, LookupError) as error:
        found.append(str(error) if str(error).startswith("Entry") else "Entry 0 does not state the terms of the book.")
    if head is not None and head not in {entry.digest for entry in entries}:
        found.append(
            "No entry has the digest that was kept: the book was rewritten, or entries were taken off its end."
        )
    return Examined(found, account)


def all_private(entries: Sequence[Entry]) -> bool:
    """Whether every debit was for system noise; with seeded noise nothing is promised."""
    return all(entry.content["private"] for entry in entries if entry.event == DEBIT)


def outcomes_of(entries: Sequence[Entry]) -> dict[int, str]:
    """What became of debits, by their number; a debit that is not there may have been interrupted."""
    said = [entry.content for entry in entries if entry.event == OUTCOME]
    return {each["debit"]: each["outcome"] for each in said}


def shown_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """Each debit for a table: entry, time, what, purpose, epsilon, delta, share of the total, outcome."""
    outcomes, account = outcomes_of(entries), Account(Terms.from_entry(entries[0]).budget)
    rows: list[tuple[str, ...]] = []
    for entry in entries:
        if entry.event == DEBIT:
            said, before = entry.content, account.spent
            account = account.after(debit_of(said))
            words = (said["what"] + ("" if said["private"] else " (seeded noise)"), said["purpose"])
            numbers = (f"{said['epsilon']:.6g}", f"{said['delta']:.3g}", f"{account.spent - before:+.1%}")
            rows.append((str(entry.number), entry.time, *words, *numbers, outcomes.get(entry.number, "interrupted?")))
    return rows
