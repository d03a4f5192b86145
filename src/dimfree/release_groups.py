"""`release_means`: one mean for each group, the shape of their noise learned once from all of them (G1).

A record is in one group at most, so what a group's run gives away about it is given away once, whatever the number of
groups; the run that learned the shape comes on top, and with keys="private" the search for the groups
(`PrivateGroups.search`). Proof: proofs/kernel.md (G1).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Integers
from dimfree._validate import check_callable, check_kind, is_word, quoted
from dimfree.accounting.budget import Budget, Neighbours, check_budget
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import Runs
from dimfree.accounting.sharing import Opening, gaussian_opening, keys_and_rest, opening, shared_out
from dimfree.beliefs import Beliefs
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.gpu.device import device_memory_unspoken
from dimfree.data.people.labels import Key, check_group_keys, members, person_members, split_groups
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import Records, as_records, require_valid
from dimfree.data.tables import selected
from dimfree.errors import InvalidParameter, memory_unspoken
from dimfree.kernel import GroupCosts, PrivateGroups
from dimfree.ledger.charging import Debit, check_ledger
from dimfree.ledger.ledger import Ledger
from dimfree.noise import Noise
from dimfree.options import AUTO, Options, Scale
from dimfree.programs.choose.constants import KEYS_SHARE, SCALE_SEARCH_SHARE
from dimfree.programs.run import CAUTION, UNKNOWN
from dimfree.release import complete, stated_bounds, with_terms
from dimfree.request import Objective, OnMissing, Request, require_fine_noise
from dimfree.results.grouped import Means
from dimfree.results.release import Release
from dimfree.shapes import Shape

SHAPE_SHARE = 0.12  # of the precision, for the shared shape: about a third of epsilon
NO_SHAPE = "The shape that the groups share could not be learned, so no group was looked at: see means.overall."

Tell = Callable[[str, int, int], None]  # what is being done, how many steps are done, of how many


def release_means(
    X: object,
    *,
    groups: object,
    keys: Sequence[Key] | Literal["private"],
    epsilon: float,
    delta: float,
    objective: Objective = "auto",
    covariance: ArrayLike | None = None,
    shape: Shape | None = None,
    unit: object = None,
    unit_rows: int | None = None,
    on_missing: OnMissing = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    norm: float | None = None,
    ledger: Ledger | None = None,
    noise: Noise | None = None,
    options: Options = Options(),
    tell: Tell = lambda *_: None,
) -> Means:
    """Release the mean of every group with (epsilon, delta)-differential privacy for all of them together.

    Guarantee: for tables that differ by one record, or with `unit` by one person with all their rows, all outcomes
    together, refusals included, are (epsilon, delta)-indistinguishable, under the conditions of `release_mean`. Proof:
    proofs/kernel.md (G1). One record is in one group, so the groups cost no more than one of them does.

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
    keys : sequence of str or int, or "private"
        The public names of the groups, known without looking. Entries and names are compared as keys of `unit` are:
        3, 3.0 and "3" are one name, and names that are one key are an error.

        "private": which groups exist is released, too, under the same promise, for a sixteenth of the precision. A
        group is named if enough people are in it, noise included (`means.least_people`; 95 at epsilon=1, delta=1e-6).
        How many groups are not named, and who is in them, is never told. Names come in their own order: whole numbers,
        then text. With `unit`, a person belongs to the group of their first row that has a key, named or not. Time and
        memory grow with the number of different keys.
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
    on_missing : {"raise", "drop", "column"}
        What to do with missing entries, as in `release_mean`. With "column" every group is a release of its own, with
        the whole budget.
    columns, exclude : str or sequence of str, optional
        Which columns, as in `release_mean`; `groups` and `unit` name columns beside them.
    bounds : mapping of names to (low, high), optional
        Publicly known ends of columns, as in `release_mean`.
    norm : float, optional
        A publicly known bound on the length of every record, as in `release_mean`.
    ledger : Ledger, optional
        A persistent budget, charged once for all groups before any noise is drawn.
    noise : Noise, optional
        For tests. Leave it None to be private.
    options : Options
        Expert options. `core_sample` must be left at its default here.
    tell : callable
        Called as tell(what, done, total) before each run, for a progress bar.

    Returns
    -------
    Means
        A mapping from the names to releases. A group with too few records is refused by itself: `means.refused`.
        With keys="private" no group may be large enough to be named: then it is empty.

    Raises
    ------
    InvalidParameter
        A parameter cannot be used. Nothing is charged.
    InvalidRecords
        X is no table of numbers, or, with on_missing="raise", a row is invalid. Nothing is charged.
    BudgetExceeded
        Not enough is left in `ledger`.
    InstallationError
        OpenDP or SciPy cannot be loaded, or the noise source does not work. Nothing is charged.
    """
    asked = dict(locals())  # the arguments, of which any release has all but these
    for argument in ("X", "groups", "keys", "ledger", "tell"):
        del asked[argument]
    listed = None if is_word(keys, "private") else check_group_keys(keys)
    if isinstance(shape, str):
        raise InvalidParameter(
            f"Expected shape={quoted(shape)} to be a Shape; leave it out to learn one from all groups."
        )
    _check_options(options, objective, on_missing)
    if covariance is None and shape is None:
        asked["options"] = replace(options, scale="auto")  # the first run learns all there is to learn
    request = Request.checked(**asked, basis=None)
    check_budget(epsilon, delta, parts=10)
    check_ledger(ledger)
    check_callable("tell", tell)
    with device_memory_unspoken(), memory_unspoken():
        records, labels, names, whose = _opened(X, groups, listed, request)
    with np.errstate(all="ignore"):  # where a program asks for errors, an underflow in a search for parts is none
        plan = _plan_runs(request, options.scale, named=records.columns is not None, listed=listed is not None)
    whole, budgets, costs, overall, paid = plan.request, plan.budgets, plan.costs, None, None
    require_fine_noise(whole.budget, *budgets, *([] if plan.keys is None else [plan.keys]))
    bounds, columns = stated_bounds(records), records.columns
    believed = Beliefs.of(whole, records.dimension, columns)  # before anything is charged: all fits the columns
    if ledger is not None:
        listing = "private" if listed is None else [str(key) for key in listed]
        paid = Debit(ledger, whole, believed, whose, what="means of groups", keys=listing, scale=plan.scale, **bounds)
        paid.charge(*costs.runs)
    with device_memory_unspoken(), memory_unspoken():  # a text would tell how many people or keys there are
        tables = PrivateGroups(records, labels, names, costs, whole.noise)
        search = None if plan.keys is None else tables.search()
    by_entry, names = whole.on_missing == "column", tables.names
    shared = len(budgets) > 1 and len(names) > 0
    total = len(names) + shared
    own = replace(whole, budget=budgets[-1], options=replace(options, scale=plan.scale))
    if shared:
        tell("all groups", 0, total)
        first = believed.run(whole, tables.overall(believed.shape, by_entry=by_entry), columns, bounds)
        overall = complete(replace(first, by_columns=None), whole, {})  # with the branches of `_learning` alone
        own = replace(own, shape=None if overall.shape is None else overall.shape.diagonal())
    releases = {}
    if overall is None or overall.shape is not None:
        believed = Beliefs.of(own, records.dimension, columns)
    for place, name in enumerate(names):
        tell(f"group {place + 1}", place + shared, total)
        if overall is not None and overall.shape is None:
            releases[name] = _without_shape(overall, costs.group)
            continue
        with device_memory_unspoken(), memory_unspoken():
            table = tables.group(place, believed.shape, by_entry=by_entry)
        releases[name] = complete(believed.run(own, table, columns, bounds), own, {})
    promise = Guarantee(whole.budget.epsilon, whole.budget.delta, whole.relation, whole.noise.private, **whose)
    said = {name: _under(promise, search, overall, release) for name, release in releases.items()}
    if paid is not None:
        paid.note(refused=all(release.refused for release in releases.values()))
    nobody = None if search is None else _charged_anyway(promise, (search, *costs.runs[1:]))
    return Means(promise, said, None if overall is None else with_terms(overall, whose), nobody)


def _check_options(options: Options, objective: object, on_missing: object) -> None:
    """Refuse the options that have no meaning for groups."""
    check_kind("options", options, Options)
    if options.core_sample != AUTO:
        raise InvalidParameter("Expected core_sample at its default in release_means: drop it.")
    if (is_word(objective, "relative") or is_word(on_missing, "column")) and options.scale != AUTO:
        raise InvalidParameter(
            f"Expected scale={options.scale!r} to be left out with objective='relative' and on_missing='column': each "
            "group learns the spread of every column by itself."
        )


class _Plan(NamedTuple):
    """Which runs one record is in, and what each is charged whatever it comes to. Public."""

    request: Request  # its objective is settled
    scale: Scale
    keys: Budget | None  # of the search for the groups; None where they are listed
    budgets: tuple[Budget, ...]  # of the run that learns the shape, if any, and of a group; with `keys` the whole (M9)
    costs: GroupCosts


def _plan_runs(request: Request, scale: Scale, *, named: bool, listed: bool) -> _Plan:
    """Settle "auto" by the names of the columns: objective, and whether a group learns a factor of its own."""
    learned, failure = request.learned is not None, request.options.failure_probability
    relative = request.by_columns(named=named and scale == AUTO) == "relative"
    request = replace(request, objective="relative" if relative else "total")
    alone = request.program in ("columns", "ball")
    if scale == AUTO and not alone:
        scale = "learn" if learned else "known"
    group = gaussian_opening if alone else _opening(scale, failure)
    openings = (_learning(failure), group) if learned and not alone else (group,)

    def divide(rest: Budget) -> tuple[Budget, ...]:
        return _shares(rest, failure, scale) if len(openings) > 1 else (rest,)

    def open_runs(rest: Budget) -> tuple[Costs, ...]:
        return tuple(begin(budget) for begin, budget in zip(openings, divide(rest), strict=True))

    keys, rest = (None, request.budget) if listed else keys_and_rest(request.budget, KEYS_SHARE, open_runs)
    runs = open_runs(rest)
    costs = GroupCosts(request.budget, keys, runs[0] if len(runs) > 1 else None, runs[-1])
    return _Plan(request, scale, keys, divide(rest), costs)


def _under(whole: Guarantee, search: Costs | None, overall: Release | None, release: Release) -> Release:
    """A group's release, stating the promise of all: it tells of the overall run as well, whose shape its noise has."""
    estimates = f"{whole.estimates}, among what belongs to the group"
    common: dict[str, Any] = {"guarantee": whole, "parameters": {**release.parameters, "estimates": estimates}}
    runs = [search, *(run.ledger for run in (overall, release) if run is not None)]
    if len(told := tuple(run for run in runs if isinstance(run, Costs))) > 1:
        common["ledger"] = _charged_anyway(whole, told)
    return replace(release if overall is None else release.with_learned(overall), **common)


