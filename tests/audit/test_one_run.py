"""The one-run bound is a bound: exact on randomised response, above the worst release of tiny worlds, and it bites."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.stats import binom

from dimfree.audit.one_run import Game, count_right, epsilon_at_least, guess, largest_mean, p_value
from dimfree.errors import InvalidParameter
from dimfree.noise import SeededNoise


def sides(count):
    return list(itertools.product([-1, 1], repeat=count))


def right_of(coins, guesses):
    return sum(coin == said for coin, said in zip(coins, guesses, strict=True))


def randomised_response(canaries, epsilon):
    """{coins: {guesses: probability}}: every coin is told with probability q, its opposite otherwise."""
    q = 1 / (1 + math.exp(-epsilon))
    return {
        coins: {said: math.prod(q if s == t else 1 - q for s, t in zip(coins, said, strict=True)) for said in coins_all}
        for coins_all in [sides(canaries)]
        for coins in coins_all
    }


def leaking(canaries, epsilon, delta):
    """Randomised response that says everything with probability delta: exactly (epsilon, delta)-private."""
    plain = randomised_response(canaries, epsilon)
    return {
        coins: {said: (1 - delta) * chance + delta * (said == coins) for said, chance in law.items()}
        for coins, law in plain.items()
    }


def law_of_right(release, canaries):
    """Exactly: how probable each number of right guesses is, over coins and release."""
    law = np.zeros(canaries + 1)
    for coins, said in release.items():
        for guesses, chance in said.items():
            law[right_of(coins, guesses)] += chance / len(release)
    return law


def delta_of(release, epsilon):
    """The exact delta of a release of coins, over all coins and all canaries."""
    found = 0.0
    for coins, place in itertools.product(release, range(len(next(iter(release))))):
        other = tuple(-c if k == place else c for k, c in enumerate(coins))
        excess = (chance - math.exp(epsilon) * release[other].get(said, 0) for said, chance in release[coins].items())
        found = max(found, sum(max(0.0, each) for each in excess))
    return found


def worst_release(canaries, guesses, correct, epsilon, delta):
    """The largest chance of so many right guesses over all (epsilon, delta)-private releases: a linear programme."""
    coins = sides(canaries)
    outputs = [t for t in itertools.product([-1, 0, 1], repeat=canaries) if sum(map(abs, t)) <= guesses]
    size, width = len(coins) * len(outputs), len(outputs)
    edges = [(i, j) for i, s in enumerate(coins) for j, t in enumerate(coins) if right_of(s, t) == canaries - 1]
    entries, limits = [], []
    for edge, (i, j) in enumerate(edges):
        slack = size + edge * width
        for k in range(width):
            row = len(limits)
            entries += [(row, i * width + k, 1.0), (row, j * width + k, -math.exp(epsilon)), (row, slack + k, -1.0)]
            limits.append(0.0)
        entries += [(len(limits), slack + k, 1.0) for k in range(width)]
        limits.append(delta)
    rows, columns, values = zip(*entries, strict=True)
    total = size + len(edges) * width
    sums = csr_array((np.ones(size), (np.repeat(np.arange(len(coins)), width), np.arange(size))), (len(coins), total))
    wins = np.zeros(total)
    wins[:size] = [-(right_of(s, t) >= correct) / len(coins) for s in coins for t in outputs]
    inside = csr_array((values, (rows, columns)), (len(limits), total))
    return -linprog(wins, A_ub=inside, b_ub=limits, A_eq=sums, b_eq=np.ones(len(coins)), method="highs").fun


# ---- the p-value


def tail_at_most(correct, game, epsilon, delta):
    """The part of the bound that is for one release: min over prices, paid 1 for `correct` right guesses or more."""
    share, prices = 1 / (1 + math.exp(-epsilon)), np.concatenate([np.geomspace(1e-9, 1, 4000), [1.0]])
    payoff = (np.arange(game.guesses + 1) >= correct).astype(float)
    return float((prices * game.canaries * delta + largest_mean(payoff[None, :], share, prices[:, None])).min())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_randomised_response_attains_the_bound_on_one_release(epsilon):
    law = law_of_right(randomised_response(4, epsilon), 4)
    for correct in range(5):
        assert tail_at_most(correct, Game(4, 4), epsilon, 0.0) == pytest.approx(law[correct:].sum(), rel=1e-8)
        assert p_value(correct, Game(4, 4), epsilon, 0.0) >= law[correct:].sum()


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 0.1)])
def test_no_private_release_beats_the_p_value(canaries, guesses, epsilon, delta):
    """All of them at once, by linear programming; the bound is not idle either."""
    for correct in range(1, guesses + 1):
        worst = worst_release(canaries, guesses, correct, epsilon, delta)
        claimed = tail_at_most(correct, Game(canaries, guesses), epsilon, delta)
        assert worst <= min(claimed, p_value(correct, Game(canaries, guesses), epsilon, delta)) + 1e-9
        assert claimed <= worst * (1.002 if guesses == 1 else 1.03)


def printed(correct, game, epsilon, delta):
    """The p-value as published: a binomial tail and 2·m·delta·max_i P(v > W >= v - i)/i."""
    q, r = 1 / (1 + math.exp(-epsilon)), game.guesses
    windows = (binom.pmf(range(correct - i, correct), r, q).sum() / i for i in range(1, correct + 1))
    return binom.sf(correct - 1, r, q) + 2 * game.canaries * delta * max(windows)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_published_p_value_is_beaten_by_a_private_release(epsilon):
    """Two canaries, told by randomised response; if both lies would show, one of them is taken back."""
    q = 1 / (1 + math.exp(-epsilon))
    release = randomised_response(2, epsilon)
    for coins, law in release.items():
        both = tuple(-c for c in coins)
        taken = law[both] / 2
        law[both] -= taken
        for place in range(2):
            law[tuple(c if k == place else -c for k, c in enumerate(coins))] += taken / 2
    delta, chance = delta_of(release, epsilon), law_of_right(release, 2)[1:].sum()
    assert delta == pytest.approx((1 - q) ** 2 / 2 * (0.5 + math.exp(epsilon)))
    assert chance > printed(1, Game(2, 2), epsilon, delta) * (1 + 1e-6)
    assert chance <= p_value(1, Game(2, 2), epsilon, delta)


@pytest.mark.parametrize("releases", [1, 2, 40])
def test_a_release_that_leaks_stays_below_the_p_value(releases):
    epsilon, delta = 1.0, 0.02
    release = leaking(3, epsilon, delta)
    assert delta_of(release, epsilon) == pytest.approx(delta)
    law = np.array([1.0])
    for _ in range(releases):
        law = np.convolve(law, law_of_right(release, 3))
    tails = law[::-1].cumsum()[::-1]
    claimed = [p_value(correct, Game(3, 3, releases), epsilon, delta) for correct in range(len(law))]
    assert (tails <= np.array(claimed) * (1 + 1e-9)).all()
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(claimed))
    if releases == 40:
        place = int(np.argmax(tails < 1e-4))
        assert claimed[place] < 100 * tails[place]


def test_a_gambler_who_buys_nothing_or_everything():
    payoff = np.array([0.0, 0.0, 1.0])
    assert largest_mean(payoff, 0.7, np.array([9.0])) == pytest.approx(0.49)
    assert largest_mean(payoff, 0.7, np.array([0.0])) == pytest.approx(1.0)
    assert largest_mean(payoff, 0.7, np.array([0.25])) == pytest.approx(0.7 * 0.75)  # the second one, if it matters


def test_one_release_never_says_more_than_delta():
    """It may publish everything with probability delta, and nothing else."""
    assert p_value(100, Game(100, 100), 0.0, 1e-3) >= 1e-3
    assert epsilon_at_least(100, Game(100, 100), 1e-3, 1e-4) == 0
    assert epsilon_at_least(100, Game(100, 100), 1e-6, 1e-3) > 1


def test_the_p_value_grows_with_epsilon_and_delta():
    small = [p_value(60, Game(100, 80), epsilon, 1e-4) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    assert small == sorted(small)
    assert p_value(60, Game(100, 80), 0.5, 1e-3) > small[1]
    several = [p_value(300, Game(20, 10, 40), epsilon, 1e-2) for epsilon in (0.0, 0.5, 1.0, 2.0)]
    assert several == sorted(several)


# ---- the bound


@pytest.mark.parametrize("failure", [0.05, 1e-4])
@pytest.mark.parametrize(("game", "delta"), [(Game(40, 40), 0.0), (Game(3, 3, 40), 0.02)])
def test_the_bound_exceeds_epsilon_no_more_often_than_it_says(game, delta, failure):
    """Exactly, on releases that spend all of their (epsilon, delta); no sampling."""
    epsilon = 1.0
    if delta:
        one = law_of_right(leaking(3, epsilon, delta), 3)
        law = np.array([1.0])
        for _ in range(game.releases):
            law = np.convolve(law, one)
    else:
        law = binom.pmf(np.arange(41), 40, 1 / (1 + math.exp(-epsilon)))
    wrong = [p_value(correct, game, epsilon, delta) <= failure for correct in range(len(law))]
    first = wrong.index(True)
    assert all(wrong[first:])
    assert epsilon_at_least(first - 1, game, delta, failure) <= epsilon < epsilon_at_least(first, game, delta, failure)
    assert failure / 1000 < law[first:].sum() <= failure


def test_guesses_go_by_rank_and_a_refusal_is_mute():
    scores = np.array([3.0, math.nan, -1.0, 0.0, 5.0, 1.0])
    assert guess(scores, 2).tolist() == [0, 0, -1, 0, 1, 0]
    assert guess(scores, 6).tolist() == [1, 0, -1, -1, 1, 0]
    assert guess(np.full(4, math.nan), 4).tolist() == [0, 0, 0, 0]
    assert guess(np.zeros(4), 2).tolist() == [-1, 0, 0, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: Game(0, 0),
        lambda: Game(3, 4),
        lambda: Game(3, 3, 0),
        lambda: epsilon_at_least(7, Game(3, 3, 2), 0.0, 0.1),
        lambda: epsilon_at_least(1, Game(3, 3), 1.0, 0.1),
        lambda: epsilon_at_least(1, Game(3, 3), 0.0, 0.0),
    ],
)
def test_bad_parameters_are_named(call):
    with pytest.raises(InvalidParameter):
        call()


def test_right_guesses_are_counted_over_all_releases(seed):
    """Scores that tell are always right; a refusal is guessed at nowhere; scores of the opposite are always wrong."""
    game, coins = Game(10, 4, 7), SeededNoise(seed)
    assert count_right(lambda present: np.full(10, math.nan), game, coins) == 0
    told = count_right(lambda present: np.where(present, 1.0, -1.0), Game(40, 4, 7), coins)
    assert told == 28
    assert count_right(lambda present: np.where(present, -1.0, 1.0), Game(40, 4, 7), coins) == 0
