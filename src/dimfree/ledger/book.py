"""Ledger: a persistent budget for one data set. The public face of this room: validate, decide, commit."""

import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unicodedata import is_normalized, normalize

from dimfree._validate import check_at_least, check_finite, check_flag, check_kind, check_path, check_positive, quoted
from dimfree.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.errors import BudgetExceeded, InvalidFile, InvalidParameter
from dimfree.ledger.chain import DEBIT, OPENED, OUTCOME, Entry
from dimfree.ledger.filter import Account
from dimfree.ledger.room import left, refusal
from dimfree.ledger.rows import OUTCOMES, account_of, all_private, debit_to_dict, examined
from dimfree.ledger.spending import Charge
from dimfree.ledger.store import Transaction, reading, writing
from dimfree.ledger.terms import Terms, asked_terms, check_agreement

TIMEOUT = 30.0  # seconds to wait for another process
_LONGEST_NAME = 200
_TAMPERED = "The ledger of {dataset!r} in {path!r} does not hold together: {first} See 'dimfree ledger verify'."

_EXCHANGED = "The ledger of {dataset!r} in {path!r} is not the one that was opened: open it again. Nothing was charged."


@dataclass(frozen=True)
class Charged:
    """A debit that is on disk; `noted` writes what became of it."""

    ledger: "Ledger"
    number: int

    def noted(self, *, refused: bool) -> None:
        """The outcome, as information: the charge stands whatever it is, so trouble with the disk is no error here."""
        try:
            self.ledger._append(OUTCOME, {"debit": self.number, "outcome": OUTCOMES[refused]})
        except InvalidFile as error:
            warnings.warn(f"The outcome of the release was not noted: {error}", RuntimeWarning, stacklevel=3)


