"""Recentring (P8): each stage clips around everything released so far. The answer is made of the last stages (P21)."""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import Ball, Block
from dimfree.programs.choose.constants import (
    COUNTED_PRECISION,
    EARLY_STRENGTH,
    FEW_LENGTHS,
    FEW_RADIUS,
    MOST_STAGES,
    STAGE_RATIOS,
    WIDE_REACH,
)
from dimfree.programs.choose.stages import Moments, Schedule, good_enough, shell_share
from dimfree.programs.learn.knowledge import Knowledge, Output
from dimfree.programs.learn.population import Lengths
from dimfree.programs.learn.radius import look_precision, looked_radius, noisy_lengths
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.shell import Verified, verified_radius
from dimfree.programs.learn.state import StageSetting, State
from dimfree.programs.learn.tail import LengthCounts, Tail, bias_in_bars
from dimfree.progress import during


def stage(
    setting: StageSetting, known: Knowledge, ball: Ball, mu: float, purpose: str, weight: float = 0.0
) -> Knowledge:
    """Clip around the ball's centre, sum, and add the output to what is known (P8); `weight` in the answer (P21)."""
    with during(purpose):
        measured = setting.view.clipped_sum(ball, mu, purpose)
    offset, variance = np.zeros(setting.view.dimension), np.full(setting.view.dimension, np.inf)
    block = slice(None) if ball.block is None else ball.block
    stretch = np.broadcast_to(ball.scale, offset.shape)[block]
    offset[block] = measured.value / setting.count * stretch
    variance[block] = (measured.stddev / setting.count * stretch) ** 2
    return known.add_stage(Output(ball.centre + offset, variance, weight, offset))


@dataclass(frozen=True)
class Honest:
    """What is believed of honest records in this space: public."""

    spectrum: Floats  # eigenvalues of the covariance, descending
    coordinates: Floats  # variance of each coordinate
    looked: bool  # whether lengths are looked at, rather than radii trusted to the model
    farthest: float  # distance between records of the core, at most

    def largest(self, size: int) -> Block:
        """The `size` coordinates of largest variance."""
        return None if size == len(self.coordinates) else np.sort(np.argsort(-self.coordinates)[:size])


def run_schedule(
    setting: StageSetting, known: Knowledge, schedule: Schedule, honest: Honest, level: float
) -> tuple[Knowledge, Ball | None, float]:
    """Known shape: the stages of a schedule, each around everything known before it (P8); the last ball; and the bias
    of clipping that error bars allow for, in deviations of the noise (0 where the model's radius is trusted).

    Stages that count in the answer have a looked-at radius, or the model's where that is trusted. The last one sees
    all records; after a sample it alone counts.
    """
    moments, block = Moments.of(honest.spectrum[: schedule.block]), honest.largest(schedule.block)
    ball: Ball | None = None
    ratio: float | None = None  # of the radius to the model's
    bias, boost = 0.0, 1.0
    for index, (mu, weight) in enumerate(zip(schedule.stage_mus, schedule.weights[1:], strict=True)):
        centre, variance = known.combined()
        spread = float((variance if block is None else variance[block]).mean())
        spread += known.miscounted(setting.count_stddev, setting.count) / moments.size
        if index + 1 == len(schedule.stage_mus):
            setting = setting.of_all()
        ball = Ball(centre, 1.0, float(moments.radius(level, spread)), block)
        if weight and ratio is None and honest.looked:
            farthest = honest.farthest + math.sqrt(float(variance.sum()))
            expected = replace(ball, radius=math.sqrt(moments.first + moments.size * spread))
            seen = noisy_lengths(setting, expected, moments.effective_rank, schedule.look_mu, farthest=farthest)
            tail, radius, bias = schedule_radius(seen.value, setting, schedule, honest)
            found = _verified(setting, replace(ball, radius=radius), tail, schedule, honest)
            if found is None:
                boost = math.sqrt(1 + schedule.shell_mu**2 / schedule.counted_precision)
            else:
                radius, bias = found.radius, math.hypot(bias, found.bias)
            ratio = radius / ball.radius
        ball = replace(ball, radius=(ratio or 1.0) * ball.radius)
        known = stage(setting, known, ball, boost * mu, f"stage {index + 1}", weight)
    return known, ball, bias


def _verified(setting: StageSetting, ball: Ball, tail: Tail, schedule: Schedule, honest: Honest) -> Verified | None:
    """The smaller radius that a shell allows; None, at no cost, where none is planned or worth its precision."""
    if not schedule.shell_mu:
        return None
    weights = honest.coordinates if ball.block is None else honest.coordinates[ball.block]
    sampling, answer = setting.count * float((weights**2).sum()), math.sqrt(schedule.counted_precision)
    return verified_radius(setting, ball, tail, weights, schedule.shell_mu, answer, sampling)


