"""The profile of variances: accuracy, costs, bad input, what leaves."""

import json
import math
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from recording import RecordingNoise
from stats import sampling

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.errors import InvalidFileError, InvalidParameterError, RefusedReleaseError
from dimfree.noise import SeededNoise
from dimfree.paper.kernel import excess, log_counts
from dimfree.paper.profiling import INCOMPLETE, NO_SCALE, TOO_FEW, VarianceProfile, variance_profile
from dimfree.paper.variance_votes import noisy_group_means
from dimfree.programs.choose.constants import GROUP_SIZE


def profile(X, *, epsilon=1.0, delta=1e-6, noise=None, **options):
    return variance_profile(X, epsilon=epsilon, delta=delta, noise=noise or SeededNoise(7), **options)


def made(edges, counts, dimension):
    """A profile with given buckets."""
    promise = Guarantee(1.0, 1e-6, Neighbors.ADD_REMOVE, private=False)
    ledger = Costs(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, (), ())
    return VarianceProfile(promise, ledger, dimension, edges=tuple(edges), counts=tuple(counts))


# ---- accuracy

SHAPES = {
    "flat": np.ones(300),
    "power": 1 / np.arange(1, 301.0),
    "few": np.concatenate([np.full(5, 30.0), np.full(295, 0.1)]),
    "one": np.ones(1),
}


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("shape", SHAPES)
@sampling(1e-6)
def test_both_costs_are_right_within_a_factor(rng, seed, shape, relation):
    stddev = SHAPES[shape]
    X = rng.normal(size=(12000, len(stddev))) * stddev * 1e3 + 5e4
    found = profile(X, neighbors=relation, noise=SeededNoise(seed))
    assert 0.6 < found.shaped_cost / (1e3 * stddev.sum()) < 1.5
    assert 0.6 < found.spherical_cost / (1e3 * math.sqrt(len(stddev) * (stddev**2).sum())) < 1.5
    assert found.spherical_cost / found.shaped_cost >= 1 - 1e-9 or found.gain == 1.0


def test_without_noise_the_counts_are_those_of_the_groups():
    """Records of alternating sign, taken in their order: every group estimates twice the squares."""
    X = np.resize([1.0, -1.0], (8000, 1)) * [64, 8, 8, 4, 0.001, 0]  # 8192, 128, 128, 32 and two that do not matter
    found = profile(X, neighbors="replace-one", noise=RecordingNoise())
    assert found.edges == (4.0**7, 4.0**6, 4.0**5, 4.0**4, 4.0**3, 4.0**2)
    assert found.counts == pytest.approx((0, 1, 0, 0, 2, 1), abs=1e-6)
    assert found.buckets[1] == (4.0**6, 4.0**7, found.counts[1])


# ---- what the two numbers mean


def test_costs_of_known_buckets():
    found = made([64.0, 16.0, 4.0, 1.0], [1.0, 0.0, 0.0, 99.0], 100)
    top, low = math.sqrt(128), math.sqrt(2)
    assert found.shaped_cost == pytest.approx(top + 99 * low)
    assert found.spherical_cost == pytest.approx(math.sqrt(100 * (128 + 198)))
    assert found.cost_after_learning(0) == pytest.approx(found.spherical_cost)
    assert found.cost_after_learning(1) == pytest.approx(top + math.sqrt(99 * 198))
    assert found.cost_after_learning(100) == pytest.approx(found.shaped_cost)
    assert found.gain == pytest.approx(found.spherical_cost / found.shaped_cost)


def test_an_instance_is_easy_if_a_few_variances_are_all_there_is_to_learn():
    few = made([4.0**8, 1.0], [5.0, 995.0], 1000)
    many = made([4.0**8, 1.0], [100.0, 9900.0], 10000)
    assert few.easy
    assert not many.easy
    assert "easy" in repr(few)
    assert "not easy" in repr(many)


# ---- costs, exactly


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-3, 1e-6), (0.1, 1e-12), (1, 1e-6), (4, 0.1), (30, 1e-9), (100, 1e-6), (1e4, 1e-12)]
)
@pytest.mark.parametrize("dimension", [1, 700])
def test_every_budget_is_kept(rng, epsilon, delta, relation, dimension):
    """The ledger is checked before anything leaves; with many records nothing is refused beforehand."""
    count = 20000 if epsilon >= 1 else 3000
    X = rng.normal(size=(count, 1)) * np.ones(dimension)
    found = profile(X, epsilon=epsilon, delta=delta, neighbors=relation)
    assert found.refused == (epsilon < 1)
    assert found.charges.delta() <= delta
    if epsilon == 1:
        assert found.charges.delta() > 0.5 * delta


