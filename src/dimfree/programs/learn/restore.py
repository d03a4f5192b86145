"""The answer of a learned shape, restored to the columns of the records. Sees no record.

The noise of a release is Gaussian with a known covariance; its diagonal and its principal variances are computed here
for the error bars. Letters: V = noise variance of each coordinate that the stages worked in, R = the map back from
these.
"""

from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.kernel import Basis, LearnedAxes
from dimfree.programs.learn.population import NOT_MEASURED, Population, learned_population
from dimfree.programs.learn.principal_directions import without_offset
from dimfree.programs.learn.spreads import VarianceRelease, learned_shape
from dimfree.programs.learn.state import State
from dimfree.results.error_model import LearnedDirections, LearnedShape, Reach


@dataclass(frozen=True)
class Answer:
    """Everything a release says of the mean. `…_principal`: variances along common directions; None: along the axes."""

    mean: Floats
    variance: Floats
    shape: LearnedShape
    noise_principal: Floats | None = None
    record_principal: Floats | None = None
    reach: Reach | None = None
    population: Population = NOT_MEASURED
    one_value: Booleans | None = None  # columns that have no interval; None: no such column
    present: Floats | None = None  # share of the records that have an entry; None: all of them
    bias: float = 0.0  # of clipping, in deviations of the noise
    hidden: Floats | None = None  # of clipping, in each column


def restored(state: State) -> Answer:
    """The answer and its noise, back in the coordinates of the records."""
    found, setting, basis = state.known.answer(), state.setting, state.setting.view.basis
    miscount = setting.count_stddev / setting.count
    if basis is None:
        variance = found.variance + (found.offset * miscount) ** 2
        shape = _shape(state, found.value, variance)
        reach, population = _reach(state), _population(state, found.value, shape)
        return Answer(found.value, variance, shape, reach=reach, population=population, bias=_bias(state))
    value, miscounted = basis.restored(found.value), basis.restored(found.offset * miscount)
    noise, records = (_principal(basis, each) for each in (found.variance, state.stddev**2))
    noise[np.argmax(noise)] += float(miscounted @ miscounted)
    variance = basis.diagonal(found.variance) + miscounted**2
    shape = _shape(state, value, variance)
    records *= float(shape.variances.sum()) / float(records.sum())  # the records vary as much as their columns do
    population = _population(state, found.value, shape)
    return Answer(value, variance, shape, noise, records, population=population, bias=_bias(state))


def _population(state: State, value: Floats, shape: LearnedShape) -> Population:
    """What the lengths say, in the coordinates that the stages worked in; with few records nothing."""
    own = None if state.setting.view.basis is None else shape.variances
    return NOT_MEASURED if state.lengths is None else learned_population(state.lengths, value, state.stddev**2, own)


def _bias(state: State) -> float:
    """Of clipping, in deviations of the noise; 0 with few records, clipped at a multiple of their median length."""
    return 0.0 if state.lengths is None else state.lengths.bias


def _reach(state: State) -> Reach | None:
    """Where the last stage clipped all columns, which has most of the weight; the coordinates are the columns."""
    ball = state.ball
    if ball is None or ball.block is not None:
        return None
    beyond = None if state.lengths is None else state.lengths.tail.most_beyond(state.lengths.ball.radius)
    return Reach(ball.radius, ball.centre, np.broadcast_to(ball.scale, ball.centre.shape), beyond)


def _shape(state: State, mean: Floats, mean_variance: Floats) -> LearnedShape:
    """Spreads of the columns, and the directions found. The directions were seen from an earlier centre, off by about
    what the mean has moved since: what that distance alone explains is taken out."""
    shape = _spreads(_own_scores(state), mean, mean_variance)
    if state.directions is None:
        return shape
    seen_from = state.directions.seen_from
    offset = (mean - seen_from.centre) / seen_from.scale
    length = float((shape.variances / seen_from.scale**2).sum())
    found = without_offset(state.directions.spikes, offset, length)
    if not len(found.shares):
        return shape
    directions = LearnedDirections(found.directions.T, found.shares, found.angles, seen_from.scale)
    return replace(shape, directions=directions)


def _own_scores(state: State) -> list[VarianceRelease]:
    """Variance releases in the records' own coordinates; together they are about all of them."""
    last = state.own_scores or (state.scores if state.setting.view.basis is None else None)
    return [*state.ring_scores, *([] if last is None else [last])]


def _spreads(releases: list[VarianceRelease], mean: Floats, mean_variance: Floats) -> LearnedShape:
    """What each coordinate's last variance release says."""
    parts = [np.empty_like(mean) for _ in range(3)]
    for each in _not_repeated(releases, len(mean)):
        which = slice(None) if each.which is None else each.which
        found = learned_shape(each, mean[which], mean_variance[which])
        for part, of_found in zip(parts, (found.variances, found.log_stddev, found.log_above), strict=True):
            part[which] = of_found
    return LearnedShape(parts[0], parts[1], log_above=parts[2])


def _not_repeated(releases: list[VarianceRelease], dimension: int) -> list[VarianceRelease]:
    """In their order, without those whose every coordinate has a later one."""
    kept: list[VarianceRelease] = []
    told = np.zeros(dimension, dtype=np.bool_)
    for each in reversed(releases):
        which = slice(None) if each.which is None else each.which
        if not told[which].all():
            kept.insert(0, each)
        told[which] = True
    return kept


def _principal(basis: Basis, variances: Floats) -> Floats:
    """Principal variances of a restored vector whose coordinates are independent.

    Of an isometry all of them or, where padding is dropped, the largest d as upper bounds (Cauchy's interlacing).
    Otherwise eigenvalues, largest first: in this order those of two matrices majorise those of their sum (Ky Fan).
    """
    if isinstance(basis, LearnedAxes) and not basis.isometric:
        back = basis.restored(np.eye(basis.width))
        return np.maximum(np.linalg.eigvalsh((back.T * variances) @ back)[::-1], np.finfo(np.float64).tiny)
    return np.sort(variances)[::-1][: basis.dimension].copy() if basis.width > basis.dimension else variances.copy()
