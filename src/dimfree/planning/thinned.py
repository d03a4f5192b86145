"""Nothing known: a public simulation of the whole estimator whose cost does not grow with the number of records.

m simulated records stand for n of them: a sum over m with noise of precision mu·n/m has, after division by m, the noise
of a mean over n with precision mu. Every step of `estimators.learn` depends on that product alone, except the sampling
error, whose number of records is given (`sampling_count`). The m records come in pairs about their mean and have the
exact variances, so that what is left of an answer's error is noise and bias. That large tables are looked at through an
early sample is left out: it is so large that the answer's noise hardly changes. Letters: λ = friend radius.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dimfree._types import Floats
from dimfree.accounting.events import Gaussian
from dimfree.kernel.rows.grid import RADIUS
from dimfree.kernel.statistics.secret_ring import Ring
from dimfree.kernel.statistics.weighted_mean import mean_event
from dimfree.noise import SeededNoise
from dimfree.paper.charged import Measured
from dimfree.planning.outlook import Outlook, outlook
from dimfree.planning.question import Question
from dimfree.planning.thinned_table import SEED, RememberedPairs, Table
from dimfree.programs.choose.constants import (
    FEWEST_RUNS,
    MOST_RUNS,
    RUNS_CERTAINTY,
    SEARCHED_RECORDS,
    SIMULATED_COLUMNS,
    SIMULATED_SEARCHES,
)
from dimfree.programs.choose.core import Size, StableChoice
from dimfree.programs.choose.ring import plan_core
from dimfree.programs.learn.coordinates import learn_coordinates
from dimfree.programs.learn.knowledge import Knowledge
from dimfree.programs.learn.ring import RingSetting, RingShape, learn_by_ring, state_after_core
from dimfree.programs.learn.scale import LearnedRadius, learn_radius
from dimfree.programs.learn.state import StageSetting, State
from dimfree.programs.run import Run
from dimfree.programs.unknown import choose_core, choose_ring, chosen_again, core_share, search_parts

_GOLDEN, _SILVER = (math.sqrt(5) - 1) / 2, math.sqrt(2) - 1  # steps of such a size, modulo 1, leave no large gaps


@dataclass(frozen=True)
class Simulated:
    """Averages over some seeded runs, none of which saw a person."""

    variances: Floats  # of the noise of each column, as a release would state it
    excess: float  # mean squared error about the sample's mean beyond that noise; may be a little below 0
    spent: tuple[tuple[str, float], ...]  # (purpose, precision) of every Gaussian release of the first run
    found: bool = True  # whether the scale lies in the public window


@lru_cache(maxsize=256)
def simulated(question: Question) -> Simulated:
    """What becomes of a question that is not refused; more runs where bad luck of a search makes some much worse."""
    seen = outlook(question)
    if isinstance(seen.choice, StableChoice) and seen.choice.branch in seen.menu.ringed:
        return averaged(question, partial(_ring_answer, question, seen))
    radii = _radii(question, seen)
    if len(radii) < SIMULATED_SEARCHES / 2:
        return Simulated(np.zeros(question.dimension), 0.0, (), found=False)

    def answer(draw: int) -> Simulated | None:
        learned = radii[int((0.5 + draw * _SILVER) % 1 * len(radii))]
        run = _Run.of(Table.of(question, draw), seen, learned, draw)
        return run.answer() if run else None

    return averaged(question, answer)


def _ring_answer(question: Question, seen: Outlook, draw: int) -> Simulated | None:
    run = _RingRun.by_ring(Table.of(question, draw), seen, draw)
    return run.answer() if run else None


def averaged(question: Question, run: Callable[[int], Simulated | None]) -> Simulated:
    """The average of some runs, each made of the number of its draw; None: that one was refused."""
    answers = list[Simulated]()
    for draw in range(int(np.clip(SIMULATED_COLUMNS // question.dimension, FEWEST_RUNS, MOST_RUNS))):
        answer = run(draw)
        answers += [] if answer is None else [answer]
        if len(answers) > FEWEST_RUNS and _spread(answers, question.sampling**2) < RUNS_CERTAINTY:
            break
    variances = np.mean([answer.variances for answer in answers], axis=0)
    return Simulated(variances, float(np.mean([answer.excess for answer in answers])), answers[0].spent)


def _radii(question: Question, seen: Outlook) -> list[LearnedRadius]:
    """λ and a guess of tr Σ as many searches find them, in order: all later luck is measured at even steps of this."""
    if not isinstance(seen.choice, StableChoice):
        raise TypeError("Nothing is simulated where the release would refuse.")
    table, run, noise = Table.of(question, 0, SEARCHED_RECORDS), seen.run, SeededNoise(SEED)
    pairs, count = RememberedPairs.of(table.rows, 0), seen.size.count / table.factor
    mu = search_parts(seen.choice.branch, run.relation)[1] * table.factor * seen.size.rate
    found = [learn_radius(pairs, run.window, count, mu, run.relation, noise=noise) for _ in range(SIMULATED_SEARCHES)]
    sharper = Table.of(question, 0).factor / table.factor  # events are stated as those of a run are
    found = [replace(each, events=tuple(_sharper(event, sharper) for event in each.events)) for each in found]
    return sorted((each for each in found if each.found), key=lambda each: each.radius)


def _sharper(event: Gaussian, factor: float) -> Gaussian:
    return replace(event, stddev=event.stddev / factor)


def _spread(answers: list[Simulated], sampling: float) -> float:
    """How sure the mean square error is: its standard error over itself."""
    squares = [answer.variances.sum() + answer.excess + sampling for answer in answers]
    return float(np.std(squares, ddof=1) / math.sqrt(len(squares)) / abs(np.mean(squares)))


class _KeptNoise(SeededNoise):
    """Seeded noise that keeps what it has drawn: known exactly, so that it need not be averaged away."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: list[tuple[float, NDArray[np.int64]]] = []

    def gaussian(self, stddev: float, size: int) -> NDArray[np.int64]:
        drawn = super().gaussian(stddev, size)
        self.drawn.append((stddev, drawn))
        return drawn

    def of_events(self, events: Iterable[Gaussian]) -> Iterator[Floats]:
        """The standardised noise of each event, in their order; searches, which draw one by one, are skipped."""
        left = iter(self.drawn)
        for event in events:
            yield next(
                drawn / stddev for stddev, drawn in left if (stddev, len(drawn)) == (event.stddev, event.dimension)
            )


