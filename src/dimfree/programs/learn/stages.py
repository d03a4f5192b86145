"""Recentring (P8): each stage clips around everything released so far. The answer is made of the last stages (P21).

The clipping radius follows from one histogram of the records' lengths, and from a shell that shows whether a smaller
radius costs little. Of wide symmetric records most of what clipping cuts off cancels in the sum, but a histogram cannot
show that. The shell sum Σ clip_R - clip_ρ can: its squared length, less that of its noise, is the squared bias that
clipping at ρ would add to the sum. Letters: z = a record's offset from the centre, rescaled; R = the radius that the
lengths suggest, ρ = their median; w = what a squared error in each coordinate counts; σ = standard deviations.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import Ball, Block, Released
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.constants import EARLY_STRENGTH
from dimfree.programs.choose.stages import Moments, Schedule, good_enough, look_share, shell_share
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.state import Knowledge, Output, StageSetting, State
from dimfree.programs.learn.tail import LengthCounts, Lengths, Tail, bias_in_bars, length_edges, outer_radius
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
    """Known shape: the stages of a schedule, each around everything known before it (P8).

    (What is known, the last ball, and the bias of clipping that error bars allow for, in deviations of the noise: 0
    where the model's radius is trusted.) Stages that count in the answer have a looked-at radius, or the model's where
    that is trusted. The last one sees all records; after a sample it alone counts.
    """
    moments, block = Moments.of(honest.spectrum[: schedule.block]), honest.largest(schedule.block)
    ball: Ball | None = None
    ratio: float | None = None  # of the radius to the model's
    bias, boost = 0.0, 1.0
    for index, (mu, weight) in enumerate(zip(schedule.stage_mus, schedule.weights[1:], strict=True)):
        centre, variance = known.combined
        spread = float((variance if block is None else variance[block]).mean())
        miscounted = np.square(known.outputs[-1].offset).sum() * (setting.count_stddev / setting.count) ** 2
        spread += float(miscounted) / moments.size  # offsets were divided by the released number of records
        if index + 1 == len(schedule.stage_mus):
            setting = setting.of_all()
        ball = Ball(centre, 1.0, float(moments.radius(level, spread)), block)
        if weight and ratio is None and honest.looked:
            farthest = honest.farthest + math.sqrt(float(variance.sum()))
            expected = replace(ball, radius=math.sqrt(moments.first + moments.size * spread))
            answer, widest = math.sqrt(schedule.counted_precision), moments.first / float(honest.spectrum[0])
            wide = c.WIDE_REACH * math.sqrt(moments.first / moments.size * setting.count) * (answer / setting.moves)
            shape = moments.effective_rank, math.sqrt(moments.first), farthest, widest, wide
            lengths, verified = _look(setting, expected, schedule.look_mu, answer, *shape), None
            if schedule.shell_mu:
                weights = honest.coordinates if block is None else honest.coordinates[block]
                sampling = setting.count * float((weights**2).sum())
                verified = verified_radius(setting, lengths, weights, schedule.shell_mu, answer, sampling)
            boost = 1.0 if verified else math.sqrt(1 + schedule.shell_mu**2 / schedule.counted_precision)
            lengths = verified or lengths
            ratio, bias = lengths.ball.radius / ball.radius, lengths.bias
        ball = replace(ball, radius=(ratio or 1.0) * ball.radius)
        known = stage(setting, known, ball, boost * mu, f"stage {index + 1}", weight)
    return known, ball, bias


def _look(
    setting: StageSetting,
    ball: Ball,
    mu: float,
    answer: float,
    rank: float,
    predicted: float,
    farthest: float,
    widest: float,
    wide: float,
) -> Lengths:
    """One histogram of lengths (P20), the radius that it suggests, and the bias that intervals allow for.

    The ball is as large as the expected length. `answer`: mu of the answer, with whose noise the bias is compared.
    """
    tail = Tail.fitted(noisy_lengths(setting, ball, rank, mu, farthest=farthest).value, rank, predicted)
    radius = looked_radius(tail, answer / setting.moves, widest, wide)
    return Lengths(tail, replace(ball, radius=radius), bias_in_bars(tail, radius, widest, answer / setting.moves))


def run_stages(state: State, share: float, most: int = c.MOST_STAGES, *, spherical: bool = False) -> State:
    """Learned shape: stages for a better centre, with a share of what is left; `spherical`: with equal noise."""
    for planned in plan_stages(state, share * state.left, most):
        state = _run_stage(state, planned.mu, spherical=spherical)
    return state


def last_stages(state: State) -> State:
    """Learned shape: the look at the records' lengths, and the stages of the answer, with all that is left.

    All records are looked at here. The weights of the answer are fixed with the plan (P21). After a sample one stage is
    planned, as each is a pass over the records; its centre is improved before, if its error makes records longer than
    that costs. A share s of P leaves 1/(s·strength²) of their squared length; s = 1/strength is the best: it costs as
    much.
    """
    most = c.MOST_STAGES
    if state.setting.whole is not None:
        longer = state.seen(np.sqrt(state.stddev**2 + state.centre[1])).sum() / state.seen(state.stddev).sum()
        if longer > 1 + 1 / EARLY_STRENGTH:
            state = run_stages(state, state.precision / state.left / EARLY_STRENGTH)
        most, state = 1, replace(state, setting=state.setting.of_all())
    look = look_precision(state.widest, state.precision, state.left, few=state.few)
    shell = 0.0 if state.few else shell_share(_ball_weights(state, expected_ball(state))) * (state.left - look)
    plan = plan_stages(state, state.left - look - shell, most, answer=True)
    counted = sum(planned.mu**2 for planned in plan if planned.weight)
    ratio: float | None = None
    boost = 1.0  # of the stages that count, by what a shell that is not worth it leaves
    for planned in plan:
        if planned.weight and ratio is None:
            state, ratio = _few_look(state, look) if state.few else _learned_look(state, look, counted)
            if shell:
                state, ratio, spent = _verify(state, shell, counted, ratio)
                boost = math.sqrt(1 + (shell - spent) / counted)
        state = _run_stage(state, boost * planned.mu, ratio or 1.0, planned.weight)
    return state


def _ball_weights(state: State, ball: Ball) -> Floats:
    """What a squared error counts in each coordinate of the ball: its squared scale."""
    return np.asarray(state.seen(np.asarray(ball.scale)) ** 2)


def _verify(state: State, precision: float, counted: float, ratio: float) -> tuple[State, float, float]:
    """The same ratio, or a smaller one that the shell of the ball allows; and the precision that it took."""
    assert state.lengths is not None
    setting, seen = state.setting, state.lengths
    weights, sampling = _ball_weights(state, seen.ball), (state.sampling_error * setting.count) ** 2
    found = verified_radius(setting, seen, weights, math.sqrt(precision), math.sqrt(counted), sampling)
    if found is None:
        return state, ratio, 0.0
    state = replace(state, left=state.left - precision, lengths=found)
    return state, ratio * found.ball.radius / seen.ball.radius, precision


def _run_stage(state: State, mu: float, ratio: float = 1.0, weight: float = 0.0, *, spherical: bool = False) -> State:
    """One stage; `ratio` is the clipping radius over the expected length of a record."""
    ball = expected_ball(state, spherical=spherical)
    ball = replace(ball, radius=ratio * ball.radius)
    known = stage(state.setting, state.known, ball, mu, f"stage {state.known.stages + 1}", weight)
    return replace(state, known=known, left=state.left - mu**2, ball=ball)


def expected_ball(state: State, *, spherical: bool = False) -> Ball:
    """About the centre, as large as the expected length of a record, in coordinates divided by the root of σ."""
    centre, blur = state.centre
    middle = np.sqrt(state.stddev**2 + (blur.mean() if spherical else blur))  # spread of a record about the centre
    return Ball(centre, np.sqrt(middle), math.sqrt(float(state.seen(middle).sum())), state.block)


def _few_look(state: State, precision: float) -> tuple[State, float]:
    """With few records their median length alone: a histogram would show nothing but noise."""
    setting, ball = state.setting, expected_ball(state)
    edges = ball.radius * geometric_grid(*c.FEW_LENGTHS)
    counts = setting.view.within(ball, edges, answers(edges), math.sqrt(precision))
    target = round(0.5 * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    found = crossing(counts, edges, 0.5, setting.count, -target)
    return replace(state, left=state.left - precision), c.FEW_RADIUS * found / ball.radius


def _learned_look(state: State, precision: float, counted: float) -> tuple[State, float]:
    """The look in a learned shape, and its radius over the expected length; `counted`: precision of the answer."""
    setting, ball, answer = state.setting, expected_ball(state), math.sqrt(counted)
    scale = state.seen(np.asarray(ball.scale))
    widest, stretch = float(scale.max()), float(np.linalg.norm(scale))
    farthest = (state.farthest + math.sqrt(float(state.centre[1].sum()))) / widest
    wide = c.WIDE_REACH * state.sampling_error * setting.count * (answer / setting.moves) / stretch
    shape = state.rank, ball.radius, farthest, (stretch / widest) ** 2, wide
    lengths = _look(setting, ball, math.sqrt(precision), answer, *shape)
    return replace(state, left=state.left - precision, lengths=lengths), lengths.ball.radius / ball.radius


@dataclass(frozen=True, order=True)
class Planned:
    """One stage to come: its mu, and its weight in the answer (0: it serves the centre alone)."""

    mu: float
    weight: float


def plan_stages(state: State, budget: float, most: int = c.MOST_STAGES, *, answer: bool = False) -> list[Planned]:
    """The shortest good plan of stages of geometric precisions that sum to `budget`; `answer`: by the error of that."""
    plans: list[tuple[float, list[Planned]]] = []
    before = state.seen(state.known.combined[1]), state.seen(state.centre[1])
    for count in range(1, most + 1):
        for ratio in c.STAGE_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            least = min(c.COUNTED_PRECISION * state.precision, shares[-1]) if answer else math.inf
            plans.append(_predicted(state, *before, shares, shares >= least))
    enough = good_enough(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _predicted(
    state: State, variance: Floats, blur: Floats, shares: Floats, counts: Booleans
) -> tuple[float, list[Planned]]:
    """(squared error in the block, stages with weights of P21), by V <- 1/(1/V + 1/N) for a centre off by `blur`."""
    shrunk, outputs = blur / variance, []
    for share in shares:
        middle = np.sqrt(state.seen(state.stddev) ** 2 + shrunk * variance)  # N about a centre that is off by its error
        noise = (state.setting.moves / state.setting.count / math.sqrt(share)) ** 2
        outputs.append(np.asarray(middle * middle.sum() * noise))
        variance = 1 / (1 / variance + 1 / outputs[-1])
    if not counts.any():
        return float(variance.sum()), [Planned(math.sqrt(share), 0.0) for share in shares]
    weights = counts / np.sum(outputs, axis=1)
    weights /= weights.sum()
    error = float((np.sqrt(weights[:, None] / outputs).sum(axis=0) ** -2).sum())
    return error, [Planned(math.sqrt(p), float(weight)) for p, weight in zip(shares, weights, strict=True)]


def look_precision(widest: float, precision: float, left: float, *, few: bool = False) -> float:
    """Of what is left of the precision, for the look: more where one coordinate may make a record long."""
    return min((c.FEW_LOOK if few else look_share(widest)) * precision, c.LENGTH_LOOK_MOST * left)


def noisy_lengths(
    setting: StageSetting, ball: Ball, rank: float, mu: float, *, farthest: float = math.inf
) -> Released[LengthCounts]:
    """A noisy histogram of |z| (P20), the radius the expected one; records beyond `farthest` are left out."""
    edges, end = length_edges(rank) * ball.radius, max(farthest, c.LENGTH_READ_LEAST * ball.radius)
    if end < edges[-1]:
        edges = np.append(edges[edges < end], end)
    found = setting.view.lengths(ball, edges, mu)
    seen = LengthCounts(edges, found.value, found.stddev, setting.count, setting.count_stddev)
    if not math.isinf(farthest):  # as if the records beyond were not there
        total = seen.total - float(seen.counts[-1])
        seen = replace(seen, counts=np.append(seen.counts[:-1], 0.0), total=total)
    return Released(seen, found.event)


def looked_radius(tail: Tail, mu: float, widest: float, wide: float) -> float:
    """R after a core: where the likely bias is at most a part of the noise, all of it along the widest coordinate.

    `widest` is Σσ over the largest σ: the squared length of the noise in the records' units, over what one coordinate
    of the ball has in the widest one. R grows up to `wide`, by one factor at most, as far as lengths were looked at.
    """
    radius = outer_radius(tail, widest, mu, c.CORE_BIAS_POWER)
    return max(radius, min(wide, c.WIDE_MOST * radius, tail.last_edge))


def verified_radius(
    setting: StageSetting, lengths: Lengths, weights: Floats, mu: float, answer: float, sampling: float
) -> Lengths | None:
    """Release the shell between the ball and the median length, and choose the radius of least squared error.

    `answer`: mu of the answer, all of its stages together. `sampling`: squared length of the sampling error of the sum.
    Between ρ and R the bias is taken to fall like the sum of what is cut off; the stated one like (R - r)/(R - ρ), the
    most that is left of it for any record. None, at no cost, where even ρ without bias would save too little.
    """
    tail, ball = lengths.tail, lengths.ball
    total, inner = float(weights.sum()), float(np.clip(median_length(tail), *np.multiply(c.SHELL_PLACES, ball.radius)))
    noise = total * (setting.moves / answer) ** 2  # of the sum, for a radius of 1
    saved = (ball.radius**2 - inner**2) * noise
    if saved < c.SHELL_GAIN * (ball.radius**2 * noise + sampling):
        return None
    seen = setting.view.shell_sum(ball, inner, mu)
    measured = max(float(weights @ seen.value**2) - total * seen.stddev**2, 0.0)  # the squared bias at ρ
    doubt = math.sqrt(2 * float(weights @ weights)) * seen.stddev**2
    radii = np.geomspace(inner, ball.radius, c.SHELL_RADII)
    excess = tail.excess(radii, 0.5)
    part = (excess - excess[-1]) / max(excess[0] - excess[-1], 1e-300)
    radius = float(radii[np.argmin((measured + c.SHELL_DEVIATIONS * doubt) * part**2 + noise * radii**2)])
    most = (ball.radius - radius) / (ball.radius - inner)
    bias = math.hypot(lengths.bias, math.sqrt(measured / noise) * most / radius)
    return Lengths(tail, replace(ball, radius=radius), bias)


def median_length(tail: Tail) -> float:
    """The length that half of the records exceed."""
    half = tail.number[0] / 2
    if tail.number[-1] <= half:
        return float(np.interp(-half, -tail.number, tail.knots))
    return tail.start
