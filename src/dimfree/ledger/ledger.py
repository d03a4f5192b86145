"""PrivacyLedger: the persistent privacy budget of one data set."""

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self
from unicodedata import is_normalized, normalize

from dimfree._validate import check_finite, check_flag, check_kind, check_path, check_positive, quote
from dimfree.accounting.budget import MIN_DELTA, Neighbors, check_budget
from dimfree.errors import BudgetExceededError, InvalidFileError, InvalidParameterError
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
_MAX_NAME = 200
_DAMAGED = (
    "The ledger of {dataset!r} in {path!r} is damaged or was changed: {first} No budget was charged. 'dimfree ledger "
    "verify' lists all problems. Restore the file from a copy, and count every release since then as spent."
)
_EXCHANGED = (
    "The ledger of {dataset!r} in {path!r} was replaced by another file or an older copy. No budget was "
    "charged. Put the newest copy back, count every release that it lacks as spent, and open it again."
)


@dataclass(frozen=True)
class Charged:
    """A debit that is on disk; `note_outcome` adds its outcome."""

    ledger: "PrivacyLedger"
    number: int
    day: str

    def note_outcome(self, *, refused: bool) -> None:
        """Write the outcome, for information; an error of the file is a warning, and the charge stands.

        The warning is never raised as an error, since the release would be lost after its charge. The outcome has the
        date of the debit: another date could reveal how long the release took.
        """
        ledger, content = self.ledger, {"debit": self.number, "outcome": OUTCOMES[refused]}
        try:
            with writing(ledger.path, ledger.timeout) as transaction:
                found = ledger._check_state(transaction)
                entry = ledger._append(transaction, found.last, self.day, OUTCOME, content, found.account)
            ledger._seen = entry
        except Exception as error:  # noqa: BLE001 - the release must be returned
            why = str(error) if isinstance(error, InvalidFileError) else type(error).__name__
            with suppress(Warning):
                warnings.warn(f"The outcome of the release was not recorded: {why}", RuntimeWarning, stacklevel=3)


