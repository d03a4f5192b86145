"""The estimator that public numbers will choose, what it spends, and how likely it is not to refuse."""

from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from dimfree.accounting.events import OnlyGaussian
from dimfree.accounting.ladder import DENOMINATOR
from dimfree.paper import soft
from dimfree.planning.columns_noise import simulated_route
from dimfree.planning.known_noise import soft_total
from dimfree.planning.outlook import Choice, Outlook, outlook, smallest_count, whole_mu
from dimfree.planning.predict import MOST_COLUMNS
from dimfree.planning.question import Question
from dimfree.programs.choose.core import BoundedChoice, StableChoice
from dimfree.programs.choose.stages import Schedule

REFUSED = "refused"
COUNT, TEST = "number of records", "test and choice"
LOOK = "lengths of the records"
_PURPOSES = {
    "friend radius": "scale of the records",
    "lengths on the ring": "scale of the records",
    "unit of the ring's scores": "variances",
    "variances on the ring": "variances",
    "mean": "core",
    "unit of the scores": "variances",
    "variances": "variances",
    LOOK: LOOK,
    "unevenness of the coordinates": "choice of coordinates",
    "weight of the coordinates": "choice of coordinates",
    "spread in the basis": "choice of coordinates",
    "togetherness of the coordinates": "choice of coordinates",
    "basis": "choice of coordinates",
}
_LOOKS = {"magnitudes of columns in doubt": "magnitudes of the columns"}  # every column by itself


@dataclass(frozen=True)
class Course:
    """What `release_mean` will do with this many records. Public.

    `shares` are shares of the precision of the whole budget as one Gaussian release. They add up to 1; "test and
    choice" is what the stability test, a bound that may fail, or several prepared branches leave unused.
    `pass_probability` is a lower bound for records that fit the model: the probability that the noisy count does not
    refuse, times that of the stability test, times 1 - failure_probability (for the soft core: that its lower bound is
    high enough). 0 where n itself would be refused. `smallest_count` is the smallest number of records that is not
    refused as too few; 0 where every number is.
    """

    method: str
    why: str
    shares: tuple[tuple[str, float], ...]
    pass_probability: float
    smallest_count: int


def course(question: Question) -> Course:
    """Which estimator will be chosen at n̂ = n, and why; shares of the budget; the chance of a refusal. No data."""
    seen, least = outlook(question), smallest_count(question)
    if seen.choice is None:
        return Course(REFUSED, _why_refused(question, least), (), 0.0, least)
    method, why = _method(seen.choice)
    chance = _enough_counted(question, seen, least) * _pass_probability(seen)
    return Course(method, why, _shares(question, seen), chance, least)


def _why_refused(question: Question, least: int) -> str:
    needed = f"about {least} would do" if least else "no number of them would do at this budget"
    purpose = "to read so many columns one by one" if question.objective == "relative" else "for the stability test"
    other = " objective='total' may work." if question.objective == "relative" else ""
    return f"There are too few records {purpose} at this budget; {needed}.{other}"


def _method(choice: Choice) -> tuple[str, str]:
    if isinstance(choice, OnlyGaussian):
        return "columns", "So many records tell centre and spread of every column by itself: no test is needed."
    if isinstance(choice, StableChoice):
        return "auto", "Nothing is known, so scale, location and variances are learned inside the budget."
    if isinstance(choice, BoundedChoice):
        return (
            "soft",
            "With so few records the soft core, which needs no test, promises less noise than the stable one.",
        )
    stages = len(choice.stage_mus)
    if not stages:
        return "stable", "The stable core alone promises less noise than giving a part of its precision to stages."
    what = "1 stage of recentring" if stages == 1 else f"{stages} stages of recentring"
    return "recentred", f"The stable core and {what} promise the least noise of all ways to spend the budget."


def _shares(question: Question, seen: Outlook) -> tuple[tuple[str, float], ...]:
    """(purpose, share), in the order of the release; the rest goes to the test."""
    whole = whole_mu(question.budget) ** 2
    spent = {} if seen.menu.count_stddev is None else {COUNT: 1 / seen.menu.count_stddev**2}
    for purpose, precision in _precisions(question, seen):
        spent[purpose] = spent.get(purpose, 0.0) + precision
    shares = {purpose: precision / whole for purpose, precision in spent.items()}
    return (*shares.items(), (TEST, max(0.0, 1 - sum(shares.values()))))


def _precisions(question: Question, seen: Outlook) -> list[tuple[str, float]]:
    choice = seen.choice
    if isinstance(choice, BoundedChoice):
        return [("total weight", choice.bound_mu**2), ("core", choice.mean_mu**2)]
    if isinstance(choice, Schedule):
        after = [("stages", mu**2) for mu in choice.stage_mus]
        look = [(LOOK, choice.look_mu**2)] if choice.look_mu else []
        return [("core", choice.core_mu**2), *look, *after]
    if isinstance(choice, OnlyGaussian):
        spent = (("all else", choice.mu**2),) if question.dimension > MOST_COLUMNS else simulated_route(question).spent
        return [(_LOOKS.get(purpose, purpose), precision) for purpose, precision in spent]
    if question.dimension > MOST_COLUMNS and isinstance(choice, StableChoice):
        return [("scale of the records", choice.branch.search_mu**2), ("all else", choice.branch.mu**2)]
    return [(_PURPOSES.get(purpose, "stages"), precision) for purpose, precision in simulated_route(question).spent]


def _enough_counted(question: Question, seen: Outlook, least: int) -> float:
    """That n̂ is not refused; where n is public, certain. By definition 1 - failure_probability at `least`."""
    if seen.menu.count_stddev is None:
        return 1.0
    return float(ndtr((question.count - least) / seen.menu.count_stddev - ndtri(question.failure_probability)))


def _pass_probability(seen: Outlook) -> float:
    choice = seen.choice
    if isinstance(choice, BoundedChoice):
        stddev = soft.TOTAL_SENSITIVITY / choice.bound_mu
        clear = soft_total(seen, choice) - choice.distance * stddev - soft.SMALLEST_TOTAL
        return float(ndtr(clear / stddev))
    if choice is None:
        return 0.0
    if isinstance(choice, OnlyGaussian):
        return 1.0
    return choice.branch.ladder.rungs[-1] / DENOMINATOR * (1 - seen.run.failure / 2)
