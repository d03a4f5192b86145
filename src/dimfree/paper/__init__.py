"""The paper's algorithms, with the constants that make them private, on a small kernel of their own.

`algorithm1` (known covariance), `algorithm2` (unknown covariance) and `variance_profile` are programs on `kernel`,
which alone holds records, secret halves and groups, and noise. The others are the subroutines, each private separately.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.paper.above_threshold import sparse_vector as sparse_vector
    from dimfree.paper.histogram import heaviest_cell as heaviest_cell
    from dimfree.paper.histogram import stable_histogram as stable_histogram
    from dimfree.paper.known_covariance import algorithm1 as algorithm1
    from dimfree.paper.profiling import VarianceProfile as VarianceProfile
    from dimfree.paper.profiling import variance_profile as variance_profile
    from dimfree.paper.unknown_covariance import algorithm2 as algorithm2
    from dimfree.paper.variance_votes import coordinate_variances as coordinate_variances
    from dimfree.paper.variance_votes import find_kth_largest_variance as find_kth_largest_variance
    from dimfree.paper.variance_votes import group_variances as group_variances
    from dimfree.paper.variance_votes import top_variances as top_variances
    from dimfree.paper.variance_votes import variance_sum as variance_sum

_MODULES = {
    "algorithm1": "known_covariance",
    "algorithm2": "unknown_covariance",
    "coordinate_variances": "variance_votes",
    "find_kth_largest_variance": "variance_votes",
    "group_variances": "variance_votes",
    "heaviest_cell": "histogram",
    "sparse_vector": "above_threshold",
    "stable_histogram": "histogram",
    "top_variances": "variance_votes",
    "variance_profile": "profiling",
    "variance_sum": "variance_votes",
    "VarianceProfile": "profiling",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'dimfree.paper' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dimfree.paper.{_MODULES[name]}"), name)
