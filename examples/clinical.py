"""A clinical table: ten measurements of 442 diabetes patients in their own units.

The table has named columns, so the default keeps the error of every column small relative to its SD
(objective="relative"). No units, bounds or locations are needed. The table comes with scikit-learn and is public, so
the error may be printed. Never print, plot or compare the non-private mean of a private table: that would release it.
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
    if release.refused or release.estimated_variances is None or release.clipping is None:
        print(release.refusal or "too few records for the per-column estimator")
        return
    print(f"objective: {release.parameters['objective']}")
    unresolved = [name for name, known in zip(patients.columns, release.resolved, strict=True) if not known]
    print(f"columns whose SD could not be estimated: {', '.join(unresolved) or 'none'}")

    low, high = release.confidence_interval(0.95)  # of the population mean: sampling error, noise and clipping bias
    center, radii = release.clipping.center, release.clipping.column_radii
    truth = patients.mean().to_numpy()  # not private: allowed here because the table is public
    print(f"{'':5}{'private':>9}{'95% interval':>20}{'noise / SD':>16}{'not clipped':>20}{'not private':>13}")
    rows = zip(release.mean, low, high, release.noise_to_sd(), center - radii, center + radii, truth, strict=True)
    for name, (private, a, b, ratio, start, end, exact) in zip(patients.columns, rows, strict=True):
        interval, unclipped = f"{a:.2f} … {b:.2f}", f"{start:.0f} … {end:.0f}"
        noise = f"≤ {ratio:.2f}" if np.isfinite(ratio) else "not known"
        print(f"{name:5}{private:9.2f}{interval:>20}{noise:>16}{unclipped:>20}{exact:13.2f}")

    sd = np.sqrt(release.estimated_variances.variances)  # estimated within the same budget
    error = float(np.linalg.norm((release.mean - truth) / sd))
    rms_noise = float(np.linalg.norm(release.noise_stddev / sd)) / np.sqrt(len(sd))
    predicted = rms_noise * np.sqrt(chi2.ppf(0.95, len(sd)))
    print(f"error {error:.3f}, predicted {predicted:.3f} (95%), in SDs of each column")


if __name__ == "__main__":
    main()
