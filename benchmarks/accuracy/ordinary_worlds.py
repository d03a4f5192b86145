"""Where ordinary.py draws records: tables of mixed units, made up or shipped with scikit-learn, and laws.

Half of them may be looked at while constants are settled (SETTLED), half may not (HELD_OUT). A new table or law is one
more line of TABLES or LAWS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from dimfree._types import Floats

SETTLED, HELD_OUT = "settled", "held out"
STANDARDISED = "standardized"  # ends the name of a table whose columns have mean 0 and deviation 1

Generator = np.random.Generator


@dataclass(frozen=True)
class Table:
    """A maker of records, the budgets it is released at, and the half that it belongs to."""

    make: Callable[[Generator], Floats]
    epsilons: tuple[float, ...]
    half: str


def clinical(count: int) -> Callable[[Generator], Floats]:
    """Twenty columns of a hospital: normal, skewed, yes or no, counts, years; units from 1e-6 to 1e7."""

    def make(rng: Generator) -> Floats:
        age = rng.normal(59, 16, count).clip(18, 99).round()
        male = rng.random(count) < 0.48
        systolic = rng.normal(116, 17, count) + 0.22 * age
        body = [systolic, 0.45 * systolic + rng.normal(21, 8, count), rng.normal(165, 8, count) + 9 * male]
        body += [rng.normal(36.8, 0.5, count), rng.normal(0, 1.4, count), rng.normal(2.5e5, 6e4, count)]
        medians = {76: 0.2, 0.95: 0.4, 4.2: 1.3, 104: 0.25, 8e-6: 0.8, 7.4e6: 0.35, 31_000: 0.9}
        skewed = [rng.lognormal(np.log(median), spread, count) for median, spread in medians.items()]
        flags = [rng.random(count) < share for share in (0.12, 0.01)]
        counts = [rng.poisson(rate, count) for rate in (1.3, 0.25)]
        year = rng.integers(1992, 2023, count)
        return np.column_stack([age, male, *body, *skewed, *flags, *counts, year]).astype(float)

    return make


def housing(rng: Generator, count: int = 20_640) -> Floats:
    """Districts as in the Californian census: incomes, ages, rooms, people, a few huge households, places."""
    income, age = rng.lognormal(1.26, 0.46, count), rng.normal(29, 12.5, count).clip(1, 52).round()
    rooms, people = rng.lognormal(1.65, 0.29, count), rng.lognormal(7.05, 0.73, count)
    household = rng.lognormal(1.04, 0.24, count) * np.where(rng.random(count) < 0.001, 50, 1)
    south = rng.random(count) < 0.56
    latitude = np.where(south, rng.normal(33.9, 0.7, count), rng.normal(38, 1.1, count))
    longitude = -119.6 - 0.75 * (latitude - 35.7) + rng.normal(0, 1.9, count)
    bedrooms = 0.2 * rooms * rng.lognormal(0.05, 0.12, count)
    return np.column_stack([income, age, rooms, bedrooms, people, household, latitude, longitude])


def decades(law: str, count: int = 3000, dimension: int = 300) -> Callable[[Generator], Floats]:
    """Columns in units from 1e-4 to 1e4, normal about other places or lognormal of other widths."""

    def make(rng: Generator) -> Floats:
        units, size = 10.0 ** rng.uniform(-4, 4, dimension), (count, dimension)
        if law == "normal":
            return np.asarray(units * (rng.normal(0, 3, dimension) + rng.normal(size=size)))
        return np.asarray(units * rng.lognormal(0.0, rng.uniform(0.2, 1.0, dimension), size))

    return make


def far_away(rng: Generator, count: int = 2000, dimension: int = 20) -> Floats:
    """1e6 ± 1: numbers of cases, times, readings of a meter."""
    return 1e6 + rng.normal(size=(count, dimension))


def constants(rng: Generator, count: int = 2000) -> Floats:
    """Columns that never change (0, 1, -3.5, 1e6, 1e-5) among ones that do."""
    still = np.tile([0.0, 1.0, -3.5, 1e6, 1e-5], (count, 1))
    moving = [rng.normal(170, 10, count), rng.lognormal(3, 1, count), rng.random(count) < 0.3]
    moving += [rng.normal(0, 1e-3, count), rng.poisson(4, count), rng.exponential(2e4, count)]
    return np.column_stack([still, *moving]).astype(float)


def indicators(rng: Generator, count: int = 4000) -> Floats:
    """A questionnaire: yes or no from 1 % to 99 %, small counts, answers from 1 to 5."""
    shares = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99]
    yes = rng.random((count, len(shares))) < np.array(shares)
    counts = rng.poisson([0.1, 0.3, 0.8, 2.0, 6.0], (count, 5))
    return np.column_stack([yes, counts, rng.binomial(4, 0.6, (count, 5)) + 1]).astype(float)


def payments(rng: Generator, count: int = 3000) -> Floats:
    """Amounts with many zeros, balances of either sign, fees in cents, years, times of day, rates."""
    spent = rng.lognormal(6, 1.1, (count, 4)) * (rng.random((count, 4)) < [0.9, 0.5, 0.3, 0.15])
    balance = rng.standard_t(4, (count, 2)) * [2500, 4e4] + [900, 1.2e5]
    others = [rng.lognormal(-3, 0.5, count), rng.integers(2001, 2025, count), rng.normal(5e4, 1.5e4, count)]
    others += [rng.beta(2, 30, count), rng.geometric(0.2, count), 4e6 + rng.normal(0, 250, count)]
    return np.column_stack([spent, balance, *others]).astype(float)


def claims(rng: Generator, count: int = 20_000) -> Floats:
    """An insurer: amounts that one in 10 to one in 100 people has, in several currencies; ages, premiums, years."""
    shares = [0.1, 0.05, 0.02, 0.01]
    paid = rng.lognormal([8.0, 6.0, 3.0, 9.0], 0.5, (count, 4)) * (rng.random((count, 4)) < shares)
    others = [rng.normal(45, 15, count), rng.lognormal(6, 0.4, count), rng.integers(1, 30, count)]
    return np.column_stack([paid, *others]).astype(float)


def sensors(rng: Generator, count: int = 5000) -> Floats:
    """One state of a machine read by 40 instruments, each with its own unit and zero, some with bursts."""
    state = rng.normal(size=(count, 3)) @ rng.normal(size=(3, 40))
    readings = state + rng.normal(size=(count, 40))
    readings[:, :10] *= np.where(rng.random((count, 10)) < 0.02, 8, 1)
    return np.asarray(10.0 ** rng.uniform(-3, 5, 40) * (readings + rng.normal(0, 20, 40)))


def standardised(load: Callable[[], Any], half: str) -> Table:
    """A table of scikit-learn, the same in every draw; columns that never change are left out."""

    def make(_: Generator) -> Floats:
        X = load().data
        X = X[:, np.ptp(X, axis=0) > 0]
        return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))

    return Table(make, (1.0, 4.0), half)


TABLES: dict[str, Table] = {
    "breast cancer": Table(lambda _: load_breast_cancer().data, (1.0, 4.0), SETTLED),
    "diabetes": Table(lambda _: load_diabetes(scaled=False).data, (4.0,), SETTLED),
    "clinical 600": Table(clinical(600), (1.0,), SETTLED),
    "clinical 2000": Table(clinical(2000), (1.0, 4.0), SETTLED),
    "housing": Table(housing, (1.0,), SETTLED),
    "decades, normal": Table(decades("normal"), (1.0,), SETTLED),
    "constants among others": Table(constants, (1.0,), SETTLED),
    "claims": Table(claims, (1.0, 4.0), SETTLED),
    "wine": Table(lambda _: load_wine().data, (4.0,), HELD_OUT),
    "iris": Table(lambda _: load_iris().data, (4.0,), HELD_OUT),
    "decades, lognormal": Table(decades("lognormal"), (1.0,), HELD_OUT),
    "far away": Table(far_away, (1.0,), HELD_OUT),
    "indicators and counts": Table(indicators, (1.0, 4.0), HELD_OUT),
    "payments": Table(payments, (1.0,), HELD_OUT),
    "sensors": Table(sensors, (1.0, 4.0), HELD_OUT),
    "digits": Table(lambda _: load_digits().data, (1.0, 4.0), HELD_OUT),
    f"breast cancer, {STANDARDISED}": standardised(load_breast_cancer, SETTLED),
    f"diabetes, {STANDARDISED}": standardised(load_diabetes, SETTLED),
    f"wine, {STANDARDISED}": standardised(load_wine, HELD_OUT),
    f"digits, {STANDARDISED}": standardised(load_digits, HELD_OUT),
}


# --- Laws

DIMENSIONS = (1, 5, 30, 200)
COUNTS = (600, 2000, 20_000)
EPSILONS = (1.0, 4.0)
OUTLIERS = "1 % outliers"

_PLACE = 3.0  # mean of the laws that have none of their own: zero is a place that a prior could favor
_ZEROS = 0.7  # share of the zeros in the zero-inflated law
_SHARED = 0.9  # share of a column's variance that the one factor explains
_FAR = 30.0  # distance of an outlier from the mean, in deviations of a whole record

Size = tuple[int, int]


@dataclass(frozen=True)
class Law:
    """How (n, d) records are drawn, the mean of every column, and the half that the law belongs to."""

    draw: Callable[[Generator, Size], Floats]
    mean: float
    half: str


def _zero_inflated(rng: Generator, size: Size) -> Floats:
    return np.asarray(rng.lognormal(size=size) * (rng.random(size) >= _ZEROS))


def _one_factor(rng: Generator, size: Size) -> Floats:
    """Columns of variance 1 that move together: the factor is exponential, what each has of its own is normal."""
    factor = rng.exponential(size=(size[0], 1)) - 1
    return np.asarray(_PLACE + np.sqrt(_SHARED) * factor + np.sqrt(1 - _SHARED) * rng.normal(size=size))


def _outliers(rng: Generator, size: Size) -> Floats:
    """Normal; one record in a hundred lies far away, each in a direction of its own."""
    X = rng.normal(size=size)
    far = rng.random(size[0]) < 0.01
    lengths = np.linalg.norm(X[far], axis=1, keepdims=True)
    X[far] *= _FAR * np.sqrt(size[1]) / lengths
    return np.asarray(_PLACE + X)


def _one_lognormal(rng: Generator, size: Size) -> Floats:
    """Normal columns, and a first one with a long tail."""
    X = rng.normal(_PLACE, 1.0, size)
    X[:, 0] = _PLACE + rng.lognormal(size=size[0]) - np.exp(0.5)
    return np.asarray(X)


def _one_pareto(rng: Generator, size: Size) -> Floats:
    """The same with a tail that falls like a power."""
    X = rng.normal(_PLACE, 1.0, size)
    X[:, 0] = _PLACE + rng.pareto(3.0, size[0]) - 0.5
    return np.asarray(X)


LAWS: dict[str, Law] = {
    "normal": Law(lambda rng, size: rng.normal(_PLACE, 1.0, size), _PLACE, SETTLED),
    "lognormal": Law(lambda rng, size: rng.lognormal(0.0, 1.0, size), float(np.exp(0.5)), SETTLED),
    "gamma 1/2": Law(lambda rng, size: rng.gamma(0.5, 1.0, size), 0.5, SETTLED),
    "Bernoulli .5": Law(lambda rng, size: (rng.random(size) < 0.5).astype(float), 0.5, SETTLED),
    "zero-inflated lognormal": Law(_zero_inflated, (1 - _ZEROS) * float(np.exp(0.5)), SETTLED),
    "one factor": Law(_one_factor, _PLACE, SETTLED),
    "one lognormal, others normal": Law(_one_lognormal, _PLACE, SETTLED),
    "exponential": Law(lambda rng, size: rng.exponential(1.0, size), 1.0, HELD_OUT),
    "Pareto 3": Law(lambda rng, size: rng.pareto(3.0, size) + 1.0, 1.5, HELD_OUT),
    "Bernoulli .02": Law(lambda rng, size: (rng.random(size) < 0.02).astype(float), 0.02, HELD_OUT),
    "Poisson .3": Law(lambda rng, size: rng.poisson(0.3, size).astype(float), 0.3, HELD_OUT),
    "t3": Law(lambda rng, size: _PLACE + rng.standard_t(3, size), _PLACE, HELD_OUT),
    "one Pareto 3, others normal": Law(_one_pareto, _PLACE, HELD_OUT),
    OUTLIERS: Law(_outliers, _PLACE, HELD_OUT),
}
