"""Means: a promise that its runs cannot keep is not made, and what leaves the house comes back."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from dimfree.accounting.events import Gaussian, Ledger
from dimfree.budget import Budget, Neighbours
from dimfree.composing import compose
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.guarantee import Guarantee
from dimfree.means import Means
from dimfree.result import Release

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
STEPS = 2**24


def gaussian_delta(mu, epsilon):
    """The textbook's delta of one Gaussian, from the standard library."""
    below = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731 - of the standard normal
    return below(mu / 2 - epsilon / mu) - math.exp(epsilon) * below(-mu / 2 - epsilon / mu)


def a_release(mu, *, refused=False, epsilon=3.0, delta=1e-4, **changes):
    """A release that was charged one Gaussian of this mu under a promise that has room for it."""
    charged = (Gaussian("mean", STEPS, STEPS / mu, 1, 1 / STEPS),) if mu else ()
    common = {
        "guarantee": Guarantee(**{"epsilon": epsilon, "delta": delta, "neighbours": ADD, "private": True} | changes),
        "ledger": Ledger(Budget(epsilon, delta), changes.get("neighbours", ADD), charged, ()),
        "method": "stable",
        "dimension": 2,
        "columns": ("x", "y"),
        "parameters": {},
    }
    if refused:
        return Release.refused_because("Too few records.", **common)
    return Release.released(mean=np.array([0.1, -0.0]), noise_stddev=np.array([1.0, 2.0]), **common)


def promise(mu, epsilon=1.0, spare=1.001, **changes):
    """The least promise that covers one Gaussian of this mu, by the textbook."""
    return replace(Guarantee(epsilon, spare * gaussian_delta(mu, epsilon), ADD, True), **changes)


# ------------------------------------------------------------------------------------------------ accounting


def test_the_overall_run_and_one_group_add_up_by_precision():
    overall, group = a_release(0.3), a_release(0.4)
    assert len(Means(promise(0.5), {"a": group, "b": group}, overall)) == 2
    for spare in (0.99, 0.5):
        with pytest.raises(InvalidParameter, match="compose to at most"):
            Means(promise(0.5, spare=spare), {"a": group, "b": group}, overall)


def test_a_twin_whose_runs_each_spend_everything_is_refused():
    """Wrong: the overall run and each group at the full budget."""
    whole = promise(0.4)
    full = a_release(0.4)
    assert Means(whole, {"a": full, "b": full}).overall is None  # without an overall run that is right
    with pytest.raises(InvalidParameter, match="compose to at most"):
        Means(whole, {"a": full, "b": full}, full)


def test_the_worst_group_counts_wherever_it_stands():
    light, heavy = a_release(0.1), a_release(0.5)
    for order in ((light, heavy, light), (heavy, light, light), (light, light, heavy)):
        releases = dict(zip("abc", order, strict=True))
        with pytest.raises(InvalidParameter, match="compose to at most"):
            Means(promise(0.45), releases)
        assert Means(promise(0.5), releases).ledgers == (heavy.ledger,)


def test_fifty_groups_cost_what_one_does():
    overall = a_release(0.3)
    one, many = (Means(promise(0.5), {key: a_release(0.4) for key in range(n)}, overall) for n in (1, 50))
    assert one.ledgers == many.ledgers
    assert compose([many]).delta(1.0) == pytest.approx(gaussian_delta(0.5, 1.0), rel=1e-3)
    assert compose([many]).delta(1.0) == compose([one]).delta(1.0)
    assert gaussian_delta(math.hypot(0.3, 0.4 * math.sqrt(50)), 1.0) > 50 * gaussian_delta(0.5, 1.0)  # in sequence


def test_groups_that_were_not_looked_at_are_charged_the_overall_run():
    overall = a_release(0.3, refused=True)
    unseen = a_release(0, refused=True)
    means = Means(promise(0.3), {"a": unseen, "b": unseen}, overall)
    assert means.refused == ("a", "b")
    assert means.ledgers == (overall.ledger, unseen.ledger)
    with pytest.raises(InvalidParameter, match="compose to at most"):
        Means(promise(0.29), {"a": unseen}, overall)


