"""Checks of the fields of a release. Fields are copied and frozen; nothing that could hold a record is accepted."""

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dimfree._validate import check_choice, check_kind, quoted
from dimfree.accounting.budget import Budget
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts
from dimfree.errors import InvalidParameter
from dimfree.results.error_model import ErrorModel, LearnedShape, frozen_numbers
from dimfree.results.reach import Reach

if TYPE_CHECKING:
    from dimfree.results.release import Release

METHODS = ("auto", "columns", "recentred", "stable", "soft", "basic", "paper")
BASELINES = ("clipped", "karwa-vadhan", "ball", "plan", "coinpress", "huang-liang-yi", "friendly-core")


def check_promise(guarantee: Guarantee, ledger: AnyCosts) -> None:
    """The guarantee states the promise of the ledger, and the events of the ledger compose to at most that promise."""
    if not isinstance(guarantee, Guarantee) or not isinstance(ledger, AnyCosts):
        raise InvalidParameter("Expected guarantee to be a Guarantee and ledger to be a Ledger.")
    stated = (Budget(guarantee.epsilon, guarantee.delta), guarantee.neighbours)
    if stated != (ledger.budget, ledger.neighbours):
        raise InvalidParameter("Expected the guarantee and the ledger to state the same promise.")
    if not ledger.delta() <= guarantee.delta:
        raise InvalidParameter("Expected a ledger that composes to at most the promise.")


def checked_fields(release: "Release") -> dict[str, Any]:
    """Every field but guarantee and ledger, validated, copied and frozen."""
    if type(release.dimension) is not int or release.dimension < 1:
        raise InvalidParameter(f"Expected dimension={quoted(release.dimension)} to be a whole number above 0.")
    return {
        "method": check_choice("method", release.method, METHODS + BASELINES),
        "columns": _names(release.columns, release.dimension),
        "parameters": MappingProxyType({name: _plain(name, value) for name, value in release.parameters.items()}),
        **_outcome(release),
    }


def _outcome(release: "Release") -> dict[str, Any]:
    """Either a public reason or both arrays, never some of both."""
    arrays = (release._mean, release._noise_stddev)
    if release.refusal is not None:
        if not isinstance(release.refusal, str) or not release.refusal.strip():
            raise InvalidParameter("Expected the reason of a refusal to be a sentence.")
        if any(part is not None for part in (*arrays, release._error_model, release._shape, release._reach)):
            raise InvalidParameter("Expected a refused release without mean and noise_stddev.")
        return {}
    frozen: dict[str, Any] = {
        "_error_model": check_kind("error_model", release.error_model, ErrorModel).frozen(release.dimension),
        "_mean": frozen_numbers("mean", release._mean, release.dimension),
        "_noise_stddev": frozen_numbers("noise_stddev", release._noise_stddev, release.dimension),
    }
    if release._shape is not None:
        frozen["_shape"] = check_kind("shape", release._shape, LearnedShape).frozen(release.dimension)
    if release._reach is not None:
        frozen["_reach"] = check_kind("reach", release._reach, Reach).frozen(release.dimension)
    if not np.all(frozen["_noise_stddev"] > 0):
        raise InvalidParameter("Expected noise_stddev above 0 in every coordinate.")
    return frozen


def _names(columns: Sequence[str] | None, dimension: int) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if not isinstance(columns, (list, tuple)) or not all(isinstance(name, str) for name in columns):
        raise InvalidParameter("Expected columns to be a list or tuple of names.")
    if len(columns) != dimension:
        raise InvalidParameter(f"Expected {dimension} names in columns, one for each coordinate.")
    return tuple(str(name) for name in columns)


def _plain(name: object, value: object) -> float | int | str:
    """One public number or word. Containers are refused: a per-record statistic would need one."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(name, str) or type(value) not in (int, float, str):
        raise InvalidParameter(f"Expected parameters to map names to single numbers or words; see {quoted(name)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"Expected the parameter {quoted(name)} to be finite.")
    return value  # type: ignore[return-value]
