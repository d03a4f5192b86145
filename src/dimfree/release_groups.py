"""`release_means`: one mean for each public group, the shape of their noise learned once from all of them (G1).

A record is in one group at most, so what a group's run gives away about it is given away once, whatever the number of
groups; the run that learned the shape comes on top. Proof: proofs/release_groups.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from numpy.typing import ArrayLike

from dimfree._types import Integers
from dimfree._validate import check_at_least, check_callable, check_kind, is_word, quoted
from dimfree.accounting.budget import SMALLEST_DELTA, SMALLEST_EPSILON, Budget, Neighbours
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs.costs import Runs
from dimfree.accounting.several_runs.sharing import Opening, gaussian_opening, opening, shared_out
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.people.labels import Key, check_group_keys, members, person_members, split_groups
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import Records, as_records, require_valid
from dimfree.data.select import selected
from dimfree.errors import InvalidParameter, memory_unspoken
from dimfree.estimators.choose.constants import SCALE_SEARCH_SHARE
from dimfree.estimators.opening import UNKNOWN
from dimfree.estimators.run import CAUTION, Run
from dimfree.geometry.shape import Shape
from dimfree.ledger.charging import check_ledger, terms_of
from dimfree.ledger.ledger import Charged, Ledger
from dimfree.ledger.spending import Charge
from dimfree.noise import Noise
from dimfree.options import AUTO, Options, Scale
from dimfree.release import charged, stated
from dimfree.request import Objective, OnInvalid, Request
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
    objective: Objective = "auto",
    covariance: ArrayLike | None = None,
    shape: Shape | None = None,
    unit: object = None,
    unit_rows: int | None = None,
    on_invalid: OnInvalid = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
    options: Options = Options(),
    tell: Tell = lambda *_: None,
) -> Means:
    """Release the mean of every public group with (epsilon, delta)-differential privacy for all of them together.

    Guarantee: for tables that differ by one record, or with `unit` by one person with all their rows, all outcomes
    together, refusals included, are (epsilon, delta)-indistinguishable, under the conditions of `release_mean`. Proof:
    proofs/release_groups.md. One record is in one group, so the groups cost no more than one of them does.

    Each column by its own spread (objective="relative"): every group is a release of its own, with the whole budget.

    Least total error (objective="total") without `covariance` or `shape`: a first run over all groups learns the
    variances (and an overall mean) with an eighth of the precision. Each group then learns its mean and, with
    scale="learn" (the default then), how much wider or narrower it is than all of them; scale="known" takes the groups
    as alike, which suits smaller groups and refuses wider ones.

    Parameters
    ----------
    X : table of numbers, shape (n, d)
        As in `release_mean`. The noise follows the variances of the columns as they are: there is no `basis` here.
    groups : str or one entry for each row
        The column of X that says to which group a row belongs, or its entries. Rows of groups that are not in `keys`
        are left out. With `unit`, a person belongs to the group of their first row in any, and counts there with their
        rows of that group alone.
    keys : sequence of str or int
        The public names of the groups, known without looking. Entries and names are compared as keys of `unit` are:
        3, 3.0 and "3" are one name, and names that are one key are an error.
    epsilon, delta : float
        The total promise, for all groups together. The neighbours are "add-remove".
    objective : {"auto", "relative", "total"}
        As in `release_mean`. "auto" is "relative" for a table with named columns, unless `covariance`, `shape` or
        `scale` says something of a spread that the groups share; else "total".
    covariance : array, shape (d,) or (d, d), optional
        Publicly known variances or covariance of the records within a group.
    shape : Shape, optional
        The same knowledge as a Shape.
    unit : str or one key for each row, optional
        Whose each row is, as in `release_mean`.
    unit_rows : int, optional
        With `unit`: the number of rows of a person whose total counts, at most.
    on_invalid : {"raise", "neutral"}
        What to do with invalid rows, as in `release_mean`.
    columns, exclude : sequence of str, optional
        Which columns, as in `release_mean`; `groups` and `unit` name columns beside them.
    ledger : Ledger, optional
        A persistent budget, charged once for all groups before any noise is drawn.
    noise : Noise, optional
        For tests. Leave it None to be private.
    options : Options
        Expert options. `core`, `stages` and `core_sample` must be left at their defaults here.
    tell : callable
        Called as tell(what, done, total) before each run, for a progress bar.

    Returns
    -------
    Means
        A mapping from the names to releases. A group with too few records is refused by itself: `means.refused`.

    Raises
    ------
    InvalidParameter
        A parameter cannot be used. Nothing is charged.
    InvalidRecords
        X is no table of numbers, or, with on_invalid="raise", a row is invalid. Nothing is charged.
    BudgetExceeded
        Not enough is left in `ledger`.
    """
    names = check_group_keys(keys)
    if isinstance(shape, str):
        raise InvalidParameter(
            f"Expected shape={quoted(shape)} to be a Shape; leave it out to learn one from all groups."
        )
    _check_options(options, objective)
    given = covariance is not None or shape is not None
    request = Request.checked(
        epsilon=epsilon,
        delta=delta,
        objective=objective,
        covariance=covariance,
        shape=shape,
        basis=None,
        unit=unit,
        unit_rows=unit_rows,
        on_invalid=on_invalid,
        columns=columns,
        exclude=exclude,
        noise=noise,
        options=options if given else replace(options, scale="auto"),  # the first run learns all there is to learn
    )
    check_at_least("epsilon", request.budget.epsilon, 10 * SMALLEST_EPSILON)
    check_at_least("delta", request.budget.delta, 10 * SMALLEST_DELTA)
    check_ledger(ledger)
    check_callable("tell", tell)
    with memory_unspoken():
        records, labels, whose = _opened(X, groups, names, request)
        warn_of_identifiers(None if isinstance(X, Records) else records.columns, request.selection)
    plan = _Plan.of(request, options.scale, named=records.columns is not None)
    whole, budgets, overall = plan.request, plan.budgets, None
    first = Run.of(replace(whole, budget=budgets[0]), records)  # before anything is charged: all fits the columns
    paid = None if ledger is None else _paid(ledger, plan, whose)
    own = replace(whole, budget=budgets[-1], options=replace(options, scale=plan.scale))
    shared, total = plan.learns_shape, len(names) + plan.learns_shape
    if shared:
        tell("all groups", 0, total)
        overall = charged(replace(first, by_columns=None), whole, {})  # with the branches of `_learning` alone
        own = replace(own, shape=None if overall.shape is None else overall.shape.diagonal())
    releases = {}
    for place, name in enumerate(names):
        tell(f"group {place + 1}", place + shared, total)
        if overall is not None and overall.shape is None:
            releases[name] = _without_shape(overall, plan.openings[-1](own.budget))
        else:
            releases[name] = charged(Run.of(own, records.chosen(labels == place)), own, {})
    promise = Guarantee(whole.budget.epsilon, whole.budget.delta, whole.relation, whole.noise.private, **whose)
    said = {name: _under(promise, overall, release) for name, release in releases.items()}
    if paid is not None:
        paid.noted(refused=all(release.refused for release in releases.values()))
    return Means(promise, said, None if overall is None else stated(overall, whose))


def _check_options(options: Options, objective: object) -> None:
    """Refuse the options that have no meaning for groups."""
    check_kind("options", options, Options)
    if (options.core, options.stages, options.core_sample) != (AUTO, AUTO, AUTO):
        raise InvalidParameter("Expected core, stages and core_sample at their defaults in release_means: drop them.")
    if is_word(objective, "relative") and options.scale != AUTO:
        raise InvalidParameter(
            f"Expected scale={options.scale!r} to be left out with objective='relative': each group learns the spread "
            "of every column by itself."
        )


@dataclass(frozen=True)
class _Plan:
    """Which runs one record is in, and what each is charged whatever it comes to. Public."""

    request: Request  # its objective is settled
    scale: Scale
    learns_shape: bool  # whether a run over all groups comes first

    @classmethod
    def of(cls, request: Request, scale: Scale, *, named: bool) -> "_Plan":
        """Settles "auto" by the names of the columns: objective, and whether a group learns a factor of its own."""
        learned = request.learned is not None
        relative = request.by_columns(named=named and scale == AUTO) == "relative"
        if scale == AUTO and not relative:
            scale = "learn" if learned else "known"
        return cls(replace(request, objective="relative" if relative else "total"), scale, learned and not relative)

    @property
    def openings(self) -> tuple[Opening, ...]:
        """Of the runs that one record is in: the run that learns the shape, if any, and that of its group."""
        failure = self.request.options.failure_probability
        if self.request.objective == "relative":
            return (gaussian_opening,)
        group = _opening(self.scale, failure)
        return (_learning(failure), group) if self.learns_shape else (group,)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """One for each opening; together at most the budget (M9)."""
        budget, failure = self.request.budget, self.request.options.failure_probability
        return _shares(budget, failure, self.scale) if self.learns_shape else (budget,)


def _under(whole: Guarantee, overall: Release | None, release: Release) -> Release:
    """A group's release, stating the promise of all: it tells of the overall run as well, whose shape its noise has."""
    estimates = f"{whole.estimates}, among what belongs to the group"
    common: dict[str, Any] = {"guarantee": whole, "parameters": {**release.parameters, "estimates": estimates}}
    if overall is None:
        return replace(release, **common)
    runs = tuple(run.ledger for run in (overall, release) if isinstance(run.ledger, Costs))
    ledger = Runs(Budget(whole.epsilon, whole.delta), whole.neighbours, runs)
    return replace(release.with_learned(overall), ledger=ledger, **common)


