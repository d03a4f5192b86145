"""Shapes: a public covariance M, and how records are rescaled by it."""

from dimfree.shapes.base import Rescaling as Rescaling
from dimfree.shapes.base import Shape as Shape
from dimfree.shapes.kinds import Dense as Dense
from dimfree.shapes.kinds import Diagonal as Diagonal
from dimfree.shapes.kinds import Isotropic as Isotropic
from dimfree.shapes.kinds import LowRank as LowRank
from dimfree.shapes.kinds import as_shape as as_shape
