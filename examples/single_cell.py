"""Single-cell pseudobulk: mean expression of 800 genes over 1000 donors, all cells of a donor protected together.

The counts are simulated, and so public: the error may be printed. Never compare private cells with their non-private
mean.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import dimfree

EPSILON, DELTA = 1.0, 1e-6
DONORS, GENES = 1000, 800


def simulate(seed: int = 0) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return counts of genes in cells, mostly zeros, and the donor of each cell. Donors differ in cells and depth."""
    rng = np.random.default_rng(seed)
    donors = np.repeat(np.arange(DONORS), 1 + rng.poisson(4, DONORS))
    typical = rng.lognormal(0.0, 1.8, GENES)  # a few genes are expressed strongly, most hardly
    of_donor = typical * rng.lognormal(0.0, 0.25, (DONORS, GENES))
    depth = rng.lognormal(np.log(800.0), 0.3, len(donors))
    counts = rng.poisson(of_donor[donors] / typical.sum() * depth[:, None])
    return sparse.csr_array(counts), donors


def normalize_cells(counts: sparse.csr_array) -> sparse.csr_array:
    """Return log(1 + counts per 10 000): a function of one cell alone, so it costs no budget."""
    total = np.maximum(counts.sum(axis=1), 1)
    return sparse.csr_array(sparse.diags_array(1e4 / total) @ counts).log1p()


def mean_of_donors(cells: sparse.csr_array, donors: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the non-private truth: each donor counts once, with the mean of their cells."""
    belongs = sparse.csr_array((np.ones(len(donors)), (donors, np.arange(len(donors)))))
    return np.asarray((belongs @ cells).toarray() / belongs.sum(axis=1)[:, None]).mean(axis=0)


def main() -> None:
    counts, donors = simulate()
    cells = normalize_cells(counts)

    # `privacy_unit` has the donor of each cell: the guarantee protects a donor with all cells, not a cell.
    release = dimfree.release_mean(cells, privacy_unit=donors, epsilon=EPSILON, delta=DELTA)
    print(release.guarantee.statement())
    if release.refused:
        print(release.refusal)
        return

    truth = mean_of_donors(cells, donors)  # may be printed: these donors are simulated
    top = set(np.argsort(-truth)[:50]) & set(np.argsort(-release.mean)[:50])
    print(f"{len(top)} of the 50 most expressed genes are found")
    error = float(np.linalg.norm(release.mean - truth))
    print(f"length of the mean {np.linalg.norm(truth):.1f}")
    predicted = release.error_radius(0.95, target="sample")
    print(f"error {error:.3f}, predicted {predicted:.3f} (95%), Euclidean over all genes")


if __name__ == "__main__":
    main()
