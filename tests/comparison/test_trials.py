"""The harness: everybody gets the same records and the same promise, and whoever cheats is found out."""

import math
import weakref
from dataclasses import dataclass, replace
from hashlib import sha256
from inspect import Parameter, signature

import numpy as np
import pandas as pd
import pytest
from dimfree.comparison import contestants
from dimfree.comparison.baselines.clipped import clipped
from dimfree.comparison.baselines.not_private import NotPrivate
from dimfree.comparison.contestants import CONTESTANTS, FACTS, Contestant, chosen
from dimfree.comparison.outcome import Comparison
from dimfree.comparison.points import Point
from dimfree.comparison.trials import compare, scored
from dimfree.comparison.worlds import GENEROUS, PublicTable, Synthetic
from stats import sampling

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.errors import InvalidParameter, InvalidRecords

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
both = pytest.mark.parametrize("relation", [ADD, REPLACE], ids=str)
QUICK = ("empirical mean", "oracle floor", "CoinPress", "clipped mean")
PROMISE = {"epsilon": 1.0, "delta": 1e-6}


def point(relation=ADD, count=50, world=None):
    return Point(count, world or Synthetic("S2", 4), count, Budget(4.0, 1e-6), relation)


def comparison(**changes):
    return compare(**{"n": 60, "d": 3, "estimators": QUICK, "trials": 2, **PROMISE, **changes})


def all_errors(found):
    return {(score.name, score.at): score.errors for score in found.scores}


# Everybody gets the same: recording contestants, and a judge that reads their notes


@dataclass(frozen=True)
class Note:
    """What one contestant was handed, once."""

    name: str
    trial: int
    digest: str
    address: int
    writeable: bool
    promise: tuple[float, float, str]
    options: tuple[str, ...]
    noise: object


class Stand:
    """Contestants that write down what they are handed before they answer."""

    def __init__(self):
        self.notes: list[Note] = []

    def recording(self, contestant: Contestant) -> Contestant:
        def estimate(X, **given):
            self.notes.append(self._note(contestant.name, X, given))
            return contestant.estimate(X, **given)

        return replace(contestant, estimate=estimate)

    def _note(self, name, X, given):
        trial = sum(note.name == name for note in self.notes)
        promise = (given["epsilon"], given["delta"], given["neighbours"])
        known = X.__array_interface__["data"][0]
        return Note(name, trial, digest(X), known, X.flags.writeable, promise, tuple(sorted(given)), given["noise"])


def digest(X):
    return sha256(np.ascontiguousarray(X).tobytes() + str(X.shape).encode()).hexdigest()


def judge(notes, at):
    """Same bits, same memory, read-only, same promise, in every trial; noise of its own."""
    for trial in {note.trial for note in notes}:
        seen = [note for note in notes if note.trial == trial]
        assert len({note.digest for note in seen}) == 1, "not the same records"
        assert len({note.address for note in seen}) == 1, "a copy was made"
    assert not any(note.writeable for note in notes), "records that can be written to"
    promise = (at.budget.epsilon, at.budget.delta, at.relation)
    assert {note.promise for note in notes} == {promise}, "not the same promise"
    assert len({id(note.noise) for note in notes}) == len(notes), "shared noise"


def _clipped(name="honest", **changes):
    def estimate(X, **given):
        return clipped(X, radius=10.0, **{**given, **changes})

    return Contestant(name, (), estimate)


@both
def test_everybody_gets_the_same_records_and_the_same_promise(relation):
    stand, at = Stand(), point(relation, 200)
    whom = [stand.recording(contestant) for contestant in CONTESTANTS]
    scores = scored(at, [*whom, stand.recording(_clipped("the last one"))], 3, seed=5)
    judge(stand.notes, at)
    assert {note.name for note in stand.notes} >= {c.name for c in CONTESTANTS if relation in c.proved}
    assert all(len(score.errors) + score.refusals == 3 for score in scores if not score.remark)
    assert len({note.digest for note in stand.notes}) == 3  # a draw for each trial


def test_a_contestant_is_handed_nothing_but_the_promise_its_priors_and_noise():
    stand = Stand()
    scored(point(), [stand.recording(contestant) for contestant in CONTESTANTS], 1, seed=5)
    common = {"epsilon", "delta", "neighbours", "noise"}
    given = {note.name: set(note.options) - common for note in stand.notes}
    known = Synthetic("S2", 4).draw(1, rng_of(0))[1]
    assert given == {contestant.name: set(contestant.priors(known)) for contestant in CONTESTANTS}


