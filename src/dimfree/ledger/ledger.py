"""Ledger: a persistent budget for one data set."""

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self
from unicodedata import is_normalized, normalize

from dimfree._validate import check_finite, check_flag, check_kind, check_path, check_positive, quoted
from dimfree.accounting.budget import SMALLEST_DELTA, Neighbours, check_budget
from dimfree.errors import BudgetExceeded, InvalidFile, InvalidParameter
from dimfree.ledger.entries import (
    DEBIT,
    OPENED,
    OUTCOME,
    OUTCOMES,
    Entry,
    LedgerState,
    Terms,
    debit_to_dict,
    problems_in,
    state_of,
    to_text,
)
from dimfree.ledger.filter import Account, Status, status_of
from dimfree.ledger.spending import Charge
from dimfree.ledger.store import Transaction, reading, writing

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
    """A debit that is on disk; `noted` adds its outcome."""

    ledger: "Ledger"
    number: int
    day: str

    def noted(self, *, refused: bool) -> None:
        """Write the outcome, for information. The charge stands whatever it is, so a disk problem is only a warning.

        Nor is its warning where warnings are errors: the release, which is paid for, would be lost. The outcome has
        the date of the debit: a date of its own could reveal how long the release took.
        """
        ledger, content = self.ledger, {"debit": self.number, "outcome": OUTCOMES[refused]}
        try:
            with writing(ledger.path, ledger.timeout) as transaction:
                found = ledger._checked_state(transaction)
                entry = ledger._append(transaction, found.last, self.day, OUTCOME, content, found.account)
            ledger._seen = entry
        except Exception as error:  # noqa: BLE001 - whatever it is, the release is not handed over yet
            why = str(error) if isinstance(error, InvalidFile) else type(error).__name__
            with suppress(Warning):
                warnings.warn(f"The outcome of the release was not noted: {why}", RuntimeWarning, stacklevel=3)


