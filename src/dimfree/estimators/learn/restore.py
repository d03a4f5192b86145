"""What was learned in whatever coordinates, said in those of the records. Sees no record.

The noise of a release is Gaussian with a known covariance; here its diagonal and its principal variances are found, for
error bars. Proof: proofs/estimators/learn/restore.md. Letters: V = noise variance of each coordinate the stages worked
in, R = the map back from these.
"""

from dataclasses import dataclass, replace

import numpy as np

from dimfree._types import Floats
from dimfree.estimators.learn.principal_directions import without_offset
from dimfree.estimators.learn.shrinkage import denoised
from dimfree.estimators.learn.spreads import learned_shape
from dimfree.estimators.learn.variances import Learner
from dimfree.geometry.bases.basis import Basis
from dimfree.geometry.bases.learned import LearnedAxes
from dimfree.results.error_model import LearnedDirections, LearnedShape


@dataclass(frozen=True)
class Answer:
    """Everything a release says of the mean; `…_principal` are variances along common directions, None: the axes."""

    mean: Floats
    denoised: Floats
    variance: Floats
    clipping: Floats
    shape: LearnedShape
    noise_principal: Floats | None = None
    record_principal: Floats | None = None


def in_original(learner: Learner) -> Answer:
    """The combination of all outputs and its noise, back in the coordinates of the records."""
    value, variance = learner.known.combined()
    shrunk, clipping = denoised(value, variance)[0], learner.clipping
    basis = learner.setting.space.basis
    if basis is None:
        return Answer(value, shrunk, variance, clipping, _shape(learner, value, variance + clipping**2))
    spread = np.sqrt(basis.diagonal(clipping**2))  # an allowance of unknown sign in every coordinate
    common = (basis.restored(value), basis.restored(shrunk))
    if learner.early is None or not isinstance(basis, LearnedAxes):
        diagonal = basis.diagonal(variance)
        shape = _shape(learner, common[0], diagonal + spread**2)
        principal = (_kept(basis, variance), _kept(basis, learner.stddev**2))
        return Answer(*common, diagonal, spread, shape, *principal)
    covariance = _covariance(basis, learner.known.fresh(), learner.early)
    diagonal, of_records = np.diagonal(covariance).copy(), _restored(basis, learner.stddev**2)
    shape = _shape(learner, common[0], diagonal + spread**2)
    return Answer(*common, diagonal, spread, shape, _falling(covariance), _falling(of_records))


def _shape(learner: Learner, mean: Floats, mean_variance: Floats) -> LearnedShape:
    """The centre that directions were looked for from was off by about what the mean has moved since: a direction made
    of that is not the records'. Spreads are told with the same care (`spreads`)."""
    look = learner.own or learner.look
    assert look is not None  # every course learns variances in the records' own coordinates
    shape = learned_shape(look, mean, mean_variance)
    if learner.spikes is None or learner.lookout is None:
        return shape
    offset = (mean - learner.lookout.centre) / learner.lookout.scale
    length = float((shape.variances / learner.lookout.scale**2).sum())
    found = without_offset(learner.spikes, offset, length)
    if not len(found.shares):
        return shape
    directions = LearnedDirections(found.directions.T, found.shares, found.angles, learner.lookout.scale)
    return replace(shape, directions=directions)


def _kept(basis: Basis, variances: Floats) -> Floats:
    """Principal variances of a restored vector: all of them, or, where padding is dropped, no less than the largest d
    (Cauchy's interlacing)."""
    if basis.width == basis.dimension:
        return variances
    return np.sort(variances)[::-1][: basis.dimension].copy()


def _restored(basis: Basis, variances: Floats) -> Floats:
    """R·diag(variances)·Rᵀ."""
    back = basis.restored(np.eye(basis.width))
    return np.asarray((back.T * variances) @ back)


def _covariance(basis: LearnedAxes, shares: tuple[Floats, Floats], early: Floats) -> Floats:
    """That of the combination: of the stages' own noise, and of what was known before the coordinates were learned,
    independent in the original ones."""
    first, fresh = shares
    carried = basis.carried(first)
    return _restored(basis, fresh) + np.asarray((carried.T * early) @ carried)


def _falling(covariance: Floats) -> Floats:
    """Eigenvalues, largest first: paired so, those of two matrices bound the spread of their sum (Ky Fan)."""
    return np.maximum(np.linalg.eigvalsh(covariance)[::-1], np.finfo(np.float64).tiny)
