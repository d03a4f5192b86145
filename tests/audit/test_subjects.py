"""Every mechanism and estimator is sampled, on pairs that are neighbours and stand where the code decides."""

import math
from collections import Counter
from functools import cache
from typing import get_args

import numpy as np
import pytest
from scipy import sparse

from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.audited import DELTA, prepared
from dimfree.audit.mechanisms import group_means, group_variances, releases, search, unit_of_scores
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.pairs.spread import spread_points
from dimfree.audit.registry import subjects
from dimfree.audit.release_calls import KNOWN, PAPER, paper_size, release_calls
from dimfree.noise import SeededNoise
from dimfree.paper import algorithm2 as paper
from dimfree.paper.stable_histogram import publishing_threshold
from dimfree.programs import run
from dimfree.programs.run import CAUTION
from dimfree.request import Learned

EPSILON = 3.0
MECHANISMS = [subject for subject in subjects(EPSILON) if not subject.name.startswith("release")]
CALLS = release_calls(EPSILON)
BOTH = tuple(Neighbours)


def titled(call):
    return f"{call.name}, {call.relation}"


@cache
def suite_of(title):
    call = next(call for call in CALLS if titled(call) == title)
    return tuple(releases.release_pairs(call, EPSILON))


def rows(table):
    dense = np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)
    return Counter(row.tobytes() for row in dense + 0.0)  # one zero


def are_neighbours(pair):
    gone, new = rows(pair.here) - rows(pair.there), rows(pair.there) - rows(pair.here)
    moved = sorted((gone.total(), new.total()))
    return moved == ([0, 1] if pair.relation is Neighbours.ADD_REMOVE else [1, 1])


def test_every_mechanism_is_sampled_under_every_relation_it_knows():
    names = [subject.name for subject in subjects(EPSILON)]
    assert len(set(names)) == len(names)
    for word in (
        *("clipped mean", "scores", "group means", "search", "friend radius", "unit of scores"),
        *("directions", "togetherness", "outer products", "soft histograms", "lengths of records"),
        *("k-th largest variance", "variance sum", "coordinate variances", "top variances", "variance profile"),
        *("stable", "recentred", "cheapest", "unknown scale", "auto", "paper", "sampled core"),
        *("columns, relative", "columns, total"),
    ):
        assert {name.rsplit(", ", 1)[-1] for name in names if word in name} >= {"add-remove", "replace-one"}, word
    for word in ("grouping", "grouped variances", "sample", "soft core", "stable core", "release: soft", "basic"):
        assert any(word in name for name in names), word
    for word in ("denoised", "invalid rows", "scikit-learn", "Diagonal", "Dense", "LowRank"):
        assert any(word in name for name in names), word


def test_every_learned_shape_is_called():
    assert set(get_args(Learned)) <= {call.name for call in CALLS}


@pytest.mark.parametrize("subject", MECHANISMS, ids=lambda subject: subject.name)
def test_pairs_of_mechanisms_are_neighbours_and_rows_have_one_length(subject):
    suite = subject.pairs()
    assert all(are_neighbours(pair) and pair.relation is subject.relation for pair in suite)
    found = [subject.draw(table, SeededNoise(1)) for pair in suite for table in (pair.here, pair.there)]
    assert len({row.shape for row in found}) == 1
    assert found[0].ndim == 1


@pytest.mark.parametrize("call", CALLS, ids=titled)
def test_pairs_of_releases_are_neighbours_and_are_answered(call):
    """The noise lets the test pass, so an answer is refused only where the code must refuse it."""
    suite = suite_of(titled(call))
    assert all(are_neighbours(pair) and pair.relation is call.relation for pair in suite)
    assert len({pair.name for pair in suite}) == len(suite) >= 8
    noise = SeededNoise(3) if call.tables == PAPER else ZeroNoise()
    answered = [not call.release(pair.here, EPSILON, noise).refused for pair in suite]
    assert sum(answered) >= len(suite) * 3 // 5


@pytest.mark.parametrize("call", [call for call in CALLS if call.tables != PAPER], ids=titled)
def test_lengths_are_in_units_of_the_radius_that_is_used(call):
    given = releases.table_size(call, EPSILON)
    table = suite_of(titled(call))[0].here
    radius = releases.deciding_radius(call.release(table, EPSILON, ZeroNoise()))
    assert radius == pytest.approx(given.radius, rel=1e-9 if call.tables == KNOWN else 0.1)


def test_the_paper_s_radius_is_the_one_it_uses(monkeypatch):
    used = []

    def spied(*arguments):
        used.append(paper.coordinate_blocks.__wrapped__(*arguments))
        return used[-1]

    spied.__wrapped__ = paper.coordinate_blocks
    monkeypatch.setattr(paper, "coordinate_blocks", spied)
    call = next(call for call in CALLS if call.tables == PAPER and call.relation is Neighbours.REPLACE_ONE)
    for seed in range(8):
        call.release(spread_points(call.size), EPSILON, SeededNoise(seed))
    found = {round(blocks[0].radius / releases.table_size(call, EPSILON).radius, 6) for blocks in used}
    assert 1.0 in found  # a vote may fall into the next bucket
    assert found <= {0.5, 1.0, 2.0}


