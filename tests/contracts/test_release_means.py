"""release_group_means: each group is released as if it stood alone, all together under one promise, and nothing is
told."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from contracts.conftest import songs
from recording import RecordingNoise
from routes import through_the_core, with_options
from scipy import sparse

from dimfree.accounting import events
from dimfree.accounting.several_runs import Runs, runs_of
from dimfree.errors import InvalidDataError, InvalidParameterError
from dimfree.ledger.ledger import PrivacyLedger
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.release_groups import NO_SHAPE, _price_shared_run, release_group_means
from dimfree.results.composed import compose
from dimfree.results.grouped import GroupMeans
from dimfree.shapes import IsotropicCovariance

KEYS = ("north", "south", "east")
SIZES = {"north": 701, "south": 911, "east": 11, "secret-161803": 401, None: 53}  # east is too small
WHERE = {"north": 5.0, "south": -3.0, "east": 0.0, "secret-161803": 1618033.25, None: 1e3}
SONGS = ("161803", "1.618", "701", "911", "401")
PROMISE = {"epsilon": 4.0, "delta": 1e-4, "failure_probability": 1e-6}  # so that no seed is unlucky


@pytest.fixture
def frame(rng):
    """Two large groups far apart, a small one, one that has no public name, and rows of no group."""
    regions = [region for region, size in SIZES.items() for _ in range(size)]
    values = rng.normal(size=(len(regions), 2)) + np.array([[WHERE[region]] for region in regions])
    found = pd.DataFrame({"age": values[:, 0], "region": regions, "income": values[:, 1]})
    found["region"] = found["region"].astype(object).where(found["region"].notna(), None)
    return found.sample(frac=1, random_state=1).reset_index(drop=True)


def release(X, by="region", groups=KEYS, **changes):
    given = {**PROMISE, "covariance": IsotropicCovariance(1.0), "noise": SeededNoise(5), **changes}
    return release_group_means(X, **with_options(by=by, groups=groups, **given))


def alone(frame, region, **changes):
    rows = frame[frame["region"] == region][["age", "income"]]
    return release_mean(rows, **with_options(**{**PROMISE, "covariance": IsotropicCovariance(1.0), **changes}))


def plain(frame):
    return frame[["age", "income"]].to_numpy(), list(frame["region"])


def test_every_group_is_released_as_if_it_stood_alone(frame):
    means, noise = release(frame), SeededNoise(5)
    assert list(means) == list(KEYS)
    for key in KEYS:  # one after another from the same noise
        assert wordless(means[key]) == wordless(alone(frame, key, noise=noise))
    assert means.refused == ("east",)
    for key in ("north", "south"):
        assert np.abs(means[key].mean - WHERE[key]).max() < 0.5
        assert means[key].columns == ("age", "income")
    empty = release(frame, groups=("east", "nobody-lives-here", "north"))  # small and empty groups refuse alike
    assert empty.refused == ("east", "nobody-lives-here")
    assert empty["east"].refusal == empty["nobody-lives-here"].refusal


def test_a_series_of_groups_with_another_index(frame):
    rows, regions = frame[["age", "income"]], frame["region"]
    assert release(rows, by=regions) == release(rows, by=list(regions))
    with pytest.raises(InvalidParameterError, match="index of X"):
        release(rows, by=regions.iloc[::-1])
    with pytest.raises(InvalidParameterError, match="`privacy_unit` must have the index of X"):
        release(frame, privacy_unit=regions.iloc[::-1])


def wordless(release):
    """Less the words about what is estimated, which name the group."""
    return replace(release, parameters={k: v for k, v in release.parameters.items() if k != "estimates"})


def test_rows_of_other_groups_do_not_move_a_bit(frame):
    def move_vector(rows, region):
        found = rows.copy()
        found.loc[found["region"] == region, ["age", "income"]] *= 1e3
        return found[(found["region"] != region) | (found.index % 3 > 0)]

    before = release(frame, noise=RecordingNoise())
    assert release(frame[frame["region"].isin(KEYS)], noise=RecordingNoise()).to_json() == before.to_json()
    for region in ("south", "secret-161803", "east"):
        after = release(move_vector(frame, region), noise=RecordingNoise())
        assert after["north"] == before["north"]
    assert (
        release(move_vector(frame, "north"), noise=RecordingNoise())["north"] != before["north"]
    )  # a bit can move at all


def test_frames_arrays_and_sparse_matrices_agree(frame):
    X, groups = plain(frame)
    wanted = release(frame)
    tables = {
        "arrow": release(pa.Table.from_pandas(frame, preserve_index=False)),
        "entries": release(frame[["age", "income"]], by=groups),
        "a series": release(frame[["age", "income"]], by=frame["region"]),
    }
    for found in tables.values():
        assert found.to_json() == wanted.to_json()
    bare, thin = release(X, by=groups), release(sparse.csr_array(X), by=np.array(groups, dtype=object))
    assert bare.to_json() == thin.to_json()
    for key in KEYS:
        assert bare[key] == replace(wanted[key], columns=None)


@pytest.fixture
def visits(frame):
    """Two rows for many persons; the second may be in another group."""
    found = frame.copy()
    found["who"] = [f"secret-161803-{row % 1100}" for row in range(len(found))]
    return found


def first_group_only(visits):
    """In plain Python: the rows of each person that lie in the group of their first row in any."""
    first, kept = {}, []
    for place, (region, who) in enumerate(zip(visits["region"], visits["who"], strict=True)):
        if region in KEYS:
            kept += [place] if first.setdefault(who, region) == region else []
    return visits.iloc[kept]


@pytest.mark.parametrize("max_contributions", [None, 2])
def test_a_person_is_in_the_group_of_their_first_row(visits, max_contributions):
    shape = IsotropicCovariance(
        1.0 if max_contributions is None else 100.0
    )  # totals of one row and of two lie far apart
    means, noise = (
        release(visits, privacy_unit="who", max_contributions=max_contributions, covariance=shape),
        SeededNoise(5),
    )
    counted = first_group_only(visits)
    assert len(counted) < visits["region"].isin(KEYS).sum()
    for key in KEYS:
        rows = counted[counted["region"] == key].drop(columns="region")
        own = release_mean(
            rows,
            **with_options(
                privacy_unit="who", max_contributions=max_contributions, **PROMISE, covariance=shape, noise=noise
            ),
        )
        assert wordless(means[key]) == wordless(own)
    assert not means["north"].refused
    assert "same 'who'" in means.statement()
    assert ("person means" in means["north"].parameters["estimates"]) == (max_contributions is None)
    assert (means.guarantee.epsilon, means.guarantee.delta, means.guarantee.private) == (4.0, 1e-4, False)  # seeded
    assert GroupMeans.from_json(means.to_json()).to_json() == means.to_json()


def test_fifty_groups_cost_what_one_does(frame):
    X, _ = plain(frame)
    X = np.tile(X[frame["region"] == "north"], (50, 1))
    groups = np.repeat(np.arange(50), SIZES["north"])
    many, one = (release(X, by=groups, groups=range(count)) for count in (50, 1))
    assert many.refused == ()
    assert many.guarantee == one.guarantee
    assert {many[key].charges.budget for key in many} == {one[0].charges.budget}
    spent = [compose([means]).epsilon(1e-4) for means in (many, one)]
    assert spent[0] == spent[1]
    assert 3.5 < spent[0] <= 4.0


@pytest.fixture(scope="module")
def learned(seed):
    """Nothing is known: a run over all groups comes first. (rows, entries, means, what was told)"""
    rng, told = np.random.default_rng(seed), []
    groups = np.repeat(["north", "south", "east", "secret-161803"], [2000, 2000, 20, 500])
    X = rng.normal(size=(len(groups), 2)) * (1.0, 5.0)
    X[groups == "secret-161803"] = WHERE["secret-161803"]
    noise = SeededNoise(5)
    means = release_group_means(
        X, **with_options(by=groups, groups=KEYS, **PROMISE, noise=noise, tell=lambda *step: told.append(step))
    )
    return X, groups, means, told


def test_the_runs_are_those_of_release_mean_at_the_stated_budgets(learned):
    X, groups, means, steps = learned
    noise = SeededNoise(5)
    common = {"failure_probability": 1e-6, "noise": noise}
    first = means.overall.guarantee
    promise = {"epsilon": first.epsilon, "delta": first.delta}
    with through_the_core():
        overall = release_mean(X[np.isin(groups, KEYS)], **with_options(**promise, **common))
    assert overall == means.overall
    # the charge covers all branches of the choice by n̂ (P18)
    priced = _price_shared_run(1e-6)(overall.charges.budget)
    assert (priced.before, priced.branches) == (overall.charges.before, overall.charges.branches)
    assert steps == [("all groups", 0, 4), ("group 1", 1, 4), ("group 2", 2, 4), ("group 3", 3, 4)]
    for key in KEYS:
        before, charged = means[key].charges.runs
        assert before == overall.charges
        budget = {"epsilon": charged.budget.epsilon, "delta": charged.budget.delta}
        own = release_mean(
            X[groups == key],
            **with_options(**budget, covariance=overall.estimated_variances.diagonal(), scale="learn", **common),
        )
        assert own.charges == charged
        assert own.refusal == means[key].refusal
        if not own.refused:
            assert np.array_equal(own.mean, means[key].mean)
            assert np.array_equal(means[key].estimated_variances.log_stddev, overall.estimated_variances.log_stddev)
    assert means.refused == ("east",)


def test_one_mean_alone_promises_no_less_than_all(learned):
    """Its noise has the shape that the overall run released: to state its own run's epsilon would be too little."""
    means = learned[2]
    own = means["north"].charges.runs[1].budget
    alone = compose([means["north"]]).epsilon(1e-4)
    assert alone == compose([means]).epsilon(1e-4) > 1.1 * own.epsilon
    twin = replace(
        means["north"],
        guarantee=replace(means.guarantee, epsilon=own.epsilon, delta=own.delta),
        charges=means["north"].charges.runs[1],
    )
    with pytest.raises(InvalidParameterError, match="guarantee of all"):
        GroupMeans(means.guarantee, {"north": twin}, means.overall)


