"""Ledger: a persistent budget for one data set. The public class of this package: validate, decide, commit."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unicodedata import is_normalized, normalize

from dimfree._validate import check_at_least, check_finite, check_flag, check_kind, check_path, check_positive, quoted
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.errors import BudgetExceeded, InvalidFile, InvalidParameter
from dimfree.ledger.chain import DEBIT, OPENED, OUTCOME, Entry
from dimfree.ledger.filter import Account
from dimfree.ledger.remaining import left, refusal
from dimfree.ledger.rows import OUTCOMES, Standing, debit_to_dict, examined, standing_of
from dimfree.ledger.spending import Charge
from dimfree.ledger.store import Transaction, reading, writing
from dimfree.ledger.sums import Sums
from dimfree.ledger.terms import Terms, asked_terms, check_agreement

TIMEOUT = 30.0  # seconds to wait for another process
_LONGEST_NAME = 200
_DAMAGED = (
    "The ledger of {dataset!r} in {path!r} is damaged or was changed: {first} Nothing was charged. 'dimfree ledger "
    "verify' says what is wrong; restore the file from a copy, and count every release since then as spent."
)
_EXCHANGED = (
    "The ledger of {dataset!r} in {path!r} is not the one that was opened: another file, or an older copy, was put in "
    "its place. Nothing was charged. Put the newest copy back, count every release that it lacks as spent, and open it "
    "again."
)


@dataclass(frozen=True)
class Charged:
    """A debit that is on disk; `noted` writes what became of it."""

    ledger: "Ledger"
    number: int
    day: str

    def noted(self, *, refused: bool) -> None:
        """The outcome, as information: the charge stands whatever it is, so trouble with the disk is no error here.

        Nor is its warning where warnings are errors: the release, which is paid for, would be lost. The outcome is
        dated as the debit was: a date of its own could tell how long the release took.
        """
        try:
            self.ledger._append_outcome({"debit": self.number, "outcome": OUTCOMES[refused]}, self.day)
        except Exception as error:  # noqa: BLE001 - whatever it is, the release is not handed over yet
            why = str(error) if isinstance(error, InvalidFile) else type(error).__name__
            with suppress(Warning):
                warnings.warn(f"The outcome of the release was not noted: {why}", RuntimeWarning, stacklevel=3)


class Ledger:
    """A persistent budget for one data set: all releases charged to it are (epsilon, delta)-private together.

    Guarantee: whatever is released with `ledger=`, one after another or from several processes at once, budgets and
    questions chosen by looking at earlier outputs, refusals included, is together (epsilon, delta)-indistinguishable
    for neighbouring data sets. Proof: proofs/ledger/filter.md. The caller promises that `dataset` always names the same
    records, and that everything released about them is charged here. A debit with seeded noise is charged as any
    other and marks the ledger: then nothing is promised any more.

    >>> with Ledger("study.db", dataset="trial-7", epsilon=3, delta=1e-5) as ledger:  # doctest: +SKIP
    ...     release_mean(X, epsilon=1, delta=1e-6, ledger=ledger)

    `path` is an SQLite file, created where there is none; it may hold the ledgers of several data sets. Keep it on a
    disk of the machine that releases: locks of network folders may not hold. The file must have one name: hard links
    and mounts of the single file are refused where they can be seen (mount the folder, not the file); move it only
    while nobody uses it and no file that ends in "-journal" lies beside it. `epsilon` and
    `delta` are the total: needed to open a new ledger; for an existing one they may be left out, and must agree if
    given. `neighbours` and `unit` (None: one row is one person; otherwise the name of the column that says whose each
    row is, "" for keys without a name) are settled when the ledger is opened, and a release that says otherwise is an
    error. `purpose` is written beside every debit. A debit is on disk before the release draws any noise, so a crash
    or a kill can lose a release but never a charge. `timeout`: seconds to wait for another process.

    A debit takes the same time however many there were: it reads the first entry and the last ones, which carry the
    sums of all before them. `verify` and `entries` read and check every entry.
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
        self._seen: Entry | None = None
        asked = asked_terms(epsilon, delta, neighbours, unit)
        self.terms, _, self._seen = self._opened(asked, neighbours, unit)

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

        `terms` are the promise of the release: its neighbours and its unit must be the ledger's own.
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
            found = self._standing(transaction)
            debit = found.sums.account.decide(charge)
            sums = None if debit is None else found.sums.after(debit, private=bool(private))
            if debit is not None and sums is not None:
                content = {**debit_to_dict(debit), **said}
                entry = Entry.following(found.last, self.dataset, _today(), DEBIT, content, sums.text)
                transaction.append(entry)
        if sums is None:
            raise BudgetExceeded(refusal(found.sums.account, charge, self.dataset))
        self._seen = entry
        return Charged(self, entry.number, entry.day)

    def debit(self, epsilon: float, delta: float, *, what: str = "another release") -> Charged:
        """Charge a release made elsewhere, of which nothing but its (epsilon, delta) is known, before it is made.

        A delta of 0, as Laplace noise has it, is charged as the smallest one there is.
        """
        budget = Budget(epsilon, SMALLEST_DELTA if check_finite("delta", delta) == 0 else delta)
        check_at_least("epsilon", budget.epsilon, SMALLEST_EPSILON)
        check_at_least("delta", budget.delta, SMALLEST_DELTA)
        return self.charge(Charge(budget, again=Charge), terms=self.terms, what=_checked_text("what", what, least=0))

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first, all of them checked; raises InvalidFile where the ledger is damaged."""
        with reading(self.path, self.timeout) as transaction:
            self._standing(transaction)
            found = tuple(transaction.entries(self.dataset))
            problems = examined(found, transaction.head(self.dataset))
        if problems:
            raise InvalidFile(self._damaged(problems[0]))
        return found

    def account(self) -> Account:
        """What was spent and what is left, in numbers."""
        return self._stands().sums.account

    def verify(self, head: str | None = None) -> list[str]:
        """Everything that is wrong with the file, the chain and the sums, one sentence each; empty: all is well.

        Every entry is read and added up again. `head` is a digest that was kept elsewhere: without one, a ledger that
        was rewritten as a whole, or an older copy of the file, looks well.
        """
        return verified(self.path, self.dataset, head, timeout=self.timeout)

    @property
    def head(self) -> str:
        """The digest of the last entry: keep it where nobody who can write the file can write."""
        return self._stands().last.digest

    def statement(self) -> str:
        """The promise of the ledger and what was spent of it, in plain words."""
        sums, total = self._stands().sums, self.terms.budget
        promise = (
            f"Everything charged to {self.dataset!r} is together differentially private with epsilon={total.epsilon!r} "
            f"and delta={total.delta!r} ({self.terms.neighbours}, {self.terms.who}), whatever was asked in between. "
            f"{sums.account.debits} debit(s); {left(sums.account)}."
        )
        return promise if sums.private else f"Not private: a release had seeded noise. Otherwise: {promise}"

    def __repr__(self) -> str:
        total = self.terms.budget
        return f"<Ledger: {self.dataset!r} in {str(self.path)!r}, epsilon={total.epsilon!r}, delta={total.delta!r}>"

    def _opened(self, asked: Terms | None, neighbours: object, unit: object) -> Standing:
        """Where the ledger stands, which is made if it is not there and a total was given."""
        if asked is None:
            with reading(self.path, self.timeout) as transaction:
                if not transaction.holds(self.dataset):
                    raise InvalidParameter(_no_ledger(self.dataset, transaction.datasets()))
                found = self._standing(transaction)
        else:
            with writing(self.path, self.timeout, create=True) as transaction:
                if not transaction.holds(self.dataset):
                    self._make(transaction, asked)
                found = self._standing(transaction)
        check_agreement(found.terms, asked, neighbours, unit, self.dataset)
        return found

    def _make(self, transaction: Transaction, terms: Terms) -> None:
        """A new ledger; the whole file is checked, since a damaged one may hide that there was one already."""
        if problems := transaction.problems():
            raise InvalidFile(self._damaged(problems[0]))
        sums = Sums(Account(terms.budget))
        transaction.append(Entry.following(None, self.dataset, _today(), OPENED, terms.to_dict(), sums.text))

    def _append_outcome(self, content: dict[str, Any], day: str) -> None:
        with writing(self.path, self.timeout) as transaction:
            found = self._standing(transaction)
            entry = Entry.following(found.last, self.dataset, day, OUTCOME, content, found.sums.text)
            transaction.append(entry)
        self._seen = entry

    def _stands(self) -> Standing:
        with reading(self.path, self.timeout) as transaction:
            return self._standing(transaction)

    def _standing(self, transaction: Transaction) -> Standing:
        """Terms, sums and last entry, if they hold: nothing is spent from a ledger whose ends are damaged.

        The entry that was last when this object looked before must be in its place still: an older copy of the file,
        or another ledger, is not taken for the one that was opened.
        """
        try:
            found = standing_of(transaction.ends(self.dataset))
        except ValueError as error:
            raise InvalidFile(self._damaged(str(error))) from None
        seen = self._seen
        if seen is not None and (found.terms != self.terms or transaction.entry(self.dataset, seen.number) != seen):
            raise InvalidFile(_EXCHANGED.format(dataset=self.dataset, path=str(self.path)))
        return found

    def _damaged(self, first: str) -> str:
        return _DAMAGED.format(dataset=self.dataset, path=str(self.path), first=first)

    def _check_alike(self, terms: Terms) -> None:
        if self._closed:
            raise InvalidParameter("This ledger was closed at the end of its with block: release inside it.")
        own = (self.terms.neighbours, self.terms.unit, self.terms.unit_column)
        if (terms.neighbours, terms.unit, terms.unit_column) != own:
            raise InvalidParameter(
                f"Expected a release for {self.terms.neighbours} neighbours and {self.terms.who}, as the ledger of "
                f"{self.dataset!r} was opened; got {terms.neighbours} and {terms.who}. Such promises do not add up: "
                "pass the same neighbours= and unit=, or open another ledger with a budget of its own."
            )


def books(path: str | Path, *, timeout: float = TIMEOUT) -> list[str]:
    """The data sets that a file holds a ledger for."""
    with reading(_checked_path(path), timeout) as transaction:
        return transaction.datasets()


def verified(path: str | Path, dataset: str, head: str | None = None, *, timeout: float = TIMEOUT) -> list[str]:
    """`Ledger.verify` for a ledger that may be too damaged to be opened."""
    name = _checked_text("dataset", dataset, least=1)
    if not isinstance(head, str | None):
        raise InvalidParameter(f"Expected head to be a digest that was kept, got {quoted(head)}.")
    with reading(_checked_path(path), timeout, damaged=True) as transaction:
        if not transaction.holds(name):
            raise InvalidParameter(_no_ledger(name, transaction.datasets()))
        return transaction.problems() + examined(transaction.entries(name), transaction.head(name), head)


def _no_ledger(dataset: str, others: list[str]) -> str:
    return (
        f"There is no ledger of dataset={dataset!r} in this file. It holds {', '.join(map(repr, others[:10]))}. Pass "
        "epsilon and delta to open one ('dimfree ledger create')."
    )


def _checked_path(path: object) -> Path:
    return check_path("path", path).absolute()  # the same file, whichever folder the process goes to


def _checked_name(value: object) -> str:
    """Of a data set: two names that look alike would be two ledgers, each with a budget of its own."""
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


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
