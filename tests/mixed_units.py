"""Tables whose columns have very different units, and public spectra: made up, or shipped with scikit-learn.

Half of them were looked at while constants were settled (SETTLED), half were not (HELD_OUT).
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from dimfree.planning.spectra import draw, spectrum

WIDE_WINDOW = (1e-6, 1e9)  # columns of millions lie beyond the default


def spectral(name, count, dimension, law="normal"):
    def make(rng):
        stddevs = spectrum(name, dimension)
        if law == "normal":
            return draw(stddevs, count, rng)[0]
        size = (count, dimension)
        unit = rng.standard_t(4, size) / np.sqrt(2) if law == "t4" else rng.exponential(size=size) - 1
        return 5 + stddevs * unit

    return make


def housing(rng, count=8000):
    """Incomes, ages, rooms, inhabitants with a long tail, places."""
    income, age = rng.lognormal(1.25, 0.47, count), rng.normal(28.6, 12.6, count)
    rooms, people = rng.lognormal(1.65, 0.3, count), rng.lognormal(7.06, 0.72, count)
    north = np.where(rng.random(count) < 0.55, rng.normal(34, 0.8, count), rng.normal(38, 1, count))
    return np.column_stack([income, age, rooms, people, north, rng.normal(0, 2, count) - 120 - 0.7 * (north - 35)])


def clinic(rng, count=3000):
    """Ages, pressures, weights, a long-tailed marker, counts of cells by the million, rare yes or no."""
    age, pressure = rng.normal(58, 17, count).round(), rng.normal(128, 18, count)
    marker, cells = rng.lognormal(1.4, 1.3, count), rng.lognormal(np.log(7.5e6), 0.35, count)
    flags = [rng.random(count) < share for share in (0.5, 0.1, 0.01)]
    platelets, trace = rng.normal(2.5e5, 6.5e4, count), rng.lognormal(np.log(8e-6), 0.8, count)
    return np.column_stack([age, pressure, marker, cells, *flags, platelets, trace]).astype(float)


def decades(law, dimension=300, count=4000):
    """Units from 1e-4 to 1e4."""

    def make(rng):
        units, size = 10 ** rng.uniform(-4, 4, dimension), (count, dimension)
        if law == "normal":
            return units * (rng.normal(0, 3, dimension) + rng.normal(size=size))
        return units * rng.lognormal(0, rng.uniform(0.2, 1, dimension), size)

    return make


SETTLED = {  # name: (table from a generator, epsilon)
    "breast cancer": (lambda _: load_breast_cancer().data, 2.0),
    "breast cancer, much budget": (lambda _: load_breast_cancer().data, 8.0),
    "diabetes": (lambda _: load_diabetes(scaled=False).data, 4.0),
    "digits": (lambda _: load_digits().data, 2.0),
    "housing": (housing, 1.0),
    "decades, normal": (decades("normal"), 2.0),
    "S1": (spectral("S1", 4000, 100), 1.0),
    "S3": (spectral("S3", 4000, 100), 1.0),
    "S4": (spectral("S4", 4000, 300), 1.0),
    "S5": (spectral("S5", 4000, 100), 2.0),
    "S3, t4": (spectral("S3", 4000, 100, "t4"), 2.0),
    "S2, exponential": (spectral("S2", 4000, 100, "exponential"), 2.0),
}
HELD_OUT = {
    "wine": (lambda _: load_wine().data, 16.0),
    "wine, much budget": (lambda _: load_wine().data, 30.0),
    "iris": (lambda _: load_iris().data, 16.0),
    "clinic": (clinic, 2.0),
    "decades, lognormal": (decades("lognormal"), 2.0),
    "far away": (lambda rng: 1e6 + rng.normal(size=(2000, 20)), 2.0),
    "S2": (spectral("S2", 4000, 100), 1.0),
    "S2, wide": (spectral("S2", 2000, 1000), 2.0),
    "S1, wide": (spectral("S1", 1000, 1000), 1.0),
    "S5, few": (spectral("S5", 1000, 100), 2.0),
    "S1, exponential": (spectral("S1", 2000, 100, "exponential"), 2.0),
    "S2, t4": (spectral("S2", 4000, 100, "t4"), 1.0),
}
