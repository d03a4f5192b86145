"""Every column by itself: a public simulation of `estimators.columns` whose cost does not grow with the records.

As in `thinned`, m simulated records stand for n. Looks, centre and spreads depend on count times mu alone, and run on
the m. The radius depends on how many records of n are long: their lengths are those of the m, counted n/m times, seen
through the noise of a histogram of n. Letters: R = clipping radius, n̂ = released number of records.
"""

import math
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.events import OnlyGaussian
from dimfree.noise import SeededNoise
from dimfree.planning.looks import seen_lengths
from dimfree.planning.outlook import Outlook, outlook
from dimfree.planning.question import Question
from dimfree.planning.thinned import Simulated, averaged, simulated
from dimfree.planning.thinned_table import SEED, Table
from dimfree.programs.columns.last import clipping_radius, look_at_lengths
from dimfree.programs.columns.run import learned
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.learn.radius import read_edges
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.learn.tail import Tail


def simulated_route(question: Question) -> Simulated:
    """What becomes of a question that is not refused, on the route that its number of records chooses."""
    return simulated_columns(question) if isinstance(outlook(question).choice, OnlyGaussian) else simulated(question)


@lru_cache(maxsize=256)
def simulated_columns(question: Question) -> Simulated:
    """The same where every column is read by itself."""
    return averaged(question, partial(_one_run, question, outlook(question)))


def _one_run(question: Question, seen: Outlook, draw: int) -> Simulated:
    table = Table.of(question, draw)
    thinned = _learned(question, seen, table, SeededNoise(SEED + draw))
    setting = replace(thinned.setting, count=seen.size.count, count_stddev=seen.size.stddev or 0.0)
    left, precision = thinned.left / table.factor**2, thinned.precision / table.factor**2
    state = replace(thinned, setting=setting, left=left, precision=precision)
    offsets = (table.rows - state.centre) / state.scale
    lengths = np.linalg.norm(offsets, axis=1)
    radius = clipping_radius(state, _seen_tail(state, lengths, table.factor, draw))
    clipped = (offsets * np.minimum(1.0, radius / np.maximum(lengths, radius))[:, None]).mean(axis=0)
    noise = np.hypot(radius * setting.moves / math.sqrt(left), clipped * setting.count_stddev) / setting.count
    shift = state.centre + clipped * state.scale - table.mean
    spent = [(event.purpose, (event.mu / table.factor) ** 2) for event in state.events]
    return Simulated((noise * state.scale) ** 2, float((shift**2).sum()), (*spent, ("mean", left)))


def _learned(question: Question, seen: Outlook, table: Table, noise: SeededNoise) -> ColumnState:
    """The state before the last stage, at count and mu of the thinned table."""
    assert isinstance(seen.choice, OnlyGaussian)
    relative = question.objective == "relative"
    setting = StageSetting(table.space, seen.size.count / table.factor, question.relation, noise)
    state = learned(ColumnState.at_start(setting, seen.choice.mu * table.factor, relative=relative))
    return look_at_lengths(state)[0]


def _seen_tail(state: ColumnState, lengths: Floats, factor: float, draw: int) -> Tail:
    """What a histogram of the lengths of n records would say of their tail."""
    setting, look, edges = state.setting, state.events[-1], read_edges(state.rank, state.length)
    noise = look.stddev * look.step * factor
    seen = seen_lengths(lengths, edges, noise, setting.count, setting.count_stddev, draw)
    return Tail.fitted(seen, state.rank, state.length)
