"""No prior knowledge: location, scale and variances are privately estimated inside one budget.

Every private step is a Gaussian release charged to one precision P, plus one stability test (P6, P9); the rest is
post-processing. Letters: n̂ = released number of records, λ = friend radius, b, B = thresholds of the stable core.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dimfree.accounting.budget import Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import OnlyGaussian, Tested
from dimfree.kernel import Session, admissible, core_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import (
    N_LOW,
    Size,
    StableChoice,
    choose_pilot_rate,
    core_alone,
    find_smallest_usable,
    is_usable_core,
    keep_with_enough_records,
)
from dimfree.programs.columns.run import choose_untested, release_by_columns
from dimfree.programs.learn.coordinates import OWN, learn, learn_coordinates
from dimfree.programs.learn.restore import restore_answer
from dimfree.programs.learn.ring import RingSetting, learn_by_ring, plan_core, start_after_core
from dimfree.programs.learn.scale import keep_likely_searches, learn_radius, make_geometric_grid
from dimfree.programs.learn.state import State, StepSetting
from dimfree.programs.run import (
    NO_SCALE,
    TOO_FEW,
    UNKNOWN,
    UNSTABLE,
    Run,
    calibrate_run,
    draw_pilot_sample,
    open_table,
    read_public_size,
)
from dimfree.results.release import Release
from dimfree.shapes import DiagonalCovariance


def refuse_unknown(run: Run) -> Release | None:
    """Refuse by the public number of records alone (replace-one), at no cost."""
    calibration = calibrate_run(run, **UNKNOWN)
    size = read_public_size(run, calibration)
    refused = choose_branch(run, calibration, size) is None
    return run.refuse(TOO_FEW, "auto", run.no_costs(), count=size.count) if refused else None


def release_unknown(run: Run) -> Release:
    """Open the branches, take one by the released count, and run it."""
    calibration = calibrate_run(run, **UNKNOWN)
    session, size = open_table(run, calibration)
    way = choose_branch(run, calibration, size)
    if way is None:
        return run.refuse(TOO_FEW, "auto", session.costs(), count=size.count)
    if isinstance(way, OnlyGaussian):
        return release_by_columns(run, session, way, size)
    by_core = _release_by_ring if way.branch in calibration.ringed else _release_by_pairs
    return by_core(run, session, way, size)


def choose_branch(run: Run, calibration: Calibration, size: Size) -> OnlyGaussian | StableChoice | None:
    """Choose the per-column branch, or a stable core, with or without the ring; None: too few records.

    The ring is used if records are few relative to the root of the number of columns, but not too few.
    """
    core = choose_core(run, calibration, size)
    if untested := choose_untested(run, calibration, size, alone=core is None):
        return untested
    ringed = () if run.table.basis is not None else calibration.ringed
    strength = size.count * size.rate * (ringed[0].mu if ringed else 0.0)
    wide = c.MIN_RING_RECORDS <= strength < c.MAX_RING_SNR * math.sqrt(run.dimension)
    return (_choose_most_precise(run, ringed, size) if wide else None) or core


def _release_by_pairs(run: Run, session: Session, choice: StableChoice, size: Size) -> Release:
    """Search for the friend radius among all pairs, then core, coordinates, variances, refinement steps."""
    everyone, (count_mu, radius_mu) = session.take(choice.branch), divide_search(choice.branch, run.relation)
    if size.stddev is not None:  # a second count inside the branch; both choose the core (P14)
        again = session.count_again(1 / count_mu)
        size = size.combined(again.value, again.stddev)
        choice = _choose_usable(run, choice.branch, size) or choice
    rate = choose_pilot_rate(size, choice.branch.mu**2, run.dimension)
    early, core = draw_pilot_sample(everyone, size, rate)
    pairs = core.pairs(size.capacity(size.rate))
    learned = learn_radius(pairs, run.window, max(size.count * size.rate, 1.0), radius_mu, run.relation)
    public = size.public | {"radius": learned.radius}
    if not learned.found:
        return run.refuse(NO_SCALE, "auto", session.costs(), **public)
    precision, passed = choice.branch.mu**2 * (1 - 1e-9), size.after_pass(choice)
    share = c.CORE_ALONE_SHARE  # of P, for the core's mean; else it brings the squared error to half of tr Σ
    if not core_alone(passed.count, choice.branch.mu, passed.relation, run.dimension):
        needed = 2 * run.dimension * (choice.sensitivity * learned.radius) ** 2 / (choice.branch.mu**2 * learned.trace)
        share = float(np.clip(needed, *c.CORE_SHARES))
    mean = pairs.core_mean(learned.radius, choice.full_share, choice.budget, choice.floor, math.sqrt(share * precision))
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refuse(UNSTABLE, "auto", session.costs(), **public)
    setting = StepSetting(everyone, passed.count, passed.stddev or 0.0).on_sample(early, rate)
    return _answer_after_core(run, session, State.after_core(setting, mean, precision, share, learned), passed, public)


def _release_by_ring(run: Run, session: Session, choice: StableChoice, size: Size) -> Release:
    """Release variances and λ on the ring → core → steps on the block that pays → restore (P4 to P6, P8, P10, P15)."""
    everyone, capacity = session.take(choice.branch), size.capacity(size.rate)
    rate = choose_pilot_rate(size, choice.branch.mu**2, run.dimension)
    early, core = draw_pilot_sample(everyone, size, rate)
    read_count, search_mu = max(size.count * size.rate, 1.0), choice.branch.search_mu * (1 - 1e-12)
    shape = learn_by_ring(RingSetting(core.ring(capacity), read_count, search_mu, run.relation), run.window)
    public = size.public | {"radius": shape.radius}
    if not shape.found:
        return run.refuse(NO_SCALE, "auto", session.costs(), **public)
    precision = choice.branch.mu**2 * (1 - 1e-9)
    setting = StepSetting(everyone, size.count, size.stddev or 0.0).on_sample(early, rate)
    strength = setting.final_count / setting.sensitivity
    share, size_of_block, block = plan_core(choice.sensitivity * shape.radius, shape.stddev, precision, strength)
    pairs = core.rescale(DiagonalCovariance(shape.stddev**2)).pairs(capacity)
    mean = pairs.core_mean(shape.radius, choice.full_share, choice.budget, choice.floor, math.sqrt(share * precision))
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refuse(UNSTABLE, "auto", session.costs(), **public)
    state = start_after_core(setting, mean, precision, share, shape, block)
    return _answer_after_core(run, session, state.choose(block=size_of_block), size, public)


def _answer_after_core(run: Run, session: Session, state: State, size: Size, public: dict[str, float]) -> Release:
    """Choose coordinates, estimate variances, run the steps after a core; answer in the columns of the table."""
    basis = state.setting.view.basis
    state = state.choose(objective="total", basis=OWN if basis is None else basis.name, **state.choices)
    state = learn_coordinates(state) if run.chooses_basis else learn(state)
    if state.core_alone or state.block is not None:
        # the core's own mean, of the records that it read
        public |= {"averaged_at_least": size.sample_size_lower_bound}
    return run.answer_learned(restore_answer(state), "auto", session.costs(), public, state.choices)


def divide_search(branch: Tested, relation: Neighbors) -> tuple[float, float]:
    """Return mu of the second count (0 for a public number of records), and of the searches for λ."""
    share = c.RECOUNT_SHARE if relation is Neighbors.ADD_REMOVE else 0.0
    return math.sqrt(share) * branch.search_mu, math.sqrt(1 - share) * branch.search_mu * (1 - 1e-12)


def choose_core(run: Run, calibration: Calibration, size: Size) -> StableChoice | None:
    """Choose the spherical core with the best mix of ladder and precision; radius in λ; None: too few records."""
    cells = len(make_geometric_grid(*run.window, c.RADIUS_STEP)) - 1

    def median_mu(branch: Tested) -> float:
        return divide_search(branch, run.relation)[1] * math.sqrt(c.MEDIAN_SEARCH_SHARE)

    return _choose_most_precise(run, keep_likely_searches(calibration.tested, size, cells, median_mu), size)


def _choose_most_precise(run: Run, branches: Sequence[Tested], size: Size) -> StableChoice | None:
    choices = [each for branch in branches if (each := _choose_usable(run, branch, size))]
    promising = keep_with_enough_records(choices, size, run.failure)
    return min(promising, key=lambda each: each.sensitivity**c.CORE_POWER / each.branch.mu, default=None)


def _choose_usable(run: Run, branch: Tested, size: Size) -> StableChoice | None:
    """Choose b and B by the ladder and the share of outliers; n_0 is at least what a usable core needs (P14)."""
    choice = _choose_by_rule(branch, *size.bound(branch.ladder.length, run.failure), run.model.outliers)
    return choice if size.stddev is None or is_usable_core(choice) else _choose_smallest(branch, run.model.outliers)


@lru_cache(maxsize=64)
def _choose_smallest(branch: Tested, outliers: float) -> StableChoice | None:
    return find_smallest_usable(
        branch.ladder.length, lambda floor: _choose_by_rule(branch, floor, floor + N_LOW, outliers)
    )


def _choose_by_rule(branch: Tested, floor: int | None, count: int, outliers: float) -> StableChoice | None:
    """Choose b and B for n_low = `count`, if a share FULL_SHARE_RULE of the records are friends (P13)."""
    relation = Neighbors.REPLACE_ONE if floor is None else Neighbors.ADD_REMOVE
    if count < 1:
        return None
    steps, honest = branch.ladder.length, c.FULL_SHARE_RULE - outliers
    tested = count if floor is None else count + steps  # so many records should pass
    wanted = honest - steps / count if floor is None else honest * tested / (tested + steps)
    share = Fraction(math.floor(1000 * wanted), 1000)
    budget = steps + math.ceil(outliers * tested) + c.BUDGET_MARGIN
    if not admissible(count, share, budget, relation):
        return None
    sensitivity = core_sensitivity(count, share, budget, relation)
    return StableChoice(branch, share, budget, floor, 1.0, sensitivity, sensitivity / branch.mu)
