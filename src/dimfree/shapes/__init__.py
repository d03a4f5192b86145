"""Shapes: a public covariance M, and how records are rescaled by it. One shape a file."""

from dimfree.shapes.base import Rescaling as Rescaling
from dimfree.shapes.base import Shape as Shape
from dimfree.shapes.dense import Dense as Dense
from dimfree.shapes.diagonal import Diagonal as Diagonal
from dimfree.shapes.diagonal import Isotropic as Isotropic
from dimfree.shapes.from_parameters import as_shape as as_shape
from dimfree.shapes.low_rank import LowRank as LowRank