class Ledger:
    """A persistent budget for one data set: all releases charged to it are (epsilon, delta)-private together.

    Guarantee: everything released with `ledger=` is together (epsilon, delta)-indistinguishable for neighbouring data
    sets: one release after another or from several processes at once, with budgets and parameters chosen after looking
    at earlier outputs, refusals included. The charges are composed from the first one, by a privacy filter; `status`
    has the epsilon that is spent, and the largest next one. Proof: proofs/ledger/filter.md. The caller promises that
    `dataset` always names the same records, and that everything released about them is charged here. A debit with
    seeded noise is charged like any other and marks the ledger: from then on nothing is promised.

    A debit is on disk before the release draws any noise: a crash can lose a release but never a charge. A debit takes
    the same time however many there were: it reads the first entry and the last ones, which carry the sums of all
    before them. `verify` and `entries` read and check every entry.

    Parameters
    ----------
    path : str or Path
        An SQLite file, created where there is none. It may hold the ledgers of several data sets. Keep it on a local
        disk of the machine that releases: locks on network folders may fail. The file must have one name: hard links
        and mounts of the single file are refused where they can be seen (mount the folder, not the file). Move it only
        while nobody uses it and no file ending in "-journal" lies beside it.
    dataset : str
        The name of the records.
    epsilon, delta : float, optional
        The total budget. Needed to open a new ledger; for an existing one they may be left out, and must agree if
        given.
    neighbours : {"add-remove", "replace-one"}, optional
        The neighbouring relation, fixed when the ledger is opened. A release with another one is an error.
    unit : str, optional
        What one person is, fixed when the ledger is opened. None: one row. Otherwise the name of the column that says
        to whom each row belongs, "" for keys without a name. A release with another unit is an error.
    purpose : str, default ""
        A text that is written beside every debit.
    timeout : float, default 30
        Seconds to wait for another process.

    Examples
    --------
    >>> with Ledger("study.db", dataset="trial-7", epsilon=3, delta=1e-5) as ledger:  # doctest: +SKIP
    ...     release_mean(X, epsilon=1, delta=1e-6, ledger=ledger)
    """

    def __init__(
        self,
        path: str | Path,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbours: Literal["add-remove", "replace-one"] | Neighbours | None = None,
        unit: str | None = None,
        purpose: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        self.path, self.dataset = _checked_path(path), _checked_name(dataset)
        self.purpose = _checked_text("purpose", purpose, least=0)
        self.timeout = check_positive("timeout", timeout)
        self._closed = False
        self._seen: Entry | None = None
        found = self._opened(_given_terms(epsilon, delta, neighbours, unit))
        self.terms, self._seen = found.terms, found.last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def charge(
        self, charge: Charge, *, terms: Terms, private: bool = True, what: str = "", parameters: str = ""
    ) -> Charged:
        """Debit a release before it reads records or draws noise. The debit is on disk when this returns.

        Nothing is charged if it raises: BudgetExceeded if the charge does not fit, InvalidFile if the file is damaged.

        Parameters
        ----------
        charge : Charge
            What the release costs.
        terms : Terms
            The guarantee of the release. Its neighbours and its unit must be those of the ledger.
        private : bool, default True
            False where the noise is seeded.
        what, parameters : str, default ""
            What is released, and with which public parameters, for the list of entries.

        Returns
        -------
        Charged
        """
        self._check_alike(check_kind("terms", terms, Terms))
        check_kind("charge", charge, Charge).prepare()
        check_kind("what", what, str), check_kind("parameters", parameters, str)
        said = {"purpose": self.purpose, "what": what, "parameters": parameters}
        private = check_flag("private", private)
        with writing(self.path, self.timeout) as transaction:
            found = self._checked_state(transaction)
            if (debit := found.account.decide(charge)) is not None:
                debit = replace(debit, private=private)
                content, account = {**debit_to_dict(debit), **said}, found.account.after(debit)
                entry = self._append(transaction, found.last, _today(), DEBIT, content, account)
        if debit is None:
            asked, remaining = charge.budget, status_of(found.account, charge.budget.delta)
            raise BudgetExceeded(
                f"A charge of epsilon={asked.epsilon!r}, delta={asked.delta!r} exceeds the remaining budget of the "
                f"ledger of {self.dataset!r}. {remaining}. No budget was charged, and nothing was released."
            )
        self._seen = entry
        return Charged(self, entry.number, entry.day)

    def debit(self, epsilon: float, delta: float, *, what: str = "another release") -> Charged:
        """Charge a release made with other software, known by its (epsilon, delta) only, before it is made.

        Parameters
        ----------
        epsilon, delta : float
            Budget of that release. A delta of 0, as with Laplace noise, is charged as the smallest delta there is.
        what : str, default "another release"
            What is released, for the list of entries.

        Returns
        -------
        Charged
            As of `charge`.
        """
        budget = check_budget(epsilon, SMALLEST_DELTA if check_finite("delta", delta) == 0 else delta)
        return self.charge(Charge(budget), terms=self.terms, what=_checked_text("what", what, least=0))

    def entries(self) -> tuple[Entry, ...]:
        """Every entry, oldest first. All of them are checked: InvalidFile if the ledger is damaged.

        Returns
        -------
        tuple of Entry
        """
        with reading(self.path, self.timeout) as transaction:
            self._checked_state(transaction)
            found = tuple(transaction.entries(self.dataset))
            if problems := problems_in(found, transaction.head(self.dataset)):
                raise self._damaged(problems[0])
        return found

    def status(self) -> Status:
        """Return what is spent and what remains, as numbers.

        Returns
        -------
        Status
        """
        found = self._state()
        return status_of(found.account, found.delta)

    def account(self) -> Account:
        """What was charged, in the exact sums of the accounting.

        Returns
        -------
        Account
        """
        return self._state().account

    def verify(self, head: str | None = None) -> list[str]:
        """Read every entry, add them up again, and list everything that is wrong with the file.

        Parameters
        ----------
        head : str, optional
            A value of `head` that was kept elsewhere. Without it, a ledger that was rewritten as a whole, or an older
            copy of the file, passes.

        Returns
        -------
        list of str
            One sentence for each problem; empty if there is none.
        """
        return verified(self.path, self.dataset, head, timeout=self.timeout)

    @property
    def head(self) -> str:
        """The digest of the last entry. Keep it where nobody who can write the file can write."""
        return self._state().last.digest

    def statement(self) -> str:
        """The guarantee of the ledger, what is spent of it, and the largest next charge, in sentences.

        Returns
        -------
        str
        """
        total, status = self.terms.budget, self.status()
        guarantee = (
            f"Everything charged to {self.dataset!r} is together differentially private with epsilon={total.epsilon!r} "
            f"and delta={total.delta!r} ({self.terms.neighbours}, {self.terms.who}), even if each release depends on "
            f"the results of earlier ones. {status}."
        )
        return guarantee if status.private else f"Not private: a release had seeded noise. Otherwise: {guarantee}"

    def __repr__(self) -> str:
        total = self.terms.budget
        return f"<Ledger: {self.dataset!r} in {str(self.path)!r}, epsilon={total.epsilon!r}, delta={total.delta!r}>"

    def _opened(self, given: dict[str, Any]) -> LedgerState:
        """The state of the ledger. It is created if it does not exist and a total was given.

        The whole file is checked before that: a damaged one may hide a ledger of this data set.
        """
        if "budget" not in given:
            with reading(self.path, self.timeout) as transaction:
                if not transaction.holds(self.dataset):
                    raise InvalidParameter(_no_ledger(self.dataset, transaction.datasets()))
                found = self._checked_state(transaction)
        else:
            with writing(self.path, self.timeout, create=True) as transaction:
                if not transaction.holds(self.dataset):
                    if problems := transaction.problems():
                        raise self._damaged(problems[0])
                    terms = Terms(**{"neighbours": Neighbours.ADD_REMOVE, "unit": "row", **given})
                    self._append(transaction, None, _today(), OPENED, terms.to_dict(), Account(terms.budget))
                found = self._checked_state(transaction)
        if replace(found.terms, **given) != found.terms:
            total = found.terms.budget
            raise InvalidParameter(
                f"The ledger of {self.dataset!r} was opened with epsilon={total.epsilon!r}, delta={total.delta!r}, "
                f"{found.terms.neighbours} neighbours and {found.terms.who}, which never changes. Leave epsilon, "
                "delta, neighbours and unit out to reopen it."
            )
        return found

    def _append(
        self, transaction: Transaction, last: Entry | None, day: str, event: str, content: dict[str, Any], sums: Account
    ) -> Entry:
        entry = Entry.following(last, self.dataset, day, event, content, to_text(sums))
        transaction.append(entry)
        return entry

    def _state(self) -> LedgerState:
        with reading(self.path, self.timeout) as transaction:
            return self._checked_state(transaction)

    def _checked_state(self, transaction: Transaction) -> LedgerState:
        """Terms, sums and last entry, after a check of both ends: nothing is spent from a ledger that is damaged there.

        The entry that was last when this object read the file before must still be there: an older copy of the file, or
        another ledger, is an error.
        """
        try:
            found = state_of(*transaction.ends(self.dataset))
        except ValueError as error:
            raise self._damaged(str(error)) from None
        seen = self._seen
        if seen is not None and (found.terms != self.terms or transaction.entry(self.dataset, seen.number) != seen):
            raise InvalidFile(_EXCHANGED.format(dataset=self.dataset, path=str(self.path)))
        return found

    def _damaged(self, first: str) -> InvalidFile:
        return InvalidFile(_DAMAGED.format(dataset=self.dataset, path=str(self.path), first=first))

    def _check_alike(self, terms: Terms) -> None:
        if self._closed:
            raise InvalidParameter("This ledger was closed at the end of its with block: release inside it.")
        if replace(terms, budget=self.terms.budget) != self.terms:
            raise InvalidParameter(
                f"Expected a release for {self.terms.neighbours} neighbours and {self.terms.who}, as the ledger of "
                f"{self.dataset!r} was opened; got {terms.neighbours} and {terms.who}. Such promises do not add up: "
                "pass the same neighbours= and unit=, or open another ledger with a budget of its own."
            )


def datasets_in(path: str | Path, *, timeout: float = TIMEOUT) -> list[str]:
    """The data sets that have a ledger in this file."""
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
        return transaction.problems() + problems_in(transaction.entries(name), transaction.head(name), head)


def _no_ledger(dataset: str, others: list[str]) -> str:
    return (
        f"There is no ledger of dataset={dataset!r} in this file. It holds {', '.join(map(repr, others[:10]))}. Pass "
        "epsilon and delta to open one ('dimfree ledger create')."
    )


def _checked_path(path: object) -> Path:
    return check_path("path", path).absolute()  # the same file, also if the process changes its folder


def _checked_name(value: object) -> str:
    """The name of a data set. Two names that look alike would be two ledgers, each with its own budget."""
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


def _given_terms(epsilon: object, delta: object, neighbours: str | Neighbours | None, unit: object) -> dict[str, Any]:
    """The terms that were given; what is left out is that of the ledger."""
    given: dict[str, Any] = {}
    if (epsilon is None) != (delta is None):
        raise InvalidParameter("Expected epsilon and delta together, the total of the ledger; or neither, to reopen.")
    if epsilon is not None:
        given["budget"] = check_budget(epsilon, delta)
    if neighbours is not None:
        given["neighbours"] = Neighbours.parse(neighbours)
    if unit is not None:
        if not isinstance(unit, str):
            raise InvalidParameter("Expected unit to name the column of the privacy unit, or '' for unnamed keys.")
        given |= {"unit": "person", "unit_column": unit or None}
    return given
