"""The audit finds planted faults in public calls, and accuses none without a fault."""

import json
from dataclasses import replace

import numpy as np
import pytest
from stats import sampling

from dimfree.accounting.events import Gaussian
from dimfree.audit import attack
from dimfree.audit.attack import SAMPLED, Row, play_canaries, sample
from dimfree.audit.calls import Call, calls, canary_calls, pairs, released_numbers
from dimfree.audit.invariants import INVARIANTS
from dimfree.audit.run import WRITERS, audit, summarize
from dimfree.kernel.session import ChargedNoise, Session
from dimfree.noise import SeededNoise

EPSILON, FAILURE = 1.0, 1e-6
AMPLE = 1e9  # seconds: the numbers of releases below decide
CALLS = {str(call): call for call in calls(EPSILON)}
PER_COLUMN = CALLS["per column, add-remove"]


class Scaled(SeededNoise):
    """Gaussian noise of another standard deviation."""

    def __init__(self, seed, factor):
        super().__init__(seed)
        self.factor = factor

    def gaussian(self, stddev, size):
        return super().gaussian(self.factor * stddev, size)


@pytest.fixture
def few(monkeypatch):
    """One pair of tables, and so many fresh releases on either."""

    def limit(count):
        monkeypatch.setattr(attack, "_MAX_SAMPLES", count)
        monkeypatch.setattr(attack, "pairs", lambda call: list(pairs(call))[:1])

    return limit


# ---- samples and canaries


@pytest.mark.slow
@sampling(1e-6)
def test_a_right_release_is_not_accused(few, seed):
    few(150)
    row = sample(PER_COLUMN, EPSILON, AMPLE, FAILURE, SeededNoise(seed))
    assert row.verdict == "held"
    assert row.lower_bound <= EPSILON


@sampling(1e-6)
def test_too_little_noise_is_found_by_samples(few, seed):
    few(150)
    row = sample(PER_COLUMN, EPSILON, AMPLE, FAILURE, Scaled(seed, 1 / 8))
    assert row.verdict == "violated", row


@pytest.mark.slow
@sampling(1e-6)
def test_half_the_noise_is_found_by_samples(few, seed):
    few(20_000)
    row = sample(PER_COLUMN, EPSILON, AMPLE, FAILURE, Scaled(seed, 1 / 2))
    assert row.verdict == "violated", row


@sampling(1e-6)
@pytest.mark.parametrize(
    ("factor", "verdict"), [(1 / 8, "violated"), pytest.param(1.0, "held", marks=pytest.mark.slow)]
)
def test_too_little_noise_is_found_by_canaries(seed, monkeypatch, factor, verdict):
    monkeypatch.setattr(attack, "_MAX_RELEASES", 40)
    assert play_canaries(canary_calls(1.0, 60)[0], 1.0, AMPLE, FAILURE, Scaled(seed, factor)).verdict == verdict


@pytest.mark.slow
@sampling(1e-6)
def test_half_the_noise_is_found_by_canaries(seed):
    assert play_canaries(canary_calls(1.0)[2], 1.0, AMPLE, FAILURE, Scaled(seed, 1 / 2)).verdict == "violated"


def test_too_little_time_is_stated():
    assert sample(PER_COLUMN, EPSILON, 1e-3, FAILURE, SeededNoise(0)).verdict == "no time"
    assert play_canaries(canary_calls(1.0)[2], 1.0, 1e-3, FAILURE, SeededNoise(0)).verdict == "no time"


# ---- tables


@pytest.mark.parametrize("name", CALLS)
def test_pairs_are_neighbors(name):
    call, found = CALLS[name], list(pairs(CALLS[name]))
    assert len({pair.name for pair in found}) == len(found) >= 10
    for _, here, there in found:
        same = sum((row == there).all(axis=1).any() for row in np.nan_to_num(here, nan=-7.0))
        assert len(here) - len(there) == (call.relation == "add-remove")
        assert same >= len(here) - 1
        assert not np.array_equal(here, there)


@pytest.mark.parametrize("name", CALLS)
def test_every_call_answers_ordinary_records(name):
    call = CALLS[name]
    answers = [released_numbers(call.release(call.table(), EPSILON, SeededNoise(seed))) for seed in range(5)]
    assert sum(numbers[0] == 0 for numbers in answers) >= 3
    assert {len(numbers) for numbers in answers} == {len(answers[0])}


# ---- invariants


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("invariant", INVARIANTS)
def test_every_call_holds_every_invariant(name, invariant):
    assert list(INVARIANTS[invariant](CALLS[name], EPSILON)) == []


def complaints(invariant, call=PER_COLUMN):
    return " ".join(INVARIANTS[invariant](call, EPSILON))


