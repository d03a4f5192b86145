"""Fixtures of the contracts: a table of few rows that every estimator releases, and an ear for what a call says."""

import logging
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def table(rng) -> np.ndarray:
    """467 rows, a prime that no public parameter comes near, and three columns of standard deviation 1 about 2."""
    return rng.normal(loc=2.0, size=(467, 3))


@pytest.fixture
def said_by(caplog, capsys) -> Callable[[Callable[[], Any]], tuple[Any, list[str]]]:
    """(the result, every text that a call leaves behind): errors with all their causes, warnings, log, output."""

    def report_progress(action: Callable[[], Any]) -> tuple[Any, list[str]]:
        caplog.set_level(logging.DEBUG)
        caplog.clear()
        said, result = [], None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = action()
            except Exception as error:  # noqa: BLE001 - whatever is raised must be silent
                said += [str(error), repr(error), repr(error.args), "".join(traceback.format_exception(error))]
        said += [str(warning.message) for warning in caught]
        return result, [*said, *(record.getMessage() for record in caplog.records), *capsys.readouterr()]

    return report_progress


def songs(secrets: tuple[str, ...], texts: list[str]) -> list[str]:
    """Secrets in texts; what a traceback quotes of a test does not count."""
    quiet = ["\n".join(line for line in text.splitlines() if not line.startswith("    ")) for text in texts]
    return [secret for secret in secrets for text in quiet if secret in text]
