"""Records in a ball of publicly known radius (`norm=`): Gaussian queries only; no core, no test, no refusal (P8, P17).

The first query is the clipped mean about the origin, with the given radius R. If records lie much nearer to their mean
than R, the program continues as after a stable core. Otherwise the same query takes the remaining precision: a plain
clipped mean without further bias. Letters: P = precision of the branch.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.coordinates import OWN, learn, learn_coordinates, measure_own
from dimfree.programs.learn.restore import restore_answer
from dimfree.programs.learn.scale import count_answers, find_crossing, make_geometric_grid
from dimfree.programs.learn.state import Knowledge, Output, State, StepSetting
from dimfree.programs.learn.steps import run_step
from dimfree.programs.run import Run, open_table
from dimfree.results.release import Release

METHOD = "ball"


def refuse_ball(run: Run) -> Release | None:
    """Return None: any number of records has an answer."""
    return None


def release_ball(run: Run) -> Release:
    """Release a first mean and the typical distance from it; then refine the mean, or complete a plain one."""
    assert run.norm is not None
    calibration = calibrate_gaussian(run.budget, private_count=run.relation is Neighbors.ADD_REMOVE)
    session, size = open_table(run, calibration)
    branch = calibration.branches[0]
    setting = StepSetting(session.take(branch), max(size.count, 1.0), size.stddev or 0.0)
    state, public = _begin(setting, branch.mu**2 * (1 - 1e-9), run.norm), size.public
    if run.missing == "complete-case":
        state, public = _count_valid(state, public)
    state, length = _explore(state, run.norm)
    if run.norm >= c.MIN_BALL_GAIN * length:
        state = learn_coordinates(state) if run.chooses_basis else learn(state)
    else:
        state = _complete(state, run.norm)
    words = {**state.choices, "norm": run.norm, "objective": "total"}
    return run.answer_learned(restore_answer(state), METHOD, session.costs(), public, words)


def _begin(setting: StepSetting, precision: float, norm: float) -> State:
    """Start with a center at the origin, off by the radius."""
    dimension = setting.view.dimension
    variance = np.full(dimension, norm**2 / dimension)
    known = Knowledge.of(Output(np.zeros(dimension), variance))
    state = State(
        setting, precision, 2 * norm, norm**2, known, precision, np.sqrt(variance), np.full(dimension, np.inf)
    )
    return state.choose(basis=OWN)


def _count_valid(state: State, public: dict[str, float]) -> tuple[State, dict[str, float]]:
    """Release the number of valid records: an invalid one adds nothing to a sum, as if it were at the center."""
    state, found = state.release(c.VALID_COUNT_SHARE, state.setting.view.valid_count)
    count = max(found.value, found.stddev, 1.0)
    state = replace(state, setting=replace(state.setting, count=count, count_stddev=found.stddev))
    return state, {**public, "averaged_at_least": max(1.0, count - 2 * found.stddev)}


def _explore(state: State, norm: float) -> tuple[State, float]:
    """Release a first center and the typical distance from it; set the SDs accordingly.

    Nothing is released if noise matters little anyway, or if the center would be too uncertain.
    """
    setting, dimension = state.setting, state.setting.view.dimension
    # squared noise over R² at all of P
    whole = dimension * (setting.sensitivity / setting.count) ** 2 / state.precision
    share = float(np.clip(whole / c.NEAR_CENTER, *c.BALL_SHARES))
    if whole / share > c.MAX_CENTER_ERROR or state.noise_over_sampling() <= c.SMALL_NOISE:
        return state, norm
    state, mu = state.spend(share)
    mean = run_step(setting, Knowledge(), Ball(np.zeros(dimension), 1.0, norm), mu, "first mean").outputs[0]
    state, mu = replace(state, known=Knowledge.of(mean)).spend(c.BALL_LENGTH_SHARE)
    length = _measure_typical_length(state, norm, mu)
    trace = max(length**2 - float(mean.variance.sum()), c.MIN_VARIANCE_SHARE * length**2)
    return replace(state, trace=trace, stddev=np.full(dimension, math.sqrt(trace / dimension))), length


def _measure_typical_length(state: State, norm: float, mu: float) -> float:
    """Release the median distance of records from the first mean (P20)."""
    setting, edges = state.setting, norm * make_geometric_grid(*c.BALL_LENGTHS)
    ball = Ball(state.known.outputs[0].value, 1.0, norm)
    half = round(0.5 * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    return find_crossing(setting.view.within(ball, edges, count_answers(edges), mu), edges, 0.5, setting.count, -half)


def _complete(state: State, norm: float) -> State:
    """Release column variances for the intervals, then a plain mean in the given ball with the remaining precision."""
    state = measure_own(state)
    ball = Ball(np.zeros(state.setting.view.dimension), 1.0, norm)
    known = run_step(state.setting, Knowledge(), ball, math.sqrt(state.left), "mean", 1.0)
    return replace(state, known=known, left=0.0, ball=ball)
