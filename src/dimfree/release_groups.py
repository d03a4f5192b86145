"""The hall for groups: one mean for each public group, the shape of their noise learned once from all of them (G1).

A record is in one group at most, so what a group's run gives away about it is given away once, whatever the number of
groups; the run that learned the shape comes on top. Proof: proofs/release_groups.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from numpy.typing import ArrayLike

from dimfree._validate import (
    check_at_least,
    check_callable,
    check_choice,
    check_failure,
    check_flag,
    check_magnitude,
    check_share,
    check_unit_rows,
    check_window,
    quoted,
)
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs.costs import Runs
from dimfree.accounting.several_runs.sharing import Opening, opening, shared_out
from dimfree.data.people.labels import Key, check_group_keys, members, person_members, split_groups
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import ON_INVALID, Records, as_records, require_valid
from dimfree.errors import InvalidParameter, memory_unspoken
from dimfree.estimators import known, unknown
from dimfree.geometry.shape import Shape, as_shape
from dimfree.ledger.charging import check_ledger, terms_of
from dimfree.ledger.ledger import Ledger
from dimfree.ledger.spending import Charge
from dimfree.noise import Noise, opened
from dimfree.release import CAUTION, SCALES, TAILS, WINDOW, release_mean, stated
from dimfree.results.grouped import Means
from dimfree.results.release import Release

SHAPE_SHARE = 0.12  # of the precision, for the shared shape: about a third of epsilon
NO_SHAPE = "The shape that the groups share could not be learned, so no group was looked at: see means.overall."

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


def release_means(
    X: object,
    *,
    groups: object,
    keys: Sequence[Key],
    epsilon: float,
    delta: float,
    covariance: ArrayLike | None = None,
    shape: Shape | None = None,
    scale: str | None = None,
    unit: object = None,
    unit_rows: int | None = None,
    failure_probability: float = 0.01,
    on_invalid: str = "raise",
    outliers: float = 0.03,
    tails: str = "heavy",
    window: Sequence[float] = WINDOW,
    denoise: bool = False,
    tell: Tell = lambda *_: None,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
) -> Means:
    """Release the mean of every public group with (epsilon, delta)-differential privacy for all of them together.

    Guarantee: for tables that differ by one record, or with `unit` by one person with all their rows, all outcomes
    together, refusals included, are (epsilon, delta)-indistinguishable, under the conditions of `release_mean`. Proof:
    proofs/release_groups.md. One record is in one group, so the groups cost no more than one of them does.

    `groups` names the column of X that says to which group a row belongs, or holds an entry for each row; `keys` are
    the public names of the groups, known without looking. Entries and names are compared as keys of `unit` are: 3, 3.0
    and "3" are one name, and names that are one key are an error. Rows of other groups are left out. With `unit`, a
    person belongs to the group of their first row in any, and counts there with their rows of that group alone.
    Without `covariance` or `shape` a first run over all groups learns the variances (and an overall mean) with an
    eighth of the precision; each group then learns its mean and, with scale="learn" (the default here), how much wider
    or narrower than all it is; scale="known" takes them for alike, which serves smaller groups and refuses wider ones.
    The noise of a group follows variances of the columns as they are: there is no `basis` here. A group with too few
    records is refused by itself: `means.refused`. `ledger` is charged once for all.
    Other parameters are those of `release_mean`; neighbours are "add-remove".
    """
    budget, names = Budget(epsilon, delta), check_group_keys(keys)
    check_at_least("epsilon", budget.epsilon, 10 * SMALLEST_EPSILON)
    check_at_least("delta", budget.delta, 10 * SMALLEST_DELTA)
    failure_probability = check_failure(failure_probability)
    check_unit_rows(unit, unit_rows)
    check_choice("on_invalid", on_invalid, ON_INVALID)
    check_ledger(ledger)
    check_callable("tell", tell)
    if isinstance(shape, str):
        raise InvalidParameter(
            f"Expected shape={quoted(shape)} to be a Shape; leave it out to learn one from all groups."
        )
    door = opened(noise)
    options: dict[str, Any] = {
        "failure_probability": failure_probability,
        "on_invalid": on_invalid,
        "outliers": outliers,
        "tails": tails,
        "denoise": denoise,
        "noise": door,
    }
    with memory_unspoken():
        records, labels, whose = _opened(X, groups, names, unit, unit_rows, on_invalid)
    learned = covariance is None and shape is None
    scale = check_choice("scale", ("learn" if learned else "known") if scale is None else scale, SCALES)
    steps = _Steps(len(names) + learned, tell)
    overall, own = None, budget
    charged = None
    if ledger is not None:
        _check_options(records, covariance, shape, outliers, tails, window, denoise)
        charge, terms = (
            _charge(budget, failure_probability, scale, learned),
            terms_of(budget, Neighbours.ADD_REMOVE, whose),
        )
        charged = ledger.charge(charge, terms=terms, private=door.private, what="means of groups")
    if learned:
        first, own = _shares(budget, failure_probability, scale)
        steps.next("all groups")
        overall = release_mean(records, epsilon=first.epsilon, delta=first.delta, window=window, basis=None, **options)
        shape = None if overall.shape is None else overall.shape.diagonal()
    promise: dict[str, Any] = {
        "epsilon": own.epsilon,
        "delta": own.delta,
        "covariance": covariance,
        "shape": shape,
        "scale": scale,
    }
    releases = {}
    for place, name in enumerate(names):
        steps.next(f"group {place + 1}")
        if overall is not None and shape is None:
            releases[name] = _without_shape(overall, _opening(scale, failure_probability)(own))
        else:
            releases[name] = release_mean(records.chosen(labels == place), **promise, **options)
    whole = Guarantee(budget.epsilon, budget.delta, Neighbours.ADD_REMOVE, door.private, **whose)
    said = {name: _under(whole, overall, release) for name, release in releases.items()}
    if charged is not None:
        charged.noted(refused=all(release.refused for release in releases.values()))
    return Means(whole, said, None if overall is None else stated(overall, whose))


def _under(whole: Guarantee, overall: Release | None, release: Release) -> Release:
    """A group's release, stating the promise of all: it tells of the overall run as well, whose shape its noise has."""
    estimates = f"{whole.estimates}, among what belongs to the group"
    common: dict[str, Any] = {"guarantee": whole, "parameters": {**release.parameters, "estimates": estimates}}
    if overall is None:
        return replace(release, **common)
    runs = tuple(run.ledger for run in (overall, release) if isinstance(run.ledger, Costs))
    ledger = Runs(Budget(whole.epsilon, whole.delta), whole.neighbours, runs)
    return replace(release.with_learned(overall.shape), ledger=ledger, **common)


