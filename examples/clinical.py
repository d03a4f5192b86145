"""A clinical table: ten measurements of 442 diabetes patients in their own units, every column about as exact as any.

The table has named columns, so by default every column counts by its own spread (objective="relative"): nothing has to
be known of units, bounds or places. The patients' table comes with scikit-learn and is public, so that the error may be
printed. On a private table never print, plot or compare the non-private mean: the comparison would give it away.
"""

import numpy as np
from scipy.stats import chi2
from sklearn.datasets import load_diabetes

import dimfree

EPSILON, DELTA = 1.0, 1e-6


def main() -> None:
    patients = load_diabetes(as_frame=True, scaled=False).data  # years, 1 or 2, kg/m², mmHg, mg/dl, ...

    release = dimfree.release_mean(patients, epsilon=EPSILON, delta=DELTA)
    print(release.guarantee.statement())
    if release.refused or release.shape is None or release.reach is None:
        print(release.refusal or "the number of records was too small for every column to be read by itself")
        return
    print(f"objective: {release.parameters['objective']}")
    unresolved = [name for name, known in zip(patients.columns, release.resolved, strict=True) if not known]
    print(f"columns whose spread was not learned: {', '.join(unresolved) or 'none'}")

    low, high = release.confidence_interval(0.95)  # of the population mean: sampling error, noise and clipping bias
    least, most = release.reach.centre - release.reach.columns, release.reach.centre + release.reach.columns
    truth = patients.mean().to_numpy()  # not private: allowed here because the table is public
    print(f"{'':5}{'private':>9}{'95% interval':>20}{'noise / spread':>16}{'counts in full':>20}{'not private':>13}")
    rows = zip(release.mean, low, high, release.noise_over_spread(), least, most, truth, strict=True)
    for name, (private, a, b, over, start, end, exact) in zip(patients.columns, rows, strict=True):
        interval, counts = f"{a:.2f} … {b:.2f}", f"{start:.0f} … {end:.0f}"
        beside = f"≤ {over:.2f}" if np.isfinite(over) else "not known"
        print(f"{name:5}{private:9.2f}{interval:>20}{beside:>16}{counts:>20}{exact:13.2f}")

    spread = np.sqrt(release.shape.variances)  # learned within the same budget
    error = float(np.linalg.norm((release.mean - truth) / spread))
    noise = float(np.linalg.norm(release.noise_stddev / spread)) / np.sqrt(len(spread))
    predicted = noise * np.sqrt(chi2.ppf(0.95, len(spread)))
    print(f"error {error:.3f}, predicted {predicted:.3f} (95 %), in units of each column's spread")


if __name__ == "__main__":
    main()
