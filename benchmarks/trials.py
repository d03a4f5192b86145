"""`dimfree.compare`: every estimator gets the same simulated records, budget and neighbouring relation."""

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_callable, check_count, check_flag
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.comparison.contestants import Answer, Contestant, chosen
from dimfree.comparison.outcome import Comparison, Score
from dimfree.comparison.points import Point, points_along
from dimfree.comparison.worlds import Priors
from dimfree.errors import DimfreeError, InvalidParameter
from dimfree.noise import SeededNoise
from dimfree.results.release import Release
from dimfree.simulation import public_simulation

Tell = Callable[[str, int, int], None]  # (what is being done, steps done, steps in all)

NOT_PUBLIC = (
    "Expected public=True with a table: a comparison shows exact errors, which protect nobody. For a table of real "
    "people use release_mean."
)
NO_TABLE = "Expected a table with public=True: without a table the records are simulated."


@np.errstate(all="ignore")  # overflow raises InvalidParameter
def compare(
    *,
    epsilon: float | Sequence[float],
    delta: float,
    n: int | Sequence[int] | None = None,
    d: int | Sequence[int] | None = None,
    spectrum: str | Sequence[str] | None = None,
    table: object = None,
    public: bool = False,
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    estimators: Sequence[str] | None = None,
    trials: int = 5,
    seed: int = 0,
    tell: Tell = lambda *_: None,
) -> Comparison:
    """The errors of every estimator on the same public records, at the same (epsilon, delta) and neighbouring relation.

    A comparison is a simulation with seeded noise: nothing that it returns is private. One of n, d, epsilon and
    spectrum may be a list: the axis of the comparison. Errors are Euclidean, so "dimfree" is `release_mean` with
    objective="total"; objective="relative" aims at something else and has no row.

    Parameters
    ----------
    epsilon : float or sequence of float
        Budget of each release.
    delta : float
        Budget of each release.
    n : int or sequence of int, optional
        Number of records in a sample. Default: 1000, or half of the rows of `table` where that is fewer (the mean of a
        sample of nearly all rows hardly differs from the truth).
    d : int or sequence of int, optional
        Number of columns of simulated records.
    spectrum : str or sequence of str, optional
        Name of the standard deviations of simulated records, such as "S1".
    table : table, optional
        Public records. Samples of n rows are drawn, and the truth is the mean of the table.
    public : bool, default False
        Must be True with a table: the result reveals the table.
    neighbours : {"add-remove", "replace-one"}, default "add-remove"
        The neighbouring relation.
    estimators : sequence of str, optional
        Names of estimators. Default: all.
    trials : int, default 5
        Samples per point of the axis.
    seed : int, default 0
        Seed of the samples and of the noise.
    tell : callable, optional
        Called as tell(what, done, total) to show progress.

    Returns
    -------
    Comparison

    Raises
    ------
    InvalidParameter
        If a parameter cannot be used, or a table is given without public=True.

    Examples
    --------
    >>> from dimfree import compare
    >>> print(compare(epsilon=1, delta=1e-6, n=1000, d=100, spectrum="S2").to_markdown())  # doctest: +SKIP
    """
    if not check_flag("public", public) and table is not None:
        raise InvalidParameter(NOT_PUBLIC)  # nothing of the table has been read yet
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
    """Counts one step for each estimator and sample."""

    total: int
    tell: Tell
    done: int = 0

    def next(self, what: str) -> None:
        self.tell(what, self.done, self.total)
        self.done += 1


def scored(
    point: Point, whom: Sequence[Contestant], trials: int, seed: int, tell: Callable[[str], None] = lambda _: None
) -> list[Score]:
    """Every estimator at one point. In each trial all of them get the same records."""
    results = [_Result(contestant) for contestant in whom]
    for trial in range(trials):
        X, known = point.world.draw(point.count, _generator(seed, trial, point))
        X.setflags(write=False)
        for result in results:
            tell(f"{point.world.name}, n = {point.count}, draw {trial + 1}: {result.contestant.name}")
            result.add(point, X.view(), known, _seeded_noise(seed, trial, result.contestant))
        del X  # before the next one is drawn: the largest take gigabytes
    return [result.score(point, trials) for result in results]


@dataclass
class _Result:
    """The errors of one estimator at one point so far."""

    contestant: Contestant
    errors: list[float] = field(default_factory=list)
    seconds: float = 0.0
    remark: str = ""

    def add(self, point: Point, X: Floats, known: Priors, noise: SeededNoise) -> None:
        """Run one trial. No error is added where the estimator refused or cannot take part."""
        if point.relation not in self.contestant.proved:
            self.remark = f"no proof for {point.relation}"
            return
        started = time.perf_counter()
        try:
            answer = self.contestant.answer(X, known, **point.promise, noise=noise)
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
    """Every private estimator must state the guarantee that was asked for; otherwise the comparison is unfair."""
    if not contestant.private:
        return
    given = answer.guarantee if isinstance(answer, Release) else None
    if given is None or (Budget(given.epsilon, given.delta), given.neighbours) != (point.budget, point.relation):
        raise ValueError(f"{contestant.name} did not make the promise that it was asked for.")


def _generator(seed: int, trial: int, point: Point) -> np.random.Generator:
    """The random generator of the records of a trial: it depends on the world and n, not on budget or estimator."""
    return public_simulation([seed, trial, point.count, zlib.crc32(point.world.name.encode())])


def _seeded_noise(seed: int, trial: int, contestant: Contestant) -> SeededNoise:
    """A noise source for each estimator, so that its noise does not depend on which others take part."""
    return SeededNoise(zlib.crc32(f"{seed} {trial} {contestant.name}".encode()))
