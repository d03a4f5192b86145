"""A clinical table: ten measurements of 442 diabetes patients, every column told about as exactly as any other.

The patients' table comes with scikit-learn and is public, so that the error may be printed. On a private table never
print, plot or compare the non-private mean: the comparison would give it away.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import dimfree

EPSILON, DELTA = 1.0, 1e-6

# Public knowledge, from textbooks and not from this table: about how much each measurement varies among adults.
SPREAD = {
    "age": 13.0,  # years
    "sex": 0.5,  # coded 1 and 2
    "bmi": 5.0,  # kg/m²
    "bp": 14.0,  # mean arterial pressure, mmHg
    "s1": 35.0,  # total cholesterol, mg/dl
    "s2": 30.0,  # LDL, mg/dl
    "s3": 13.0,  # HDL, mg/dl
    "s4": 1.3,  # total cholesterol / HDL
    "s5": 0.5,  # log of triglycerides
    "s6": 12.0,  # blood sugar, mg/dl
}


def main() -> None:
    patients = load_diabetes(as_frame=True, scaled=False).data
    units = np.array([SPREAD[name] for name in patients.columns])

    # In units of its own spread every column varies by about 1: then all of them get the same relative noise.
    release = dimfree.release_mean(patients / units, epsilon=EPSILON, delta=DELTA, shape=dimfree.Isotropic(1.0))
    print(release.guarantee.statement())
    if release.refused:
        print(release.refusal)
        return

    low, high = release.interval(0.95)
    truth = patients.mean().to_numpy()  # not private: allowed here because the table is public
    print(f"{'':6}{'private':>10}{'95 % of the noise':>22}{'not private':>14}")
    for name, *numbers in zip(patients.columns, release.mean * units, low * units, high * units, truth, strict=True):
        private, least, most, exact = numbers
        print(f"{name:6}{private:10.2f}{least:12.2f} …{most:8.2f}{exact:14.2f}")

    error = float(np.linalg.norm(release.mean - truth / units))
    print(f"error {error:.3f}, predicted {release.error_radius(0.95):.3f} (95 %), in units of each column's spread")


if __name__ == "__main__":
    main()
