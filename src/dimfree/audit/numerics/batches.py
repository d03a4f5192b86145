"""The predicate, and every map of one record, do not depend on where a record stands or on who is in its batch.

A batched matrix product rounds by its batch: one person's record would move another's last bit, or a friendship.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from dimfree._types import Floats, Integers
from dimfree.audit.numerics.calls import known_shapes
from dimfree.audit.numerics.order import blocks_of
from dimfree.data.blocks import SparseRows
from dimfree.data.records import as_records
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.bases.learned import LearnedAxes
from dimfree.kernel.rows.clip import norms, to_ball
from dimfree.kernel.rows.exact_product import SlicedMatrix
from dimfree.kernel.rows.grid import RADIUS, to_steps
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics import friends
from dimfree.kernel.statistics.friends import are_friends, friend_counts
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.kernel.statistics.unit_vectors import Lookout
from dimfree.shapes import Dense, Isotropic, LowRank
from dimfree.simulation import public_simulation

_TILE = friends._ROWS
_SIZES = (1, 2, 3, 63, 64, 65)  # batches, about the blocks of a matrix product
_WIDE = 130


def predicate(counts: Callable[[Any], Integers] = friend_counts) -> list[str]:
    """Counts are sums of decisions about two records, each of them made in integers; the tables lie on the edge."""
    complaints = []
    for name, table in _edge_tables():
        alone = np.array([int(are_friends(table, table[[j]]).sum()) for j in range(len(table))])
        shuffle = public_simulation(13).permutation(len(table))
        if not np.array_equal(counts(table), alone):
            complaints.append(f"the predicate depends on the batch: {name}")
        if not np.array_equal(counts(table[shuffle]), counts(table)[shuffle]):
            complaints.append(f"the predicate depends on the position: {name}")
        if counts is friend_counts and not np.array_equal(counts(SparseRows(sparse.csr_array(table))), alone):
            complaints.append(f"the predicate depends on the storage: {name}")
    return complaints


def _edge_tables() -> Iterator[tuple[str, Integers]]:
    """Records at exactly one radius from each other, a step more, a step less; near zero and far from it."""
    coins = public_simulation(17)
    for rows in (2, 65, _TILE - 1, _TILE, _TILE + 1):
        rungs = coins.integers(0, 5, (rows, 1)) * np.array([[RADIUS, 0]])
        yield f"{rows} records", (rungs + coins.integers(-1, 2, (rows, 2))).astype(np.int64)
    far = coins.integers(0, 3, (60, _WIDE)) * (RADIUS // 13) + coins.integers(-1, 2, (60, _WIDE))
    yield "wide", far.astype(np.int64)
    yield "far from zero", (far + 2**50 + 1).astype(np.int64)
    yield "apart", (far + coins.choice([0, 2**40, -(2**58)], (60, 1))).astype(np.int64)


def maps() -> dict[str, tuple[Callable[[Floats], Any], int]]:
    """Every map of one record at a time, and the width of the records it takes."""
    coins = public_simulation(19)
    turn = np.linalg.qr(coins.normal(size=(_WIDE, _WIDE)))[0]
    spread = np.geomspace(100.0, 0.01, _WIDE)
    sliced = SlicedMatrix(turn)
    small = {f"rescaling, {name}": (shape.rescale, 4) for name, shape in known_shapes().items()}
    return {
        **small,
        "rescaling, wide Dense": (Dense(turn * spread @ turn.T).rescale, _WIDE),
        "rescaling, wide LowRank": (LowRank(turn[:, :3], [9.0, 4.0, 2.0], 1.0).rescale, _WIDE),
        "product": (sliced.product, _WIDE),
        "grid": (lambda rows: to_steps(rows, 0.01), _WIDE),
        "clipping": (lambda rows: to_ball(rows, 3.0), _WIDE),
        "norms": (lambda rows: norms(rows, 30.0), _WIDE),
        "lengths on the ring": (lambda rows: Ring(Space(as_records(rows), Isotropic(1.0))).lengths(spread), _WIDE),
        "directions": (Lookout(spread, 1 / spread).directions, _WIDE),
        "cosine transform": (Cosine(_WIDE).rotated, _WIDE),
        "learned axes": (LearnedAxes(turn[:, :3], spread, np.sqrt(spread)).rotated, _WIDE),
    }


def recordwise(wanted: Mapping[str, tuple[Callable[[Floats], Any], int]] | None = None) -> list[str]:
    """Each row of the result is the same whoever else is there, in whatever order, layout and block size."""
    return sorted(
        {
            f"{name} depends on {what}"
            for name, (apply, width) in (maps() if wanted is None else wanted).items()
            for what, same in _alone(apply, _rows(width))
            if not same
        }
    )


def _rows(width: int) -> Floats:
    """Ordinary records, and some at the ends of the range of floats."""
    coins = public_simulation(23)
    rows = coins.normal(size=(_SIZES[-1], width)) * np.ldexp(1.0, coins.integers(-40, 40, (_SIZES[-1], 1)))
    rows[5], rows[6], rows[7], rows[8, ::2], rows[9] = 1.7e308, 5e-324, -0.0, -1e300, -1.7e308
    return rows


def _alone(apply: Callable[[Floats], Any], rows: Floats) -> Iterator[tuple[str, bool]]:
    whole = apply(rows.copy())
    shuffle = public_simulation(29).permutation(len(rows))
    yield "the position", _same(apply(rows[shuffle]), whole[shuffle])
    yield "the layout", _same(apply(np.asfortranarray(rows)), whole)
    for size in _SIZES:
        yield "the batch", _same(apply(rows[-size:].copy()), whole[-size:])
    with blocks_of(3, rows.shape[1]):
        yield "the block", _same(apply(rows.copy()), whole)


def _same(first: Any, second: Any) -> bool:
    """Bit for bit, the sign of zero included."""
    return np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()