class Ledger:
    """A persistent budget for one data set: all releases charged to it are (epsilon, delta)-private together.

    Guarantee: whatever is released with `ledger=`, one after another or from several processes at once, budgets and
    questions chosen by looking at earlier outputs, refusals included, is together (epsilon, delta)-indistinguishable
    for neighbouring data sets. Proof: proofs/ledger/filter.md. The caller promises that `dataset` always names the same
    records, and that everything released about them is charged here. A debit with seeded noise is charged as any
    other and marks the book: then nothing is promised any more.

    >>> with Ledger("study.db", dataset="trial-7", epsilon=3, delta=1e-5) as ledger:  # doctest: +SKIP
    ...     release_mean(X, epsilon=1, delta=1e-6, ledger=ledger)

    `path` is an SQLite file, created where there is none; it may hold the books of several data sets. Keep it on a disk
    of the machine that releases: locks of network folders may not hold. `epsilon` and
    `delta` are the total: needed to open a new book; for an existing one they may be left out, and must agree if
    given. `neighbours` and `unit` (None: one row is one person; otherwise the name of the column that says whose each
    row is, "" for keys without a name) are settled when the book is opened, and a release that says otherwise is an
    error. `purpose` is written beside every debit. A debit is on disk before the release draws any noise, so a crash
    or a kill can lose a release but never a charge. `timeout`: seconds to wait for another process.
    """

    def __init__(
        self,
        path: str | Path,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbours: str | Neighbours | None = None,
        unit: str | None = None,
        purpose: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        self.path = _checked_path(path)
        self.dataset = _checked_name(dataset)
        self.purpose = _checked_text("purpose", purpose, least=0)
        self.timeout = check_positive("timeout", timeout)
        self._closed = False
        asked = asked_terms(epsilon, delta, neighbours, unit)
        self.terms = self._opened(asked, neighbours, unit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True

    def charge(
        self, charge: Charge, *, terms: Terms, private: bool = True, what: str = "", parameters: str = ""
    ) -> Charged:
        """Debit a release before it looks or draws: on disk when this returns; BudgetExceeded where it does not fit.

        `terms` are the promise of the release: its neighbours and its unit must be the book's own.
        """
        self._check_alike(check_kind("terms", terms, Terms))
        check_kind("charge", charge, Charge).prepare()
        check_kind("what", what, str), check_kind("parameters", parameters, str)
        said = {
            "purpose": self.purpose,
            "what": what,
            "private": check_flag("private", private),
            "parameters": parameters,
        }
        with writing(self.path, self.timeout) as transaction:
            entries, account = self._sound(transaction)
            if Terms.from_entry(entries[0]) != self.terms:
                raise InvalidFile(_EXCHANGED.format(dataset=self.dataset, path=str(self.path)))
            debit = account.decide(charge)
            if debit is not None:
                entry = Entry.following(entries[-1], self.dataset, _now(), DEBIT, {**debit_to_dict(debit), **said})
                transaction.append(entry)
        if debit is None:
            raise BudgetExceeded(refusal(account, charge, self.dataset))
        return Charged(self, entry.number)

    def debit(self, epsilon: float, delta: float, *, what: str = "another release") -> Charged:
        """Charge a release made elsewhere, of which nothing but its (epsilon, delta) is known, before it is made.

        A delta of 0, as Laplace noise has it, is charged as the smallest one there is.
        """
        budget = Budget(epsilon, SMALLEST_DELTA if check_finite("delta", delta) == 0 else delta)
        check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
        check_at_least("delta", budget.delta, SMALLEST_DELTA)
        return self.charge(Charge(budget, again=Charge), terms=self.terms, what=_checked_text("what", what, least=0))

    def entries(self) -> tuple[Entry, ...]:
        """Every row of the book, oldest first; raises InvalidFile where the book was tampered with."""
        with reading(self.path, self.timeout) as transaction:
            return tuple(self._sound(transaction)[0])

    def account(self) -> Account:
        """What was spent and what is left, in numbers."""
        return account_of(self.entries())

    def verify(self, head: str | None = None) -> list[str]:
        """Everything that is wrong with chain and sums, one sentence each, naming the entry; empty: all is well.

        `head` is a digest that was kept elsewhere: without one, a book that was rewritten as a whole looks well.
        """
        return verified(self.path, self.dataset, head, timeout=self.timeout)

    @property
    def head(self) -> str:
        """The digest of the last entry: keep it where nobody who can write the file can write."""
        return self.entries()[-1].digest

    def statement(self) -> str:
        """The promise of the book and what was spent of it, in plain words."""
        entries = self.entries()
        account, total = account_of(entries), self.terms.budget
        promise = (
            f"Everything charged to {self.dataset!r} is together differentially private with epsilon={total.epsilon!r} "
            f"and delta={total.delta!r} ({self.terms.neighbours}, {self.terms.who}), whatever was asked in between. "
            f"{account.debits} debit(s); {left(account)}."
        )
        return promise if all_private(entries) else f"Not private: a release had seeded noise. Otherwise: {promise}"

    def __repr__(self) -> str:
        total = self.terms.budget
        return f"<Ledger: {self.dataset!r} in {str(self.path)!r}, epsilon={total.epsilon!r}, delta={total.delta!r}>"

    def _opened(self, asked: Terms | None, neighbours: object, unit: object) -> Terms:
        """The terms of the book, which is made if it is not there and a total was given."""
        if asked is None:
            with reading(self.path, self.timeout) as transaction:
                if not transaction.entries(self.dataset):
                    raise InvalidParameter(_no_book(self.dataset, transaction.datasets()))
                return self._reopened(transaction, asked, neighbours, unit)
        with writing(self.path, self.timeout, create=True) as transaction:
            if transaction.entries(self.dataset):
                return self._reopened(transaction, asked, neighbours, unit)
            transaction.append(Entry.following(None, self.dataset, _now(), OPENED, asked.to_dict()))
            return asked

    def _reopened(self, transaction: Transaction, asked: Terms | None, neighbours: object, unit: object) -> Terms:
        found = Terms.from_entry(self._sound(transaction)[0][0])
        check_agreement(found, asked, neighbours, unit, self.dataset)
        return found

    def _append(self, event: str, content: dict[str, Any]) -> None:
        with writing(self.path, self.timeout) as transaction:
            last = self._sound(transaction)[0][-1]
            transaction.append(Entry.following(last, self.dataset, _now(), event, content))

    def _sound(self, transaction: Transaction) -> tuple[list[Entry], Account]:
        """Entries and sums, if both hold: nothing is spent from a book that was tampered with."""
        entries = transaction.entries(self.dataset)
        found = examined(entries)
        if found.account is None or found.problems:
            first = found.problems[0]
            raise InvalidFile(_TAMPERED.format(dataset=self.dataset, path=str(self.path), first=first))
        return entries, found.account

    def _check_alike(self, terms: Terms) -> None:
        if self._closed:
            raise InvalidParameter("This ledger was closed at the end of its with block: release inside it.")
        own = (self.terms.neighbours, self.terms.unit, self.terms.unit_column)
        if (terms.neighbours, terms.unit, terms.unit_column) != own:
            raise InvalidParameter(
                f"Expected a release for {self.terms.neighbours} neighbours and {self.terms.who}, as the ledger of "
                f"{self.dataset!r} was opened; got {terms.neighbours} and {terms.who}. Such promises do not add up: "
                "pass the same neighbours= and unit=, or open another book with a budget of its own."
            )


def books(path: str | Path, *, timeout: float = TIMEOUT) -> list[str]:
    """The data sets that a file holds a book for."""
    with reading(_checked_path(path), timeout) as transaction:
        return transaction.datasets()


def verified(path: str | Path, dataset: str, head: str | None = None, *, timeout: float = TIMEOUT) -> list[str]:
    """`Ledger.verify` for a book that may be too damaged to be opened."""
    if not isinstance(head, str | None):
        raise InvalidParameter(f"Expected head to be a digest that was kept, got {quoted(head)}.")
    with reading(_checked_path(path), timeout) as transaction:
        entries = transaction.entries(dataset)
        if not entries:
            raise InvalidParameter(_no_book(dataset, transaction.datasets()))
        return examined(entries, head).problems


def _no_book(dataset: str, others: list[str]) -> str:
    there = f"It holds {', '.join(map(repr, others[:10]))}." if others else "It holds none."
    return (
        f"There is no ledger of dataset={dataset!r} in this file. {there} Pass epsilon and delta to open one "
        "('dimfree ledger create')."
    )


def _checked_path(path: object) -> Path:
    return check_path("path", path).absolute()  # the same file, whichever folder the process goes to


def _checked_name(value: object) -> str:
    """Of a data set: two names that look alike would be two books, each with a budget of its own."""
    name = _checked_text("dataset", value, least=1)
    if name != name.strip() or not is_normalized("NFC", name):
        raise InvalidParameter(
            f"Expected dataset={name!r} without spaces at its ends and with composed letters (Unicode NFC): pass "
            f"{normalize('NFC', name.strip())!r}."
        )
    return name


def _checked_text(name: str, value: object, *, least: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= _LONGEST_NAME or not value.isprintable():
        raise InvalidParameter(f"Expected {name} to be a text of {least} to {_LONGEST_NAME} printable characters.")
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
