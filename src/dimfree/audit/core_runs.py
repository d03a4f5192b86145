"""What the soft and the stable core share: a run with a public choice, and the points of a search on a line."""

from dataclasses import replace

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.audited import plain_space
from dimfree.audit.pairs.pair import Pair, Table, TableSize
from dimfree.audit.pairs.suites import SUITES, pairs
from dimfree.audit.search.gaussian import INSIDE, OUTSIDE
from dimfree.noise import SystemNoise
from dimfree.programs.choose.core import HonestModel
from dimfree.programs.run import Run

FAILURE = 0.2
_MODEL_WIDTH = 2


def run_on(table: Table, budget: Budget, relation: Neighbours) -> Run:
    """What a release would work on, with nothing learned."""
    space = plain_space(table)
    flat, window = np.ones(space.dimension), (1e-6, 1e6)
    return Run(space, model(), flat, budget, relation, FAILURE, False, 0, None, window, False, SystemNoise())


def model() -> HonestModel:
    return HonestModel.of(np.ones(_MODEL_WIDTH), 0.03, "gaussian")


def line_values(radius: float) -> tuple[float, ...]:
    """Values of one coordinate, in radii: friends of both ends, of one, of none."""
    near = (0.0, *(sign * x for x in (0.5, INSIDE, 1.0, OUTSIDE, 2.0) for sign in (1, -1)))
    return tuple(radius * x for x in (*near, 100.0, 1e6))


def on_a_line(relation: Neighbours, given: TableSize) -> tuple[Pair, ...]:
    """The named pairs, with one coordinate where one is enough: a smaller search."""
    known = tuple(name for name in SUITES[relation] if name != "turned")
    turned = ("turned",) * (relation is Neighbours.REPLACE_ONE)
    return (*pairs(relation, replace(given, dimension=1), known), *pairs(relation, replace(given, dimension=2), turned))
