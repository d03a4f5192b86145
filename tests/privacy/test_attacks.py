"""Programs that try to break the kernel with odd parameters, kept handles and forged branches.

A refusal is a KernelError before the charge, and the same for every table: an error that only some tables cause would
reveal records.
"""

import copy
import math
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from privacy.asked import (
    BUDGET,
    RECORDS,
    Asked,
    branches_with_test,
    core,
    gaussian_branches,
    open_session,
    session_with_test,
    space_of,
)

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Costs, OnlyGaussian, Tested
from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.accounting.precision import compose, hockey_stick
from dimfree.data.records import as_records
from dimfree.kernel import GroupCosts, KernelError, PrivateGroups, PrivateTable
from dimfree.kernel.rows.bases import LearnedAxes
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.soft_histogram import Magnitudes, Offsets
from dimfree.kernel.statistics.unit_vectors import DirectionCenter
from dimfree.shapes import DenseCovariance, DiagonalCovariance, LowRankCovariance

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
RELATIONS = (ADD, REPLACE)
D = 3
EDGES = np.array([0.5, 1.0, 2.0])
ZEROS, ONES = np.zeros(D), np.ones(D)
BALL, SCORING, DIRECTION_CENTER = Ball(ZEROS, 1.0, 1.0), Scoring(ZEROS, 1.0, 1.0), DirectionCenter(ZEROS, ONES)
HALF = Fraction(1, 2)

# Tables of no, one, few and only invalid records: an error that one of them does not cause tells them apart.
TABLES = [np.zeros((0, D)), np.zeros((1, D)), RECORDS[:2], RECORDS, np.full((4, D), np.nan)]

ONE_A_ROW = np.arange(60.0)[:, None] + ONES  # broadcasts beside the 60 records: each would have a center of its own
ROWS_OF_SCALES = 1 + ONE_A_ROW


def axes(scale=ONES, weights=ONES):
    return LearnedAxes(np.eye(D, 1), scale, weights)


