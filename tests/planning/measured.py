"""Errors of real seeded releases, to compare predictions with."""

import math

import numpy as np

from dimfree import release_mean
from dimfree.accounting.budget import Budget
from dimfree.noise import SeededNoise
from dimfree.planning.question import Question, draw, spectrum

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def asked(name, dimension, count, knowledge="nothing", epsilon=1.0, **rest):
    return Question(count, spectrum(name, dimension), Budget(epsilon, 1e-6), knowledge=knowledge, **rest)


def released(question, seed):
    """(records, release); the records are Gaussian with the standard deviations of the question."""
    X, _ = draw(question.stddevs, question.count, np.random.default_rng([77, question.dimension, seed]))
    given = {"covariance": question.stddevs**2} if question.knowledge == "covariance" else {}
    budget = {"epsilon": question.budget.epsilon, "delta": question.budget.delta, "neighbors": question.relation}
    return X, release_mean(X, **budget, objective=question.objective, noise=SeededNoise(seed), **given)


def measure_error(question, draws):
    """(root mean square error, most frequent method) of so many releases.

    The squared distance to the sample mean is averaged, and tr Σ/n, which is exact, added: the two do not correlate.
    """
    drawn = [released(question, seed) for seed in range(draws)]
    squares = [((found.mean - X.mean(axis=0)) ** 2).sum() for X, found in drawn if not found.refused]
    methods = [found.method for _, found in drawn]
    return math.sqrt(question.sampling**2 + np.mean(squares)), max(methods, key=methods.count)