def _off_by(size: Size, deviations: float) -> Size:
    """A released number of records so many deviations away from the true one."""
    return replace(size, count=max(size.count + deviations * (size.stddev or 0.0), 1.0))


@dataclass(frozen=True)
class _Run:
    """One run of `unknown.release_unknown`, from the searches on, over a thinned table."""

    table: Table
    run: Run
    size: Size
    choice: StableChoice
    learned: LearnedRadius
    noise: _KeptNoise

    @classmethod
    def of(cls, table: Table, seen: Outlook, learned: LearnedRadius, draw: int) -> "_Run | None":
        """One of some runs, whose n̂ are spread evenly over the quantiles of its law; None where that n̂ refuses."""
        off = float(ndtri((0.5 + draw * _GOLDEN) % 1))
        size = _off_by(seen.size, off)
        choice = choose_core(seen.run, seen.menu, size)
        if choice is None:
            return None
        if size.stddev is not None:
            again = 1 / search_parts(choice.branch, size.relation)[0]
            size = _off_by(seen.size.combined(seen.size.count, again), off)
            choice = chosen_again(seen.run, choice, size)
        return cls(table, seen.run, size.after_pass(choice), choice, learned, _KeptNoise(SEED + draw))

    @property
    def count(self) -> float:
        """n̂, thinned like the records."""
        return self.size.count / self.table.factor

    def answer(self) -> Simulated:
        known = learn_coordinates(self._begun(), rotations=False).known  # columns are taken as uncorrelated
        found, miscount = known.answer(), (self.size.stddev or 0.0) / self.size.count
        variances = found.variance + (found.offset * miscount) ** 2
        return Simulated(variances, self._squared_error(known) - float(variances.sum()), self._spent(known))

    @property
    def _setting(self) -> StageSetting:
        off = (self.size.stddev or 0.0) / self.table.factor
        return StageSetting(self.table.space, self.count, self.run.relation, self.noise, off)

    def _begun(self) -> State:
        """The state after the core."""
        learned, precision = self.learned, self.choice.branch.mu**2
        share = core_share(self.choice, self.size, learned, self.table.space.dimension)
        core = self._core(learned.radius, math.sqrt(share * precision))
        thinned = precision * self.table.factor**2
        return State.after_core(self._setting, core, thinned, share, learned, sampling_count=self.size.count)

    def _core(self, radius: float, mu: float) -> Measured[Floats]:
        """The core's mean: that of the sample it looks at, whose members all weigh alike, and its noise."""
        dimension = self.table.space.dimension
        event, _ = mean_event(self.choice.sensitivity * RADIUS, mu, dimension, radius / RADIUS, "mean")
        noise = self.noise.gaussian(event.stddev, dimension) * event.step
        return Measured(self.table.mean + noise, event)

    def _squared_error(self, known: Knowledge) -> float:
        """Of the answer, with the square of the drawn noise replaced by its expectation."""
        vectors = [event for event in known.events if event.purpose == "mean" or event.purpose.startswith("stage")]
        found, noise = known.answer(), np.zeros_like(self.table.mean)
        for output, drawn in zip(known.outputs, self.noise.of_events(vectors), strict=True):
            block = np.isfinite(output.variance)  # a stage may work on some coordinates only
            noise[block] += np.sqrt(np.broadcast_to(output.weight, block.shape) * found.variance)[block] * drawn
        return float(((found.value - self.table.mean) ** 2 - noise**2 + found.variance).sum())

    def _spent(self, known: Knowledge) -> tuple[tuple[str, float], ...]:
        """(purpose, precision), at the true number of records."""
        factor = self.table.factor
        searches = [(event, factor * self.size.rate) for event in self.learned.events]
        first, *rest = known.events
        events = [*searches, (first, 1.0), *((event, factor) for event in rest)]
        return tuple((event.purpose, (event.mu / scale) ** 2) for event, scale in events)


