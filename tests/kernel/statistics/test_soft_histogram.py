"""Soft histograms (P19): a vector of norm at most STEP for each entry, exact sums, the same bits wherever rows lie."""

import math
import os
import sys
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel.statistics.kept import TABLES, bits_everywhere, from_dask, odd_table, space_of

from dimfree.accounting.budget import Neighbours
from dimfree.kernel.statistics import soft_histogram
from dimfree.kernel.statistics.soft_histogram import (
    PARTS,
    STEP,
    Magnitudes,
    Offsets,
    soft_histograms,
    weights_of,
)

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
NAN, TINY, HUGE, FIRST = float("nan"), 5e-324, 1.7e308, 2.0**-60
LINE = ((0.0,), (-0.0,), (1.0,), (-1.7,), (3.1,), (8.0,), (1e300,), (-HUGE,), (TINY,), (FIRST,), (NAN,))
PLANE = ((0.0, 0.0), (1.0, 8.0), (3.1, -0.7), (64.0, FIRST), (1e300, -1e300), (-HUGE, TINY), (0.2, NAN))
WORLDS = {"line": LINE, "plane": PLANE}
every_world = pytest.mark.parametrize("places", WORLDS.values(), ids=WORLDS.keys())
every_row = pytest.mark.parametrize("kind", ["magnitudes", "offsets"])
charged = pytest.mark.parametrize(("relation", "changed"), [(ADD, 1), (REPLACE, 2)])


def cells_of(kind, width):
    return Magnitudes() if kind == "magnitudes" else Offsets(np.full(width, 0.3), np.full(width, 0.9))


def every(width):
    return np.arange(width)


@cache
def total(table, width, kind):
    """What the noise is added to, as Python integers."""
    return [int(v) for v in soft_histograms(space_of(table, width), cells_of(kind, width), every(width)).ravel()]


def squared_move(one, other, width, kind, summed=total):
    return sum((a - b) ** 2 for a, b in zip(summed(one, width, kind), summed(other, width, kind), strict=True))


def pairs(places, relation, most=2):
    for size in range(1, most + 1):
        for table in combinations_with_replacement(places, size):
            rest = table[1:]
            if relation is ADD:
                yield table, rest
            else:
                yield from ((table, (place, *rest)) for place in places)


def largest_move(places, relation, kind, summed=total):
    return max(squared_move(one, other, len(places[0]), kind, summed) for one, other in pairs(places, relation))


# the weights of one entry


def test_no_part_of_a_cell_has_a_larger_norm_than_a_step():
    """In integers: the table itself, not the cosines that it is made of."""
    here, there = ([int(v) for v in table] for table in (soft_histogram._HERE, soft_histogram._NEXT))
    assert len(here) == len(there) == PARTS
    assert max(a * a + b * b for a, b in zip(here, there, strict=True)) == STEP**2
    assert min(min(here), min(there)) >= 0
    assert min(a * a + b * b for a, b in zip(here, there, strict=True)) > 0.99999 * STEP**2


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers, numbers, st.floats(1e-320, 1e300))
@settings(deadline=None)
def test_an_entry_is_a_vector_of_norm_at_most_a_step(entry, centre, scale):
    for cells in (Magnitudes(), Offsets(np.array([centre]), np.array([scale]))):
        with np.errstate(all="ignore"):
            found = [int(v) for v in soft_histograms(space_of(((entry,),), 1), cells, every(1)).ravel()]
            no_place = entry == centre and isinstance(cells, Offsets) and PARTS / np.float64(scale) == np.inf
        assert min(found) >= 0
        assert (0 if no_place else 0.9999 * STEP**2) <= sum(v * v for v in found) <= STEP**2
        assert sum(v > 0 for v in found) <= 2


@given(hnp.arrays(np.float64, (3, 2), elements=st.floats(-1e3, 1e3)))
@settings(deadline=None)
def test_the_whole_is_the_sum_of_its_records(rows):
    table = tuple(map(tuple, rows.tolist()))
    for kind in ("magnitudes", "offsets"):
        parts = [total((row,), 2, kind) for row in table]
        assert total(table, 2, kind) == [sum(column) for column in zip(*parts, strict=True)]


