"""Random numbers of public simulations. No record is involved, and no privacy rests on them."""

from collections.abc import Sequence

import numpy as np


def public_simulation(seed: int | Sequence[int] = 20240701) -> np.random.Generator:
    """Return a generator whose seed is public: the same for everybody."""
    return np.random.default_rng(seed)
