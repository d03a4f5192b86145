"""Compare planned and actual noise: the prediction of `dimfree plan` from public numbers, and that of the release.

The number of records is the released or public one; the SDs of the columns are the given or the released ones.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree.accounting.several_runs import runs_of
from dimfree.errors import InvalidParameter
from dimfree.planning.predict import predict
from dimfree.planning.question import Question
from dimfree.results.release import Release

KNOWLEDGE = {"auto": "nothing", "columns": "nothing", "recentred": "covariance", "stable": "covariance"}
MOST_SIMULATED = 1000  # columns; more would take longer than the rest of the report
RULES = ("outliers", "tails", "failure_probability")


@dataclass(frozen=True)
class Planned:
    """Root mean square Euclidean lengths. `sampling` is the sampling error of the records, private or not."""

    noise: float
    sampling: float
    actual: float
    count: int

    @property
    def ratio(self) -> float:
        return self.actual / self.noise


def planned_noise(release: Release, rules: Mapping[str, object]) -> Planned | str:
    """The prediction, or the reason why there is none. `rules` are the options of the release where they are known."""
    if release.method not in KNOWLEDGE:
        return f"There is no plan for the method “{release.method}”."
    if release.parameters.get("objective") == "relative":
        return (
            "Columns have units of their own: there is no length to compare. See `dimfree plan --objective relative`."
        )
    model, count = release.error_model, release.parameters.get("count")
    if model.record_stddev is None or not isinstance(count, int | float):
        return "A plan needs the number of records and their spread; this release made neither public."
    if release.dimension > MOST_SIMULATED:
        return f"Beyond {MOST_SIMULATED} columns the simulation takes too long for a report; `dimfree plan` does it."
    spread = model.record_stddev if model.record_principal is None else np.sqrt(model.record_principal)
    spread = model.record_stddev if model.record_principal is None else np.sqrt(model.record_principal)
    own = runs_of(release.ledger)[-1].budget  # of one group: without the cost of the shared shape
    options: dict[str, Any] = {name: rules[name] for name in RULES if name in rules}
    count, knowledge = max(1, round(count)), KNOWLEDGE[release.method]
    try:
        expected = predict(Question(count, spread, own, release.guarantee.neighbours, knowledge, **options))
    except InvalidParameter:
        return "The released numbers lie outside the range of the plan."
    if not math.isfinite(expected.noise):
        return "By its public numbers the plan expected a refusal, but the release was not refused."
    actual = float(np.linalg.norm(release.noise_stddev))  # of the noise that was drawn: public, its law is known
    return Planned(expected.noise, expected.sampling, actual, count)
