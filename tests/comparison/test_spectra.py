"""The named spectra, and draws that have them."""

import numpy as np
import pytest
from stats import sampling

from dimfree.errors import InvalidParameter
from dimfree.planning.spectra import DISTANCE, SMALLEST, SPECTRA, draw, spectrum


@pytest.mark.parametrize(
    ("name", "stddevs"),
    [
        ("S1", [1.0] * 10 + [1 / 12] * 2),
        ("S2", [1 / i for i in range(1, 13)]),
        ("S3", [i**-0.5 for i in range(1, 13)]),
        ("S4", [1.0] * 12),
        ("isotropic", [1.0] * 12),
        ("S5", [np.exp(1.0 - i) for i in range(1, 13)]),
        ("power:2", [i**-2.0 for i in range(1, 13)]),
        ("power:0.5", [i**-0.5 for i in range(1, 13)]),
        ("exponential:0.25", [np.exp(-0.25 * i) for i in range(12)]),
    ],
)
def test_a_name_is_a_formula(name, stddevs):
    assert spectrum(name, 12) == pytest.approx(stddevs, rel=1e-14)


@pytest.mark.parametrize("name", [*SPECTRA, "power:9", "exponential:3"])
def test_every_spectrum_falls_and_stays_invertible(name):
    stddevs = spectrum(name, 3000)
    assert stddevs.shape == (3000,)
    assert np.all(np.diff(stddevs) <= 0)
    assert SMALLEST <= stddevs[-1] <= stddevs[0] == 1.0


def test_there_are_five():
    assert tuple(SPECTRA) == ("S1", "S2", "S3", "S4", "S5")


@pytest.mark.parametrize(
    "name", ["", "S6", "s1", "power", "power:", "power:x", "power:nan", "power:0", "flat:1", "isotropic:1", None]
)
def test_any_other_name_is_an_error(name):
    with pytest.raises(InvalidParameter, match=r"spectrum=|power="):
        spectrum(name, 5)


@pytest.mark.parametrize("dimension", [0, -1, 2.5, "3", None])
def test_a_bad_dimension_is_named(dimension):
    with pytest.raises(InvalidParameter, match="d="):
        spectrum("S1", dimension)


@sampling(1e-6)
def test_records_have_the_spectrum_and_a_far_mean(rng):
    stddevs = spectrum("S2", 6)
    X, mean = draw(stddevs, 20_000, rng)
    assert np.linalg.norm(mean) == pytest.approx(DISTANCE * np.linalg.norm(stddevs))
    assert np.abs((X.mean(axis=0) - mean) / stddevs).max() < 0.05
    assert X.std(axis=0) == pytest.approx(stddevs, rel=0.05)