class Caught(np.ndarray):
    """A draw that remembers what it is added to."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        self.met.extend(np.array(one) for one in inputs if one is not self)
        return getattr(ufunc, method)(*(np.asarray(one) for one in inputs), **options)


@dataclass
class CatchingNoise(RecordingNoise):
    """Draws given Gaussians, zero beyond them; `met` holds what they were added to."""

    drawn: tuple[int, ...] = ()
    met: list[np.ndarray] = field(default_factory=list)

    def gaussian(self, stddev, size):
        draw = (super().gaussian(stddev, size) + np.resize([*self.drawn, 0], size)).view(Caught)
        draw.met = self.met
        return draw


def test_one_group_moves_the_group_means_by_what_is_charged(rng):
    """Replaced, appeared or vanished: the very vector that noise is added to moves by at most the sensitivity."""

    def sums(values):
        noise = CatchingNoise()
        event = noisy_group_means(values, 1.0, 1.0, "test", noise=noise).event
        (met,) = noise.met
        assert met.shape == (values.shape[1] + 1,)
        return met.astype(float), event

    replaced = vanished = 0.0
    for _ in range(100):
        values = rng.integers(0, 2, (5, 3)).astype(float)
        full, event = sums(values)
        for row in range(5):
            other = values.copy()
            other[row] = 1 - other[row]
            less = np.delete(values, row, axis=0)
            replaced = max(replaced, np.linalg.norm(full - sums(other)[0]) / event.sensitivity)
            vanished = max(vanished, np.linalg.norm(full - sums(less)[0]) / event.sensitivity)
    assert 1 - 1e-6 < replaced <= 1
    assert 1 - 1e-6 < vanished <= 1


def test_group_means_are_functions_of_the_noisy_vector_alone():
    """Three groups that sum and count, with their noise, like two: what is released of both is the same."""
    three, two = np.array([[1.0], [0.5], [1.0]]), np.array([[1.0], [0.5]])
    (sum_three, count_three), (sum_two, count_two) = (
        _met(noisy_group_means(values, 1.0, 1.0, "test", noise=noise), noise)
        for values, noise in ((three, CatchingNoise()), (two, CatchingNoise()))
    )
    lifted = CatchingNoise(drawn=(int(sum_three - sum_two), int(count_three - count_two)))
    found = noisy_group_means(two, 1.0, 1.0, "test", noise=lifted).value
    truth = noisy_group_means(three, 1.0, 1.0, "test", noise=CatchingNoise()).value
    assert (found.groups, found.means.tolist()) == (truth.groups, truth.means.tolist())
    assert (truth.groups, truth.means.tolist()) == (3.0, pytest.approx([2.5 / 3], rel=1e-8))


def _met(_, noise):
    return noise.met[0]


@pytest.mark.parametrize("edge", [0.5, 1.0, 3.0, 7.0])
def test_one_group_moves_the_search_by_what_is_charged(rng, edge):
    """Replaced, appeared or vanished: a query moves by at most its sensitivity, and replacing attains it."""
    charged = profile(rng.normal(size=(8000, 2)), noise=RecordingNoise()).charges.before[1]
    most = charged.sensitivity / math.sqrt(charged.dimension)
    replaced = vanished = 0
    for _ in range(50):
        sums = rng.integers(0, 9, 6).astype(float)
        less, other = sums[1:], np.append(sums[1:], float(rng.integers(0, 9)))
        replaced = max(replaced, abs(excess(sums, edge) - excess(other, edge)))
        vanished = max(vanished, abs(excess(sums, edge) - excess(less, edge)))
    assert replaced == pytest.approx(most)
    assert vanished == pytest.approx(most / 2)


def test_uncentred_sums_would_cost_more():
    """The broken twin: sums of v in [0, L] beside h·N move by sqrt(7)/2 times L·sqrt(k) when a group vanishes."""
    k = 5
    assert math.sqrt(k + 3 * k / 4) > math.sqrt(k) * 1.3
    assert math.sqrt(k / 4 + 3 * k / 4) <= math.sqrt(k)


def test_equal_counts_have_equal_bits(rng):
    values = rng.normal(size=(200, 50)) ** 2
    edges = np.array([2.0, 1.0, 0.5])
    found = log_counts(values, edges)
    alone = np.concatenate([log_counts(row[None], edges) for row in values])
    assert np.array_equal(found, alone)
    assert (np.diff(found, axis=1) >= 0).all()


# ---- bad input


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("count", [0, 1, 100])
@pytest.mark.parametrize("dimension", [1, 5])
def test_too_few_records_are_a_refusal(count, dimension, relation):
    found = profile(np.ones((count, dimension)), neighbors=relation)
    assert found.refusal == TOO_FEW
    assert found.refused
    with pytest.raises(RefusedReleaseError, match="too small"):
        _ = found.gain
    assert "refused" in repr(found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [0.0, 1e300, 1e-300, 1e70, 1e-70])
def test_no_variance_or_one_beyond_the_range_is_a_refusal(rng, scale):
    with np.errstate(all="raise"):
        assert profile(rng.normal(size=(6000, 3)) * scale).refusal == NO_SCALE


@pytest.mark.filterwarnings("error")
def test_constant_duplicated_and_huge_columns(rng):
    X = rng.normal(size=(8000, 6)) * [1, 1, 1, 0, 1, 1e40] + [0, 0, 0, 5, 0, 0]
    X[4000:] = X[:4000]
    found = profile(X)
    assert found.gain == pytest.approx(math.sqrt(6), rel=0.2)  # nothing but the huge column matters
    assert profile(np.ones((6000, 4)) * 7).refusal == NO_SCALE


def test_invalid_records_say_nothing(rng):
    X = rng.normal(size=(8000, 3))
    X[::50, 1] = np.nan
    assert 0.5 < profile(X, missing="complete-case").shaped_cost / 3 < 1.6
    with pytest.raises(Exception, match="missing"):
        profile(X)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("invalid", "refused"), [(0.02, False), (0.3, True), (0.9, True)])
@sampling(1e-6)
def test_few_complete_groups_are_a_refusal(rng, seed, invalid, refused, relation):
    """Eight records a group: 0.98^8 = 85 % of 1000 groups are complete, 0.7^8 = 6 %, 0.1^8 none. Half are needed."""
    X = rng.normal(size=(8000, 5))
    X[rng.random(8000) < invalid] = np.nan
    found = profile(X, epsilon=3.0, neighbors=relation, missing="complete-case", noise=SeededNoise(seed))
    assert (found.refusal in (INCOMPLETE, NO_SCALE)) == found.refused == refused
    assert found.charges.delta() <= 1e-6


@pytest.mark.parametrize("bad", [0, 499, 501])
def test_the_stated_noise_is_that_of_the_complete_groups(rng, bad):
    """Without noise the groups are runs of eight records: spoil some of 1000."""
    X = rng.normal(size=(8000, 4))
    X[: bad * GROUP_SIZE : GROUP_SIZE] = np.nan
    found = profile(X, neighbors="replace-one", missing="complete-case", noise=RecordingNoise())
    if bad > 500:
        assert found.refusal == INCOMPLETE
        assert [event.purpose for event in found.charges.before] == ["total variance", "coordinates above thresholds"]
        return
    event = found.charges.before[-1]
    assert found.log2_stddev == pytest.approx(event.stddev * event.step / (1000 - bad), rel=1e-9)


def test_replace_one_refuses_before_it_looks():
    assert profile(np.full((GROUP_SIZE, 2), np.nan), neighbors="replace-one").refusal == TOO_FEW


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"delta": 1.0}, {"neighbors": "both"}, {"missing": "neutral"}])
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        profile(np.ones((4, 2)), **wrong)


# ---- what leaves


@pytest.mark.parametrize("count", [50, 6000])
def test_a_profile_survives_its_text(rng, count):
    found = profile(rng.normal(size=(count, 4)))
    again = VarianceProfile.from_json(found.to_json())
    assert again == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert set(json.loads(found.to_json())) == {
        *("format", "kind", "guarantee", "dimension", "edges", "counts", "log2_stddev", "refusal", "charges"),
    }


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"format": 2, "kind": "variance profile"}'])
def test_other_text_is_not_a_profile(damage):
    with pytest.raises(InvalidFileError):
        VarianceProfile.from_json(damage)


def test_a_damaged_profile_is_refused(rng):
    document = json.loads(profile(rng.normal(size=(6000, 4))).to_json())
    for name, value in {"edges": [1.0], "counts": None, "refusal": "no", "guarantee": {}, "extra": 1}.items():
        with pytest.raises(InvalidFileError):
            VarianceProfile.from_json(json.dumps(document | {name: value}))
