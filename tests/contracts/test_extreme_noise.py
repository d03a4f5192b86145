"""Whatever is released, the outcome is a release or a refusal: noise thousands of deviations out raises no error."""

from contextlib import nullcontext

import numpy as np
import pytest
from routes import through_the_core

from dimfree.ledger.ledger import PrivacyLedger
from dimfree.options import Options
from dimfree.paper.profiling import variance_profile
from dimfree.programs.run import OUT_OF_RANGE
from dimfree.release import release_mean
from dimfree.release_groups import release_group_means
from dimfree.results.release import Release

BUDGET = {"epsilon": 4.0, "delta": 1e-3}
VARIANCES = np.array([1.0, 0.5, 0.1])
RELATIONS = ("add-remove", "replace-one")


class FarNoise:
    """Draws so many deviations out: all above, all below, by turns, at random, or only those of one request."""

    private = False

    def __init__(self, signs: str, deviations: float, at: int = 0) -> None:
        self.signs, self.deviations, self.at = signs, deviations, at
        self.asked, self.generator = 0, np.random.default_rng(7)

    def gaussian(self, stddev: float, size: int) -> np.ndarray:
        signs = {
            "random": lambda: self.generator.choice([-1.0, 1.0], size),
            "by turns": lambda: np.where((np.arange(size) + self.asked) % 2, -1.0, 1.0),
            "once": lambda: np.full(size, float(self.asked == self.at)),
            "above": lambda: np.ones(size),
            "below": lambda: -np.ones(size),
        }[self.signs]()
        self.asked += 1
        return np.clip(np.rint(signs * self.deviations * stddev), -(2.0**62), 2.0**62).astype(np.int64)

    laplace = gaussian

    def coin(self, numerator: int, denominator: int) -> bool:
        return numerator > 0

    def below(self, bound: int, size: int) -> np.ndarray:
        return self.generator.integers(0, bound, size, dtype=np.int64)


EXTREMES = [(signs, far, 0) for signs in ("above", "below", "by turns", "random") for far in (5e3, 1e9)]
EXTREMES += [("once", far, at) for far in (-5e3, 1e12) for at in (0, 1, 4)]
SIZED_BY_THE_COUNT = 1e4  # deviations: groups are made of as many records as are released to be there


def table(rows: int, columns: int) -> np.ndarray:
    normal = np.random.default_rng(1).normal(size=(rows, columns))
    return 3.0 + normal * np.geomspace(1.0, 0.1, columns)


TABLE, GAPPED = table(1500, 3), table(1500, 3)
GAPPED[::7, 1] = np.nan
WAYS = {
    "unknown": (TABLE, {}),
    "unknown, one column": (table(1500, 1), {}),
    "unknown, own axes": (TABLE, {"basis": None}),
    "unknown, smooth": (np.cumsum(table(500, 24) - 3.0, axis=1), {}),
    "ring": (table(400, 150), {}),
    "relative": (TABLE, {"objective": "relative"}),
    "columns, total": (TABLE, {"objective": "total"}),
    "columns, missing entries": (GAPPED, {"missing": "available-case"}),
    "columns, complete rows": (GAPPED, {"missing": "complete-case", "objective": "relative"}),
    "known": (TABLE, {"covariance": VARIANCES}),
    "known, learned scale": (TABLE, {"covariance": VARIANCES, "options": Options(scale="learn")}),
    "cheapest core": (table(300, 3), {"covariance": VARIANCES}),
}
BY_CORE = ("unknown", "unknown, one column", "unknown, own axes", "unknown, smooth", "ring")


def check(release: Release) -> None:
    """Finite or refused, its charges within the budget, and every reader can use it."""
    assert release.charges.delta() <= release.guarantee.delta
    assert Release.from_json(release.to_json()).to_json() == release.to_json()
    repr(release), release._repr_html_()
    if not release.refused:
        assert np.isfinite(release.mean).all()
        assert np.isfinite(release.noise_stddev).all()
        release.to_frame()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("way", WAYS)
def test_any_released_numbers_end_in_a_release_or_a_refusal(way: str, relation: str) -> None:
    X, asked = WAYS[way]
    for extreme in EXTREMES[RELATIONS.index(relation) :: 2]:
        with through_the_core() if way in BY_CORE else nullcontext():
            check(release_mean(X, neighbors=relation, **BUDGET, **asked, noise=FarNoise(*extreme)))


@pytest.mark.parametrize("keys", [[0, 1], "private"])
@pytest.mark.parametrize("objective", ["relative", "total"])
def test_so_do_those_of_groups(keys: object, objective: str) -> None:
    given = {"by": np.arange(800) % 2, "groups": keys, "objective": objective, **BUDGET}
    for extreme in EXTREMES[objective == "total" :: 2]:
        means = release_group_means(table(800, 2), **given, noise=FarNoise(*extreme))
        means.to_json(), repr(means)
        for release in means.values():
            check(release)


@pytest.mark.parametrize("relation", RELATIONS)
def test_so_do_those_of_a_variance_profile(relation: str) -> None:
    for extreme in EXTREMES:
        if abs(extreme[1]) <= SIZED_BY_THE_COUNT:
            noise = FarNoise(*extreme)
            variance_profile(table(3000, 3), neighbors=relation, **BUDGET, noise=noise).to_json()


def test_numbers_out_of_range_are_a_refusal_that_is_charged(tmp_path) -> None:
    ledger = PrivacyLedger(tmp_path / "study.db", dataset="d", epsilon=10.0, delta=1e-2, neighbors="replace-one")
    noise = FarNoise("by turns", 1e9)
    release = release_mean(TABLE, objective="relative", neighbors="replace-one", ledger=ledger, **BUDGET, noise=noise)
    assert release.refusal == OUT_OF_RANGE
    assert ledger.entries()[-1].content["outcome"] == "refused"
