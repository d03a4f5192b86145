"""Facts about every public call: its charges are for its noise, no text shows a record, storage changes no bit."""

import pickle
import traceback
import warnings
from collections import Counter
from dataclasses import replace

import dask.array
import numpy as np
import pytest
from scipy import sparse

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.events import COUNT_STEPS, Gaussian
from dimfree.accounting.several_runs import costs_from_dict
from dimfree.audit.calls import DELTA, HUGE, Call, calls
from dimfree.errors import DimfreeError, RefusalWarning
from dimfree.kernel.session import ChargedNoise, Session
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.results.grouped import GroupMeans

EPSILON = 2.0
CALLS = {str(call): call for call in calls(EPSILON)}
every_call = pytest.mark.parametrize("name", CALLS)


def text(call, table, store=np.asarray):
    return call.release(table, EPSILON, SeededNoise(3), store).to_json()


@every_call
def test_extreme_magnitudes_raise_nothing_even_if_every_warning_is_an_error(name):
    call = CALLS[name]
    table = call.table()
    table[:6, :-1] = np.array([1.7e308, -1.7e308, 5e-324, -0.0, 1e-300, 1e200])[:, None]
    expected = text(call, table)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RefusalWarning)
        assert text(call, table) == expected


INVALID = ([np.nan, np.nan], [np.inf, 0.0], [-np.inf, 1e308], [3.0, np.nan])
DROPPING = [name for name, call in CALLS.items() if call.columns == 2 and call.given.get("missing") != "available-case"]


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_rows_are_alike_whatever_else_they_hold(name):
    call = CALLS[name]
    dropping = Call(call.name, call.size, {**call.given, "missing": "complete-case"}, call.relation, door=call.door)
    table, found = call.table(), set()
    for row in INVALID:
        table[7, :-1] = row
        found |= {text(dropping, table), text(dropping, table, sparse.csr_array)}
    assert len(found) == 1
    table[7, :-1] = 100.0, 0.0
    assert text(dropping, table) not in found


# ---- charges


class NotedNoise(SeededNoise):
    """Seeded noise that notes how many Gaussian numbers of each standard deviation were drawn."""

    def __init__(self, seed):
        super().__init__(seed)
        self.drawn = Counter()

    def gaussian(self, stddev, size):
        self.drawn[stddev] += size
        return super().gaussian(stddev, size)


def releases_of(outcome):
    found = [*outcome.values(), outcome.overall] if isinstance(outcome, GroupMeans) else [outcome]
    return [release for release in found if release is not None]


@every_call
def test_the_charges_are_for_the_noise_that_was_drawn(name):
    check_charges(CALLS[name])


def check_charges(call):
    noise, charged = NotedNoise(3), Counter()
    for release in releases_of(call.release(call.table(), EPSILON, noise)):
        costs = costs_from_dict(release.charges.to_dict())
        assert costs.budget.epsilon <= EPSILON
        assert costs.delta() <= costs.budget.delta <= DELTA
        gaussians = [event for event in costs.events if isinstance(event, Gaussian)]
        for event in gaussians:
            charged[event.stddev] += event.dimension
            assert event.mu >= event.sensitivity / event.stddev * (1 - 1e-9)
        counts = [event for event in gaussians if event.step == 1 / COUNT_STEPS and event.dimension == 1]
        if call.relation is Neighbors.ADD_REMOVE and "count" in release.parameters:
            assert counts
            assert len(counts) > 1 or (float(release.parameters["count"]) * COUNT_STEPS).is_integer()
    assert set(noise.drawn) == set(charged)
    assert all(noise.drawn[each] <= charged[each] for each in charged)


COUNT, COSTS = Session._noisy_count, Session.costs
MUTANTS = {
    "a count without noise": (Session, "_noisy_count", lambda session, charged: float(session._space.count)),
    "a count off its grid": (Session, "_noisy_count", lambda session, charged: COUNT(session, charged) + 1e-7),
    "half the noise": (ChargedNoise, "draw", lambda c, size: c._noise.gaussian(c.event.stddev / 2, size)),
    "a forgotten charge": (Session, "costs", lambda session: replace(COSTS(session), after=COSTS(session).after[:-1])),
}


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_mutant_of_the_kernel_is_found_in_its_charges(monkeypatch, mutant):
    monkeypatch.setattr(*mutant)
    with pytest.raises(AssertionError):
        check_charges(CALLS["per column, add-remove"])


# ---- storage and texts


@every_call
def test_the_release_is_the_same_bits_whatever_the_order_and_the_container(name, tmp_path):
    call = CALLS[name]
    table = call.table()
    table[:, :-1] = table[:, :-1].astype(np.float32)  # single precision holds the same numbers
    expected = text(call, table)
    if call.columns == 2:  # many columns are worked on in secret samples of positions
        assert text(call, table[::-1]) == expected
    stores = [lambda rows: np.asfortranarray(rows.astype(np.float32)), sparse.csr_array]
    if call.door is release_mean:
        path = tmp_path / "table.npy"
        np.save(path, table[:, :-1])
        stores += [lambda _: str(path), lambda rows: dask.array.from_array(rows, chunks=(50, -1))]
    for store in stores:
        assert text(call, table, store) == expected


SECRET, FEW = 9182736455463.25, 12  # of so few records every call refuses, or names no group
SHOWN = ("918273645546", "9.18273645", "9.18273646", "9_182_736_455", "9,182,736,455", "9.18274e+12")
SPOILED = {
    "missing values": lambda rows: np.where(np.arange(rows.shape[1]) == 0, np.nan, rows),
    "a vector": lambda rows: rows[:, 0],
    "text": lambda rows: rows.astype(str),
    "complex numbers": lambda rows: rows + 1j,
    "ragged rows": lambda rows: [*rows.tolist()[1:], rows.tolist()[0][:1]],
}


def with_secret(table):
    found = table.copy()
    found[len(table) // 2, :-1] = SECRET
    return found


@every_call
def test_no_text_shows_a_record_and_no_refusal_depends_on_one(name):
    call = CALLS[name]
    few = call.table(FEW)
    tables = (with_secret(call.table()), few, with_secret(few), np.vstack([few[:-1], [*[HUGE] * call.columns, 0]]))
    outcomes = [call.release(table, EPSILON, SeededNoise(5)) for table in tables]
    for outcome in outcomes:
        parts = [outcome, *(each for release in releases_of(outcome) for each in (release, release.charges))]
        texts = [outcome.to_json(), *map(repr, parts), *map(str, parts)]
        texts += [pickle.dumps(release).decode("latin-1") for release in releases_of(outcome)]
        assert not any(secret in shown for shown in texts for secret in SHOWN)
    assert len({" ".join(str(release.refusal) for release in releases_of(outcome)) for outcome in outcomes[1:]}) == 1


@every_call
@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_no_error_depends_on_a_record(name, spoil):
    def error(table):
        try:
            call.release(table, EPSILON, SeededNoise(5), spoil)
        except DimfreeError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - of NumPy, say: it may quote a record
            return "".join(traceback.format_exception(error))

    call = CALLS[name]
    assert error(call.table()) == error(with_secret(call.table()))
