"""The shifted clipped mean: rotate, move to a private center, clip at a private radius, add noise, rotate back.

After "Instance-optimal Mean Estimation Under Differential Privacy" (Huang, Liang, Yi, 2021): both quantiles are noisy
bisections, ten steps each, so everything is Gaussian. Shares and rank are those with which PLAN's authors measured it
(1 % of the clipped mean's budget for its radius, where Huang et al. spent a quarter): it does better with them.
"""

import math

import numpy as np

from benchmarks.peers.gaussians import Gaussians
from benchmarks.peers.searches import crossing, medians
from benchmarks.peers.sums import blocks, clipped_mean, lengths
from dimfree._types import Floats
from dimfree.simulation import public_simulation

CENTRE, LENGTH, NOISE = 0.25, 0.0075, 0.7425  # shares of the precision
BISECTIONS = 10  # of the range of a coordinate, and of that of the lengths
_FAILURE = 0.01  # that a coordinate of the rotated mean lies outside its range
_ROUNDS, _SEED = 3, 20210601  # of the public rotation, as in the authors' experiments


def huang_liang_yi(
    X: Floats, epsilon: float, delta: float, rng: np.random.Generator, *, radius: float, neighbors: str = "add-remove"
) -> Floats:
    """Told: `radius` holds the mean, and most records' distances from it."""
    noise, rotation = Gaussians(epsilon, delta, rng, neighbors), Rotation(X.shape[1])
    counted, _ = noise.count(len(X))
    mu, count, turned = noise.left, max(counted, 1.0), rotation.rotate(X)
    spread = radius * coordinate_share(rotation.width)
    widths = np.full(rotation.width, 2 * spread / 2**BISECTIONS)
    center = medians(turned, spread, widths, noise, mu * math.sqrt(CENTRE))
    clipping = _clipping_radius(lengths(turned, center), radius, X.shape[1], noise, mu)
    return rotation.restore(clipped_mean(turned, center, clipping, count, noise, mu * math.sqrt(NOISE)))


def coordinate_share(dimension: int) -> float:
    """Of a vector's length: what no coordinate exceeds after a random rotation, but for `_FAILURE` [Hoeffding]."""
    return min(1.0, math.sqrt(2 * math.log(2 * dimension / _FAILURE) / dimension))


def _clipping_radius(found: Floats, radius: float, dimension: int, noise: Gaussians, mu: float) -> float:
    """A length that all but some records keep to: clipping so many biases the mean by about what its noise weighs.

    As many again for the search's own noise. One record moves the number of longer ones by at most one.
    """
    mu_length = mu * math.sqrt(LENGTH)
    weight = noise.changed * math.sqrt(dimension) / (mu * math.sqrt(NOISE))
    shortened = round(2 * (weight + math.sqrt(BISECTIONS) / mu_length))
    grid = radius * np.arange(2**BISECTIONS + 1) / 2**BISECTIONS
    return crossing(lambda length: shortened - np.count_nonzero(found > length), grid, 1.0, noise, mu_length)


class Rotation:
    """A public random rotation, the same for everybody: rounds of random signs and the Walsh–Hadamard transform."""

    def __init__(self, dimension: int) -> None:
        self.dimension, self.width = dimension, 1 << (dimension - 1).bit_length()
        flips = public_simulation(_SEED).integers(0, 2, (_ROUNDS, self.width))
        self._factors = (1 - 2 * flips) / math.sqrt(self.width)

    def rotate(self, X: Floats) -> Floats:
        """The records, padded with zeros to a power of two and mixed until no one coordinate is large."""
        found, start = np.zeros((len(X), self.width)), 0
        for rows in blocks(X):
            part = found[start : start + len(rows)]
            part[:, : self.dimension] = rows
            for factors in self._factors:
                part[:] = transformed(part * factors)
            start += len(rows)
        return found

    def restore(self, vector: Floats) -> Floats:
        """What is padding is dropped."""
        for factors in self._factors[::-1]:
            vector = transformed(vector[None])[0] * factors
        return vector[: self.dimension]


def transformed(rows: Floats) -> Floats:
    """The (unnormed) Walsh–Hadamard transform of each row."""
    half, width = 1, rows.shape[1]
    while half < width:
        pairs = rows.reshape(len(rows), -1, 2, half)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2).reshape(-1, width)
        half *= 2
    return rows
