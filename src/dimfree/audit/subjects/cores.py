"""The cores by themselves, at a public choice made once: the code of a release, many times quicker to sample."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_public_count
from dimfree.audit.neighbours import Pair, Place, Table, at_stability, pairs
from dimfree.core.friends import all_counts
from dimfree.core.stable import stability
from dimfree.data.records import as_records
from dimfree.estimators.choose.core import HonestModel, Size, StableChoice, default_bounded, stable_choices
from dimfree.estimators.opening import core_mean
from dimfree.estimators.run import Run
from dimfree.estimators.without_test import soft_mean
from dimfree.geometry.grid import on_grid
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.noise import Noise, SystemNoise

FAILURE = 0.2
_MODEL_WIDTH = 2


def run_on(table: Table, budget: Budget, relation: Neighbours) -> Run:
    """What a release would work on, with nothing learned."""
    space = Space(as_records(table), Isotropic(1.0))
    flat = np.ones(space.dimension)
    window = (1e-6, 1e6)
    return Run(space, model(), flat, budget, relation, FAILURE, False, 0, None, window, False, SystemNoise())


def model() -> HonestModel:
    return HonestModel.of(np.ones(_MODEL_WIDTH), 0.03, "gaussian")


@dataclass(frozen=True)
class Core:
    """A core at one choice: its draws as rows, and the length that its friendship is decided at."""

    draw: Callable[[Run], Floats]
    radius: float


def soft_core(budget: Budget) -> Core:
    """The soft core, its lower bound and its mean (P3)."""
    branch = calibrate_bounded(budget)
    choice = default_bounded(branch, model())

    def draw(run: Run) -> Floats:
        found = soft_mean(run, choice, run.ledger((), (branch,), chosen=0))
        lowest = float(found.parameters["weight_lower_bound"])
        return np.array([1.0, np.nan, lowest] if found.refused else [0.0, found.mean[0], lowest])

    return Core(draw, choice.radius)


def stable_choice(budget: Budget, size: int) -> StableChoice:
    """The least noisy choice for a public number of records."""
    menu = calibrate_public_count(budget, FAILURE / 2)
    choices = stable_choices(menu.tested, Size(size, None, size), FAILURE, model())
    return min(choices, key=lambda choice: choice.noise)


def stable_core(choice: StableChoice) -> Core:
    """The bit and the mean behind it, at the whole precision of the branch (P4, P5, P6); replace-one."""

    def draw(run: Run) -> Floats:
        mean = core_mean(run, choice, choice.radius, choice.branch.mu, None)
        return np.array([1.0, np.nan] if mean is None else [0.0, mean.value[0]])

    return Core(draw, choice.radius)


def stable_pairs(choice: StableChoice, size: int) -> tuple[Pair, ...]:
    """The suite, and both sides of every interesting value of T: 2, the middle of the ladder, its end."""
    place, steps = Place(size, choice.radius), choice.branch.ladder.length
    edges = {2, max(2, steps // 2), steps}
    at = [at_stability(Neighbours.REPLACE_ONE, place, choice.budget - t, f"T = {t} edge") for t in sorted(edges)]
    return (*at, *pairs(Neighbours.REPLACE_ONE, place))


def statistic(table: Table, choice: StableChoice) -> int:
    """T of a table (P4). Private in a release; these tables are made up."""
    integers = on_grid(Space(as_records(table), Isotropic(1.0)), choice.radius)
    return stability(all_counts(integers), Fraction(choice.full_share), choice.budget)


def with_noise(run: Run, noise: Noise) -> Run:
    return replace(run, noise=noise)