def test_a_twin_that_gives_each_run_the_whole_budget_is_refused(learned):
    X, _, means, _ = learned
    full = release_mean(X[:20], **with_options(**PROMISE, noise=SeededNoise(5)))  # refused, but charged
    group = release_mean(X[:20], **with_options(**PROMISE, covariance=[1, 25], noise=SeededNoise(5)))
    runs = Runs(full.charges.budget, full.charges.neighbors, (full.charges, group.charges))
    with pytest.raises(InvalidParameterError, match="compose to at most"):
        replace(group, charges=runs)
    assert GroupMeans(means.guarantee, {"north": group}).refused == ("north",)  # what a given shape costs


def test_no_shape_no_group(learned):
    X, groups, means, _ = learned
    none = release_group_means(X[::200], **with_options(by=groups[::200], groups=KEYS, **PROMISE, noise=SeededNoise(5)))
    assert none.overall.refused
    assert none.refused == KEYS
    for release in none.values():
        assert release.refusal == NO_SHAPE
        assert release.guarantee == means.guarantee
    assert compose([none]).epsilon(1e-4) == compose([means]).epsilon(1e-4)  # what is charged does not hang on an output
    assert GroupMeans.from_json(none.to_json()).to_json() == none.to_json()


def relative(X, by="region", **changes):
    given = {"epsilon": 4.0, "delta": 1e-4, "noise": SeededNoise(5), **changes}
    return release_group_means(X, **with_options(by=by, groups=KEYS, **{"objective": "relative", **given}))


