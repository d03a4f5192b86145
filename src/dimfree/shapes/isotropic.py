"""Isotropic: the same spread in every direction."""

import math
from functools import partial

import numpy as np

from dimfree import _validate
from dimfree._types import Floats
from dimfree.shapes.base import Rescaling, Shape, divided


class Isotropic(Shape):
    """The covariance scale**2 * I: the same spread in every direction, for records of any width.

    Parameters
    ----------
    scale : float
        Publicly known standard deviation of a record in every direction, above 0.

    Examples
    --------
    >>> from dimfree import Isotropic
    >>> Isotropic(2.0).trace_root(3)
    6.0
    """

    scale: float

    def __init__(self, scale: float) -> None:
        super().__init__(scale=_validate.check_positive("scale", scale))

    @property
    def dimension(self) -> None:
        return None

    def _rescaling(self) -> Rescaling:
        return partial(divided, np.float64(math.sqrt(self.scale)))

    def _restored(self, vector: Floats) -> Floats:
        return vector * math.sqrt(self.scale)

    def _root_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale)

    def _spectrum(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale)

    def _covariance_diagonal(self, dimension: int) -> Floats:
        return np.full(dimension, self.scale**2)

    def __repr__(self) -> str:
        return f"Isotropic(scale={self.scale!r})"
