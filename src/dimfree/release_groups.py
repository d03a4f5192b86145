"""`release_group_means`: one mean per group, with variances estimated once from all groups (G1).

A record is in at most one group, so the privacy loss of all groups together is that of one group. The run that
estimates shared variances is charged on top, and with groups="private" the search for the groups
(`PrivateGroups.search`). Proof: proofs/kernel.md (G1).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dimfree._types import Integers
from dimfree._validate import check_callable, check_kind, is_word
from dimfree.accounting.budget import Budget, Neighbors, check_budget
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import Runs
from dimfree.accounting.sharing import Opening, divide_budget, keys_and_rest, price_gaussian_opening, price_opening
from dimfree.beliefs import Beliefs
from dimfree.data.columns import warn_of_identifiers
from dimfree.data.gpu.device import redact_device_memory_errors
from dimfree.data.people.labels import Key, check_group_keys, select_members, select_person_members, split_groups
from dimfree.data.people.person_records import split_unit
from dimfree.data.records import Records, as_records, require_valid
from dimfree.data.tables import select_columns
from dimfree.errors import InvalidParameterError, redact_memory_errors
from dimfree.kernel import GroupCosts, PrivateGroups
from dimfree.ledger.charging import Debit, check_ledger
from dimfree.ledger.ledger import PrivacyLedger
from dimfree.noise import Noise
from dimfree.options import AUTO, Options, Scale
from dimfree.programs.choose.constants import PARTITION_SHARE, SCALE_SEARCH_SHARE
from dimfree.programs.run import CAUTION, UNKNOWN
from dimfree.release import complete, state_bounds, with_terms
from dimfree.request import Missing, Objective, Request, require_fine_noise
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release
from dimfree.shapes import Covariance

SHAPE_SHARE = 0.12  # of the precision, for the shared variances: about a third of epsilon
NO_SHAPE = "The variances that the groups share could not be estimated, so no group has a mean: see means.overall."

Tell = Callable[[str, int, int], None]  # step, steps done, steps in all


def release_group_means(
    X: object,
    *,
    by: object,
    groups: Sequence[Key] | Literal["private"],
    epsilon: float,
    delta: float,
    objective: Objective = "auto",
    covariance: "ArrayLike | Covariance | None" = None,
    privacy_unit: object = None,
    max_contributions: int | None = None,
    missing: Missing = "raise",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    norm: float | None = None,
    ledger: PrivacyLedger | None = None,
    noise: Noise | None = None,
    options: Options = Options(),
    tell: Tell = lambda *_: None,
) -> GroupMeans:
    """Release the means of every group of rows with (epsilon, delta)-differential privacy for all groups together.

    Guarantee: for tables that differ by one record, or with `privacy_unit` by one person with all their rows, all
    outcomes together, refusals included, are (epsilon, delta)-indistinguishable, as for `release_mean`. Proof:
    proofs/kernel.md (G1). One record is in one group, so all groups cost as much as one.

    With objective="relative" every group is a release of its own with the whole budget. With objective="total" and no
    known covariance, a first run over all groups estimates the variances they share, with an eighth of the precision.

    Parameters
    ----------
    X : table of numbers, shape (n, d)
        As in `release_mean`.
    by : str or one entry per row
        The column of groups, or the group of every row. With `privacy_unit`, a person belongs to the group of their
        first row in any group, and counts there with their rows of that group.
    groups : sequence of str or int, or "private"
        The public list of groups; rows of other groups are left out. 3, 3.0 and "3" are one group.

        "private" releases the names of large groups within the same budget, for a sixteenth of the precision (private
        partition selection). A group is released if its noisy number of people reaches `GroupMeans.min_group_size` (95
        at epsilon=1, delta=1e-6). Time and memory grow with the number of different keys.
    epsilon, delta : float
        The total privacy budget of all groups. The neighboring relation is "add-remove".
    objective, missing, columns, exclude, bounds, norm, ledger, noise
        As in `release_mean`. "auto" is "total" if `covariance` or `scale` is given.
    covariance : array of shape (d,) or (d, d), or Covariance, optional
        Publicly known variances or covariance of the records within a group.
    privacy_unit, max_contributions
        As in `release_mean`.
    options : Options
        Expert options. `core_sample` must be left at its default.
    tell : callable
        Called as tell(what, done, total) before each run, for a progress bar.

    Returns
    -------
    GroupMeans
        A mapping from groups to releases. Groups with too few records are refused (`GroupMeans.refused`).

    Raises
    ------
    InvalidParameterError, InvalidDataError, BudgetExceededError, InstallationError
        As in `release_mean`. No budget was charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dimfree import release_group_means
    >>> X, ward = np.random.default_rng(0).normal(size=(3000, 2)), np.arange(3000) % 2
    >>> means = release_group_means(X, by=ward, groups=[0, 1], epsilon=1.0, delta=1e-6, objective="relative")
    >>> len(means)
    2
    """
    asked = dict(locals())  # a single release has all arguments but these
    for argument in ("X", "by", "groups", "ledger", "tell"):
        del asked[argument]
    listed = None if is_word(groups, "private") else check_group_keys(groups)
    _check_options(options, objective, missing)
    if covariance is None:
        asked["options"] = replace(options, scale="auto")  # the first run estimates the variances with their factor
    request = Request.from_arguments(**asked, basis=None)
    check_budget(epsilon, delta, parts=10)
    check_ledger(ledger)
    check_callable("tell", tell)
    with redact_device_memory_errors(), redact_memory_errors():
        records, labels, names, unit_terms = _open_groups(X, by, listed, request)
    with np.errstate(all="ignore"):  # an underflow in the search for parts is harmless
        plan = _plan_runs(request, options.scale, named=records.columns is not None, listed=listed is not None)
    whole, budgets, costs, overall, paid = plan.request, plan.budgets, plan.costs, None, None
    require_fine_noise(whole.budget, *budgets, *([] if plan.keys is None else [plan.keys]))
    bounds, columns = state_bounds(records), records.columns
    believed = Beliefs.of(whole, records.dimension, columns)  # checks the columns before anything is charged
    if ledger is not None:
        listing = "private" if listed is None else [str(key) for key in listed]
        paid = Debit(
            ledger, whole, believed, unit_terms, what="means of groups", keys=listing, scale=plan.scale, **bounds
        )
        paid.charge(*costs.runs)
    with redact_device_memory_errors(), redact_memory_errors():  # the texts of errors would reveal numbers of people
        tables = PrivateGroups(records, labels, names, costs, whole.noise)
        search = None if plan.keys is None else tables.search()
    by_entry, names = whole.missing == "available-case", tables.names
    shared = len(budgets) > 1 and len(names) > 0
    total = len(names) + shared
    own = replace(whole, budget=budgets[-1], options=replace(options, scale=plan.scale))
    if shared:
        tell("all groups", 0, total)
        first = believed.run(whole, tables.overall(believed.shape, by_entry=by_entry), columns, bounds)
        overall = complete(replace(first, by_columns=None), whole, {})  # with the branches of `_price_shared_run` only
        own = replace(
            own, covariance=None if overall.estimated_variances is None else overall.estimated_variances.diagonal()
        )
    releases = {}
    if overall is None or overall.estimated_variances is not None:
        believed = Beliefs.of(own, records.dimension, columns)
    for place, name in enumerate(names):
        tell(f"group {place + 1}", place + shared, total)
        if overall is not None and overall.estimated_variances is None:
            releases[name] = _refuse_group(overall, costs.group)
            continue
        with redact_device_memory_errors(), redact_memory_errors():
            table = tables.group(place, believed.shape, by_entry=by_entry)
        releases[name] = complete(believed.run(own, table, columns, bounds), own, {})
    guarantee = Guarantee(whole.budget.epsilon, whole.budget.delta, whole.relation, whole.noise.private, **unit_terms)
    stated = {name: _state_guarantee(guarantee, search, overall, release) for name, release in releases.items()}
    if paid is not None:
        paid.note(refused=all(release.refused for release in releases.values()))
    search_charges = None if search is None else _combine_charges(guarantee, (search, *costs.runs[1:]))
    return GroupMeans(guarantee, stated, None if overall is None else with_terms(overall, unit_terms), search_charges)


def _check_options(options: Options, objective: object, missing: object) -> None:
    """Reject the options that have no meaning for groups."""
    check_kind("options", options, Options)
    if options.core_sample != AUTO:
        raise InvalidParameterError("`core_sample` cannot be used in release_group_means: leave it out.")
    if (is_word(objective, "relative") or is_word(missing, "available-case")) and options.scale != AUTO:
        raise InvalidParameterError(
            f"scale={options.scale!r} cannot be used with objective='relative' or missing='available-case', which "
            "estimate the SD of every column in each group separately. Leave it out. No budget was charged."
        )


class _Plan(NamedTuple):
    """The runs that use one record, and the charge of each, whatever its outcome. Public."""

    request: Request  # "auto" is replaced
    scale: Scale
    keys: Budget | None  # of the search for the groups; None if they are listed
    budgets: tuple[Budget, ...]  # of the run for shared variances, if any, and of a group; with `keys` the whole (M9)
    costs: GroupCosts


def _plan_runs(request: Request, scale: Scale, *, named: bool, listed: bool) -> _Plan:
    """Replace "auto" in objective and scale, and divide the budget among the runs."""
    learned, failure = not request.is_covariance_known, request.options.failure_probability
    relative = request.by_columns(named=named and scale == AUTO) == "relative"
    request = replace(request, objective="relative" if relative else "total")
    alone = request.program in ("columns", "ball")
    if scale == AUTO and not alone:
        scale = "learn" if learned else "known"
    group = price_gaussian_opening if alone else _price_group_run(scale, failure)
    openings = (_price_shared_run(failure), group) if learned and not alone else (group,)

    def divide(rest: Budget) -> tuple[Budget, ...]:
        return _shares(rest, failure, scale) if len(openings) > 1 else (rest,)

    def open_runs(rest: Budget) -> tuple[Costs, ...]:
        return tuple(begin(budget) for begin, budget in zip(openings, divide(rest), strict=True))

    keys, rest = (None, request.budget) if listed else keys_and_rest(request.budget, PARTITION_SHARE, open_runs)
    runs = open_runs(rest)
    costs = GroupCosts(request.budget, keys, runs[0] if len(runs) > 1 else None, runs[-1])
    return _Plan(request, scale, keys, divide(rest), costs)


def _state_guarantee(whole: Guarantee, search: Costs | None, overall: Release | None, release: Release) -> Release:
    """Return the release of a group with the guarantee of all groups and the variances of the overall run."""
    estimates = f"{whole.estimates}, among what belongs to the group"
    common: dict[str, Any] = {"guarantee": whole, "parameters": {**release.parameters, "estimates": estimates}}
    runs = [search, *(run.charges for run in (overall, release) if run is not None)]
    if len(charged := tuple(run for run in runs if isinstance(run, Costs))) > 1:
        common["charges"] = _combine_charges(whole, charged)
    return replace(release if overall is None else release.with_estimated_variances(overall), **common)


def _combine_charges(whole: Guarantee, runs: tuple[Costs, ...]) -> Runs:
    return Runs(Budget(whole.epsilon, whole.delta), whole.neighbors, runs)


def _open_groups(
    X: object, groups: object, listed: tuple[Key, ...] | None, request: Request
) -> tuple[Records, Integers, tuple[Key, ...], Mapping[str, Any]]:
    """Return one record per person in some group, the group of each, all groups, and the privacy unit.

    PRIVATE, also the groups unless they are listed.
    """
    table = select_columns(X, request.selection, (groups, request.privacy_unit))
    rest, labels, names = split_groups(table, groups, listed, request.missing)
    read = partial(as_records, missing=request.missing, bounds=request.selection.bounds)
    unit_terms: dict[str, Any] = {"each_column": True} if request.missing == "available-case" else {}
    if request.privacy_unit is None:
        rows = read(rest)
        people, labels = select_members(rows, labels)
    else:
        rest, keys = split_unit(rest, request.privacy_unit, request.missing)
        rows = read(rest)
        people, labels = select_person_members(rows, labels, keys, request.max_contributions, request.missing)
        unit_terms |= {
            "privacy_unit": "person",
            "privacy_id": keys.column,
            "max_contributions": request.max_contributions,
        }
    require_valid(people, request.missing)  # before any noise is drawn; a sum may exceed the range of floats
    if not isinstance(table, Records):  # a file was checked when opened
        warn_of_identifiers(people.columns, request.selection, stacklevel=4)
    return people.on_its_device().within(rows.bounds), labels, names, unit_terms


@lru_cache(maxsize=16)  # a search through calibrations: seconds
def _shares(budget: Budget, failure_probability: float, scale: Scale) -> tuple[Budget, Budget]:
    """Divide the budget between the run for shared variances and the run of each group (M9)."""
    learns, follows = _price_shared_run(failure_probability), _price_group_run(scale, failure_probability)
    first, second = divide_budget(budget, [(SHAPE_SHARE, learns), (1 - SHAPE_SHARE, follows)])
    return first, second


def _price_shared_run(failure_probability: float) -> Opening:
    """Return the charge of the run for shared variances, whatever its outcome."""
    return partial(price_opening, failure=CAUTION * failure_probability / 2, **UNKNOWN)


def _price_group_run(scale: Scale, failure_probability: float) -> Opening:
    """Return the charge of the run of a group, whatever its outcome."""
    search_share = SCALE_SEARCH_SHARE if scale == "learn" else 0.0
    return partial(price_opening, failure=CAUTION * failure_probability / 2, search_share=search_share)


def _refuse_group(overall: Release, charged: Costs) -> Release:
    """Refuse a group without shared variances; it is charged, since charges do not depend on outputs."""
    own = charged.budget
    return Release.from_refusal(
        NO_SHAPE,
        guarantee=Guarantee(own.epsilon, own.delta, Neighbors.ADD_REMOVE, overall.guarantee.private),
        charges=charged,
        method="stable",
        dimension=overall.dimension,
        columns=overall.columns,
        parameters={name: value for name, value in overall.parameters.items() if name == "bounds"},
    )