def test_a_relative_group_is_a_release_of_its_own_with_the_whole_budget(frame):
    means, noise = relative(frame), SeededNoise(5)
    assert means.overall is None
    for key in KEYS:
        rows = frame[frame["region"] == key][["age", "income"]]
        own = release_mean(rows, epsilon=4.0, delta=1e-4, objective="relative", noise=noise)
        assert wordless(means[key]) == wordless(own)
        assert means[key].charges == own.charges
        assert means[key].method == "columns"
    assert means.refused == ("east",)
    assert "objective='relative'" in means["east"].refusal
    back = GroupMeans.from_json(means.to_json())
    assert back["north"] == means["north"]
    assert np.array_equal(back["north"].clipping.column_radii, means["north"].clipping.column_radii)


@pytest.mark.parametrize(
    ("objective", "branches"), [("relative", [{events.OnlyGaussian}]), ("total", [{events.Tested}] * 2)]
)
def test_the_ledger_is_charged_for_the_branches_that_the_runs_have(frame, objective, branches, tmp_path, monkeypatch):
    """Without a ledger entry for it, no run may choose a branch: that of Gaussian releases alone for example."""
    charges, charge = [], PrivacyLedger.charge
    monkeypatch.setattr(
        PrivacyLedger, "charge", lambda self, of, **rest: charges.append(of) or charge(self, of, **rest)
    )
    ledger = PrivacyLedger(tmp_path / "study.db", "study", epsilon=50.0, delta=1e-3)
    means = relative(frame, objective=objective, ledger=ledger, failure_probability=1e-6)
    [found] = charges
    assert [{type(branch) for branch in run.branches} for run in found.runs] == branches
    for key in KEYS:
        runs = runs_of(means[key].charges)
        assert [(run.budget, run.before, run.branches) for run in runs] == [
            (run.budget, run.before, run.branches) for run in found.runs
        ]