@dataclass(frozen=True)
class _RingRun(_Run):
    """The same by the secret ring; λ belongs to the shape that its own ring has told."""

    shape: RingShape

    @classmethod
    def by_ring(cls, table: Table, seen: Outlook, draw: int) -> "_RingRun | None":
        size = _off_by(seen.size, float(ndtri((0.5 + draw * _GOLDEN) % 1)))
        choice, noise = choose_ring(seen.run, seen.menu, size), _KeptNoise(SEED + draw)
        if choice is None:
            return None
        ring, mu = Ring.of(table.space, None, 0, noise=noise), choice.branch.search_mu * table.factor * size.rate
        setting = RingSetting(ring, size.count / table.factor, mu, seen.run.relation, noise)
        shape = learn_by_ring(setting, seen.run.window)
        learned = LearnedRadius(shape.radius, float((shape.stddev**2).sum()), shape.found, shape.events)
        return cls(table, seen.run, size, choice, learned, noise, shape) if shape.found else None

    def _begun(self) -> State:
        shape, setting, precision = self.shape, self._setting, self.choice.branch.mu**2
        strength = self.size.count / setting.moves
        plan = plan_core(self.choice.sensitivity * shape.radius, shape.stddev, precision, strength)
        core = self._core(shape.radius, math.sqrt(plan.share * precision))
        root, thinned = np.sqrt(shape.stddev), precision * self.table.factor**2
        core = Measured(core.value - self.table.mean + self.table.mean / root, core.event)
        block, count = plan.largest(shape.stddev), self.size.count
        return state_after_core(setting, core, thinned, plan.share, shape, block, sampling_count=count)
