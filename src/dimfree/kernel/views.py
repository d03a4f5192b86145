"""Views of the records and the queries that they answer, each with its sensitivity.

Parameters of a query are public or released numbers, in instances of the kernel's own classes: a program passes no
code. A query is charged to its session before a record is read.
"""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import CHANGED_RECORDS, Neighbors
from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS
from dimfree.data.blocks import Mask
from dimfree.kernel import parameters as public
from dimfree.kernel.directions import Directions, OuterProducts
from dimfree.kernel.pairs import Pairs, RingPairs
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.bases import Basis
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import NoisyCounts, Released, Sealed, Session
from dimfree.kernel.statistics.clipped_sum import (
    Ball,
    clip_missing,
    length_counts,
    number_missing,
    number_of,
    sum_clipped,
    votes,
)
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.kernel.statistics.scores import SCORE_SENSITIVITY, ScoreLengths, Scoring, total_scores
from dimfree.kernel.statistics.secret_ring import draw_fixed_samples, poisson_samples, ring_differences
from dimfree.kernel.statistics.soft_histogram import STEP, Cells, soft_histograms
from dimfree.kernel.statistics.unit_vectors import DirectionCenter, outer_sum, total_directions
from dimfree.shapes import Covariance, DiagonalCovariance

_ROUNDING = 1 + 1e-15  # of a root and a product


