"""The answer of a learned shape, restored to the columns of the records. Sees no record.

The noise of a release is Gaussian with a known covariance; its diagonal and its principal variances are computed here
for the error bars. Proof: proofs/estimators/learn/restore.md. Letters: V = noise variance of each coordinate that the
stages worked in, R = the map back from these.
"""

from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.learn.principal_directions import without_offset
from dimfree.estimators.learn.shrinkage import denoised
from dimfree.estimators.learn.spreads import learned_shape
from dimfree.estimators.learn.state import State
from dimfree.geometry.bases.basis import Basis
from dimfree.geometry.bases.learned import LearnedAxes
from dimfree.results.error_model import LearnedDirections, LearnedShape


@dataclass(frozen=True)
class Answer:
    """Everything a release says of the mean. `…_principal`: variances along common directions; None: along the axes."""

    mean: Floats
    denoised: Floats
    variance: Floats
    clipping: Floats
    shape: LearnedShape
    noise_principal: Floats | None = None
    record_principal: Floats | None = None


def restored(state: State) -> Answer:
    """The combination of all outputs and its noise, back in the coordinates of the records."""
    value, variance = state.known.combined()
    shrunk, clipping = denoised(value, variance)[0], state.clipping
    basis = state.setting.space.basis
    if basis is None:
        return Answer(value, shrunk, variance, clipping, _shape(state, value, variance + clipping**2))
    spread = np.sqrt(basis.diagonal(clipping**2))  # an allowance of unknown sign in every coordinate
    common = (basis.restored(value), basis.restored(shrunk))
    if state.early_variance is None or not isinstance(basis, LearnedAxes):
        diagonal = basis.diagonal(variance)
        shape = _shape(state, common[0], diagonal + spread**2)
        principal = (_kept(basis, variance), _kept(basis, state.stddev**2))
        return Answer(*common, diagonal, spread, shape, *principal)
    covariance = _covariance(basis, state.known.fresh(), state.early_variance)
    diagonal, of_records = np.diagonal(covariance).copy(), _restored(basis, state.stddev**2)
    shape = _shape(state, common[0], diagonal + spread**2)
    return Answer(*common, diagonal, spread, shape, _falling(covariance), _falling(of_records))


def _shape(state: State, mean: Floats, mean_variance: Floats) -> LearnedShape:
    """Spreads of the columns, and the directions found. The directions were seen from an earlier centre, off by about
    what the mean has moved since: what that distance alone explains is taken out."""
    scores = state.own_scores or state.scores
    assert scores is not None  # every path learns variances in the records' own coordinates
    shape = learned_shape(scores, mean, mean_variance)
    if state.directions is None:
        return shape
    seen_from = state.directions.seen_from
    offset = (mean - seen_from.centre) / seen_from.scale
    length = float((shape.variances / seen_from.scale**2).sum())
    found = without_offset(state.directions.spikes, offset, length)
    if not len(found.shares):
        return shape
    directions = LearnedDirections(found.directions.T, found.shares, found.angles, seen_from.scale)
    return replace(shape, directions=directions)


def _kept(basis: Basis, variances: Floats) -> Floats:
    """Principal variances of a restored vector: all of them or, where padding is dropped, the largest d as upper bounds
    (Cauchy's interlacing)."""
    if basis.width == basis.dimension:
        return variances
    return np.sort(variances)[::-1][: basis.dimension].copy()


def _restored(basis: Basis, variances: Floats) -> Floats:
    """R·diag(variances)·Rᵀ."""
    back = basis.restored(np.eye(basis.width))
    return np.asarray((back.T * variances) @ back)


def _covariance(basis: LearnedAxes, shares: tuple[Floats, Floats], early: Floats) -> Floats:
    """Covariance of the combination: the stages' noise, independent in the basis, and the noise from before the move,
    independent in the original coordinates."""
    first, fresh = shares
    carried = basis.carried(first)
    return _restored(basis, fresh) + np.asarray((carried.T * early) @ carried)


def _falling(covariance: Floats) -> Floats:
    """Eigenvalues, largest first. In this order those of two matrices majorise those of their sum (Ky Fan)."""
    return np.maximum(np.linalg.eigvalsh(covariance)[::-1], np.finfo(np.float64).tiny)
