"""The public optimiser of the stages: fast, within its precision, and right about the radius."""

from fractions import Fraction

import numpy as np
import pytest

from dimfree.accounting import events
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.ladder import Ladder
from dimfree.programs.choose.core import StableChoice
from dimfree.programs.choose.stages import Moments, best_schedule, clip_level

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
LADDER = Ladder((1, 1, 1, 2**63))


def core_of(mu=0.23, radius=30.0, sensitivity=2e-3):
    branch, noise = events.Tested(LADDER, mu), radius * sensitivity / mu
    return StableChoice(branch, Fraction(3, 4), 10, 100, radius, sensitivity, noise)


SPECTRA = {
    "flat": np.ones(400),
    "steep": np.arange(1, 401) ** -1.0,
    "one direction": np.array([4.0]),
    "a spike": np.concatenate([[50.0], np.full(399, 0.1)]),
}
every_spectrum = pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA.keys())


@every_spectrum
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("blocks", [False, True])
def test_a_schedule_spends_its_branch_and_no_more(spectrum, relation, looked, blocks):
    core = core_of()
    chosen = best_schedule([core], spectrum, 4000.0, 0.95, relation, blocks=blocks, looked=looked)
    spent = chosen.core_mu**2 + sum(mu**2 for mu in (*chosen.stage_mus, chosen.look_mu, chosen.shell_mu))
    assert core.branch.mu**2 * (1 - 1e-6) < spent < core.branch.mu**2
    assert (chosen.look_mu > 0) == (looked and len(chosen.stage_mus) > 0)
    assert 1 <= chosen.block <= len(spectrum)
    assert blocks or chosen.block == len(spectrum)


@every_spectrum
@pytest.mark.parametrize("looked", [False, True])
def test_the_weights_of_the_answer_sum_to_one(spectrum, looked):
    """Where lengths are looked at, the last two stages count, and never the core."""
    chosen = best_schedule([core_of(radius=100.0)], spectrum, 4e3, 0.95, ADD, blocks=False, looked=looked)
    assert sum(chosen.weights) == pytest.approx(1)
    assert len(chosen.weights) == len(chosen.stage_mus) + 1
    counted = [weight > 0 for weight in chosen.weights]
    uncounted = max(1, len(chosen.stage_mus) - 1) if chosen.look_mu else 0
    assert counted == [False] * uncounted + [True] * (len(counted) - uncounted)
    assert chosen.counted_precision == sum(mu**2 for mu, c in zip(chosen.stage_mus, counted[1:], strict=True) if c)


def test_stages_pay_where_the_core_is_poor():
    chosen = best_schedule([core_of(radius=100.0)], SPECTRA["flat"], 4000.0, 0.95, ADD, blocks=False)
    assert chosen.stage_mus
    assert list(chosen.stage_mus) == sorted(chosen.stage_mus)


def test_zero_stages_are_a_choice():
    """A core as good as an oracle leaves nothing to gain."""
    oracle = core_of(radius=15.0, sensitivity=1 / 4000)
    chosen = best_schedule([oracle], SPECTRA["flat"], 4000.0, 0.95, ADD, blocks=False)
    assert chosen.stage_mus == ()
    assert (chosen.look_mu, chosen.weights) == (0, (1.0,))
    assert chosen.core_mu == pytest.approx(0.23)


def test_no_core_no_schedule():
    assert best_schedule([], SPECTRA["flat"], 4000.0, 0.95, ADD, blocks=False) is None


def test_the_better_core_is_taken():
    cores = [core_of(radius=90.0), core_of(radius=30.0), core_of(radius=60.0)]
    assert best_schedule(cores, SPECTRA["flat"], 500.0, 0.95, ADD, blocks=False).core is cores[1]


def test_a_block_pays_only_for_a_steep_spectrum():
    """Few records, most of the variance in a few coordinates: recentre those."""
    steep = np.arange(1, 2001) ** -1.5
    few = best_schedule([core_of()], steep, 1000.0, 0.9, ADD, blocks=True)
    flat = best_schedule([core_of()], np.ones(2000), 1000.0, 0.9, ADD, blocks=True)
    assert few.error <= best_schedule([core_of()], steep, 1000.0, 0.9, ADD, blocks=False).error
    assert not flat.stage_mus or flat.block == 2000


# the radius: a quantile of |y - c|


@every_spectrum
@pytest.mark.parametrize("level", [0.75, 0.9, 0.95])
@pytest.mark.parametrize("centre_variance", [0.0, 0.3])
def test_the_radius_is_a_quantile(seed, spectrum, level, centre_variance):
    """Against simulation around centres that are off by noise. Below 95 % it is too wide if directions are few."""
    rng = np.random.default_rng(seed)
    offsets = rng.normal(size=(20_000, len(spectrum))) * np.sqrt(spectrum + centre_variance)  # record less centre
    lengths = np.linalg.norm(offsets, axis=1)
    moments = Moments.of(spectrum)
    excess = (lengths <= float(moments.radius(level, centre_variance))).mean() - level
    widest = 0.02 if level == 0.95 or moments.effective_rank > 100 else 0.16
    assert -0.015 < excess < widest


def test_little_noise_clips_few():
    """sqrt(clipped) stays beside sqrt(rank / precision): rank 10 and precision 0.05 allow 200 records."""
    assert clip_level(1e4, 1.0, 10.0, 0.05) == pytest.approx(1 - 200 / 1e4)
    assert clip_level(1e6, 1.0, 10.0, 0.05) == pytest.approx(1 - 200 / 1e6)
    assert clip_level(1e4, 1.0, 1e4, 0.05) == pytest.approx(0.95)
