"""What to expect of every estimator of a comparison at the same budget: by formulas, or by a few public simulations.

Simulated records are those of `dimfree compare`: Gaussian, the mean far from the origin, the same prior knowledge.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_probability
from dimfree.accounting.budget import Neighbours
from dimfree.comparison.baselines.frame import COUNT_SHARE
from dimfree.comparison.baselines.not_private import floor_radius
from dimfree.comparison.contestants import CONTESTANTS, Contestant
from dimfree.comparison.outcome import Score
from dimfree.comparison.points import Point
from dimfree.comparison.spectra import DISTANCE, draw
from dimfree.comparison.trials import Tell, scored
from dimfree.comparison.worlds import GENEROUS, NEARLY_ALL, Priors
from dimfree.planning.outlook import whole_mu
from dimfree.planning.predict import NAMES, predict
from dimfree.planning.question import Prediction, Question
from dimfree.programs.choose.friend_radius import friend_radii
from dimfree.results.quantiles import length_quantile

MOST_ENTRIES = 2_000_000  # n·d of a table that is simulated whole
MOST_PAIRED = 5000  # records, for estimators that look at all pairs
DRAWS = 3
_SEED = 20250607
_PAIRED = ("Algorithm 1", "Algorithm 2", "ball", "FriendlyCore")
_OURS = {name: knowledge for knowledge, name in NAMES.items()}


def predict_peers(question: Question, confidence: float = 0.95, tell: Tell = lambda *_: None) -> list[Prediction]:
    """A prediction for every contestant of a comparison, our own among them. Touches no data.

    Closed forms where there are any; else the root mean square of a few public draws, if the table is small enough;
    else how="cannot", with the reason.
    """
    level = check_probability("confidence", confidence)
    answers = []
    for index, contestant in enumerate(CONTESTANTS):
        tell(contestant.name, index, len(CONTESTANTS))
        answers.append(replace(_one(question, contestant, level), name=contestant.name, told=contestant.told))
    return answers


def _one(question: Question, contestant: Contestant, level: float) -> Prediction:
    if contestant.name in _OURS:
        return predict(question.knowing(_OURS[contestant.name]), level)
    if contestant.name in _CLOSED:
        return _expected(question, _CLOSED[contestant.name](question), level, "closed form")
    if question.relation not in contestant.proved:
        return _cannot(question, f"no proof for {question.relation}")
    if question.count * question.dimension > MOST_ENTRIES:
        return _cannot(question, f"table too large to simulate: n·d > {MOST_ENTRIES}")
    if contestant.name in _PAIRED and question.count > MOST_PAIRED:
        return _cannot(question, f"looks at all pairs, too many to simulate: n > {MOST_PAIRED}")
    return _of_score(question, _score(question, contestant.name), level)


def _nothing(question: Question) -> Floats:
    """The plain mean has no noise."""
    return np.zeros(question.dimension)


def _floor(question: Question) -> Floats:
    """Of the oracle: r·σ^{1/2} over n·mu, at the whole budget."""
    radius = floor_radius(question.stddevs, question.count)
    noise = _moves(question) * radius / (question.count * whole_mu(question.budget))
    return noise**2 * question.stddevs


def _clipped(question: Question) -> Floats:
    """Spherical noise of the generous ball; under add/remove, the noisy count moves the mean along itself, too."""
    length, mu = DISTANCE * float(np.linalg.norm(question.stddevs)), whole_mu(question.budget)
    miscount = 0.0
    if question.relation is Neighbours.ADD_REMOVE:
        miscount, mu = length / (mu * math.sqrt(COUNT_SHARE)), mu * math.sqrt(1 - COUNT_SHARE)
    noise = _moves(question) * GENEROUS * length / mu
    return np.full(question.dimension, (noise**2 + miscount**2 / question.dimension) / question.count**2)


def _moves(question: Question) -> int:
    return 1 if question.relation is Neighbours.ADD_REMOVE else 2


_CLOSED: dict[str, Callable[[Question], Floats]] = {
    "empirical mean": _nothing,
    "oracle floor": _floor,
    "clipped mean": _clipped,
}


def _expected(question: Question, variances: Floats, level: float, how: str, remark: str = "") -> Prediction:
    noise = float(variances.sum())
    within = length_quantile(question.stddevs**2 / question.count + variances, level)
    error = math.sqrt(question.sampling**2 + noise)
    return Prediction("", "", question.sampling, math.sqrt(noise), 0.0, error, within, how, False, remark)


def _cannot(question: Question, remark: str, how: str = "cannot", *, refused: bool = False) -> Prediction:
    infinite = math.inf
    return Prediction("", "", question.sampling, infinite, 0.0, infinite, infinite, how, refused, remark)


@lru_cache(maxsize=256)
def _score(question: Question, name: str) -> Score:
    point = Point(question.count, _QuestionWorld(question), question.count, question.budget, question.relation)
    whom = [contestant for contestant in CONTESTANTS if contestant.name == name]
    return scored(point, whom, DRAWS, _SEED)[0]


def _of_score(question: Question, score: Score, level: float) -> Prediction:
    """The mean square of some draws; what exceeds the sampling error is taken to point anywhere."""
    if score.remark:
        return _cannot(question, score.remark)
    if not score.errors:
        return _cannot(question, f"refused in each of {DRAWS} draws", "simulation", refused=True)
    rest = max(0.0, float(np.mean(np.square(score.errors))) - question.sampling**2)
    variances = np.full(question.dimension, rest / question.dimension)
    remark = f"{score.refusals} of {DRAWS} draws refused" if score.refusals else f"{DRAWS} draws"
    return _expected(question, variances, level, "simulation", remark)


@dataclass(frozen=True)
class _QuestionWorld:
    """The world of a question, for the comparison's own trials."""

    question: Question
    most: float = math.inf
    gaussian: bool = True

    @property
    def name(self) -> str:
        return f"as asked, d = {self.question.dimension}"

    def draw(self, count: int, coins: np.random.Generator) -> tuple[Floats, Priors]:
        stddevs = self.question.stddevs
        X, mean = draw(stddevs, count, coins)
        pairs = friend_radii(np.sort(stddevs)[::-1] ** 2).typical(NEARLY_ALL)
        return X, Priors(stddevs, GENEROUS * float(np.linalg.norm(mean)), pairs, mean)
