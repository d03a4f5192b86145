"""Verdicts compare noise with spread, at the unfavourable end of what is known of the spread."""

import numpy as np
import pytest
from pages import common, released

from dimfree.results.error_model import ErrorModel, LearnedShape
from dimfree.results.reading import LOST, PRECISE, ROUGH, UNLEARNED, noise_line, verdicts
from dimfree.results.release import Release


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