def rng_of(seed):
    return np.random.default_rng(seed)


def overwriting(X, **given):
    """Makes the memory behind its view writeable: only malice gets this far."""
    X.base.setflags(write=True)
    X.base[0] += 1.0
    return clipped(X, radius=10.0, **given)


def test_a_contestant_that_changes_the_records_is_caught():
    stand, at = Stand(), point()
    whom = [stand.recording(c) for c in (_clipped(), Contestant("cheat", (), overwriting), _clipped("next"))]
    scored(at, whom, 1, seed=5)
    with pytest.raises(AssertionError, match="not the same records"):
        judge(stand.notes, at)


def test_an_honest_attempt_to_write_is_an_error():
    def careless(X, **given):
        X -= X.mean(axis=0)

    with pytest.raises(ValueError, match="read-only"):
        scored(point(), [Contestant("careless", (), careless)], 1, seed=5)
    with pytest.raises(ValueError, match="WRITEABLE"):
        scored(point(), [Contestant("careless", (), lambda X, **_: X.setflags(write=True))], 1, seed=5)


@pytest.mark.parametrize(
    "cheat", [{"epsilon": 8.0}, {"delta": 1e-3}, {"neighbours": REPLACE}], ids=["epsilon", "delta", "relation"]
)
def test_a_contestant_that_takes_another_promise_is_caught(cheat):
    with pytest.raises(ValueError, match="cheat did not make the promise"):
        scored(point(), [_clipped(), _clipped("cheat", **cheat)], 1, seed=5)


def test_a_private_contestant_has_to_answer_with_a_release():
    naked = Contestant("naked", (), lambda X, **_: NotPrivate("naked", X.mean(axis=0), "no noise"))
    with pytest.raises(ValueError, match="naked did not make the promise"):
        scored(point(), [naked], 1, seed=5)


def test_the_judge_sees_another_promise_and_a_copy():
    stand, at = Stand(), point()
    scored(at, [stand.recording(_clipped())], 1, seed=5)
    (note,) = stand.notes
    for change, words in (
        ({"promise": (8.0, 1e-6, ADD)}, "promise"),
        ({"address": 0}, "copy"),
        ({"writeable": True}, "written"),
        ({}, "noise"),
    ):
        with pytest.raises(AssertionError, match=words):
            judge([note, replace(note, **change)], at)


def test_no_two_draws_are_in_memory_at_once():
    """The largest take gigabytes."""
    alive = []

    class Frugal(Synthetic):
        def draw(self, count, coins):
            assert not [ref for ref in alive if ref() is not None]
            X, known = super().draw(count, coins)
            alive.append(weakref.ref(X))
            return X, known

    scored(point(world=Frugal("S2", 4)), [_clipped(), _clipped("other")], 3, seed=5)
    assert len(alive) == 3


# What each is told


def test_every_estimator_is_told_exactly_what_it_requires():
    known = Synthetic("S3", 3).draw(5, rng_of(1))[1]
    for contestant in CONTESTANTS:
        parameters = signature(contestant.estimate).parameters.values()
        required = {p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY and p.default is Parameter.empty}
        told = set(contestant.priors(known))
        assert required - {"epsilon", "delta"} <= told, contestant.name
        assert bool(told) == bool(contestant.facts), contestant.name
        assert set(contestant.facts) <= set(FACTS), contestant.name


def test_what_is_told_is_what_is_said():
    """Each fact in words has its number among the parameters, and no other number is there."""
    known = Synthetic("S3", 3).draw(5, rng_of(1))[1]
    numbers = {
        "σ": ({"stddevs": known.stddevs}, {"covariance": known.stddevs**2}),
        "largest σ": ({"stddev": 1.0},),
        "pairs": ({"radius": known.pair_distance},),
        "R": ({"radius": known.radius},),
        "mean": ({"mean": known.mean},),
    }
    for contestant in CONTESTANTS:
        told = contestant.priors(known)
        for fact in contestant.facts:
            name = next(key for way in numbers[fact] for key in way if key in told and np.all(told[key] == way[key]))
            told.pop(name)
        assert not told, contestant.name


