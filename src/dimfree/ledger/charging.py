"""What a run is charged, computed from public numbers before anything is drawn.

Guarantee: a charge depends on budget, relation and options only; under add/remove not on the number of records. It
covers every path of the run. Proof: proofs/ledger/spending.md.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_gaussian
from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Costs, counted_records
from dimfree.accounting.losses import Approximate
from dimfree.errors import DimfreeError, InvalidParameter
from dimfree.estimators.choose.constants import SCALE_SEARCH_SHARE
from dimfree.estimators.opening import UNKNOWN, calibrated
from dimfree.estimators.run import OUT_OF_RANGE, Run
from dimfree.geometry.bases.basis import Basis
from dimfree.ledger.chain import digest_of
from dimfree.ledger.ledger import Ledger
from dimfree.ledger.spending import Charge
from dimfree.ledger.terms import Terms
from dimfree.results.release import Release

_METHODS = {"auto": "stable", "unknown": "auto"}  # of estimators that are named otherwise in a release


def charged_run(
    ledger: Ledger | None,
    estimator: str,
    run: Run,
    whose: Mapping[str, Any],
    release: Callable[[Run], Release],
) -> Release:
    """Charge a release, then run it. The debit is on disk before the run draws anything, and stays whatever happens.

    What public numbers forbid is an error here, with a ledger and without one: before the debit.
    """
    charge = charge_of(estimator, run)
    if ledger is None:
        return _completed(estimator, run, release)
    charged = ledger.charge(
        charge,
        terms=terms_of(run.budget, run.relation, whose),
        private=run.noise.private,
        what=f"mean, {estimator}",
        parameters=public_digest(estimator, run),
    )
    found = _completed(estimator, run, release)
    charged.noted(refused=found.refused)
    return found


def _completed(estimator: str, run: Run, release: Callable[[Run], Release]) -> Release:
    """The release; a refusal where what was released leads out of the range of the arithmetic.

    Mechanisms raise nothing that depends on a record, so where this happens is a function of released numbers.
    """
    try:
        return release(run)
    except InvalidParameter:  # a number of the release is not finite; whatever a caller can get wrong was checked
        pass
    except DimfreeError:
        raise
    except (ArithmeticError, IndexError, ValueError):
        pass
    runs = _runs(estimator, run)
    whole = Approximate("all of the release", run.budget.epsilon, run.budget.delta)
    costs = runs[0] if runs else Composition(run.budget, run.relation, (whole,))
    return run.refused(OUT_OF_RANGE, _METHODS.get(estimator, estimator), costs)


def terms_of(budget: Budget, relation: Neighbours, whose: Mapping[str, Any]) -> Terms:
    """What a release promises, and about whom; `whose` is the text of its guarantee about persons."""
    return Terms(budget, relation, whose.get("unit", "row"), whose.get("unit_column"))


def check_ledger(ledger: object) -> None:
    """Check that this is a ledger or None, before any table is opened."""
    if not isinstance(ledger, Ledger | None):
        kind = type(ledger).__name__
        raise InvalidParameter(
            f"Expected ledger to be a dimfree.Ledger, got {kind}: with dimfree.Ledger(...) as ledger."
        )


def charge_of(estimator: str, run: Run) -> Charge:
    """What a run of this estimator is charged, whatever its outcome."""
    return Charge(run.budget, _runs(estimator, run))


def _runs(estimator: str, run: Run) -> tuple[Costs, ...]:
    """The Gaussians before the branch, and the branches; none for what is charged by its guarantee."""
    if estimator in ("paper", "basic"):
        return ()
    if estimator == "soft":
        return (run.ledger((), (calibrate_bounded(run.budget),)),)
    return (_tested(estimator, run),)


def _tested(estimator: str, run: Run) -> Costs:
    """Count and branches (P9). Under replace-one a public number chooses the branch; the worst branch is charged."""
    if estimator == "columns":
        menu = calibrate_gaussian(run.budget, private_count=run.relation is Neighbours.ADD_REMOVE)
    elif estimator == "unknown":
        menu = calibrated(run, **UNKNOWN)
    else:
        gentle = estimator == "auto" and run.relation is Neighbours.ADD_REMOVE and not run.learn_scale
        menu = calibrated(run, SCALE_SEARCH_SHARE if run.learn_scale else 0.0, bounded=gentle)
    if menu.count_stddev is None:
        return run.ledger((), menu.menu)
    return run.ledger((counted_records(menu.count_stddev),), menu.menu)


def _basis_digest(basis: Basis | None) -> str | None:
    """A digest of the image of a fixed public vector, which tells bases apart."""
    if basis is None:
        return None
    turned = basis.moved(np.arange(1.0, basis.dimension + 1) / basis.dimension)
    return f"{basis.name} {hashlib.sha256(turned.tobytes()).hexdigest()}"


def public_digest(estimator: str, run: Run, **more: Any) -> str:
    """SHA-256 of the public parameters of a run, covariance and bounds included: the same give the same digest."""
    spectrum = hashlib.sha256(run.spectrum.tobytes()).hexdigest()
    return digest_of(
        {
            "estimator": estimator,
            "epsilon": run.budget.epsilon,
            "delta": run.budget.delta,
            "neighbours": run.relation.value,
            "failure": run.failure,
            "by_columns": run.by_columns,
            "outliers": run.model.outliers,
            "factor": run.model.factor,
            "learn_scale": run.learn_scale,
            "stages": run.most_stages,
            "core_sample": run.core_sample,
            "window": list(run.window),
            "denoise": bool(run.denoise),
            "basis": "auto" if run.menu else _basis_digest(run.space.basis),
            "columns": run.space.dimension,
            "spectrum": spectrum,
            **({} if run.records.bounds is None else run.records.bounds.stated()),
            **more,
        }
    )
