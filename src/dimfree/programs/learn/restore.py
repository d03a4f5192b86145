"""The answer of a learned shape, restored to the columns of the records, and what its error bars need. Sees no record.

Scores count large entries little, so learned variances are too small where tails are long, and they show nothing of
correlation. The lengths do: their mean square is the sum of all variances, and their squares vary the more, the fewer
directions the records spread over. Letters: V = noise variance of each coordinate that the stages worked in; z = a
record's offset from the centre, rescaled, in units of the clipping radius; v = variances of the coordinates of z; w =
(1 - 1/|z|)+, the share by which a record is clipped.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.kernel import Basis, LearnedAxes
from dimfree.programs.choose.constants import FAR_LENGTH, POPULATION_LEVEL, POPULATION_RADII
from dimfree.programs.learn.principal_directions import without_offset
from dimfree.programs.learn.shrinkage import learned_shape
from dimfree.programs.learn.state import State
from dimfree.programs.learn.tail import Lengths
from dimfree.results.error_model import LearnedDirections, LearnedShape, Reach


@dataclass(frozen=True)
class Population:
    """`widening`: factor of the learned variances, at least 1. `correlation`: of any two coordinates, at least 0.
    `unmeasured`: some records may lie farther out than the lengths measure."""

    widening: float = 1.0
    correlation: float = 0.0
    unmeasured: bool = True


# The learned variances as they are; columns may all move together.
NOT_MEASURED = Population(correlation=1.0)


@dataclass(frozen=True)
class LengthMoments:
    """The number of records, and means over them, at a pessimistic reading of the tail."""

    count: float
    square: float  # of min(|z|, 1)²
    excess: float  # of (|z| - 1)+
    drawn: float  # of w²
    spread: float  # variance of min(|z|, far)²

    @classmethod
    def of(cls, seen: Lengths, far: float) -> "LengthMoments":
        places = np.append(0.0, np.geomspace(*POPULATION_RADII))
        beyond = seen.tail.beyond(seen.ball.radius * places, POPULATION_LEVEL)
        middle, outer, inner = (beyond[1:] + beyond[:-1]) / 2, np.maximum(places, 1), np.minimum(places, far)
        powers = (np.minimum(places, 1) ** 2, outer, (1 - 1 / outer) ** 2, inner**2, inner**4)
        square, excess, drawn, second, fourth = (float(middle @ np.diff(each) / beyond[0]) for each in powers)
        return cls(float(beyond[0]), square, excess, drawn, fourth - second**2)


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
    (found, variance, offset), setting, lengths = state.known.answer(), state.setting, state.lengths
    basis, miscounted = setting.view.basis, offset * (setting.count_stddev / setting.count)
    value, reach, noise, records = found, None, None, None
    bias = 0.0 if lengths is None else lengths.bias  # with few records, clipped at a multiple of their median length
    if basis is None:
        variance, ball = variance + miscounted**2, state.ball
        shape = _shape(state, value, variance)
        if ball is not None and ball.block is None:  # the last stage, which has most of the weight, clipped all columns
            beyond = None if lengths is None else lengths.tail.most_beyond(lengths.ball.radius)
            reach = Reach(ball.radius, ball.centre, np.broadcast_to(ball.scale, ball.centre.shape), beyond)
    else:
        value, miscounted = basis.restored(found), basis.restored(miscounted)
        noise, records = (_principal(basis, each) for each in (variance, state.stddev**2))
        noise[np.argmax(noise)] += float(miscounted @ miscounted)
        variance = basis.diagonal(variance) + miscounted**2
        shape = _shape(state, value, variance)
        records *= float(shape.variances.sum()) / float(records.sum())  # the records vary as much as their columns do
    population, own = NOT_MEASURED, None if basis is None else shape.variances
    if lengths is not None:  # in the coordinates that the stages worked in
        population = learned_population(lengths, found, state.stddev**2, own)
    return Answer(value, variance, shape, noise, records, reach=reach, population=population, bias=bias)


def _shape(state: State, mean: Floats, mean_variance: Floats) -> LearnedShape:
    """SDs by each column's last variance release, and directions, without what the centre's own error explains."""
    last = state.own_scores or (state.scores if state.setting.view.basis is None else None)
    releases = [*state.ring_scores, *([] if last is None else [last])]
    places = [slice(None) if each.which is None else each.which for each in releases]
    latest = np.zeros(len(mean), dtype=np.intp)
    for index, which in enumerate(places):
        latest[which] = index
    parts = [np.empty_like(mean) for _ in range(3)]
    for index in np.unique(latest).tolist():
        which = places[index]
        found = learned_shape(releases[index], mean[which], mean_variance[which])
        for part, of_found in zip(parts, (found.variances, found.log_stddev, found.log_above), strict=True):
            part[which] = of_found
    shape = LearnedShape(parts[0], parts[1], log_above=parts[2])
    if state.directions is None:
        return shape
    spikes, seen_from = state.directions
    length = float((shape.variances / seen_from.scale**2).sum())
    kept = without_offset(spikes, (mean - seen_from.centre) / seen_from.scale, length)
    if not len(kept.shares):
        return shape
    return replace(shape, directions=LearnedDirections(kept.directions.T, kept.shares, kept.angles, seen_from.scale))


def _principal(basis: Basis, variances: Floats) -> Floats:
    """Principal variances of a restored vector whose coordinates are independent.

    Of an isometry all of them or, where padding is dropped, the largest d as upper bounds (Cauchy's interlacing).
    Otherwise eigenvalues, largest first: in this order those of two matrices majorise those of their sum (Ky Fan).
    """
    if isinstance(basis, LearnedAxes) and not basis.isometric:
        back = basis.restored(np.eye(basis.width))
        return np.maximum(np.linalg.eigvalsh((back.T * variances) @ back)[::-1], np.finfo(np.float64).tiny)
    return np.sort(variances)[::-1][: basis.dimension].copy() if basis.width > basis.dimension else variances.copy()


def learned_population(seen: Lengths, mean: Floats, variances: Floats, own: Floats | None = None) -> Population:
    """What the lengths add to these variances.

    `unmeasured` if records stand out beyond the last edge, or beyond the cap of the ball, where their entries may have
    been held, or if too few lie far out to see a tail: how far out they lie is not known, and they count at the edge.
    Nothing is added if squares leave the range of floats.
    Records that are drawn in move the mean. The square of that is added to its variance: an interval so widened is wide
    enough for a shift. `own`: learned variances of the columns, which are widened instead, where the coordinates were
    turned to; what looks like correlation is then likely their widest one, learned too narrow.
    """
    ball = seen.ball
    block = slice(None) if ball.block is None else ball.block  # lengths tell of no other coordinate
    stretch, variances = np.broadcast_to(ball.scale, variances.shape)[block] * ball.radius, variances[block]
    with np.errstate(all="ignore"):
        v, offset = variances / stretch**2, float((((mean - ball.centre)[block] / stretch) ** 2).sum())
    known = float(v.sum())
    if not (0 < known < math.inf and math.isfinite(offset)):
        return NOT_MEASURED
    found = LengthMoments.of(seen, max(1.0, FAR_LENGTH * math.sqrt(known)))
    trace = max(found.square - offset, known)
    together = correlation(v * (trace / known), found.spread)
    widening = (trace + found.count * squared_shift(found, v * (trace / known), together)) / known
    if own is not None:
        likely, most = float(variances.sum()), float(stretch.max()) ** 2 * known
        widening *= ((1 - together) * likely + together * most) / float(own.sum())
    if not math.isfinite(widening):
        return NOT_MEASURED
    return Population(max(widening, 1.0), together, seen.some_unmeasured or not seen.tail.told)


def correlation(v: Floats, spread: float) -> float:
    """Of any two coordinates, so that |z|² has this variance if z is normal: twice the sum of squared covariances."""
    alone = float((v**2).sum())
    together = float(v.sum()) ** 2 - alone
    return 0.0 if together <= 0 else math.sqrt(min(max((spread / 2 - alone) / together, 0.0), 1.0))


def squared_shift(found: LengthMoments, v: Floats, together: float) -> float:
    """At most |E[w z]|². Along any u that is E[w u·z], at most E[w |z|], the excess, and (E[w²]·Var(u·z))^½."""
    widest = (1 - together) * float(v.max()) + together * float(v.sum())
    return min(found.excess**2, found.drawn * widest)
