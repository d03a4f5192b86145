"""The plan beside a release is what `dimfree.plan` gives for the same public numbers; or the page says why not."""

import numpy as np
import pytest
from pages import released
from routes import with_options

import dimfree
from dimfree.report.context import MOST_SIMULATED, Planned, planned_noise

STDDEVS = np.array([1.0, 0.5, 0.25])


def known(**options):
    rng = np.random.default_rng(0)
    noise = dimfree.SeededNoise(1)
    table = rng.normal(size=(3000, 3)) * STDDEVS
    return dimfree.release_mean(
        table, **with_options(epsilon=1.0, delta=1e-6, covariance=STDDEVS**2, noise=noise, **options)
    )


@pytest.mark.parametrize("tails", ["heavy", "gaussian"])
def test_plan_is_that_of_the_same_public_numbers(tails):
    release = known(tails=tails)
    found = planned_noise(release, {"tails": tails, "epsilon": 3.0})
    count = round(release.parameters["count"])
    wanted = dimfree.plan(n=count, spectrum=STDDEVS, epsilon=1.0, delta=1e-6, knowledge="covariance", tails=tails)
    assert isinstance(found, Planned)
    assert found.noise == pytest.approx(wanted.prediction.noise, rel=1e-12)
    assert found.sampling == pytest.approx(wanted.prediction.sampling, rel=1e-12)
    assert found.actual == pytest.approx(np.sqrt((release.noise_stddev**2).sum()), rel=1e-12)
    assert found.count == count


def test_dense_covariance_is_planned_along_its_own_directions():
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    table = np.random.default_rng(0).normal(size=(3000, 3)) * STDDEVS @ turn.T
    options = {"epsilon": 1.0, "delta": 1e-6, "noise": dimfree.SeededNoise(1)}
    release = dimfree.release_mean(table, covariance=turn * STDDEVS**2 @ turn.T, **options)
    found = planned_noise(release, {})
    wanted = dimfree.plan(n=found.count, spectrum=STDDEVS, epsilon=1.0, delta=1e-6, knowledge="covariance")
    assert found.noise == pytest.approx(wanted.prediction.noise, rel=1e-6)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (released([1.0], method="basic"), "no plan for the method"),
        (released([1.0], method="stable"), "neither public"),
        (released([1.0], method="stable", spread=1.0, records=9.0), "neither public"),  # no released count
        (released([1.0], method="auto", spread=1.0, records=9.0, count=3.0), "expected a refusal"),
        (released(np.ones(MOST_SIMULATED + 1), method="auto", spread=1.0, count=9e3), "takes too long"),
        (released([1.0], method="stable", spread=1e200, count=9e3), "outside the range of the plan"),
    ],
)
def test_no_plan_says_why(release, said):
    assert said in planned_noise(release, {})