BAD = {str(bad): bad for bad in (math.nan, math.inf, -1.0, 0.0)}
MALFORMED = {
    **{
        f"radius {name}": lambda v, bad=bad: v.sum_clipped(replace(BALL, radius=bad), 0.1, "p")
        for name, bad in BAD.items()
    },
    **{f"norm {name}": lambda v, bad=bad: v.scores(replace(SCORING, norm=bad), 1.0, 0.1) for name, bad in BAD.items()},
    **{f"unit {name}": lambda v, bad=bad: v.scores(SCORING, bad, 0.1) for name, bad in BAD.items()},
    **{f"norm of missing {name}": lambda v, bad=bad: v.missing_by_column(bad, 0.1) for name, bad in BAD.items()},
    **{f"edge {name}": lambda v, bad=bad: v.lengths(BALL, np.array([1.0, bad]), 0.1) for name, bad in BAD.items()},
    "grid that is no number": lambda v: v.count_clipped_scores(SCORING, 0.5, 60.0, np.array([math.nan]), 3, 0.1),
    "a scale of zero": lambda v: v.sum_clipped(replace(BALL, scale=np.array([1.0, 0.0, 1.0])), 0.1, "p"),
    "a scale that is no number": lambda v: v.sum_clipped(replace(BALL, scale=np.array([1.0, math.nan, 1.0])), 0.1, "p"),
    "an infinite center": lambda v: v.sum_clipped(replace(BALL, center=np.array([1.0, math.inf, 1.0])), 0.1, "p"),
    "center of each row": lambda v: v.sum_clipped(Ball(ONE_A_ROW, 1.0, 1.0), 0.1, "p"),
    "scale of each row": lambda v: v.sum_clipped(Ball(ZEROS, ROWS_OF_SCALES, 1.0), 0.1, "p"),
    "radius of each row": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, ROWS_OF_SCALES[:, :1]), 0.1, "p"),
    "radius in an array": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, ONES), 0.1, "p"),
    "short center": lambda v: v.sum_clipped(Ball(np.zeros(2), 1.0, 1.0), 0.1, "p"),
    "short scale": lambda v: v.sum_clipped(Ball(ZEROS, np.ones(2), 1.0), 0.1, "p"),
    "text as center": lambda v: v.sum_clipped(Ball("center", 1.0, 1.0), 0.1, "p"),
    "cap in an array": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, cap=ROWS_OF_SCALES), 0.1, "p"),
    "cap that is no number": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, cap=math.nan), 0.1, "p"),
    "block out of range": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([5])), 0.1, "p"),
    "negative place in a block": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([-1])), 0.1, "p"),
    "block with duplicates": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([0, 0])), 0.1, "p"),
    "empty block": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([], dtype=int)), 0.1, "p"),
    "mask as block": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([True, False, True])), 0.1, "p"),
    "fractions as block": lambda v: v.sum_clipped(Ball(ZEROS, 1.0, 1.0, np.array([0.0, 1.0])), 0.1, "p"),
    "block of a table": lambda v: v.lengths(Ball(ZEROS, 1.0, 1.0, np.array([[0]])), EDGES, 0.1),
    "unit of each row": lambda v: v.scores(SCORING, ROWS_OF_SCALES[:, :1], 0.1),
    "norm of each row": lambda v: v.scores(replace(SCORING, norm=ROWS_OF_SCALES[:, :1]), 1.0, 0.1),
    "scores with a short center": lambda v: v.scores(Scoring(np.zeros(2), 1.0, 1.0), 1.0, 0.1),
    "unsorted edges": lambda v: v.lengths(BALL, np.array([2.0, 0.5, 1.0]), 0.1),
    "equal edges": lambda v: v.lengths(BALL, np.array([1.0, 1.0]), 0.1),
    "edges in a table": lambda v: v.lengths(BALL, EDGES[None], 0.1),
    "no edges": lambda v: v.lengths(BALL, np.array([]), 0.1),
    "unsorted edges of a search": lambda v: v.within(BALL, np.array([2.0, 0.5, 1.0]), 3, 0.1),
    "no edges of a search": lambda v: v.within(BALL, np.array([]), 3, 0.1),
    "no grid": lambda v: v.count_clipped_scores(SCORING, 0.5, 60.0, np.array([]), 3, 0.1),
    "grid in a table": lambda v: v.count_clipped_scores(SCORING, 0.5, 60.0, EDGES[None], 3, 0.1),
    "share that is no number": lambda v: v.count_clipped_scores(SCORING, math.nan, 60.0, EDGES, 3, 0.1),
    "share of each row": lambda v: v.count_clipped_scores(SCORING, ONE_A_ROW, 60.0, EDGES, 3, 0.1),
    "count of text": lambda v: v.count_clipped_scores(SCORING, 0.5, "60", EDGES, 3, 0.1),
    "column out of range": lambda v: v.histograms(Magnitudes(), np.array([3]), 0.1, "p"),
    "negative column": lambda v: v.histograms(Magnitudes(), np.array([-1]), 0.1, "p"),
    "columns twice": lambda v: v.histograms(Magnitudes(), np.array([1, 1]), 0.1, "p"),
    "as many columns as there are, one twice": lambda v: v.histograms(Magnitudes(), np.array([0, 0, 1]), 0.1, "p"),
    "no columns": lambda v: v.histograms(Magnitudes(), np.array([], dtype=int), 0.1, "p"),
    "mask of columns": lambda v: v.histograms(Magnitudes(), np.array([True, True, False]), 0.1, "p"),
    "centers of other columns": lambda v: v.histograms(Offsets(ZEROS, ONES), np.array([1]), 0.1, "p"),
    "centers of each row": lambda v: v.histograms(Offsets(ONE_A_ROW, ONES), np.arange(D), 0.1, "p"),
    "no cells": lambda v: v.histograms(None, np.arange(D), 0.1, "p"),
    "a ball as cells": lambda v: v.histograms(BALL, np.arange(D), 0.1, "p"),
    "shell around nothing": lambda v: v.shell_sum(BALL, 0.0, 0.1),
    "shell of no width": lambda v: v.shell_sum(BALL, BALL.radius, 0.1),
    "shell that is no number": lambda v: v.shell_sum(BALL, math.nan, 0.1),
    "shell of each row": lambda v: v.shell_sum(BALL, ONES, 0.1),
    "no ball": lambda v: v.sum_clipped(None, 0.1, "p"),
    "votes without a ball": lambda v: v.votes(None, EDGES, 0.1),
    "votes at unsorted levels": lambda v: v.votes(BALL, np.array([2.0, 0.5]), 0.1),
    "votes with a center of each row": lambda v: v.votes(Ball(ONE_A_ROW, 1.0, 1.0), EDGES, 0.1),
    "a scoring as ball": lambda v: v.sum_clipped(SCORING, 0.1, "p"),
    "no scoring": lambda v: v.scores(None, 1.0, 0.1),
    "no lookout": lambda v: v.outer_products(None).matrix(0.1),
    "lookout of each row": lambda v: v.outer_products(DirectionCenter(ONE_A_ROW, ONES)).matrix(0.1),
    "short lookout": lambda v: v.directions(DirectionCenter(np.zeros(2), np.ones(2)), None).weight(0.1),
    "basis of another width": lambda v: v.directions(DIRECTION_CENTER, Cosine(4)).l1_norm(0.1),
    "a shape as basis": lambda v: v.directions(DIRECTION_CENTER, DiagonalCovariance(ONES)).l1_norm(0.1),
    "norm of missing entries in an array": lambda v: v.missing_by_column(ROWS_OF_SCALES[:, :1], 0.1),
    "ring's scale of each row": lambda v: v.ring(0).lengths(ROWS_OF_SCALES, HALF, 3, 0.1),
    "ring's short scale": lambda v: v.ring(0).lengths(np.ones(2), HALF, 3, 0.1),
    "ring's unsorted grid": lambda v: v.ring(0).count_unclipped(SCORING, HALF, EDGES[None], 3, 0.1),
    "ring's unit of each row": lambda v: v.ring(0).scores(SCORING, ROWS_OF_SCALES[:, :1], 0.1),
    "ring's short scoring": lambda v: v.ring(0).scores(Scoring(np.zeros(2), 1.0, 1.0), 1.0, 0.1),
    "share in text": lambda v: v.ring(0).lengths(ONES, "1/2", 3, 0.1),
    "share at the edge": lambda v: v.pairs(0).friends(Fraction(1, 10**400), 3, 0.1),
    "share of one": lambda v: v.pairs(0).friends(Fraction(1), 3, 0.1),
    "share that is not finite": lambda v: v.pairs(0).friends(math.inf, 3, 0.1),
    "answers between two numbers": lambda v: v.within(BALL, EDGES, 2.5, 0.1),
    "answers that are no number": lambda v: v.within(BALL, EDGES, math.nan, 0.1),
    "negative answers": lambda v: v.within(BALL, EDGES, -1, 0.1),
    "half a record of space for pairs": lambda v: v.pairs(10.5),
    "half a record of space for a ring": lambda v: v.ring(10.5),
    "half a record of space for a sample": lambda v: v.draw_nested_samples((0.5, 0.7), (1, 2), 10.5),
    "text as space": lambda v: v.pairs("10"),
    "rates in arrays": lambda v: v.draw_nested_samples((np.array([0.5]), np.array([0.7])), (1, 2), 0),
    "fractions as sizes": lambda v: v.draw_nested_samples((0.5, 0.7), (1.5, 2.5), 0),
    "rate in an array": lambda v: v.poisson_sample(np.array([0.1, 0.2, 0.3])),
    "shape of another width": lambda v: v.rescale(DiagonalCovariance(np.ones(2))),
    "dense shape of another width": lambda v: v.rescale(DenseCovariance(np.eye(4))),
    "low rank of another width": lambda v: v.rescale(LowRankCovariance(np.eye(4, 1), [2.0], 1.0)),
    "no shape": lambda v: v.rescale(None),
    "a basis as shape": lambda v: v.rescale(Cosine(D)),
    "coordinates of another width": lambda v: v.rotate(Cosine(4), 4),
    "a width that is not that of the basis": lambda v: v.rotate(Cosine(D), 4),
    "a width that is not that of the records": lambda v: v.rotate(None, 4),
    "weights of each row": lambda v: v.rotate(axes(weights=ROWS_OF_SCALES[:, :1]), D),
    "short weights": lambda v: v.rotate(axes(weights=np.ones(2)), D),
    "a table of scales": lambda v: v.rotate(axes(scale=np.ones((D, D))), D),
    "directions of other coordinates": lambda v: v.rotate(LearnedAxes(np.eye(5, 1), ONES, ONES), D),
    "directions seen in short weights": lambda v: v.directions(DIRECTION_CENTER, axes(weights=np.ones(2))).l1_norm(0.1),
    "the smallest norm of missing entries": lambda v: v.missing_by_column(5e-324, 0.1),
    "a cost in short floats": lambda v: v.valid_count(np.array([0.1])),
    "a cost in text": lambda v: v.valid_count("0.1"),
    "a cost beyond the floats": lambda v: v.valid_count(10**400),
    "the largest cost": lambda v: v.sum_clipped(BALL, 1.7e308, "p"),
    "the smallest cost": lambda v: v.histograms(Magnitudes(), np.arange(D), 5e-324, "p"),
}