def test_a_place_is_found_where_it_should_be():
    """A power of eight above the lowest lies on a cell; a zero and what is smaller in the first one."""
    cells = Magnitudes()
    on_cells = 2.0 ** (cells.lowest + cells.octaves * np.arange(cells.cells - 1))
    assert np.array_equal(np.floor(cells.places(on_cells, slice(None))), np.arange(1, cells.cells) * PARTS)
    assert (cells.places(np.array([0.0, -0.0, TINY, 0.999 * FIRST, np.nextafter(FIRST, 0)]), slice(None)) == 0).all()
    assert cells.places(np.array([FIRST, -FIRST]), slice(None)).tolist() == [PARTS, PARTS]
    assert Offsets(np.array([7.0]), np.array([2.0])).places(np.array([[7.0]]), slice(None)) == PARTS * Offsets.middle


@given(st.floats(FIRST, sys.float_info.max), st.sampled_from([1.0, -1.0]))
def test_a_magnitude_is_placed_by_exponent_and_fraction(size, sign):
    """Between powers of two by a straight line; one rounding to a float, one product and one sum."""
    cells, (fraction, exponent) = Magnitudes(), math.frexp(size)
    level = Fraction(exponent) + 2 * Fraction(fraction) - 2 - cells.lowest
    exact = PARTS * (1 + level / cells.octaves)
    found = cells.places(np.array([sign * size]), slice(None))[0]
    assert abs(Fraction(found) - exact) <= exact * Fraction(1, 2**51)


def test_places_of_magnitudes_never_fall():
    ends = [FIRST, 1.0, 8.0, 1e27, sys.float_info.max]
    with np.errstate(over="ignore"):
        near = [np.nextafter(end, toward) for end in ends for toward in (0, end, np.inf)]
    sizes = np.sort(np.append(np.abs(near), np.geomspace(1e-20, 1e300, 10_000)))
    found = Magnitudes().places(sizes, slice(None))
    assert (np.diff(found) >= 0).all()


def test_what_is_no_number_has_no_place_and_infinity_is_beyond_all_cells():
    found = Magnitudes().places(np.array([[np.nan, -np.inf, 1.0], [0.0, -np.nan, np.inf]]), slice(None))
    assert np.isnan(found).tolist() == [[True, False, False], [False, True, False]]
    assert (found[[0, 1], [1, 2]] > PARTS * Magnitudes.cells).all()


