"""States of a run whose shape is learned, made by hand: the core has just released a mean that is a little off."""

import math

import numpy as np
from recording import RecordingNoise
from sessions import standing_view

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.accounting.precision import compose
from dimfree.kernel import Released, View
from dimfree.noise import Noise
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.state import Knowledge, StageSetting, State

CORE_SHARE = 0.05  # of the precision


def after_core(
    rows: np.ndarray,
    total: float,
    relation: Neighbours | str = Neighbours.ADD_REMOVE,
    noise: Noise | None = None,
    off: float = 0.05,
    seen: np.ndarray | None = None,
) -> State:
    """The core's mean is `off` in every coordinate; without `noise`, all further noise is 0.

    `seen`: the table that later steps see, where it is another.
    """
    view = standing_view(rows if seen is None else seen, relation, noise=noise or RecordingNoise())
    stddev, spread = 1 / math.sqrt(CORE_SHARE * total), float(rows.var(axis=0).sum())
    core = Released(rows.mean(axis=0) + off, Gaussian("mean", 1.0, stddev, rows.shape[1], off / stddev))
    found = LearnedRadius(3 * math.sqrt(spread), spread, True)
    return State.after_core(StageSetting(view, float(len(rows))), core, total, CORE_SHARE, found)


def knowledge_of(*outputs: object) -> Knowledge:
    """Of these outputs in their order."""
    found = Knowledge()
    for output in outputs:
        found = found.add_stage(output)
    return found


def events_of(view: View) -> tuple[Gaussian, ...]:
    """What the session of a view was charged after its branch was taken."""
    return view._session.costs().after


def purposes_of(state: State) -> list[str]:
    return [event.purpose for event in events_of(state.setting.view)]


def spent(state: State) -> float:
    """The precision of all that was drawn, the core included."""
    return CORE_SHARE * state.precision + compose(event.mu for event in events_of(state.setting.view)) ** 2