def after_error(table: np.ndarray, relation: Neighbors, ask, noise: Asked) -> tuple[type | None, str]:
    session, view = open_session(table, relation, noise)
    noise.log.clear()
    try:
        ask(view)
    except Exception as error:  # noqa: BLE001 - any error is compared
        assert session.costs().after == ()
        return type(error), str(error)
    return None, ""


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_parameters_are_refused_before_the_charge_whatever_the_records(name, relation):
    noise = Asked()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {after_error(table, relation, MALFORMED[name], noise) for table in TABLES}
    assert len(found) == 1
    assert issubclass(found.pop()[0], KernelError)
    assert not [entry for entry in noise.log if entry[0] == "gaussian"]


def test_a_count_is_asked_at_one_number():
    _, view = open_session(RECORDS, ADD, Asked())
    counts = view.within(BALL, EDGES, 3, 0.1)
    for point in (ONES, "1.0", None, math.inf, np.array([1.0])):
        with pytest.raises(KernelError):
            counts.at(point)


def test_scores_are_counted_at_units_of_the_grid_that_they_were_prepared_for():
    """Beyond it, what is known of one unit does not say what it says of another."""
    _, view = open_session(RECORDS, ADD, Asked())
    for counts in (
        view.count_clipped_scores(SCORING, 0.5, 60.0, EDGES, 3, 0.1),
        view.ring(0).count_unclipped(SCORING, HALF, EDGES, 3, 0.1),
    ):
        for privacy_unit in (1e-300, 0.4, 2.1, 1e300, 0.0, -1.0):
            with pytest.raises(KernelError):
                counts.at(privacy_unit)
        counts.at(2.0)


