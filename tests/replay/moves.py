"""How far every statistic moved between two runs of one transcript, against what was charged for it. Exact.

A charged Gaussian of precision mu and deviation s pays for a move of mu·s in its grid steps; all are floats, and floats
are fractions. A query of a search has the share of one of its dimensions. The bit pays for one step of its ladder.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from charges import SEARCHES

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Costs, Gaussian, Tested
from dimfree.accounting.losses import Pure
from dimfree.kernel.statistics.group_keys import PURPOSE as KEYS

QUERIED = (*SEARCHES, "total variance")
LIFTED = 2  # the drift of the filter's coins that proofs/paper/basic.md pays for
BOUNDED = ("total weight", "number kept")


@dataclass
class Moves:
    """Complaints, and for each purpose the largest move over what was charged, squared."""

    complaints: list[str] = field(default_factory=list)
    shares: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    moved_runs: list[int] = field(default_factory=list)  # which runs of a release saw any difference

    def within(self, purpose: str, squared: Fraction | int, allowed: Fraction | int) -> None:
        if squared > allowed:
            self.complaints.append(f"{purpose}: moves {float(squared / allowed) ** 0.5:.6g} times its charge")
        self.shares[purpose] = max(self.shares[purpose], float(Fraction(squared) / allowed) ** 0.5)

    def must(self, right: bool, complaint: str) -> None:
        if not right:
            self.complaints.append(complaint)


class Walk:
    """Both runs, entry by entry, along the events of the ledgers."""

    def __init__(self, first, second):
        self.first, self.second, self.at, self.moves, self.run = first, second, 0, Moves(), 0
        self.steps = 1  # of adding or removing a record, between the two tables, where only these are charged

    def left(self) -> int:
        return len(self.first.entries) - self.at

    def pair(self):
        both = self.first.entries[self.at], self.second.entries[self.at]
        self.at += 1
        if both[0].statistic() != both[1].statistic():
            self.moves.moved_runs.append(self.run)
        return both

    def next_is(self, *asked) -> bool:
        return self.left() > 0 and self.first.entries[self.at].asked == asked

    def event(self, event: Gaussian, *, comparable: bool = True) -> tuple:
        """One vector, or the queries of a search. Returns the last pair of entries."""
        searched = event.purpose in QUERIED
        size, most = (1, event.dimension) if searched else (event.dimension, 1)
        if event.purpose == KEYS and self.left():
            size = self.first.entries[self.at].size  # one draw for every key that is held; so many of them move
        allowed = (self.steps * Fraction(event.mu) * Fraction(event.stddev)) ** 2 / most
        taken, both = 0, ()
        while taken < most and self.next_is("gaussian", event.stddev, size):
            both, taken = self.pair(), taken + 1
            if comparable:
                self.moves.within(event.purpose, squared_distance(*both), allowed)
        self.moves.must(taken > 0, f"{event.purpose}: charged, but not drawn")
        return both

    def bit(self, branch: Tested) -> bool:
        """T moves by at most one, as far as the ladder can tell. Returns whether both are 2 at least: only then is
        anything promised of what follows (P5, P6)."""
        rungs, places = branch.ladder.rungs, []
        for entry in self.pair():
            (numerator,) = entry.statistic()
            self.moves.must(numerator in rungs, "the bit: not a rung of the charged ladder")
            places.append([place for place, rung in enumerate(rungs) if rung == numerator])
        apart = min((abs(k - j) for k in places[0] for j in places[1]), default=0)
        self.moves.within("stability", apart**2, 1)
        return all(min(found, default=0) >= 2 for found in places)

    def ledger(self, ledger: Costs, lowest: float) -> None:
        """`lowest` is the released lower bound on a total weight; beyond the total itself nothing is promised."""
        comparable = True
        for event in (*ledger.before, *ledger.searches):
            self.event(event)
        if self.left() and self.first.entries[self.at].kind == "coin":
            comparable = self.bit(ledger.menu[ledger.chosen])
        for event in ledger.after:
            both = self.event(event, comparable=comparable)
            if event.purpose in BOUNDED:
                comparable = holds(both, event, lowest)

    def filters(self) -> None:
        for before, after in zip(self.first.filters, self.second.filters, strict=False):
            self.moves.within("drift of the filter", drift(before, after) ** 2, (LIFTED * self.steps) ** 2)


def squared_distance(before, after) -> int:
    pairs = zip(before.statistic(), after.statistic(), strict=True)
    return sum((one - other) ** 2 for one, other in pairs)


def holds(both, event: Gaussian, lowest: float) -> bool:
    """Whether the bound is below the larger total (proofs/paper/soft.md, basic.md)."""
    return lowest <= max(entry.statistic()[0] for entry in both) * event.step


def drift(before, after) -> Fraction:
    """Σ|p_j - p'_j| over all records, one that left included (P1)."""
    here, there = chances(before), chances(after)
    if after.left is not None:
        there.insert(after.left, Fraction(0))
    return sum((abs(p - q) for p, q in zip(here, there, strict=True)), Fraction(0))


