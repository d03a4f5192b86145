"""Records in groups by secret coins, before a count of groups (M1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import Audited, ExactCheck, Subject
from dimfree.audit.exact.counts import noisy_number
from dimfree.audit.exact.divergence import Laws, laws, no_noise, one_removed
from dimfree.audit.noise_doubles import Law, exact_law
from dimfree.audit.pairs.pair import Pair, Table
from dimfree.noise import Noise
from dimfree.paper.grouping import Layout, slots
from dimfree.paper.laplace_count import laplace_count

Grouping = Callable[[int, int, int, Noise], Layout]
Labels = tuple[int, ...]

_GROUPS, _SIZE = 2, 2


@dataclass
class UniformOrder:
    """Keys in every order, equally likely; the second keys, which break ties that 2^62 values never have, are zero."""

    noise: Noise
    private: bool = False
    asked: int = 0

    def below(self, bound: int, size: int) -> Integers:
        self.asked += 1
        if self.asked > 1:
            return np.zeros(size, dtype=np.int64)
        left = list(range(size))
        return np.array([left.pop(int(self.noise.below(len(left), 1)[0])) for _ in range(size)], dtype=np.int64)


def grouped(epsilon: float, delta: float) -> Laws:
    """`slots` before a noisy count of the groups whose members agree."""

    def grouping(count: int, groups: int, size: int, noise: Noise) -> Layout:
        return slots(count, groups, size, UniformOrder(noise))  # type: ignore[arg-type]

    return grouped_counts(epsilon, grouping)


def grouped_counts(epsilon: float, grouping: Grouping) -> Laws:
    """Records with a label each, in an order, and the tables that lack one."""

    def law(table: Labels) -> Law:
        labels = np.array([*table, -1])  # the last one is an empty slot

        def agreeing(noise: Noise) -> int:
            members = labels[grouping(len(table), _GROUPS, _SIZE, noise)]
            return int(((members[:, 0] == members[:, 1]) & (members[:, 0] >= 0)).sum())

        return noisy_number(exact_law(agreeing, no_noise), epsilon, 0, _GROUPS)

    tables: list[Labels] = [(0, 0, 1, 1, 2), (0, 0, 0, 1, 1), (0, 0, 0, 0, 1), (0, 1, 1, 2), (0, 0, 1), (0, 0)]
    return laws(law, one_removed(tables))


def grouped_count(epsilon: float) -> Subject:
    """A Laplace count of the groups that agree."""

    def draw(table: Table, noise: Noise) -> Floats:
        column = np.append(np.asarray(table)[:, 0], np.nan)  # the last one is an empty slot
        layout = slots(len(column) - 1, 4, 2, noise)
        agree = int((column[layout[:, 0]] == column[layout[:, 1]]).sum())
        return np.array([laplace_count(agree, epsilon, noise=noise).value], dtype=np.float64)

    return Subject("grouping", epsilon, Neighbours.ADD_REMOVE, draw, lambda: (first_leaves(),), delta=0.0)


def first_leaves(groups: int = 5, step: float = 1.0) -> Pair:
    """Rows that agree two by two; when the first leaves, no two consecutive ones do."""
    column = np.repeat(np.arange(float(groups)), 2)[: 2 * groups - 1, None] * step
    return Pair("first record leaves", Neighbours.ADD_REMOVE, column, column[1:])


AUDIT = Audited(
    exact={"groups in slots": ExactCheck(grouped, delta=0.0)}, other_subjects=lambda epsilon: (grouped_count(epsilon),)
)