@sampling(1e-6)
def test_the_truth_that_is_told(rng):
    X, known = Synthetic("S3", 50).draw(4000, rng)
    assert known.radius == pytest.approx(GENEROUS * np.linalg.norm(known.mean))
    assert np.linalg.norm(known.mean) == pytest.approx(10 * np.linalg.norm(known.stddevs))
    assert np.abs(X.std(axis=0) / known.stddevs - 1).max() < 0.1
    apart = np.linalg.norm(X[:2000] - X[2000:], axis=1)
    assert 0.97 < np.mean(apart < known.pair_distance) < 1


def test_who_knows_more():
    by_name = {contestant.name: contestant for contestant in CONTESTANTS}
    for name, than_nothing, than_sigma in (
        ("Algorithm 2", "equal", "less"),
        ("Algorithm 1", "more", "equal"),
        ("ball", "more", "equal"),
        ("Karwa-Vadhan", "more", "equal"),
        ("FriendlyCore", "more", "less"),
        ("PLAN", "more", "more"),
        ("CoinPress", "more", "other"),
        ("Huang-Liang-Yi", "more", "other"),
        ("clipped mean", "more", "other"),
        ("oracle floor", "more", "more"),
    ):
        peer, world = by_name[name], Synthetic("S1", 3)
        assert peer.knows(by_name["dimfree"], world) == than_nothing
        assert peer.knows(by_name["dimfree known"], world) == than_sigma
    assert by_name["CoinPress"].knows(by_name["PLAN"], world) == "less"  # σ tells the largest of them, too


def test_in_a_table_the_pair_distance_does_not_follow_from_the_deviations(rng):
    """Two tables of equal mean and deviations whose pairs differ: correlation alone makes the difference."""
    column = rng.normal(size=(3000, 1))
    one, other = PublicTable.of(np.tile(column, 9)), PublicTable.of(rng.permuted(np.tile(column, 9), axis=0))
    assert one.priors.stddevs == pytest.approx(other.priors.stddevs)
    assert one.priors.pair_distance > 1.5 * other.priors.pair_distance
    known, friendly, plan = chosen(["dimfree known", "FriendlyCore", "PLAN"])
    assert friendly.knows(known, one) == known.knows(friendly, one) == friendly.knows(plan, one) == "other"
    assert friendly.knows(known, Synthetic("S1", 3)) == "less"
    assert "table" in FACTS["pairs"]


# Relations, refusals and errors of a contestant


def test_an_estimator_without_a_proof_for_the_relation_is_not_even_asked():
    def never(X, **given):
        raise AssertionError("asked without a proof")

    (score,) = scored(point(REPLACE), [Contestant("unproved", (), never, proved=(ADD,))], 2, seed=5)
    assert score.words == score.remark == "no proof for replace-one"
    assert (score.errors, score.refusals, score.typical) == ((), 0, math.inf)


def test_the_missing_proofs_are_those_of_release_mean():
    """Whoever takes part raises nothing, and whoever does not take part would have raised."""
    found = compare(n=30, d=2, neighbours="replace-one", trials=1, **PROMISE)
    unproved = [score.name for score in found.scores if score.remark]
    assert unproved == [contestant.name for contestant in CONTESTANTS if REPLACE not in contestant.proved]
    X, known = Synthetic("S1", 2).draw(30, rng_of(0))
    for contestant in chosen(unproved):
        with pytest.raises(InvalidParameter, match="proved for neighbours='add-remove' only"):
            contestant.answer(X, known, neighbours=REPLACE, **PROMISE)


def test_an_estimator_that_cannot_take_part_says_why_and_the_others_go_on():
    def particular(X, **given):
        raise InvalidParameter("Expected an even n.")

    lost, other = scored(point(), [Contestant("particular", (), particular), _clipped()], 2, seed=5)
    assert lost.words == lost.remark == "not possible: Expected an even n."
    assert (lost.refusals, lost.typical) == (0, math.inf)
    assert len(other.errors) == 2


def test_a_mistake_of_a_contestant_is_not_swept_under_the_table():
    with pytest.raises(ZeroDivisionError):
        scored(point(), [Contestant("broken", (), lambda X, **_: 1 / 0)], 1, seed=5)


