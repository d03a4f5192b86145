"""Every column by itself: centre, spread, then one clipped mean. Gaussian releases: no test, no refusal by values.

count (→ valid records) → magnitudes → places → centre → spreads → tails → lengths → mean. Everything after the count
is one filter: Gaussian releases chosen by released values, their precisions summing to at most P (P17).
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from dimfree.accounting.budget import LARGEST_EPSILON, Budget, Neighbours
from dimfree.accounting.calibrate import Calibration, calibrate_gaussian
from dimfree.accounting.events import Branch, Costs, OnlyGaussian
from dimfree.kernel import Session
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size, early_rate, strength
from dimfree.programs.columns.last import Answer, are_cut, clipping_radius, last_mean, look_at_lengths
from dimfree.programs.columns.missing import count_missing
from dimfree.programs.columns.opening import count_valid, learn_columns
from dimfree.programs.columns.refine import measure_spreads, recentre
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.columns.tails import widen_tails
from dimfree.programs.learn import restore
from dimfree.programs.learn.restore import Population, learned_population
from dimfree.programs.learn.shrinkage import EarlierSpreads, learned_shape
from dimfree.programs.learn.state import StageSetting
from dimfree.programs.learn.tail import Lengths, Tail
from dimfree.programs.run import CAUTION, Run, early_sample, open_table, public_size
from dimfree.results.error_model import LearnedShape
from dimfree.results.release import Release

METHOD = "columns"
TOO_FEW_VALID = "Too few complete rows for this many columns at this budget, by their released number."
TOO_FEW_PRESENT = "Too few entries for this many columns at this budget, by their released number."


def release_columns(run: Run) -> Release:
    """objective="relative", or on_missing="column": count, then columns; refused where the released number of records
    is too small."""
    calibration = calibrate_gaussian(run.budget, private_count=run.relation is Neighbours.ADD_REMOVE)
    session, size = open_table(run, calibration)
    refusal = _refused(run, size, calibration, session.costs())
    return refusal or release_by_columns(run, session, calibration.menu[0], size)


def untested_branch(run: Run, calibration: Calibration, size: Size, *, alone: bool) -> OnlyGaussian | None:
    """The branch without a test, if every column may be read by itself and has enough records for it. Public.

    `alone`: there are too few records for a core, so anything that can be answered is.
    """
    branch, d = calibration.untested, run.dimension
    if branch is None or run.by_columns is None:
        return None
    if alone or run.by_columns == "relative":
        enough = enough_for(run, size, branch)
    else:  # where all columns are declared, down to noise of their range
        least = float(np.clip(c.TOTAL_STRENGTH * d, *c.TOTAL_STRENGTHS)) if undeclared(run) else 1.0
        enough = strength(size.count, run.relation, branch.mu**2, d) >= least
    return branch if _certain(size) and enough else None


def undeclared(run: Run) -> int:
    """How many columns have no declared ends. Public."""
    return int(np.isinf(run.limits[0]).sum())


def enough_for(run: Run, size: Size, branch: Branch) -> bool:
    """Whether there are enough records for a look at each column without declared ends. Public."""
    return strength(size.count, run.relation, branch.mu**2, undeclared(run)) >= c.LEAST_STRENGTH


def _certain(size: Size) -> bool:
    """Whether the released number of records is surely not that of an empty table."""
    return size.count >= c.SURE_COUNT * (size.stddev or 0.0)


def refuse_columns(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    calibration = calibrate_gaussian(run.budget, private_count=False)
    return _refused(run, public_size(run, calibration), calibration, run.no_costs())


def release_by_columns(run: Run, session: Session, branch: Branch, size: Size) -> Release:
    """The release of the columns route, on a branch of Gaussian releases alone (P17, P18)."""
    setting, relative = StageSetting(session.take(branch), size.count, size.stddev or 0.0), run.by_columns == "relative"
    state = ColumnState.at_start(setting, branch.mu, run.limits, relative=relative)
    if reading := {"drop": count_valid, "column": count_missing}.get(run.on_missing):
        state = reading(state)
    if reading and state.strength < c.LEAST_STRENGTH:
        reason = TOO_FEW_VALID if run.on_missing == "drop" else TOO_FEW_PRESENT
        return run.refused(reason, METHOD, session.costs(), count=size.count)
    state, tail = _learned_early(size, state), None
    if state.scores is not None:
        state, tail = look_at_lengths(state)
        radius, bias = clipping_radius(state, tail)
        if radius * math.hypot(1.0, bias) > state.widest_record:
            state, tail = replace(state, earlier=EarlierSpreads(state.stddev, state.log_variance)), None
    if tail is None:
        state = state.within_limits()
    state, answer = last_mean(state, tail)
    words = {"objective": "relative" if relative else "total"}
    public = size.public | (_averaged(state) if run.on_missing == "drop" else {})
    return run.answered(_stated(state, answer, tail), METHOD, session.costs(), public, words)


def _learned_early(size: Size, state: ColumnState) -> ColumnState:
    """What `learned` tells, where records are many from a sample of them; the state is about all records (P16)."""
    present = min(1.0, float(state.counts.min()) / size.count)  # released: of the column that has the fewest entries
    rate = early_rate(size, state.precision, state.setting.view.dimension, present)
    if rate >= 1:
        return learned(state)
    setting = state.setting.on_sample(early_sample(state.setting.view, size, rate)[0], rate)
    return replace(learned(replace(state, setting=setting)), setting=state.setting)


def _averaged(state: ColumnState) -> dict[str, float]:
    """What the number of valid records, where it was released, exceeds with high probability."""
    return {"averaged_at_least": max(1.0, state.setting.count - 2 * state.setting.count_stddev)}


def learned(state: ColumnState) -> ColumnState:
    """Centre and spread of every column: all that is known before the records' lengths are looked at.

    Where the declared ranges are hardly wider than what was seen in them, these are the answer's ball.
    """
    if not state.open.any():
        return state
    state = learn_columns(state)
    if state.pays:
        return widen_tails(measure_spreads(recentre(state)))
    earlier = EarlierSpreads(state.stddev, np.where(state.narrow, np.inf, state.log_variance))
    return replace(state, earlier=earlier)


def _refused(run: Run, size: Size, calibration: Calibration, ledger: Costs) -> Release | None:
    """A public refusal: the released number of records is too small for this many columns."""
    if enough_for(run, size, calibration.menu[0]) and _certain(size):
        return None
    failure, dimension = run.failure / CAUTION, undeclared(run)
    reason = (
        f"Too few records for {_asked(run)} with {dimension} columns{_unbounded(run)} at this budget: about "
        f"{records_needed(run.budget, run.relation, dimension, failure)} are needed{_or_epsilon(run, size, failure)}."
    )
    reason += "" if run.on_missing == "column" else " objective='total' may work."
    return run.refused(reason, METHOD, ledger, count=size.count)


def records_needed(budget: Budget, relation: Neighbours, dimension: int, failure: float) -> int:
    """The fewest records that objective="relative" accepts for so many columns without declared ends, but for the
    probability `failure`. Public.

    Under add/remove the released number of records decides, and may fall below their number by chance. The refusal,
    `dimfree.plan` and docs/choosing.md state this number.
    """
    calibration = calibrate_gaussian(budget, private_count=relation is Neighbours.ADD_REMOVE)
    stddev = calibration.count_stddev or 0.0
    enough = c.LEAST_STRENGTH / strength(1.0, relation, calibration.menu[0].mu ** 2, dimension)
    return math.ceil(max(enough, c.SURE_COUNT * stddev) - float(ndtri(failure)) * stddev)


def _unbounded(run: Run) -> str:
    return " without bounds" if undeclared(run) < run.dimension else ""


def _asked(run: Run) -> str:
    """Why every column is read by itself."""
    return "on_missing='column'" if run.on_missing == "column" else "objective='relative'"


def _or_epsilon(run: Run, size: Size, failure: float) -> str:
    """With which epsilon as many records would do; nothing where none would."""

    def suffices(epsilon: float) -> bool:
        budget = Budget(epsilon, run.budget.delta)
        return records_needed(budget, run.relation, undeclared(run), failure) <= size.count

    if not suffices(LARGEST_EPSILON):
        return ""
    low, high = math.log(run.budget.usable_epsilon), math.log(LARGEST_EPSILON)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(math.exp(middle)) else (middle, high)
    return f", or for as many an epsilon of about {math.exp(high):.3g}"


def _stated_within_limits(state: ColumnState, answer: Answer) -> restore.Answer:
    """The same where declared ranges hold every record: a spread that was not seen is the largest that they allow."""
    low, high = state.limits
    mean = np.clip(answer.mean, low, high)
    most = np.maximum(np.sqrt((mean - low) * (high - mean)), np.sqrt(answer.variance))
    stddev, log_variance = most, np.full(len(mean), np.inf)
    if state.earlier is not None:
        stddev, log_variance = np.minimum(state.earlier.stddev, most), state.earlier.log_variance
    error = np.sqrt(log_variance + c.STATED_MODEL_ERROR**2)
    above = np.minimum(error, np.maximum(np.log(most / stddev), 0.0) / 2 + 1e-9)
    shape = LearnedShape(stddev**2, np.where(error > c.VAGUE, np.inf, error), log_above=above)
    within = Population(correlation=1.0, unmeasured=False)
    present = state.present if state.setting.view.by_entry else None
    return restore.Answer(mean, answer.variance, shape, reach=answer.reach(), population=within, present=present)


def _stated(state: ColumnState, answer: Answer, tail: Tail | None) -> restore.Answer:
    """What the release says of the mean and of the spread of each column.

    Where only zeros were seen, a score cannot tell how large the other entries are: such a spread is not learned.
    """
    if tail is None:
        return _stated_within_limits(state, answer)
    assert state.scores is not None
    shape = learned_shape(state.scores, answer.mean, answer.variance, state.earlier)
    constant = np.sqrt(shape.variances) < c.FLOAT_RESOLUTION * np.abs(answer.mean)  # as far as floats can tell
    lengths = Lengths(tail, answer.ball, answer.bias)
    far = lengths.some_unmeasured  # some records lie so far out that it is not known how far
    assert state.far is not None  # every path votes
    odds = state.far.cut(answer.ball.cap * state.scale / state.far.unit)
    cut = doubt = (odds >= c.CUT_DOUBT) | state.unseen
    cut = cut if cut.any() else odds == odds.max()  # some column has them
    unknown = state.unseen | constant | (cut & are_cut(state, tail, answer.ball.radius)) | (doubt & (not tail.told))
    shape = replace(shape, log_stddev=np.where(unknown, np.inf, shape.log_stddev))
    zeros = state.unseen & far  # perhaps by what is not zero there
    one_value = zeros & ~shape.learned
    return restore.Answer(
        mean=answer.mean,
        variance=answer.variance,
        shape=shape,
        reach=answer.reach(),
        bias=answer.bias,
        hidden=answer.hidden,
        population=learned_population(lengths, answer.mean, shape.variances * state.present),
        one_value=one_value if one_value.any() else None,
        present=state.present if state.setting.view.by_entry else None,
    )