class PrivacyLedger:
    """Track the privacy budget of one data set: all its releases together are (epsilon, delta)-private.

    Guarantee: everything released with `ledger=` is together (epsilon, delta)-indistinguishable for neighboring data
    sets, also if budgets and parameters depend on earlier outputs, refusals included, and if several processes release
    at once. A privacy filter composes the charges. Proof: proofs/ledger/filter.md. It is up to the caller that
    `dataset` always names the same records, and that all releases about them are charged here. A release with seeded
    noise is charged like any other; after it the ledger states no guarantee.

    A debit is on disk before the release draws any noise: a crash can lose a release, never a charge. The time of a
    debit does not grow with the number of entries: it reads the first entry and the last ones, which carry the sums of
    all before them. `verify` and `entries` read and check every entry.

    Parameters
    ----------
    path : str or Path
        An SQLite file, created if it does not exist. It can hold the ledgers of several data sets. Keep it on a local
        disk of the machine that releases: locks on network folders may fail. The file must have one name: hard links
        and mounts of the single file are refused if they can be detected (mount the folder, not the file). Move it only
        while no process uses it and no file ending in "-journal" is next to it.
    dataset : str
        The name of the data set.
    epsilon, delta : float, optional
        The total budget. Required for a new ledger; for an existing one they must agree if given.
    neighbors : {"add-remove", "replace-one"}, optional
        The neighboring relation, fixed when the ledger is created. A release with another one is an error.
    privacy_unit : str, optional
        The privacy unit, fixed when the ledger is created: None for one row, else the name of the column of privacy
        IDs, "" for IDs without a name. A release with another one is an error.
    purpose : str, default ""
        A text in every entry of a charge.
    timeout : float, default 30
        Seconds to wait for another process.

    Examples
    --------
    >>> with PrivacyLedger("study.db", dataset="trial-7", epsilon=3, delta=1e-5) as ledger:  # doctest: +SKIP
    ...     release_mean(X, epsilon=1, delta=1e-6, ledger=ledger)
    """

    def __init__(
        self,
        path: str | Path,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        neighbors: Literal["add-remove", "replace-one"] | Neighbors | None = None,
        privacy_unit: str | None = None,
        purpose: str = "",
        timeout: float = TIMEOUT,
    ) -> None:
        self.path, self.dataset = _check_path(path), _check_name(dataset)
        self.purpose = _check_text("purpose", purpose, least=0)
        self.timeout = check_positive("timeout", timeout)
        self._closed = False
        self._seen: Entry | None = None
        found = self._open(_check_terms(epsilon, delta, neighbors, privacy_unit))
        self.terms, self._seen = found.terms, found.last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def charge(
        self, charge: Charge, *, terms: Terms, private: bool = True, what: str = "", parameters: str = ""
    ) -> Charged:
        """Debit a release before it draws any noise. The debit is on disk when this returns.

        If it raises an error, no budget was charged: BudgetExceededError if the charge does not fit, InvalidFileError
        if the file is damaged.

        Parameters
        ----------
        charge : Charge
            The privacy loss of the release.
        terms : Terms
            The guarantee of the release. Its neighbors and privacy unit must be those of the ledger.
        private : bool, default True
            False if the noise is seeded.
        what, parameters : str, default ""
            The kind of release and a digest of its public parameters, for the list of entries.

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
            found = self._check_state(transaction)
            if (debit := found.account.decide(charge)) is not None:
                debit = replace(debit, private=private)
                content, account = {**debit_to_dict(debit), **said}, found.account.after(debit)
                entry = self._append(transaction, found.last, _today(), DEBIT, content, account)
        if debit is None:
            asked, remaining = charge.budget, status_of(found.account, charge.budget.delta)
            raise BudgetExceededError(
                f"A charge of epsilon={asked.epsilon!r}, delta={asked.delta!r} exceeds the remaining budget of the "
                f"ledger of {self.dataset!r}. {remaining}. No budget was charged."
            )
        self._seen = entry
        return Charged(self, entry.number, entry.day)

    def debit(self, epsilon: float, delta: float, *, what: str = "another release") -> Charged:
        """Charge a release of other software, before it is made.

        Parameters
        ----------
        epsilon, delta : float
            The guarantee of that release. A delta of 0 is charged as 1e-12.
        what : str, default "another release"
            A description for the list of entries.

        Returns
        -------
        Charged
            As for `charge`.
        """
        budget = check_budget(epsilon, MIN_DELTA if check_finite("delta", delta) == 0 else delta)
        return self.charge(Charge(budget), terms=self.terms, what=_check_text("what", what, least=0))

    def entries(self) -> tuple[Entry, ...]:
        """Return every entry, oldest first, after a check of all of them.

        Returns
        -------
        tuple of Entry
        """
        with reading(self.path, self.timeout) as transaction:
            self._check_state(transaction)
            found = tuple(transaction.entries(self.dataset))
            if problems := problems_in(found, transaction.head(self.dataset)):
                raise self._damage_error(problems[0])
        return found

    def status(self) -> Status:
        """Return the spent and the remaining budget as numbers.

        Returns
        -------
        Status
        """
        found = self._state()
        return status_of(found.account, found.delta)

    def account(self) -> Account:
        """Return the charges as the exact sums of the accounting.

        Returns
        -------
        Account
        """
        return self._state().account

    def verify(self, head: str | None = None) -> list[str]:
        """Read every entry, compute all sums again, and list all problems of the file.

        Parameters
        ----------
        head : str, optional
            A value of `head` that you kept elsewhere. Without it, an older copy of the file passes, and a ledger that
            was written anew as a whole.

        Returns
        -------
        list of str
            One sentence per problem.
        """
        return verify_entries(self.path, self.dataset, head, timeout=self.timeout)

    @property
    def head(self) -> str:
        """The digest of the last entry. Keep it where people who can write the file cannot."""
        return self._state().last.digest

    def statement(self) -> str:
        """Return the guarantee, the spent budget and the largest next charge in sentences.

        Returns
        -------
        str
        """
        total, status = self.terms.budget, self.status()
        guarantee = (
            f"Everything charged to {self.dataset!r} is together differentially private with epsilon={total.epsilon!r} "
            f"and delta={total.delta!r} ({self.terms.neighbors}, {self.terms.who}), even if each release depends on "
            f"the results of earlier ones. {status}."
        )
        return guarantee if status.private else f"Not private: a release had seeded noise. Otherwise: {guarantee}"

    def __repr__(self) -> str:
        total = self.terms.budget
        return (
            f"<PrivacyLedger: {self.dataset!r} in {str(self.path)!r}, epsilon={total.epsilon!r}, delta={total.delta!r}>"
        )

    def _open(self, given: dict[str, Any]) -> LedgerState:
        """Open the ledger, or create it if it does not exist and a total was given.

        The whole file is checked before a ledger is created: a damaged file may hide a ledger of this data set.
        """
        if "budget" not in given:
            with reading(self.path, self.timeout) as transaction:
                if not transaction.holds(self.dataset):
                    raise InvalidParameterError(_no_ledger(self.dataset, transaction.datasets()))
                found = self._check_state(transaction)
        else:
            with writing(self.path, self.timeout, create=True) as transaction:
                if not transaction.holds(self.dataset):
                    if problems := transaction.problems():
                        raise self._damage_error(problems[0])
                    terms = Terms(**{"neighbors": Neighbors.ADD_REMOVE, "privacy_unit": "row", **given})
                    self._append(transaction, None, _today(), OPENED, terms.to_dict(), Account(terms.budget))
                found = self._check_state(transaction)
        if replace(found.terms, **given) != found.terms:
            total = found.terms.budget
            raise InvalidParameterError(
                f"The ledger of {self.dataset!r} was created with epsilon={total.epsilon!r}, delta={total.delta!r}, "
                f"{found.terms.neighbors} and {found.terms.who}, which never change. Leave out epsilon, delta, "
                "neighbors and privacy_unit to open it."
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
            return self._check_state(transaction)

    def _check_state(self, transaction: Transaction) -> LedgerState:
        """Check the first and the last entries, and return terms, sums and last entry.

        The entry that was last when this object read the file before must still exist: an older copy of the file, or
        another ledger, is an error.
        """
        try:
            found = state_of(*transaction.ends(self.dataset))
        except ValueError as error:
            raise self._damage_error(str(error)) from None
        seen = self._seen
        if seen is not None and (found.terms != self.terms or transaction.entry(self.dataset, seen.number) != seen):
            raise InvalidFileError(_EXCHANGED.format(dataset=self.dataset, path=str(self.path)))
        return found

    def _damage_error(self, first: str) -> InvalidFileError:
        return InvalidFileError(_DAMAGED.format(dataset=self.dataset, path=str(self.path), first=first))

    def _check_alike(self, terms: Terms) -> None:
        if self._closed:
            raise InvalidParameterError(
                "This ledger was closed at the end of its with block. Release inside the block. No budget was charged."
            )
        if replace(terms, budget=self.terms.budget) != self.terms:
            raise InvalidParameterError(
                f"The ledger of {self.dataset!r} is for {self.terms.neighbors} and {self.terms.who}, got a release for "
                f"{terms.neighbors} and {terms.who}. Such guarantees do not compose. Pass the same neighbors= and "
                "privacy_unit=, or create another ledger. No budget was charged."
            )


def datasets_in(path: str | Path, *, timeout: float = TIMEOUT) -> list[str]:
    """List the data sets that have a ledger in this file."""
    with reading(_check_path(path), timeout) as transaction:
        return transaction.datasets()


def verify_entries(path: str | Path, dataset: str, head: str | None = None, *, timeout: float = TIMEOUT) -> list[str]:
    """Verify a ledger that may be too damaged to be opened, as `PrivacyLedger.verify`."""
    name = _check_text("dataset", dataset, least=1)
    if not isinstance(head, str | None):
        raise InvalidParameterError(f"`head` must be a digest of the ledger, got {quote(head)}.")
    with reading(_check_path(path), timeout, damaged=True) as transaction:
        if not transaction.holds(name):
            raise InvalidParameterError(_no_ledger(name, transaction.datasets()))
        return transaction.problems() + problems_in(transaction.entries(name), transaction.head(name), head)


def _no_ledger(dataset: str, others: list[str]) -> str:
    return (
        f"There is no ledger of dataset={dataset!r} in this file; it holds {', '.join(map(repr, others[:10]))}. Pass "
        "epsilon and delta to create one ('dimfree ledger create')."
    )


def _check_path(path: object) -> Path:
    return check_path("path", path).absolute()  # the same file, also if the process changes its folder


def _check_name(value: object) -> str:
    """Check the name of a data set: two names that look alike would be two ledgers with two budgets."""
    name = _check_text("dataset", value, least=1)
    if name != name.strip() or not is_normalized("NFC", name):
        raise InvalidParameterError(
            f"`dataset` must have no spaces at its ends and composed letters (Unicode NFC), got {name!r}. Pass "
            f"{normalize('NFC', name.strip())!r}."
        )
    return name


def _check_text(name: str, value: object, *, least: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= _MAX_NAME or not value.isprintable():
        raise InvalidParameterError(f"`{name}` must be a text of {least} to {_MAX_NAME} printable characters.")
    return value


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _check_terms(
    epsilon: object, delta: object, neighbors: str | Neighbors | None, privacy_unit: object
) -> dict[str, Any]:
    """Return the terms that were given; the others are those of the ledger."""
    given: dict[str, Any] = {}
    if (epsilon is None) != (delta is None):
        raise InvalidParameterError(
            "`epsilon` and `delta` must be given together for a new ledger, and can both be left out for an old one."
        )
    if epsilon is not None:
        given["budget"] = check_budget(epsilon, delta)
    if neighbors is not None:
        given["neighbors"] = Neighbors.parse(neighbors)
    if privacy_unit is not None:
        if not isinstance(privacy_unit, str):
            raise InvalidParameterError(
                f"`privacy_unit` must be the name of a column, or '' for IDs without a name, got {quote(privacy_unit)}."
            )
        given |= {"privacy_unit": "person", "privacy_id": privacy_unit or None}
    return given