def test_a_record_that_may_move_to_another_group_is_not_covered():
    group = a_release(0.1, neighbours=REPLACE)
    with pytest.raises(InvalidParameter, match="add-remove"):
        Means(promise(0.5, neighbours=REPLACE), {"a": group})


@pytest.mark.parametrize("change", [{"private": False}, {"unit": "person"}, {"neighbours": REPLACE}])
def test_every_release_promises_the_same(change):
    odd, even = a_release(0.1, **change), a_release(0.1)
    for releases, overall in (({"a": even, "b": odd}, None), ({"a": even}, odd)):
        with pytest.raises(InvalidParameter, match="promise the same"):
            Means(promise(0.5), releases, overall)


# ------------------------------------------------------------------------------------------------ reading


@pytest.fixture
def means():
    releases = {"north": a_release(0.4), "south": a_release(0.4, refused=True), "east": a_release(0.2)}
    return Means(promise(0.5), releases, a_release(0.3))


def test_it_reads_like_a_dictionary(means):
    assert list(means) == ["north", "south", "east"]
    assert means["north"].mean.tolist() == [0.1, -0.0]
    assert means.refused == ("south",)
    assert "west" not in means
    with pytest.raises(KeyError):
        means["west"]


def test_nothing_in_it_can_be_changed(means):
    with pytest.raises(TypeError):
        means.releases["north"] = means["east"]
    with pytest.raises(FrozenInstanceError):
        means.guarantee = promise(0.6)


def test_a_dictionary_changed_afterwards_is_another_one():
    releases = {"a": a_release(0.1)}
    means = Means(promise(0.5), releases)
    releases["b"] = a_release(3.0, epsilon=50.0)
    assert list(means) == ["a"]


def test_what_it_says(means):
    assert "All 3 means together" in means.statement()
    assert "one group at most" in means.statement()
    assert repr(means) == f"<Means: 3 group(s), 1 refused, epsilon=1.0, delta={means.guarantee.delta!r}, add-remove>"


@pytest.mark.parametrize("keys", [[], [1.5], [True], ["a", 1], [None], [("a",)]])
def test_names_that_are_no_names_of_groups(keys):
    with pytest.raises(InvalidParameter, match="Expected keys"):
        Means(promise(0.5), {key: a_release(0.1) for key in keys})


# ------------------------------------------------------------------------------------------------ JSON


def same(one, other):
    return (one.guarantee, list(one.items()), one.overall) == (other.guarantee, list(other.items()), other.overall)


@pytest.mark.parametrize("overall", [None, 0.3])
@pytest.mark.parametrize("keys", [("b", "ä \"x\" 'y'"), (7, 3)])
def test_json_gives_back_the_same(keys, overall):
    releases = {keys[0]: a_release(0.4), keys[1]: a_release(0.4, refused=True)}
    means = Means(promise(0.5), releases, overall and a_release(overall))
    back = Means.from_json(means.to_json())
    assert same(back, means)
    assert [type(key) for key in back] == [type(key) for key in keys]
    assert back.to_json() == means.to_json()


def changed(means, change):
    document = json.loads(means.to_json())
    change(document)
    return json.dumps(document)


DAMAGE = {
    "another format": lambda d: d.update(means=2),
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
    "a promise of persons": lambda d: d["guarantee"].update(unit="person"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_json_is_one_sentence(means, damage):
    with pytest.raises(InvalidFile, match=r"export it again with means.to_json\(\)"):
        Means.from_json(changed(means, damage))


def test_json_that_is_none(means):
    text = means.to_json()
    for wrong in ("", text[: len(text) // 2], text + "x", "[]", "3", "null", None, means["north"].to_json()):
        with pytest.raises(InvalidFile, match="export it again"):
            Means.from_json(wrong)
