"""M1 by enumeration: between neighbors the layouts of slots can be coupled so that one slot differs; twins cannot."""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from dimfree.paper.variance_votes import EMPTY, full_groups, slots

NAMES = "abcde"


@dataclass
class Scripted:
    """Noise whose first keys are given; the second ones, which only break ties, are all alike."""

    keys: tuple[int, ...]
    private: bool = False
    bounds: list[int] = field(default_factory=list)

    def below(self, bound, size):
        assert size == len(self.keys)
        self.bounds.append(bound)
        return np.array(self.keys if len(self.bounds) == 1 else (0,) * size, dtype=np.int64)


def named(layout, table):
    """The layout with names for indices: what the rest of a run can see of it."""
    return tuple(tuple("" if i == EMPTY else table[i] for i in group) for group in layout.tolist())


def law(table, groups, size):
    """How often each layout comes, over all equally likely orders of the items."""
    items = max(len(table), groups * size)
    return Counter(named(slots(len(table), groups, size, Scripted(keys)), table) for keys in permutations(range(items)))


def slots_apart(one, other):
    return sum(x != y for g, h in zip(one, other, strict=True) for x, y in zip(g, h, strict=True))


def groups_apart(one, other):
    """Groups that must be exchanged, added or taken away, order aside."""
    left, right = Counter(one), Counter(other)
    return max((left - right).total(), (right - left).total())


def can_be_coupled(left, right, apart):
    """Whether all mass of one law can be moved to the other between layouts at most one apart; exact, by integers."""
    whole = math.lcm(left.total(), right.total())
    here, there = list(left), list(right)
    source, sink = len(here) + len(there), len(here) + len(there) + 1
    edges = [(source, i, left[x] * (whole // left.total())) for i, x in enumerate(here)]
    edges += [(len(here) + j, sink, right[y] * (whole // right.total())) for j, y in enumerate(there)]
    edges += [(i, len(here) + j, whole) for i, x in enumerate(here) for j, y in enumerate(there) if apart(x, y) <= 1]
    rows, columns, capacity = map(np.array, zip(*edges, strict=True))
    graph = csr_array((capacity.astype(np.int32), (rows, columns)), shape=(sink + 1, sink + 1))
    return maximum_flow(graph, source, sink).flow_value == whole


@pytest.mark.parametrize(("groups", "size"), [(1, 2), (2, 2), (1, 4), (3, 1), (1, 3)])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_one_record_more_changes_at_most_one_slot(count, groups, size):
    """More slots than records, as many, fewer; the leaver stands first, in the middle or last."""
    table = NAMES[:count]
    for leaver in {0, count // 2, count - 1}:
        rest = table[:leaver] + table[leaver + 1 :]
        assert can_be_coupled(law(table, groups, size), law(rest, groups, size), slots_apart)


@pytest.mark.parametrize("leaver", [0, 2, 4])
def test_replacing_a_record_changes_one_slot_of_the_same_layout(leaver):
    other = NAMES[:leaver] + "z" + NAMES[leaver + 1 :]
    for keys in permutations(range(5)):
        left = named(slots(5, full_groups(5, 2), 2, Scripted(keys)), NAMES)
        right = named(slots(5, full_groups(5, 2), 2, Scripted(keys)), other)
        assert slots_apart(left, right) == sum(NAMES[leaver] in group for group in left) <= 1


@pytest.mark.parametrize(("count", "groups", "size"), [(2, 2, 2), (4, 2, 2), (5, 2, 2)])
def test_every_layout_is_equally_likely(count, groups, size):
    """A uniform injection of records into slots, or of slots into records."""
    found = law(NAMES[:count], groups, size)
    slots_, records = groups * size, count
    wanted = math.perm(max(slots_, records), min(slots_, records))
    assert len(found) == wanted
    assert len(set(found.values())) == 1


def test_both_keys_are_long_and_only_ties_look_at_the_second():
    noise = Scripted((7, 7, 3))
    assert slots(3, 1, 3, noise).tolist() == [[2, 0, 1]]
    assert noise.bounds == [2**62, 2**62]


# ---- broken twins


def test_as_many_groups_as_the_private_count_fills_gives_the_count_away():
    """⌊n/2⌋ pairs of a private n: the groups themselves can be coupled, but their number, which every mechanism takes
    as public, moves with n."""
    for count in (3, 4, 5):
        larger, smaller = law(NAMES[:count], count // 2, 2), law(NAMES[1:count], (count - 1) // 2, 2)
        assert can_be_coupled(larger, smaller, groups_apart)
    assert {len(layout) for layout in law("abcd", 4 // 2, 2)} == {2}
    assert {len(layout) for layout in law("abc", 3 // 2, 2)} == {1}
    assert {len(layout) for table in ("abcd", "abc") for layout in law(table, 2, 2)} == {2}
