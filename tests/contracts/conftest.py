"""Fixtures of the contracts: one table of few rows that every estimator releases."""

import numpy as np
import pytest


@pytest.fixture
def table(rng) -> np.ndarray:
    """467 rows, a prime that no public parameter comes near, and three columns of standard deviation 1 about 2."""
    return rng.normal(loc=2.0, size=(467, 3))
