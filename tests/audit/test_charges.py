"""Every event states what was drawn: twins that state too little, or draw too little, are caught in every mechanism."""

from dataclasses import replace

import pytest

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Pure
from dimfree.audit.exact.claims import precise, promising
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.charges import charges
from dimfree.audit.numerics.checks import NUMERICS
from dimfree.audit.registry import charge_cases
from dimfree.paper.charged import Charged

CASES = {case.name: case for case in charge_cases()}
GAUSSIAN = [name for name, case in CASES.items() if isinstance(case.cost, float)]
LAPLACE = [name for name, case in CASES.items() if isinstance(case.cost, tuple)]


def test_right_mechanisms_state_what_they_draw():
    assert charges() == []
    assert NUMERICS["charges state what was drawn"] is charges


def test_everything_that_draws_is_looked_at():
    said = " ".join(CASES)
    for word in (
        *("count", "total weight", "core mean", "clipped mean", "scores", "group means", "search", "unit"),
        *("friend radius", "medians", "histograms of coordinates", "Laplace count", "heaviest", "sparse vector"),
        *("unevenness", "weight of unevenness", "spread in a basis", "togetherness", "outer products"),
        *("soft histograms", "lengths of records", "valid records", "missing share", "missing entries", "crossing"),
        *("ring lengths", "ring unit", "ring scores"),
    ):
        assert word in said
    assert len(GAUSSIAN) + len(LAPLACE) == len(CASES)
    for word in (
        *("clipped mean", "scores", "togetherness", "outer products", "friend radius", "medians", "histograms"),
        *("soft histograms", "lengths of records", "missing entries", "ring lengths", "ring unit", "ring scores"),
    ):
        assert {f"{relation}" for relation in ("add-remove", "replace-one")} == {
            name.split(", ")[1] for name in CASES if name.startswith(word)
        }


class Halved:
    """Noise that draws half of what is asked for."""

    def __init__(self, source):
        self.source = source

    def gaussian(self, stddev, size):
        return self.source.gaussian(stddev / 2, size)

    def laplace(self, scale, size):
        return self.source.laplace(scale / 2, size)


def lying(case, **changes):
    """The same mechanism with another event."""

    def release(noise):
        found = case.release(noise=noise)
        return Charged(found.value, replace(found.event, **{k: new(found.event) for k, new in changes.items()}))

    return replace(case, release=release)


@pytest.mark.parametrize("name", CASES)
def test_twice_the_noise_drawn_is_not_stated(name):
    """The sparse vector with few answers has noise to spare: half of it still keeps the claim, so it is not accused."""
    case = CASES[name]
    complaints = charges([replace(case, release=lambda noise: case.release(noise=Halved(noise)))])
    assert bool(complaints) == (name != "sparse vector")


def test_a_sparse_vector_with_too_little_noise_is_caught():
    case = CASES["sparse vector"]
    thin = replace(case, release=lambda noise: case.release(noise=Halved(Halved(Halved(noise)))))
    assert charges([thin]) == ["sparse vector: less is stated than the noise gives"]


GAUSSIAN_LIES = {
    "half the sensitivity": {"sensitivity": lambda e: e.sensitivity / 2},
    "half the sensitivity, twice the step": {"sensitivity": lambda e: e.sensitivity / 2, "step": lambda e: 2 * e.step},
    "twice the noise": {"stddev": lambda e: 2 * e.stddev},
    "a finer grid": {"step": lambda e: e.step / 2},
}


@pytest.mark.parametrize("lie", GAUSSIAN_LIES)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_gaussian_that_understates_is_caught(name, lie):
    assert charges([lying(CASES[name], **GAUSSIAN_LIES[lie])])


@pytest.mark.parametrize("name", [name for name in GAUSSIAN if CASES[name].draws])
def test_another_dimension_is_caught(name):
    assert charges([lying(CASES[name], dimension=lambda e: e.dimension + 1)]) == [
        f"{name}: another dimension than the number of draws"
    ]


@pytest.mark.parametrize("name", LAPLACE)
def test_half_an_epsilon_is_caught(name):
    assert charges([lying(CASES[name], epsilon=lambda e: e.epsilon / 2)])


@pytest.mark.parametrize("name", [name for name in LAPLACE if CASES[name].cost[1]])
def test_half_a_delta_is_caught(name):
    assert charges([lying(CASES[name], delta=lambda e: e.delta / 2)])


def test_silence_instead_of_noise_is_caught():
    class Nothing:
        def gaussian(self, stddev, size):
            return ZeroNoise().gaussian(stddev, size)

    case = CASES["count"]
    assert charges([replace(case, release=lambda noise: case.release(noise=Nothing()))]) == ["count: nothing was drawn"]


# ---- what to ask for


def test_what_is_asked_for_makes_up_for_what_is_stated():
    """An honest event leaves the claim as it is; one that states half is asked for twice as much."""
    assert promising(0.5, 0.01, lambda e, d: Approximate("", e, d)) == pytest.approx((0.5, 0.01))
    assert promising(0.5, 0.01, lambda e, d: Approximate("", e / 2, d / 4)) == pytest.approx((1.0, 0.04))
    assert promising(0.5, 0.01, lambda e, d: Pure("", 2 * e)) == pytest.approx((0.5, 0.01))
    assert precise(0.4, lambda mu: Gaussian("", 1.0, 1 / mu, 1, 1.0)) == pytest.approx(0.4)
    assert precise(0.4, lambda mu: Gaussian("", 0.5, 1 / mu, 1, 1.0)) == pytest.approx(0.8)
    assert precise(0.4, lambda mu: Gaussian("", 2.0, 1 / mu, 1, 1.0)) == pytest.approx(0.4)
