"""M3 in tiny worlds: the exact law of the peels against the range, its curve, and what they compose to."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from exact.divergence import hockey_stick, losses, peels

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.losses import Ranged, range_profile
from dimfree.mechanisms.paper.top_k import loss_range

SCALES = [0.8, 2.5]
WORLDS = [(0, 0), (0, 3), (0, 0, 0), (4, 2, 0), (0, 0, 0, 5)]


def moved(scores):
    """Every vector whose scores differ by at most one, in whatever directions."""
    shifts = product((-1, 0, 1), repeat=len(scores))
    return [tuple(a + b for a, b in zip(scores, shift, strict=True)) for shift in shifts]


@cache
def pairs(count, scale):
    found = []
    for scores in WORLDS:
        if count < len(scores):
            here = peels(scores, count, scale)
            found += [(here, peels(other, count, scale)) for other in moved(scores)]
    return found


def worst_range(scale):
    return max(max(lost) - min(lost) for lost in (losses(*pair) for pair in pairs(1, scale)))


def worst_delta(count, scale, level):
    return max(max(hockey_stick(p, q, level), hockey_stick(q, p, level)) for p, q in pairs(count, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_the_losses_of_one_peel_have_the_range_that_is_charged(scale):
    assert worst_range(scale) <= loss_range(1, scale) * (1 + 1e-12)
    assert worst_range(scale) == pytest.approx(2 / scale)  # attained


@pytest.mark.parametrize("scale", SCALES)
def test_the_range_of_scores_that_all_move_the_same_way_is_rejected(scale):
    assert worst_range(scale) > 1.5 / scale
    up = [(w, other) for w in WORLDS for other in moved(w) if all(b >= a for a, b in zip(w, other, strict=True))]
    lost = [losses(peels(w, 1, scale), peels(other, 1, scale)) for w, other in up]
    assert max(max(found) - min(found) for found in lost) <= 1 / scale * (1 + 1e-12)  # there, and only there, it holds


@pytest.mark.parametrize("scale", SCALES)
def test_the_curve_of_one_peel_covers_every_level(scale):
    levels = np.linspace(-2.2 / scale, 2.2 / scale, 45)
    found = np.array([worst_delta(1, scale, level) for level in levels])
    assert (found <= range_profile(2 / scale, levels) + 1e-12).all()


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_the_curve_of_one_peel_is_reached(scale):
    """Two scores that move against each other, as far apart as it takes."""
    eta = 2 / scale
    moves = [(p, q) for gap in range(-20, 21) for p, q in [(peels((gap, 0), 1, scale), peels((gap - 1, 1), 1, scale))]]
    for level in np.linspace(-0.8 * eta, 0.8 * eta, 9):
        reached = max(max(hockey_stick(p, q, level), hockey_stick(q, p, level)) for p, q in moves)
        assert reached >= 0.8 * range_profile(eta, np.array([level]))[0]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_peels_together_cost_no_more_than_their_composition(count, scale):
    for level in (0.1 / scale, 1 / scale, 2.5 / scale):
        charged = Composition(Budget(level, 0.5), Neighbours.REPLACE_ONE, (Ranged("top", 2 / scale, count),))
        assert worst_delta(count, scale, level) <= charged.delta()


@pytest.mark.parametrize("count", [1, 2])
def test_a_charge_of_one_over_the_scale_is_rejected(count):
    scale, level = 0.8, 1.0
    charged = Composition(Budget(level, 0.5), Neighbours.REPLACE_ONE, (Ranged("top", 1 / scale, count),))
    assert worst_delta(count, scale, level) > charged.delta()


@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("scores", [(0, 1, 2, 30), (9, 9, 0, 0), (3, 1, 4, 1, 5)])
def test_accuracy_every_pick_is_near_the_best_left(scores, failure):
    """Within s·ln(kd/β), all k of them, with probability 1 - β."""
    count, scale = 2, 1.5

    def good(picks, within):
        left = set(range(len(scores)))
        for pick in picks:
            if scores[pick] < max(scores[i] for i in left) - within:
                return False
            left.discard(pick)
        return True

    law = peels(scores, count, scale)
    bound = scale * math.log(count * len(scores) / failure)
    assert math.fsum(mass for picks, mass in law.items() if good(picks, bound)) >= 1 - failure
    assert math.fsum(mass for picks, mass in law.items() if good(picks, 0)) < 1 - 1e-9  # noise does miss the best
