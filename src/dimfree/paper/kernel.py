"""The kernel of the algorithms of the paper: it alone holds records, their secret halves and groups, and noise.

A program queries a `PaperTable`. Every answer is charged first, then the records are read, then noise is drawn; a query
that exceeds the budget is refused. So any computation of a program is post-processing. Proof: proofs/paper/kernel.md.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from dimfree._types import Booleans, Floats, Integers
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.discrete import idealize
from dimfree.accounting.events import COUNT_STEPS, SEARCH_STEPS, Costs, Gaussian, branches_profile, make_count
from dimfree.accounting.losses import Approximate, Pure
from dimfree.accounting.precision import compose, largest_mu, total_delta
from dimfree.accounting.several_runs import Composition
from dimfree.data.records import Records, require_valid
from dimfree.kernel import KernelError, Released
from dimfree.kernel.parameters import floats
from dimfree.kernel.session import Sealed, check_noise
from dimfree.kernel.statistics.secret_ring import draw_fixed_samples, poisson_samples
from dimfree.noise import Noise
from dimfree.paper import variance_votes as votes
from dimfree.paper.averaging import Average, Block, average
from dimfree.paper.mechanisms import Priced, laplace_count, noisy_search, search_event

HALVES = "variances or averages: whichever half a record is in"
_MAX_EXPONENT = 700.0  # of e; a cost beyond it fits no budget
_MAX_GROUPS, _MAX_EDGES = 2**28, 300  # sums over groups then fit 64 bits (M2)


class PaperTable(Sealed):
    """Records, or a secret half of them, under one budget, which the charges of adaptive programs cannot exceed.

    Charges are either Gaussians, which add up by precision, or other losses, whose epsilons and deltas add up.
    """

    def __init__(
        self,
        records: Records,
        budget: Budget,
        relation: Neighbors,
        noise: Noise,
        *,
        missing: str,
        debit: Callable[[], None] | None = None,
        chosen: Booleans | None = None,
    ) -> None:
        """`debit`: charges a ledger before the first charge; `chosen`: the records of a half, secret."""
        self._budget, self._relation, self.dimension = budget, relation, records.dimension
        self._records, self._noise, self._chosen, self.is_private = records, noise, chosen, noise.private
        self._on_missing, self._debit, self._opened = missing, debit, chosen is not None
        self._charges: tuple[Gaussian | Pure | Approximate, ...] = ()

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def relation(self) -> Neighbors:
        return self._relation

    @property
    def public_count(self) -> int:
        """The number of records under replace-one, where it is public."""
        if self.relation is not Neighbors.REPLACE_ONE:
            raise KernelError("The number of records is private.")
        return self._count

    @property
    def composition(self) -> Composition:
        """The charges so far."""
        return Composition(self.budget, self.relation, self._charges)

    @property
    def costs(self) -> Costs:
        """The charges so far, if they are Gaussians."""
        gaussians = tuple(each for each in self._charges if isinstance(each, Gaussian))
        return Costs(self.budget, self.relation, gaussians, ())

    @cached_property
    def mu(self) -> float:
        """The precision of all Gaussians together: that of the best Gaussian, minus the excess of the bound of P9."""
        epsilon, delta = idealize(self.budget.usable_epsilon, self.budget.delta)
        mu = largest_mu(epsilon, delta)
        while total_delta(epsilon, mu, partial(branches_profile, ())) > delta:
            mu *= 0.998
        return mu * (1 - 1e-12)

    def laplace_count(self, epsilon: float) -> Priced[int, Pure]:
        """Release the number of records; sensitivity 1 (M6)."""
        self._charge(Pure("number of records", epsilon))
        return laplace_count(self._count, epsilon, noise=self._noise)

    def gaussian_count(self, stddev: float) -> Released[float]:
        """Release the number of records (P5')."""
        event = make_count(stddev)
        self._charge(event)
        drawn = int(self._noise.gaussian(event.stddev, 1)[0])
        return Released((self._count * COUNT_STEPS + drawn) / COUNT_STEPS, event)

    def halves(self, share: Budget) -> tuple["PaperTable", "PaperTable"]:
        """Split the records by secret coins. A record is in one half, so that the share of each is charged once."""
        if self._chosen is not None:
            raise KernelError("A half is not split again.")
        self._charge(Approximate(HALVES, share.epsilon, share.delta))
        if self.relation is Neighbors.REPLACE_ONE:
            (first,) = draw_fixed_samples(self._count, (self._count // 2,), self._noise)
        else:
            (first,) = poisson_samples(self._count, (0.5,), self._noise)
        half = partial(PaperTable, self._records, share, self.relation, self._noise, missing=self._on_missing)
        return half(chosen=first), half(chosen=~first)

    def groups(self, groups: int, size: int) -> "PaperGroups":
        """Lay the records into a public number of groups by secret coins (M1). Nothing is released."""
        if not 0 <= groups < _MAX_GROUPS:
            raise KernelError("Sums over so many groups are not covered by the proof.")
        self._open()
        places = np.arange(self._count) if self._chosen is None else np.flatnonzero(self._chosen)
        layout = votes.slots(len(places), groups, size, self._noise)
        return PaperGroups(self, np.append(places, votes.EMPTY)[layout])  # an empty slot points to the last entry

    def average(self, block: Block, share: Budget) -> Average | None:
        """Release the paper's Avg at a cost of `share` under add-remove; None is ⊥ (P1).

        Under replace-one two steps are charged: a record is removed, and another added.
        """
        if type(block) is not Block:
            raise KernelError("A query accepts the kernel's own classes, not others.")
        epsilon, delta = share.epsilon, share.delta
        if self.relation is Neighbors.REPLACE_ONE:
            epsilon, delta = 2 * epsilon, (1 + math.exp(min(epsilon, _MAX_EXPONENT))) * delta * (1 + 1e-14)
        self._charge(Approximate("filter, number kept and mean", epsilon, delta))
        chosen = np.ones(self._count, dtype=np.bool_) if self._chosen is None else self._chosen
        return average(self._records, chosen, block, share, noise=self._noise)

    @property
    def _count(self) -> int:
        return self._records.count if self._chosen is None else int(self._chosen.sum())

    def _charge(self, event: Gaussian | Pure | Approximate) -> None:
        """Charge before a record is read, or raise KernelError; every comparison is written so that a NaN fails."""
        charges = (*self._charges, event)
        gaussians = [each for each in charges if isinstance(each, Gaussian)]
        others = [each for each in charges if not isinstance(each, Gaussian)]
        if gaussians and (others or self._chosen is not None):
            raise KernelError("A table is charged Gaussians or other losses, not both, and a half no Gaussians.")
        if gaussians:
            check_noise(gaussians, self.budget)
            finite = all(0 < each.mu < math.inf for each in gaussians)
            fits = finite and compose(each.mu for each in gaussians) <= self.mu * (1 + 1e-12)
        else:
            epsilon = sum(Fraction(each.epsilon) for each in others)
            delta = sum(Fraction(each.delta) for each in others if isinstance(each, Approximate))
            fits = epsilon <= Fraction(self.budget.usable_epsilon) and delta <= Fraction(self.budget.delta)
        if not fits:
            raise KernelError("This release exceeds the rest of the budget.")
        self._open()
        self._charges = charges

    def _open(self) -> None:
        """Before the first charge, check validity (an error for the owner of the data alone) and charge the ledger."""
        if not self._opened:
            require_valid(self._records, self._on_missing)
            if self._debit is not None:
                self._debit()
            self._opened = True


class PaperGroups(Sealed):
    """Secret groups of a table and their variance estimates; between neighbors one group differs (M1, M2, M4)."""

    def __init__(self, table: PaperTable, layout: Integers) -> None:
        self._table, self.dimension = table, table.dimension
        self._estimates: Callable[[], votes.GroupVariances] = cache(
            lambda: votes.group_variances(table._records, layout)
        )

    def kth_largest(self, k: int, share: Budget) -> float | None:
        """Release the k-th largest variance; None is ⊥."""
        return self._vote(votes.find_kth_largest_variance, share, k).value

    def top(self, threshold: float, k: int, share: Budget) -> list[int]:
        """Release up to k coordinates whose variance is at least about `threshold`."""
        return self._vote(votes.top_variances, share, threshold, k).value

    def each(self, coordinates: Sequence[int], share: Budget) -> list[float | None]:
        """Release the variance of each coordinate; `share` is for all of them together."""
        return [one.value for one in self._vote(votes.coordinate_variances, share, coordinates)]

    def total(self, coordinates: votes.Coordinates, share: Budget) -> float | None:
        """Release the sum of the variances of some coordinates."""
        return self._vote(votes.variance_sum, share, coordinates).value

    def search_total(self, edges: Floats, mu: float) -> Released[float]:
        """Release the edge next above the median over groups of the total variance (M5')."""
        edges, purpose = _check_edges(edges), "total variance"
        self._table._charge(search_event(len(edges) - 1, mu, purpose))
        sums = np.array(votes.group_sums(self._estimates(), range(self.dimension)))
        return noisy_search(partial(excess, sums), edges, mu, purpose, noise=self._table._noise)

    def mean_log_counts(self, edges: Floats, mu: float) -> Released[votes.NoisyMeans]:
        """Release the mean over complete groups of log2(1 + number of variances above each edge) (M2)."""
        edges, most, purpose = _check_edges(edges), math.log2(1 + self.dimension), "coordinates above thresholds"
        if len(edges) > _MAX_EDGES:
            raise KernelError("Sums for so many edges are not covered by the proof.")
        self._table._charge(votes.group_means_event(len(edges), most, mu, purpose))
        values = log_counts(self._estimates().values, edges)
        return votes.noisy_group_means(values, most, mu, purpose, noise=self._table._noise)

    def _vote(self, mechanism: Callable[..., Any], share: Budget, *asked: Any) -> Any:
        self._table._charge(
            Approximate(mechanism.__name__.removeprefix("find_").replace("_", " "), share.epsilon, share.delta)
        )
        return mechanism(self._estimates(), *asked, share.epsilon, share.delta, noise=self._table._noise)


def _check_edges(edges: Floats) -> Floats:
    """Return a plain array: an object compared with the variances of groups must not bring code of its own."""
    found = floats("edges", edges)
    if found.ndim != 1 or not len(found):
        raise KernelError("edges must be a list of numbers.")
    return found


def excess(sums: Floats, edge: float) -> int:
    """Return half of (sums at most the edge - sums above it), in steps of the search; one group changes it by one."""
    return (2 * int((sums <= edge).sum()) - len(sums)) * (SEARCH_STEPS // 2)


def log_counts(values: Floats, edges: Floats) -> Floats:
    """Return log2(1 + N_j) for every group (row) and threshold (column)."""
    counts = np.stack([(values >= edge).sum(axis=1) for edge in edges], axis=1)
    return np.log2(1.0 + np.arange(values.shape[1] + 1))[counts]  # from one table: the same count, the same bits
