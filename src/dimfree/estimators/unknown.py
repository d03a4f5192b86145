"""Nothing known: location, scale and variances all learned inside one budget (shape="auto").

Every private step is a Gaussian release charged to one precision P, plus the one bit (P6, P9); the rest is
post-processing. Letters: n̂ = released number of records, λ = friend radius, b, B = thresholds of the stable core.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.events import Tested
from dimfree.core import stable
from dimfree.estimators.choose.core import Size, StableChoice
from dimfree.estimators.learn.coordinates import Menu
from dimfree.estimators.learn.forecasts import OWN
from dimfree.estimators.learn.restore import in_original
from dimfree.estimators.learn.scale import learn_radius, pair_distances, radius_learnable
from dimfree.estimators.learn.stages import StageSetting
from dimfree.estimators.learn.variances import Learner
from dimfree.estimators.opening import calibrated, charged, core_mean, core_sample, released_size
from dimfree.estimators.run import NO_SCALE, TOO_FEW, UNSTABLE, Run
from dimfree.results.release import Release

SEARCH_SHARE = 0.07  # of the precision, for λ
_CORE_MATTERS = 0.3  # the power of the core's sensitivity in the final error: all stages begin at its centre
_CORE_SHARES = (0.03, 0.20)  # of P, at least and at most


def refuse_unknown(run: Run) -> Release | None:
    """Replace-one: the refusal that the public number of records alone decides, at no cost."""
    menu = calibrated(run, SEARCH_SHARE)
    size, _ = released_size(run, menu)
    refused = choose_core(run, menu, size) is None
    return run.refused(TOO_FEW, "auto", run.ledger((), ()), count=size.count) if refused else None


def release_unknown(run: Run) -> Release:
    """n̂ → λ → spherical core → variances, stages, variances, stages; all outputs combined (P5', P6, P8, P9, P10)."""
    menu = calibrated(run, SEARCH_SHARE)
    size, before = released_size(run, menu)
    choice = choose_core(run, menu, size)
    if choice is None:
        return run.refused(TOO_FEW, "auto", run.ledger(before, menu.menu), count=size.count)
    menu_used, chosen = charged(run, menu, choice.branch)
    sampled = core_sample(run, size)
    looked_at, search_mu = max(size.count * size.rate, 1.0), choice.branch.search_mu
    capacity = size.capacity(size.rate)
    pairs = pair_distances(run.space, sampled, capacity)
    learned = learn_radius(pairs, run.window, looked_at, search_mu, run.relation, noise=run.noise)  # M5'
    del pairs  # before the core needs its place
    ledger = run.ledger(before, menu_used, chosen=chosen, searches=learned.events)
    public = size.public | {"radius": learned.radius}
    if not learned.found:
        return run.refused(NO_SCALE, "auto", ledger, **public)
    precision = choice.branch.mu**2 * (1 - 1e-9)
    share = core_share(choice, learned.radius, learned.trace, run.space.dimension)
    mean = core_mean(run, choice, learned.radius, math.sqrt(share * precision), sampled, capacity)  # P5, P6
    if mean is None:
        return run.refused(UNSTABLE, "auto", ledger, **public)
    setting = StageSetting(run.space, size.count, run.relation, run.noise, size.stddev or 0.0)
    learner = Learner.after_core(setting, mean, precision, share, learned)
    learner.words["basis"] = OWN if run.space.basis is None else run.space.basis.name
    (Menu(learner) if run.menu else learner).learn()  # P8, P10, P11, P12
    ledger = replace(ledger, after=tuple(learner.known.events))
    return run.answered(in_original(learner), "auto", ledger, public, learner.words)


def choose_core(run: Run, menu: Calibration, size: Size) -> StableChoice | None:
    """The spherical core by rule, since no spectrum is known; None where too few records are to be expected.

    A long ladder leaves more precision to everything after it, a short one a sharper core; radius in units of λ.
    """
    looked_at = size.count * size.rate
    branches = [b for b in menu.tested if radius_learnable(looked_at, run.window, b.search_mu, run.relation)]
    choices = [c for branch in branches if (c := _by_rule(branch, size, run.failure, run.model.outliers))]
    return min(choices, key=lambda c: c.sensitivity**_CORE_MATTERS / c.branch.mu, default=None)


def _by_rule(branch: Tested, size: Size, failure: float, outliers: float) -> StableChoice | None:
    """b and B from the ladder and the share of outliers."""
    steps = branch.ladder.length
    floor, count = size.bound(steps, failure)
    if count < 1:
        return None
    share = Fraction(math.floor(1000 * (0.89 - outliers - steps / count)), 1000)
    budget = steps + math.ceil(outliers * count) + 5
    if not stable.admissible(count, share, budget, size.relation):
        return None
    moves = stable.sensitivity(count, share, budget, size.relation)
    return StableChoice(branch, share, budget, floor, 1.0, moves, moves / branch.mu)


def core_share(choice: StableChoice, radius: float, trace: float, dimension: int) -> float:
    """Of the precision, for the core: enough to bring the centre's squared error to half of tr Σ."""
    needed = 2 * dimension * (choice.sensitivity * radius) ** 2 / (choice.branch.mu**2 * trace)
    return float(np.clip(needed, *_CORE_SHARES))