# ---- code and arrays that a program keeps


def test_an_array_that_is_changed_later_changes_nothing():
    center, scale = np.zeros(D), np.ones(D)
    _, view = open_session(RECORDS, ADD, Asked())
    directions = view.directions(DirectionCenter(center, scale), None)
    center[:], scale[:] = math.nan, -1.0
    kept = open_session(RECORDS, ADD, Asked())[1].directions(DIRECTION_CENTER, None)
    assert directions.unevenness(0.1).value == kept.unevenness(0.1).value


class Spy(np.ndarray):
    """An array whose arithmetic would see the records."""

    seen: ClassVar[list] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **given):
        Spy.seen += [np.asarray(each).shape for each in inputs]
        return getattr(ufunc, method)(*(np.asarray(each) for each in inputs), **given)


def test_arrays_of_a_programs_own_class_see_no_record():
    table = np.random.default_rng(1).normal(size=(57, D))
    _, view = open_session(table, ADD, Asked())
    zeros, ones = np.zeros(D).view(Spy), np.ones(D).view(Spy)
    view.outer_products(DirectionCenter(zeros, ones)).off_diagonal_norm(0.1)
    view.sum_clipped(Ball(zeros, ones, 1.0), 0.1, "p")
    view.scores(Scoring(zeros, ones, 1.0), 1.0, 0.1)
    view.histograms(Offsets(zeros, ones), np.arange(D), 0.1, "p")
    view.lengths(BALL, EDGES.view(Spy), 0.1)
    view.ring(0).lengths(ones, HALF, 3, 0.1)
    axes = LearnedAxes(np.eye(D, 1).view(Spy), ones, ones)
    view.directions(DIRECTION_CENTER, axes).l1_norm(0.1)
    view.rotate(axes, D).valid_count(0.1)
    for shape in (
        DiagonalCovariance(ones),
        DenseCovariance(np.eye(D).view(Spy)),
        LowRankCovariance(np.eye(D, 1).view(Spy), ones[:1], 1.0),
    ):
        view.rescale(shape).sum_clipped(BALL, 0.1, "p")
    assert not [shape for shape in Spy.seen if 57 in shape]


