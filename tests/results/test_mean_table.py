"""Verdicts compare noise with SD at its unfavorable end; what is shown is chosen by strength; names are one line."""

import numpy as np
import pytest
from pages import HOSTILE, common, released
from scipy.stats import norm

from dimfree.report.charts import choose_ranks
from dimfree.results.confidence_sets import POPULATION_NOTE, SAMPLE_NOTE
from dimfree.results.error_model import ErrorModel, EstimatedVariances
from dimfree.results.mean_table import (
    LOST,
    PRECISE,
    ROUGH,
    UNLEARNED,
    MeanTable,
    count_noisy_columns,
    shorten_name,
    shorten_names,
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
    assert dict(reading.counts()) == {"precise": 0, "rough": 0, "lost in noise": 0, "SD not estimated": 4}
    assert not reading.compared
    assert MeanTable(release, 0.95).clear == 0  # nothing is said of the population
    modelled = released(0.25 * strengths, 0.25, sd=2.5, records=100.0)
    assert (MeanTable(modelled, 0.95, "sample").clear, MeanTable(modelled, 0.95).clear) == (2, 0)


def test_bars_are_for_the_population_and_longer_for_all_coordinates_at_once():
    reading = MeanTable(released([1.0, 2.0], 0.25, sd=2.0, records=100.0), 0.9)
    wider = norm.ppf((1 + 0.9**0.5) / 2) * np.hypot(0.25, 0.2)
    np.testing.assert_allclose(reading.ends["all_high"] - reading.mean, wider)
    np.testing.assert_allclose(reading.high - reading.mean, norm.ppf(0.95) * np.hypot(0.25, 0.2))
    assert reading.note == POPULATION_NOTE
    sample = MeanTable(released([1.0, 2.0], 0.25, sd=2.0, records=100.0), 0.9, "sample")
    np.testing.assert_allclose(sample.high - sample.mean, norm.ppf(0.95) * 0.25)
    assert sample.note == SAMPLE_NOTE


def test_drawn_places_hold_the_strongest_and_reach_both_ends():
    mean = np.zeros(1000)
    mean[[3, 500, 997]] = (9.0, -8.0, 7.0)
    places = MeanTable(released(mean), 0.95).choose_places(20)
    assert len(set(places.tolist())) == 20
    assert (np.diff(places) > 0).all()
    assert {3, 500, 997, 999} <= set(places.tolist())
    ranks = choose_ranks(30_000, 300)
    assert len(ranks) <= 300
    assert (ranks[0], ranks[-1]) == (0, 29_999)
    assert (np.diff(ranks) > 0).all()
    assert MeanTable(released(mean[:5]), 0.95).choose_places(20).tolist() == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------------------------------------ verdicts


def learned(noise, stddev, log_stddev, log_above=None):
    stddev = np.asarray(stddev, float)
    shape = EstimatedVariances(
        stddev**2, np.asarray(log_stddev, float), log_above=np.asarray(log_above or log_stddev, float)
    )
    model = ErrorModel(record_stddev=stddev, records=100.0)
    return Release.released(
        mean=np.full(len(stddev), 9.0),
        noise_stddev=np.full(len(stddev), noise),
        error_model=model,
        estimated_variances=shape,
        **common(len(stddev), method="auto"),
    )


@pytest.mark.parametrize(
    ("sd", "verdict"), [(2.51, PRECISE), (2.49, ROUGH), (0.26, ROUGH), (0.24, LOST), (None, UNLEARNED)]
)
def test_a_stated_spread_is_taken_at_its_word(sd, verdict):
    release = released([0.0], 0.25, sd=sd, records=100.0)
    assert verdicts(release).tolist() == [verdict]
    assert release.noise_to_sd() == pytest.approx([np.inf if sd is None else 0.25 / sd])


SURE, UNSURE = 0.01, 0.2


@pytest.mark.parametrize(
    ("noise", "stddev", "log_stddev", "log_above", "expected"),
    [
        # ten SDs at the estimate, and fewer than ten at two SDs of the logarithm below it
        (0.1, [1.05, 1.05, 0.11, 0.11], [SURE, UNSURE] * 2, None, [PRECISE, ROUGH, ROUGH, LOST]),
        (1e-9, [1.0, 1.0], [0.1, np.inf], [0.1, 0.3], [PRECISE, UNLEARNED]),
        (2.0, [1.0, 1.0], [np.inf, np.inf], [0.3, 0.4], [LOST, UNLEARNED]),  # above the widest possible SD
    ],
)
def test_a_learned_spread_counts_at_its_unfavorable_end(noise, stddev, log_stddev, log_above, expected):
    release = learned(noise, stddev, log_stddev, log_above)
    assert verdicts(release).tolist() == expected
    assert release.noise_to_sd() == pytest.approx(noise / np.array(stddev) * np.exp(2 * np.array(log_stddev)))


def test_the_line_counts_every_column():
    release = learned(0.1, [5.0, 0.05, 0.5, 1.0], [0.1, 0.1, 0.1, np.inf], [0.1, 0.1, 0.1, 0.1])
    assert count_noisy_columns([release]) == (
        "Noise is below 10% of the SD in 1 of 4 columns, and may exceed the SD in 1; the SD of 1 could not be estimated"
    )
    stated = released([0.0], 0.25, sd=9.0, records=100.0)
    assert count_noisy_columns([stated]) == "Noise is below 10% of the SD in 1 of 1 column"
    lines = [count_noisy_columns([released([0.0] * 3, 0.25, sd=sd, records=9.0)]) for sd in (1.0, 0.2)]
    assert lines[0] == "Noise may exceed 10% of the SD in all 3 columns"
    assert lines[1] == f"{lines[0]}, and may exceed the SD in 3"
    assert count_noisy_columns([release, stated]).startswith("Noise is below 10% of the SD in 2 of 5 columns,")


def test_a_spread_not_learned_survives_the_record_and_is_missing_in_a_frame():
    release = learned(0.1, [1.0, 1.0], [0.25, np.inf], [0.25, 0.5])
    again = Release.from_json(release.to_json())
    assert again == release
    assert again.estimated_variances.log_stddev.tolist() == [0.25, np.inf]
    assert again.estimated_variances.log_above.tolist() == [0.25, 0.5]
    assert again.estimated_variances.learned.tolist() == [True, False]
    assert '"log_stddev": [0.25, null]' in release.to_json()
    assert release.to_frame()["noise_to_sd"].isna().tolist() == [False, True]
    earlier = learned(0.1, [1.0], [0.25])  # files of earlier versions have no bound above, and learned every column
    text = earlier.to_json().replace('"log_above": [0.25], ', "")
    assert "log_above" not in text
    assert Release.from_json(text).estimated_variances.log_above.tolist() == [0.25]


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("age", "age"),
        ("two\nlines\t here", "two lines here"),
        ("a\x00b\x1bc", "a\ufffdb\ufffdc"),
        ("\ud800", "\ufffd"),
        ("\u202egnp.exe\u2066", "\ufffdgnp.exe\ufffd"),
        ("مرحبا", "مرحبا"),
        ("", "(no name)"),
        (" \n ", "(no name)"),
        (7, "7"),
        ("<b>", "<b>"),  # escaping is the template's work, not a matter of spelling
    ],
)
def test_name_becomes_one_visible_line(name, shown):
    assert shorten_name(name) == shown
    assert shorten_name("x" * 10, 10) == "x" * 10
    assert shorten_name("x" * 11, 10) == "x" * 9 + "…"
    assert shorten_name("名" * 11, 10) == "名" * 4 + "…", "wide letters count twice"


def test_every_shown_name_can_be_written_to_a_file():
    assert shorten_names(None, range(3)) == ["column 0", "column 1", "column 2"]
    for name in shorten_names(HOSTILE, range(len(HOSTILE))):
        assert 0 < len(name.encode("utf-8")) <= 500
        assert "\n" not in name
