"""Errors of real seeded releases: what predictions are held against."""

import math

import numpy as np

from dimfree import release_mean
from dimfree.accounting.budget import Budget
from dimfree.noise import SeededNoise
from dimfree.planning.question import Question
from dimfree.planning.spectra import draw, spectrum

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
_SURE = 0.02


def asked(name, dimension, count, knowledge, **options):
    return Question(count, spectrum(name, dimension), Budget(**PROMISE), knowledge=knowledge, **options)


def measured(question, draws, *, sure=_SURE, seed=77):
    """The root mean square error over at most so many releases, fewer where it is known to `sure`.

    The squared distance to the sample mean is averaged, and tr Σ/n, which is exact, added: the two do not correlate.
    """
    told = {"covariance": question.stddevs**2} if question.knowledge == "covariance" else {}
    squares = []
    for index in range(1, draws + 1):
        X, _ = draw(question.stddevs, question.count, np.random.default_rng([seed, question.dimension, index]))
        found = release_mean(X, **PROMISE, neighbours=question.relation, noise=SeededNoise(index), **told)
        squares += [] if found.refused else [float(((found.mean - X.mean(axis=0)) ** 2).sum())]
        total = question.sampling**2 + float(np.mean(squares or [0.0]))
        if len(squares) >= 5 and 0.5 * np.std(squares, ddof=1) / math.sqrt(len(squares)) < sure * total:
            break
    return math.sqrt(total)
