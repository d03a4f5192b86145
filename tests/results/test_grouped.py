"""GroupMeans: a guarantee that its runs cannot keep is not made; what is written reads back the same; compose."""

import json
import math
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs, Gaussian
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.losses import Pure
from dimfree.accounting.several_runs import ComposedRuns, Composition, Runs
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.results.composed import Composed, compose
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
STEPS = 2**24


def gaussian_delta(mu, epsilon):
    """The textbook's delta of one Gaussian, from the standard library."""
    below = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731 - of the standard normal
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


def ledger(mu, epsilon=3.0, delta=1e-4, neighbors=ADD):
    """Of a run that was charged one Gaussian of this mu under a promise that is large enough for it."""
    return Costs(Budget(epsilon, delta), neighbors, (Gaussian("mean", STEPS, STEPS / mu, 1, 1 / STEPS),), ())


def promise(mu, epsilon=1.0, spare=1.01, **changes):
    """The least promise that covers one Gaussian of this mu, by the textbook, and the reserve for discrete noise."""
    return replace(Guarantee(epsilon, spare * gaussian_delta(mu, epsilon) + 2e-7, ADD, True), **changes)


def a_release(charged, stated, *, refused=False):
    """A release with this ledger under the promise."""
    common = {
        "guarantee": stated,
        "charges": charged,
        "method": "stable",
        "dimension": 2,
        "columns": ("x", "y"),
        "parameters": {},
    }
    if refused:
        return Release.from_refusal("Too few records.", **common)
    return Release.released(mean=np.array([0.1, -0.0]), noise_stddev=np.array([1.0, 2.0]), **common)


def overall(mu, **changes):
    run = ledger(mu)
    return a_release(run, replace(Guarantee(run.budget.epsilon, run.budget.delta, ADD, True), **changes))


def group(mu, stated, before=None, *, refused=False):
    """Return the release of a group, after the overall run or alone."""
    budget = Budget(stated.epsilon, stated.delta)
    alone = Costs(budget, stated.neighbors, ledger(mu).before, ())
    charged = alone if before is None else Runs(budget, stated.neighbors, (before.charges, ledger(mu)))
    return a_release(charged, stated, refused=refused)


# ------------------------------------------------------------------------------------------------ accounting


def test_the_overall_run_and_one_group_add_up_by_precision():
    before, whole = overall(0.3), promise(0.5)
    assert len(GroupMeans(whole, {key: group(0.4, whole, before) for key in "ab"}, before)) == 2
    for spare in (0.97, 0.5):
        with pytest.raises(InvalidParameterError, match="compose to at most"):
            group(0.4, promise(0.5, spare=spare), before)


def test_a_mutant_whose_runs_each_spend_everything_is_refused():
    """Wrong: the overall run and each group at the full budget."""
    whole = promise(0.4)
    assert (
        GroupMeans(whole, {key: group(0.4, whole) for key in "ab"}).overall is None
    )  # without an overall run it is right
    with pytest.raises(InvalidParameterError, match="compose to at most"):
        group(0.4, whole, overall(0.4))


def test_a_run_that_states_less_than_it_was_charged_is_refused():
    """Adding up trusts the runs' own promises, so those have to hold."""
    honest, lying = ledger(0.4), ledger(0.4, epsilon=0.1, delta=1e-9)
    assert Runs(Budget(3.5, 1e-3), ADD, (honest,)).delta() <= 1e-3
    with pytest.raises(ValueError, match="exceeds its own budget"):
        Runs(Budget(3.5, 1e-3), ADD, (honest, lying))


def test_groups_with_other_charges_are_refused():
    whole, before = promise(0.5), overall(0.3)
    even = group(0.4, whole, before)
    for odd, first in (
        (group(0.2, whole, before), before),  # another run of its own
        (group(0.4, whole), before),  # the overall run is left out
        (group(0.4, whole, overall(0.2)), before),  # another one
        (even, None),  # it is charged, but not there
    ):
        with pytest.raises(InvalidParameterError, match="charged for the overall run"):
            GroupMeans(whole, {"a": odd, "b": even}, first)


def test_fifty_groups_cost_what_one_does():
    before, whole = overall(0.3), promise(0.5)
    one, many = (GroupMeans(whole, {key: group(0.4, whole, before) for key in range(n)}, before) for n in (1, 50))
    assert compose([many]).delta(1.0) == pytest.approx(gaussian_delta(0.5, 1.0) + 2e-7, rel=1e-3)
    assert compose([many]).delta(1.0) == compose([one]).delta(1.0) == compose([many[7]]).delta(1.0)
    assert gaussian_delta(math.hypot(0.3, 0.4 * math.sqrt(50)), 1.0) > 50 * gaussian_delta(0.5, 1.0)  # in sequence


@pytest.mark.parametrize(
    "change", [{"private": False}, {"privacy_unit": "person"}, {"neighbors": REPLACE}, {"delta": 0.5}]
)
def test_every_release_states_the_same_guarantee(change):
    whole = promise(0.5)
    even, odd = (group(0.1, stated) for stated in (whole, replace(whole, **change)))
    with pytest.raises(InvalidParameterError, match="the guarantee of all"):
        GroupMeans(whole, {"a": even, "b": odd})
    if "private" in change or "privacy_unit" in change:
        before = overall(0.3, **change)
        with pytest.raises(InvalidParameterError, match="the same people"):
            GroupMeans(whole, {"a": group(0.4, whole, before)}, before)
    with pytest.raises(InvalidParameterError, match="add-remove"):  # a record may move to another group
        GroupMeans(promise(0.5, neighbors=REPLACE), {"a": group(0.1, promise(0.5, neighbors=REPLACE))})


