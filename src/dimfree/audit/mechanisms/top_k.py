"""The choice of the k largest counts (M3)."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import SCALE, Audited, ChargeCase, ExactCheck, off_list
from dimfree.audit.exact.claims import stating
from dimfree.audit.exact.divergence import Laws, laws, no_noise
from dimfree.audit.noise_doubles import Law, ZeroNoise, exact_law
from dimfree.audit.pairs.pair import TableSize
from dimfree.audit.search.climb import Target
from dimfree.audit.search.laws import View, law_target, vote_domain, votes
from dimfree.mechanisms.paper.top_k import top_k

_PICKS = 3


def choice_law(scores: View, count: int, scale: float) -> Law:
    whole = np.array(scores, dtype=np.int64)
    return exact_law(lambda noise: tuple(top_k(whole, count, scale, "audit", noise=noise).value.tolist()), no_noise)


def choice_scale(epsilon: float, count: int) -> float:
    """The scale at which so many picks state epsilon."""
    scores = np.zeros(count, dtype=np.int64)
    return stating(epsilon, lambda scale: top_k(scores, count, scale, "audit", noise=ZeroNoise()).event)


def choices(epsilon: float, delta: float) -> Laws:
    """One and two picks; scores that move in every direction. Pure at range·picks."""
    moved = [
        (scores, tuple(a + b for a, b in zip(scores, shift, strict=True)))
        for scores in ((0, 0, 0), (4, 2, 0), (0, 0, 0, 9))
        for shift in product((-1, 0, 1), repeat=len(scores))
    ]
    both: list[tuple[Law, Law]] = []
    for count in (1, 2):
        scale = choice_scale(epsilon, count)
        both += laws(lambda scores, count=count, scale=scale: choice_law(scores, count, scale), moved).both
    return Laws(both)


def choices_target(epsilon: float, relation: Neighbours) -> Target:
    """Two picks of four."""
    scale = choice_scale(epsilon, 2)

    def law(scores: View) -> Law:
        return choice_law(scores, 2, scale)

    given = TableSize(4, dimension=4)
    return law_target("top-k", (epsilon, 0.0), relation, votes, law, given, vote_domain(scale))


def _charges() -> Iterator[ChargeCase]:
    counts = np.arange(12, dtype=np.int64)
    release = partial(top_k, counts, _PICKS, SCALE, "audit")
    yield ChargeCase("top-k", release, SCALE, 2, _PICKS, off_list(counts))


AUDIT = Audited(exact={"top-k": ExactCheck(choices, delta=0.0)}, searches={"top-k": choices_target}, charges=_charges)
