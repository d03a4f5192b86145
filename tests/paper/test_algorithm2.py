"""Algorithm 2, literally: public plan, averages, the whole release; costs exactly, bad input to the end."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from recording import RecordingNoise
from scipy.stats import chi2
from stats import sampling

from dimfree import Release
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_bounded, calibrate_filtered, remaining_mu
from dimfree.accounting.losses import Approximate, Pure
from dimfree.data.records import as_records
from dimfree.noise import SeededNoise
from dimfree.paper import algorithm2, averaging, kernel, variance_votes
from dimfree.paper.averaging import Block, average, bound_distance
from dimfree.paper.mechanisms import sparse_scale
from dimfree.paper.unknown_covariance import (
    LOW_WEIGHT,
    NO_SCALE,
    NO_VOTE,
    Learned,
    choose_steps,
    coordinate_blocks,
    paper_shares,
    printed_top,
    votes_needed,
)
from dimfree.paper.variance_votes import delta_repeated
from dimfree.programs.run import TOO_FEW
from dimfree.shapes import DiagonalCovariance

RELATIONS = ["add-remove", "replace-one"]


@dataclass
class ScriptedNoise(RecordingNoise):
    """No noise but on the first Laplace draw, the count; coins put every other one of the first `paired` records and
    all of the rest into the first half."""

    on_count: int = 0
    paired: int = 10**9

    def laplace(self, scale, size):
        drawn = super().laplace(scale, size)
        first = [kind for kind, _, _ in self.asked].count("laplace") == 1
        return drawn + self.on_count * first

    def below(self, bound, size):
        drawn, places = super().below(bound, size), np.arange(size)
        second = (places % 2 == 1) & (places < self.paired)
        return np.where(second & (bound == 2**32), bound - 1, drawn)


def released(X, *, epsilon=1.0, delta=1e-6, noise=None, **options):
    return algorithm2(X, epsilon=epsilon, delta=delta, noise=noise or SeededNoise(3), **options)


# ---- the public plan


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("delta", [1e-12, 0.3])
def test_the_shares_add_up_to_the_budget(epsilon, delta, relation):
    shares = paper_shares(Budget(epsilon, delta), relation)
    assert (shares.count_epsilon is None) == (relation is Neighbors.REPLACE_ONE)
    assert (shares.count_epsilon or 0) + shares.half.epsilon <= min(epsilon, 100)
    assert shares.half.delta <= delta
    for blocks in (1, 2):
        each = shares.average(blocks)
        total, failure = blocks * each.epsilon, blocks * each.delta
        if relation is Neighbors.REPLACE_ONE:  # x to nobody, nobody to x'
            total, failure = 2 * total, (1 + math.exp(total)) * failure
        assert total <= shares.half.epsilon
        assert failure <= shares.half.delta
    for k, steps in ((0, 1), (3, 4)):
        step = shares.variance_step(k)
        assert steps * step.epsilon <= shares.half.epsilon * (1 + 1e-15)
        assert steps * step.delta <= shares.half.delta * (1 + 1e-15)


def test_the_printed_number_of_coordinates():
    """The errata's example: at n = 4000 and d = 10^4 a small share of epsilon learns nothing."""
    assert printed_top(4000, 10**4, Budget(0.14, 1e-6), 0.01) == 0
    assert printed_top(4000, 10**4, Budget(0.16, 1e-6), 0.01) == 1
    assert printed_top(10**9, 50, Budget(1.0, 1e-6), 0.01) == 50
    assert printed_top(10**6, 1, Budget(1.0, 1e-6), 0.01) == 1  # log d = 0
    assert [printed_top(n, 5, Budget(1.0, 1e-6), 0.01) for n in (-5.0, 0.0, 1.0)] == [0, 0, 0]


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("records", [-10.0, 0.0, 10.0, 300.0, 2000.0, 1e5, 1e7])
@pytest.mark.parametrize("dimension", [1, 10**4])
def test_the_plan_is_one_that_its_groups_can_answer(records, dimension, relation):
    shares = paper_shares(Budget(1.0, 1e-6), relation)
    steps = choose_steps(records, dimension, shares, 0.01)
    if steps is None:
        assert records < 2500
        return
    assert 0 <= steps.top <= dimension
    assert steps.groups * steps.size <= records
    assert steps.groups >= votes_needed(steps.top, dimension, shares, 0.01) - 1
    assert 0.5 * math.log(16 * dimension) <= steps.pairs <= 10 * math.log(3 * dimension) + 1


# ---- M and λ


