"""Verdicts compare noise with spread at its unfavourable end; what is shown is chosen by strength."""

import numpy as np
import pytest
from pages import common, released
from scipy.stats import norm

from dimfree.report.charts import drawn_ranks
from dimfree.results.confidence_sets import POPULATION_NOTE, SAMPLE_NOTE
from dimfree.results.error_model import ErrorModel, LearnedShape
from dimfree.results.mean_table import (
    LOST,
    PRECISE,
    ROUGH,
    UNLEARNED,
    MeanTable,
    noise_line,
    verdicts,
)
from dimfree.results.release import Release


def test_signs_follow_the_intervals_and_decide_nothing_else():
    together = norm.ppf((1 + 0.95**0.25) / 2)  # Šidák over four coordinates
    strengths = together * np.array([1.001, -1.001, 0.999, 0.5])
    release = released(0.25 * strengths, 0.25)
    reading = MeanTable(release, 0.95, "sample")
    assert reading.clear == 2
    assert reading.threshold == pytest.approx(together, rel=1e-9)
    assert dict(reading.counts()) == {"precise": 0, "rough": 0, "lost in noise": 0, "spread not learned": 4}
    assert not reading.compared
    assert MeanTable(release, 0.95).clear == 0  # nothing is said of the population
    modelled = released(0.25 * strengths, 0.25, spread=2.5, records=100.0)
    assert (MeanTable(modelled, 0.95, "sample").clear, MeanTable(modelled, 0.95).clear) == (2, 0)


def test_counts_are_those_of_the_verdicts():
    reading = MeanTable(released([0.0, 9.0], 0.25, spread=2.51, records=100.0), 0.95)
    assert reading.precise == 2
    assert reading.line.startswith("2 of 2 columns have noise below a tenth of the spread, 0 above one spread")
    assert reading.over_spread == pytest.approx([0.25 / 2.51] * 2)


def test_bars_are_for_the_population_and_longer_for_all_coordinates_at_once():
    reading = MeanTable(released([1.0, 2.0], 0.25, spread=2.0, records=100.0), 0.9)
    wider = norm.ppf((1 + 0.9**0.5) / 2) * np.hypot(0.25, 0.2)
    np.testing.assert_allclose(reading.ends["all_high"] - reading.mean, wider)
    np.testing.assert_allclose(reading.high - reading.mean, norm.ppf(0.95) * np.hypot(0.25, 0.2))
    assert reading.note == POPULATION_NOTE
    sample = MeanTable(released([1.0, 2.0], 0.25, spread=2.0, records=100.0), 0.9, "sample")
    np.testing.assert_allclose(sample.high - sample.mean, norm.ppf(0.95) * 0.25)
    assert sample.note == SAMPLE_NOTE


def test_drawn_places_hold_the_strongest_and_reach_both_ends():
    mean = np.zeros(1000)
    mean[[3, 500, 997]] = (9.0, -8.0, 7.0)
    places = MeanTable(released(mean), 0.95).drawn_places(20)
    assert len(set(places.tolist())) == 20
    assert (np.diff(places) > 0).all()
    assert {3, 500, 997, 999} <= set(places.tolist())
    assert MeanTable(released(mean[:5]), 0.95).drawn_places(20).tolist() == [0, 1, 2, 3, 4]


def test_drawn_ranks_begin_at_the_first_and_end_at_the_last():
    ranks = drawn_ranks(30_000, 300)
    assert len(ranks) <= 300
    assert (ranks[0], ranks[-1]) == (0, 29_999)
    assert (np.diff(ranks) > 0).all()
    assert drawn_ranks(5, 300).tolist() == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------------------------------------ verdicts


def learned(noise, stddev, log_stddev, log_above=None):
    stddev = np.asarray(stddev, float)
    shape = LearnedShape(stddev**2, np.asarray(log_stddev, float), log_above=np.asarray(log_above or log_stddev, float))
    model = ErrorModel(record_stddev=stddev, records=100.0)
    return Release.released(
        mean=np.full(len(stddev), 9.0),
        noise_stddev=np.full(len(stddev), noise),
        error_model=model,
        shape=shape,
        **common(len(stddev), method="auto"),
    )


@pytest.mark.parametrize(
    ("spread", "verdict"), [(2.51, PRECISE), (2.49, ROUGH), (0.26, ROUGH), (0.24, LOST), (None, UNLEARNED)]
)
def test_a_stated_spread_is_taken_at_its_word(spread, verdict):
    release = released([0.0], 0.25, spread=spread, records=100.0)
    assert verdicts(release).tolist() == [verdict]
    assert release.noise_over_spread() == pytest.approx([np.inf if spread is None else 0.25 / spread])


def test_a_learned_spread_counts_at_its_lower_end():
    """Ten deviations at the estimate, and fewer than ten at two standard deviations of the logarithm below it."""
    sure, unsure = 0.01, 0.2
    release = learned(0.1, [1.05, 1.05, 0.11, 0.11], [sure, unsure, sure, unsure])
    assert verdicts(release).tolist() == [PRECISE, ROUGH, ROUGH, LOST]
    assert release.noise_over_spread() == pytest.approx(
        0.1 / np.array([1.05, 1.05, 0.11, 0.11]) * np.exp(2 * np.array([sure, unsure, sure, unsure]))
    )


def test_a_spread_that_was_not_learned_is_never_precise():
    release = learned(1e-9, [1.0, 1.0], [0.1, np.inf], [0.1, 0.3])
    assert verdicts(release).tolist() == [PRECISE, UNLEARNED]
    assert np.isinf(release.noise_over_spread()[1])


def test_noise_above_the_widest_possible_spread_is_lost_even_if_not_learned():
    release = learned(2.0, [1.0, 1.0], [np.inf, np.inf], [0.3, 0.4])
    assert verdicts(release).tolist() == [LOST, UNLEARNED]


def test_a_sign_decides_nothing():
    assert verdicts(released([0.0, 1e9], 0.25, spread=0.3, records=100.0)).tolist() == [ROUGH, ROUGH]


def test_the_line_counts_every_column():
    release = learned(0.1, [5.0, 0.05, 0.5, 1.0], [0.1, 0.1, 0.1, np.inf], [0.1, 0.1, 0.1, 0.1])
    assert noise_line([release]) == (
        "1 of 4 columns have noise below a tenth of the spread, 1 above one spread; spread not learned: 1, whose noise "
        "may be above it"
    )
    stated = released([0.0], 0.25, spread=9.0, records=100.0)
    assert noise_line([stated]) == "1 of 1 column has noise below a tenth of the spread, 0 above one spread"
    assert noise_line([release, stated]).startswith("2 of 5 columns")


def test_a_spread_not_learned_survives_the_record_and_is_missing_in_a_frame():
    release = learned(0.1, [1.0, 1.0], [0.25, np.inf], [0.25, 0.5])
    again = Release.from_json(release.to_json())
    assert again == release
    assert again.shape.log_stddev.tolist() == [0.25, np.inf]
    assert again.shape.log_above.tolist() == [0.25, 0.5]
    assert again.shape.learned.tolist() == [True, False]
    assert '"log_stddev": [0.25, null]' in release.to_json()
    column = release.to_frame()["noise_over_spread"]
    assert column.isna().tolist() == [False, True]


def test_a_record_without_a_bound_above_is_read():
    """Written before columns could be unlearned."""
    release = learned(0.1, [1.0], [0.25])
    text = release.to_json().replace(', "log_above": [0.25]', "").replace('"log_above": [0.25], ', "")
    assert "log_above" not in text
    assert Release.from_json(text).shape.log_above.tolist() == [0.25]
