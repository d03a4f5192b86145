"""VarianceProfile, the result of `variance_profile`: counts in buckets or a refusal, with guarantee and charges."""

import json
import math
from dataclasses import dataclass
from typing import Any, Self

from dimfree._validate import check_count
from dimfree.accounting.budget import Budget
from dimfree.accounting.events import Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.errors import InvalidFile, InvalidParameter, RefusedRelease
from dimfree.programs.choose.constants import EASY

FORMAT = 1  # raise it whenever an older reader would misunderstand the file
KIND = "variance profile"
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
    ledger : Ledger
        What was drawn, and what it cost.
    dimension : int
        The number of columns.
    edges, counts : tuple of float
        Lower edges of the buckets, largest first, and about how many coordinates are in each.
    log2_stddev : float
        Standard deviation of the noise, as said above.
    refusal : str or None
        The public reason of a refusal.
    """

    guarantee: Guarantee
    ledger: Costs
    dimension: int
    edges: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    log2_stddev: float = 0.0
    refusal: str | None = None

    def __post_init__(self) -> None:
        stated = (Budget(self.guarantee.epsilon, self.guarantee.delta), self.guarantee.neighbours)
        if stated != (self.ledger.budget, self.ledger.neighbours):
            raise InvalidParameter("Expected the guarantee and the ledger to state the same budget.")
        if len(self.edges) != len(self.counts) or bool(self.edges) != (self.refusal is None):
            raise InvalidParameter("Expected one count for each edge, or a refusal without either.")
        if not all(math.isfinite(x) and x >= 0 for x in (*self.edges, *self.counts, self.log2_stddev)):
            raise InvalidParameter("Expected finite edges and counts, none below 0.")

    @property
    def refused(self) -> bool:
        """Whether there is a refusal instead of counts."""
        return self.refusal is not None

    @property
    def buckets(self) -> tuple[tuple[float, float, float], ...]:
        """(from, to, about how many coordinates), largest variances first."""
        self._require()
        return tuple((edge, 4 * edge, count) for edge, count in zip(self.edges, self.counts, strict=True))

    @property
    def shaped_cost(self) -> float:
        """Σσ_i: what noise that follows the shape costs."""
        return sum(count * self._stddev(edge) for edge, _, count in self.buckets)

    @property
    def spherical_cost(self) -> float:
        """sqrt(d·Σσ_i²): what spherical noise costs, in the same units."""
        return self._spherical(self.dimension, 0.0)

    @property
    def gain(self) -> float:
        """How many times more spherical noise costs; at least 1."""
        shaped = self.shaped_cost
        return max(1.0, self.spherical_cost / shaped) if shaped else 1.0

    def cost_after_learning(self, k: int) -> float:
        """Σσ over the k largest plus sqrt((d - k)·Σσ²) over the others: the paper's error with k learned.

        Parameters
        ----------
        k : int
            How many of the largest variances are learned.

        Returns
        -------
        float
            The cost, in the units of `shaped_cost`.
        """
        check_count("k", k, least=0, most=self.dimension)
        learned, left = 0.0, float(k)
        for edge, _, count in self.buckets:
            taken = min(left, count)
            learned, left = learned + taken * self._stddev(edge), left - taken
        return learned + self._spherical(self.dimension - k, k)

    @property
    def easy(self) -> bool:
        """Whether learning the log2(d) largest variances is almost as good as knowing all of them."""
        few = math.ceil(math.log2(self.dimension)) if self.dimension > 1 else 1
        return self.cost_after_learning(few) <= EASY * self.shaped_cost

    def _spherical(self, dimension: float, skipped: float) -> float:
        """sqrt(dimension·Σσ²) without the `skipped` largest coordinates."""
        squares = 0.0
        for edge, _, count in self.buckets:
            left = max(0.0, count - skipped)
            squares, skipped = squares + left * self._stddev(edge) ** 2, max(0.0, skipped - count)
        return math.sqrt(dimension * squares)

    @staticmethod
    def _stddev(edge: float) -> float:
        return math.sqrt(2 * edge)  # the geometric middle of the bucket

    def _require(self) -> None:
        if self.refused:
            raise RefusedRelease(f"A refused profile has no buckets. Reason: {self.refusal}")

    def to_json(self) -> str:
        """The whole profile as JSON text.

        Returns
        -------
        str
            `from_json` gives back the same bits.
        """
        document = {"format": FORMAT, "kind": KIND, "guarantee": self.guarantee.to_dict()}
        document |= {name: getattr(self, name) for name in _FIELDS} | {"ledger": self.ledger.to_dict()}
        return json.dumps(document, allow_nan=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The profile that `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON text.

        Returns
        -------
        VarianceProfile
            The same profile.

        Raises
        ------
        InvalidFile
            If the text is anything else.
        """
        try:
            document = json.loads(text)
            if (document.pop("format"), document.pop("kind")) != (FORMAT, KIND):
                raise ValueError
            return cls(**_parts(document))
        except (InvalidParameter, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
            raise InvalidFile("The text is not a complete variance profile: export it again with to_json().") from None

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        guarantee = f"epsilon={self.guarantee.epsilon!r}, delta={self.guarantee.delta!r}, {self.guarantee.neighbours}"
        outcome = "refused" if self.refused else f"gain about {self.gain:.2g}, {'easy' if self.easy else 'not easy'}"
        warning = "" if self.guarantee.private else ", not private: seeded noise"
        return f"<VarianceProfile: {outcome}, dimension={self.dimension}, {guarantee}{warning}>"


def _parts(document: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from a parsed document."""
    return {
        **document,
        "edges": tuple(map(float, document["edges"])),
        "counts": tuple(map(float, document["counts"])),
        "guarantee": Guarantee(**document["guarantee"]),
        "ledger": Costs.from_dict(document["ledger"]),
    }
