"""Mechanisms, one per file: f(statistic, parameters, *, noise) -> Measured(value, event). Only they draw noise."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Loss

Value = TypeVar("Value")
Cost = TypeVar("Cost", bound=Gaussian | Loss)


@dataclass(frozen=True)
class Charged(Generic[Value, Cost]):
    """A released value and its cost."""

    value: Value
    event: Cost


class Measured(Charged[Value, Gaussian]):
    """A released value whose cost is a Gaussian."""
