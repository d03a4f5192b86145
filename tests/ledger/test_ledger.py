"""A persistent budget: opened once, charged before noise, never above its total, never forgetting."""

import json
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest
from recording import RecordingNoise
from routes import with_options

import dimfree
from dimfree import (
    BudgetExceededError,
    InvalidFileError,
    InvalidParameterError,
    PrivacyLedger,
    release_group_means,
    release_mean,
)
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.interop.scaler import PrivateStandardScaler
from dimfree.ledger.entries import DEBIT, OUTCOME
from dimfree.ledger.spending import Charge
from dimfree.options import Options

ADD = Neighbors.ADD_REMOVE
TOTAL = {"epsilon": 3.0, "delta": 1e-5}
ASKED = {"epsilon": 1.0, "delta": 1e-6, "covariance": np.ones(2)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def ledger(path: Path) -> PrivacyLedger:
    return PrivacyLedger(path, dataset="d", **TOTAL)


@pytest.fixture(scope="module")
def X() -> np.ndarray:  # noqa: N802 - as in release_mean
    return np.random.default_rng(0).normal(size=(400, 2))


def events(ledger: PrivacyLedger) -> list[str]:
    return [entry.event for entry in ledger.entries()]


def test_a_release_is_charged_and_its_outcome_noted(path: Path, X: np.ndarray) -> None:
    with PrivacyLedger(path, dataset="trial-7", purpose="table 2", **TOTAL) as ledger:
        release = release_mean(X, ledger=ledger, **ASKED)
    opened, debit, outcome = ledger.entries()
    said = debit.content
    assert (said["epsilon"], said["delta"], said["purpose"], said["private"]) == (1.0, 1e-6, "table 2", True)
    assert len(said["parameters"]) == 64
    assert outcome.content == {"debit": 1, "outcome": "refused" if release.refused else "released"}
    assert opened.content["epsilon"] == 3.0
    assert ledger.verify() == []


def test_days_tell_nothing_of_how_long_a_release_took(path: Path, monkeypatch) -> None:
    days = iter(["2026-01-30", "2026-01-31"])
    with monkeypatch.context() as patched:
        patched.setattr("dimfree.ledger.ledger._today", lambda: next(days))
        ledger = PrivacyLedger(path, dataset="d", **TOTAL)
        charged = ledger.debit(1.0, 1e-6)
    charged.note_outcome(refused=False)  # much later
    assert [entry.day for entry in ledger.entries()] == ["2026-01-30", "2026-01-31", "2026-01-31"]
    ledger.debit(1.0, 1e-6)
    assert len(ledger.entries()[-1].day) == len("2026-01-31")  # and no time of day


def test_a_refusal_is_charged_and_noted_as_one(ledger: PrivacyLedger) -> None:
    assert release_mean(np.empty((0, 2)), ledger=ledger, **ASKED).refused
    assert ledger.account().debits == 1
    assert ledger.entries()[-1].content == {"debit": 1, "outcome": "refused"}


def test_the_number_of_records_is_nowhere_in_the_ledger(ledger: PrivacyLedger) -> None:
    X = np.random.default_rng(0).normal(size=(271, 2))
    release_mean(X, ledger=ledger, **ASKED)
    bodies = [json.dumps(entry.content) for entry in ledger.entries()]
    assert not any(
        "271" in body.replace(entry.content.get("parameters", "-"), "")
        for body, entry in zip(bodies, ledger.entries(), strict=True)
    )


def test_the_price_does_not_depend_on_the_records(path: Path) -> None:
    prices, draws = set(), np.random.default_rng(0)
    for rows in (0, 50, 3000):
        ledger = PrivacyLedger(path, dataset=f"{rows}", **TOTAL)
        for _ in range(3):
            release_mean(draws.normal(size=(rows, 2)) * (1 + rows), ledger=ledger, **ASKED)
        prices.add(json.dumps([entry.content["price"] for entry in ledger.entries() if entry.event == DEBIT]))
    assert len(prices) == 1


class Watching:
    """At its first draw, of whatever kind, counts the debits that are on disk."""

    def __init__(self, path: Path, *, fails: bool = False) -> None:
        self.path, self.fails, self.seen = path, fails, None
        self.private, self._behind = False, RecordingNoise()

    def __getattr__(self, kind: str):
        if kind not in ("gaussian", "laplace", "coin", "below"):
            raise AttributeError(kind)
        if self.seen is None:
            with sqlite3.connect(self.path) as connection:
                self.seen = connection.execute("SELECT COUNT(*) FROM entries WHERE event = 'debit'").fetchone()[0]
        if self.fails:
            raise RuntimeError("no entropy")
        return getattr(self._behind, kind)


ROOMY = {"epsilon": 1.0, "delta": 1e-3}
KNOWN = {**ROOMY, "covariance": np.ones(2)}
PATHS = {  # each way to a draw, and the relation of its ledger
    "known": (KNOWN, "add-remove"),
    "learned scale": ({**KNOWN, "scale": "learn"}, "add-remove"),
    "unknown": (ROOMY, "add-remove"),
    "public number": ({**KNOWN, "neighbors": "replace-one"}, "replace-one"),
}


@pytest.mark.parametrize("way", PATHS)
def test_the_debit_is_on_disk_before_the_first_draw(path: Path, X: np.ndarray, way: str) -> None:
    options, relation = PATHS[way]
    ledger, noise = PrivacyLedger(path, dataset="d", epsilon=4, delta=1e-2, neighbors=relation), Watching(path)
    release_mean(X, **with_options(ledger=ledger, noise=noise, **options))
    assert noise.seen == 1


def test_groups_and_facades_draw_after_their_debit(path: Path, X: np.ndarray) -> None:
    def by_group(**options: object) -> None:
        release_group_means(X, **with_options(by=np.arange(len(X)) % 2, groups=[0, 1], **options))

    def by_scaler(**options: object) -> None:
        PrivateStandardScaler(with_std=False, **options).fit(X)

    for name, release in (("groups", by_group), ("scaler", by_scaler)):
        place, noise = path.with_name(f"{name}.db"), Watching(path.with_name(f"{name}.db"))
        release(ledger=PrivacyLedger(place, dataset="d", epsilon=4, delta=1e-2), noise=noise, **KNOWN)
        assert noise.seen == 1


@pytest.mark.parametrize(
    "options", [{}, {"covariance": np.ones(2)}, {"covariance": np.ones(2), "options": Options(scale="learn")}]
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_what_is_charged_is_what_the_run_was_calibrated_for(X: np.ndarray, options, relation) -> None:
    """The branch that was taken, and all that came before the choice, is in the charge."""
    seen: list[Charge] = []
    place, many = _keeping(seen), np.concatenate([X] * 4)
    options = {**options, "epsilon": 1.0, "delta": 1e-3, "neighbors": relation}
    release = release_mean(many, **with_options(ledger=place, noise=dimfree.testing.SeededNoise(3), **options))
    [run], spent = seen[0].runs, release.charges
    assert not release.refused
    assert spent.branches[spent.chosen] in run.branches
    assert spent.branches == run.branches or relation == "replace-one"
    assert (spent.before, spent.filtered) == (run.before, run.filtered)


def test_the_charge_stays_when_the_first_draw_fails(path: Path, X: np.ndarray) -> None:
    ledger = PrivacyLedger(path, dataset="d", **TOTAL)
    with pytest.raises(RuntimeError, match="no entropy"):
        release_mean(X, ledger=ledger, noise=Watching(path, fails=True), **ASKED)
    assert events(ledger) == ["opened", DEBIT]
    assert ledger.account().debits == 1


def test_an_interrupt_between_debit_and_release_leaves_the_charge(
    ledger: PrivacyLedger, X: np.ndarray, monkeypatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dimfree.kernel.views.pair_distances", stop)
    with pytest.raises(KeyboardInterrupt):
        release_mean(X, ledger=ledger, **ASKED)
    assert events(ledger) == ["opened", DEBIT]


def test_what_costs_nothing(path: Path, X: np.ndarray) -> None:
    ledger = PrivacyLedger(path, dataset="d", **TOTAL)
    broken = np.array([[np.nan, 1.0]])
    with pytest.raises(dimfree.InvalidDataError):
        release_mean(broken, ledger=ledger, **ASKED)
    with pytest.raises(InvalidParameterError):
        release_mean(X, ledger=ledger, epsilon=1, delta=1e-6, covariance=np.ones(2), options=Options(core_sample=3))
    public = PrivacyLedger(path, dataset="replaced", neighbors="replace-one", **TOTAL)
    refused = release_mean(X[:5], ledger=public, epsilon=1, delta=1e-6, neighbors="replace-one")
    assert refused.refused
    assert events(ledger) == events(public) == ["opened"]


def test_overspending_says_what_is_left_and_what_fits(path: Path) -> None:
    ledger = PrivacyLedger(path, dataset="d", epsilon=1.0, delta=1e-6)
    ledger.debit(0.7, 5e-7)
    before = ledger.head
    with pytest.raises(BudgetExceededError, match=r"epsilon 0\.7 of 1 is spent at delta 1e-06") as caught:
        ledger.debit(0.5, 1e-7)
    assert "up to epsilon 0.3 (delta 1e-07). No budget was charged" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert ledger.head == before
    ledger.debit(0.3, 1e-7)


def test_what_is_said_to_fit_does_fit(ledger: PrivacyLedger, X: np.ndarray) -> None:
    asked, seen = {"epsilon": 1.0, "delta": 1e-6, "objective": "relative"}, []
    release_mean(X, ledger=_keeping(seen), **asked)
    [charge] = seen
    while ledger.account().decide(charge) is not None:
        release_mean(X, ledger=ledger, **asked)
    with pytest.raises(BudgetExceededError) as caught:
        release_mean(X, ledger=ledger, **asked)
    assert ledger.account().debits > 4  # adding up would have stopped at three
    following = ledger.status().next_gaussian
    assert f"per-column estimator) up to epsilon {following.epsilon!r} (delta {following.delta!r})" in str(caught.value)
    release_mean(X, ledger=ledger, **{**asked, "epsilon": following.epsilon, "delta": following.delta})


def test_a_ledger_as_large_as_one_release_takes_that_release(path: Path, X: np.ndarray) -> None:
    ledger = PrivacyLedger(path, dataset="d", epsilon=1.0, delta=1e-6)
    release_mean(X, ledger=ledger, **ASKED)
    assert ledger.status().spent_epsilon == 1.0
    assert ledger.status().next_budget is None
    with pytest.raises(BudgetExceededError, match="no further release fits"):
        ledger.debit(0.01, 1e-9)


def test_a_promise_is_charged_in_full_however_large(path: Path, X: np.ndarray) -> None:
    ledger = PrivacyLedger(path, dataset="d", epsilon=150.0, delta=1e-5)
    for epsilon in (5000.0, 151.0, 1e300, 1.7e308):
        with pytest.raises(BudgetExceededError):
            ledger.debit(epsilon, 1e-6)
    ledger.debit(120.0, 1e-6)
    with pytest.raises(BudgetExceededError):
        ledger.debit(31.0, 1e-6)
    assert ledger.status().spent_epsilon == 120
    composed = PrivacyLedger(path, dataset="composed", **TOTAL)
    composed.debit(0.05, 1e-9)
    with pytest.raises(BudgetExceededError):
        composed.debit(1.7e308, 1e-6)


def test_the_smallest_delta_is_that_of_a_pure_release_and_of_what_is_said_to_fit(
    path: Path, ledger: PrivacyLedger
) -> None:
    ledger.debit(1.0, 0)
    assert ledger.entries()[1].content["delta"] == 1e-12
    scarce = PrivacyLedger(path, dataset="scarce", epsilon=3.0, delta=1.5e-12)
    scarce.debit(0.1, 1e-12)
    with pytest.raises(BudgetExceededError, match="no further release fits"):
        scarce.debit(0.1, 1e-12)


@pytest.mark.filterwarnings("ignore::dimfree.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize("asked", [{"epsilon": 30.0, "delta": 0.5}, {"epsilon": 10.0, "delta": 0.99}])
def test_a_large_delta_is_charged_by_its_guarantee(path: Path, X: np.ndarray, asked: dict) -> None:
    ledger = PrivacyLedger(path, dataset="d", epsilon=40.0, delta=0.995)
    release_mean(X, **with_options(ledger=ledger, covariance=np.ones(2), **asked))
    assert ledger.account().debits == 1


def test_a_ledger_is_the_same_file_in_every_folder(tmp_path: Path, monkeypatch) -> None:
    ledgers = {}
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        ledgers[folder] = PrivacyLedger("study.db", dataset="d", **TOTAL)
    ledgers["here"].debit(1.0, 1e-6)
    assert (ledgers["here"].account().debits, ledgers["there"].account().debits) == (1, 0)


def test_a_ledger_that_was_exchanged_for_another_takes_no_debit(path: Path) -> None:
    ledger = PrivacyLedger(path, dataset="d", **TOTAL)
    path.unlink()
    PrivacyLedger(path, dataset="d", neighbors="replace-one", **TOTAL)
    with pytest.raises(InvalidFileError, match="was replaced by another file or an older copy"):
        ledger.debit(1.0, 1e-6)
    assert PrivacyLedger(path, dataset="d").account().debits == 0


@pytest.mark.parametrize("name", ["trial ", " trial", "e\u0301tude"])
def test_names_that_look_like_another_are_none(path: Path, name: str) -> None:
    with pytest.raises(InvalidParameterError, match="NFC"):
        PrivacyLedger(path, dataset=name, **TOTAL)


def test_reopening_keeps_what_was_spent_and_the_total(path: Path) -> None:
    with PrivacyLedger(path, dataset="d", **TOTAL) as ledger:
        ledger.debit(1.0, 1e-6)
    assert PrivacyLedger(path, dataset="d").account() == PrivacyLedger(path, dataset="d", **TOTAL).account()
    assert PrivacyLedger(path, dataset="d").account().debits == 1
    for other in ({"epsilon": 4.0, "delta": 1e-5}, {"epsilon": 3.0, "delta": 1e-4}):
        with pytest.raises(InvalidParameterError, match="never change"):
            PrivacyLedger(path, dataset="d", **other)
    with pytest.raises(InvalidParameterError, match="add-remove"):
        PrivacyLedger(path, dataset="d", neighbors="replace-one")
    with pytest.raises(InvalidParameterError, match="closed"):
        ledger.debit(0.1, 1e-7)


def test_another_relation_or_unit_is_an_error(path: Path, ledger: PrivacyLedger, X: np.ndarray) -> None:
    persons, keys = PrivacyLedger(path, dataset="p", privacy_unit="", **TOTAL), np.arange(len(X)) // 2
    named = PrivacyLedger(path, dataset="n", privacy_unit="patient", **TOTAL)
    wrong = [
        (ledger, {"neighbors": "replace-one"}),
        (ledger, {"privacy_unit": keys}),
        (persons, {}),
        (named, {"privacy_unit": keys}),
    ]
    for charged, other in wrong:
        with pytest.raises(InvalidParameterError, match="do not compose"):
            release_mean(X, ledger=charged, **ASKED, **other)
    release_mean(X, ledger=persons, privacy_unit=keys, **ASKED)
    assert (ledger.account().debits, persons.account().debits) == (0, 1)


def test_groups_are_charged_once_for_all(path: Path, X: np.ndarray) -> None:
    ledger = PrivacyLedger(path, dataset="d", **TOTAL)
    groups = np.arange(len(X)) % 3
    options = {"by": groups, "groups": [0, 1, 2], "epsilon": 1.0, "delta": 1e-4}
    with pytest.raises(InvalidParameterError, match="tails"):
        release_group_means(X, **with_options(covariance=np.ones(2), tails="fat", ledger=ledger, **options))
    with pytest.raises(BudgetExceededError):
        release_group_means(X, covariance=np.ones(2), ledger=ledger, **options)
    large = PrivacyLedger(path, dataset="large", epsilon=3.0, delta=1e-3)
    release_group_means(X, covariance=np.ones(2), ledger=large, **options)
    assert events(large) == ["opened", DEBIT, OUTCOME]
    with pytest.raises(InvalidParameterError, match="do not compose"):
        release_group_means(X, covariance=np.ones(2), privacy_unit=groups, ledger=large, **options)
    assert not large.statement().startswith("Not private")
    release_group_means(X, covariance=np.ones(2), ledger=large, noise=dimfree.testing.SeededNoise(1), **options)
    assert large.statement().startswith("Not private")
    assert events(ledger) == ["opened"]


def test_groups_are_charged_for_the_overall_run_and_for_one_group(X: np.ndarray) -> None:
    """What is charged is what the runs of a release list themselves."""
    options = {"by": np.zeros(len(X)), "groups": [0], "epsilon": 1.0, "delta": 1e-3, "noise": RecordingNoise()}
    for own in ({}, {"covariance": np.ones(2)}, {"covariance": np.ones(2), "options": Options(scale="learn")}):
        seen: list[Charge] = []
        means = release_group_means(X, ledger=_keeping(seen), **own, **options)
        spent = [release.charges for release in means.values()]
        runs = spent[0].runs if not own else spent
        assert [(run.budget, run.before, run.branches) for run in seen[0].runs] == [
            (run.budget, run.before, run.branches) for run in runs
        ]
        assert seen[0].budget == Budget(1.0, 1e-3)


def _keeping(seen: list[Charge]) -> PrivacyLedger:
    """A ledger that keeps the charges in a list and no more."""

    class Noted:
        def note_outcome(self, *, refused: bool) -> None: ...

    class Keeping(PrivacyLedger):
        def __init__(self) -> None: ...

        def charge(self, charge: Charge, **rest: object) -> Noted:
            seen.append(charge)
            return Noted()

    return Keeping()


def test_the_estimator_passes_its_ledger_on_and_seeded_noise_marks_it(ledger: PrivacyLedger, X: np.ndarray) -> None:
    dimfree.PrivateMean(ledger=ledger, noise=RecordingNoise(), **ASKED).fit(X)
    assert ledger.account().debits == 1
    release_mean(X, ledger=ledger, noise=dimfree.testing.SeededNoise(1), **ASKED)
    assert ledger.account().debits == 2
    assert ledger.statement().startswith("Not private")


@pytest.mark.parametrize(
    "bad",
    [
        {"dataset": ""},
        {"dataset": 7},
        {"epsilon": 3.0},
        {"timeout": 0},
        {"privacy_unit": 3},
        {"epsilon": -1.0, "delta": 1e-5},
    ],
)
def test_bad_parameters_are_named(path: Path, bad: dict) -> None:
    with pytest.raises(InvalidParameterError):
        PrivacyLedger(path, **{"dataset": "d", **({} if "epsilon" in bad else TOTAL), **bad})


def test_something_else_is_no_ledger(X: np.ndarray) -> None:
    for other in ("study.db", release_mean(X, **ASKED).charges):
        with pytest.raises(InvalidParameterError, match=r"dimfree\.PrivacyLedger"):
            release_mean(X, ledger=other, **ASKED)


def test_errors_of_the_file_name_it_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, but long enough to have a header " * 3)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE entries (x)")
    other.commit()
    other.close()
    for name, words in (
        ("text.db", "not a ledger"),
        ("other.db", "not a ledger"),
        (".", "folder"),
        ("missing/study.db", "folder exists"),
        ("x" * 300, "cannot be opened"),
    ):
        with pytest.raises(InvalidFileError, match=words):
            PrivacyLedger(tmp_path / name, dataset="d", **TOTAL)
    with pytest.raises(InvalidFileError, match="no ledger"):
        PrivacyLedger(tmp_path / "nowhere.db", dataset="d")
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(InvalidParameterError, match="path"):
        PrivacyLedger("a\0b", dataset="d", **TOTAL)


def test_a_locked_file_is_an_error_with_a_remedy(path: Path) -> None:
    ledger = PrivacyLedger(path, dataset="d", timeout=0.05, **TOTAL)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InvalidFileError, match="longer timeout"):
        ledger.debit(1.0, 1e-6)
    holder.close()
    assert ledger.account().debits == 0


@pytest.mark.parametrize("trouble", [InvalidFileError("locked"), OSError("secret"), MemoryError()])
def test_trouble_with_the_outcome_never_loses_a_release_that_is_paid_for(
    ledger: PrivacyLedger, monkeypatch, trouble
) -> None:
    """Not even where warnings are errors."""

    def fail(*args):
        raise trouble

    charged = ledger.debit(1.0, 1e-6)
    monkeypatch.setattr("dimfree.ledger.ledger.writing", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        charged.note_outcome(refused=False)
    with pytest.warns(RuntimeWarning, match="not recorded") as told:
        charged.note_outcome(refused=False)
    assert "secret" not in str(told[0].message)