def test_places_on_a_device_are_the_same_bits():
    """Of either sign, of what is no number too: a GPU's own |x| keeps the sign of that."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sizes = np.append(np.geomspace(1e-25, 1e300, 1000), [0.0, TINY, FIRST, HUGE, np.inf])
    for entries in (sizes, np.append(sizes, np.nan)):
        values = np.copysign(entries, np.tile([1.0, -1.0], len(entries))[: len(entries)])
        for one in (values, -values):
            there = torch.tensor(one, device=os.environ.get("DIMFREE_TEST_DEVICE", "cpu"))
            found = Magnitudes().places(there, slice(None)).cpu().numpy()
            assert np.array_equal(found, Magnitudes().places(one, slice(None)), equal_nan=True)


def test_a_small_move_of_an_entry_is_a_small_move_of_the_histogram():
    moves = []
    for cells in (Magnitudes(), Offsets(np.zeros(1), np.ones(1))):
        entries = np.linspace(0.51, 1.99, 2000)
        found = np.array([soft_histograms(space_of(((x,),), 1), cells, every(1)).ravel() for x in entries])
        moves.append(np.linalg.norm(np.diff(found, axis=0), axis=1).max() / STEP)
    assert max(moves) < 1.1 * math.pi / 2 / PARTS


def test_templates_have_the_weights_of_records():
    values = np.array([[0.0, 1.0], [8.0, 3.0]])
    found = soft_histograms(space_of(values, 2), Magnitudes(), every(2))
    assert np.array_equal(weights_of(Magnitudes(), values), found / STEP)


# how far one record moves them


@every_world
@every_row
@charged
def test_the_histograms_move_by_at_most_their_charge(places, kind, relation, changed):
    """√k, and √(2k) under replace-one, as no weight is negative: both attained, so that less would go unnoticed."""
    width = len(places[0])
    largest = largest_move(places, relation, kind)
    assert largest <= changed * width * STEP**2
    assert largest > 0.999 * changed * width * STEP**2


@every_row
def test_an_invalid_record_is_no_record(kind):
    for spoilt in ((NAN, 1.0), (1.0, -math.inf), (math.inf, NAN)):
        assert total((spoilt,), 2, kind) == total((), 2, kind) == [0] * len(total((), 2, kind))
        assert total(((1.0, 2.0), spoilt), 2, kind) == total(((1.0, 2.0),), 2, kind)


def test_columns_that_are_not_looked_at_do_not_count():
    """A record may be anything there, as long as it is a number."""
    which = np.array([0, 2])
    rows = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    other = rows.copy()
    other[:, 1] = (1e300, -7.0)
    found = [soft_histograms(space_of(table, 3), Magnitudes(), which) for table in (rows, other)]
    assert np.array_equal(*found)
    assert np.array_equal(found[0], soft_histograms(space_of(rows[:, which], 2), Magnitudes(), every(2)))


@pytest.mark.parametrize("twin", ["both whole", "rounded up", "a sine of a longer turn"])
def test_twins_with_longer_vectors_are_caught(twin, monkeypatch):
    """Norm √2; norms a part in a million too long; weights whose squares do not sum to one."""
    f = np.arange(PARTS) / PARTS
    weights = {
        "both whole": (np.full(PARTS, float(STEP)), np.where(f > 0, float(STEP), 0.0)),
        "rounded up": (np.ceil(STEP * np.cos(math.pi / 2 * f)), np.ceil(STEP * np.sin(math.pi / 2 * f))),
        "a sine of a longer turn": (np.floor(STEP * np.cos(f)), np.floor(STEP * np.sin(1.2 * f))),
    }
    monkeypatch.setattr(soft_histogram, "_HERE", weights[twin][0])
    monkeypatch.setattr(soft_histogram, "_NEXT", weights[twin][1])
    entries = tuple((x,) for x in np.linspace(0.3, 1.2, 64))
    found = [soft_histograms(space_of((x,), 1), cells_of("offsets", 1), every(1)).ravel() for x in entries]
    assert max(sum(int(v) ** 2 for v in one) for one in found) > STEP**2


# the same bits everywhere


@pytest.mark.parametrize("table", range(TABLES))
@every_row
def test_the_same_bits_wherever_the_rows_lie(table, kind, monkeypatch):
    rows = odd_table(table)
    rng, width = np.random.default_rng(table), rows.shape[1]
    which = np.sort(rng.choice(width, int(rng.integers(1, width + 1)), replace=False))
    cells = Magnitudes()
    if kind == "offsets":
        centre = rng.normal(size=len(which)) * 10.0 ** rng.integers(-300, 300, len(which))
        cells = Offsets(centre, 10.0 ** rng.integers(-323, 307, len(which)).astype(float))
    bits_everywhere(rows, lambda space: soft_histograms(space, cells, which), monkeypatch)


@every_row
def test_the_same_bits_from_dask(kind):
    rows = odd_table(3)
    width = rows.shape[1]

    def summed(space):
        return soft_histograms(space, cells_of(kind, width), every(width))

    assert np.array_equal(from_dask(rows, summed), summed(space_of(rows)))


def test_entries_weighed_one_by_one_or_counted_first(rng):
    where = rng.integers(0, 5 * PARTS, size=12 * PARTS)
    whole = soft_histogram._tallied(where, 6)  # more entries than parts: counted first
    halves = [soft_histogram._tallied(half, 6) for half in np.split(where, 12)]
    assert whole.tolist() == sum(halves).tolist()


@pytest.mark.parametrize("kind", ["magnitudes", "offsets"])
@pytest.mark.parametrize("width", [3, 320])
def test_no_number_of_records_decides_how_they_are_summed(kind, width, monkeypatch):
    """What is laid out for the sum depends on public sizes: one record more takes no other way."""
    laid_out = []
    summed = type(space_of(np.zeros((1, 1)))).summed
    monkeypatch.setattr(
        f"{summed.__module__}.Space.summed",
        lambda space, of_rows, size, **how: laid_out.append(size) or summed(space, of_rows, size, **how),
    )
    for count in (1, 40, 4000):
        soft_histograms(space_of(np.ones((count, width)), width), cells_of(kind, width), every(width))
    assert len(set(laid_out)) == 1
