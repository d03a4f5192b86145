"""Refinement steps (P8): each clips around the combination of all outputs so far. The last ones are the answer (P21).

The clipping radius follows from one length histogram, and from a shell that shows whether a smaller radius costs
little. The clipping bias of wide symmetric records mostly cancels in the sum, but a histogram cannot show that. The
shell sum Σ clip_R - clip_ρ can: its squared length, less that of its noise, is the squared bias that clipping at ρ
would add to the sum. Letters: z = a record's offset from the center, rescaled; R = radius by the length histogram, ρ =
median length; w = weight of a squared error in each coordinate; σ = SDs.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Booleans, Floats
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import Ball, Block, Released
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.constants import PILOT_SAMPLE_SNR
from dimfree.programs.choose.schedule import Moments, Schedule, accept_variance, choose_length_share, choose_shell_share
from dimfree.programs.learn.scale import count_answers, find_crossing, make_geometric_grid
from dimfree.programs.learn.state import Knowledge, Output, State, StepSetting
from dimfree.programs.learn.tail import (
    LengthCounts,
    Lengths,
    Tail,
    allow_for_bias,
    find_outer_radius,
    make_length_edges,
)
from dimfree.progress import during


def run_step(
    setting: StepSetting, known: Knowledge, ball: Ball, mu: float, purpose: str, weight: float = 0.0
) -> Knowledge:
    """Release a clipped sum and add the output to the knowledge (P8); `weight` in the answer (P21)."""
    with during(purpose):
        measured = setting.view.sum_clipped(ball, mu, purpose)
    offset, variance = np.zeros(setting.view.dimension), np.full(setting.view.dimension, np.inf)
    block = slice(None) if ball.block is None else ball.block
    stretch = np.broadcast_to(ball.scale, offset.shape)[block]
    offset[block] = measured.value / setting.count * stretch
    variance[block] = (measured.stddev / setting.count * stretch) ** 2
    return known.add_step(Output(ball.center + offset, variance, weight, offset))


@dataclass(frozen=True)
class ExpectedRecords:
    """The model of the records in this space: public."""

    spectrum: Floats  # eigenvalues of the covariance, descending
    coordinates: Floats  # variance of each coordinate
    with_lengths: bool  # whether lengths are released; otherwise radii follow from the model
    farthest: float  # largest distance between records of the core

    def largest(self, size: int) -> Block:
        """Return the `size` coordinates of largest variance."""
        return None if size == len(self.coordinates) else np.sort(np.argsort(-self.coordinates)[:size])


def run_schedule(
    setting: StepSetting, known: Knowledge, schedule: Schedule, expected_records: ExpectedRecords, level: float
) -> tuple[Knowledge, Ball | None, float]:
    """Known covariance: run the refinement steps of a schedule, each around all earlier outputs (P8).

    Returns the knowledge, the last ball, and the clipping bias that intervals allow for, in SDs of the noise: 0 if the
    model's radius is trusted. Steps that count in the answer use the radius by the lengths, or the trusted one. The
    last one reads all records; after a pilot sample it alone counts.
    """
    moments, block = Moments.of(expected_records.spectrum[: schedule.block]), expected_records.largest(schedule.block)
    ball: Ball | None = None
    ratio: float | None = None  # of the radius to the model's
    bias, boost = 0.0, 1.0
    for index, (mu, weight) in enumerate(zip(schedule.step_mus, schedule.weights[1:], strict=True)):
        center, variance = known.combined
        center_variance = float((variance if block is None else variance[block]).mean())
        count_error = np.square(known.outputs[-1].offset).sum() * (setting.count_stddev / setting.count) ** 2
        center_variance += float(count_error) / moments.size  # offsets were divided by the released number of records
        if index + 1 == len(schedule.step_mus):
            setting = setting.of_all()
        ball = Ball(center, 1.0, float(moments.radius(level, center_variance)), block)
        if weight and ratio is None and expected_records.with_lengths:
            farthest = expected_records.farthest + math.sqrt(float(variance.sum()))
            expected = replace(ball, radius=math.sqrt(moments.first + moments.size * center_variance))
            answer, widest = math.sqrt(schedule.counted_precision), moments.first / float(expected_records.spectrum[0])
            wide = (
                c.WIDE_NOISE * math.sqrt(moments.first / moments.size * setting.count) * (answer / setting.sensitivity)
            )
            shape = moments.effective_rank, math.sqrt(moments.first), farthest, widest, wide
            lengths, verified = _measure_lengths(setting, expected, schedule.length_mu, answer, *shape), None
            if schedule.shell_mu:
                weights = expected_records.coordinates if block is None else expected_records.coordinates[block]
                sampling = setting.count * float((weights**2).sum())
                verified = verify_radius(setting, lengths, weights, schedule.shell_mu, answer, sampling)
            boost = 1.0 if verified else math.sqrt(1 + schedule.shell_mu**2 / schedule.counted_precision)
            lengths = verified or lengths
            ratio, bias = lengths.ball.radius / ball.radius, lengths.bias
        ball = replace(ball, radius=(ratio or 1.0) * ball.radius)
        known = run_step(setting, known, ball, boost * mu, f"refinement step {index + 1}", weight)
    return known, ball, bias


def _measure_lengths(
    setting: StepSetting,
    ball: Ball,
    mu: float,
    answer: float,
    rank: float,
    predicted: float,
    farthest: float,
    widest: float,
    wide: float,
) -> Lengths:
    """Release one length histogram (P20), choose the radius, and the bias that intervals allow for.

    The radius of the ball is the expected length. `answer`: mu of the answer; the bias is relative to its noise.
    """
    tail = Tail.fit(release_lengths(setting, ball, rank, mu, farthest=farthest).value, rank, predicted)
    radius = choose_radius(tail, answer / setting.sensitivity, widest, wide)
    return Lengths(
        tail, replace(ball, radius=radius), allow_for_bias(tail, radius, widest, answer / setting.sensitivity)
    )


def run_steps(state: State, share: float, most: int = c.MAX_STEPS, *, spherical: bool = False) -> State:
    """Run steps for a better center with a share of the remaining precision; `spherical`: with equal noise."""
    for planned in plan_steps(state, share * state.left, most):
        state = _run_step(state, planned.mu, spherical=spherical)
    return state


def run_last_steps(state: State) -> State:
    """Release the length histogram and run the steps of the answer with the remaining precision.

    They read all records. The plan fixes the weights of the answer (P21). After a pilot sample one step is planned, as
    each reads all records; its center is improved before if that is worth its cost: a share s of P leaves 1/(s·SNR²) of
    the squared length of records, and s = 1/SNR is best.
    """
    most = c.MAX_STEPS
    if state.setting.whole is not None:
        longer = state.in_block(np.sqrt(state.stddev**2 + state.center[1])).sum() / state.in_block(state.stddev).sum()
        if longer > 1 + 1 / PILOT_SAMPLE_SNR:
            state = run_steps(state, state.precision / state.left / PILOT_SAMPLE_SNR)
        most, state = 1, replace(state, setting=state.setting.of_all())
    length_precision = choose_length_precision(state.widest, state.precision, state.left, few=state.few)
    shell = (
        0.0
        if state.few
        else choose_shell_share(_weigh_ball(state, predict_ball(state))) * (state.left - length_precision)
    )
    plan = plan_steps(state, state.left - length_precision - shell, most, answer=True)
    counted = sum(planned.mu**2 for planned in plan if planned.weight)
    ratio: float | None = None
    boost = 1.0  # of the steps that count, if the shell is not released
    for planned in plan:
        if planned.weight and ratio is None:
            state, ratio = (
                _measure_median_length(state, length_precision)
                if state.few
                else _measure_learned_lengths(state, length_precision, counted)
            )
            if shell:
                state, ratio, spent = _verify(state, shell, counted, ratio)
                boost = math.sqrt(1 + (shell - spent) / counted)
        state = _run_step(state, boost * planned.mu, ratio or 1.0, planned.weight)
    return state


def _weigh_ball(state: State, ball: Ball) -> Floats:
    """Return the weight of a squared error in each coordinate of the ball: its squared scale."""
    return np.asarray(state.in_block(np.asarray(ball.scale)) ** 2)


def _verify(state: State, precision: float, counted: float, ratio: float) -> tuple[State, float, float]:
    """Release the shell if worth it; return the state, the ratio or a smaller one, and the precision spent."""
    assert state.lengths is not None
    setting, seen = state.setting, state.lengths
    weights, sampling = _weigh_ball(state, seen.ball), (state.sampling_error * setting.count) ** 2
    found = verify_radius(setting, seen, weights, math.sqrt(precision), math.sqrt(counted), sampling)
    if found is None:
        return state, ratio, 0.0
    state = replace(state, left=state.left - precision, lengths=found)
    return state, ratio * found.ball.radius / seen.ball.radius, precision


def _run_step(state: State, mu: float, ratio: float = 1.0, weight: float = 0.0, *, spherical: bool = False) -> State:
    """Run one step; `ratio`: clipping radius over the expected length of a record."""
    ball = predict_ball(state, spherical=spherical)
    ball = replace(ball, radius=ratio * ball.radius)
    known = run_step(state.setting, state.known, ball, mu, f"refinement step {state.known.steps + 1}", weight)
    return replace(state, known=known, left=state.left - mu**2, ball=ball)


def predict_ball(state: State, *, spherical: bool = False) -> Ball:
    """Predict the ball of the expected length of a record, in coordinates divided by the root of σ."""
    center, blur = state.center
    # SD of a record about the center
    middle = np.sqrt(state.stddev**2 + (blur.mean() if spherical else blur))
    return Ball(center, np.sqrt(middle), math.sqrt(float(state.in_block(middle).sum())), state.block)


def _measure_median_length(state: State, precision: float) -> tuple[State, float]:
    """Release the median length alone: a histogram of few records would be noise."""
    setting, ball = state.setting, predict_ball(state)
    edges = ball.radius * make_geometric_grid(*c.FEW_LENGTH_GRID)
    counts = setting.view.within(ball, edges, count_answers(edges), math.sqrt(precision))
    target = round(0.5 * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    found = find_crossing(counts, edges, 0.5, setting.count, -target)
    return replace(state, left=state.left - precision), c.FEW_RADIUS * found / ball.radius


def _measure_learned_lengths(state: State, precision: float, counted: float) -> tuple[State, float]:
    """Release the length histogram; return its radius over the expected length; `counted`: precision of the answer."""
    setting, ball, answer = state.setting, predict_ball(state), math.sqrt(counted)
    scale = state.in_block(np.asarray(ball.scale))
    widest, stretch = float(scale.max()), float(np.linalg.norm(scale))
    farthest = (state.farthest + math.sqrt(float(state.center[1].sum()))) / widest
    wide = c.WIDE_NOISE * state.sampling_error * setting.count * (answer / setting.sensitivity) / stretch
    shape = state.rank, ball.radius, farthest, (stretch / widest) ** 2, wide
    lengths = _measure_lengths(setting, ball, math.sqrt(precision), answer, *shape)
    return replace(state, left=state.left - precision, lengths=lengths), lengths.ball.radius / ball.radius


@dataclass(frozen=True, order=True)
class PlannedStep:
    """A planned refinement step: its mu, and its weight in the answer (0: it serves the center alone)."""

    mu: float
    weight: float


def plan_steps(state: State, budget: float, most: int = c.MAX_STEPS, *, answer: bool = False) -> list[PlannedStep]:
    """Find the shortest good plan of steps of geometric precisions that sum to `budget`; `answer`: by its error."""
    plans: list[tuple[float, list[PlannedStep]]] = []
    before = state.in_block(state.known.combined[1]), state.in_block(state.center[1])
    for count in range(1, most + 1):
        for ratio in c.STEP_RATIOS if count > 1 else (1.0,):
            shares = budget * ratio ** np.arange(count) / (ratio ** np.arange(count)).sum()
            least = min(c.MIN_COUNTED_PRECISION * state.precision, shares[-1]) if answer else math.inf
            plans.append(_predict(state, *before, shares, shares >= least))
    enough = accept_variance(min(error for error, _ in plans), state.sampling_error**2)
    return min((len(plan), error, plan) for error, plan in plans if error <= enough)[2]


def _predict(
    state: State, variance: Floats, blur: Floats, shares: Floats, counts: Booleans
) -> tuple[float, list[PlannedStep]]:
    """Predict (squared error in the block, steps with weights of P21): V <- 1/(1/V + 1/N), a center off by `blur`."""
    shrunk, outputs = blur / variance, []
    for share in shares:
        # N about a center that is off by its error
        middle = np.sqrt(state.in_block(state.stddev) ** 2 + shrunk * variance)
        noise = (state.setting.sensitivity / state.setting.count / math.sqrt(share)) ** 2
        outputs.append(np.asarray(middle * middle.sum() * noise))
        variance = 1 / (1 / variance + 1 / outputs[-1])
    if not counts.any():
        return float(variance.sum()), [PlannedStep(math.sqrt(share), 0.0) for share in shares]
    weights = counts / np.sum(outputs, axis=1)
    weights /= weights.sum()
    error = float((np.sqrt(weights[:, None] / outputs).sum(axis=0) ** -2).sum())
    return error, [PlannedStep(math.sqrt(p), float(weight)) for p, weight in zip(shares, weights, strict=True)]


def choose_length_precision(widest: float, precision: float, left: float, *, few: bool = False) -> float:
    """Choose the precision of the length histogram: more if one coordinate may make a record long."""
    return min((c.FEW_LENGTH_SHARE if few else choose_length_share(widest)) * precision, c.MAX_LENGTH_SHARE * left)


def release_lengths(
    setting: StepSetting, ball: Ball, rank: float, mu: float, *, farthest: float = math.inf
) -> Released[LengthCounts]:
    """Release a histogram of |z| (P20) about the expected radius; records beyond `farthest` are excluded."""
    edges, end = make_length_edges(rank) * ball.radius, max(farthest, c.MIN_LENGTH_RANGE * ball.radius)
    if end < edges[-1]:
        edges = np.append(edges[edges < end], end)
    elif end > edges[-1]:  # records beyond the last edge need not be beyond `farthest`
        farthest = math.inf
    found = setting.view.lengths(ball, edges, mu)
    seen = LengthCounts(edges, found.value, found.stddev, setting.count, setting.count_stddev)
    if not math.isinf(farthest):  # exclude the records beyond
        total = seen.total - float(seen.counts[-1])
        seen = replace(seen, counts=np.append(seen.counts[:-1], 0.0), total=total)
    return Released(seen, found.event)


def choose_radius(tail: Tail, mu: float, widest: float, wide: float) -> float:
    """Choose R after a core: the likely bias, all of it along the widest coordinate, is a small part of the noise.

    `widest` is Σσ over the largest σ: the squared length of the noise in the records' units, over that of one
    coordinate of the ball in the widest one. R grows up to `wide`, by a limited factor, within the length histogram.
    """
    radius = find_outer_radius(tail, widest, mu, c.CORE_BIAS_POWER)
    return max(radius, min(wide, c.MAX_WIDE_FACTOR * radius, tail.last_edge))


def verify_radius(
    setting: StepSetting, lengths: Lengths, weights: Floats, mu: float, answer: float, sampling: float
) -> Lengths | None:
    """Release the shell between the ball and the median length, and choose the radius of least squared error.

    `answer`: mu of the answer, all of its steps together. `sampling`: squared length of the sampling error of the sum.
    Between ρ and R the bias is modeled to fall like the clipped excess; the stated one like (R - r)/(R - ρ), its upper
    bound for any record. None, at no cost, if even ρ without bias would save too little.
    """
    tail, ball = lengths.tail, lengths.ball
    total, inner = (
        float(weights.sum()),
        float(np.clip(read_median_length(tail), *np.multiply(c.SHELL_INNER_RANGE, ball.radius))),
    )
    noise = total * (setting.sensitivity / answer) ** 2  # of the sum, for a radius of 1
    saved = (ball.radius**2 - inner**2) * noise
    if saved < c.MIN_SHELL_GAIN * (ball.radius**2 * noise + sampling):
        return None
    seen = setting.view.shell_sum(ball, inner, mu)
    measured = max(float(weights @ seen.value**2) - total * seen.stddev**2, 0.0)  # the squared bias at ρ
    doubt = math.sqrt(2 * float(weights @ weights)) * seen.stddev**2
    radii = np.geomspace(inner, ball.radius, c.SHELL_CANDIDATES)
    excess = tail.excess(radii, 0.5)
    part = (excess - excess[-1]) / max(excess[0] - excess[-1], 1e-300)
    radius = float(radii[np.argmin((measured + c.SHELL_DEVIATIONS * doubt) * part**2 + noise * radii**2)])
    most = (ball.radius - radius) / (ball.radius - inner)
    bias = math.hypot(lengths.bias, math.sqrt(measured / noise) * most / radius)
    return Lengths(tail, replace(ball, radius=radius), bias)


def read_median_length(tail: Tail) -> float:
    """Return the length that half of the records exceed."""
    half = tail.number[0] / 2
    if tail.number[-1] <= half:
        return float(np.interp(-half, -tail.number, tail.knots))
    return tail.start
