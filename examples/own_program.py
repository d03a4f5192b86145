"""A program of your own on the privacy kernel: the mean of one column with its largest values clipped.

A program never holds a record. It sends queries to a view, each charged before a record is read, and whatever it
computes from the released values is post-processing: a mistake here can make the result wrong, but cannot exceed the
budget. The records are simulated, so the truth is public and the error may be printed.
"""

import numpy as np

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import calibrate_gaussian
from dimfree.accounting.events import Costs
from dimfree.data.records import as_records
from dimfree.kernel import Ball, PrivateTable
from dimfree.noise import SystemNoise
from dimfree.shapes import IsotropicCovariance

EDGES = 2.0 ** np.arange(-2.0, 14.0)  # public: lengths are counted between these
HISTOGRAM, REST = 0.3, 0.95  # of the branch's mu; 0.3² + 0.95² is below 1


def clipped_mean(table: PrivateTable, share: float = 0.9) -> tuple[float, float, float, Costs]:
    """Release (mean, standard deviation of its noise, clipping bound, costs) of a table of one column.

    About `share` of the records are not clipped: the bound follows from a noisy histogram of their sizes.
    """
    calibration = calibrate_gaussian(table.budget, private_count=table.relation is Neighbors.ADD_REMOVE)
    session = table.open(calibration)  # checks the branches against the budget, and releases the count
    (branch,) = calibration.branches
    view = session.take(branch)
    sizes = view.lengths(Ball(np.zeros(1), 1.0, 1.0), EDGES, HISTOGRAM * branch.mu)
    enough = np.cumsum(sizes.value)[:-1] >= share * session.count
    bound = float(EDGES[np.argmax(enough)] if enough.any() else EDGES[-1])
    total = view.sum_clipped(Ball(np.zeros(1), 1.0, bound), REST * branch.mu, "clipped mean")
    return float(total.value[0]) / session.count, total.stddev / session.count, bound, session.costs()


def main() -> None:
    rows = np.random.default_rng(1).gamma(2.0, 30.0, size=(5000, 1))  # waiting times, in minutes
    budget, relation = Budget(1.0, 1e-6), Neighbors.ADD_REMOVE
    records = as_records(rows, missing="complete-case")  # the owner reads the records and hands them to the kernel
    table = PrivateTable.from_records(
        records, IsotropicCovariance(1.0), None, budget, relation, SystemNoise(), by_entry=False
    )
    mean, stddev, bound, costs = clipped_mean(table)
    print(f"A clipped mean with epsilon={budget.epsilon} and delta={budget.delta}: {mean:.2f}")
    print(f"values above {bound:g} were clipped; spent: delta {costs.delta():.2g} at epsilon {budget.epsilon}")
    truth = float(np.minimum(rows, bound).mean())
    print(f"error {abs(mean - truth):.4f}, predicted {1.96 * np.hypot(stddev, mean * 40 / len(rows)):.4f} (95%)")


if __name__ == "__main__":
    main()
