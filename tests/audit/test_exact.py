"""The exact divergences are those of the code: every outcome of every draw, with its own law."""

import math
from collections import Counter
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from dimfree.mechanisms.search import STEPS, noisy_search

from dimfree.accounting.budget import Budget
from dimfree.audit.exact.compared import compared_law
from dimfree.audit.exact.counts import noisy_number
from dimfree.audit.exact.divergence import CountBitMean, judge, laplace_masses, no_noise, whole_mu
from dimfree.audit.mechanisms import bit, core_mean, grouping, search, stable_histogram, total_weight
from dimfree.audit.mechanisms import poisson_sample as sample
from dimfree.audit.mechanisms import sparse_vector as sparse
from dimfree.audit.noise_doubles import ZeroNoise, exact_law
from dimfree.audit.registry import EXACT
from dimfree.kernel.statistics.samples import poisson_sample
from dimfree.paper.grouping import EMPTY, slots
from dimfree.paper.sparse_vector import sparse_vector

DELTA = 1e-2


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 3.0])  # 1 is in test_noise_doubles
@pytest.mark.parametrize("name", EXACT)
def test_every_claim_holds(name, epsilon):
    make, delta = EXACT[name]
    found = judge(make(epsilon, DELTA), epsilon, delta)
    assert not found.violated
    assert found.epsilon <= epsilon


# ---- Gaussian releases


def lattice_tail(least, stddev):
    z = np.arange(-60 * int(stddev), 60 * int(stddev) + 1)
    weights = np.exp(-(z**2) / (2 * stddev**2))
    return weights[z >= least].sum() / weights.sum()


def test_the_pieces_are_those_of_the_lattice():
    """At a scale where it can be summed; the half step is off by 1/(24·stddev²) of a density."""
    found = search.pieces(100, 2, 300.0)
    assert math.fsum(found.values()) == pytest.approx(1)
    starts = sorted(found)
    for start in starts[1:]:
        assert sum(found[s] for s in starts if s >= start) == pytest.approx(lattice_tail(start, 300.0), abs=1e-6)


def test_the_search_cannot_tell_the_pieces_apart():
    """Whatever value of a piece is drawn, the walk is the same: the code compares with minus the count alone."""

    class Fixed(ZeroNoise):
        def gaussian(self, stddev, size):
            return np.full(size, self.drawn)

    def walk(values, drawn):
        noise = Fixed()
        noise.drawn = drawn
        excess = lambda point: (sum(v <= point for v in values) - 2) * STEPS  # noqa: E731
        return noisy_search(excess, np.arange(9.0), 1.0, 1.0, "audit", noise=noise).value

    for values in ((), (0.5, 3.5), (0.5, 4.5, 9.5), (0.5, 0.5, 0.5)):
        for start in range(-2 * STEPS, 2 * STEPS + 1, STEPS):
            assert walk(values, start) == walk(values, start + STEPS - 1)
        assert walk(values, 2 * STEPS) == walk(values, 10 * STEPS)
        assert walk(values, -2 * STEPS - 1) == walk(values, -10 * STEPS)


def test_vectors_are_summed_over_the_plane():
    found = core_mean.LatticeVectors(3.0, ((2, -1),))
    z = np.arange(-40, 41)
    x, y = np.meshgrid(z, z, indexing="ij")
    here, there = (np.exp(-((x - a) ** 2 + (y - b) ** 2) / 18.0) for a, b in ((0, 0), (2, -1)))
    gap = here / here.sum() - math.exp(0.4) * there / there.sum()
    assert found.delta_at(0.4) == pytest.approx(np.maximum(gap, 0).sum(), rel=1e-9)


def test_half_the_noise_on_a_vector_is_seen():
    found = core_mean.lattice_vectors(1.0, DELTA)
    assert not judge(found, 1.0, DELTA).violated
    assert judge(core_mean.LatticeVectors(found.stddev / 2, found.moves), 1.0, DELTA).violated


def test_what_comes_before_the_bit():
    """Add/remove: a count; with a search more; replace-one: nothing."""
    counted, searched = (make(1.0, DELTA).parts for make in (bit.bit, bit.searched_bit))
    assert 0 < counted[0].mu_before < searched[0].mu_before
    assert {each.mu_before for each in bit.public_bit(1.0, DELTA).parts} == {0.0}


def test_a_lower_ladder_after_nothing_is_seen():
    """The ladder that fits behind nothing does not fit behind a count, and the found says so."""
    found = bit.public_bit(1.0, DELTA).parts[0]
    assert judge(CountBitMean(found.ladder, 0.5, found.mu_after), 1.0, DELTA).violated


def test_the_total_moves_by_nearly_two():
    """Two cliques and a record between them (P3)."""
    found = total_weight.gaussian_total(1.0, DELTA)
    assert found.shift / 2**14 == pytest.approx(2 - 1 / 401, abs=1e-4)


