"""One mechanism a file: f(statistic, parameters, *, noise) -> Measured(value, event). Only here is noise drawn."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dimfree.accounting.events import Gaussian

Value = TypeVar("Value")


@dataclass(frozen=True)
class Measured(Generic[Value]):
    """A released value together with what it cost."""

    value: Value
    event: Gaussian
