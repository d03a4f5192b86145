"""Bits, order, storage, batches: every numerical check of the audit catches its twins.

That the checks find nothing in the right code is part of the short audit (test_run); here each has a partner that is
quick, and twins that differ from it by one ordinary mistake. Words are in test_silence, noise and time in
test_isolation.
"""

from dataclasses import replace

import numpy as np
import pytest
from audit.changed import QUICK, changed, some

from dimfree.accounting.events import Gaussian
from dimfree.audit.audited import off_list
from dimfree.audit.numerics import batches, checks, order, replay
from dimfree.audit.numerics.calls import BUDGET, table, ways
from dimfree.data.records import as_records
from dimfree.noise import SeededNoise
from dimfree.paper.charged import Charged, Measured
from dimfree.programs.learn import stages
from dimfree.release import release_mean
from dimfree.simulation import public_simulation

# ---- lattice points


def test_right_releases_are_functions_of_lattice_points():
    assert replay.lattice_points(some(*QUICK)) == []


LOW_BITS = {
    "low bits of the float mean": lambda found, X: replace(found, _mean=found.mean + 1e-15 * X.mean(axis=0)),
    "the last bit by the sign of a record": lambda found, X: replace(
        found, _mean=np.nextafter(found.mean, np.sign(X[-1, 0]) * np.inf)
    ),
    "exact n in the scale": lambda found, X: replace(found, _noise_stddev=found.noise_stddev / len(X)),
    "n in the parameters": lambda found, X: replace(found, parameters={**found.parameters, "n": len(X)}),
}


@pytest.mark.parametrize("change", LOW_BITS.values(), ids=LOW_BITS.keys())
def test_more_than_lattice_points_is_caught(change):
    assert any("tells apart" in line for line in replay.lattice_points(changed(change)))


def test_a_float_gaussian_inside_a_stage_is_caught(monkeypatch, seed):
    """The float mean of clipped records plus float noise: right in law, and it leaks through its bits."""
    drawn = np.random.default_rng(seed).normal(size=4)

    def float_mean(space, ball, count, mu, relation, purpose, *, noise):
        rows = np.concatenate([rows for rows, _ in space.blocks()]) - ball.centre
        noisy = (rows.sum(axis=0) + drawn * ball.radius / mu) / count
        return Measured(noisy, Gaussian(purpose, 2.0**24, 2.0**24 / mu, 4, ball.radius / 2**24))

    assert replay.lattice_points(some("recentred, Isotropic")) == []
    monkeypatch.setattr(stages, "noisy_clipped_mean", float_mean)
    assert len(replay.lattice_points(some("recentred, Isotropic"))) == 3


def test_a_settled_vector_comes_out_again():
    notes = replay.ReplayNoise(1).notes
    first = np.arange(3) + replay.ReplayNoise(1, 0, notes).gaussian(1.0, 3)
    again = np.array([7, 7, 7], dtype=object) + replay.ReplayNoise(1, 0, notes).gaussian(1.0, 3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, np.arange(3))


def test_what_is_not_listed_is_caught():
    listed = off_list((1.0, 2.0))
    assert listed(Charged(2.0, None)) == 0
    assert listed(Charged([2.0, np.nextafter(2.0, 3.0)], None)) == 1


# ---- order, storage, blocks


def blockwise_mean(given):
    """Sums of floats, block after block."""
    return sum(block.sum(axis=0) for block, _ in as_records(given).blocks())


def float_pairs(given):
    """Friends by float32 distances from the first record that came."""
    rows = np.concatenate([block for block, _ in as_records(given).blocks()])
    offsets = (rows - rows[0]).astype(np.float32)
    gram = offsets @ offsets.T
    return (np.diag(gram)[:, None] + np.diag(gram) - 2 * gram <= 1.0).sum()


ORDERED = {"float sum": blockwise_mean, "float pairs": float_pairs, "the first record": lambda given: given[0]}


@pytest.mark.parametrize("statistic", ORDERED.values(), ids=ORDERED.keys())
def test_an_order_is_caught(statistic):
    assert any("order" in line for line in order.order(statistic))


def test_a_release_that_knows_the_order_is_caught():
    def first(given):
        return release_mean(given - given[0], **BUDGET, **ways()["soft"], noise=SeededNoise(1)).to_json()

    assert order._ordered({"first": first}, table()) == ["first depends on the order of the records"]


def test_storage_and_blocks_are_caught():
    found = order.storage({"float sum": blockwise_mean})
    assert any("blocks of" in line for line in found)
    as_stored = order.storage({"as stored": lambda given: str(type(given))})
    assert len(as_stored) >= 3
    squares = order.storage({"squares": lambda given: np.float64((np.asarray(given) ** 2).sum(axis=0))})
    assert any("float32" in line for line in squares)


def test_blocks_are_put_back():
    def sizes():
        return [getattr(where, name) for where, name, _ in order._BLOCKS]

    before = sizes()
    with order.blocks_of(3, 4):
        assert set(sizes()) == {3, 12}
    assert sizes() == before
    assert not {3, 12} & set(before)


# ---- the predicate and other maps


def batched_counts(records, about=0):
    """|x|² + |y|² - 2xy in floats: the usual way to get distances, and the way rounding gets in."""
    rows = (np.asarray(records) - about).astype(np.float64)
    gram = rows @ rows.T
    squares = np.diag(gram)
    return (squares[:, None] + squares - 2 * gram <= float(2**40)).sum(axis=1)


BATCHED = {
    "a batched product": batched_counts,
    "about the first record": lambda records: batched_counts(records, records[0]),
    "float32": lambda records: np.array(
        [(np.linalg.norm((records - r).astype("f4"), axis=1) <= 2**20).sum() for r in records]
    ),
    "a strict radius": lambda records: np.array([(np.abs(records - r).max(axis=1) < 2**20).sum() for r in records]),
}


@pytest.mark.parametrize("counts", BATCHED.values(), ids=BATCHED.keys())
def test_a_predicate_by_batch_is_caught(counts):
    assert any("batch" in line for line in batches.predicate(counts))


def test_a_batched_map_is_caught():
    turn = np.linalg.qr(public_simulation(1).normal(size=(130, 130)))[0]
    maps = {
        "product": (lambda rows: rows @ turn, 130),
        "centred": (lambda rows: rows - rows.mean(axis=0), 130),
        "norms": (lambda rows: (rows**2).sum(axis=1), 130),
        "entrywise": (lambda rows: rows * 0.3, 130),
    }
    with np.errstate(all="ignore"):
        found = batches.recordwise(maps)
    assert {line.split(" depends")[0] for line in found} == {"product", "centred", "norms"}


# ---- the list


def test_every_promise_has_a_check():
    said = " ".join(checks.NUMERICS)
    for word in ("lattice", "order", "storage", "predicate", "silence", "refusals", "errors", "invalid", "processes"):
        assert word in said
