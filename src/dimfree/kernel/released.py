"""What leaves the kernel, and the error it raises; both are functions of public and released numbers alone."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from dimfree.accounting.events import Gaussian

Value = TypeVar("Value")


class KernelError(RuntimeError):
    """A program asked for something that its branch does not pay for, or passed a parameter that no proof covers."""


class RangeError(KernelError, ValueError):
    """A number passed to a query is outside the range that its proof covers. Extreme released numbers lead here."""


@dataclass(frozen=True)
class Released(Generic[Value]):
    """A released value and the event that was charged for it.

    Attributes
    ----------
    value : Value
        The statistic with its noise.
    event : Gaussian
        The charge: sensitivity, noise and grid.
    """

    value: Value
    event: Gaussian

    @property
    def stddev(self) -> float:
        """The standard deviation of the noise of one number, in the units of the value."""
        return self.event.stddev * self.event.step


class Sealed:
    """An object of the kernel. It is not copied: a copy would have a phase, and charges, of its own."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> str:
        raise KernelError("Objects of the kernel are not copied.")
