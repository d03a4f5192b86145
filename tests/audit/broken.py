"""Mechanisms broken in place: one line of the real code is changed, and everybody who imported it runs the change."""

import inspect
import textwrap

from dimfree.core import soft
from dimfree.mechanisms import bit, count, gaussian, laplace_count, search, sparse_vector, stable_histogram, top_k

_SPENT = "            lifted = bar + int(noise.laplace(scale, 1)[0])  # a threshold that gave an answer is spent\n"

LINES = {  # name -> function, a line of it, what is written there instead
    "a threshold is not redrawn": (sparse_vector._first_above, _SPENT, ""),
    "half the noise on the counts": (sparse_vector._first_above, "laplace(2 * scale,", "laplace(scale,"),
    "stretches for half the price": (sparse_vector.sparse_scale, "return 2 * most", "return most"),
    "half the range": (top_k.loss_range, "2 * sensitivity", "sensitivity"),
    "half the noise of a mean": (gaussian.noisy_mean, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "half the sensitivity of a mean": (gaussian.mean_event, "Gaussian(purpose, steps,", "Gaussian(purpose, steps / 2,"),
    "half a record": (count.noisy_count, '"number of records", _STEPS,', '"number of records", _STEPS / 2,'),
    "half the noise of a search": (search.noisy_search, "gaussian(event.stddev,", "gaussian(event.stddev / 2,"),
    "half the epsilon": (laplace_count.laplace_count, 'records", epsilon)', 'records", epsilon / 2)'),
    "a cheap lone item": (
        stable_histogram.publishing_threshold,
        "math.log(delta)",
        "math.log(10 * delta)",
    ),
    "one rung too high": (bit.passes, "numerator(statistic)", "numerator(statistic + 1)"),
}


def broken(monkeypatch, name):
    """Break one thing by its name."""
    if name == "half the total":
        return monkeypatch.setattr(soft, "TOTAL_SENSITIVITY", soft.TOTAL_SENSITIVITY / 2)
    function, right, wrong = LINES[name]
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) == 1
    scope = dict(function.__globals__)
    exec(source.replace(right, wrong), scope)
    return monkeypatch.setattr(function, "__code__", scope[function.__name__].__code__)