class Counting:
    """True, and how often it was asked."""

    asked = 0

    def __bool__(self) -> bool:
        Counting.asked += 1
        return False


def test_a_switch_is_read_once_whatever_the_records():
    found = set()
    for table in TABLES:
        Counting.asked = 0
        open_session(table, ADD, Asked())[1].directions(DIRECTION_CENTER, None, norm_alone=Counting()).weight(0.1)
        found.add(Counting.asked)
    assert found == {1}


def test_methods_put_into_an_instance_see_no_record():
    seen = []
    ball = Ball(ZEROS, 1.0, 1.0)
    ball.__dict__["offsets"] = lambda values, *_: seen.append(values)
    ball.__dict__["before"] = lambda units: ball
    cells = Offsets(ZEROS, ONES)
    cells.__dict__["cells"] = 10**3
    _, view = open_session(RECORDS, ADD, Asked())
    view.sum_clipped(ball, 0.1, "p")
    assert view.histograms(cells, np.arange(D), 0.1, "p").value.shape == (D, 6)
    assert seen == []


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_method_put_into_a_basis_sees_no_record(relation):
    def spy(rows):
        raise AssertionError("a program saw records")

    _, view = open_session(RECORDS, relation, Asked())
    basis = Cosine(D)
    rotated, directions = view.rotate(basis, D), view.directions(DIRECTION_CENTER, basis)
    basis.rotate = spy
    rotated.basis.rotate = spy
    directions.l1_norm(0.1), rotated.valid_count(0.1), rotated.scores(SCORING, 1.0, 0.1)
    with pytest.raises(KernelError, match="own classes"):
        view.rotate(basis, D)


@pytest.mark.parametrize("relation", RELATIONS)
def test_kernel_objects_are_not_copied(relation):
    """A copy of a session would have a phase of its own, and repeat its stability test."""
    session, view = open_session(RECORDS, relation, Asked())
    table = PrivateTable(space_of(RECORDS), BUDGET, relation, Asked())
    for each in (table, session, view, view.pairs(0), view.ring(0), view.within(BALL, EDGES, 3, 0.1)):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(KernelError, match="copied"):
                copied(each)


@pytest.mark.parametrize("name", ["relation", "budget", "count", "count_stddev"])
def test_public_attributes_are_not_assigned(name):
    session, view = open_session(RECORDS, ADD, Asked())
    table = PrivateTable(space_of(RECORDS), BUDGET, ADD, Asked())
    for each in (session, view, table):
        with pytest.raises(AttributeError):
            setattr(each, name, REPLACE)


# ---- the filter


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_short_floats_do_not_blur_the_filter(kind):
    """Squares of short floats stop adding up: 1000 small releases beside a large one would cost nothing."""
    session, view = open_session(RECORDS, ADD, Asked())
    limit = gaussian_branches(ADD).branches[0].mu
    session.count_again(kind(1 / (0.9 * limit)))

    def ask_until_refused() -> None:
        for _ in range(990):
            view.valid_count(kind(0.04 * limit))

    with pytest.raises(KernelError):
        ask_until_refused()
    spent = [float(event.sensitivity) / float(event.stddev) for event in session.costs().after]
    assert math.fsum(mu**2 for mu in spent) <= limit**2 * (1 + 1e-12)
    assert {type(event.mu) for event in session.costs().after} == {float}


