"""What noisy histograms say of columns: magnitudes over 45 decades, zeros, places; exact and with seeded noise."""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from states import at_start

from dimfree.kernel import Magnitudes, Offsets, weights_of
from dimfree.programs.choose.constants import (
    FAR_ODDS,
    MAGNITUDE_LOG_SD,
    NARROW_WIDTH,
    NONZERO_SHARES,
    SURE_MAGNITUDE,
    TEMPLATE_POINTS,
)
from dimfree.programs.columns.reading import make_magnitude_templates, read_magnitudes, read_places

DECADES = 10.0 ** np.arange(-17, 27)
COUNT = 2000
LAWS = {
    "normal": lambda rng: rng.normal(size=(COUNT, 1)),
    "negative": lambda rng: -rng.lognormal(size=(COUNT, 1)),
    "constant": lambda rng: np.full((COUNT, 1), -3.5),
    "wide": lambda rng: rng.lognormal(0, 2, (COUNT, 1)),
    "half zeros": lambda rng: rng.lognormal(size=(COUNT, 1)) * (rng.random((COUNT, 1)) < 0.5),
}
NORMAL = ndtri((np.arange(COUNT) + 0.5) / COUNT)[:, None]
LAW = np.exp(MAGNITUDE_LOG_SD * ndtri((np.arange(TEMPLATE_POINTS) + 0.5) / TEMPLATE_POINTS))


def shares_of(cells, values, noise=0.0, seed=0):
    """Histograms over the number of records, with noise of this standard deviation in each cell."""
    exact = weights_of(cells, values) / len(values)
    return exact + noise * np.random.default_rng(seed).normal(size=exact.shape)


def mostly_zeros(nonzero, rng):
    return rng.lognormal(size=(COUNT, 1)) * (rng.random((COUNT, 1)) < nonzero) * DECADES


# --- magnitudes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("law", LAWS)
def test_the_magnitude_is_found_in_every_decade(law, noise):
    values = LAWS[law](np.random.default_rng(1)) * DECADES
    found, sure = read_magnitudes(shares_of(Magnitudes(), values, noise), noise)[:2]
    middle = np.array([np.median(column[column > 0]) for column in np.abs(values).T])
    assert (np.abs(np.log(found / middle)) < np.log(3)).all()
    assert (sure > SURE_MAGNITUDE).all()


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.01])
def test_few_entries_that_are_not_zero_are_found_at_high_precision(noise):
    values = mostly_zeros(0.15, np.random.default_rng(2))
    found, sure = read_magnitudes(shares_of(Magnitudes(), values, noise), noise)[:2]
    assert (np.abs(np.log(found / DECADES)) < np.log(3)).all()
    assert (sure > 0.9).all()


def test_few_entries_in_much_noise_are_in_doubt_or_taken_for_zeros():
    """Never surely at a wrong magnitude."""
    values = mostly_zeros(0.15, np.random.default_rng(2))
    found, sure = read_magnitudes(shares_of(Magnitudes(), values, 0.03), 0.03)[:2]
    wrong = (found > 0) & ((found > 8 * DECADES) | (found * 8 < DECADES))
    assert (found == 0).any()
    assert not (wrong & (sure > SURE_MAGNITUDE)).any()


@pytest.mark.parametrize("nonzero", [0.01, 0.03, 0.08])
def test_rare_entries_are_found_where_no_template_has_so_few(nonzero):
    values = mostly_zeros(nonzero, np.random.default_rng(2))
    shares, noise = shares_of(Magnitudes(), values, 0.001), np.full(len(DECADES), 0.001)
    seen = read_magnitudes(shares, noise)
    zeros = seen.magnitude == 0
    assert zeros.any()
    assert (seen.far_odds[zeros] >= FAR_ODDS).all()
    assert (np.abs(np.log(seen.far_magnitude / DECADES)) < np.log(4))[zeros].all()
    assert (np.abs(seen.far_share / nonzero - 1) < 0.5)[zeros].all()


@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize("times", [120.0, 3000.0])
def test_a_group_far_beyond_the_bulk_is_found(share, times):
    """In every decade; its second moment within a factor of ten, most often of two."""
    rng = np.random.default_rng(6)
    values = rng.lognormal(0.0, 0.3, (20 * COUNT, 1)) * np.where(rng.random((20 * COUNT, 1)) < share, times, 1.0)
    decades = DECADES[: -math.ceil(math.log10(times))]
    seen = read_magnitudes(shares_of(Magnitudes(), values * decades, 0.005, seed=1), 0.005)
    assert (seen.far_odds >= FAR_ODDS).all()
    assert (np.abs(np.log(seen.magnitude / decades)) < np.log(3)).all()
    moment = seen.far_share * (seen.far_magnitude / decades) ** 2 / (share * times**2)
    assert (np.abs(np.log(moment)) < np.log(10)).all()


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.05])
@pytest.mark.parametrize("law", ["normal", "negative", "constant", "uniform"])
def test_no_group_is_found_beyond_an_ordinary_bulk(law, noise):
    """However little noise there is: what a template misses of a law is no group far away."""
    rng = np.random.default_rng(9)
    values = LAWS[law](rng) if law in LAWS else rng.uniform(1, 2, (COUNT, 1))
    scales = 10.0 ** rng.uniform(-15, 24, 300)
    assert (read_magnitudes(shares_of(Magnitudes(), values * scales, noise), noise).far_odds < FAR_ODDS).all()


