"""What comes out when nothing is known and no variances are learned either: the same steps with spherical noise.

The fair rival of `shape="auto"`: same count, same radius, same core, same searched clipping radii. (A known shape that
happens to be wrong is no rival: where distances spread more than it says, its stability test refuses.)
"""

from typing import Any
from unittest.mock import patch

import numpy as np

from dimfree import Release, release_mean
from dimfree.estimators import unknown
from dimfree.estimators.learn.variances import Learner


class SphericalLearner(Learner):
    """Equal variances throughout; the precision that the variances would have had goes to the stages."""

    def learn(self) -> None:
        self.log_variance = np.zeros_like(self.stddev)
        self.run_stages(1.0)


def release_spherical(X: object, **options: Any) -> Release:
    """As `release_mean` with nothing known, less the learning of variances; costs no more, so equally private."""
    with patch.object(unknown, "Learner", SphericalLearner):
        return release_mean(X, **{"basis": None} | options)
