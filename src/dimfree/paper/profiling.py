"""Is this an easy instance? A private histogram of the coordinates' variances, as a release of its own.

Noise that follows the shape costs Σσ_i, spherical noise sqrt(d·Σσ_i²): how much there is to gain, and how many
coordinates would have to be learned for it, is given by how many variances lie in each [4^b, 4^{b+1}).
Every private step is Gaussian and all of them share one precision. Proof: proofs/paper/kernel.md.
Letters: d = coordinates, m = groups, V = a group's estimates, t_1 > … > t_J thresholds, N_j = #{i : V_i >= t_j}.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_choice
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.guarantee import Guarantee
from dimfree.data.gpu.device import device_memory_unspoken
from dimfree.data.records import BY_ROW
from dimfree.errors import AccountingError, memory_unspoken
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.grouping import full_groups
from dimfree.paper.kernel import PaperTable
from dimfree.paper.noisy import queries
from dimfree.paper.profile_result import VarianceProfile
from dimfree.programs.choose.constants import (
    COARSEST_PROFILE,
    COMPLETE_GROUPS,
    GROUP,
    PROFILE_COUNT_SHARE,
    PROFILE_SEARCH_SHARE,
)
from dimfree.request import Request, open_records

EDGES = np.ldexp(1.0, 2 * np.arange(-200, 201))  # where the total variance is looked for
TOO_FEW = "The number of records is too small for this budget; more records or a larger epsilon would be needed."
NO_SCALE = "The records do not vary, or vary on a scale outside the range that is looked at."
INCOMPLETE = "Too few groups of records are complete: many records are invalid."


@dataclass(frozen=True)
class _Plan:
    """Public: the precision of every step, and the thresholds' number."""

    count_mu: float
    search_mu: float
    means_mu: float
    thresholds: int  # J: down to a variance too small to matter, even times d

    @classmethod
    def of(cls, table: PaperTable) -> "_Plan":
        mu, dimension = table.mu, table.dimension
        counted = PROFILE_COUNT_SHARE if table.relation is Neighbours.ADD_REMOVE else 0.0
        return cls(
            count_mu=math.sqrt(counted) * mu,
            search_mu=math.sqrt(PROFILE_SEARCH_SHARE) * mu,
            means_mu=math.sqrt(1 - counted - PROFILE_SEARCH_SHARE) * mu,
            thresholds=math.ceil(math.log2(dimension)) + 3,
        )

    def log_stddev(self, dimension: int, groups: float) -> float:
        """Of the released mean of log2(1 + N_j) over so many complete groups."""
        most = math.log2(1 + dimension) * math.sqrt(self.thresholds)
        return most / self.means_mu / groups if groups else math.inf

    def suffices(self, dimension: int, groups: int) -> bool:
        search = math.sqrt(queries(len(EDGES) - 1)) / self.search_mu
        return 10 * search <= groups and self.log_stddev(dimension, groups) <= COARSEST_PROFILE


def variance_profile(
    X: object,
    *,
    epsilon: float,
    delta: float,
    neighbours: Literal["add-remove", "replace-one"] | Neighbours = "add-remove",
    on_missing: Literal["raise", "drop"] = "raise",
    noise: Noise | None = None,
) -> VarianceProfile:
    """How many coordinates have a variance in each [4^b, 4^{b+1}), with (epsilon, delta)-differential privacy.

    Guarantee: for neighboring X the profiles, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and on_missing="drop" (or "raise" where no row is invalid). Nothing about X need be known. The
    budget is this release's own: a mean released afterwards adds to it. Proof: proofs/paper/kernel.md.

    Parameters
    ----------
    X : table
        One row per person; any table that `release_mean` takes.
    epsilon, delta : float
        The budget of the whole profile.
    neighbours : {"add-remove", "replace-one"}
        The neighboring relation. Under "replace-one" the number of records is public.
    on_missing : {"raise", "drop"}
        What happens to rows with NaN or infinite entries: an error, or a record that says nothing.
    noise : Noise, optional
        The source of noise; by default the operating system's. `SeededNoise` is for tests and is not private.

    Returns
    -------
    VarianceProfile
        Counts of coordinates in buckets of variance, or a refusal.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.
    InvalidRecords
        If X is no table of numbers, or has an invalid row with on_missing="raise".
    """
    check_choice("on_missing", on_missing, BY_ROW)
    request = Request.checked(
        epsilon=epsilon, delta=delta, neighbours=neighbours, on_missing=on_missing, noise=noise, options=Options()
    )
    records, _ = open_records(X, request)
    table = PaperTable(records, request.budget, request.relation, request.noise, on_missing=on_missing)
    with device_memory_unspoken(), memory_unspoken(), np.errstate(all="ignore"):
        found = _profile(table, _Plan.of(table))
    budget, costs = request.budget, table.costs
    if not costs.delta() <= budget.delta:  # by the kernel it never happens; nothing leaves if it does
        raise AccountingError("The charges of this profile exceed its budget.")
    guarantee = Guarantee(budget.epsilon, budget.delta, request.relation, table.is_private)
    return VarianceProfile(guarantee, costs, table.dimension, **found)


def _profile(table: PaperTable, plan: _Plan) -> dict[str, Any]:
    """n̂, the total variance by a noisy search, then the counts above thresholds below it (M1, M2, M5')."""
    count = _group_count(table, plan)
    if not plan.suffices(table.dimension, count):
        return {"refusal": TOO_FEW}
    groups = table.groups(count, GROUP)  # M1
    total = groups.search_total(EDGES, plan.search_mu).value  # M5': the median over groups, as the next power of four
    if not EDGES[1] < total < EDGES[-1]:
        return {"refusal": NO_SCALE}
    edges = total * np.ldexp(1.0, -2 * np.arange(plan.thresholds))
    found = groups.mean_log_counts(edges, plan.means_mu).value  # M2
    if found.groups < COMPLETE_GROUPS * count:
        return {"refusal": INCOMPLETE}
    above = np.minimum(np.exp2(np.maximum(_monotone(found.means), 0.0)) - 1, table.dimension)
    return {
        "edges": tuple(map(float, edges)),
        "counts": tuple(map(float, np.diff(above, prepend=0.0))),
        "log2_stddev": float(plan.log_stddev(table.dimension, found.groups)),
    }


def _group_count(table: PaperTable, plan: _Plan) -> int:
    """The public number of groups. Add-remove: somewhat fewer than n̂ allows, so that few slots stay empty."""
    if table.relation is Neighbours.REPLACE_ONE:
        return full_groups(table.public_count, GROUP)
    stddev = 1 / plan.count_mu
    return full_groups(table.gaussian_count(stddev).value - 2 * stddev, GROUP)


def _monotone(values: Floats) -> Floats:
    """Halfway between the smallest growing sequence above the values and the largest one below."""
    above, below = np.maximum.accumulate(values), np.minimum.accumulate(values[::-1])[::-1]
    return (above + below) / 2