def _charged_anyway(whole: Guarantee, runs: tuple[Costs, ...]) -> Runs:
    return Runs(Budget(whole.epsilon, whole.delta), whole.neighbours, runs)


def _opened(
    X: object, groups: object, listed: tuple[Key, ...] | None, request: Request
) -> tuple[Records, Integers, tuple[Key, ...], Mapping[str, Any]]:
    """One record for each person in some group, the group of each, all groups (PRIVATE unless they are listed), and
    what the guarantee says of one person."""
    table = selected(X, request.selection, (groups, request.unit))
    rest, labels, names = split_groups(table, groups, listed, request.on_missing)
    read = partial(as_records, on_missing=request.on_missing, bounds=request.selection.bounds)
    whose: dict[str, Any] = {"each_column": True} if request.on_missing == "column" else {}
    if request.unit is None:
        rows = read(rest)
        people, labels = members(rows, labels)
    else:
        rest, keys = split_unit(rest, request.unit, request.on_missing)
        rows = read(rest)
        people, labels = person_members(rows, labels, keys, request.unit_rows, request.on_missing)
        whose |= {"unit": "person", "unit_column": keys.column, "unit_rows": request.unit_rows}
    require_valid(people, request.on_missing)  # before any noise is drawn; a total may be beyond the range of floats
    if not isinstance(table, Records):  # whoever opened a file has warned
        warn_of_identifiers(people.columns, request.selection, stacklevel=4)
    return people.where_it_lies().within(rows.bounds), labels, names, whose


@lru_cache(maxsize=16)  # a search through calibrations: seconds
def _shares(budget: Budget, failure_probability: float, scale: Scale) -> tuple[Budget, Budget]:
    """For the run that learns the shape, and for the run of each group: together at most the budget (M9)."""
    learns, follows = _learning(failure_probability), _opening(scale, failure_probability)
    first, second = shared_out(budget, [(SHAPE_SHARE, learns), (1 - SHAPE_SHARE, follows)])
    return first, second


def _learning(failure_probability: float) -> Opening:
    """What the run that learns the shape is charged, whatever it comes to."""
    return partial(opening, failure=CAUTION * failure_probability / 2, **UNKNOWN)


def _opening(scale: Scale, failure_probability: float) -> Opening:
    """What the run of a group is charged, whatever it comes to."""
    search_share = SCALE_SEARCH_SHARE if scale == "learn" else 0.0
    return partial(opening, failure=CAUTION * failure_probability / 2, search_share=search_share)


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
        parameters={name: said for name, said in overall.parameters.items() if name == "bounds"},
    )