class View(Sealed):
    """Some records in some coordinates, and the queries that they answer."""

    __slots__ = ("_among", "_session", "_space")

    def __init__(self, session: Session, space: Space, among: Mask | None = None) -> None:
        self._session, self._space, self._among = session, space, among

    @property
    def dimension(self) -> int:
        return self._space.dimension

    @property
    def basis(self) -> Basis | None:
        return copy(self._space.basis)

    @property
    def by_entry(self) -> bool:
        """Whether only an entry is missing, and its row stays valid."""
        return self._space.by_entry

    @property
    def relation(self) -> Neighbors:
        return self._session.relation

    # ---- other views: public maps of one record at a time, and secret samples

    def rescale(self, shape: Covariance) -> "View":
        """Return the records rescaled by a public covariance, one at a time."""
        shape = public.shape(shape, self.dimension, apart=self.by_entry)
        return self._with(replace(self._space, shape=shape), self._among)

    def rotate(self, basis: Basis | None, width: int) -> "View":
        """Return the records in the coordinates of a public basis (None: their own), unscaled."""
        own = self._space.records.dimension
        basis = public.basis(basis, own)
        if width != (own if basis is None else basis.width) or (self.by_entry and basis is not None):
            raise KernelError("The width must be that of the basis or the records; missing entries cannot be rotated.")
        space = replace(self._space, basis=basis, shape=DiagonalCovariance(np.ones(width)))
        return self._with(space, self._among)

    def of_all(self) -> "View":
        """Return all records of the session in these coordinates."""
        return self._with(replace(self._space, records=self._session._space.records), None)

    def draw_nested_samples(
        self, rates: tuple[float, float], sizes: tuple[int, int], capacity: int
    ) -> "tuple[View, View]":
        """Return a secret sample and a smaller one within it, by the same coins (P8, P16). `rates` of the smaller and
        the larger one under add-remove, 1 for all records; `sizes`, the same in records, under replace-one; memory for
        `capacity` records."""
        space, session, capacity = self._whole, self._session, public.whole("capacity", capacity)
        small, large = public.finite("rates", rates[0]), public.finite("rates", rates[1])
        sizes = public.whole("sizes", sizes[0]), public.whole("sizes", sizes[1])
        if small >= 1:
            return self, self
        if session.relation is Neighbors.REPLACE_ONE:
            core, early = draw_fixed_samples(space.count, sizes, session._noise)
        else:
            core, early = poisson_samples(space.count, (small, large), session._noise)
        if large >= 1:
            return self, self._with(space, core)
        held = replace(space, records=space.records.load_rows(early, capacity))
        return self._with(held, None), self._with(held, core[early])

    def poisson_sample(self, rate: float) -> "View":
        """Return a secret sample with its own coins; one more record changes it by at most that record (P16)."""
        space, rate = self._whole, public.finite("rate", rate)
        if rate >= 1:
            return self
        (chosen,) = poisson_samples(space.count, (rate,), self._session._noise)
        return self._with(space, chosen)

    def pairs(self, capacity: int) -> Pairs:
        """Return all distances among these records; memory for `capacity` of them."""
        return Pairs(self._session, pair_distances(self._space, self._among, public.whole("capacity", capacity)))

    def ring(self, capacity: int) -> RingPairs:
        """Return the differences of neighbors on a secret ring of these records (P15, P16)."""
        size = public.whole("capacity", capacity)
        differences = ring_differences(self._space, self._among, size, noise=self._session._noise)
        return RingPairs(self._session, differences)

    # ---- queries

    def valid_count(self, mu: float) -> Released[float]:
        """Release the number of valid records; sensitivity 1 under both relations."""
        space = self._whole

        def number() -> int:
            return int(space.sum_over(number_of, 1)[0]) * COUNT_STEPS

        return self._session._release_number(number, COUNT_STEPS, 1 / COUNT_STEPS, mu, "number of valid records")

    def sum_clipped(self, ball: Ball, mu: float, purpose: str) -> Released[Floats]:
        """Release Σ clip((x - c)/s), every term of norm at most the radius: sensitivity one radius, or two (P8)."""
        ball = public.ball(ball, self.dimension)
        moves, step, size = BALL * self._changed, ball.radius / BALL, ball.width(self.dimension)
        return self._session._release(partial(sum_clipped, self._whole, ball), size, moves, step, mu, purpose)

    def shell_sum(self, ball: Ball, inner: float, mu: float) -> Released[Floats]:
        """Release Σ clip_R - clip_ρ, the part that clipping at ρ < R cuts off: sensitivity R - ρ, or twice (P8)."""
        ball, part = public.ball(ball, self.dimension), public.finite("inner", inner) / ball.radius
        steps = int(public.within("inner", part, 2.0**-10, 1 - 2.0**-10) * BALL)
        moves, step, size = (BALL - steps) * self._changed, ball.radius / BALL, ball.width(self.dimension)
        statistic = partial(sum_clipped, self._whole, ball, steps)
        return self._session._release(statistic, size, moves, step, mu, "shell of the ball")

    def scores(self, scoring: Scoring, unit: float, mu: float) -> Released[Floats]:
        """Release Σ of clipped non-negative scores: sensitivity their norm, or √2 of it (P10)."""
        scoring, unit = public.scoring(scoring, self.dimension), public.positive("unit", unit)
        moves, step = BALL * SCORE_SENSITIVITY[self.relation] * _ROUNDING, scoring.norm / BALL
        statistic = partial(total_scores, self._whole, scoring, unit)
        return self._session._release(statistic, self.dimension, moves, step, mu, "variances")

    def count_clipped_scores(
        self, scoring: Scoring, share: float, count: float, grid: Floats, answers: int, mu: float
    ) -> NoisyCounts:
        """Return noisy answers: minus the number of scores that are clipped at a unit; sensitivity 1 (P10).
        Answers are given within `grid`. `share` of `count` records guides what is computed first."""
        units, space, scoring = public.rising("grid", grid), self._whole, public.scoring(scoring, self.dimension)
        clipped = (1 - public.finite("share", share)) * public.finite("count", count)

        def read() -> Callable[[float], int]:
            lengths = ScoreLengths(space, scoring)
            lengths.clipped(lengths.likely_unit(units, clipped / max(space.count, 1)))
            return lambda unit: -lengths.clipped(unit) * SEARCH_STEPS

        domain = float(units[0]), float(units[-1])
        return NoisyCounts(self._session, read, answers, 1.0, mu, "unit of the scores", domain)

    def histograms(self, cells: Cells, which: NDArray[np.intp], mu: float, purpose: str) -> Released[Floats]:
        """Release soft histograms of k columns: an entry is a vector of norm at most 1, so √k, or √(2k) (P19)."""
        space, which = self._whole, public.places("which", which, self.dimension)
        cells = public.cells(cells, len(which))
        moves, size = STEP * math.sqrt(len(which) * self._changed) * _ROUNDING, len(which) * cells.cells

        def statistic() -> Integers:
            return soft_histograms(space, cells, which).ravel()

        found = self._session._release(statistic, size, moves, 1 / STEP, mu, purpose)
        return Released(found.value.reshape(len(which), cells.cells), found.event)

    def lengths(self, ball: Ball, edges: Floats, mu: float) -> Released[Floats]:
        """Release the histogram of lengths |(x - c)/s|: a record is in one cell, so 1, or √2 (P20)."""
        ball, edges = public.ball(ball, self.dimension), public.rising("edges", edges)
        moves, statistic = math.sqrt(self._changed) * _ROUNDING, partial(length_counts, self._whole, ball, edges)
        return self._session._release(statistic, len(edges) + 1, moves, 1.0, mu, "lengths of the records")

    def votes(self, ball: Ball, levels: Floats, mu: float) -> Released[Floats]:
        """Release which column, side and level the largest entry of a record is in: one cell, so 1, or √2 (P23)."""
        ball, levels = replace(public.ball(ball, self.dimension), block=None), public.rising("levels", levels)
        moves, shape = math.sqrt(self._changed) * _ROUNDING, (self.dimension, 2, len(levels))
        statistic = partial(votes, self._whole, ball, levels)
        found = self._session._release(statistic, math.prod(shape), moves, 1.0, mu, "far entries of the columns")
        return Released(found.value.reshape(shape), found.event)

    def within(self, ball: Ball, edges: Floats, answers: int, mu: float) -> NoisyCounts:
        """Return noisy answers: the number of records no longer than an edge; sensitivity 1 (P20)."""
        ball, edges, space = public.ball(ball, self.dimension), public.rising("edges", edges), self._whole

        def read() -> Callable[[float], int]:
            below = np.cumsum(length_counts(space, ball, edges))
            return lambda edge: int(below[np.searchsorted(edges, edge)]) * SEARCH_STEPS

        return NoisyCounts(self._session, read, answers, 1.0, mu, "length of most records")

    def missing(self, mu: float) -> Released[float]:
        """Release the number of missing entries over the number of columns d; sensitivity d entries (P22)."""
        space, d = self._whole, self.dimension

        def number() -> int:
            return int(space.sum_over(number_missing, 1)[0])

        return self._session._release_number(number, d, 1 / d, mu, "missing entries", refined=True)

    def missing_by_column(self, norm: float, mu: float) -> Released[Floats]:
        """Release the number of missing entries of each column: vectors of ones, clipped to a norm (P22)."""
        norm = public.within("norm", norm, *public.NORMS)
        moves = BALL * SCORE_SENSITIVITY[self.relation] * _ROUNDING
        statistic = partial(self._whole.sum_over, partial(clip_missing, norm), self.dimension)
        purpose = "missing entries of the columns"
        return self._session._release(statistic, self.dimension, moves, norm / BALL, mu, purpose)

    def directions(self, origin: DirectionCenter, basis: Basis | None, *, norm_alone: bool = False) -> Directions:
        """Return sums over the directions of the records from a public center (P11)."""
        origin, basis = public.direction_center(origin, self.dimension), public.basis(basis, self.dimension)
        read = partial(total_directions, self._space, origin, basis, self._among, norm_alone=bool(norm_alone))
        return Directions(self._session, read)

    def outer_products(self, origin: DirectionCenter) -> OuterProducts:
        """Return the sum of the outer products of the directions (P11, P12)."""
        read = partial(outer_sum, self._space, public.direction_center(origin, self.dimension), self._among)
        return OuterProducts(self._session, read, self.dimension)

    @property
    def _changed(self) -> int:
        return CHANGED_RECORDS[self._session.relation]

    @property
    def _whole(self) -> Space:
        """All records, or a sample in memory; a sample by a mask has only pairs, ring and directions."""
        if self._among is not None:
            raise KernelError("This query needs all records, or a sample in memory.")
        return self._space

    def _with(self, space: Space, among: Mask | None) -> "View":
        return View(self._session, space, among)
