"""The shape that the parameters covariance= and shape= describe."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dimfree import _validate
from dimfree.shapes.base import Shape
from dimfree.shapes.dense import Dense
from dimfree.shapes.diagonal import Diagonal, Isotropic
from dimfree.shapes.low_rank import LowRank

SHAPES = (Diagonal, Isotropic, Dense, LowRank)


def as_shape(covariance: ArrayLike | None, shape: Shape | str | None, dimension: int) -> Shape:
    """The shape given by exactly one of covariance= (variances or a matrix) and shape=; it must fit the records."""
    _validate.check_exactly_one(covariance, shape)
    chosen = _from_covariance(covariance, dimension) if shape is None else shape
    if not isinstance(chosen, Shape) or type(chosen) not in SHAPES:  # a subclass would bring code of its own to records
        raise _validate.reject_shape("shape", shape)
    if chosen.dimension is not None:
        _validate.check_lengths("covariance" if shape is None else "shape", chosen.dimension, "column", dimension)
    return chosen


def _from_covariance(covariance: Any, dimension: int) -> Shape:
    rank = _rank(covariance)
    if rank == 0 and dimension == 1 and not isinstance(covariance, Shape | str):
        return Diagonal([covariance])
    if rank not in (1, 2):
        raise _validate.reject_covariance(covariance, dimension)
    return Diagonal(_validate.check_variances("covariance", covariance)) if rank == 1 else Dense(covariance)


def _rank(value: Any) -> int:
    try:
        return np.ndim(value)
    except Exception:  # noqa: BLE001 - it may quote an entry
        return 1  # for example lists of different lengths: the check of the entries raises the error