COUNT, COSTS = Session._noisy_count, Session.costs
MUTANTS = {  # owner, name, what stands there instead, what is said
    "a count without noise": (
        (Session, "_noisy_count", lambda session, charged: float(session._space.count)),
        "is not the noise that is charged",
    ),
    "a count off its grid": (
        (Session, "_noisy_count", lambda session, charged: COUNT(session, charged) + 1e-7),
        "not on its grid",
    ),
    "half the noise": (
        (ChargedNoise, "draw", lambda charged, size: charged._noise.gaussian(charged.event.stddev / 2, size)),
        "is not the noise that is charged",
    ),
    "a forgotten charge": (
        (Session, "costs", lambda session: replace(COSTS(session), after=COSTS(session).after[:-1])),
        "is not the noise that is charged",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_kernel_is_found_in_its_charges(monkeypatch, name):
    place, said = MUTANTS[name]
    monkeypatch.setattr(*place)
    assert said in complaints("charges")


def test_halved_charges_of_more_noise_than_the_budget_allows_are_found(monkeypatch):
    """The kernel states half of every sensitivity, and the release spends twice its precision."""
    monkeypatch.setattr(Gaussian, "mu", property(lambda event: event.sensitivity / event.stddev / 2))
    monkeypatch.setattr(Session, "_check_fits", lambda *_: None)
    right = Session._release

    def release(self, statistic, size, moves, step, mu, *rest, **given):
        return right(self, statistic, size, moves, step, 2 * mu, *rest, **given)

    monkeypatch.setattr(Session, "_release", release)
    assert complaints("charges")


def test_an_order_that_matters_is_found(monkeypatch):
    def draw(call, table, *rest, **given):
        first, outcome = float(table[0, 0]), right(call, table, *rest, **given)
        return type("Outcome", (), {"to_json": lambda self: f"{first} {outcome.to_json()}"})()

    right = Call.release
    monkeypatch.setattr(Call, "release", draw)
    assert "the order of the records changes the release" in complaints("order and storage")


def test_a_storage_that_matters_is_found(monkeypatch):
    right = Call.release

    def release(call, table, epsilon, noise=None, store=np.asarray):
        return right(call, table, epsilon, noise, lambda rows: store(rows * (1.01 if store is not np.asarray else 1)))

    monkeypatch.setattr(Call, "release", release)
    assert "stored as sparse matrix" in complaints("order and storage")


def test_texts_that_show_a_record_are_found(monkeypatch):
    right = Call.release

    def release(call, table, epsilon, noise=None, store=np.asarray):
        stored = store(table[:, :-1])
        if not isinstance(stored, np.ndarray) or stored.dtype != np.float64 or stored.ndim != 2:
            raise ValueError(f"The last number is {np.asarray(table).max()}.")
        return right(call, table, epsilon, noise, store)

    monkeypatch.setattr(Call, "release", release)
    assert "an error about text depends on a record" in complaints("texts")


def test_a_release_that_shows_a_record_is_found(monkeypatch):
    right = Call.release

    def release(call, table, *rest, **given):
        outcome = right(call, table, *rest, **given)
        shown = f"released from {float(table[:, 0].max())!r}"
        kept = {name: getattr(outcome, name) for name in ("refusal", "refused", "ledger")}
        return type("Outcome", (), {**kept, "to_json": lambda self: shown, "__reduce__": lambda self: (str, ())})()

    monkeypatch.setattr(Call, "release", release)
    assert "a release shows a record" in complaints("texts")


# ---- the run and its report


@pytest.mark.slow
def test_rows_come_in_order_from_one_process_or_two():
    alone, both = (list(audit(1e-3, EPSILON, part="invalid rows", jobs=jobs)) for jobs in (1, 2))
    assert [(row.call, row.how, row.verdict) for row in alone] == [(row.call, row.how, row.verdict) for row in both]
    assert [row.verdict for row in both] == ["no time"]


def test_a_call_that_raises_is_a_violation(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("in a release")

    monkeypatch.setattr(Call, "release", fail)
    [row] = audit(1.0, EPSILON, part="invalid rows")
    assert row.verdict == "violated"
    assert row.detail == "broke off: ZeroDivisionError: in a release"


def test_reports_hold_every_row():
    rows = [
        Row("a|b", SAMPLED, 1.0, 0.01, 0.4, 3, 100, "held", "far <1>"),
        Row("c", SAMPLED, 1.0, 0.01, 2.0, 3, 100, "violated", "far"),
    ]
    assert summarize(rows).startswith("1 held, 1 violated, 0 no time.")
    assert [row["call"] for row in json.loads(WRITERS[".json"](rows, "0"))["rows"]] == ["a|b", "c"]
    assert "far &lt;1&gt;" in WRITERS[".html"](rows, "0")
    assert "| a\\|b | sampled | 1 | 0.01 | 0.4 |" in WRITERS[".md"](rows, "0")
