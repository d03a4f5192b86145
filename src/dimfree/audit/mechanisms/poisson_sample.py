"""A secret Poisson sample of the records, before a release (P8)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import Audited, ExactCheck, Subject, plain_space, whole_mu
from dimfree.audit.exact.counts import noisy_number
from dimfree.audit.exact.divergence import Laws, laws, no_noise, one_removed
from dimfree.audit.mechanisms.clipped_mean import COUNT, clipped_row
from dimfree.audit.noise_doubles import Law, exact_law
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.kernel.statistics.samples import poisson_sample
from dimfree.noise import Noise

Sampler = Callable[[int, Noise], NDArray[np.bool_]]

_EXACT_RATE = 0.75  # a whole number of 2^-32
_RATE = 0.95


@dataclass
class CoarseUniforms:
    """Uniform draws of which only the side of `cut` matters: two outcomes instead of `bound`."""

    noise: Noise
    cut: float
    private: bool = False

    def below(self, bound: int, size: int) -> Integers:
        edge = int(self.cut * bound)
        return np.array([0 if self.noise.coin(edge, bound) else bound - 1 for _ in range(size)], dtype=np.int64)


def sampled(epsilon: float, delta: float) -> Laws:
    """`poisson_sample` before a noisy sum of records that are -1 or 1."""

    def sampler(count: int, noise: Noise) -> NDArray[np.bool_]:
        return poisson_sample(count, _EXACT_RATE, CoarseUniforms(noise, _EXACT_RATE))  # type: ignore[arg-type]

    return sampled_sums(epsilon, sampler)


def sampled_sums(epsilon: float, sampler: Sampler, most: int = 4) -> Laws:
    """Tables of at most `most` records, and every table that lacks one of them."""

    def law(table: tuple[int, ...]) -> Law:
        values = np.array(table, dtype=np.int64)
        total = exact_law(lambda noise: int(values[sampler(len(values), noise)].sum()), no_noise)
        return noisy_number(total, epsilon, -most, most)

    tables = [table for size in range(1, most + 1) for table in combinations_with_replacement((-1, 1), size)]
    return laws(law, one_removed(tables))


def sampled_mean(epsilon: float) -> Subject:
    """The clipped mean of a sample."""
    mu, relation = whole_mu(epsilon), Neighbours.ADD_REMOVE

    def draw(table: Table, noise: Noise) -> Floats:
        chosen = poisson_sample(len(table), _RATE, noise)
        return clipped_row(plain_space(np.asarray(table)[chosen]), COUNT, mu, relation, noise)

    return Subject("sample", epsilon, relation, draw, lambda: (odd_one_out(),))


def odd_one_out(size: int = 20) -> Pair:
    """All records are -1 but one, which is 1 and may be absent."""
    others = np.full((size, 1), -1.0)
    return Pair("odd one out", Neighbours.ADD_REMOVE, np.vstack([others, [[1.0]]]), others)


AUDIT = Audited(
    exact={"Poisson sample": ExactCheck(sampled, delta=0.0)}, other_subjects=lambda epsilon: (sampled_mean(epsilon),)
)