def test_radii_cover_eight_times_the_estimates():
    """λ >= sqrt(2 tr A) + 2 sqrt(2 tr A log(n/β)) for the largest variances that the estimates allow (errata)."""
    learned = Learned(np.array([3, 0]), np.array([64.0, 4.0]), np.array([1, 2]), 0.25)
    top, bottom = coordinate_blocks(learned, 1000.0, 0.01)
    for block, trace in ((top, 8 * (8 + 2)), (bottom, 8 * 0.25)):
        assert block.radius >= (math.sqrt(2 * trace) + 2 * math.sqrt(2 * trace * math.log(1e5))) * (1 - 1e-12)
    assert top.shape.covariance_diagonal(2).tolist() == [64.0, 4.0]
    assert bottom.shape.covariance_diagonal(2).tolist() == [1.0, 1.0]
    assert (top.coordinates.tolist(), bottom.coordinates.tolist()) == ([3, 0], [1, 2])


def test_a_variance_of_zero_is_raised_to_something_tiny():
    learned = Learned(np.array([0, 1]), np.array([1.0, 0.0]), np.array([2]), 0.0)
    top, bottom = coordinate_blocks(learned, 1000.0, 0.01)
    assert top.shape.covariance_diagonal(2).tolist() == [1.0, 4.0**-10]
    assert 0 < bottom.radius <= 1e-3 * top.radius
    nobody = coordinate_blocks(Learned(np.array([], dtype=int), np.array([]), np.array([0]), 1.0), 100.0, 0.01)
    assert len(nobody) == 1
    assert len(coordinate_blocks(Learned(np.array([0]), np.array([1.0]), np.array([], dtype=int), 0.0), 9.0, 0.1)) == 1


# ---- one average


def block(dimension=3, radius=10.0):
    return Block(DiagonalCovariance(np.array([16.0, 1.0, 1.0])[:dimension]), radius, np.arange(dimension) + 1)


def test_an_average_of_the_chosen_friends(rng):
    """Without noise: the chosen records without the outlier, on the block's coordinates alone."""
    X = rng.normal(size=(4000, 5)) + 20
    X[7] = 1e6
    chosen = np.arange(4000) % 2 == 1
    found = average(as_records(X), chosen, block(), Budget(1.0, 1e-6), noise=RecordingNoise())
    kept = chosen & (np.arange(4000) != 7)
    assert found.mean == pytest.approx(X[kept][:, 1:4].mean(axis=0), abs=1e-4)


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.2, 1e-9), Budget(20.0, 1e-12)])
def test_the_mean_is_calibrated_to_a_lower_bound_of_the_number_kept(budget):
    """Kept less the bound's distance, not the noisy number itself: that would be too small half of the time (P3)."""
    noise, count = RecordingNoise(), 10**4
    found = average(as_records(np.ones((count, 4))), np.ones(count, dtype=bool), block(), budget, noise=noise)
    (_, count_stddev, _), _ = (asked for asked in noise.asked if asked[0] == "gaussian")
    branch = calibrate_filtered(budget)
    lowest = count - bound_distance(branch) * count_stddev / 2**14
    precision = remaining_mu(branch, (2**14 + 1) / count_stddev)
    needed = 2 * 10.0 / lowest / precision
    assert needed * (1 - 1e-9) <= math.sqrt(found.variance[1]) <= needed * (1 + 1e-5)
    assert needed > 2 * 10.0 / count / precision * (1 + 1e-4)  # the broken twin's


def test_an_average_beyond_its_share_does_not_leave(monkeypatch):
    """Without the lifting the noise is too small for a random filter: the ledger notices."""
    monkeypatch.setattr(averaging, "calibrate_filtered", calibrate_bounded)
    with pytest.raises(ValueError, match="exceeds its share"):
        average(
            as_records(np.ones((4000, 4))), np.ones(4000, dtype=bool), block(), Budget(1.0, 1e-6), noise=SeededNoise(1)
        )


def test_too_few_friends_are_bottom():
    far_apart = as_records(np.arange(400.0)[:, None] * np.ones(4) * 1e3)
    everybody = np.ones(400, dtype=bool)
    assert average(far_apart, everybody, block(), Budget(1.0, 1e-6), noise=RecordingNoise()) is None
    assert average(far_apart, ~everybody, block(), Budget(1.0, 1e-6), noise=RecordingNoise()) is None
    nobody = as_records(np.zeros((0, 4)))
    assert average(nobody, np.zeros(0, dtype=bool), block(), Budget(1.0, 1e-6), noise=RecordingNoise()) is None


def test_records_off_the_grid_are_nobodys_friends():
    far = as_records(np.full((4000, 4), 1e20))
    everybody = np.ones(4000, dtype=bool)
    assert average(far, everybody, block(radius=1e-3), Budget(1.0, 1e-6), noise=RecordingNoise()) is None


