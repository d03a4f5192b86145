"""The per-column estimator: center and SD of every column, then one clipped mean. No test, no refusal by values.

count (→ valid records) → magnitudes → locations → center → SDs → tails → lengths → mean. Everything after the count is
one privacy filter: Gaussian releases chosen by released values, their precisions summing to at most P (P17).
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from dimfree.accounting.budget import MAX_EPSILON, Budget, Neighbors
from dimfree.accounting.calibrate import Calibration, calibrate_gaussian
from dimfree.accounting.events import Branch, Costs, OnlyGaussian
from dimfree.kernel import Session
from dimfree.programs.choose import constants as c
from dimfree.programs.choose.core import Size, choose_pilot_rate, compute_snr
from dimfree.programs.columns.last import (
    ClippedMean,
    choose_clipping_radius,
    has_unmeasured_records,
    measure_lengths,
    release_last_mean,
)
from dimfree.programs.columns.missing import count_missing
from dimfree.programs.columns.opening import count_valid, learn_columns
from dimfree.programs.columns.refine import measure_sds, recenter
from dimfree.programs.columns.state import ColumnState
from dimfree.programs.columns.tails import widen_tails
from dimfree.programs.learn import restore
from dimfree.programs.learn.restore import Population, learn_population
from dimfree.programs.learn.shrinkage import EarlierSDs, learn_shape
from dimfree.programs.learn.state import StepSetting
from dimfree.programs.learn.tail import Lengths, Tail
from dimfree.programs.run import CAUTION, Run, draw_pilot_sample, open_table, read_public_size
from dimfree.results.error_model import EstimatedVariances
from dimfree.results.release import Release

METHOD = "columns"
TOO_FEW_VALID = "Too few complete rows for this many columns at this budget, by their released number."
TOO_FEW_PRESENT = "Too few values for this many columns at this budget, by their released number."


def release_columns(run: Run) -> Release:
    """Release objective="relative" or missing="available-case"; refuse if the released number of records is small."""
    calibration = calibrate_gaussian(run.budget, private_count=run.relation is Neighbors.ADD_REMOVE)
    session, size = open_table(run, calibration)
    refusal = _refuse_few(run, size, calibration, session.costs())
    counted = replace(size, count=max(size.count, 1.0))
    return refusal or release_by_columns(run, session, calibration.branches[0], counted)


def choose_untested(run: Run, calibration: Calibration, size: Size, *, alone: bool) -> OnlyGaussian | None:
    """Choose the branch without a test, if the per-column estimator applies and has enough records. Public.

    `alone`: there are too few records for a stable core.
    """
    branch, d = calibration.untested, run.dimension
    if branch is None or run.by_columns is None:
        return None
    if alone or run.by_columns == "relative":
        enough = has_enough_records(run, size, branch)
    else:  # if all columns are declared, up to noise as large as their range
        least = float(np.clip(c.TOTAL_SNR * d, *c.TOTAL_SNR_RANGE)) if count_undeclared(run) else 1.0
        enough = compute_snr(size.count, run.relation, branch.mu**2, d) >= least
    return branch if _has_certain_count(run, size) and enough else None


def count_undeclared(run: Run) -> int:
    """Count the columns without declared bounds. Public."""
    return int(np.isinf(run.limits[0]).sum())


def has_enough_records(run: Run, size: Size, branch: Branch) -> bool:
    """Return whether there are enough records to estimate each column without declared bounds. Public."""
    return compute_snr(size.count, run.relation, branch.mu**2, count_undeclared(run)) >= c.MIN_SNR


def _has_certain_count(run: Run, size: Size) -> bool:
    """Return whether the released count is surely not that of an empty table; declared tables need none."""
    if not count_undeclared(run):
        return size.stddev is not None or size.count >= 1
    return size.count >= c.MIN_COUNT_DEVIATIONS * (size.stddev or 0.0)


def refuse_columns(run: Run) -> Release | None:
    """Refuse by the public number of records alone (replace-one), at no cost."""
    calibration = calibrate_gaussian(run.budget, private_count=False)
    return _refuse_few(run, read_public_size(run, calibration), calibration, run.no_costs())


def release_by_columns(run: Run, session: Session, branch: Branch, size: Size) -> Release:
    """Run the per-column estimator on a branch of Gaussian releases alone (P17, P18)."""
    setting, relative = StepSetting(session.take(branch), size.count, size.stddev or 0.0), run.by_columns == "relative"
    state = ColumnState.at_start(setting, branch.mu, run.limits, relative=relative)
    if reading := {"complete-case": count_valid, "available-case": count_missing}.get(run.missing):
        state = reading(state)
    if reading and state.snr < c.MIN_SNR:
        reason = TOO_FEW_VALID if run.missing == "complete-case" else TOO_FEW_PRESENT
        return run.refuse(reason, METHOD, session.costs(), count=size.count)
    state, tail = _learn_early(size, state), None
    if state.scores is not None:
        state, tail = measure_lengths(state)
        radius, bias = choose_clipping_radius(state, tail)
        if state.gain_of_clipping(radius * math.hypot(1.0, bias)) < c.MIN_CLIPPING_GAIN:
            state, tail = replace(state, earlier=EarlierSDs(state.stddev, state.log_variance)), None
    if tail is None:
        state = state.within_limits()
    state, answer = release_last_mean(state, tail)
    words = {"objective": "relative" if relative else "total"}
    public = size.public | (_bound_averaged(state) if run.missing == "complete-case" else {})
    return run.answer_learned(_state_results(state, answer, tail), METHOD, session.costs(), public, words)


def _learn_early(size: Size, state: ColumnState) -> ColumnState:
    """Learn from a pilot sample where records are many; the returned state is about all records (P16)."""
    present = min(1.0, float(state.counts.min()) / size.count)  # released: of the column with the fewest values
    rate = choose_pilot_rate(size, state.precision, state.setting.view.dimension, present)
    if rate >= 1:
        return learn_before_lengths(state)
    setting = state.setting.on_sample(draw_pilot_sample(state.setting.view, size, rate)[0], rate)
    return replace(learn_before_lengths(replace(state, setting=setting)), setting=state.setting)


def _bound_averaged(state: ColumnState) -> dict[str, float]:
    """Return a lower bound, of high probability, of the released number of valid records."""
    return {"averaged_at_least": max(1.0, state.setting.count - 2 * state.setting.count_stddev)}


def learn_before_lengths(state: ColumnState) -> ColumnState:
    """Estimate center and SD of every column, before the length histogram.

    If the declared ranges are hardly wider than the estimates, they are the answer's ball.
    """
    if not state.open.any():
        return state
    state = learn_columns(state)
    if state.gain_of_clipping(c.USUAL_RADIUS * state.length) >= c.MIN_CLIPPING_GAIN:
        return widen_tails(measure_sds(recenter(state)))
    earlier = EarlierSDs(state.stddev, np.where(state.narrow, np.inf, state.log_variance))
    return replace(state, earlier=earlier)


def _refuse_few(run: Run, size: Size, calibration: Calibration, ledger: Costs) -> Release | None:
    """Refuse if the released number of records is too small for the number of columns."""
    if has_enough_records(run, size, calibration.branches[0]) and _has_certain_count(run, size):
        return None
    failure, dimension = run.failure / CAUTION, count_undeclared(run)
    unbounded = " without bounds" if dimension < run.dimension else ""
    asked = "missing='available-case'" if run.missing == "available-case" else "objective='relative'"
    needed = count_records_needed(run.budget, run.relation, dimension, failure)
    reason = (
        f"Too few records for {asked} with {dimension} columns{unbounded} at this budget: about {needed} are needed"
        f"{_suggest_epsilon(run, size, failure)}."
    )
    reason += "" if run.missing == "available-case" else " objective='total' may work."
    return run.refuse(reason, METHOD, ledger, count=size.count)


def count_records_needed(budget: Budget, relation: Neighbors, dimension: int, failure: float) -> int:
    """Return the number of records that objective="relative" needs for columns without declared bounds. Public.

    `failure`: probability of a refusal, since under add/remove the released number decides. The refusal, `dimfree.plan`
    and docs/how-to/epsilon-and-delta.md state this number.
    """
    calibration = calibrate_gaussian(budget, private_count=relation is Neighbors.ADD_REMOVE)
    stddev = calibration.count_stddev or 0.0
    enough = c.MIN_SNR / compute_snr(1.0, relation, calibration.branches[0].mu ** 2, dimension)
    return math.ceil(max(1.0, enough, c.MIN_COUNT_DEVIATIONS * stddev) - float(ndtri(failure)) * stddev)


def _suggest_epsilon(run: Run, size: Size, failure: float) -> str:
    """Suggest an epsilon at which as many records suffice; an empty string if there is none."""

    def suffices(epsilon: float) -> bool:
        budget = Budget(epsilon, run.budget.delta)
        return count_records_needed(budget, run.relation, count_undeclared(run), failure) <= size.count

    if not suffices(MAX_EPSILON):
        return ""
    low, high = math.log(run.budget.usable_epsilon), math.log(MAX_EPSILON)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(math.exp(middle)) else (middle, high)
    return f", or an epsilon of about {math.exp(high):.3g} for as many records"


def _state_within_limits(state: ColumnState, answer: ClippedMean) -> restore.Answer:
    """Make the answer within declared bounds: an SD without an estimate is the largest that they allow."""
    low, high = state.limits
    mean = np.clip(answer.mean, low, high)
    most = np.maximum(np.sqrt((mean - low) * (high - mean)), np.sqrt(answer.variance))
    stddev, log_variance = most, np.full(len(mean), np.inf)
    if state.earlier is not None:
        stddev, log_variance = np.minimum(state.earlier.stddev, most), state.earlier.log_variance
    error = np.sqrt(log_variance + c.STATED_MODEL_ERROR**2)
    above = np.minimum(error, np.maximum(np.log(most / stddev), 0.0) / 2 + 1e-9)
    shape = EstimatedVariances(stddev**2, np.where(error > c.UNRESOLVED_ERROR, np.inf, error), log_above=above)
    within = Population(correlation=1.0, unmeasured=False)
    present = state.present if state.setting.view.by_entry else None
    return restore.Answer(mean, answer.variance, shape, clipping=answer.clipping(), population=within, present=present)


def _state_results(state: ColumnState, answer: ClippedMean, tail: Tail | None) -> restore.Answer:
    """Make the answer: the mean, and the SD of each column.

    The SD of a column that shows only zeros is unresolved: scores do not show the size of other values.
    """
    if tail is None:
        return _state_within_limits(state, answer)
    assert state.scores is not None
    shape = learn_shape(state.scores, answer.mean, answer.variance, state.earlier)
    constant = np.sqrt(shape.variances) < c.FLOAT_RESOLUTION * np.abs(answer.mean)  # up to floating-point resolution
    lengths = Lengths(tail, answer.ball, answer.bias)
    far = lengths.some_unmeasured  # some records lie beyond the length histogram
    assert state.far is not None  # every path votes
    odds = state.far.cut(answer.ball.cap * state.scale / state.far.unit)
    cut = doubt = (odds >= c.CUT_PROBABILITY) | state.unseen
    cut = cut if cut.any() else odds == odds.max()  # some column has them
    unknown = (
        state.unseen
        | constant
        | (cut & has_unmeasured_records(state, tail, answer.ball.radius))
        | (doubt & (not tail.resolved))
    )
    shape = replace(shape, log_stddev=np.where(unknown, np.inf, shape.log_stddev))
    zeros = state.unseen & far  # perhaps by nonzero values there
    without_interval = zeros & ~shape.learned
    return restore.Answer(
        mean=answer.mean,
        variance=answer.variance,
        estimated_variances=shape,
        clipping=answer.clipping(),
        bias=answer.bias,
        hidden=answer.hidden,
        population=learn_population(lengths, answer.mean, shape.variances * state.present),
        without_interval=without_interval if without_interval.any() else None,
        present=state.present if state.setting.view.by_entry else None,
    )
