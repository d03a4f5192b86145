"""`VarianceProfile`, the result of `variance_profile`: counts in buckets or a refusal, with guarantee and charges."""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from dimfree._validate import check_choice, check_count
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.data.gpu.device import redact_device_memory_errors
from dimfree.data.records import BY_ROW
from dimfree.errors import (
    AccountingError,
    InvalidFileError,
    InvalidParameterError,
    RefusedReleaseError,
    redact_memory_errors,
)
from dimfree.noise import Noise
from dimfree.options import Options
from dimfree.paper.kernel import PaperTable
from dimfree.paper.mechanisms import queries
from dimfree.paper.variance_votes import full_groups
from dimfree.programs.choose import constants as c
from dimfree.programs.run import TOO_FEW
from dimfree.request import Request, open_records

FORMAT = 1  # raise it whenever an older reader would misunderstand the file
KIND = "variance profile"
EDGES = np.ldexp(1.0, 2 * np.arange(-200, 201))  # where the total variance is searched
NO_SCALE = "The records do not vary, or vary on a scale outside the searched range. Change the units."
INCOMPLETE = "Too few groups of records are complete: many records are invalid."
_FIELDS = ("dimension", "edges", "counts", "log2_stddev", "refusal")


@dataclass(frozen=True, slots=True, repr=False)
class VarianceProfile:
    """About how many coordinates have a variance in [edge, 4·edge), largest first; the others lie below the last edge.

    Everything in it was released or is public. The counts are noisy: log2(1 + number above an edge) has noise of
    standard deviation `log2_stddev`, and the estimate of one variance may fall into the next bucket.
    Coordinates below the last edge count as constant in the costs; they add at most about half of sqrt(Σσ²) to Σσ.

    Attributes
    ----------
    guarantee : Guarantee
        Epsilon, delta and the neighboring relation.
    charges : Costs
        The releases and their costs.
    dimension : int
        The number of columns.
    edges, counts : tuple of float
        Lower edges of the buckets, largest first, and about how many coordinates are in each.
    log2_stddev : float
        Standard deviation of the noise of log2(1 + number above an edge).
    refusal : str or None
        The public reason of a refusal.
    """

    guarantee: Guarantee
    charges: Costs
    dimension: int
    edges: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    log2_stddev: float = 0.0
    refusal: str | None = None

    def __post_init__(self) -> None:
        stated = (Budget(self.guarantee.epsilon, self.guarantee.delta), self.guarantee.neighbors)
        if stated != (self.charges.budget, self.charges.neighbors):
            raise InvalidParameterError("`guarantee` and `charges` must state the same budget.")
        if len(self.edges) != len(self.counts) or bool(self.edges) != (self.refusal is None):
            raise InvalidParameterError(
                "`counts` and `edges` must have the same length, and be empty only with a `refusal`."
            )
        if not all(math.isfinite(x) and x >= 0 for x in (*self.edges, *self.counts, self.log2_stddev)):
            raise InvalidParameterError("`edges` and `counts` must be finite and at least 0.")

    @property
    def refused(self) -> bool:
        """Whether there is a refusal instead of counts."""
        return self.refusal is not None

    @property
    def buckets(self) -> tuple[tuple[float, float, float], ...]:
        """(from, to, about how many coordinates), largest variances first."""
        if self.refused:
            raise RefusedReleaseError(f"A refused profile has no buckets. Reason: {self.refusal}")
        return tuple((edge, 4 * edge, count) for edge, count in zip(self.edges, self.counts, strict=True))

    @property
    def shaped_cost(self) -> float:
        """Σσ_i: the cost of noise that follows the variances."""
        return sum(count * math.sqrt(2 * edge) for edge, _, count in self.buckets)  # the geometric middle of each

    @property
    def spherical_cost(self) -> float:
        """sqrt(d·Σσ_i²): the cost of isotropic noise, in the same units."""
        return self.cost_after_learning(0)

    @property
    def gain(self) -> float:
        """The cost of isotropic noise over that of noise that follows the variances; at least 1."""
        shaped = self.shaped_cost
        return max(1.0, self.spherical_cost / shaped) if shaped else 1.0

    def cost_after_learning(self, k: int) -> float:
        """Return Σσ over the k largest plus sqrt((d - k)·Σσ²) over the others: the error with k variances."""
        k = check_count("k", k, least=0, most=self.dimension)
        edges, _, counts = np.array(self.buckets).T
        stddevs = np.sqrt(2 * edges)
        others = np.diff(np.maximum(np.cumsum(counts) - k, 0.0), prepend=0.0)
        return float((counts - others) @ stddevs + math.sqrt((self.dimension - k) * float(others @ stddevs**2)))

    @property
    def easy(self) -> bool:
        """Whether estimating the log2(d) largest variances is almost as good as knowing all of them."""
        few = math.ceil(math.log2(self.dimension)) if self.dimension > 1 else 1
        return self.cost_after_learning(few) <= c.EASY_FACTOR * self.shaped_cost

    def to_json(self) -> str:
        """Return the whole profile as JSON text; `from_json` restores the same bits."""
        document = {"format": FORMAT, "kind": KIND, "guarantee": self.guarantee.to_dict()}
        document |= {name: getattr(self, name) for name in _FIELDS} | {"charges": self.charges.to_dict()}
        return json.dumps(document, allow_nan=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the profile that `to_json` wrote; raise `InvalidFileError` for any other text."""
        try:
            document = json.loads(text)
            if (document.pop("format"), document.pop("kind")) != (FORMAT, KIND):
                raise ValueError
            document |= {name: tuple(map(float, document[name])) for name in ("edges", "counts")}
            document["guarantee"] = Guarantee(**document["guarantee"])
            document["charges"] = Costs.from_dict(document["charges"])
            return cls(**document)
        except (
            InvalidParameterError,
            LookupError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            RecursionError,
        ):
            raise InvalidFileError(
                "The text is not a complete variance profile. Export it again with to_json()."
            ) from None

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        guarantee = f"epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r}, {self.guarantee.neighbors}"
        outcome = "refused" if self.refused else f"gain about {self.gain:.2g}, {'easy' if self.easy else 'not easy'}"
        warning = "" if self.guarantee.private else ", not private: seeded noise"
        return f"<VarianceProfile: {outcome}, dimension={self.dimension}, {guarantee}{warning}>"


def variance_profile(
    X: object,
    *,
    epsilon: float,
    delta: float,
    neighbors: Literal["add-remove", "replace-one"] | Neighbors = "add-remove",
    missing: Literal["raise", "complete-case"] = "raise",
    noise: Noise | None = None,
) -> VarianceProfile:
    """Release how many coordinates have a variance in each [4^b, 4^{b+1}), with differential privacy.

    Guarantee: for neighboring X the profiles, refusals included, are (epsilon, delta)-indistinguishable, with the
    default noise and missing="complete-case" (or "raise" if no row is invalid). No prior knowledge is needed. A mean
    released afterwards has its own budget. Proof: proofs/paper/kernel.md.

    Parameters
    ----------
    X : table
        One row per person; any table that `release_mean` takes.
    epsilon, delta : float
        The budget of the whole profile.
    neighbors : {"add-remove", "replace-one"}
        The neighboring relation. Under "replace-one" the number of records is public.
    missing : {"raise", "complete-case"}
        Rows with missing values raise an error, or have no weight.
    noise : Noise, optional
        The source of noise; by default the operating system's. `SeededNoise` is for tests and is not private.

    Returns
    -------
    VarianceProfile
        Counts of coordinates in buckets of variance, or a refusal.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of range.
    InvalidDataError
        If X is not a table of numbers, or has a missing value with missing="raise".
    """
    check_choice("missing", missing, BY_ROW)
    request = Request.from_arguments(
        epsilon=epsilon, delta=delta, neighbors=neighbors, missing=missing, noise=noise, options=Options()
    )
    records, _ = open_records(X, request)
    table = PaperTable(records, request.budget, request.relation, request.noise, missing=missing)
    with redact_device_memory_errors(), redact_memory_errors(), np.errstate(all="ignore"):
        found = _profile(table)
    budget, costs = request.budget, table.costs
    if not costs.delta() <= budget.delta:  # by the kernel it never happens; nothing leaves if it does
        raise AccountingError("The charges of this profile exceed its budget. Nothing was released.")
    guarantee = Guarantee(budget.epsilon, budget.delta, request.relation, table.is_private)
    return VarianceProfile(guarantee, costs, table.dimension, **found)


def _profile(table: PaperTable) -> dict[str, Any]:
    """n̂, the total variance by a noisy search, then the counts above thresholds below it (M1, M2, M5')."""
    mu, dimension, add = table.mu, table.dimension, table.relation is Neighbors.ADD_REMOVE
    search_mu = math.sqrt(c.PROFILE_SEARCH_SHARE) * mu
    means_mu = math.sqrt(1 - (c.PROFILE_COUNT_SHARE if add else 0.0) - c.PROFILE_SEARCH_SHARE) * mu
    thresholds = math.ceil(math.log2(dimension)) + 3  # down to a variance too small to matter, even times d

    def log_stddev(groups: float) -> float:
        """Return the noise SD of the mean of log2(1 + N_j) over this number of complete groups."""
        return math.log2(1 + dimension) * math.sqrt(thresholds) / means_mu / groups if groups else math.inf

    if add:  # somewhat fewer groups than n̂ allows, so that few slots stay empty
        stddev = 1 / (math.sqrt(c.PROFILE_COUNT_SHARE) * mu)
        count = full_groups(table.gaussian_count(stddev).value - 2 * stddev, c.GROUP_SIZE)
    else:
        count = full_groups(table.public_count, c.GROUP_SIZE)
    if 10 * math.sqrt(queries(len(EDGES) - 1)) / search_mu > count or log_stddev(count) > c.MAX_PROFILE_NOISE:
        return {"refusal": TOO_FEW}
    groups = table.groups(count, c.GROUP_SIZE)  # M1
    total = groups.search_total(EDGES, search_mu).value  # M5': the median over groups, as the next power of four
    if not EDGES[1] < total < EDGES[-1]:
        return {"refusal": NO_SCALE}
    edges = total * np.ldexp(1.0, -2 * np.arange(thresholds))
    found = groups.mean_log_counts(edges, means_mu).value  # M2
    if found.groups < c.MIN_COMPLETE_GROUPS * count:
        return {"refusal": INCOMPLETE}
    # halfway between the smallest growing sequence above the means and the largest one below
    rising, falling = np.maximum.accumulate(found.means), np.minimum.accumulate(found.means[::-1])[::-1]
    above = np.minimum(np.exp2(np.maximum((rising + falling) / 2, 0.0)) - 1, dimension)
    counts = np.diff(above, prepend=0.0)
    return {"edges": tuple(edges.tolist()), "counts": tuple(counts.tolist()), "log2_stddev": log_stddev(found.groups)}