def test_means_move_by_the_whole_sensitivity():
    """In every direction, the noise being that of one Gaussian for the whole budget."""
    mus = core_mean.means(1.0, DELTA).mus
    assert len(mus) == 4
    assert mus == pytest.approx([whole_mu(1.0, DELTA)] * 4, rel=1e-6)


# ---- votes and coins


def small(scale):
    """A made-up noise that knows its scale, small enough to run the code on every draw."""
    masses = {-3: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1}
    return {z * round(scale / 5): mass for z, mass in masses.items()}


@pytest.mark.parametrize("counts", [(2, 0, 1), (5, -5, 9)])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_law_by_comparisons_is_that_of_every_draw(counts, most):
    run = partial(first_above, counts, most)
    found = compared_law(run, small)
    assert found == pytest.approx({**dict.fromkeys(found, 0.0), **exact_law(run, small)}, abs=1e-12)
    assert math.fsum(found.values()) == pytest.approx(1)


def first_above(counts, most, noise):
    return tuple(sparse_vector(np.array(counts), 0.6, most, 3.0, 1e-4, noise=noise).value)


def test_a_threshold_without_noise_is_compared_too():
    law = compared_law(lambda noise: noise.laplace(5.0, 1)[0] + 1 >= 2, small)
    assert law == pytest.approx({True: 0.3, False: 0.7})


def twice(noise):
    (drawn,) = noise.laplace(5.0, 1)
    return drawn >= 0, drawn >= 1


def a_threshold_itself(noise):
    one, other = noise.laplace(5.0, 2)
    return one >= int(other), other >= 0


@pytest.mark.parametrize("run", [twice, a_threshold_itself])
def test_what_cannot_be_read_is_refused(run):
    with pytest.raises(ValueError, match="not known"):
        compared_law(run, small)


def test_a_stretch_is_told_apart_from_the_answers_before_it():
    """First answers and what follows them make up the whole law."""
    law = sparse.coded_sparse_law((1, 0, 0), 0, 2, (3.0, DELTA))
    first, rest = sparse._first_answer(law), sparse._after_the_first(law)
    assert set(first) == {(0,), (1,), (2,), ()}
    for positions, mass in rest.items():
        assert law[positions] == pytest.approx(first[(0,)] * mass)


def test_the_heaviest_cell_is_read_off_the_histogram():
    cells = ("a",) * 9 + ("b",) * 9
    masses = laplace_masses(12)
    whole = exact_law(
        lambda noise: tuple(stable_histogram.stable_histogram(cells, 1.0, DELTA, noise=noise).value.items()), masses
    )
    found = exact_law(lambda noise: stable_histogram.heaviest_cell(cells, 1.0, DELTA, noise=noise).value, masses)
    expected = Counter()
    for published, mass in whole.items():
        expected[published[0][0] if published else None] += mass
    assert found == pytest.approx(dict(expected))


def test_every_order_is_drawn_once():
    law = exact_law(lambda noise: tuple(grouping.UniformOrder(noise).below(2**62, 4)), no_noise)
    assert law == pytest.approx(dict.fromkeys(permutations(range(4)), 1 / 24))


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_slots_are_filled_evenly(count):
    """Every record is equally likely in every slot; the law that M1 speaks of."""
    found = exact_law(lambda noise: tuple(slots(count, 2, 2, grouping.UniformOrder(noise)).ravel().tolist()), no_noise)
    assert math.fsum(found.values()) == pytest.approx(1)
    for slot in range(4):
        for record in range(count):
            share = math.fsum(mass for layout, mass in found.items() if layout[slot] == record)
            assert share == pytest.approx(1 / max(count, 4))
        empty = math.fsum(mass for layout, mass in found.items() if layout[slot] == EMPTY)
        assert empty == pytest.approx(max(0, 4 - count) / 4)


def test_coarse_uniforms_toss_the_coins_of_the_sample():
    law = exact_law(lambda noise: tuple(poisson_sample(3, 0.75, sample.CoarseUniforms(noise, 0.75)).tolist()), no_noise)
    assert law[(True, True, True)] == pytest.approx(0.75**3)
    assert law[(False, True, False)] == pytest.approx(0.75 * 0.25**2)


def test_noise_is_tight_at_its_epsilon():
    """A count that moves by one costs exactly epsilon, wherever it stands."""
    laws = [noisy_number({k: 1.0}, 0.7, -2, 2) for k in (0, 1)]
    assert math.fsum(laws[0].values()) == pytest.approx(1)
    assert max(math.log(laws[0][o] / laws[1][o]) for o in laws[0]) == pytest.approx(0.7)


def test_budgets_are_those_of_the_calibration():
    menu = bit.calibrate_public_count(Budget(1.0, DELTA), 0.01)
    assert [each.mu_after for each in bit.public_bit(1.0, DELTA).parts] == [branch.mu for branch in menu.tested]
