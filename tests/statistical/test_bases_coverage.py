"""Confidence sets in whatever coordinates the noise was shaped: they cover the population mean of Gaussian records."""

from dataclasses import dataclass

import numpy as np
import pytest
from flat_options import with_options
from scipy.stats import binom
from stats import sampling

from dimfree import SeededNoise, release_mean

RATE = 2e-7
NOMINAL, LEAST = 0.95, 0.9  # few records, learned variances: what is promised, and what is asked
STEEP, WALK, SPIKED, FLAT, BOTH = "steep", "walk", "spiked", "flat", "both"


@dataclass(frozen=True)
class Cell:
    """Records of one kind, released in some coordinates; `chosen`: those that a menu goes to."""

    kind: str
    basis: str | None
    chosen: str
    columns: int
    count: int
    trials: int
    relation: str = "add-remove"

    def __str__(self):
        return f"{self.kind}-{self.basis}-{self.columns}-{self.count}-{self.relation}"

    def releases(self, seed):
        """Of fresh tables with fresh noise; seeds of tables and noise never meet."""
        truth = np.linspace(-1, 1, self.columns)
        for index in range(self.trials):
            rows = made(self.kind, self.columns, self.count, np.random.default_rng([seed, index, 3])) + truth
            options = {"epsilon": 2.0, "delta": 1e-6, "core_sample": 400, "neighbours": self.relation}
            found = release_mean(
                rows, **with_options(basis=self.basis, noise=SeededNoise(10**6 + 1000 * seed + index), **options)
            )
            if not found.refused:
                yield found, truth


def made(kind, columns, count, coins):
    rows, places = coins.normal(size=(count, columns)), np.arange(1, columns + 1)
    turn = np.linalg.qr(np.random.default_rng(columns).normal(size=(columns, columns)))[0]
    if kind == WALK:
        return rows.cumsum(axis=1)
    if kind in (SPIKED, BOTH):
        turned = (rows * np.where(places <= 3, 15.0, 1.0)) @ turn
        return turned / places**0.7 if kind == BOTH else turned
    return rows / places if kind == STEEP else rows


QUICK = [
    Cell(WALK, "dct", "dct", 20, 900, 25),
    Cell(BOTH, "auto", "learned", 20, 900, 25),
]
SLOW = [  # with more columns a ring has released the variances, so that flat records keep their own axes
    Cell(kind, basis, "spherical" if kind == FLAT and columns == 20 else chosen, columns, count, 120, relation)
    for kind, basis, chosen in [
        (FLAT, "auto", "own axes"),
        (STEEP, "auto", "own axes"),
        (WALK, "auto", "dct"),
        (WALK, "dct", "dct"),
        (SPIKED, "auto", "learned"),
        (BOTH, "auto", "learned"),
    ]
    for columns, count, relation in [(20, 900, "add-remove"), (60, 2500, "add-remove"), (40, 1500, "replace-one")]
]
CELLS = [*QUICK, *(pytest.param(cell, marks=pytest.mark.slow) for cell in SLOW)]


@pytest.fixture(scope="module", params=CELLS, ids=str)
def cell(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(cell, seed):
    found = list(cell.releases(seed))
    assert len(found) > 0.8 * cell.trials
    return found


def covers(hits, trials, false_alarm=RATE / 3):
    """Whether so many hits may come from a set of at least the least coverage."""
    return binom.cdf(hits, trials, LEAST) > false_alarm


def in_box(release, truth, simultaneous):
    box = release.confidence_box(NOMINAL, simultaneous=simultaneous)
    inside = (box.low <= truth) & (truth <= box.high)
    return inside.all() if simultaneous else inside[0]


@sampling(RATE)
def test_balls_and_boxes_cover_the_population_mean(drawn):
    assert covers(sum(found.confidence_ball(NOMINAL).contains(truth) for found, truth in drawn), len(drawn))
    for simultaneous in (True, False):
        assert covers(sum(in_box(found, truth, simultaneous) for found, truth in drawn), len(drawn))


def test_the_menu_went_where_it_was_meant_to_go(cell, drawn):
    """Else the cell would say nothing of those coordinates."""
    chosen = [found.parameters["basis"] for found, _ in drawn]
    assert chosen.count(cell.chosen) >= 0.7 * len(chosen)
