"""The public optimisers: from public numbers to admissible parameters, the same bits every time."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import poisson

from dimfree.accounting import events, precision
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.accounting.ladder import Ladder
from dimfree.kernel.statistics import stable
from dimfree.noise import SeededNoise
from dimfree.programs.choose import friend_radius
from dimfree.programs.choose.core import (
    DataModel,
    Size,
    StableChoice,
    _search_choices,
    choose_stable_cores,
)
from dimfree.programs.choose.friend_radius import FriendRadii, simulate_friend_radii, tolerate_friendless
from dimfree.programs.choose.schedule import Moments, _best, choose_clip_level, choose_schedule
from dimfree.release import release_mean
from dimfree.shapes import IsotropicCovariance

BUDGET = Budget(4.0, 1e-6)
FAILURE = 0.01
SPECTRUM = np.ones(5)


@pytest.fixture(scope="module")
def private():
    return calibrate_private_count(BUDGET, FAILURE / 2)


@pytest.fixture(scope="module")
def public():
    return calibrate_public_count(BUDGET, FAILURE / 2)


@pytest.fixture
def model():
    return DataModel.of(SPECTRUM, 0.03, "heavy")


def sizes(private, count, core_sample=4096):
    """The two ways in which a number of records can be known."""
    return [Size(count, private.count_stddev, core_sample), Size(count, None, core_sample)]


def test_the_size_bound_of_a_released_count():
    """n_0 = ⌊n̂ - z·s - K⌋ and n_low = n_0 + 3, z the normal quantile of failure / 4 (P5')."""
    floor, lowest = Size(500.25, 8.0, 4096).bound(30, 0.01)
    assert floor == math.floor(500.25 - 2.8070337683438042 * 8.0 - 30)
    assert lowest == floor + 3


def test_the_size_bound_of_a_sample():
    """A sample's private size strays by its coins: z·sqrt(m_0) more."""
    size = Size(40960.0, 8.0, 4096)
    z = 2.8070337683438042
    assert size.rate == pytest.approx(0.1)
    assert size.bound(30, 0.01)[0] == math.floor(0.1 * (40960 - z * 8) - z * 64 - 30)


@pytest.mark.parametrize("count", [250.0, 700.0, 3000.0, 50_000.0])
def test_choices_are_admissible_and_priced_by_the_bound(private, public, model, count):
    for size, branches in zip(sizes(private, count), (private, public), strict=True):
        choices = choose_stable_cores(branches.tested, size, FAILURE, model)
        assert choices
        for choice in choices:
            floor, lowest = size.bound(choice.branch.ladder.length, FAILURE)
            outliers = math.ceil(0.03 * count * size.rate)
            assert choice.floor == floor
            assert stable.admissible(lowest, choice.full_share, choice.budget, size.relation)
            assert choice.sensitivity == stable.core_sensitivity(
                lowest, choice.full_share, choice.budget, size.relation
            )
            assert choice.budget >= choice.branch.ladder.length + outliers
            assert choice.noise == pytest.approx(choice.radius * choice.sensitivity / choice.branch.mu)
            assert (choice.full_share * 1000).denominator == 1


@pytest.mark.parametrize("count", [-50.0, 0.0, 1.0, 20.0])
def test_too_few_records_leave_no_choice(private, public, model, count):
    for size, branches in zip(sizes(private, count), (private, public), strict=True):
        assert choose_stable_cores(branches.tested, size, FAILURE, model) == []


ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
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
    chosen = choose_schedule([core], spectrum, 4000.0, 0.95, relation, blocks=blocks, with_lengths=looked)
    spent = chosen.core_mu**2 + sum(mu**2 for mu in (*chosen.step_mus, chosen.length_mu, chosen.shell_mu))
    assert core.branch.mu**2 * (1 - 1e-6) < spent < core.branch.mu**2
    assert (chosen.length_mu > 0) == (looked and len(chosen.step_mus) > 0)
    assert 1 <= chosen.block <= len(spectrum)
    assert blocks or chosen.block == len(spectrum)


@every_spectrum
@pytest.mark.parametrize("looked", [False, True])
def test_the_weights_of_the_answer_sum_to_one(spectrum, looked):
    """Where lengths are looked at, the last two stages count, and never the core."""
    chosen = choose_schedule([core_of(radius=100.0)], spectrum, 4e3, 0.95, ADD, blocks=False, with_lengths=looked)
    assert sum(chosen.weights) == pytest.approx(1)
    assert len(chosen.weights) == len(chosen.step_mus) + 1
    counted = [weight > 0 for weight in chosen.weights]
    uncounted = max(1, len(chosen.step_mus) - 1) if chosen.length_mu else 0
    assert counted == [False] * uncounted + [True] * (len(counted) - uncounted)
    assert chosen.counted_precision == sum(mu**2 for mu, c in zip(chosen.step_mus, counted[1:], strict=True) if c)


def test_zero_stages_are_a_choice():
    """A core as good as an oracle leaves nothing to gain."""
    oracle = core_of(radius=15.0, sensitivity=1 / 4000)
    chosen = choose_schedule([oracle], SPECTRA["flat"], 4000.0, 0.95, ADD, blocks=False)
    assert chosen.step_mus == ()
    assert (chosen.length_mu, chosen.weights) == (0, (1.0,))
    assert chosen.core_mu == pytest.approx(0.23)


def test_a_block_pays_only_for_a_steep_spectrum():
    """Few records, most of the variance in a few coordinates: recentre those."""
    steep = np.arange(1, 2001) ** -1.5
    few = choose_schedule([core_of()], steep, 1000.0, 0.9, ADD, blocks=True)
    flat = choose_schedule([core_of()], np.ones(2000), 1000.0, 0.9, ADD, blocks=True)
    assert few.error <= choose_schedule([core_of()], steep, 1000.0, 0.9, ADD, blocks=False).error
    assert not flat.step_mus or flat.block == 2000


# the radius: a quantile of |y - c|


@every_spectrum
@pytest.mark.parametrize("level", [0.75, 0.9, 0.95])
@pytest.mark.parametrize("center_variance", [0.0, 0.3])
def test_the_radius_is_a_quantile(seed, spectrum, level, center_variance):
    """Against simulation around centers that are off by noise. Below 95 % it is too wide if directions are few."""
    rng = np.random.default_rng(seed)
    offsets = rng.normal(size=(20_000, len(spectrum))) * np.sqrt(spectrum + center_variance)  # record less center
    lengths = np.linalg.norm(offsets, axis=1)
    moments = Moments.of(spectrum)
    excess = (lengths <= float(moments.radius(level, center_variance))).mean() - level
    widest = 0.02 if level == 0.95 or moments.effective_rank > 100 else 0.16
    assert -0.015 < excess < widest


def test_little_noise_clips_few():
    """sqrt(clipped) stays beside sqrt(rank / precision): rank 10 and precision 0.05 allow 200 records."""
    assert choose_clip_level(1e4, 1.0, 10.0, 0.05) == pytest.approx(1 - 200 / 1e4)
    assert choose_clip_level(1e6, 1.0, 10.0, 0.05) == pytest.approx(1 - 200 / 1e6)
    assert choose_clip_level(1e4, 1.0, 1e4, 0.05) == pytest.approx(0.95)


SMALL = Budget(1.0, 1e-3)
CACHES = (_search_choices, _best, precision.largest_mu, events.ideal_delta)


def forget():
    for cache in CACHES:
        cache.cache_clear()


def choices_of(size, model):
    branches = calibrate_public_count(SMALL, 0.05) if size.stddev is None else calibrate_private_count(SMALL, 0.05)
    return choose_stable_cores(branches.tested, size, 0.1, model)


@pytest.mark.parametrize("stddev", [None, 15.0])
def test_choices_are_the_same_whether_remembered_or_not(stddev):
    model = DataModel.of(np.array([2.0, 1.0]), 0.03, "heavy")
    forget()
    for count in (700.0, 700.3, 701.9, 1500.0):  # the second is answered by what the first one left
        size = Size(count, stddev, 4096)
        remembered = choices_of(size, model)
        before = _search_choices.cache_info().misses
        forget()
        assert choices_of(size, model) == remembered
        assert before > 0
    assert remembered


def test_a_choice_keeps_no_simulation_alive():
    """The table of distances behind it is large; only a weak reference to it is kept."""
    import gc
    import weakref

    base = simulate_friend_radii(np.array([5.0]))
    held = FriendRadii(base.squared.copy())
    choices_of(Size(900.0, None, 4096), DataModel(held, 0.03, 1.0))
    watched = weakref.ref(held)
    del held
    gc.collect()
    assert watched() is None


def test_other_beliefs_are_other_choices():
    """Nothing public may be missing from the key: another spectrum, share of outliers or tail is asked anew."""
    size, models = Size(900.0, None, 4096), [DataModel.of(np.ones(2), 0.03, "gaussian")]
    models += [DataModel.of(2 * np.ones(2), 0.03, "gaussian"), DataModel.of(np.ones(2), 0.0, "gaussian")]
    models += [DataModel.of(np.ones(2), 0.03, "heavy")]
    assert len({min(choice.noise for choice in choices_of(size, model)) for model in models}) == len(models)


def test_schedules_are_the_same_whether_remembered_or_not():
    model, spectrum = DataModel.of(np.array([2.0, 1.0]), 0.03, "heavy"), np.array([2.0, 1.0])
    cores = choices_of(Size(1500.0, None, 4096), model)
    options = {"count": 1500.0, "level": 0.95, "relation": Neighbors.REPLACE_ONE, "blocks": True}
    forget()
    first = choose_schedule(cores, spectrum, **options)
    assert choose_schedule(cores, spectrum, **options) is first
    assert choose_schedule(cores, 3 * spectrum, **options) != first
    assert choose_schedule(cores, spectrum, **options, with_lengths=True) != first
    forget()
    assert choose_schedule(cores, spectrum, **options) == first


@pytest.mark.parametrize("options", [{"covariance": IsotropicCovariance(1.0)}, {}])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_release_does_not_notice(rng, options, neighbors):
    table = rng.normal(size=(900, 2))
    common = {"epsilon": 1.0, "delta": 1e-3, "neighbors": neighbors, **options}
    forget()
    first = release_mean(table, noise=SeededNoise(5), **common)
    again = release_mean(table, noise=SeededNoise(5), **common)  # with everything remembered
    assert not first.refused
    assert first.to_json() == again.to_json()


FEW_SPECTRA = {
    "one direction": np.array([2.0]),
    "flat": np.ones(500),
    "steep": 1.0 / np.arange(1, 301) ** 2,
    "long tail": np.concatenate([np.full(10, 5.0), np.full(990, 0.1)]),
}
each_spectrum = pytest.mark.parametrize("spectrum", FEW_SPECTRA.values(), ids=FEW_SPECTRA.keys())


@each_spectrum
def test_distances_have_the_moments_of_the_model(spectrum):
    """|y - y'|² is a sum of 2·λ·χ²: mean 2·Σλ, variance 8·Σλ²; the simulation and its seed are fixed."""
    squared = simulate_friend_radii(spectrum).squared
    assert squared.mean() == pytest.approx(2 * spectrum.sum(), rel=0.06)
    assert squared.var() == pytest.approx(8 * (spectrum**2).sum(), rel=0.2)


@each_spectrum
def test_the_simulation_is_reproducible(spectrum):
    first = simulate_friend_radii(spectrum)
    friend_radius._simulate.cache_clear()
    assert np.array_equal(first.squared, simulate_friend_radii(spectrum).squared)


@each_spectrum
@pytest.mark.parametrize(("share", "losers"), [(0.7, 20.0), (0.9, 20.0), (0.8, 1.0)])
def test_honest_records_have_the_friends_they_were_promised(spectrum, share, losers, rng):
    """400 honest records: not many more lack friends than expected (three times, and six more, is no accident)."""
    count = 400
    records = rng.normal(size=(count, len(spectrum))) * np.sqrt(spectrum)
    clipping = simulate_friend_radii(spectrum).radius(share, losers, count) ** 2
    squares = (records**2).sum(axis=1)
    friends = (squares[:, None] + squares - 2 * records @ records.T <= clipping).sum(axis=1)
    assert (friends < share * count).sum() <= 3 * losers + 6


@pytest.mark.parametrize(("allowed", "failure"), [(0, 0.0025), (1, 0.0025), (8, 0.01), (128, 1e-6)])
def test_tolerated_losers_is_the_largest(allowed, failure):
    found = tolerate_friendless(allowed, failure)
    assert poisson.sf(allowed, found) <= failure * (1 + 1e-9)
    assert poisson.sf(allowed, 1.01 * found) > failure
