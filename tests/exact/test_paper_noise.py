"""The Gaussian releases of the paper's algorithms: rounding and all questions of a search are inside their charge."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import RecordingNoise

from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS
from dimfree.paper.mechanisms import noisy_search, noisy_total, queries


@given(st.fractions(0, 1000, max_denominator=10**6), st.fractions(0, 2, max_denominator=10**6), st.floats(1e-3, 3))
def test_rounded_totals_of_neighbors_differ_by_at_most_the_charged_steps(total, move, mu):
    def released(value):
        return noisy_total(value, float(move), mu, "total", noise=RecordingNoise())

    here = released(total)
    assert total - Fraction(1, COUNT_STEPS) < Fraction(here.value) <= total
    assert abs(released(total + move).value - here.value) * COUNT_STEPS <= here.event.sensitivity * (1 + 1e-12)
    assert here.event.mu <= mu * (1 + 1e-14)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5, 9, 33, 198])
@pytest.mark.parametrize("mu", [0.01, 7.0])
def test_a_search_finds_the_cell_in_as_many_questions_as_it_pays_for(cells, mu):
    for place in range(cells + 2):
        noise = RecordingNoise()
        found = noisy_search(lambda at, p=place: 1 if at > p else 0 if at == p else -1, np.arange(cells + 1.0), mu, "x",
                             noise=noise)  # fmt: skip
        assert found.value == min(max(place, 1), cells)
        assert len(noise.asked) <= queries(cells) == found.event.dimension
        assert all(asked == ("gaussian", found.event.stddev, 1) for asked in noise.asked)
        spent = math.sqrt(queries(cells)) * SEARCH_STEPS / found.event.stddev  # one record moves a count by one
        assert mu * (1 - 1e-12) < spent <= mu