def _opened(
    X: object, groups: object, names: tuple[Key, ...], request: Request
) -> tuple[Records, Integers, Mapping[str, Any]]:
    """One record for each person in some group, the group of each, and what the guarantee says of one person."""
    X = selected(X, request.selection, (groups, request.unit))
    table, labels = split_groups(X, groups, names, request.on_invalid)
    read = partial(as_records, on_invalid=request.on_invalid)
    if request.unit is None:
        records, labels = members(read(table), labels)
        require_valid(records, request.on_invalid)  # before any noise is drawn
        return records.where_it_lies(), labels, {}
    table, keys = split_unit(table, request.unit)
    people, labels = person_members(read(table), labels, keys, request.unit_rows, request.on_invalid)
    return (
        people.where_it_lies(),
        labels,
        {"unit": "person", "unit_column": keys.column, "unit_rows": request.unit_rows},
    )


@lru_cache(maxsize=16)  # a search through calibrations: seconds
def _shares(budget: Budget, failure_probability: float, scale: Scale) -> tuple[Budget, Budget]:
    """For the run that learns the shape, and for the run of each group: together at most the budget (M9)."""
    learns, follows = _learning(failure_probability), _opening(scale, failure_probability)
    first, second = shared_out(budget, [(SHAPE_SHARE, learns), (1 - SHAPE_SHARE, follows)])
    return first, second


def _paid(ledger: Ledger, plan: _Plan, whose: Mapping[str, Any]) -> Charged:
    """Charge the ledger for all groups together: one record is in one of them (G1), and in the overall run."""
    request = plan.request
    runs = tuple(begin(budget) for begin, budget in zip(plan.openings, plan.budgets, strict=True))
    terms = terms_of(request.budget, request.relation, whose)
    return ledger.charge(
        Charge(request.budget, runs), terms=terms, private=request.noise.private, what="means of groups"
    )


def _learning(failure_probability: float) -> Opening:
    """What the run that learns the shape is charged, whatever it comes to."""
    return partial(opening, failure=CAUTION * failure_probability / 2, **UNKNOWN)


def _opening(scale: Scale, failure_probability: float) -> Opening:
    """What the run of a group is charged, whatever it comes to."""
    search = {"search_share": SCALE_SEARCH_SHARE} if scale == "learn" else {"bounded": True}
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
