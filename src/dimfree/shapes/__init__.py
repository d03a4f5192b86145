"""Public covariances M, and how records are rescaled by them."""

from dimfree.shapes.base import Covariance as Covariance
from dimfree.shapes.base import Rescaling as Rescaling
from dimfree.shapes.kinds import DenseCovariance as DenseCovariance
from dimfree.shapes.kinds import DiagonalCovariance as DiagonalCovariance
from dimfree.shapes.kinds import IsotropicCovariance as IsotropicCovariance
from dimfree.shapes.kinds import LowRankCovariance as LowRankCovariance
from dimfree.shapes.kinds import as_covariance as as_covariance
