"""M5 in tiny worlds: the scores move by at most one item, the choice has range 2/scale, and finds the quantile."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from exact.divergence import hockey_stick, losses, peels
from recording import RecordingNoise

from dimfree.accounting.losses import range_profile
from dimfree.mechanisms.paper.quantile import private_quantile, quantile_scores

GRID = np.array([0.0, 1.0, 2.0, 4.0])
PLACES = (-1.0, 0.0, 0.5, 1.0, 3.0, 4.0, 9.0, math.inf, math.nan)
SHARES = [Fraction(1, 2), Fraction(9, 10), Fraction(1, 3)]
SCALE = 1.5


def scores(values, share):
    """What the code hands to the noise, in items."""
    noise = RecordingNoise()
    private_quantile(np.array(values), share, GRID, SCALE, "quantile", noise=noise)
    assert noise.asked == [("noisy_top", SCALE * share.denominator, 1)]
    return tuple(Fraction(int(score), share.denominator) for score in noise.scores[0])


@pytest.mark.filterwarnings("error")
def test_conversion_says_nothing_about_the_values():
    """A number beyond the range of floats is infinite, silently: an exception would depend on one record."""
    extended = np.array([1, 2], dtype=np.longdouble)
    extended[1] = np.ldexp(np.longdouble(1), 2000)  # plain infinity where there is no longer format
    with np.errstate(all="raise", over="ignore"):
        wide = [np.asarray(extended), np.array([1.0, math.inf])]
    with np.errstate(all="raise"):
        found = [private_quantile(v, SHARES[0], GRID, SCALE, "q", noise=RecordingNoise()).value for v in wide]
    assert found[0] == found[1]


def by_definition(values, share):
    def balance(point):
        present = [v for v in values if not math.isnan(v)]
        return (1 - share) * sum(v <= point for v in present) - share * sum(v > point for v in present)

    before = [-math.inf, *GRID[:-1]]  # the first cell has no lower end, the last no upper end
    after = [*GRID[:-1], math.inf]
    ends = [
        (balance(low) if low > -math.inf else Fraction(0), balance(high))
        for low, high in zip(before, after, strict=True)
    ]
    return tuple(-max(Fraction(0), -high, low) for low, high in ends)


@cache
def neighbours(share, most=4):
    """Scores of neighbouring tables: one value removed, or exchanged."""
    found = set()
    for size in range(1, most + 1):
        for table in combinations_with_replacement(PLACES, size):
            here = scores(table, share)
            for j in range(size):
                rest = table[:j] + table[j + 1 :]
                found.add((here, scores(rest, share)))
                found |= {(here, scores((*rest, place), share)) for place in PLACES} if size < most else set()
    return found


@pytest.mark.parametrize("share", SHARES)
def test_the_scores_are_those_of_the_definition(share):
    for size in range(4):
        for table in combinations_with_replacement(PLACES, size):
            assert scores(table, share) == by_definition(table, share)


@pytest.mark.parametrize("share", SHARES)
def test_no_score_moves_by_more_than_one_item(share):
    moves = [abs(a - b) for pair in neighbours(share) for a, b in zip(*pair, strict=True)]
    assert max(moves) <= 1
    assert max(moves) > Fraction(1, 2)  # the twin that claims half an item


@pytest.mark.parametrize("share", SHARES)
def test_the_losses_have_the_range_that_is_charged(share):
    charged = private_quantile(np.zeros(3), share, GRID, SCALE, "quantile", noise=RecordingNoise()).event
    laws = {s: peels(s, 1, SCALE) for pair in neighbours(share) for s in pair}
    spread = max(max(lost) - min(lost) for p, q in neighbours(share) for lost in [losses(laws[p], laws[q])])
    largest = max(abs(loss) for p, q in neighbours(share) for loss in losses(laws[p], laws[q]))
    assert charged.times == 1
    assert 2 / SCALE <= charged.eta <= 2 / SCALE * (1 + 1e-12)
    assert max(spread, largest) <= charged.eta * (1 + 1e-12)
    assert spread > charged.eta / 2  # the twin that claims a sensitivity of one half


@pytest.mark.parametrize("share", SHARES)
def test_the_divergence_is_below_the_curve(share):
    laws = {s: peels(s, 1, SCALE) for pair in neighbours(share, 3) for s in pair}
    for level in (-0.5, 0.0, 0.3, 1.0):
        found = max(hockey_stick(laws[p], laws[q], level) for p, q in neighbours(share, 3))
        assert found <= range_profile(2 / SCALE, np.array([level]))[0]


def test_the_curve_of_half_an_item_is_rejected():
    share = Fraction(1, 2)
    laws = {s: peels(s, 1, SCALE) for pair in neighbours(share, 3) for s in pair}
    found = max(hockey_stick(laws[p], laws[q], 0.6) for p, q in neighbours(share, 3))
    assert found > range_profile(1 / SCALE, np.array([0.6]))[0]


@pytest.mark.parametrize("failure", [0.3, 0.02])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(4, 5)])
def test_accuracy_the_rank_is_within_a(rng, share, failure):
    """Q_{α - a/m} <= ĝ <= γ·Q_{α + a/m}, a = s·ln(J/β), with probability 1 - β; exactly, not by sampling."""
    ratio, scale = 1.5, 2.0
    grid = 0.1 * ratio ** np.arange(20)
    values = np.sort(rng.uniform(0.05, 100.0, 60))
    a = scale * math.log(len(grid) / failure)
    at_most = np.searchsorted(values, grid, side="right")
    before = np.searchsorted(values, grid / ratio, side="right")
    good = (at_most >= share * 60 - a) & (before <= share * 60 + a)
    assert at_most[-1] == 60  # nothing beyond the grid
    law = peels(quantile_scores(values, share, grid) / share.denominator, 1, scale)
    assert math.fsum(mass for (j,), mass in law.items() if good[j]) >= 1 - failure
    assert 0 < good.sum() < len(grid)
