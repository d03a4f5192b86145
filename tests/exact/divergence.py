"""Exact output distributions as dictionaries {outcome: probability}, and the divergence between two of them."""

import math

import numpy as np


def hockey_stick(here, there, level):
    """Σ (P - e^level Q)_+ over the outcomes listed in either."""
    return math.fsum(max(0.0, mass - math.exp(level) * there.get(outcome, 0.0)) for outcome, mass in here.items())


def losses(here, there):
    """log P/Q of every outcome that either can give; infinite where the other cannot."""
    return [math.log(here[o] / there[o]) if there.get(o) and here.get(o) else math.inf for o in {**here, **there}]


def laplace_masses(scale, reach):
    """{z: probability} of the discrete Laplace for |z| <= reach; what is missing is below e^(-reach/scale)."""
    q = math.exp(-1 / scale)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)}


def laplace_tail(scale, least):
    """P(Z >= least) for any integer, by the two closed forms."""
    q = math.exp(-1 / scale)
    return q**least / (1 + q) if least >= 0 else 1 - q ** (1 - least) / (1 + q)


class ScriptedNoise:
    """Hands out the given numbers, one after another, whatever the scale; `asked` holds (scale, size)."""

    private = False

    def __init__(self, script):
        self.script, self.asked = list(script), []

    def laplace(self, scale, size):
        self.asked.append((scale, size))
        drawn, self.script = self.script[:size], self.script[size:]
        return np.array(drawn, dtype=np.int64)
