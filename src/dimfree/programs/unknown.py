"""Nothing known: location, scale and variances all learned inside one budget (shape="auto").

Every private step is a Gaussian release charged to one precision P, plus the one bit (P6, P9); the rest is
post-processing. Letters: n̂ = released number of records, λ = friend radius, b, B = thresholds of the stable core.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import OnlyGaussian, Tested
from dimfree.kernel import Session, admissible, core_sensitivity
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import (
    N_LOW,
    Size,
    StableChoice,
    core_alone,
    early_rate,
    is_of_use,
    smallest_of_use,
    with_enough_records,
)
from dimfree.programs.columns.run import release_by_columns, untested_branch
from dimfree.programs.learn.coordinates import OWN, learn, learn_coordinates
from dimfree.programs.learn.restore import restored
from dimfree.programs.learn.ring import RingSetting, learn_by_ring, plan_core, state_after_core
from dimfree.programs.learn.scale import geometric_grid, learn_radius, with_likely_searches
from dimfree.programs.learn.state import StageSetting, State
from dimfree.programs.run import (
    NO_SCALE,
    TOO_FEW,
    UNKNOWN,
    UNSTABLE,
    Run,
    calibrated,
    early_sample,
    open_table,
    public_size,
)
from dimfree.results.release import Release
from dimfree.shapes import Diagonal


def refuse_unknown(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    calibration = calibrated(run, **UNKNOWN)
    size = public_size(run, calibration)
    refused = choose_way(run, calibration, size) is None
    return run.refused(TOO_FEW, "auto", run.no_costs(), count=size.count) if refused else None


def release_unknown(run: Run) -> Release:
    """Open the branches, take one by the released count, and run its program."""
    calibration = calibrated(run, **UNKNOWN)
    session, size = open_table(run, calibration)
    way = choose_way(run, calibration, size)
    if way is None:
        return run.refused(TOO_FEW, "auto", session.costs(), count=size.count)
    if isinstance(way, OnlyGaussian):
        return release_by_columns(run, session, way, size)
    by_core = _release_by_ring if way.branch in calibration.ringed else _release_by_pairs
    return by_core(run, session, way, size)


def choose_way(run: Run, calibration: Calibration, size: Size) -> OnlyGaussian | StableChoice | None:
    """The branch without a test, which reads every column separately; or a core, after the ring or not; None: too few.

    The ring is taken where records are few relative to the root of the number of columns, but not too few.
    """
    core = choose_core(run, calibration, size)
    if untested := untested_branch(run, calibration, size, alone=core is None):
        return untested
    ringed = () if run.table.basis is not None else calibration.ringed
    strength = size.count * size.rate * (ringed[0].mu if ringed else 0.0)
    wide = c.RING_LEAST <= strength < c.RING_RULE * math.sqrt(run.dimension)
    return (_most_precise(run, ringed, size) if wide else None) or core


def _release_by_pairs(run: Run, session: Session, choice: StableChoice, size: Size) -> Release:
    """Search for the friend radius among all pairs, then core, coordinates, variances, stages."""
    everyone, (count_mu, radius_mu) = session.take(choice.branch), search_parts(choice.branch, run.relation)
    if size.stddev is not None:  # a second count inside the branch, and the core chosen by both (P14)
        again = session.count_again(1 / count_mu)
        size = size.combined(again.value, again.stddev)
        choice = _by_rule(run, choice.branch, size) or choice
    rate = early_rate(size, choice.branch.mu**2, run.dimension)
    early, core = early_sample(everyone, size, rate)
    pairs = core.pairs(size.capacity(size.rate))
    learned = learn_radius(pairs, run.window, max(size.count * size.rate, 1.0), radius_mu, run.relation)
    public = size.public | {"radius": learned.radius}
    if not learned.found:
        return run.refused(NO_SCALE, "auto", session.costs(), **public)
    precision, passed = choice.branch.mu**2 * (1 - 1e-9), size.after_pass(choice)
    share = c.CORE_ALONE_SHARE  # of P, for the core's mean; or enough to bring its squared error to half of tr Σ
    if not core_alone(passed.count, choice.branch.mu, passed.relation, run.dimension):
        needed = 2 * run.dimension * (choice.sensitivity * learned.radius) ** 2 / (choice.branch.mu**2 * learned.trace)
        share = float(np.clip(needed, *c.CORE_SHARES))
    mean = pairs.core_mean(learned.radius, choice.full_share, choice.budget, choice.floor, math.sqrt(share * precision))
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refused(UNSTABLE, "auto", session.costs(), **public)
    setting = StageSetting(everyone, passed.count, passed.stddev or 0.0).on_sample(early, rate)
    return _answered(run, session, State.after_core(setting, mean, precision, share, learned), passed, public)


def _release_by_ring(run: Run, session: Session, choice: StableChoice, size: Size) -> Release:
    """ring: variances, λ → core in their shape → stages on the block that pays → restore (P4 to P6, P8, P10, P15)."""
    everyone, capacity = session.take(choice.branch), size.capacity(size.rate)
    rate = early_rate(size, choice.branch.mu**2, run.dimension)
    early, core = early_sample(everyone, size, rate)
    looked_at, search_mu = max(size.count * size.rate, 1.0), choice.branch.search_mu * (1 - 1e-12)
    shape = learn_by_ring(RingSetting(core.ring(capacity), looked_at, search_mu, run.relation), run.window)
    public = size.public | {"radius": shape.radius}
    if not shape.found:
        return run.refused(NO_SCALE, "auto", session.costs(), **public)
    precision = choice.branch.mu**2 * (1 - 1e-9)
    setting = StageSetting(everyone, size.count, size.stddev or 0.0).on_sample(early, rate)
    strength = setting.final_count / setting.moves
    share, size_of_block, block = plan_core(choice.sensitivity * shape.radius, shape.stddev, precision, strength)
    pairs = core.rescaled(Diagonal(shape.stddev**2)).pairs(capacity)
    mean = pairs.core_mean(shape.radius, choice.full_share, choice.budget, choice.floor, math.sqrt(share * precision))
    del pairs  # their memory is free for what follows
    if mean is None:
        return run.refused(UNSTABLE, "auto", session.costs(), **public)
    state = state_after_core(setting, mean, precision, share, shape, block)
    return _answered(run, session, state.choose(block=size_of_block), size, public)


def _answered(run: Run, session: Session, state: State, size: Size, public: dict[str, float]) -> Release:
    """Choose coordinates, learn variances, run the stages after a core; the answer in the columns of the table."""
    basis = state.setting.view.basis
    state = state.choose(objective="total", basis=OWN if basis is None else basis.name, **state.choices)
    state = learn_coordinates(state) if run.chooses_basis else learn(state)
    if state.core_alone or state.block is not None:
        public |= {"averaged_at_least": size.looked_at_least}  # the core's own mean, of the records it looked at
    return run.answered(restored(state), "auto", session.costs(), public, state.choices)


def search_parts(branch: Tested, relation: Neighbours) -> tuple[float, float]:
    """mu of the second count, which a public number of records does not need, and of the searches for λ."""
    share = c.RECOUNT_SHARE if relation is Neighbours.ADD_REMOVE else 0.0
    return math.sqrt(share) * branch.search_mu, math.sqrt(1 - share) * branch.search_mu * (1 - 1e-12)


def choose_core(run: Run, calibration: Calibration, size: Size) -> StableChoice | None:
    """The spherical core by rule, of the best mix of ladder and precision; radius in λ; None: too few records."""
    cells = len(geometric_grid(*run.window, c.RADIUS_STEP)) - 1

    def median_mu(branch: Tested) -> float:
        return search_parts(branch, run.relation)[1] * math.sqrt(c.MEDIAN_LOOK)

    return _most_precise(run, with_likely_searches(calibration.tested, size, cells, median_mu), size)


def _most_precise(run: Run, branches: Sequence[Tested], size: Size) -> StableChoice | None:
    choices = [each for branch in branches if (each := _by_rule(run, branch, size))]
    promising = with_enough_records(choices, size, run.failure)
    return min(promising, key=lambda each: each.sensitivity**c.CORE_POWER / each.branch.mu, default=None)


def _by_rule(run: Run, branch: Tested, size: Size) -> StableChoice | None:
    """b and B from the ladder and the share of outliers; n_0 no lower than leaves a core of use (P14)."""
    choice = _ruled(branch, *size.bound(branch.ladder.length, run.failure), run.model.outliers)
    return choice if size.stddev is None or is_of_use(choice) else _smallest(branch, run.model.outliers)


@lru_cache(maxsize=64)
def _smallest(branch: Tested, outliers: float) -> StableChoice | None:
    return smallest_of_use(branch.ladder.length, lambda floor: _ruled(branch, floor, floor + N_LOW, outliers))


def _ruled(branch: Tested, floor: int | None, count: int, outliers: float) -> StableChoice | None:
    """b and B for n_low = `count`: what honest records, FULL_SHARE_RULE of them friends, can keep to (P13)."""
    relation = Neighbours.REPLACE_ONE if floor is None else Neighbours.ADD_REMOVE
    if count < 1:
        return None
    steps, honest = branch.ladder.length, c.FULL_SHARE_RULE - outliers
    tested = count if floor is None else count + steps  # so many records should pass
    wanted = honest - steps / count if floor is None else honest * tested / (tested + steps)
    share = Fraction(math.floor(1000 * wanted), 1000)
    budget = steps + math.ceil(outliers * tested) + c.BUDGET_MARGIN
    if not admissible(count, share, budget, relation):
        return None
    moves = core_sensitivity(count, share, budget, relation)
    return StableChoice(branch, share, budget, floor, 1.0, moves, moves / branch.mu)