def test_a_refusal_is_counted():
    found = comparison(n=5, estimators=["dimfree known"], trials=3)
    (score,) = found.scores
    assert (score.errors, score.refusals, score.words, score.typical) == ((), 3, "refused", math.inf)


# Seeds


def test_a_seed_reproduces_everything():
    one, two, other = (comparison(seed=seed) for seed in (3, 3, 4))
    assert all_errors(one) == all_errors(two)
    assert all_errors(one).keys() == all_errors(other).keys()
    assert all(found != all_errors(other)[place] for place, found in all_errors(one).items())


def test_the_draws_do_not_depend_on_who_takes_part():
    everybody, few = comparison(), comparison(estimators=QUICK[2:])
    assert all_errors(few).items() <= all_errors(everybody).items()


def test_the_draws_do_not_depend_on_the_budget():
    found = comparison(epsilon=[0.5, 4.0])
    assert found.score("empirical mean", 0.5).errors == found.score("empirical mean", 4.0).errors
    assert found.score("clipped mean", 0.5).errors != found.score("clipped mean", 4.0).errors


# The axis


@pytest.mark.parametrize(
    ("axis", "values"),
    [("n", [40, 60]), ("d", np.array([2, 3])), ("epsilon", (0.5, 2.0, 8.0)), ("spectrum", ["S1", "power:0.7"])],
)
def test_one_list_is_the_axis(axis, values):
    found = comparison(**{axis: values}, estimators=["clipped mean"])
    assert found.axis == axis
    assert found.points == list(values)
    assert len({score.errors for score in found.scores}) == len(values)
    assert type(found.points[0]) in (int, float, str)


def test_one_point_is_a_point_on_the_axis_of_records():
    found = comparison(n=np.int64(40), estimators=["clipped mean"])
    assert (found.axis, found.points) == ("n", [40])
    assert Comparison.from_json(found.to_json()) == found


def test_errors_shrink_with_records_and_with_epsilon():
    """Median of few draws, by factors that no luck turns around."""
    for axis, values in (("n", [50, 5000]), ("epsilon", [0.1, 10.0])):
        found = comparison(**{axis: values}, estimators=["clipped mean"])
        few, many = (score.typical for score in found.scores)
        assert few > 5 * many


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": [1, 2], "epsilon": [1.0, 2.0]}, "at most one list.*n and epsilon"),
        ({"n": []}, "n to have at least one value"),
        ({"n": [50, 50]}, "every value of n once"),
        ({"epsilon": [1, 1.0]}, "every value of epsilon once"),
        ({"n": 0}, "n=0"),
        ({"n": 1.5}, "n=1.5"),
        ({"n": [10, None]}, "every entry of it a whole number"),
        ({"d": 0}, "d=0"),
        ({"d": "many"}, "d='many'"),
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"epsilon": 1e-9}, "epsilon=1e-09"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"delta": 1e-15}, "delta=1e-15"),
        ({"neighbours": "cousins"}, "neighbours='cousins'"),
        ({"spectrum": ""}, "spectrum=''"),
        ({"spectrum": "S9"}, "spectrum='S9'.*power:NUMBER"),
        ({"spectrum": "power:big"}, "spectrum='power:big'"),
        ({"spectrum": "power:-1"}, "power=-1.0"),
        ({"estimators": ["nobody"]}, "estimators to be a list, .*'PLAN'"),
        ({"estimators": []}, "estimators"),
        ({"trials": 0}, "trials=0"),
        ({"seed": -1}, "seed=-1"),
        ({"public": "yes"}, "public='yes'"),
    ],
)
def test_a_bad_parameter_is_named_before_anything_is_drawn(given, words, monkeypatch):
    monkeypatch.setattr(Synthetic, "draw", lambda *_: pytest.fail("something was drawn"))
    with pytest.raises(InvalidParameter, match=words):
        comparison(**given)


def test_names_are_matched_whatever_the_case():
    assert [c.name for c in chosen(["plan", "DIMFREE"])] == ["dimfree", "PLAN"]
    assert chosen(None) == CONTESTANTS


def test_every_step_is_told():
    steps = []
    comparison(n=[40, 60], tell=lambda *step: steps.append(step))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert {total for _, _, total in steps} == {len(steps)} == {2 * 2 * len(QUICK)}
    assert steps[-1][0] == "S1, d = 3, n = 60, draw 2: clipped mean"


