"""Confidence sets cover the population mean on the bench's spectra, and are not wider than they need be.

A set that forgets half of the noise, or the sampling, is caught.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from flat_options import with_options
from scipy.stats import binom
from stats import sampling

from dimfree import SeededNoise, release_mean
from dimfree.planning.question import draw, spectrum
from dimfree.simulation import public_simulation

RATE = 1e-7  # of each cell and test; there are some three hundred
CONFIDENCES = (0.95, 0.5)
WIDEST = 1.3  # of a ball, over the true quantile of the error, where the covariance is known
EARLY = 0.04  # below 4000 records what a searched clipping radius does is not all in the noise


@dataclass(frozen=True)
class Cell:
    """One point of the bench: a spectrum, how many columns and records, what is told of the covariance."""

    name: str
    columns: int
    count: int
    knowledge: str
    trials: int
    relation: str = "add-remove"

    def __str__(self):
        return f"{self.name}-{self.columns}-{self.count}-{self.knowledge}-{self.relation}-{self.trials}"

    def releases(self, seed):
        """Releases of fresh tables, each with the mean its records were drawn about."""
        stddevs = spectrum(self.name, self.columns)
        told = {"covariance": stddevs**2} if self.knowledge == "covariance" else {}
        for index in range(self.trials):
            table, mean = draw(stddevs, self.count, public_simulation(1000 * seed + index))
            options = told | {"neighbours": self.relation, "noise": SeededNoise(1000 * seed + index)}
            release = release_mean(table, **with_options(epsilon=1.0, delta=1e-6, core_sample=1000, **options))
            if not release.refused:
                yield release, mean


def every_cell():
    for name in ("S1", "S2", "S3", "S4", "S5"):
        for columns, count in ((20, 1000), (100, 1000), (20, 4000), (100, 4000)):
            for knowledge in ("covariance", "nothing"):
                yield Cell(name, columns, count, knowledge, 150)
    for name in ("S2", "S4"):
        yield Cell(name, 1000, 4000, "covariance", 60)
        yield Cell(name, 1000, 4000, "nothing", 40)
        yield Cell(name, 100, 4000, "covariance", 150, "replace-one")
        yield Cell(name, 20, 4000, "nothing", 150, "replace-one")


QUICK = (
    Cell("S2", 20, 4000, "covariance", 40),
    Cell("S4", 100, 4000, "covariance", 30),
    Cell("S3", 20, 4000, "nothing", 30),
)
CELLS = [*QUICK, *(pytest.param(cell, marks=pytest.mark.slow) for cell in every_cell())]


@pytest.fixture(scope="module", params=CELLS, ids=str)
def cell(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(cell, seed):
    return list(cell.releases(seed))


def covers(hits, trials, confidence, false_alarm):
    """Whether so many hits may come from a set of at least this coverage."""
    return binom.cdf(hits, trials, confidence) > false_alarm


def held(pairs, confidence):
    """How often the ball, and a typical coordinate by itself, hold the mean."""
    lengths = [np.linalg.norm(release.mean - mean) for release, mean in pairs]
    radii = [release.error_radius(confidence) for release, _ in pairs]
    boxes = [release.confidence_box(confidence, simultaneous=False) for release, _ in pairs]
    first = [box.low[0] <= mean[0] <= box.high[0] for box, (_, mean) in zip(boxes, pairs, strict=True)]
    return np.sum(np.array(lengths) <= radii), sum(first)


def expected(cell, confidence):
    return confidence - (EARLY if cell.count < 4000 else 0.0)


@sampling(RATE)
def test_a_ball_and_a_coordinate_cover_the_population_mean(cell, drawn):
    for confidence in CONFIDENCES:
        for found in held(drawn, confidence):
            assert covers(found, len(drawn), expected(cell, confidence), RATE / 4)


@sampling(RATE)
def test_a_box_covers_all_coordinates_at_once(cell, drawn):
    for confidence in CONFIDENCES:
        found = sum(release.confidence_box(confidence).contains(mean) for release, mean in drawn)
        assert covers(found, len(drawn), expected(cell, confidence), RATE / 2)


@sampling(RATE)
def test_balls_about_a_known_shape_are_not_wide(cell, drawn):
    """Half of the balls, 1.3 times smaller, would have to miss: seen where lengths hardly vary."""
    if cell.knowledge == "nothing" or cell.columns < 100 or cell.name not in ("S3", "S4"):
        pytest.skip("lengths vary too much, or what they tell of the population widens the ball")
    lengths = [np.linalg.norm(release.mean - mean) for release, mean in drawn]
    radius = np.mean([release.confidence_ball(0.95).radius for release, _ in drawn])
    assert radius <= WIDEST * np.quantile(lengths, 0.95)
    assert not 2 * radius <= WIDEST * np.quantile(lengths, 0.95)


def halved(release):
    return replace(release, _noise_stddev=release.noise_stddev / 2)


def without_sampling(release):
    model = release.error_model
    return replace(release, error_model=replace(model, record_stddev=model.record_stddev / 1e6))


@sampling(RATE)
@pytest.mark.parametrize("broken", [halved, without_sampling])
def test_a_set_that_forgets_a_part_is_caught(cell, drawn, broken):
    if (cell.name, cell.columns, cell.count, cell.knowledge) != ("S4", 100, 4000, "covariance"):
        pytest.skip("noise and sampling are of one size in one cell only")
    pairs = [(broken(release), mean) for release, mean in drawn]
    assert not covers(held(pairs, 0.95)[0], len(pairs), 0.95, RATE)
    boxes = sum(release.confidence_box(0.5).contains(mean) for release, mean in pairs)
    assert broken is halved or not covers(boxes, len(pairs), 0.5, RATE)