def chances(kept) -> list[Fraction]:
    n = len(kept.thresholds)
    return [Fraction(min(max(part, 0), n), n) for part in kept.thresholds]


def compared(first, second, releases, runs) -> Moves:
    """All that one pair of tables shows: `releases` are what left, `runs` the ledger and the bound of each run."""
    walk = Walk(first, second)
    moves = walk.moves
    moves.must(releases[0].to_json() == releases[1].to_json(), "what leaves is no function of the transcript")
    moves.must(len(first.entries) == len(second.entries), "the runs did not ask for the same number of draws")
    moves.must(runs[0] == runs[1], "the runs were not charged alike")
    if moves.complaints:
        return moves
    for walk.run, (ledger, lowest) in enumerate(runs[0]):
        if isinstance(ledger, Composition):
            algorithm_2(walk, ledger)
        else:
            walk.ledger(ledger, lowest)
    walk.filters()
    moves.must(walk.left() == 0, "something was drawn and not charged")
    return moves


def algorithm_2(walk: Walk, ledger: Composition) -> None:
    """A pure count, then votes on one half of the records and averages of the other."""
    moves = walk.moves
    for loss in ledger.events:
        if isinstance(loss, Pure):
            both = walk.pair()
            moves.within(loss.purpose, squared_distance(*both), (Fraction(loss.epsilon) * Fraction(both[0].scale)) ** 2)
    votes = list(zip(walk.first.votes, walk.second.votes, strict=True))
    for before, after in votes:
        ballot(moves, before, after)
    walk.run = 1
    walk.steps = 1 if ledger.neighbours is Neighbours.ADD_REMOVE else 2  # through the records that both halves share
    for (distance, events), again in zip(walk.first.averages, walk.second.averages, strict=True):
        moves.must((distance, events) == again, "other averages")
        comparable = True
        for event in events:
            both = walk.event(event, comparable=comparable)
            if event.purpose in BOUNDED:
                outcome = both[0].outcomes[0] - (distance * event.stddev + 1)
                comparable = outcome <= max(entry.statistic()[0] for entry in both)
    changed = any(before.counts != after.counts for before, after in votes)
    moves.must(not (changed and 1 in moves.moved_runs), "one record was seen by both halves")


def ballot(moves: Moves, before, after) -> None:
    """A histogram pays for two votes, one in each of two cells; the sparse vector for one in every count."""
    moves.must(before.setting == after.setting, "a vote with another setting")
    cells = {*before.counts, *after.counts}
    apart = [abs(before.counts.get(cell, 0) - after.counts.get(cell, 0)) for cell in cells]
    if before.setting[0] == "histogram":
        moves.within("histogram", sum(apart) ** 2, 2**2)
        moves.must(max(apart, default=0) <= 1, "histogram: one cell moves by more than one vote")
    else:
        moves.within("sparse vector", max(apart, default=0) ** 2, 1)