# ------------------------------------------------------------------------------------------------ reading


@pytest.fixture
def means():
    whole, before = promise(0.5), overall(0.3)
    keys = {"north": False, "south": True, "east": False}
    return GroupMeans(whole, {key: group(0.4, whole, before, refused=no) for key, no in keys.items()}, before)


def test_it_reads_like_a_dictionary(means):
    assert list(means) == ["north", "south", "east"]
    assert means["north"].mean.tolist() == [0.1, -0.0]
    assert means.refused == ("south",)
    assert "west" not in means
    assert "All 3 group means together" in means.statement()
    assert (
        repr(means) == f"<GroupMeans: 3 group(s), 1 refused, epsilon=1.0, delta={means.guarantee.delta!r}, add-remove>"
    )
    with pytest.raises(KeyError):
        means["west"]


def test_nothing_in_it_can_be_changed(means):
    with pytest.raises(TypeError):
        means.releases["north"] = means["east"]
    with pytest.raises(FrozenInstanceError):
        means.guarantee = promise(0.6)
    releases = {"a": group(0.1, promise(0.5))}
    copied = GroupMeans(promise(0.5), releases)
    releases["b"] = group(0.2, promise(0.5))
    assert list(copied) == ["a"]


@pytest.mark.parametrize("keys", [[], [1.5], [True], ["a", 1], [None], [("a",)]])
def test_names_that_are_no_names_of_groups(keys):
    with pytest.raises(InvalidParameterError, match="`groups` must be"):
        GroupMeans(promise(0.5), {key: group(0.1, promise(0.5)) for key in keys})


# ------------------------------------------------------------------------------------------------ JSON


def same(one, other):
    return (one.guarantee, list(one.items()), one.overall) == (other.guarantee, list(other.items()), other.overall)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("keys", [("b", "ä \"x\" 'y'"), (7, 3)])
def test_json_gives_back_the_same(keys, learned):
    whole, before = promise(0.5), overall(0.3) if learned else None
    releases = {keys[0]: group(0.4, whole, before), keys[1]: group(0.4, whole, before, refused=True)}
    means = GroupMeans(whole, releases, before)
    back = GroupMeans.from_json(means.to_json())
    assert same(back, means)
    assert [type(key) for key in back] == [type(key) for key in keys]
    assert back.to_json() == means.to_json()


def changed(means, change):
    document = json.loads(means.to_json())
    change(document)
    return json.dumps(document)


DAMAGE = {
    "one entry more": lambda d: d.update(more=1),
    "the overall run dropped": lambda d: d.update(overall=None),
    "no format": lambda d: d.pop("means"),
    "no promise": lambda d: d.pop("guarantee"),
    "no overall run": lambda d: d.pop("overall"),
    "no groups": lambda d: d.pop("groups"),
    "empty groups": lambda d: d.update(groups=[]),
    "groups of another kind": lambda d: d.update(groups={"a": 1}),
    "a key twice": lambda d: d["groups"][1].update(key="north"),
    "a key of another kind": lambda d: d["groups"][1].update(key=1),
    "a key that is a list": lambda d: d["groups"][1].update(key=["a"]),
    "no key": lambda d: d["groups"][1].pop("key"),
    "no release": lambda d: d["groups"][1].update(release=None),
    "a damaged release": lambda d: d["groups"][0]["release"].pop("mean"),
    "a damaged overall run": lambda d: d["overall"].update(dimension=0),
    "a smaller promise": lambda d: d["guarantee"].update(delta=d["guarantee"]["delta"] * 0.9),
    "a promise of persons": lambda d: d["guarantee"].update(privacy_unit="person"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_json_is_one_sentence(means, damage):
    with pytest.raises(InvalidFileError, match=r"export it again with means.to_json\(\)"):
        GroupMeans.from_json(changed(means, damage))


def test_json_that_is_none_or_of_another_format(means):
    with pytest.raises(InvalidFileError, match="format number of a means file must be 2: read this file"):
        GroupMeans.from_json(changed(means, lambda d: d.update(means=1)))
    text = means.to_json()
    for wrong in ("", text[: len(text) // 2], text + "x", "[]", "3", "null", None):
        with pytest.raises(InvalidFileError, match="export it again"):
            GroupMeans.from_json(wrong)


@pytest.mark.parametrize("delta", [1.2324e-6, 1.0049e-9, 0.1])
def test_the_delta_that_is_said_to_be_enough_is_enough(delta):
    """Of runs of which only the promise is known."""
    budget = Budget(1.0, delta)
    run = Composition(budget, Neighbors.ADD_REMOVE, (Pure("all", 1.0),))
    three = Composed(Neighbors.ADD_REMOVE, True, 3, "one", ComposedRuns((run,) * 3), (budget,) * 3)
    with pytest.raises(InvalidParameterError) as error:
        three.epsilon(delta / 2)
    said = re.search(r"(\S+) is enough", str(error.value))
    assert said is not None
    assert three.epsilon(float(said[1])) <= 3.01