# Public tables


class Sealed:
    """A table that must not be looked at."""

    def __getattribute__(self, name):
        if name not in ("__class__",):
            raise AssertionError(f"looked at: {name}")
        return super().__getattribute__(name)


def test_a_table_not_declared_public_is_not_looked_at():
    with pytest.raises(InvalidParameter, match=r"public=True.*release_mean"):
        comparison(table=Sealed(), d=None)


def test_samples_of_a_public_table(rng):
    table = pd.DataFrame(rng.normal(5.0, [1.0, 2.0, 0.0], size=(500, 3)), columns=["a", "b", "c"])
    before = table.copy()
    found = comparison(table=table, public=True, d=None, n=[100, 499])
    pd.testing.assert_frame_equal(table, before)
    assert all(error < 0.05 for error in found.score("empirical mean", 499).errors)  # nearly the whole of it
    assert all(1e-6 < error < 2.0 for error in found.score("empirical mean", 100).errors)
    assert found.scores[0].world == "public table, d = 3"


@sampling(1e-6)
def test_what_is_told_of_a_public_table(rng):
    rows = rng.normal(3.0, [1.0, 2.0, 0.0], size=(3000, 3))
    _, known = PublicTable.of(rows).draw(10, rng)
    assert known.mean == pytest.approx(rows.mean(axis=0))
    assert known.stddevs[:2] == pytest.approx(rows.std(axis=0)[:2])
    assert 0 < known.stddevs[2] < 1e-8
    assert known.radius == pytest.approx(GENEROUS * np.linalg.norm(known.mean))
    apart = np.linalg.norm(rows[:1500] - rows[1500:], axis=1)
    assert 0.97 < np.mean(apart < known.pair_distance) < 1


def test_a_sample_is_rows_of_the_table_without_repetition(rng):
    rows = np.arange(40.0).reshape(20, 2)
    X, _ = PublicTable.of(rows).draw(19, rng)
    assert len(set(X[:, 0])) == 19
    assert set(X[:, 0]) < set(rows[:, 0])


@pytest.mark.parametrize(("rows", "n"), [(2, 1), (41, 20), (1999, 999), (2001, 1000), (5000, 1000)])
def test_where_nothing_is_said_at_most_half_of_a_table_is_drawn(rows, n):
    table = np.arange(float(rows))[:, None]
    assert compare(table=table, public=True, trials=1, estimators=["empirical mean"], **PROMISE).points == [n]


def test_where_nothing_is_said_a_thousand_synthetic_records_are_drawn():
    assert comparison(n=None, epsilon=[1.0, 2.0], estimators=["empirical mean"]).scores[0].n == 1000


def test_everybody_takes_part_on_a_table_of_little_but_duplicates():
    rows = np.zeros((1000, 3))
    rows[0] = [1.0, 2.0, 3.0]
    found = compare(table=rows, public=True, n=100, trials=1, **PROMISE)
    assert PublicTable.of(rows).priors.pair_distance > 0
    assert {score.name: score.remark for score in found.scores if score.remark} == {}


@pytest.mark.parametrize(
    ("table", "changes", "words"),
    [
        (np.ones((50, 2)), {}, "vary"),
        (np.tile([[1e300], [-1e300]], (25, 2)), {}, "vary"),
        (np.array([[1.0, np.nan]] * 60), {}, "finite"),
        (np.eye(40), {"n": 41}, "n to be below 40.*n=20"),
        (np.eye(40), {"n": [20, 40]}, "n to be below 40.*n=20"),
        (None, {}, "a table with public=True"),
        (np.eye(40), {"d": 40}, "neither d nor spectrum"),
        (np.eye(40), {"spectrum": "S1"}, "neither d nor spectrum"),
        (np.eye(40), {"d": [1, 2], "n": 10}, "neither d nor spectrum"),
    ],
)
def test_a_table_that_cannot_be_used(table, changes, words):
    with pytest.raises(InvalidParameter, match=words):
        comparison(**{"table": table, "public": True, "d": None, "n": 20, **changes})


def test_something_that_is_no_table():
    with pytest.raises(InvalidRecords):
        comparison(table="people.csv", public=True, d=None)


def test_the_names_can_be_typed():
    for name in (contestant.name for contestant in contestants.CONTESTANTS):
        assert name.isascii()
        assert "," not in name
