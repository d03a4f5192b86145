"""One comparison: every contestant gets the same draws, the same budget and the same relation, along one axis."""

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_callable, check_count, check_flag
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.comparison.contestants import Answer, Contestant, chosen
from dimfree.comparison.outcome import Comparison, Score
from dimfree.comparison.points import Point, points_along
from dimfree.comparison.worlds import Priors
from dimfree.errors import DimfreeError, InvalidParameter
from dimfree.noise import SeededNoise, public_simulation
from dimfree.results.release import Release

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many

NOT_PUBLIC = (
    "Expected public=True with a table: a comparison shows exact errors, which protect nobody. For a table of real "
    "people use release_mean."
)
NO_TABLE = "Expected a table with public=True: records are synthetic otherwise, and nobody's."


@np.errstate(all="ignore")  # what overflows is refused in words
def compare(
    *,
    epsilon: float | Sequence[float],
    delta: float,
    n: int | Sequence[int] | None = None,
    d: int | Sequence[int] | None = None,
    spectrum: str | Sequence[str] | None = None,
    table: object = None,
    public: bool = False,
    neighbours: str | Neighbours = "add-remove",
    estimators: Sequence[str] | None = None,
    trials: int = 5,
    seed: int = 0,
    tell: Tell = lambda *_: None,
) -> Comparison:
    """The errors of every estimator on the same public draws, at the same (epsilon, delta) and relation.

    One of `n`, `d`, `epsilon`, `spectrum` may be a list: the axis of the comparison. With a `table`, samples of n of
    its rows are drawn and the truth is its mean; that tells all about the table, so say public=True if it is.
    Where no n is given it is 1000, or half of the table's rows where that is fewer: a sample of nearly all rows hardly
    differs from the truth.
    A comparison is a simulation: noise is seeded, and nothing it shows is private.
    """
    if not check_flag("public", public) and table is not None:
        raise InvalidParameter(NOT_PUBLIC)  # the table has not been looked at
    if public and table is None:
        raise InvalidParameter(NO_TABLE)
    check_callable("tell", tell)
    whom, draws, seed = chosen(estimators), check_count("trials", trials), check_count("seed", seed, least=0)
    given = {"n": n, "d": d, "epsilon": epsilon, "spectrum": spectrum}
    axis, points = points_along(given, table, delta, Neighbours.parse(neighbours))
    steps = _Steps(len(points) * draws * len(whom), tell)
    scores = [score for point in points for score in scored(point, whom, draws, seed, steps.next)]
    return Comparison(axis, tuple(scores), points[0].budget.delta, str(points[0].relation), draws, seed)


@dataclass
class _Steps:
    """A step for each contestant and draw."""

    total: int
    tell: Tell
    done: int = 0

    def next(self, what: str) -> None:
        self.tell(what, self.done, self.total)
        self.done += 1


def scored(
    point: Point, whom: Sequence[Contestant], trials: int, seed: int, tell: Callable[[str], None] = lambda _: None
) -> list[Score]:
    """Every contestant at one point; trial by trial they see the same records."""
    results = [_Result(contestant) for contestant in whom]
    for trial in range(trials):
        X, known = point.world.draw(point.count, _coins(seed, trial, point))
        X.setflags(write=False)
        for result in results:
            tell(f"{point.world.name}, n = {point.count}, draw {trial + 1}: {result.contestant.name}")
            result.add(point, X.view(), known, _door(seed, trial, result.contestant))
        del X  # before the next one is drawn: the largest take gigabytes
    return [result.score(point, trials) for result in results]


@dataclass
class _Result:
    """What one contestant has done at one point so far."""

    contestant: Contestant
    errors: list[float] = field(default_factory=list)
    seconds: float = 0.0
    remark: str = ""

    def add(self, point: Point, X: Floats, known: Priors, door: SeededNoise) -> None:
        """The Euclidean distance to the mean; nothing where the contestant refused or cannot take part."""
        if point.relation not in self.contestant.proved:
            self.remark = f"no proof for {point.relation}"
            return
        started = time.perf_counter()
        try:
            answer = self.contestant.answer(X, known, **point.promise, noise=door)
        except DimfreeError as error:
            self.remark = f"not possible: {error}"
            return
        self.seconds += time.perf_counter() - started
        _check_promise(self.contestant, answer, point)
        self.errors += [] if answer.refused else [float(np.linalg.norm(answer.mean - known.mean))]

    def score(self, point: Point, trials: int) -> Score:
        return Score(
            name=self.contestant.name,
            told=self.contestant.told,
            private=self.contestant.private,
            at=point.at,
            world=point.world.name,
            n=point.count,
            epsilon=point.budget.epsilon,
            errors=tuple(self.errors),
            refusals=0 if self.remark else trials - len(self.errors),
            seconds=self.seconds / trials,
            remark=self.remark,
        )


def _check_promise(contestant: Contestant, answer: Answer, point: Point) -> None:
    """A comparison at unequal privacy is none: whoever is private has promised what everybody promises."""
    if not contestant.private:
        return
    given = answer.guarantee if isinstance(answer, Release) else None
    if given is None or (Budget(given.epsilon, given.delta), given.neighbours) != (point.budget, point.relation):
        raise ValueError(f"{contestant.name} did not make the promise that it was asked for.")


def _coins(seed: int, trial: int, point: Point) -> np.random.Generator:
    """The records of a trial depend on the world and the number of records, not on the budget or on who is asked."""
    return public_simulation([seed, trial, point.count, zlib.crc32(point.world.name.encode())])


def _door(seed: int, trial: int, contestant: Contestant) -> SeededNoise:
    """Each contestant's own, so that nobody's noise depends on who else takes part."""
    return SeededNoise(zlib.crc32(f"{seed} {trial} {contestant.name}".encode()))
