"""Sessions that stand on a branch already, states of a run made by hand, and what either was charged."""

import math
from dataclasses import replace

import numpy as np
from recording import RecordingNoise

from dimfree.accounting.budget import CHANGED_RECORDS, Budget, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Gaussian, OnlyGaussian
from dimfree.accounting.precision import compose
from dimfree.data.records import Records, as_records
from dimfree.kernel import Released, Session, View
from dimfree.kernel.rows.space import Space
from dimfree.noise import Noise
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.scale import LearnedRadius
from dimfree.programs.learn.state import Knowledge, State, StepSetting
from dimfree.results.error_model import Clipping
from dimfree.shapes import Covariance, DiagonalCovariance

AMPLE = 1e6  # precision of the branch: no test of one step exceeds it
BUDGET = Budget(100.0, 1e-3)
CORE_SHARE = 0.05  # of the precision
SCALARS = (
    "unevenness of the coordinates",
    "weight of the coordinates",
    "l1 norm in the basis",
    "off-diagonal norm of the directions",
)


def standing_session(
    table: np.ndarray | Records | Space,
    relation: Neighbors | str = Neighbors.ADD_REMOVE,
    *,
    noise: Noise,
    shape: Covariance | None = None,
    by_entry: bool = False,
    mu: float = AMPLE,
) -> tuple[Session, View]:
    """A session on a branch of Gaussian releases of precision mu², and the view of all records; nothing is drawn."""
    if not isinstance(table, Space):
        records = table if isinstance(table, Records) else as_records(table)
        table = Space(records, DiagonalCovariance(np.ones(records.dimension)) if shape is None else shape)
    space = replace(table, by_entry=table.by_entry or by_entry)
    branches = Calibration(None, (), untested=OnlyGaussian(mu))
    session = Session(space, noise, BUDGET, Neighbors(relation), branches)
    return session, session.take(branches.branches[0])


def standing_view(
    table: np.ndarray | Records | Space, relation: Neighbors | str = Neighbors.ADD_REMOVE, **rest: object
) -> View:
    """The view of all records alone."""
    return standing_session(table, relation, **rest)[1]


def events_of(found: View | State | ColumnState) -> tuple[Gaussian, ...]:
    """What a session, whose view or state this is, was charged after its branch was taken."""
    view = found if isinstance(found, View) else found.setting.view
    return view._session.costs().after


def precision(events) -> float:
    return sum((event.sensitivity / event.stddev) ** 2 for event in events)


# A run whose shape is learned


def after_core(
    rows: np.ndarray,
    total: float,
    relation: Neighbors | str = Neighbors.ADD_REMOVE,
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
    return State.after_core(StepSetting(view, float(len(rows))), core, total, CORE_SHARE, found)


def knowledge_of(*outputs: object) -> Knowledge:
    """Of these outputs in their order."""
    found = Knowledge()
    for output in outputs:
        found = found.add_step(output)
    return found


def purposes_of(state: State) -> list[str]:
    return [event.purpose for event in events_of(state)]


def spent(state: State) -> float:
    """The precision of all that was drawn, the core included."""
    return CORE_SHARE * state.precision + compose(event.mu for event in events_of(state)) ** 2


# A run that reads every column by itself


def at_start(
    table: np.ndarray,
    strength: float = 100.0,
    noise: Noise | None = None,
    relation: str = "add-remove",
    *,
    relative: bool = True,
    count: float | None = None,
    count_stddev: float = 0.0,
    bounds: tuple[np.ndarray, np.ndarray] | None = None,
) -> ColumnState:
    """Nothing is known yet, n̂·√(P/d) is `strength`; without `noise`, all noise is 0."""
    rows, d = table.shape
    count = float(rows) if count is None else count
    view = standing_view(table, relation, noise=RecordingNoise() if noise is None else noise)
    setting, changed = StepSetting(view, count, count_stddev), CHANGED_RECORDS[Neighbors(relation)]
    limits = (np.full(d, -np.inf), np.full(d, np.inf)) if bounds is None else bounds
    return ColumnState.at_start(setting, strength / count * math.sqrt(d * changed), limits, relative=relative)


def with_noise(state: ColumnState, noise: Noise) -> ColumnState:
    """The same state on a session of its own, whose noise is another."""
    view = state.setting.view
    return replace(state, setting=replace(state.setting, view=standing_view(view._space, view.relation, noise=noise)))


def shares_of(state: ColumnState) -> dict[str, float]:
    """Purpose → its share of P, over all events."""
    found: dict[str, float] = {}
    for event in events_of(state):
        found[event.purpose] = found.get(event.purpose, 0.0) + event.mu**2 / state.precision
    return found


def drawn_in(rows: np.ndarray, clipping: Clipping) -> np.ndarray:
    """The mean of the records, each farther than R from the center drawn in to R, and held within the cap before."""
    cap = 4 * clipping.radius if clipping.column_bound is None else clipping.column_bound
    offsets = np.clip((rows - clipping.center) / clipping.scale, -cap, cap)
    lengths = np.linalg.norm(offsets, axis=1, keepdims=True)
    shortened = offsets * np.minimum(1.0, clipping.radius / np.maximum(lengths, 1e-300))
    return np.asarray(clipping.center + clipping.scale * shortened.mean(axis=0))
