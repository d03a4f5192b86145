"""The scores of the variance query (P10): what they mean, and how many are clipped."""

import numpy as np
import pytest

from dimfree.data.blocks import ALL
from dimfree.data.records import open_records
from dimfree.kernel.rows.clip import BALL
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.scores import Scoring, lengths_of, phi, phi_inverse, total_scores
from dimfree.shapes import Isotropic


def space_of(rows):
    return Space(open_records(np.asarray(rows, dtype=np.float64)), Isotropic(1.0))


def test_phi_is_the_identity_up_to_one_and_slow_beyond():
    small, large = np.linspace(0, 1, 101), np.geomspace(1, 1e12, 101)
    assert (phi(small) == small).all()
    assert phi(large) == pytest.approx(2 * np.sqrt(large) - 1)


def test_phi_is_smooth_at_one_and_increasing():
    u = np.concatenate([np.linspace(0, 3, 3001), np.geomspace(3.1, 1e20, 200)])
    assert (np.diff(phi(u)) > 0).all()
    slopes = np.diff(phi(u)) / np.diff(u)
    assert (np.diff(slopes) <= 1e-9).all()  # concave: never steeper than the identity
    assert phi(np.array([1 + 1e-9]))[0] - 1 == pytest.approx(1e-9, rel=1e-3)


def test_the_inverse_undoes_phi():
    u = np.concatenate([[0.0, 1.0], np.geomspace(1e-30, 1e30, 400)])
    assert phi_inverse(phi(u)) == pytest.approx(u, rel=1e-12, abs=1e-300)


def test_the_guess_is_a_change_of_units(rng):
    rows, guess, centre = rng.normal(size=(5, 3)), np.array([2.0, 0.5, 8.0]), np.array([1.0, -1.0, 0.0])
    plain = Scoring(centre / guess, np.ones(3), 1.0).scores(3.0, rows / guess, ALL)
    assert Scoring(centre, guess, 1.0).scores(3.0, rows, ALL) == pytest.approx(plain, rel=1e-12)


def test_without_noise_and_clipping_the_scores_come_back(rng):
    rows = rng.normal(size=(50, 4)) * np.array([3.0, 1.0, 0.3, 0.0])
    scoring = Scoring(np.zeros(4), np.ones(4), 100.0)
    total = total_scores(space_of(rows), scoring, 2.0) * (scoring.norm / BALL)
    assert total == pytest.approx(phi(rows**2 / 2).sum(axis=0), abs=50 * 100 / 2**20)
    assert total[3] == 0


def test_a_larger_unit_clips_fewer(rng):
    space, scoring = space_of(rng.normal(size=(300, 4))), Scoring(np.zeros(4), 1.0, 1.0)
    counts = [lengths_of(space, scoring).clipped(unit) for unit in np.geomspace(1e-3, 1e3, 20)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (300, 0)
