"""What is remembered between releases is public, and the same bits as if it were computed anew."""

import numpy as np
import pytest

from dimfree.accounting import events, precision
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import calibrate_private_count, calibrate_public_count
from dimfree.noise import SeededNoise
from dimfree.programs.choose.core import HonestModel, Size, _searched, stable_choices
from dimfree.programs.choose.friend_radius import FriendRadii, friend_radii
from dimfree.programs.choose.stages import _best, best_schedule
from dimfree.release import release_mean
from dimfree.shapes import Isotropic

BUDGET = Budget(1.0, 1e-3)
CACHES = (_searched, _best, precision.largest_mu, events.ideal_delta)


def forget():
    for cache in CACHES:
        cache.cache_clear()


def choices_of(size, model):
    menu = calibrate_public_count(BUDGET, 0.05) if size.stddev is None else calibrate_private_count(BUDGET, 0.05)
    return stable_choices(menu.tested, size, 0.1, model)


@pytest.mark.parametrize("stddev", [None, 15.0])
def test_choices_are_the_same_whether_remembered_or_not(stddev):
    model = HonestModel.of(np.array([2.0, 1.0]), 0.03, "heavy")
    forget()
    for count in (700.0, 700.3, 701.9, 1500.0):  # the second is answered by what the first one left
        size = Size(count, stddev, 4096)
        remembered = choices_of(size, model)
        before = _searched.cache_info().misses
        forget()
        assert choices_of(size, model) == remembered
        assert before > 0
    assert remembered


def test_a_choice_keeps_no_simulation_alive():
    """The table of distances behind it is large; only a weak reference to it is kept."""
    import gc
    import weakref

    base = friend_radii(np.array([5.0]))
    held = FriendRadii(base.squared.copy())
    choices_of(Size(900.0, None, 4096), HonestModel(held, 0.03, 1.0))
    watched = weakref.ref(held)
    del held
    gc.collect()
    assert watched() is None


def test_other_beliefs_are_other_choices():
    """Nothing public may be missing from the key: another spectrum, share of outliers or tail is asked anew."""
    size, models = Size(900.0, None, 4096), [HonestModel.of(np.ones(2), 0.03, "gaussian")]
    models += [HonestModel.of(2 * np.ones(2), 0.03, "gaussian"), HonestModel.of(np.ones(2), 0.0, "gaussian")]
    models += [HonestModel.of(np.ones(2), 0.03, "heavy")]
    assert len({min(choice.noise for choice in choices_of(size, model)) for model in models}) == len(models)


def test_schedules_are_the_same_whether_remembered_or_not():
    model, spectrum = HonestModel.of(np.array([2.0, 1.0]), 0.03, "heavy"), np.array([2.0, 1.0])
    cores = choices_of(Size(1500.0, None, 4096), model)
    options = {"count": 1500.0, "level": 0.95, "relation": Neighbours.REPLACE_ONE, "blocks": True}
    forget()
    first = best_schedule(cores, spectrum, **options)
    assert best_schedule(cores, spectrum, **options) is first
    assert best_schedule(cores, 3 * spectrum, **options) != first
    assert best_schedule(cores, spectrum, **options, looked=True) != first
    forget()
    assert best_schedule(cores, spectrum, **options) == first


@pytest.mark.parametrize("options", [{"shape": Isotropic(1.0)}, {}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_release_does_not_notice(rng, options, neighbours):
    table = rng.normal(size=(900, 2))
    common = {"epsilon": 1.0, "delta": 1e-3, "neighbours": neighbours, **options}
    forget()
    first = release_mean(table, noise=SeededNoise(5), **common)
    again = release_mean(table, noise=SeededNoise(5), **common)  # with everything remembered
    assert not first.refused
    assert first.to_json() == again.to_json()
