"""Soft histograms (P19): a vector of norm at most STEP for each entry, exact sums, the same bits wherever rows lie."""

import math
import os
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel.statistics.test_closed_forms import space_of

from dimfree.kernel.statistics import soft_histogram
from dimfree.kernel.statistics.soft_histogram import (
    PARTS,
    STEP,
    Magnitudes,
    Offsets,
    soft_histograms,
    weights_of,
)

TINY, HUGE, FIRST = 5e-324, 1.7e308, 2.0**-60


def cells_of(kind, width):
    return Magnitudes() if kind == "magnitudes" else Offsets(np.full(width, 0.3), np.full(width, 0.9))


def every(width):
    return np.arange(width)


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
def test_an_entry_is_a_vector_of_norm_at_most_a_step(entry, center, scale):
    for cells in (Magnitudes(), Offsets(np.array([center]), np.array([scale]))):
        with np.errstate(all="ignore"):
            found = [int(v) for v in soft_histograms(space_of(((entry,),), 1), cells, every(1)).ravel()]
            no_place = entry == center and isinstance(cells, Offsets) and PARTS / np.float64(scale) == np.inf
        assert min(found) >= 0
        assert (0 if no_place else 0.9999 * STEP**2) <= sum(v * v for v in found) <= STEP**2
        assert sum(v > 0 for v in found) <= 2


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


def test_templates_have_the_weights_of_records():
    values = np.array([[0.0, 1.0], [8.0, 3.0]])
    found = soft_histograms(space_of(values, 2), Magnitudes(), every(2))
    assert np.array_equal(weights_of(Magnitudes(), values), found / STEP)


# how far one record moves them


# the same bits everywhere


def test_entries_weighed_one_by_one_or_counted_first(rng, monkeypatch):
    where = rng.integers(0, 9 * PARTS, size=12 * PARTS)  # from the seventh cell on: missing
    counted = soft_histogram._tally(where, 6)
    monkeypatch.setattr(soft_histogram, "_MAX_PARTS", 0)
    assert counted.tolist() == soft_histogram._tally(where, 6).tolist()


@pytest.mark.parametrize("kind", ["magnitudes", "offsets"])
@pytest.mark.parametrize("width", [3, 320])
def test_no_number_of_records_decides_how_they_are_summed(kind, width, monkeypatch):
    """What is laid out for the sum depends on public sizes: one record more takes no other way."""
    laid_out = []
    summed = type(space_of(np.zeros((1, 1)), 1)).sum_over
    monkeypatch.setattr(
        f"{summed.__module__}.Space.sum_over",
        lambda space, of_rows, size, **how: laid_out.append(size) or summed(space, of_rows, size, **how),
    )
    for count in (1, 40, 4000):
        soft_histograms(space_of(np.ones((count, width)), width), cells_of(kind, width), every(width))
    assert len(set(laid_out)) == 1
