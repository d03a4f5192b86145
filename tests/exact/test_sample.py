"""P8's samples: coins leave neighbors neighbors; a fixed size under add/remove would not."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dimfree.kernel.statistics.secret_ring import draw_fixed_samples, poisson_samples

NAMES = "abcde"


@dataclass
class Scripted:
    """Noise whose uniform draws are given."""

    draws: tuple[int, ...]
    private: bool = False
    bound: int = 0

    def below(self, bound, size):
        assert size == len(self.draws)
        self.bound = bound
        return np.array(self.draws, dtype=np.int64)


def chosen(table, mask):
    return tuple(record for record, kept in zip(table, mask, strict=True) if kept)


COINS = (0, 2**30 - 1, 2**30, 2**32 - 1)  # at rate 1/4 the first two are heads


@pytest.mark.parametrize("leaver", range(len(NAMES)))
def test_with_its_own_coin_a_record_changes_the_sample_by_itself_alone(leaver):
    rest = NAMES[:leaver] + NAMES[leaver + 1 :]
    differ = Counter()
    for coins in product(COINS, repeat=len(NAMES)):
        others = coins[:leaver] + coins[leaver + 1 :]
        larger = chosen(NAMES, poisson_samples(len(NAMES), (0.25,), Scripted(coins))[0])
        smaller = chosen(rest, poisson_samples(len(rest), (0.25,), Scripted(others))[0])
        assert tuple(record for record in larger if record != NAMES[leaver]) == smaller
        differ[len(larger) - len(smaller)] += 1
    assert differ[1] == differ[0] > 0  # half of the scripted coins are heads


def inner_by_coins(count, noise):
    return poisson_samples(count, (2.0**-32, 0.25), noise)


def inner_by_place(count, noise):
    """The broken twin: the core takes the first two records of the early sample."""
    (early,) = poisson_samples(count, (0.25,), noise)
    return [early & (np.cumsum(early) <= 2), early]


def changed_by_others(samples) -> int:
    """Of all coins and leavers, how often the leaver's going changes a sample by another record."""
    found = 0
    for leaver, coins in product(range(len(NAMES)), product(COINS, repeat=len(NAMES))):
        rest, others = NAMES[:leaver] + NAMES[leaver + 1 :], coins[:leaver] + coins[leaver + 1 :]
        larger, smaller = samples(len(NAMES), Scripted(coins)), samples(len(rest), Scripted(others))
        for here, there in zip(larger, smaller, strict=True):
            found += set(chosen(NAMES, here)) - {NAMES[leaver]} != set(chosen(rest, there))
    return found


def test_one_coin_serves_two_samples():
    """The core's sample lies within the early one, and each loses the leaver alone."""
    assert changed_by_others(inner_by_coins) == 0
    assert changed_by_others(inner_by_place) > 0
    for coins in product(COINS, repeat=3):
        inner, outer = inner_by_coins(3, Scripted(coins))
        assert not (inner & ~outer).any()


def test_one_order_serves_two_samples():
    for order in permutations(range(4)):
        inner, outer = draw_fixed_samples(4, (1, 3), Scripted(order))
        assert (inner.sum(), outer.sum(), (inner & ~outer).sum()) == (1, 3, 0)


@pytest.mark.parametrize(
    ("rate", "heads"), [(0.0, 0), (2.0**-32, 1), (0.25, 2**30), (1 - 2.0**-32, 2**32 - 1), (1, 2**32)]
)
def test_a_coin_has_exactly_its_rate(rate, heads):
    """Of 2^32 equally likely draws, exactly `heads` keep the record."""
    draws = tuple(draw for draw in (heads - 1, heads) if 0 <= draw < 2**32)
    noise = Scripted(draws)
    assert poisson_samples(len(draws), (rate,), noise)[0].tolist() == [draw < heads for draw in draws]
    assert noise.bound == 2**32


@pytest.mark.parametrize("size", range(5))
def test_a_fixed_sample_is_a_uniform_subset_of_positions(size):
    """Positions are chosen without looking at a record, so replacing one replaces at most one in the sample."""
    found = Counter(
        tuple(np.flatnonzero(draw_fixed_samples(4, (size,), Scripted(order))[0])) for order in permutations(range(4))
    )
    assert set(found) == set(combinations(range(4), size))
    assert len(set(found.values())) == 1
