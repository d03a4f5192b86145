"""Center and spread of every column from histograms alone: far away, tiny, skewed, counts, indicators, constants."""

import numpy as np
import pytest
from states import at_start, events_of

from dimfree.programs.choose.constants import (
    CLOSER_PILOT_SHARE,
    MAX_MAGNITUDE_QUERIES,
    MAX_PILOT_QUERIES,
    PILOT_SHARES,
    RARE_STDDEV,
)
from dimfree.programs.columns.opening import choose_pilot_share, learn_columns
from dimfree.testing import SeededNoise

COUNT = 3000
EVEN = {  # found within the stated uncertainty
    "1e6 ± 1": lambda rng: 1e6 + rng.normal(size=COUNT),
    "1e9 ± 0.01": lambda rng: 1e9 + 0.01 * rng.normal(size=COUNT),
    "1e-5": lambda rng: 1e-5 * rng.normal(size=COUNT),
    "3e-5 ± 1e-5": lambda rng: 1e-5 * (3 + rng.normal(size=COUNT)),
    "normal": lambda rng: rng.normal(size=COUNT),
    "-400 ± 70": lambda rng: -400 + 70 * rng.normal(size=COUNT),
    "Poisson 3": lambda rng: rng.poisson(3, COUNT),
    "coin": lambda rng: rng.random(COUNT) < 0.5,
}
UNEVEN = {  # no template has these laws: within a spread
    "lognormal": lambda rng: rng.lognormal(0, 1, COUNT),
    "exponential": lambda rng: 1e4 * rng.exponential(size=COUNT),
    "negative": lambda rng: -rng.lognormal(5, 0.7, COUNT),
    "Poisson 1": lambda rng: rng.poisson(1, COUNT),
    "indicator 0.2": lambda rng: rng.random(COUNT) < 0.2,
    "indicator 0.9": lambda rng: rng.random(COUNT) < 0.9,
}
CONSTANT = {"all -3.5": -3.5, "all 1e6": 1e6, "all 1e-5": 1e-5, "all -7e20": -7e20}
LAWS = {**EVEN, **UNEVEN, **{name: lambda rng, value=value: np.full(COUNT, value) for name, value in CONSTANT.items()}}
SEEDS = range(6)


def table(seed):
    rng = np.random.default_rng(seed)
    return np.column_stack([np.asarray(law(rng), dtype=float) for law in LAWS.values()])


def places(names):
    return np.array([list(LAWS).index(name) for name in names])


def compared(learned, names):
    """Of these columns: distance of the center from the mean, its uncertainty, and the learned spread, in spreads."""
    rows, state, _ = learned
    some, spread = places(names), rows.std(axis=0)[places(names)]
    off = np.abs(state.center - rows.mean(axis=0))[some]
    return off / spread, np.sqrt(state.center_variance[some]) / spread, state.stddev[some] / spread


@pytest.fixture(scope="module", params=[None, *SEEDS], ids=lambda seed: f"seed {seed}")
def learned(request):
    """(table, state, how many columns may be missed): at strength 100; without noise for the first."""
    rows = table(request.param or 0)
    noise = None if request.param is None else SeededNoise(request.param)
    return rows, learn_columns(at_start(rows, 100.0, noise)), 0 if noise is None else 1


def test_columns_are_found_within_the_stated_uncertainty(learned):
    off, uncertainty, ratio = compared(learned, EVEN)
    found = (off < 4 * uncertainty) & (uncertainty < 0.6) & (ratio > 0.5) & (ratio < 2.0)
    assert np.count_nonzero(~found) <= learned[2]


def test_skewed_columns_and_indicators_are_found_within_a_spread(learned):
    off, _, ratio = compared(learned, UNEVEN)
    assert np.count_nonzero((off > 0.8) | (ratio < 0.2) | (ratio > 2.5)) <= learned[2]


def test_constant_columns_are_looked_at_until_numbers_end(learned):
    _, state, missed = learned
    constant, values = places(CONSTANT), np.array(list(CONSTANT.values()))
    assert np.count_nonzero(np.abs(state.center[constant] - values) > 1e-11 * np.abs(values)) <= missed


def test_a_constant_column_keeps_the_scale_at_which_other_values_would_have_been_seen(learned):
    _, state, missed = learned
    constant, values = places(CONSTANT), np.abs(list(CONSTANT.values()))
    scale = state.stddev[constant]
    assert np.count_nonzero((scale < 0.1 * values) | (scale > values) | ~state.narrow[constant]) <= missed


def test_only_the_rarer_indicator_may_be_taken_for_zeros(learned):
    assert set(np.flatnonzero(learned[1].unseen)) <= set(places(["indicator 0.2"]))


