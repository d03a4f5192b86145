"""The algorithms of the paper, with the constants that make them private, on their own small kernel.

`algorithm1` (known covariance), `algorithm2` (unknown covariance) and `variance_profile` are programs on `kernel`,
which alone holds records, secret halves and groups, and noise. The others are subroutines, each private separately.
"""

from dimfree.paper.algorithms import algorithm1, algorithm2
from dimfree.paper.mechanisms import heaviest_cell, sparse_vector, stable_histogram
from dimfree.paper.profiling import VarianceProfile, variance_profile
from dimfree.paper.variance_votes import (
    coordinate_variances,
    find_kth_largest_variance,
    group_variances,
    top_variances,
    variance_sum,
)

__all__ = [
    "VarianceProfile",
    "algorithm1",
    "algorithm2",
    "coordinate_variances",
    "find_kth_largest_variance",
    "group_variances",
    "heaviest_cell",
    "sparse_vector",
    "stable_histogram",
    "top_variances",
    "variance_profile",
    "variance_sum",
]