class Shifting:
    """Another number each time it is read."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def __int__(self) -> int:
        return self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0]

    __index__ = __float__ = __int__


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "changes",
    [
        {"full_share": Fraction(9 * 2**55 + 1, 10 * 2**55)},  # the thresholds would leave 64 bits
        {"full_share": 0.9},
        {"full_share": Fraction(1, 2)},
        {"tolerated": 1},
        {"tolerated": 10**6},
        {"radius": math.nan},
        {"radius": 0.0},
        {"mu": 1e9},
        {"mu": math.nan},
        {"mu": -1.0},
        {"floor": "wrong"},
        {"full_share": Fraction(1001, 1000)},
        {"full_share": Fraction(9001, 10000)},
        {"tolerated": np.int8(70)},  # 2·(B - 1) would wrap
        {"tolerated": 6.5},
        {"tolerated": -6},
        {"radius": 1e-200},  # squared distances would be zero
        {"radius": 1e200},
        {"radius": np.ones(2)},
        {"mu": np.float16(1e-9)},
    ],
)
def test_a_core_beyond_its_proof_is_refused_before_the_test(relation, changes):
    session, view, branch, noise = session_with_test(relation)
    if changes.get("floor") == "wrong":
        changes = {"floor": 40 if relation is REPLACE else None}
    with np.errstate(all="ignore"), pytest.raises(KernelError):
        core(view, branch, relation, **changes)
    assert noise.log == []
    assert session.costs().after == ()


@pytest.mark.parametrize("floor", [math.nan, math.inf, 40.5, "40", np.array([40, 41]), -(10**400), Shifting(1000, 0)])
def test_a_floor_is_one_whole_number(floor):
    session, view, branch, noise = session_with_test(ADD)
    try:
        event = core(view, branch, ADD, floor=floor).event
    except KernelError:
        assert noise.log == []
        assert session.costs().after == ()
    else:
        assert isinstance(floor, Shifting)
        _, view, branch, _ = session_with_test(ADD)
        assert event.sensitivity >= core(view, branch, ADD, floor=1000).event.sensitivity
        pytest.fail("an object with code was taken for a number")


def test_records_far_apart_are_no_friends_at_a_tiny_radius():
    """The statement is that of proofs/statistics/distances.md for radii within 1e±130."""
    for radius in (1e-200, 1e-140, 1e140, 1e200):
        _, view, branch, noise = session_with_test(ADD)
        counts = view.pairs(0).friends(HALF, 3, branch.search_mu / 2)
        noise.log.clear()
        with pytest.raises(KernelError):
            counts.at(radius)
        assert noise.log == []


def test_friends_are_not_counted_in_rows_that_the_mean_has_overwritten():
    _, view, branch, _ = session_with_test(REPLACE)
    pairs = view.pairs(0)
    counts = pairs.friends(HALF, 3, branch.search_mu / 2)
    counts.at(1.0)
    pairs.core_mean(1.0, Fraction(9, 10), 6, None, branch.mu / 2)
    for ask in (lambda: counts.at(0.5), lambda: pairs.friends(HALF, 3, 0.01)):
        with pytest.raises(KernelError, match="nothing more"):
            ask()


def test_two_pairs_make_one_test():
    _, view, branch, _ = session_with_test(REPLACE)
    first, second = view.pairs(0), view.pairs(0)
    first.core_mean(1.0, Fraction(9, 10), 6, None, branch.mu / 4)
    with pytest.raises(KernelError, match="one stability test"):
        second.core_mean(1.0, Fraction(9, 10), 6, None, branch.mu / 4)
    assert second.friends(HALF, 3, branch.mu / 4).event.mu <= branch.mu / 4  # charged to what follows the test


# ---- directions in axes that are no rotation


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e308, 1e-308])
def test_a_direction_in_odd_axes_counts_at_most_one(bad):
    with np.errstate(all="ignore"):
        axes = LearnedAxes(np.eye(D, 1), np.array([1.0, bad, 1 / bad]), np.array([bad, 1.0, 1.0]))
    for relation in RELATIONS:
        found = []
        for table in (RECORDS[:4], RECORDS[:3] if relation is ADD else np.vstack([RECORDS[:3], ZEROS])):
            _, view = open_session(table, relation, Asked())
            found.append(view.directions(DIRECTION_CENTER, axes).l1_norm(0.1).value)
        assert abs(found[0] - found[1]) <= 1


# ---- errors and warnings of arithmetic


@pytest.mark.parametrize("relation", RELATIONS)
def test_arithmetic_on_records_raises_nothing_even_if_a_program_asks_for_it(relation):
    from privacy.test_queries import BY_ENTRY, PUBLIC_SIZE, QUERIES, odd_records

    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for record in odd_records(np.random.default_rng(0), D):
            table = np.vstack([RECORDS[:3], record, 5e-324 * ONES])
            for name, query in QUERIES.items():
                if relation is ADD or name not in PUBLIC_SIZE:
                    session, view = open_session(table, relation, Asked(), by_entry=name in BY_ENTRY)
                    found = query(session, view, 0.1)
                    if hasattr(found, "at"):
                        found.at(1.0)


# ---- forged branches


def forged(relation, **changes) -> Calibration:
    return replace(branches_with_test(relation, search_share=0.1), **changes)


class Free(OnlyGaussian):
    """A branch that states no cost."""

    def profile(self, x):
        return hockey_stick(0.0, x)


class Any(OnlyGaussian):
    """A branch that equals every other."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = OnlyGaussian.__hash__


