"""Every map of one record gives the same bits wherever the record stands and whoever is in its batch.

A batched matrix product rounds by its batch: one person's record would change another's last bit, or a friendship.
"""

import pickle

import numpy as np
import pytest
from blocks import blocks_of

from dimfree.data.records import as_records
from dimfree.kernel.rows.bases import Given, LearnedAxes
from dimfree.kernel.rows.clip import norms
from dimfree.kernel.rows.cosine import Cosine
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.friends import to_steps
from dimfree.kernel.statistics.secret_ring import ring_lengths
from dimfree.kernel.statistics.unit_vectors import DirectionCenter
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance, LowRankCovariance
from dimfree.shapes.exact_product import SlicedMatrix

WIDTH = 130
SIZES = (1, 2, 3, 63, 64, 65)  # batches, about the blocks of a matrix product
TURN = np.linalg.qr(np.random.default_rng(19).normal(size=(WIDTH, WIDTH)))[0]
SPREAD = np.geomspace(100.0, 0.01, WIDTH)
MAPS = {
    "IsotropicCovariance": IsotropicCovariance(2.0).rescale,
    "DiagonalCovariance": DiagonalCovariance(SPREAD).rescale,
    "DenseCovariance": DenseCovariance(TURN * SPREAD @ TURN.T).rescale,
    "LowRankCovariance": LowRankCovariance(TURN[:, :3], [9.0, 4.0, 2.0], 1.0).rescale,
    "product": SlicedMatrix(TURN).product,
    "grid": lambda rows: to_steps(rows, 0.01),
    "norms": lambda rows: norms(rows, 30.0),
    "lengths on the ring": lambda rows: ring_lengths(Space(as_records(rows), IsotropicCovariance(1.0)), SPREAD),
    "directions": DirectionCenter(SPREAD, 1 / SPREAD).directions,
    "cosine transform": Cosine(WIDTH).rotate,
    "given axes": Given(TURN).rotate,
    "axes of another process": pickle.loads(pickle.dumps(Given(TURN))).rotate,
    "learned axes": LearnedAxes(TURN[:, :3], SPREAD, np.sqrt(SPREAD)).rotate,
    "a batched product": lambda rows: (rows - rows.mean(axis=0)) @ TURN,  # must be caught
}
RIGHT = [name for name in MAPS if name != "a batched product"]


def table():
    """Ordinary records, and some at the ends of the range of floats."""
    rng = np.random.default_rng(23)
    rows = rng.normal(size=(SIZES[-1], WIDTH)) * np.ldexp(1.0, rng.integers(-40, 40, (SIZES[-1], 1)))
    rows[5], rows[6], rows[7], rows[8, ::2], rows[9] = 1.7e308, 5e-324, -0.0, -1e300, -1.7e308
    return rows


def bits(found):
    return np.ascontiguousarray(found).tobytes()  # the sign of zero included


def dependences(apply):
    """What the result of one row depends on beside the row."""
    rows = table()
    whole, shuffle = apply(rows.copy()), np.random.default_rng(29).permutation(len(rows))
    if bits(apply(rows[shuffle])) != bits(whole[shuffle]):
        yield "position"
    if bits(apply(np.asfortranarray(rows))) != bits(whole):
        yield "layout"
    if any(bits(apply(rows[-size:].copy())) != bits(whole[-size:]) for size in SIZES):
        yield "batch"
    with blocks_of(3, WIDTH):
        if bits(apply(rows.copy())) != bits(whole):
            yield "block"


@pytest.mark.parametrize("name", RIGHT)
def test_a_record_is_mapped_alike_in_any_company(name):
    with np.errstate(all="ignore"):
        assert list(dependences(MAPS[name])) == []


def test_a_map_of_the_whole_table_is_caught():
    with np.errstate(all="ignore"):
        assert "batch" in list(dependences(MAPS["a batched product"]))