def schedule_radius(
    seen: LengthCounts, setting: StageSetting, schedule: Schedule, honest: Honest
) -> tuple[Tail, float, float]:
    """The tail of the lengths; the clipping radius of the stages that count, about the center that lengths were seen
    from; and the bias that intervals allow for."""
    spectrum, mu = honest.spectrum[: schedule.block], math.sqrt(schedule.counted_precision) / setting.moves
    moments = Moments.of(spectrum)
    wide = WIDE_REACH * math.sqrt(moments.first / moments.size * setting.count) * mu
    predicted, widest = math.sqrt(moments.first), moments.first / float(spectrum[0])
    tail = Tail.fitted(seen, moments.effective_rank, predicted)
    radius = looked_radius(tail, mu, widest, wide)
    return tail, radius, bias_in_bars(tail, radius, widest, mu)


def run_stages(state: State, share: float, most: int = MOST_STAGES, *, spherical: bool = False) -> State:
    """Learned shape: stages for a better centre, with a share of what is left, as planned (P8).

    `spherical`: with noise that is the same in all coordinates, now and after any rotation.
    """
    for planned in plan_stages(state, share * state.left, most):
        state = _run_stage(state, planned.mu, spherical=spherical)
    return state


def last_stages(state: State) -> State:
    """Learned shape: the look at the records' lengths, and the stages of the answer, with all that is left.

    All records are looked at here. The weights of the answer are fixed with the plan (P21). After a sample one stage is
    planned, as each is a pass over the records.
    """
    most, state = (MOST_STAGES, state) if state.setting.whole is None else (1, _settled(state).on_all())
    look = look_precision(state.widest, state.precision, state.left, few=state.few)
    shell = 0.0 if state.few else shell_share(expected_ball_weights(state)) * (state.left - look)
    plan = plan_stages(state, state.left - look - shell, most, answer=True)
    counted = sum(planned.mu**2 for planned in plan if planned.weight)
    ratio: float | None = None
    boost = 1.0  # of the stages that count, by what a shell that is not worth it leaves
    for planned in plan:
        if planned.weight and ratio is None:
            state, ratio = _few_look(state, look) if state.few else _look(state, look, counted)
            if shell:
                state, ratio, spent = _verify(state, shell, counted, ratio)
                boost = math.sqrt(1 + (shell - spent) / counted)
        state = _run_stage(state, boost * planned.mu, ratio or 1.0, planned.weight)
    return state


def expected_ball_weights(state: State) -> Floats:
    """What a squared error counts in each coordinate of the ball: its squared scale."""
    return np.asarray(state.seen(np.asarray(expected_ball(state).scale)) ** 2)


def _verify(state: State, precision: float, counted: float, ratio: float) -> tuple[State, float, float]:
    """The same ratio, or a smaller one that the shell of the ball allows; and the precision that it took."""
    assert state.lengths is not None
    setting, seen = state.setting, state.lengths
    weights = np.asarray(state.seen(np.asarray(seen.ball.scale)) ** 2)
    sampling = (state.sampling_error * setting.count) ** 2
    found = verified_radius(setting, seen.ball, seen.tail, weights, math.sqrt(precision), math.sqrt(counted), sampling)
    if found is None:
        return state, ratio, 0.0
    lengths = replace(seen, ball=replace(seen.ball, radius=found.radius), bias=math.hypot(seen.bias, found.bias))
    state = replace(state, left=state.left - precision, lengths=lengths)
    return state, ratio * found.radius / seen.ball.radius, precision


def _settled(state: State) -> State:
    """On a sample: with a better centre, if the error of the centre makes records longer than a better one costs.

    A share s of P leaves 1/(s·strength²) of their squared length; s = 1/strength is the best: it costs as much.
    """
    blur = state.centre()[1]
    longer = state.seen(np.sqrt(state.stddev**2 + blur)).sum() / state.seen(state.stddev).sum()
    pays = longer > 1 + 1 / EARLY_STRENGTH
    return run_stages(state, state.precision / state.left / EARLY_STRENGTH) if pays else state


def _run_stage(state: State, mu: float, ratio: float = 1.0, weight: float = 0.0, *, spherical: bool = False) -> State:
    """One stage; `ratio` is the clipping radius over the expected length of a record."""
    ball = expected_ball(state, spherical=spherical)
    ball = replace(ball, radius=ratio * ball.radius)
    known = stage(state.setting, state.known, ball, mu, f"stage {state.known.stages + 1}", weight)
    return replace(state, known=known, left=state.left - mu**2, ball=ball)