ODD = {
    "constant": lambda rng, d: np.full((300, d), 7.0),
    "zeros": lambda rng, d: np.zeros((300, d)),
    "largest numbers": lambda rng, d: np.full((300, d), 1.7e308) * rng.choice([-1, 1], (300, d)),
    "far apart": lambda rng, d: 10 ** rng.uniform(-15, 25, (300, d)),
    "nested": lambda rng, d: 1e6 + 10.0 ** -rng.integers(-6, 10, (300, d)),
    "Cauchy": lambda rng, d: 1e6 + rng.standard_cauchy((300, d)),
    "one record": lambda rng, d: rng.normal(size=(1, d)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("strength", [20.0, 100.0, 1e5])
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("columns", [1, 3, 200])
def test_closer_looks_stop(name, strength, columns):
    rows = ODD[name](np.random.default_rng(5), columns)
    for noise in (None, SeededNoise(5)):
        state = learn_columns(at_start(rows, strength, noise, count=300.0))
        share = choose_pilot_share(state)
        assert len(events_of(state)) <= MAX_PILOT_QUERIES
        most = CLOSER_PILOT_SHARE + 2 * share + (MAX_MAGNITUDE_QUERIES - 1) * PILOT_SHARES[1]
        assert state.left >= (1 - most - 1e-9) * state.precision
        assert np.isfinite([state.center, state.center_variance, state.stddev]).all()
        assert (state.stddev > 0).all()


def test_many_odd_columns_are_looked_at_so_often_and_no_more():
    """Little precision, and columns that look different each time: only the number of looks ends them."""
    rows = 10 ** np.random.default_rng(0).uniform(-15, 25, (300, 300))
    padded = np.hstack([rows, np.random.default_rng(1).normal(size=(300, 2700))])
    assert len(events_of(learn_columns(at_start(padded, 20.0, SeededNoise(0))))) == MAX_PILOT_QUERIES


def test_zeros_are_told_and_keep_a_public_spread():
    rows = np.column_stack([np.zeros(COUNT), np.random.default_rng(0).normal(size=COUNT)])
    state = learn_columns(at_start(rows, 100.0, SeededNoise(0)))
    assert state.unseen.tolist() == [True, False]
    assert state.stddev[0] == RARE_STDDEV
    assert state.center[0] == 0
    assert [event.dimension for event in events_of(state)[:2]] == [
        2 * 51,
        51,
    ]  # zeros are looked at again


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_table_in_other_units_is_learned_the_same(relation):
    """Powers of 8 move a column by whole cells: but for the prior on its decade, the same histogram."""
    rows, powers = table(1), np.resize([8.0**5, 8.0**-5, 8.0**3, 1.0, 8.0**-2], len(LAWS))
    plain, moved = (learn_columns(at_start(X, 300.0, SeededNoise(1), relation)) for X in (rows, rows * powers))
    np.testing.assert_allclose(moved.stddev[places(EVEN)], (plain.stddev * powers)[places(EVEN)], rtol=0.7)


@pytest.mark.parametrize("strength", [100.0, 1000.0, 1e4])
@pytest.mark.parametrize("offset", [30.0, 300.0, 1e6])
def test_no_records_are_thought_left_behind_of_ordinary_columns(offset, strength):
    """However little noise there is: what templates miss of a law is no group of records far away."""
    rng = np.random.default_rng(7)
    rows = offset * rng.uniform(0.5, 2, 32) + rng.normal(size=(COUNT, 32))
    state = learn_columns(at_start(rows, strength, SeededNoise(7)))
    assert (state.stddev < 3 * rows.std(axis=0)).mean() > 0.96


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_group_of_records_far_away_widens_the_spread(share):
    """Zeros that stand for missing values, in columns 300 spreads away from zero."""
    rng = np.random.default_rng(8)
    rows = np.where(rng.random((COUNT, 16)) < share, 0.0, 300 + rng.normal(size=(COUNT, 16)))
    state = learn_columns(at_start(rows, 3000.0, SeededNoise(8)))
    assert (state.stddev > 0.3 * rows.std(axis=0)).all()
    assert (state.stddev < 3 * rows.std(axis=0)).all()


def test_amounts_that_few_people_have_are_found():
    """One entry in fifty is about 500, the others are 0: the spread is found, and the column is seen."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(COUNT, 4))
    rows[:, 2] = np.where(rng.random(COUNT) < 0.02, 500 * rng.lognormal(0.0, 0.3, COUNT), 0.0)
    state = learn_columns(at_start(rows, 2000.0, SeededNoise(1)))
    assert not state.unseen[2]
    assert 0.5 < state.stddev[2] / rows[:, 2].std() < 2