@pytest.mark.parametrize("noise", [1e-4, 0.01, 0.05])
def test_nothing_rare_is_found_in_noise(noise):
    """False alarms: about one in 10 000 columns of zeros; none in 2000 draws of one seed."""
    shares = shares_of(Magnitudes(), np.zeros((1, 2000)), noise, seed=4)
    assert (read_magnitudes(shares, noise).far_odds < FAR_ODDS).all()


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.03, 0.05, 0.11])
def test_a_column_of_zeros_has_no_magnitude(noise):
    found, sure = read_magnitudes(shares_of(Magnitudes(), np.zeros((COUNT, 50)), noise), noise)[:2]
    assert (found == 0).all()
    assert (sure > 0.5).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e27, 1e40, 1e200, 1.7e308, -1.7e308])
def test_columns_beyond_the_range_are_read_as_the_largest_magnitude(value):
    found, sure = read_magnitudes(shares_of(Magnitudes(), np.full((COUNT, 1), value)), 0.01)[:2]
    assert found[0] == make_magnitude_templates().magnitudes.max()
    assert 0 <= sure[0] <= 1 + 1e-12


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1e-300, -1e-20])
def test_columns_below_the_range_are_read_as_zeros(value):
    found, sure = read_magnitudes(shares_of(Magnitudes(), np.full((COUNT, 1), value)), 0.01)[:2]
    assert found[0] == 0
    assert sure[0] > SURE_MAGNITUDE


@pytest.mark.filterwarnings("error")
def test_noise_alone_gives_finite_numbers():
    found, sure = read_magnitudes(np.random.default_rng(3).normal(size=(200, Magnitudes.cells)) * 5.0, 5.0)[:2]
    assert np.isfinite(found).all()
    assert ((sure >= 0) & (sure <= 1 + 1e-12)).all()


@pytest.mark.parametrize("share", NONZERO_SHARES)
def test_templates_are_what_the_mechanism_sums(share):
    """A column made of the law of a template, released without noise, is the template."""
    known = make_magnitude_templates()
    some = np.flatnonzero(known.shares == share)[::37]
    law = np.tile(LAW, 3)[:, None] * known.magnitudes[some]
    table = np.concatenate([law, np.zeros((round(len(law) / share) - len(law), len(some)))])
    found = at_start(table).setting.view.histograms(Magnitudes(), np.arange(len(some)), 1.0, "test").value
    np.testing.assert_allclose(found / len(table), known.templates.histograms[some], atol=1e-9)


def test_a_template_divides_entries_between_their_two_nearest_cells():
    """By its own formula: x = m·2^e lies at (e + m - 1 + 60)/3 above the cell of zeros; parts are rounded down."""
    known = make_magnitude_templates()
    at = int(np.flatnonzero(known.shares == 1)[100])
    law = LAW * known.magnitudes[at]
    exponent = np.floor(np.log2(law))
    place = 1 + (exponent + law / 2**exponent - 1 + 60) / 3
    cell, expected = np.floor(place).astype(int), np.zeros(Magnitudes.cells)
    np.add.at(expected, cell, np.cos(np.pi / 2 * (place - cell)) / len(law))
    np.add.at(expected, cell + 1, np.sin(np.pi / 2 * (place - cell)) / len(law))
    np.testing.assert_allclose(known.templates.histograms[at], expected, atol=0.025)
    assert (np.linalg.norm(known.templates.histograms, axis=1) <= 1).all()


# --- places -----------------------------------------------------------------------------------------------------------

CENTRES, SPREADS = (each.ravel() for each in np.meshgrid(np.arange(-2.4, 2.41, 0.3), [0.05, 0.3, 0.6, 1.0, 1.5]))


@pytest.mark.parametrize(("noise", "most"), [(0.0, 0.4), (0.02, 0.6), (0.08, 1.0)])
def test_places_are_found_within_a_cell_and_within_their_uncertainty(noise, most):
    seen = read_places(shares_of(Offsets(np.zeros(len(CENTRES)), 1.0), CENTRES + SPREADS * NORMAL, noise), noise)
    off = seen.center - CENTRES
    assert (np.abs(off) < most).all()
    assert (np.abs(off) < 3 * np.sqrt(seen.variance)).all()
    ordinary = SPREADS >= 0.3
    allowed = 0.2 + 4 * np.sqrt(seen.log_variance) + 5 * noise
    assert (np.abs(np.log(seen.sd / SPREADS)) < allowed)[ordinary].all()
    assert (seen.sd < NARROW_WIDTH)[SPREADS < 0.1].all()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_one_value_is_told_from_a_narrow_column_whatever_lies_behind(share):
    """A tenth of the records far away looks like a wide column to templates that expect all of them in one place."""
    far = np.arange(COUNT)[:, None] % 10 < 10 * share
    cells = Offsets(np.zeros(2), 1.0)
    values = np.where(far, -500.0, np.column_stack([np.full(COUNT, -0.3), -0.3 + 0.8 * NORMAL[:, 0]]))
    seen = read_places(shares_of(cells, values, 0.03), 0.03)
    assert seen.without_interval[0] > 0.2  # the next wider templates are almost as likely
    assert seen.without_interval[1] < 1e-3
    assert (seen.without_interval >= seen.narrowest - 1e-9)[0]
