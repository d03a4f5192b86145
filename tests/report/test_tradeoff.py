"""The trade-off curve of a release: below the true one, close to it, and never worse than the promise."""

import json
import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from pages import of_groups, refused, released

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs, Gaussian, OnlyGaussian
from dimfree.accounting.guarantee import Guarantee
from dimfree.programs.run import TOO_FEW
from dimfree.report.page import render_registry
from dimfree.report.tradeoff import RATES, Tradeoff, compute_detected, describe_attacks, gaussian_missed, guessed_right


def gaussian_costs(mu, epsilon=1.0, delta=1e-5, branches=()):
    event = Gaussian("mean", 2.0**24, 2.0**24 / mu, 1, 1.0)
    return Costs(Budget(epsilon, delta), Neighbors.ADD_REMOVE, before=(event,), branches=branches)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.05, 1.0), (0.2, 1.0), (0.8, 4.0), (3.0, 20.0)])
def test_curve_of_one_gaussian_is_found_from_its_charge(mu, epsilon):
    curve = Tradeoff.of(gaussian_costs(mu, epsilon))
    true = gaussian_missed(mu, RATES)
    assert np.all(curve.compute_missed(RATES) <= true + 1e-12), "a curve that promises more than is true"
    assert np.all(curve.compute_missed(RATES) >= true - 0.01)
    assert curve.mu == pytest.approx(mu, rel=0.05)
    assert curve.apart < 0.01
    more = Tradeoff.of(gaussian_costs(mu, epsilon, branches=(OnlyGaussian(mu),)))  # every prepared branch counts
    assert np.all(more.compute_missed(RATES) <= curve.compute_missed(RATES))
    exact = math.erf(mu / math.sqrt(8))  # total variation
    assert exact <= 2 * curve.guessed_right - 1 <= exact + 0.005


@pytest.mark.parametrize("release", [released([1.0, 2.0]), of_groups()], ids=["mean", "groups"])
def test_the_words_are_never_worse_than_the_promise(release):
    curve = Tradeoff.of(release.charges)
    found = describe_attacks(release.guarantee, curve)
    assert float(found["charged_guess"][:-1]) <= float(found["guess"][:-1])
    assert float(found["charged_test"][:-1]) <= float(found["test"][:-1])
    assert curve.guessed_right <= guessed_right(release.guarantee) + 1e-9
    assert curve.compute_detected(0.01) <= compute_detected(release.guarantee) + 1e-9


def test_huge_budgets_and_nothing_at_all():
    assert guessed_right(stated(2000.0, 1e-6)) == compute_detected(stated(2000.0, 1e-6)) == 1.0
    curve = Tradeoff.of(gaussian_costs(50.0, 3000.0))
    assert np.all(np.isfinite(curve.compute_missed(np.array([0.0, 0.5, 1.0]))))
    assert Tradeoff.of(Costs(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, before=(), branches=())) is None


SCHEMA = json.loads((Path(__file__).parent / "registry_schema.json").read_text(encoding="utf-8"))


def misfits(entry):
    """Where an entry does not fit the schema."""
    return [found.json_path for found in Draft202012Validator(SCHEMA).iter_errors(entry)]


@pytest.mark.parametrize("release", [released([1.0, 2.0]), of_groups(), refused(TOO_FEW)], ids=["mean", "groups", "no"])
def test_a_registry_entry_states_the_promise(release):
    words = {"title": "GroupMeans", "dataset": "trial-7", "purpose": "annual report", "owner": "Data office"}
    entry = json.loads(render_registry(release, **words, written=date(2024, 5, 1)))
    assert misfits(entry) == []
    promise, said = release.guarantee, entry["deployment"]
    assert said["privacy_loss"]["privacy_parameters"] == {"epsilon": promise.epsilon, "delta": promise.delta}
    assert said["privacy_loss"]["privacy_unit_details"] == promise.who
    assert said["basic"]["publication_date"] == "2024-05-01"
    assert said["basic"]["intended_use"] == "annual report"
    assert said["basic"]["data_curators"] == [{"data_curator_name": "Data office", "data_curator_type": None}]
    bare = json.loads(render_registry(release, written=date(2024, 5, 1)))
    assert misfits(bare) == []
    basic = bare["deployment"]["basic"]
    assert basic["data_curators"] == []
    basic["names"] = basic.pop("name")
    assert misfits(bare) == ["$.deployment.basic"] * 2, "one field is missing, and one is not known"


# ------------------------------------------------------------ what (epsilon, delta) means for one person


def worst_pair(epsilon, delta):
    """All is told with probability delta, otherwise the truth with odds e^epsilon: no pair is further apart."""
    truth = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    here = np.array([delta, truth, 1 - delta - truth, 0.0])
    return here, here[::-1]


def stated(epsilon, delta):
    return Guarantee(epsilon, delta, Neighbors.ADD_REMOVE, True)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 0.1), (5.0, 1e-3)])
@pytest.mark.parametrize("false_alarm", [0.001, 0.01, 0.3, 0.9])
def test_power_is_that_of_the_best_test_on_the_worst_pair(epsilon, delta, false_alarm):
    here, there = worst_pair(epsilon, delta)
    right = guessed_right(stated(epsilon, delta))
    assert right == pytest.approx(np.maximum(here, there).sum() / 2, rel=1e-12)
    shown = float(describe_attacks(stated(epsilon, delta), None)["guess"][:-1]) / 100
    assert right <= shown <= right + 0.001, "rounded up, never down"
    power, left = 0.0, false_alarm
    for hit, alarm in zip(here, there, strict=True):  # sorted by likelihood ratio already
        taken = 1.0 if alarm <= left else left / alarm
        power, left = power + taken * hit, left - taken * alarm
    assert compute_detected(stated(epsilon, delta), false_alarm) == pytest.approx(power, rel=1e-9)