TESTED = [call for call in CALLS if call.name in ("stable", "recentred", "unknown scale", "auto", "Dense", "denoised")]


@pytest.mark.parametrize("call", TESTED, ids=titled)
def test_the_second_pair_is_the_edge_of_the_stability_test(call):
    """The coin of T = 2 is first tossed with so many lonely records; with one less the chance is larger."""
    pair = suite_of(titled(call))[1]
    assert pair.name == "T = 2 edge"
    coins = [coin(call, table) for table in (pair.here, pair.there)]
    assert coins == ["lowest", "lowest"]
    assert coin(call, without_the_last(pair, call)) == "higher"


def coin(call, table):
    noise = ZeroNoise()
    ledger = call.release(table, EPSILON, noise).ledger
    branch = ledger.menu[ledger.chosen]
    assert isinstance(branch, events.Tested)
    tossed = next(numerator for kind, numerator, _ in noise.asked if kind == "coin")
    return "lowest" if tossed == branch.ladder.rungs[2] else "higher"


def without_the_last(pair, call):
    """`here` has one lonely record less than `there`; take one more away, or put a friend in its place."""
    if pair.relation is Neighbours.ADD_REMOVE:
        return pair.here[:-1]
    return np.vstack([pair.here[:-1], pair.here[:1]])


def test_a_core_without_a_test_has_no_edge():
    soft = next(call for call in CALLS if call.name == "soft")
    assert releases.lonely_at_two(soft, EPSILON, releases.stability_edge(soft, EPSILON), 20) is None


def test_reasons_are_told_apart():
    reasons = [run.TOO_FEW, run.UNSTABLE, run.NO_SCALE, run.LOW_WEIGHT]
    reasons += [paper.NO_VOTE, paper.NO_SCALE, paper.LOW_WEIGHT, paper.FAR]
    assert len({sum(map(ord, reason)) % releases._REASONS for reason in reasons}) == len(reasons)


def test_the_paper_is_given_just_enough():
    size = paper_size(EPSILON, Neighbours.REPLACE_ONE)
    shares = paper.paper_shares(Budget(EPSILON, DELTA), Neighbours.REPLACE_ONE)
    needed = [n for n in (size, size // 2) if paper.choose_steps(shares.surely(n), 16, shares, CAUTION * 0.2)]
    assert needed == [size]


# ---- where mechanisms decide


@pytest.mark.parametrize("make", [search.search, unit_of_scores.unit_of_scores])
@pytest.mark.parametrize("relation", BOTH)
def test_a_search_stands_at_its_target_and_every_query_moves(make, relation):
    """With half a unit of noise the two tables go opposite ways, as far as a search believes such answers."""
    subject = make(EPSILON, relation)
    pair = subject.pairs()[0]
    here, there = (float(subject.draw(table, Leaning(0.5))[0]) for table in (pair.here, pair.there))
    assert here != there
    ends = [float(subject.draw(pair.here, Leaning(shift))[0]) for shift in (-100.0, 100.0)]
    assert min(ends) <= min(here, there) < max(here, there) <= max(ends)


class Leaning(ZeroNoise):
    """Noise that is always the same part of a unit of the count."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def gaussian(self, stddev, size):
        return np.full(size, round(self.shift * search.STEPS))


@pytest.mark.parametrize("relation", BOTH)
def test_groups_move_their_sums_by_the_whole_sensitivity(relation):
    """2L·sqrt(k) in the centred sums and the scaled number together (M2)."""
    moved = []
    for pair in group_means.group_means(EPSILON, relation).pairs():
        here, there = (np.append((2 * t - 1).sum(axis=0), len(t) * math.sqrt(6)) for t in (pair.here, pair.there))
        moved.append(float(np.linalg.norm(here - there)))
    assert max(moved) == pytest.approx(2 * math.sqrt(2))


@pytest.mark.parametrize("make", [group_variances.kth_largest, group_variances.sum_of_variances])
def test_votes_stand_at_the_threshold(make):
    least = publishing_threshold(EPSILON, DELTA)
    for pair in make(EPSILON, Neighbours.ADD_REMOVE).pairs():
        counts = [np.unique(table, axis=0, return_counts=True)[1] for table in (pair.here, pair.there)]
        assert min(abs(int(count) - least) for both in counts for count in both) <= 1


def test_what_is_prepared_is_made_once():
    made = []
    get = prepared(lambda table: made.append(table) or len(made))
    one, other = np.zeros((1, 1)), np.zeros((1, 1))
    assert [get(one), get(other), get(one)] == [1, 2, 1]
