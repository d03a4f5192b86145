"""Checks of the fields of a release. Fields are copied and frozen; nothing that could hold a record is accepted."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dimfree._validate import check_choice, quoted
from dimfree.accounting.budget import Budget
from dimfree.accounting.guarantee import Guarantee
from dimfree.accounting.several_runs import AnyCosts
from dimfree.errors import InvalidParameter

METHODS = ("auto", "columns", "recentred", "stable", "soft", "basic", "paper")
BASELINES = ("clipped", "karwa-vadhan", "ball", "plan", "coinpress", "huang-liang-yi", "friendly-core")


def kept(name: str, value: Any, _: int) -> Any:
    return value


def method(name: str, value: object, _: int) -> str:
    return check_choice(name, value, METHODS + BASELINES)


def reason(_: str, value: object, __: int) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter("Expected the reason of a refusal to be a sentence.")
    return value


def names(_: str, columns: object, dimension: int) -> tuple[str, ...]:
    if not isinstance(columns, list | tuple) or not all(isinstance(name, str) for name in columns):
        raise InvalidParameter("Expected columns to be a list or tuple of names.")
    if len(columns) != dimension:
        raise InvalidParameter(f"Expected {dimension} names in columns, one for each coordinate.")
    return tuple(str(name) for name in columns)


def parameters(_: str, values: Mapping[str, Any], __: int) -> Mapping[str, float | int | str]:
    return MappingProxyType({name: _plain(name, value) for name, value in values.items()})


def _plain(name: object, value: object) -> float | int | str:
    """One public number or word. Containers are refused: a per-record statistic would need one."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(name, str) or type(value) not in (int, float, str):
        raise InvalidParameter(f"Expected parameters to map names to single numbers or words; see {quoted(name)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidParameter(f"Expected the parameter {quoted(name)} to be finite.")
    return value  # type: ignore[return-value]


def check_promise(guarantee: Guarantee, ledger: AnyCosts) -> None:
    """The guarantee states the promise of the ledger, and the events of the ledger compose to at most that promise."""
    if not isinstance(guarantee, Guarantee) or not isinstance(ledger, AnyCosts):
        raise InvalidParameter("Expected guarantee to be a Guarantee and ledger to be a Ledger.")
    stated = (Budget(guarantee.epsilon, guarantee.delta), guarantee.neighbours)
    if stated != (ledger.budget, ledger.neighbours):
        raise InvalidParameter("Expected the guarantee and the ledger to state the same promise.")
    if not ledger.delta() <= guarantee.delta:
        raise InvalidParameter("Expected a ledger that composes to at most the promise.")
