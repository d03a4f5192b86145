"""What the paper's theorems say of a question: records that are enough, and records below which nobody can."""

import math
from functools import partial

from dimfree.errors import InvalidParameter
from dimfree.planning.paper_bounds.lower_bound import Limit, fingerprinting_lower_bound, packing_lower_bound
from dimfree.planning.paper_bounds.sample_size import (
    Need,
    customised_records,
    easy_instance_records,
    folklore_records,
    known_covariance_records,
    plan_records,
    unknown_covariance_records,
)
from dimfree.planning.question import Question

_KNOWN = (known_covariance_records, customised_records, plan_records, folklore_records)
_UNKNOWN = (unknown_covariance_records, easy_instance_records)


def needs_of(question: Question, accuracy: float, confidence: float) -> tuple[Need, ...]:
    """Sufficient numbers of records for this accuracy with this confidence; none where it is infinite."""
    if not math.isfinite(accuracy):
        return ()
    asked = (question.stddevs, accuracy, question.budget.epsilon, question.budget.delta, 1 - confidence)
    found = []
    for theorem in _KNOWN if question.knowledge == "covariance" else _UNKNOWN:
        try:
            found.append(theorem(*asked))
        except InvalidParameter:  # outside the range for which it is proved
            continue
    return tuple(found)


def limits_of(question: Question, accuracy: float) -> tuple[Limit, ...]:
    """Necessary numbers of records: of every (epsilon, delta)-private estimator, and of the purely private ones."""
    if not math.isfinite(accuracy):
        return ()
    budget = question.budget
    bounds = (
        partial(fingerprinting_lower_bound, epsilon=budget.epsilon, delta=budget.delta),
        partial(packing_lower_bound, epsilon=budget.epsilon),
    )
    found = []
    for bound in bounds:
        try:
            found.append(bound(question.stddevs, accuracy))
        except InvalidParameter:
            continue
    return tuple(found)
