"""What `release_mean` will do with so many records: its estimator, its budget shares, and how likely a refusal is."""

from collections import defaultdict
from dataclasses import dataclass

from dimfree.accounting.events import Costs, OnlyGaussian, Tested
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.planning.outlook import chance_counted, smallest_count, whole_mu
from dimfree.planning.predict import REFUSED, simulated
from dimfree.planning.question import Question

UNUSED = "tests and unused"
_METHODS = {
    "columns": "There are enough records to estimate the center and the SD of every column separately, without a test.",
    "auto": "Without prior knowledge, scale, center and variances are estimated inside the budget.",
    "recentred": "The covariance is known: refinement steps follow the stable core.",
    "stable": "The covariance is known: the stable core alone has less noise than with refinement steps after it.",
}


@dataclass(frozen=True)
class Course:
    """What `release_mean` will do with so many records, by simulated releases and public thresholds.

    Attributes
    ----------
    method : str
        The estimator, as in `Release.method`; "refused" where nothing is released.
    why : str
        The reason, in a sentence.
    shares : tuple of (str, float)
        Shares of the precision of the whole budget as one Gaussian release, by purpose. They add up to 1; the last is
        what stability tests, prepared branches and releases that are not needed leave.
    pass_probability : float
        Lower bound of the probability that records which fit the model are not refused.
    smallest_count : int
        The smallest number of records that is not refused as too few; 0 where every number is.
    """

    method: str
    why: str
    shares: tuple[tuple[str, float], ...]
    pass_probability: float
    smallest_count: int


def course(question: Question) -> Course:
    """Return the estimator, its budget shares and its chance, as the ledgers of simulated releases have them."""
    found, least = simulated(question), smallest_count(question)
    if found.refusal is not None:
        why = _why_refused(question, least) if question.count < least or not least else found.refusal
        return Course(REFUSED, why, (), 0.0, least)
    chance = _chance(question, found.ledgers[0])
    return Course(found.method, _METHODS[found.method], _shares(question, found.ledgers), chance, least)


def _why_refused(question: Question, least: int) -> str:
    needed = f"about {least} would do" if least else "no number of them would do at this budget"
    if question.objective == "relative":
        return (
            f"There are too few records to estimate so many columns separately at this budget; {needed}. "
            "objective='total' may work."
        )
    return f"There are too few records for the stability test at this budget; {needed}."


def _shares(question: Question, ledgers: tuple[Costs, ...]) -> tuple[tuple[str, float], ...]:
    """Return (purpose, share) in the order of the releases; numbered steps count together."""
    whole, spent = len(ledgers) * whole_mu(question.budget) ** 2, defaultdict[str, float](float)
    for ledger in ledgers:
        for event in (*ledger.before, *ledger.searches, *ledger.after):
            spent[event.purpose.rstrip(" 0123456789")] += event.mu**2 / whole
    return (*spent.items(), (UNUSED, max(0.0, 1 - sum(spent.values()))))


def _chance(question: Question, run: Costs) -> float:
    """Return the chance that the noisy count is not refused, times that the stability test passes."""
    counted = chance_counted(question, 1 / run.before[0].mu if run.before else None)
    taken = None if run.chosen is None else run.menu[run.chosen]
    if isinstance(taken, OnlyGaussian):
        return counted
    assert isinstance(taken, Tested)  # `Session.take` accepts no other branch
    return counted * taken.ladder.rungs[-1] / DENOMINATOR * (1 - question.failure_probability / 2)
