"""What comes out when nothing is known and no variances are learned either: the same steps with spherical noise.

The fair rival of `shape="auto"`: same count, same radius, same core, same searched clipping radii. (A known shape that
happens to be wrong is no rival: where distances spread more than it says, its stability test refuses.)
"""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from dimfree import Release, release_mean
from dimfree.programs import unknown
from dimfree.programs.learn.stages import last_stages
from dimfree.programs.learn.state import State
from dimfree.programs.learn.variances import measure_own


def learn_spherical(state: State) -> State:
    """Equal variances throughout; the columns' own are measured for the error bars, as in other coordinates."""
    state, _ = measure_own(state)
    return last_stages(replace(state, log_variance=np.zeros_like(state.stddev)))


def release_spherical(X: object, **options: Any) -> Release:
    """As `release_mean` with nothing known, by a core, less ring and variances; costs no more, so equally private."""
    with patch.multiple(unknown, learn=learn_spherical, choose_ring=lambda *_: None):
        return release_mean(X, **{"basis": None} | options)
