"""One mechanism a file: f(statistic, parameters, *, noise) -> Measured(value, event). Only here is noise drawn."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Loss

Value = TypeVar("Value")
Cost = TypeVar("Cost", bound=Gaussian | Loss)


@dataclass(frozen=True)
class Charged(Generic[Value, Cost]):
    """A released value together with what it cost."""

    value: Value
    event: Cost


class Measured(Charged[Value, Gaussian]):
    """The usual case: what it cost is a Gaussian."""
