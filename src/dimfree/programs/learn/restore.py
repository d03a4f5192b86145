"""The answer with estimated variances, restored to the columns, and the input of its intervals. Reads no record.

Scores underestimate variances of long tails, and do not show correlation. Lengths do: their mean square is the sum of
all variances, and their squares vary more if records vary along fewer directions. Letters: V = noise variance of each
coordinate of the refinement steps; z = a record's offset from the center, rescaled, in units of the clipping radius; v
= variances of the coordinates of z; w = (1 - 1/|z|)+, the share by which a record is clipped.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.kernel import Basis, LearnedAxes
from dimfree.programs.choose.constants import FAR_LENGTH, POPULATION_LEVEL, POPULATION_RADIUS_GRID
from dimfree.programs.learn.principal_directions import remove_offset
from dimfree.programs.learn.shrinkage import learn_shape
from dimfree.programs.learn.state import State
from dimfree.programs.learn.tail import Lengths
from dimfree.results.error_model import Clipping, EstimatedDirections, EstimatedVariances


@dataclass(frozen=True)
class Population:
    """`widening`: factor of the estimated variances, at least 1. `correlation`: of any two coordinates, at least 0.
    `unmeasured`: some records may lie beyond the length histogram."""

    widening: float = 1.0
    correlation: float = 0.0
    unmeasured: bool = True


# The estimated variances unchanged; all columns may be correlated.
NOT_MEASURED = Population(correlation=1.0)


@dataclass(frozen=True)
class LengthMoments:
    """The number of records, and means over them, by a pessimistic quantile of the tail."""

    count: float
    square: float  # of min(|z|, 1)²
    excess: float  # of (|z| - 1)+
    drawn: float  # of w²
    square_variance: float  # variance of min(|z|, far)²

    @classmethod
    def of(cls, seen: Lengths, far: float) -> "LengthMoments":
        places = np.append(0.0, np.geomspace(*POPULATION_RADIUS_GRID))
        beyond = seen.tail.beyond(seen.ball.radius * places, POPULATION_LEVEL)
        middle, outer, inner = (beyond[1:] + beyond[:-1]) / 2, np.maximum(places, 1), np.minimum(places, far)
        powers = (np.minimum(places, 1) ** 2, outer, (1 - 1 / outer) ** 2, inner**2, inner**4)
        square, excess, drawn, second, fourth = (float(middle @ np.diff(each) / beyond[0]) for each in powers)
        return cls(float(beyond[0]), square, excess, drawn, fourth - second**2)


@dataclass(frozen=True)
class Answer:
    """The answer of an estimator. `…_principal`: variances along common directions; None: along the axes."""

    mean: Floats
    variance: Floats
    estimated_variances: EstimatedVariances
    noise_principal: Floats | None = None
    record_principal: Floats | None = None
    clipping: Clipping | None = None
    population: Population = NOT_MEASURED
    without_interval: Booleans | None = None  # columns without an interval; None: no such column
    present: Floats | None = None  # share of the records with a value; None: all of them
    bias: float = 0.0  # of clipping, in SDs of the noise
    hidden: Floats | None = None  # of clipping, in each column


def restore_answer(state: State) -> Answer:
    """Restore the answer and its noise to the coordinates of the records."""
    (found, variance, offset), setting, lengths = state.known.answer(), state.setting, state.lengths
    basis, count_error = setting.view.basis, offset * (setting.count_stddev / setting.count)
    value, clipping, noise, records = found, None, None, None
    bias = 0.0 if lengths is None else lengths.bias  # with few records, clipped at a multiple of their median length
    if basis is None:
        if count_error.any():  # the error of the count moves all coordinates together: one direction has all of it
            noise = variance.copy()
            noise[np.argmax(noise)] += float(count_error @ count_error)
        variance, ball = variance + count_error**2, state.ball
        shape = _shape(state, value, variance)
        if ball is not None and ball.block is None:  # the last step, which has most of the weight, clipped all columns
            beyond = None if lengths is None else lengths.tail.bound_clipped(lengths.ball.radius)
            clipping = Clipping(ball.radius, ball.center, np.broadcast_to(ball.scale, ball.center.shape), beyond)
    else:
        value, count_error = basis.restore_answer(found), basis.restore_answer(count_error)
        noise, records = (_find_principal(basis, each) for each in (variance, state.stddev**2))
        noise[np.argmax(noise)] += float(count_error @ count_error)
        variance = basis.diagonal(variance) + count_error**2
        shape = _shape(state, value, variance)
        records *= float(shape.variances.sum()) / float(records.sum())  # the records vary as much as their columns do
    population, own = NOT_MEASURED, None if basis is None else shape.variances
    if lengths is not None:  # in the coordinates of the refinement steps
        population = learn_population(lengths, found, state.stddev**2, own)
    return Answer(value, variance, shape, noise, records, clipping=clipping, population=population, bias=bias)


def _shape(state: State, mean: Floats, mean_variance: Floats) -> EstimatedVariances:
    """Estimate SDs by each column's last variance release, and directions, without the center's own error."""
    last = state.own_scores or (state.scores if state.setting.view.basis is None else None)
    releases = [*state.ring_scores, *([] if last is None else [last])]
    places = [slice(None) if each.which is None else each.which for each in releases]
    latest = np.zeros(len(mean), dtype=np.intp)
    for index, which in enumerate(places):
        latest[which] = index
    parts = [np.empty_like(mean) for _ in range(3)]
    for index in np.unique(latest).tolist():
        which = places[index]
        found = learn_shape(releases[index], mean[which], mean_variance[which])
        for part, of_found in zip(parts, (found.variances, found.log_stddev, found.log_above), strict=True):
            part[which] = of_found
    shape = EstimatedVariances(parts[0], parts[1], log_above=parts[2])
    if state.directions is None:
        return shape
    spikes, about = state.directions
    length = float((shape.variances / about.scale**2).sum())
    kept = remove_offset(spikes, (mean - about.center) / about.scale, length)
    if not len(kept.shares):
        return shape
    return replace(shape, directions=EstimatedDirections(kept.directions.T, kept.shares, kept.angles, about.scale))


def _find_principal(basis: Basis, variances: Floats) -> Floats:
    """Return the principal variances of a restored vector of independent coordinates.

    Of an isometry all of them or, if padding is dropped, the largest d as upper bounds (Cauchy's interlacing).
    Otherwise eigenvalues, largest first: in this order those of two matrices majorize those of their sum (Ky Fan).
    """
    if isinstance(basis, LearnedAxes) and not basis.isometric:
        back = basis.restore_answer(np.eye(basis.width))
        return np.maximum(np.linalg.eigvalsh((back.T * variances) @ back)[::-1], np.finfo(np.float64).tiny)
    return np.sort(variances)[::-1][: basis.dimension].copy() if basis.width > basis.dimension else variances.copy()


def learn_population(seen: Lengths, mean: Floats, variances: Floats, own: Floats | None = None) -> Population:
    """Estimate widening and correlation by the lengths.

    `unmeasured` if records lie beyond the last edge or the column bound, or if too few are far out to fit a tail: they
    count at the edge. Nothing is added if squares leave the range of floats.
    Clipped records bias the mean. The squared bias is added to its variance: an interval so widened covers the shift.
    `own`: estimated variances of the columns, which are widened instead if the coordinates were rotated; apparent
    correlation is then likely an underestimated widest column.
    """
    ball = seen.ball
    block = slice(None) if ball.block is None else ball.block  # lengths show no other coordinate
    stretch, variances = np.broadcast_to(ball.scale, variances.shape)[block] * ball.radius, variances[block]
    with np.errstate(all="ignore"):
        v, offset = variances / stretch**2, float((((mean - ball.center)[block] / stretch) ** 2).sum())
    known = float(v.sum())
    if not (0 < known < math.inf and math.isfinite(offset)):
        return NOT_MEASURED
    found = LengthMoments.of(seen, max(1.0, FAR_LENGTH * math.sqrt(known)))
    trace = max(found.square - offset, known)
    together = estimate_correlation(v * (trace / known), found.square_variance)
    widening = (trace + found.count * bound_squared_shift(found, v * (trace / known), together)) / known
    if own is not None:
        likely, most = float(variances.sum()), float(stretch.max()) ** 2 * known
        widening *= ((1 - together) * likely + together * most) / float(own.sum())
    if not math.isfinite(widening):
        return NOT_MEASURED
    return Population(max(widening, 1.0), together, seen.some_unmeasured or not seen.tail.resolved)


def estimate_correlation(v: Floats, square_variance: float) -> float:
    """Estimate the correlation at which |z|² has this variance if z is normal: twice the sum of squared covariances."""
    alone = float((v**2).sum())
    together = float(v.sum()) ** 2 - alone
    return 0.0 if together <= 0 else math.sqrt(min(max((square_variance / 2 - alone) / together, 0.0), 1.0))


def bound_squared_shift(found: LengthMoments, v: Floats, together: float) -> float:
    """Bound |E[w z]|². Along any u, E[w u·z] is at most E[w |z|], the excess, and (E[w²]·Var(u·z))^½."""
    widest = (1 - together) * float(v.max()) + together * float(v.sum())
    return min(found.excess**2, found.drawn * widest)
