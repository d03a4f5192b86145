"""Shapes: a public covariance M, and how records are rescaled by it. One shape a file."""

from dimfree.geometry.shape.base import Rescaling as Rescaling
from dimfree.geometry.shape.base import Shape as Shape
from dimfree.geometry.shape.dense import Dense as Dense
from dimfree.geometry.shape.diagonal import Diagonal as Diagonal
from dimfree.geometry.shape.from_parameters import as_shape as as_shape
from dimfree.geometry.shape.isotropic import Isotropic as Isotropic
from dimfree.geometry.shape.low_rank import LowRank as LowRank
