"""The paper's filter: exact coins with probability clip(2·c/n - 1, 0, 1), one for each record."""

from fractions import Fraction

import numpy as np
import pytest

from dimfree.paper import averaging as basic


class EveryCoin:
    """Noise that gives every record one chosen coin, and records each request."""

    private = False

    def __init__(self, coin):
        self.coin = coin
        self.asked = []

    def below(self, bound, size):
        self.asked.append((bound, size))
        assert 0 <= self.coin < bound
        return np.full(size, self.coin, dtype=np.int64)


def probabilities(counts):
    """How many of the n equally likely coins keep each record."""
    n = len(counts)
    kept = sum(basic.keep(np.array(counts, dtype=np.int64), EveryCoin(coin)) for coin in range(n))
    return [Fraction(int(k), n) for k in kept]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 12])
def test_the_probability_of_being_kept(n):
    counts = list(range(1, n + 1))
    wanted = [max(Fraction(2 * c, n) - 1, Fraction(0)) for c in counts]
    assert probabilities(counts) == wanted


def test_every_record_has_its_own_coin():
    class Ramp(EveryCoin):
        def below(self, bound, size):
            self.asked.append((bound, size))
            return np.arange(size, dtype=np.int64)

    noise = Ramp(0)
    kept = basic.keep(np.array([4, 4, 4, 4, 4]), noise)  # 2c - n = 3: coins 0, 1, 2 keep
    assert kept.tolist() == [1, 1, 1, 0, 0]
    assert noise.asked == [(5, 5)]


def test_no_records_need_no_coin():
    noise = EveryCoin(0)
    assert basic.keep(np.zeros(0, dtype=np.int64), noise).shape == (0,)
    assert noise.asked == []


def test_the_sensitivities_on_friendly_data():
    """P1: one record more, and a mean of records within twice the radius of each other."""
    assert (basic.COUNT_SENSITIVITY, basic.MEAN_SENSITIVITY) == (1.0, 2.0)
