"""Release and Guarantee: exact on the way out and back, frozen, and without a place for a private statistic."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.ladder import Ladder
from dimfree.errors import InvalidFileError, InvalidParameterError, RefusedReleaseError
from dimfree.noise import SeededNoise
from dimfree.release_groups import release_group_means
from dimfree.results.error_model import Clipping, ErrorModel
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release

BUDGET = Budget(1.0, 1e-6)


def ledger(budget=BUDGET, neighbors=Neighbors.ADD_REMOVE, **changes):
    fixed = {
        "before": (events.Gaussian("count", 2.0**20, 125500.5 * 2**20, 1, 2.0**-20),),
        "branches": (events.Tested(Ladder((0, 0, 1, 2**40 + 1)), 1e-5 + 2e-5), events.Bounded(2.5e-5, 5e-324)),
        "chosen": 0,
        "after": (events.Gaussian("mean", 3.5, 1e9, 3, 2.0**-20),),
    }
    return events.Costs(budget=budget, neighbors=neighbors, **{**fixed, **changes})


def guarantee(**changes):
    return Guarantee(**{"epsilon": 1.0, "delta": 1e-6, "neighbors": "add-remove", "private": True, **changes})


def common(**changes):
    promise = changes.get("guarantee", guarantee())
    fixed = {
        "guarantee": promise,
        "charges": ledger(Budget(promise.epsilon, promise.delta), promise.neighbors),
        "method": "stable",
        "dimension": 3,
        "columns": ("a", "größe", '身長 ♥\n"quoted" \u2028\ud800'),
        "parameters": {"released_count": 998.25, "ladder": 7, "tails": "heavy"},
    }
    return {**fixed, **changes}


def released(mean=(1.0, -2.5, 3.0), noise_stddev=(0.1, 0.2, 0.3), **changes):
    return Release.released(mean=np.array(mean), noise_stddev=np.array(noise_stddev), **common(**changes))


REACH = Clipping(2.5, np.array([0.1, -0.0, 5e-324]), np.array([1e-300, 0.1 + 0.2, 1e300]))


def test_the_reach_and_its_cap_come_back_bit_for_bit():
    for clipping in (REACH, replace(REACH, column_bound=0.5)):
        back = Release.from_json(released(clipping=clipping).to_json())
        assert back == released(clipping=clipping) != released()
        assert (back.clipping.radius, back.clipping.column_bound) == (2.5, clipping.column_bound)
        for name in ("center", "scale"):
            assert getattr(back.clipping, name).tobytes() == getattr(REACH, name).tobytes()
            assert not getattr(back.clipping, name).flags.writeable
        assert np.array_equal(back.clipping.column_radii, (clipping.column_bound or 2.5) * REACH.scale)
    assert np.array_equal(replace(REACH, column_bound=9.0).column_radii, 2.5 * REACH.scale)
    assert "column_bound" not in REACH.to_dict()  # files of earlier versions have none, and are read


ONE_VALUE = np.array([False, True, False])


def test_columns_that_look_like_one_value_have_no_interval():
    model = ErrorModel(record_stddev=np.ones(3), records=100.0, without_interval=ONE_VALUE)
    release = released(error_model=model)
    back = Release.from_json(release.to_json())
    assert back == release == copy.deepcopy(release) != released(error_model=replace(model, without_interval=None))
    assert back.without_interval.tolist() == ONE_VALUE.tolist()
    assert not back.without_interval.flags.writeable
    for bars in ({}, {"simultaneous": True}, {"target": "sample"}):
        low, high = back.confidence_interval(**bars)
        assert (np.isneginf(low) == ONE_VALUE).all()
        assert (np.isposinf(high) == ONE_VALUE).all()
        known = replace(model, without_interval=None)
        assert np.array_equal(low[~ONE_VALUE], released(error_model=known).confidence_interval(**bars)[0][~ONE_VALUE])
    assert released().without_interval.tolist() == [False] * 3


def refused(reason="Too few records for this budget.", **changes):
    return Release.from_refusal(reason, **common(**changes))


def edited(release, **changes):
    return json.dumps({**json.loads(release.to_json()), **changes})


# The fields


def test_the_fields_are_exactly_these():
    names = {field.name for field in fields(Release)}
    public = {"guarantee", "charges", "method", "dimension", "columns", "parameters", "refusal"}
    assert names == public | {"_mean", "_noise_stddev", "error_model", "estimated_variances", "clipping"}
    promise = {
        "epsilon",
        "delta",
        "neighbors",
        "private",
        "privacy_unit",
        "privacy_id",
        "max_contributions",
        "each_column",
    }
    assert {field.name for field in fields(Guarantee)} == promise
    assert not hasattr(released(), "__dict__")
    assert set(json.loads(released().to_json())) == public | {
        "format",
        "mean",
        "noise_stddev",
        "error_model",
        "estimated_variances",
        "clipping",
    }


@pytest.mark.parametrize("name", ["friend_counts", "weights", "sample_mean", "count", "n"])
def test_no_further_field_is_taken(name):
    with pytest.raises(TypeError, match=name):
        released(**{name: 5})
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(released(), name, 5)


@pytest.mark.parametrize(
    "value", [[1.0], (1,), {"a": 1}, np.ones(2), np.array(1.0), None, True, 1j, b"x", float("nan")]
)
def test_parameters_hold_single_numbers_and_words_only(value):
    with pytest.raises(InvalidParameterError, match="radius"):
        released(parameters={"radius": value})


def test_everything_is_read_only_and_copied():
    mean, parameters = np.array([1.0, 2.0, 3.0]), {"radius": np.float64(1.0)}
    release = released(mean=mean, parameters=parameters)
    mean[:], parameters["radius"] = 7.0, 7.0
    assert release.mean.tolist() == [1.0, 2.0, 3.0]
    assert release.parameters == {"radius": 1.0}
    assert type(release.parameters["radius"]) is float
    for array in (release.mean, release.noise_stddev):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
        with pytest.raises(ValueError):
            array.setflags(write=True)
    with pytest.raises(TypeError):
        release.parameters["radius"] = 2.0
    with pytest.raises(FrozenInstanceError):
        release.method = "soft"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"mean": [1.0, 2.0]}, "mean"),
        ({"mean": [[1.0, 2.0, 3.0]]}, "mean"),
        ({"mean": [1.0, np.inf, 3.0]}, "mean"),
        ({"mean": ["1", "2", "3"]}, "mean"),
        ({"noise_stddev": [0.1, np.nan, 0.1]}, "noise_stddev"),
        ({"noise_stddev": [0.1, 0.0, 0.1]}, "noise_stddev"),
        ({"noise_stddev": [0.1, -0.1, 0.1]}, "noise_stddev"),
        ({"dimension": 0}, "dimension"),
        ({"dimension": 3.0}, "dimension"),
        ({"dimension": True}, "dimension"),
        ({"columns": ("a", "b")}, "columns"),
        ({"columns": ("a", "b", 3)}, "columns"),
        ({"columns": "abc"}, "columns"),
        ({"method": "magic"}, "method"),
        ({"charges": {"events": []}}, "charges"),
        ({"charges": ledger(Budget(1.0, 1e-7))}, "same budget"),
        ({"charges": ledger(Budget(0.5, 1e-6))}, "same budget"),
        ({"charges": ledger(neighbors=Neighbors.REPLACE_ONE)}, "same budget"),
    ],
)
def test_wrong_fields_are_named(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        released(**changes)


WRONG = [("epsilon", 0.0), ("epsilon", float("inf")), ("epsilon", "1"), ("delta", 1.0), ("neighbors", "friends")]
WRONG += [("private", 1), ("privacy_unit", "household"), ("max_contributions", 2), ("privacy_id", "patient")]
OF_PERSONS = [("max_contributions", 0), ("max_contributions", True), ("privacy_id", 7)]


@pytest.mark.parametrize(
    "changes", [{n: v} for n, v in WRONG] + [{n: v, "privacy_unit": "person"} for n, v in OF_PERSONS]
)
def test_a_wrong_guarantee_names_its_parameter(changes):
    with pytest.raises(InvalidParameterError, match=next(iter(changes))):
        guarantee(**changes)


# Refusals


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: released(refusal="No."), "without mean"),
        (lambda: Release(**common()), "mean"),
        (lambda: Release(**{**common(), "guarantee": guarantee().to_dict()}), "Guarantee"),
        *((lambda reason=reason: refused(reason), "reason") for reason in ("", "  ", 5)),
    ],
)
def test_a_release_is_a_mean_or_a_refusal_with_a_reason(make, said):
    with pytest.raises(InvalidParameterError, match=said):
        make()


@pytest.mark.parametrize("name", ["mean", "noise_stddev"])
def test_asking_a_refused_release_raises_with_reason_and_remedy(name):
    with pytest.raises(RefusedReleaseError, match=rf"no {name}.*Too few records.*release\.refused.*larger budget"):
        getattr(refused(), name)


# JSON


finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


EXTREMES = [-0.0, 5e-324, np.nextafter(1.0, 2.0), 1.7976931348623157e308, 0.1 + 0.2]


@example([(each, abs(each) + 5e-324, "x") for each in EXTREMES], {"shift": -0.0, "n": 10**30}, 1.0, "add-remove", True)
@given(
    rows=st.lists(st.tuples(finite, positive, st.text()), min_size=1, max_size=4),
    parameters=st.dictionaries(st.text(), finite | st.integers() | st.text()),
    epsilon=st.floats(min_value=0.01, max_value=1e9),
    neighbors=st.sampled_from(list(Neighbors)),
    private=st.booleans(),
)
def test_any_release_round_trips(rows, parameters, epsilon, neighbors, private):
    mean, noise_stddev, columns = zip(*rows, strict=True)
    promise = guarantee(epsilon=epsilon, neighbors=neighbors, private=private)
    fixed = common(guarantee=promise, dimension=len(rows), columns=columns, parameters=parameters)
    release = Release.released(mean=mean, noise_stddev=noise_stddev, **fixed)
    back = Release.from_json(release.to_json())
    assert back == release
    assert (back.columns, back.guarantee, back.charges) == (columns, promise, release.charges)
    assert back.mean.tobytes() == release.mean.tobytes()
    assert back.noise_stddev.tobytes() == release.noise_stddev.tobytes()
    assert {name: repr(value) for name, value in back.parameters.items()} == {
        name: repr(value) for name, value in parameters.items()
    }


def test_a_refusal_round_trips():
    release = refused(columns=None, guarantee=guarantee(neighbors="replace-one", private=False))
    back = Release.from_json(release.to_json())
    assert back == release
    assert back.refusal == release.refusal
    assert back.columns is None


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda release: pickle.loads(pickle.dumps(release))])
def test_copies_are_equal_and_still_read_only(again):
    twin = again(released(mean=[-0.0, 1.0, 2.0]))
    assert twin == released(mean=[-0.0, 1.0, 2.0])
    assert not twin.mean.flags.writeable


@pytest.mark.parametrize(
    "other",
    [
        released(mean=[1.0, -2.5, 3.0000000000000004]),
        released(noise_stddev=[0.1, 0.2, 0.31]),
        released(method="soft"),
        released(columns=None),
        released(parameters={}),
        released(parameters={"released_count": 998.25, "ladder": 7.0, "tails": "heavy"}),
        released(charges=ledger(after=())),
        released(guarantee=guarantee(private=False)),
        released(guarantee=guarantee(neighbors="replace-one")),
        released(mean=[-0.0, -2.5, 3.0]),
        refused(),
        "a release",
    ],
)
def test_equality_compares_everything(other):
    assert released() == released()
    assert released() != other
    assert released(mean=[0.0, -2.5, 3.0]) != other, "the two zeros differ"
    assert released(parameters={"a": 1, "b": 2}) == released(parameters={"b": 2, "a": 1})


def test_a_record_of_the_other_kind_says_how_to_read_it():
    X = np.random.default_rng(0).normal(size=(600, 2))
    means = release_group_means(X, by=np.arange(600) % 2, groups=[0, 1], epsilon=4, delta=1e-5, noise=SeededNoise(1))
    for text in (means.to_json(), json.dumps(json.loads(means.to_json()), sort_keys=True)):
        with pytest.raises(InvalidFileError, match=r"group means.*dimfree\.GroupMeans\.from_json\(text\)\.$"):
            Release.from_json(text)
    for text in (released().to_json(), json.dumps(json.loads(released().to_json()), sort_keys=True)):
        with pytest.raises(InvalidFileError, match=r"one release.*dimfree\.Release\.from_json\(text\)\.$"):
            GroupMeans.from_json(text)


DAMAGED_REACH = [
    ("column_bound", 0.0),
    ("column_bound", "far"),
    ("radius", -1.0),
    ("radius", "far"),
    ("scale", [1.0, 0.0, 1.0]),
]
DAMAGED_REACH += [("center", [1.0]), ("center", [None] * 3), ("more", 1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"mean": None},
        *(
            {"error_model": {**ErrorModel().to_dict(), "without_interval": flags}}
            for flags in ([True], [1, 0, 0], "yes")
        ),
        *({"clipping": {**REACH.to_dict(), name: wrong}} for name, wrong in DAMAGED_REACH),
        {"mean": [1.0, 2.0]},
        {"mean": ["1", "2", "3"]},
        {"mean": [1.0, [2.0], 3.0]},
        {"mean": [10**400, 1, 1]},
        {"noise_stddev": [0.1, 0.2, -0.3]},
        {"refusal": "No."},
        {"dimension": "3"},
        {"columns": {"a": 1, "b": 2, "c": 3}},
        {"columns": 3},
        {"parameters": [1]},
        {"parameters": {"weights": [1.0, 2.0]}},
        {"parameters": None},
        {"guarantee": {"epsilon": 1.0}},
        {"guarantee": {**guarantee().to_dict(), "epsilon": -1.0}},
        {"guarantee": {name: value for name, value in guarantee().to_dict().items() if name != "privacy_unit"}},
        {"guarantee": {**guarantee().to_dict(), "max_contributions": 3}},
        {"guarantee": {**guarantee().to_dict(), "persons": 137}},
        {"guarantee": None},
        {"method": "magic"},
        {"charges": {}},
        {"charges": None},
        {"charges": {**ledger().to_dict(), "delta": 1e-7}},
        {"charges": {**ledger().to_dict(), "neighbors": "cousins"}},
        {"charges": {**ledger().to_dict(), "branches": [{"kind": "tested", "mu": 1.0, "rungs": ["not hexadecimal"]}]}},
        {"charges": {**ledger().to_dict(), "after": [{"purpose": "mean"}]}},
    ],
)
def test_a_damaged_release_is_refused(changes):
    with pytest.raises(InvalidFileError, match="not a complete dimfree release"):
        Release.from_json(edited(released(), **changes))


OTHER_TEXTS = [
    *(
        (edited(released(), format=number), "format number of a release file must be 6")
        for number in (0, 5, 7, "6", 6.0, True, None)
    ),
    *(
        (text, r"^The text is not valid JSON[^.]*release\.to_json\(\)\.$")
        for text in ("", "{", released().to_json()[:-4], "[" * 100_000, '{"format": NaN}', b"\xff\xfe\xfa", None)
    ),
    *((text, "not a dimfree release") for text in ("[]", "3", "{}", '{"mean": [1.0]}')),
    (edited(released(), friend_counts=[1, 2]), "exactly the fields"),
    (released().to_json().replace('"charges"', '"ledger"'), "exactly the fields"),
    (released(mean=[1.5, 2.0, 3.0]).to_json().replace("[1.5,", "[1e999,"), "not a complete"),
]


@pytest.mark.parametrize(("text", "said"), OTHER_TEXTS, ids=range(len(OTHER_TEXTS)))
def test_other_texts_are_refused_in_one_sentence(text, said):
    with pytest.raises(InvalidFileError, match=said):
        Release.from_json(text)


# Words


@pytest.mark.parametrize(
    ("promise", "said", "unsaid"),
    [
        ({}, ["epsilon=1.0", "one row = one person", "adding or removing", "is protected"], "public"),
        ({"neighbors": "replace-one", "epsilon": 0.1 + 0.2}, ["0.30000000000000004", "is public"], "is protected"),
        (
            {"privacy_unit": "person", "privacy_id": "patient_id"},
            ["same 'patient_id'", "with all their rows"],
            "one row =",
        ),
        (
            {"privacy_unit": "person", "max_contributions": 3},
            ["with the same privacy ID", "first rows, up to 3"],
            "not private",
        ),
        ({"private": False}, ["Not private: seeded noise"], "Differential"),
    ],
)
def test_the_statement_names_who_is_protected_and_comes_back(promise, said, unsaid):
    stated = guarantee(**promise)
    assert [words for words in said if words not in stated.statement()] == []
    assert unsaid not in stated.statement()
    assert Guarantee.from_dict(json.loads(json.dumps(stated.to_dict()))) == stated
    assert Release.from_json(released(guarantee=stated).to_json()).guarantee == stated


def test_the_repr_shows_no_array():
    big = released(mean=np.full(1000, 123.456), noise_stddev=np.ones(1000), dimension=1000, columns=None)
    assert repr(big) == "<Release: stable, dimension=1000, epsilon=1.0, delta=1e-06, add-remove>"
    assert "refused" in repr(refused())
    assert "not private: seeded noise" in repr(released(guarantee=guarantee(private=False)))
