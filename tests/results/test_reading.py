"""A page counts the verdicts and the signs that are sure, and what it shows is chosen by strength."""

import numpy as np
import pytest
from pages import released
from scipy.stats import norm

from dimfree.results.confidence_sets import POPULATION_NOTE, SAMPLE_NOTE
from dimfree.results.reading import Reading, drawn_ranks


def test_signs_follow_the_intervals_and_decide_nothing_else():
    together = norm.ppf((1 + 0.95**0.25) / 2)  # Šidák over four coordinates
    strengths = together * np.array([1.001, -1.001, 0.999, 0.5])
    release = released(0.25 * strengths, 0.25)
    reading = Reading.of(release, 0.95, "sample")
    assert reading.clear == 2
    assert reading.threshold == pytest.approx(together, rel=1e-9)
    assert dict(reading.counts()) == {"precise": 0, "rough": 0, "lost in noise": 0, "spread not learned": 4}
    assert not reading.compared
    assert Reading.of(release, 0.95).clear == 0  # nothing is said of the population
    modelled = released(0.25 * strengths, 0.25, spread=2.5, records=100.0)
    assert (Reading.of(modelled, 0.95, "sample").clear, Reading.of(modelled, 0.95).clear) == (2, 0)


def test_counts_are_those_of_the_verdicts():
    reading = Reading.of(released([0.0, 9.0], 0.25, spread=2.51, records=100.0), 0.95)
    assert reading.precise == 2
    assert reading.line.startswith("2 of 2 columns have noise below a tenth of the spread, 0 above one spread")
    assert reading.over_spread == pytest.approx([0.25 / 2.51] * 2)


def test_bars_are_for_the_population_and_longer_for_all_coordinates_at_once():
    reading = Reading.of(released([1.0, 2.0], 0.25, spread=2.0, records=100.0), 0.9)
    wider = norm.ppf((1 + 0.9**0.5) / 2) * np.hypot(0.25, 0.2)
    np.testing.assert_allclose(reading.all_high - reading.mean, wider)
    np.testing.assert_allclose(reading.high - reading.mean, norm.ppf(0.95) * np.hypot(0.25, 0.2))
    assert reading.note == POPULATION_NOTE
    sample = Reading.of(released([1.0, 2.0], 0.25, spread=2.0, records=100.0), 0.9, "sample")
    np.testing.assert_allclose(sample.high - sample.mean, norm.ppf(0.95) * 0.25)
    assert sample.note == SAMPLE_NOTE


def test_drawn_places_hold_the_strongest_and_reach_both_ends():
    mean = np.zeros(1000)
    mean[[3, 500, 997]] = (9.0, -8.0, 7.0)
    places = Reading.of(released(mean), 0.95).drawn_places(20)
    assert len(set(places.tolist())) == 20
    assert (np.diff(places) > 0).all()
    assert {3, 500, 997, 999} <= set(places.tolist())
    assert Reading.of(released(mean[:5]), 0.95).drawn_places(20).tolist() == [0, 1, 2, 3, 4]


def test_drawn_ranks_begin_at_the_first_and_end_at_the_last():
    ranks = drawn_ranks(30_000, 300)
    assert len(ranks) <= 300
    assert (ranks[0], ranks[-1]) == (0, 29_999)
    assert (np.diff(ranks) > 0).all()
    assert drawn_ranks(5, 300).tolist() == [0, 1, 2, 3, 4]