WRONG = {
    "keys twice": {"groups": ("north", "north")},
    "keys of floats": {"groups": (1.0, 2.0)},
    "no keys": {"groups": ()},
    "mixed keys": {"groups": ("north", 1)},
    "one word": {"groups": "north"},
    "an unknown column": {"by": "nowhere"},
    "a column of values": {"by": "age"},
    "too few entries": lambda frame: {"X": frame[["age", "income"]], "by": list(frame["region"])[1:]},
    "entries that are lists": lambda frame: {"X": frame[["age", "income"]], "by": frame[["age"]]},
    "no group column": lambda frame: {"by": [SONGS[0]] * len(frame)},
    "a covariance by name": {"covariance": "auto"},
    "an unknown scale": {"scale": "guess"},
    "a bound without persons": {"max_contributions": 2},
    "the group as a person": {"privacy_unit": "region"},
    "variances of another width": {"covariance": np.ones(3)},
    "a shape beside relative": {"objective": "relative"},
    "a scale beside relative": {"objective": "relative", "covariance": None, "scale": "known"},
    "no such objective": {"objective": "best"},
    "a bad parameter of every release": {"epsilon": 0.0},
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG.keys())
def test_bad_input_is_told_before_any_noise_is_drawn(frame, spoil, said_by):
    noise = RecordingNoise()
    wrong = spoil(frame) if callable(spoil) else spoil
    _, said = said_by(lambda: release(**{"X": frame, "noise": noise, **wrong}))
    assert len(said) >= 3
    assert not songs(SONGS, said)
    assert noise.asked == []


def test_invalid_rows_matter_where_a_group_is(frame):
    holes = frame.copy()
    holes.loc[holes["region"] == "secret-161803", "age"] = np.nan
    assert release(holes).to_json() == release(frame).to_json()
    holes.loc[holes["region"] == "east", "age"] = np.nan
    noise = RecordingNoise()
    with pytest.raises(InvalidDataError, match="finite"):
        release(holes, noise=noise)
    assert noise.asked == []
    assert not release(holes, missing="complete-case")["north"].refused


@pytest.mark.parametrize("privacy_unit", [None, "who"])
def test_a_label_without_a_public_name_never_shows(visits, said_by, privacy_unit):
    X = visits if privacy_unit else visits.drop(columns="who")
    means, said = said_by(lambda: release(X, privacy_unit=privacy_unit))
    texts = [repr(means), means.statement(), repr(means.refused), str(dict(means["east"].parameters))]
    document = json.loads(means.to_json())
    assert [group["key"] for group in document["groups"]] == list(KEYS)
    assert not [song for song in SONGS[:2] if song in means.to_json() + repr(means.charges)]
    assert not songs(SONGS, [*said, *texts])
