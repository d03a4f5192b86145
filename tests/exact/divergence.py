"""Exact output distributions as dictionaries {outcome: probability}, and the divergence between two of them."""

import math

import numpy as np


def hockey_stick(here, there, level):
    """Σ (P - e^level Q)_+ over the outcomes listed in either."""
    return math.fsum(max(0.0, mass - math.exp(level) * there.get(outcome, 0.0)) for outcome, mass in here.items())


def losses(here, there):
    """log P/Q of every outcome that either can give; infinite where the other cannot."""
    return [math.log(here[o] / there[o]) if there.get(o) and here.get(o) else math.inf for o in {**here, **there}]


def laplace_masses(scale, clipping):
    """{z: probability} of the discrete Laplace for |z| <= reach; what is missing is below e^(-reach/scale)."""
    q = math.exp(-1 / scale)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-clipping, clipping + 1)}


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


def largest_divergence(here, there, level):
    """Of two arrays of masses on the same outcomes, the larger of both directions."""
    factor = math.exp(level)
    return float(max(np.maximum(here - factor * there, 0).sum(), np.maximum(there - factor * here, 0).sum()))


class BranchingNoise:
    """One path through all outcomes of the draws of a mechanism; `choices` holds the branch taken at every draw."""

    private = False

    def __init__(self, choices, masses):
        self.choices, self.masses = choices, masses
        self.branches, self.probability = [], 1.0

    def gaussian(self, scale, size):
        masses = self.masses(scale)
        values, weights = list(masses), list(masses.values())
        return np.array([values[self.branch(weights)] for _ in range(size)], dtype=np.int64)

    laplace = gaussian

    def coin(self, numerator, denominator):
        return self.branch([1 - numerator / denominator, numerator / denominator]) == 1

    def below(self, bound, size):
        return np.array([self.branch([1 / bound] * bound) for _ in range(size)], dtype=np.int64)

    def branch(self, weights):
        depth = len(self.branches)
        if depth == len(self.choices):
            self.choices.append(0)
        self.branches.append(len(weights))
        self.probability *= weights[self.choices[depth]]
        return self.choices[depth]


def exact_law(mechanism, masses=None):
    """{output: probability} of the code itself, which runs once for every outcome of its draws.

    `masses(scale)` is the law of the noise; what it leaves out is left out.
    """
    found, choices = {}, []
    while True:
        noise = BranchingNoise(choices, masses)
        outcome = mechanism(noise)
        found.setdefault(outcome, []).append(noise.probability)
        while choices and choices[-1] + 1 == noise.branches[len(choices) - 1]:
            choices.pop()
        if not choices:
            return {outcome: math.fsum(parts) for outcome, parts in found.items()}
        choices[-1] += 1