def _opened(
    X: object, groups: object, names: tuple[Key, ...], unit: object, unit_rows: int | None, on_invalid: str
) -> tuple[Records, Any, dict[str, Any]]:
    """One record for each person in some group, the group of each, and the public words about what one person is."""
    table, labels = split_groups(X, groups, names, on_invalid)
    if unit is None:
        records, labels = members(as_records(table, on_invalid=on_invalid), labels)
        require_valid(records, on_invalid)  # before any noise is drawn
        return records, labels, {}
    table, keys = split_unit(table, unit)
    people, labels = person_members(as_records(table, on_invalid=on_invalid), labels, keys, unit_rows, on_invalid)
    return people, labels, {"unit": "person", "unit_column": keys.column, "unit_rows": unit_rows}


@lru_cache(maxsize=16)  # a search through calibrations: seconds
def _shares(budget: Budget, failure_probability: float, scale: str) -> tuple[Budget, Budget]:
    """For the run that learns the shape, and for the run of each group: together at most the budget (M9)."""
    learns, follows = _learning(failure_probability), _opening(scale, failure_probability)
    first, second = shared_out(budget, [(SHAPE_SHARE, learns), (1 - SHAPE_SHARE, follows)])
    return first, second


def _check_options(
    records: Records,
    covariance: ArrayLike | None,
    shape: Shape | None,
    outliers: float,
    tails: str,
    window: Sequence[float],
    denoise: bool,
) -> None:
    """What the runs would find wrong is found before anything is charged."""
    check_share("outliers", outliers, below=0.3)
    check_choice("tails", tails, TAILS)
    check_window("window", window)
    check_flag("denoise", denoise)
    if covariance is not None or shape is not None:
        check_magnitude("covariance", as_shape(covariance, shape, records.dimension).spectrum(records.dimension))


def _charge(budget: Budget, failure_probability: float, scale: str, learned: bool) -> Charge:
    """What a ledger is charged for all groups together: one record is in one of them (G1), and in the overall run."""
    if not learned:
        return Charge(budget, (_opening(scale, failure_probability)(budget),))
    first, own = _shares(budget, failure_probability, scale)
    return Charge(budget, (_learning(failure_probability)(first), _opening(scale, failure_probability)(own)))


def _learning(failure_probability: float) -> Opening:
    """What the run that learns the shape is charged, whatever it comes to."""
    return partial(opening, failure=CAUTION * failure_probability / 2, search_share=unknown.SEARCH_SHARE)


def _opening(scale: str, failure_probability: float) -> Opening:
    """What the run of a group is charged, whatever it comes to."""
    search = {"search_share": known.SEARCH_SHARE} if scale == "learn" else {"bounded": True}
    return partial(opening, failure=CAUTION * failure_probability / 2, **search)


def _without_shape(overall: Release, charged: Costs) -> Release:
    """A group that nobody has looked at; charged all the same, or what is spent would hang on an output."""
    own = charged.budget
    return Release.refused_because(
        NO_SHAPE,
        guarantee=Guarantee(own.epsilon, own.delta, Neighbours.ADD_REMOVE, overall.guarantee.private),
        ledger=charged,
        method="stable",
        dimension=overall.dimension,
        columns=overall.columns,
        parameters={},
    )


class _Steps:
    """A step for each run."""

    def __init__(self, total: int, tell: Tell) -> None:
        self._numbers: Iterator[int] = iter(range(total))
        self._total, self._tell = total, tell

    def next(self, what: str) -> None:
        self._tell(what, next(self._numbers), self._total)