def test_invalid_records_are_nobodys_friends(rng):
    X = rng.normal(size=(3000, 4))
    X[:1000, 2] = np.nan  # also where the block does not look
    everybody = np.ones(3000, dtype=bool)
    noise = RecordingNoise()
    found = average(as_records(X), everybody, block(1, 100.0), Budget(1.0, 1e-6), noise=noise)
    assert found.mean == pytest.approx(X[1000:, 1].mean(axis=0), abs=1e-4)
    assert ("below", 3000, 3000) in noise.asked  # they count


# ---- the whole release


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("dimension", [1, 30])
@sampling(1e-6)
def test_an_honest_release_errs_by_its_stated_noise(rng, seed, relation, dimension):
    X = rng.normal(size=(4000, dimension)) / np.arange(1, dimension + 1) * 50 + 1000
    found = released(X, neighbors=relation, noise=SeededNoise(seed))
    assert found.method == "paper"
    assert found.parameters["top"] == 0
    squares = (((found.mean - 1000) / found.noise_stddev) ** 2).sum()
    assert chi2.ppf(2.5e-7, dimension) < squares < chi2.ppf(1 - 2.5e-7, dimension) * 1.1  # and a little sampling error


@pytest.mark.parametrize("relation", RELATIONS)
@sampling(1e-6)
def test_with_a_large_budget_variances_are_learned(rng, seed, relation):
    stddev = np.concatenate([np.full(4, 30.0), np.full(36, 0.1)])
    found = released(rng.normal(size=(8000, 40)) * stddev, epsilon=60.0, neighbors=relation, noise=SeededNoise(seed))
    assert found.parameters["top"] >= 4
    assert found.noise_stddev[:4].min() > 3 * found.noise_stddev[4:].max()
    assert (np.abs(found.mean) < 7 * np.hypot(found.noise_stddev, stddev / math.sqrt(3500))).all()


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_of_a_release(rng, relation):
    found = released(rng.normal(size=(4000, 2)), neighbors=relation)
    shares = paper_shares(Budget(1.0, 1e-6), Neighbors(relation))
    counted = [Pure("number of records", shares.count_epsilon)] if shares.count_epsilon else []
    assert list(found.charges.events[:-1]) == counted
    assert isinstance(found.charges.events[-1], Approximate)
    assert (found.charges.events[-1].epsilon, found.charges.events[-1].delta) == (
        shares.half.epsilon,
        shares.half.delta,
    )
    assert 0.9e-6 < found.charges.delta() <= 1e-6
    assert Release.from_json(found.to_json()) == found


@pytest.mark.parametrize("relation", RELATIONS)
def test_which_noise_is_asked_for(rng, relation):
    """Coins (replace-one: two keys an item) for the halves, two keys for the slots, Laplace, coins and Gaussians."""
    noise = RecordingNoise()
    released(rng.normal(size=(4000, 2)), neighbors=relation, noise=noise)
    shares = paper_shares(Budget(1.0, 1e-6), Neighbors(relation))
    kinds = [kind for kind, _, _ in noise.asked]
    counted, halves = (["laplace"], ["below"]) if relation == "add-remove" else ([], ["below", "below"])
    assert kinds == [*counted, *halves, "below", "below", "laplace"] + (
        ["gaussian"] if relation == "add-remove" else ["below", "gaussian", "gaussian"]
    )  # coins that all fall alike leave the second half empty under add/remove: ⊥
    if counted:
        assert noise.asked[0][1] == pytest.approx(1 / shares.count_epsilon)
    vote = next(scale for kind, scale, _ in noise.asked[len(counted) :] if kind == "laplace")
    assert vote == pytest.approx(2 / shares.half.epsilon)


def test_only_the_released_count_is_used(rng):
    """n = 4000 with noise +100 and n = 4100 without: groups, radii, noise, everything released is the same."""
    X = rng.normal(size=(4100, 2))
    few = released(X[:4000], noise=ScriptedNoise(on_count=100, paired=4000))
    many = released(X, noise=ScriptedNoise(paired=4000))  # the others join the first half, and no group
    assert not few.refused
    assert few == many
    other = released(X, noise=ScriptedNoise(on_count=100, paired=4000))
    assert other.parameters["groups"] != few.parameters["groups"]
    assert other.noise_stddev[0] > few.noise_stddev[0]  # the radius grows with the released count


def recorded(monkeypatch, module, name, found):
    """Wrap a function of a module so that `found` receives its arguments and its answer."""
    original = getattr(module, name)

    def wrapped(*args, **kwargs):
        answer = original(*args, **kwargs)
        found.append((args, answer))
        return answer

    monkeypatch.setattr(module, name, wrapped)


