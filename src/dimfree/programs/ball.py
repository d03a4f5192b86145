"""Records in a ball of publicly known radius (`norm=`): Gaussian queries only; no core, no test, no refusal (P8, P17).

The first query is the clipped mean about the origin, at the given radius R. If records lie much nearer to their mean
than R, the program continues as after a core. Otherwise the same query with all that is left completes a plain clipped
mean: nothing is clipped that R does not clip, so it has no bias. Letters: P = precision of the branch.
"""

import math
from dataclasses import replace

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.accounting.events import SEARCH_STEPS
from dimfree.kernel import Ball
from dimfree.programs.choose import constants as c
from dimfree.programs.learn.coordinates import OWN, learn, learn_coordinates, measure_own
from dimfree.programs.learn.restore import restored
from dimfree.programs.learn.scale import answers, crossing, geometric_grid
from dimfree.programs.learn.stages import stage
from dimfree.programs.learn.state import Knowledge, Output, StageSetting, State
from dimfree.programs.run import Run, open_table
from dimfree.results.release import Release

METHOD = "ball"


def refuse_ball(run: Run) -> Release | None:
    """Refuse nothing: any number of records has an answer."""
    return None


def release_ball(run: Run) -> Release:
    """Release a first mean and the typical distance from it; then refine the mean, or complete a plain one."""
    assert run.norm is not None
    calibration = calibrate_gaussian(run.budget, private_count=run.relation is Neighbours.ADD_REMOVE)
    session, size = open_table(run, calibration)
    branch = calibration.menu[0]
    setting = StageSetting(session.take(branch), max(size.count, 1.0), size.stddev or 0.0)
    state, length = _explore(_begin(setting, branch.mu**2 * (1 - 1e-9), run.norm), run.norm)
    if run.norm >= c.BALL_GAIN * length:
        state = learn_coordinates(state) if run.chooses_basis else learn(state)
    else:
        state = _complete(state, run.norm)
    words = {**state.choices, "norm": run.norm, "objective": "total"}
    return run.answered(restored(state), METHOD, session.costs(), size.public, words)


def _begin(setting: StageSetting, precision: float, norm: float) -> State:
    """Nothing is known but the ball: a center at the origin, off by the radius."""
    dimension = setting.view.dimension
    variance = np.full(dimension, norm**2 / dimension)
    known = Knowledge.of(Output(np.zeros(dimension), variance))
    state = State(
        setting, precision, 2 * norm, norm**2, known, precision, np.sqrt(variance), np.full(dimension, np.inf)
    )
    return state.choose(basis=OWN)


def _explore(state: State, norm: float) -> tuple[State, float]:
    """A first center, and the typical distance from it, with the SDs that this suggests.

    Nothing is spent where noise matters little anyway, or where the center would be too far off to see from.
    """
    setting, dimension = state.setting, state.setting.view.dimension
    whole = dimension * (setting.moves / setting.count) ** 2 / state.precision  # squared noise over R² at all of P
    share = float(np.clip(whole / c.NEAR_CENTRE, *c.BALL_SHARES))
    if whole / share > c.BLURRED or state.noise_over_sampling() <= c.SMALL_NOISE:
        return state, norm
    state, mu = state.spend(share)
    mean = stage(setting, Knowledge(), Ball(np.zeros(dimension), 1.0, norm), mu, "first mean").outputs[0]
    state, mu = replace(state, known=Knowledge.of(mean)).spend(c.BALL_LENGTH_SHARE)
    length = _typical_length(state, norm, mu)
    trace = max(length**2 - float(mean.variance.sum()), c.VARIANCE_FLOOR * length**2)
    return replace(state, trace=trace, stddev=np.full(dimension, math.sqrt(trace / dimension))), length


def _typical_length(state: State, norm: float, mu: float) -> float:
    """The median distance of records from the first mean (P20)."""
    setting, edges = state.setting, norm * geometric_grid(*c.BALL_LENGTHS)
    ball = Ball(state.known.outputs[0].value, 1.0, norm)
    half = round(0.5 * setting.count * SEARCH_STEPS) / SEARCH_STEPS
    return crossing(setting.view.within(ball, edges, answers(edges), mu), edges, 0.5, setting.count, -half)


def _complete(state: State, norm: float) -> State:
    """A plain mean in the given ball with all that is left; the variances of the columns for the intervals."""
    state = measure_own(state)
    ball = Ball(np.zeros(state.setting.view.dimension), 1.0, norm)
    known = stage(state.setting, Knowledge(), ball, math.sqrt(state.left), "mean", 1.0)
    return replace(state, known=known, left=0.0, ball=ball)