def expected_ball(state: State, *, spherical: bool = False) -> Ball:
    """About the centre, as large as the expected length of a record, in coordinates divided by the root of σ."""
    centre, blur = state.centre()
    middle = np.sqrt(state.stddev**2 + (blur.mean() if spherical else blur))  # spread of a record about the centre
    return Ball(centre, np.sqrt(middle), math.sqrt(float(state.seen(middle).sum())), state.block)


def _few_look(state: State, precision: float) -> tuple[State, float]:
    """With few records their median length alone: a histogram would show nothing but noise."""
    setting, ball = state.setting, expected_ball(state)
    edges = ball.radius * geometric_grid(*FEW_LENGTHS)
    counts = setting.view.within(ball, edges, answers(edges), math.sqrt(precision))
    target = round(0.5 * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    found = crossing(counts, edges, 0.5, setting.count, -target)
    return replace(state, left=state.left - precision), FEW_RADIUS * found / ball.radius


def _look(state: State, precision: float, counted: float) -> tuple[State, float]:
    """One histogram of lengths (P20), and the ratio of the clipping radius that it suggests to the expected length.

    `counted` is the precision of the answer, whose noise the bias of clipping is compared with.
    """
    setting, ball, rank = state.setting, expected_ball(state), state.rank
    farthest = state.start.farthest + math.sqrt(float(state.centre()[1].sum()))
    scale = state.seen(np.asarray(ball.scale))
    widest = float(scale.max())
    seen = noisy_lengths(setting, ball, rank, math.sqrt(precision), farthest=farthest / widest)
    mu, stretch = math.sqrt(counted) / setting.moves, float(np.linalg.norm(scale))
    wide = WIDE_REACH * state.sampling_error * setting.count * mu / stretch
    tail = Tail.fitted(seen.value, rank, ball.radius)
    spread = (stretch / widest) ** 2
    radius = looked_radius(tail, mu, spread, wide)
    bias = bias_in_bars(tail, radius, spread, mu)
    lengths = Lengths(tail, replace(ball, radius=radius), bias)
    return replace(state, left=state.left - precision, lengths=lengths), radius / ball.radius


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and its weight in the answer (0: it serves the centre alone)."""

    mu: float
    weight: float


def plan_stages(state: State, budget: float, most: int = MOST_STAGES, *, answer: bool = False) -> list[Planned]:
    """Stages of geometric precisions that sum to `budget`: the plan with the least predicted error.

    Of those that are good enough, the one with the fewest stages: each is a pass over the records. `answer`: the error
    is that of the answer, in which precise stages count, not of the centre.
    """
    plans: list[tuple[float, list[Planned]]] = []
    (_, variance), (_, blur) = state.known.combined(), state.centre()
    before = state.seen(variance), state.seen(blur)
    for count in range(1, most + 1):
        for ratio in STAGE_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            least = min(COUNTED_PRECISION * state.precision, shares[-1]) if answer else math.inf
            plans.append(_predicted(state, *before, shares, shares >= least))
    enough = good_enough(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _predicted(
    state: State, variance: Floats, blur: Floats, shares: Floats, counts: Booleans
) -> tuple[float, list[Planned]]:
    """The squared error in the block after stages of these precisions, and the stages with their weights.

    V <- 1/(1/V + 1/N) for the centre, which is off by `blur`; the answer has the weights of P21, in proportion to
    predicted precisions.
    """
    shrunk, outputs = blur / variance, []
    for share in shares:
        outputs.append(_output_variance(state, shrunk * variance, math.sqrt(share)))
        variance = 1 / (1 / variance + 1 / outputs[-1])
    if not counts.any():
        return float(variance.sum()), [Planned(math.sqrt(share), 0.0) for share in shares]
    weights = counts / np.sum(outputs, axis=1)
    weights /= weights.sum()
    error = float((np.sqrt(weights[:, None] / outputs).sum(axis=0) ** -2).sum())
    return error, [Planned(math.sqrt(p), float(weight)) for p, weight in zip(shares, weights, strict=True)]


def _output_variance(state: State, blur: Floats, mu: float) -> Floats:
    """N of a stage about a centre whose coordinates are off by `blur`, at the expected length of a record."""
    middle = np.sqrt(state.seen(state.stddev) ** 2 + blur)
    return np.asarray(middle * middle.sum() * (state.setting.moves / state.setting.count / mu) ** 2)
