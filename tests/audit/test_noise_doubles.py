"""The noise of the audit: pooled draws are handed out once, branching draws cover everything exactly."""

import math
from collections import Counter

import numpy as np
import pytest
from recording import RecordingNoise

from dimfree.accounting.ladder import DENOMINATOR, Ladder
from dimfree.audit.exact.divergence import CountBitMean, LatticeShift, Laws, judge, laplace_masses, true_epsilon
from dimfree.audit.noise_doubles import PooledNoise, ZeroNoise, exact_law
from dimfree.audit.registry import EXACT


class Counting(RecordingNoise):
    """Hands out 0, 1, 2, …"""

    drawn = 0

    def gaussian(self, stddev, size):
        self.drawn += size
        return np.arange(self.drawn - size, self.drawn)

    laplace = gaussian


def test_a_pool_hands_out_every_draw_once():
    noise = PooledNoise(Counting())
    handed = np.concatenate([noise.gaussian(2.0, size) for size in (1, 3, 2, 50, 1, 7)])
    assert len(set(handed.tolist())) == len(handed) == 64


def test_pools_that_nobody_comes_back_to_are_given_up():
    """More scales than there are pools, the first of them asked for nothing."""
    noise = PooledNoise(Counting())
    assert len(noise.gaussian(0.5, 0)) == 0
    handed = [int(noise.gaussian(1.0 + scale, 1)[0]) for scale in range(1100)]
    assert handed == list(range(1100))
    assert len(noise._pools) < 1100


def test_pools_of_different_scales_are_apart(rng):
    noise = PooledNoise(RecordingNoise())
    noise.gaussian(2.0, 3)
    noise.laplace(2.0, 3)
    noise.gaussian(4.0, 3)
    assert noise.source.asked == [("gaussian", 2.0, 3), ("laplace", 2.0, 3), ("gaussian", 4.0, 3)]
    assert not noise.private


def test_a_branching_law_is_the_law():
    """Two coins, then a draw that only one side asks for."""

    def mechanism(noise):
        heads = noise.coin(1, 4) + noise.coin(1, 4)
        return heads, int(noise.below(3, 1)[0]) if heads == 1 else None

    law = exact_law(mechanism, laplace_masses(5))
    assert law == pytest.approx({(0, None): 9 / 16, (2, None): 1 / 16, **{(1, k): 1 / 8 for k in range(3)}})


def test_a_branching_draw_follows_its_weights():
    found = exact_law(lambda noise: int(noise.laplace(1.5, 1)[0]), laplace_masses(30))
    assert math.fsum(found.values()) == pytest.approx(1, abs=1e-12)
    assert found[2] / found[1] == pytest.approx(math.exp(-1 / 1.5))


def test_epsilon_of_randomised_response():
    here, there = {"yes": 0.75, "no": 0.25}, {"yes": 0.25, "no": 0.75}
    assert true_epsilon(Laws([(here, there)]), 0.0) == pytest.approx(math.log(3))
    assert judge(Laws([(here, there)]), 1.0, 0.0).violated
    assert not judge(Laws([(here, there)]), math.log(3), 0.0).violated
    assert judge(Laws([(here, there)]), 1.0, 0.75 - 0.25 * math.e + 1e-6).violated is False


def test_the_sorted_sum_is_the_sum_over_all_cells():
    """The divergence of the bit is summed by sorting losses; a plain double sum gives the same."""
    found = CountBitMean(Ladder(tuple(int(p * DENOMINATOR) for p in (0.01, 0.01, 0.02, 0.2, 0.8))), 0.4, 0.7)
    from dimfree.audit.exact.divergence import gaussian_cells

    before, there = gaussian_cells(0.4)
    for row, pair in zip(found.parts(0.5), found.statistics, strict=True):
        p, q = found._masses(pair)
        gap = np.multiply.outer(before, p) - math.exp(0.5) * np.multiply.outer(there, q)
        assert row == pytest.approx(np.maximum(gap, 0).sum(axis=1), abs=1e-15)


def test_the_lattice_sum_is_near_the_continuous_one():
    from dimfree.accounting.precision import hockey_stick

    assert LatticeShift(1000.0, 700).delta_at(0.5) == pytest.approx(float(hockey_stick(0.7, 0.5)), rel=1e-4)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "crossing" else []) for n in EXACT])
def test_every_claim_holds_and_something_is_found(name):
    make, delta = EXACT[name]
    made = make(1.0, 1e-2)
    found = judge(made, 1.0, delta)
    assert not found.violated
    assert 0 < found.epsilon <= 1
    assert judge(made, found.epsilon / 2, 1e-6).violated  # half of what is there is seen through


def test_what_is_asked_is_remembered():
    noise = ZeroNoise()
    noise.gaussian(1.0, 2), noise.coin(1, 2), noise.below(5, 1), noise.laplace(2.0, 1)
    assert Counter(kind for kind, *_ in noise.asked) == Counter(["gaussian", "coin", "below", "laplace"])
