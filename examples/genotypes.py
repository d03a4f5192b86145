"""Allele frequencies of 1000 variants in 2500 people, helped by a public reference panel.

The people are simulated, and so public: haplotypes in linked blocks, two for each person (Hardy–Weinberg), and a panel
of another population whose frequencies differ somewhat. So the error may be printed; never compare private genotypes
with their non-private frequencies.
"""

import numpy as np
from numpy.typing import NDArray

import dimfree

EPSILON, DELTA = 1.0, 1e-6
PEOPLE, VARIANTS, BLOCK = 2500, 1000, 20
DRIFT = 0.03  # how far the two populations have drifted apart (F_ST)

Floats = NDArray[np.float64]


def simulate(seed: int = 0) -> tuple[NDArray[np.int8], Floats]:
    """Return counts 0, 1, 2 of the minor allele (people, variants), and the public panel's frequencies."""
    rng = np.random.default_rng(seed)
    ancestral = 0.5 * rng.beta(0.3, 1.2, VARIANTS).clip(0.01, 1.0)  # most variants are rare
    of_people, of_panel = (drift(ancestral, rng) for _ in range(2))
    chosen = np.zeros((PEOPLE, VARIANTS), dtype=np.int8)
    for _ in range(2):  # one chromosome from each parent
        # within a block neighbors share a uniform seven times in ten, so their alleles come together: linkage
        uniform = rng.random((PEOPLE, VARIANTS))
        for column in range(VARIANTS):
            if column % BLOCK:
                linked = rng.random(PEOPLE) < 0.7
                uniform[linked, column] = uniform[linked, column - 1]
        chosen += uniform < of_people
    return chosen, of_panel


def drift(ancestral: Floats, rng: np.random.Generator) -> Floats:
    """Return frequencies after the drift of Balding and Nichols."""
    strength = (1 - DRIFT) / DRIFT
    return rng.beta(ancestral * strength, (1 - ancestral) * strength).clip(0.002, 0.998)


def main() -> None:
    genotypes, panel = simulate()

    # Under Hardy–Weinberg a count of frequency p has variance 2p(1-p): the panel gives approximate variances.
    variances = 2 * panel * (1 - panel)
    release = dimfree.release_mean(genotypes, epsilon=EPSILON, delta=DELTA, covariance=variances)
    print(release.guarantee.statement())
    if release.refused:
        print(release.refusal)
        return

    private, truth = release.mean / 2, genotypes.mean(axis=0) / 2  # the truth may be shown: these people are simulated
    error, predicted = float(np.linalg.norm(private - truth)), release.error_radius(0.95, target="sample") / 2
    print(f"root mean square error of the frequencies: {np.sqrt(np.mean((private - truth) ** 2)):.4f},")
    print(f"of the panel's: {np.sqrt(np.mean((panel - truth) ** 2)):.4f}")
    common = panel > 0.05
    print(f"correlation over {common.sum()} common variants: {np.corrcoef(private[common], truth[common])[0, 1]:.3f}")
    print(f"error {error:.3f}, predicted {predicted:.3f} (95%), Euclidean over all variants")


if __name__ == "__main__":
    main()
