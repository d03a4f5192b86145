"""States of a run that reads every column by itself, made by hand: a table, a strength, a source of noise."""

import math
from dataclasses import replace

import numpy as np
from recording import RecordingNoise
from sessions import standing_view

from dimfree.accounting.budget import CHANGED_RECORDS, Neighbours
from dimfree.accounting.events import Gaussian
from dimfree.noise import Noise
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.state import StageSetting
from dimfree.results.error_model import Reach


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
    setting, changed = StageSetting(view, count, count_stddev), CHANGED_RECORDS[Neighbours(relation)]
    limits = (np.full(d, -np.inf), np.full(d, np.inf)) if bounds is None else bounds
    return ColumnState.at_start(setting, strength / count * math.sqrt(d * changed), limits, relative=relative)


def with_noise(state: ColumnState, noise: Noise) -> ColumnState:
    """The same state on a session of its own, whose noise is another."""
    view = state.setting.view
    return replace(state, setting=replace(state.setting, view=standing_view(view._space, view.relation, noise=noise)))


def events_of(state: ColumnState) -> tuple[Gaussian, ...]:
    """What its session was charged."""
    return state.setting.view._session.costs().after


def spent(state: ColumnState) -> dict[str, float]:
    """Purpose → its share of P, over all events."""
    found: dict[str, float] = {}
    for event in events_of(state):
        found[event.purpose] = found.get(event.purpose, 0.0) + event.mu**2 / state.precision
    return found


def drawn_in(rows: np.ndarray, reach: Reach) -> np.ndarray:
    """The mean of the records, each farther than R from the centre drawn in to R, and held within the cap before."""
    cap = 4 * reach.radius if reach.cap is None else reach.cap
    offsets = np.clip((rows - reach.centre) / reach.scale, -cap, cap)
    lengths = np.linalg.norm(offsets, axis=1, keepdims=True)
    shortened = offsets * np.minimum(1.0, reach.radius / np.maximum(lengths, 1e-300))
    return np.asarray(reach.centre + reach.scale * shortened.mean(axis=0))