class TwoFaced(Calibration):
    """Shows gentle branches once."""

    shown = 0

    @property
    def branches(self):
        TwoFaced.shown += 1
        return super().branches if TwoFaced.shown == 1 else (OnlyGaussian(1e3),)


LADDER = Ladder((0, 0, 1, *(DENOMINATOR // 2**k for k in range(20, -1, -1))))
FRACTIONAL = (0, 0, 1, 2.5, *(DENOMINATOR // 2**k for k in range(20, -1, -1)))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "changes",
    [
        {"untested": Free(1e3)},
        {"untested": OnlyGaussian(math.nan)},
        {"untested": OnlyGaussian(math.inf)},
        {"untested": OnlyGaussian(-1e3)},
        {"untested": OnlyGaussian("1")},
        {"tested": (Tested(LADDER, 1e3, -1.0),)},
        {"tested": (Tested(LADDER, 1e3, 1e9),)},
        {"tested": (Tested(LADDER, 1e3, math.nan),)},
        {"tested": (Tested(LADDER, math.nan, 0.1),)},
        {"tested": (Tested(LADDER, -1.0, 0.1),)},
        {"tested": (Tested(object.__new__(Ladder), 1.0, 0.1),)},
        {"tested": ("branch",)},
        {"tested": [OnlyGaussian(1e-3)]},
        {"count_stddev": -1.0},
        {"count_stddev": math.nan},
        {"count_stddev": math.inf},
        {"count_stddev": 1e-9},
        {"count_stddev": 1e-300},
        {"count_stddev": "1"},
    ],
)
def test_forged_branches_are_refused_before_a_count(relation, changes):
    noise = Asked()
    table = PrivateTable(space_of(RECORDS), BUDGET, relation, noise)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KernelError):
            table.open(forged(relation, **changes))
    assert noise.log == []


def test_a_ladder_of_fractions_is_refused():
    """Its coin would fail at one value of the stability statistic, and reveal it."""
    for rungs in (FRACTIONAL, (-1, 0, 1, 2), (0, True, 2, 3)):
        table = PrivateTable(space_of(RECORDS), BUDGET, REPLACE, Asked())
        with pytest.raises(KernelError, match="whole rungs"):
            table.open(forged(REPLACE, tested=(Tested(Ladder(rungs), 1e-3, 1e-3),)))


def test_numbers_of_branches_are_read_once_as_floats():
    branches = forged(ADD, untested=OnlyGaussian(np.float16(1e-3)), count_stddev=np.float32(30.0))
    session = PrivateTable(space_of(RECORDS), BUDGET, ADD, Asked()).open(branches)
    assert type(session.count_stddev) is float
    assert {type(branch.mu) for branch in session.costs().branches} == {float}


@pytest.mark.parametrize("relation", RELATIONS)
def test_branches_of_other_classes_are_refused(relation):
    honest = gaussian_branches(relation)
    two_faced = TwoFaced(honest.count_stddev, (), untested=honest.untested)
    TwoFaced.shown = 0
    for branches in (two_faced, None, "branches", honest.branches):
        table = PrivateTable(space_of(RECORDS), BUDGET, relation, Asked())
        with pytest.raises(KernelError):
            table.open(branches)


def test_a_branch_that_equals_every_other_is_not_taken():
    branches = gaussian_branches(ADD)
    session = PrivateTable(space_of(RECORDS), BUDGET, ADD, Asked()).open(branches)
    with pytest.raises(KernelError, match="One of the opened"):
        session.take(Any(1e3))


def test_a_count_too_coarse_for_discrete_noise_is_refused_before_it_is_released():
    budget = Budget(1e-3, 0.99)
    noise = Asked()
    table = PrivateTable(space_of(RECORDS), budget, ADD, noise)
    with pytest.raises(KernelError):
        table.open(Calibration(1.0, ()))
    assert noise.log == []


@pytest.mark.parametrize("seed", range(20))
def test_no_menu_that_is_accepted_costs_more_than_its_budget(seed):
    """Gaussian menus have a closed form: the count, the searches and the releases add up as squares."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        budget = Budget(10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-10, -1))
        stddev, mu = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-2, 3)
        branches = Calibration(stddev, (), untested=OnlyGaussian(mu))
        try:
            with np.errstate(all="ignore"):
                PrivateTable(space_of(RECORDS), budget, ADD, Asked()).open(branches)
        except KernelError:
            continue
        assert hockey_stick(compose((1 / stddev, mu)), budget.epsilon) <= budget.delta * (1 + 1e-6)


# ---- samples of samples


@pytest.mark.parametrize("relation", RELATIONS)
def test_samples_of_samples_and_of_all(relation):
    _, view = open_session(RECORDS, relation, Asked())
    held, within = view.draw_nested_samples((0.2, 0.6), (10, 30), 40)
    inner_held, inner = held.draw_nested_samples((0.5, 0.9), (2, 5), 40)
    assert {each.dimension for each in (held, within, inner_held, inner)} == {D}
    for sample in (within, inner, inner_held.poisson_sample(0.5)):
        for ask in (lambda s: s.valid_count(0.1), lambda s: s.draw_nested_samples((0.1, 0.2), (1, 2), 3)):
            with pytest.raises(KernelError, match="all records"):
                ask(sample)
        sample.pairs(3).friends(HALF, 2, 0.1).at(1.0)
    assert view.draw_nested_samples((1.0, 1.0), (10, 30), 40) == (view, view)
    assert view.poisson_sample(7.0) is view
    inner_held.valid_count(0.1), inner_held.of_all().valid_count(0.1)
    for empty in (view.poisson_sample(-1.0), view.draw_nested_samples((-1.0, -0.5), (-2, -1), -3)[1]):
        empty.pairs(-1).friends(HALF, 2, 0.1).at(1.0)
    held, within = view.draw_nested_samples(
        (0.7, 0.2), (30, 10), 0
    )  # not nested: two samples, which is all that is needed
    held.valid_count(0.1), within.ring(0).lengths(ONES, HALF, 2, 0.1).at(1.0)


def test_answers_that_are_left_are_drawn_from_what_was_charged_whatever_came_between():
    """A count of the searches may be asked after the test, even after one that failed (proofs/kernel.md)."""
    session, view, branch, noise = session_with_test(ADD)
    counts = view.within(BALL, EDGES, 2, branch.search_mu / 2)
    noise.coin = lambda *_: False
    assert core(view, branch, ADD) is None
    charged = session.costs()
    noise.log.clear()
    counts.at(1.0), counts.at(1.0)
    with pytest.raises(KernelError, match="More numbers"):
        counts.at(1.0)
    assert noise.log == [("gaussian", counts.event.stddev, 1)] * 2
    assert session.costs() == charged


# ---- what belongs to the owner of the data


def test_a_program_can_neither_replace_the_ledger_nor_ask_whether_records_are_valid():
    charged: list[object] = []
    table = PrivateTable(space_of(np.full((4, D), np.nan)), BUDGET, ADD, Asked())
    table.require_valid("complete-case")
    table.charge_with(charged.append)
    for attempt in (lambda: table.charge_with(print), lambda: table.require_valid("raise")):
        with pytest.raises(KernelError):
            attempt()
    table.open(gaussian_branches(ADD))
    assert len(charged) == 1
    with pytest.raises(KernelError):
        table.require_valid("raise")


def test_an_interrupted_search_releases_no_name(monkeypatch):
    rest = Costs(Budget(0.4, 1e-7), ADD, (), gaussian_branches(ADD, Budget(0.4, 1e-7)).branches)
    costs = GroupCosts(Budget(1.0, 1e-6), Budget(0.4, 1e-7), None, rest)
    noise = Asked()
    groups = PrivateGroups(as_records(RECORDS), np.zeros(60, dtype=np.int64), ("rare",), costs, noise)

    def fails(stddev: float, size: int) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(noise, "gaussian", fails)
    with pytest.raises(MemoryError):
        groups.search()
    with pytest.raises(KernelError):
        _ = groups.names
    with pytest.raises(KernelError):
        groups.search()
