"""Seeded noise, for tests and simulations only: a release that uses it is marked "not private"."""

from dimfree.noise import SeededNoise as SeededNoise

__all__ = ["SeededNoise"]