@pytest.mark.parametrize("relation", RELATIONS)
def test_each_half_is_charged_for_everything_it_was_asked(rng, monkeypatch, relation):
    """Variances are learned and there are two averages: votes, and averages, add up to at most the half's share."""
    votes, choices, averages, noise = [], [], [], ScriptedNoise()
    recorded(monkeypatch, variance_votes, "heaviest_cell", votes)
    recorded(monkeypatch, variance_votes, "sparse_vector", choices)
    recorded(monkeypatch, kernel, "average", averages)
    X = rng.normal(size=(4000, 8)) * np.repeat([30.0, 1.0], [5, 3])
    found = released(X, epsilon=50.0, neighbors=relation, noise=noise)
    half = paper_shares(Budget(50.0, 1e-6), Neighbors(relation)).half
    _check_votes(half, [answer.event for _, answer in votes], choices[0], noise, relation)
    _check_averages(half, [args[3] for args, _ in averages], noise, relation)
    assert 2 <= found.parameters["top"] < 8


def _check_votes(half, events, chosen, noise, relation):
    """k-th largest, the choice, one vote for each coordinate found, the rest; and the noise that was drawn for them."""
    (_, _, most, epsilon, delta), answer = chosen
    kth, *each, rest = events
    assert len(each) == len(answer.value) >= 1
    left = half.epsilon - kth.epsilon - epsilon - rest.epsilon, half.delta - kth.delta - delta - rest.delta
    assert min(left) > 0
    assert delta_repeated(len(each), each[0].epsilon, each[0].delta, left[0] * (1 + 1e-12)) <= left[1] * (1 + 1e-12)
    drawn = [scale for kind, scale, _ in noise.asked if kind == "laplace"][relation == "add-remove" :]
    scale = sparse_scale(most, epsilon, delta)
    redrawn = [scale] * min(len(each), most - 1)  # after every answer but the last one allowed
    wanted = [2 / kth.epsilon, scale, 2 * scale, *redrawn, *(2 / vote.epsilon for vote in each), 2 / rest.epsilon]
    assert drawn == pytest.approx(wanted, rel=1e-12)


def _check_averages(half, budgets, noise, relation):
    epsilon, delta = sum(each.epsilon for each in budgets), sum(each.delta for each in budgets)
    if relation == "replace-one":  # x to nobody, nobody to x'
        epsilon, delta = 2 * epsilon, (1 + math.exp(epsilon)) * delta
    assert len(budgets) == 2
    assert epsilon <= half.epsilon
    assert delta <= half.delta
    counts = [stddev for kind, stddev, _ in noise.asked if kind == "gaussian"][::2]  # number kept, mean, twice
    for budget, stddev in zip(budgets, counts, strict=True):
        assert stddev > 2**14 / calibrate_filtered(budget).mu


def test_each_half_has_its_own_job(rng):
    """With draws that keep the order, the first half learns the radius and the second is averaged, no record twice."""
    X = rng.normal(size=(4000, 2))
    usual = released(X, neighbors="replace-one", noise=RecordingNoise())
    assert usual.mean == pytest.approx(X[2000:].mean(axis=0), abs=1e-4)
    other = X.copy()
    other[:300] += 5.0  # the vote stays as it is
    again = released(other, neighbors="replace-one", noise=RecordingNoise())
    assert again.mean.tolist() == usual.mean.tolist()
    assert again.noise_stddev.tolist() == usual.noise_stddev.tolist()
    wider = np.concatenate([X[:2000] * 100, X[2000:]])
    assert released(wider, neighbors="replace-one", noise=RecordingNoise()).noise_stddev[0] > usual.noise_stddev[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("scale", "reason"), [(0.0, NO_SCALE), (1e300, NO_SCALE), (1e-300, NO_SCALE), (1e70, NO_SCALE), (1e-70, NO_SCALE)]
)
def test_scales_beyond_the_arithmetic(rng, scale, reason):
    with np.errstate(all="raise"):
        assert released(rng.normal(size=(3000, 2)) * scale).refusal == reason


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [1.0, 60.0])
def test_constant_columns_and_a_huge_one(rng, epsilon):
    X = rng.normal(size=(4000, 5)) * [1, 0, 1, 1e30, 0] + [0, 7, 0, 0, 1e6]
    found = released(X, epsilon=epsilon)
    assert not found.refused
    assert (np.abs(found.mean - X.mean(axis=0)) < 8 * np.hypot(found.noise_stddev, X.std(axis=0) / 40)).all()


def test_too_far_from_zero(rng):
    assert released(rng.normal(size=(3000, 2)) + 1e15).refusal == LOW_WEIGHT


def test_groups_that_disagree(rng):
    X = np.exp(60 * rng.normal(size=(3000, 1)))
    assert released(X).refusal in (NO_VOTE, LOW_WEIGHT)


def test_replace_one_refuses_before_it_looks():
    assert released(np.full((20, 2), np.nan), neighbors="replace-one").refusal == TOO_FEW
