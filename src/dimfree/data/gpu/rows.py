"""Rows that lie on a GPU, as a PyTorch tensor: a third kind beside dense arrays and the entries of sparse ones.

What is computed there is the same to the last bit: maps act on one entry in correctly rounded float64, one operation
at a time, and sums are of whole numbers. Nothing is fused: a product and a sum in one kernel would be rounded once
instead of twice. Results come back as NumPy arrays. Proof: proofs/data/gpu/clip.md.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers

if TYPE_CHECKING:
    from dimfree.data.blocks import Entrywise

_CELLS = 2**24  # entries of a working block

Tensor: TypeAlias = Any  # PyTorch is an extra: it is imported where a tensor is at hand


def namespace(values: Any) -> Any:
    """NumPy or, for a tensor, PyTorch: of either only what both spell alike, as the array API has it."""
    if isinstance(values, np.ndarray | np.generic):
        return np
    import torch

    return torch


def beside(values: Any, public: NDArray[Any]) -> Any:
    """Public numbers where the values are: there a copy, so that no tensor shares memory that is read-only."""
    return public if isinstance(values, np.ndarray) else namespace(values).tensor(public, device=values.device)


def rooted(values: Any) -> Any:
    """Overwrite numbers by their correctly rounded roots: in the main memory by NumPy, as PyTorch's are a bit off."""
    if isinstance(values, np.ndarray) or values.device.type == "cpu":
        array = values if isinstance(values, np.ndarray) else values.numpy()
        np.sqrt(array, out=array)
        return values
    return values.sqrt_()


@dataclass(frozen=True, repr=False)
class DeviceRows:
    """Private: rows of whole or real numbers in a tensor that nobody writes to."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    tensor: Tensor

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.tensor.shape[1])

    def __getitem__(self, key: Any) -> "DeviceRows":
        """Some rows (a slice, a mask, positions), or `[:, columns]`: always a table again."""
        if isinstance(key, slice):
            return DeviceRows(self.tensor[key])
        axis, which = (1, np.asarray(key[1])) if isinstance(key, tuple) else (0, np.asarray(key))
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return DeviceRows(self.tensor.index_select(axis, beside(self.tensor, places)))

    def toarray(self) -> NDArray[Any]:
        return np.array(self.tensor.cpu().numpy())

    def floats(self) -> "DeviceRows":
        return DeviceRows(self.tensor.to(namespace(self.tensor).float64))

    def are_finite(self) -> NDArray[np.bool_]:
        """Which rows are valid. A quick look first: no sum with an entry that is not finite is finite."""
        finite = self.tensor.sum(1).isfinite()
        return here(finite if finite.all() else self.tensor.isfinite().all(1))

    def with_gaps(self) -> "DeviceRows":
        """The same rows in float64, every entry that is not a finite number as NaN."""
        values = self.floats().tensor
        return DeviceRows(values.where(values.isfinite(), float("nan")))

    def peaks(self) -> NDArray[Any]:
        return here(self.tensor.abs().amax(1)) if len(self) else np.zeros(0)

    def over(self, units: NDArray[np.float64], most: float) -> "DeviceRows":
        """Quotients by a public number for each column, held within ±most."""
        return DeviceRows((self.tensor / beside(self.tensor, units)).clamp_(-most, most))

    def to_steps(self, step: float, edge: float) -> "DeviceRows":
        """Whole steps within ±edge, NaN as 0; by a tensor, since PyTorch multiplies by the inverse of a number."""
        torch = namespace(self.tensor)
        steps = self.tensor / beside(self.tensor, np.array([step], dtype=np.float64))
        steps = steps.round_().clamp_(-edge, edge)
        return DeviceRows(steps.masked_fill_(steps.isnan(), 0.0).to(torch.int64))

    def __sub__(self, other: "DeviceRows") -> "DeviceRows":
        """Row by row; or every row less the single one given."""
        return DeviceRows(self.tensor - other.tensor)

    def __rmatmul__(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of whole numbers: PyTorch has no matrix product for them on a GPU."""
        torch, factors = namespace(self.tensor), beside(self.tensor, weights)
        total = torch.zeros(self.shape[1], dtype=torch.int64, device=self.tensor.device)
        for part in parts(self):
            total += (factors[part, None] * self.tensor[part]).sum(0)
        return here(total)

    @classmethod
    def stacked(cls, tables: "list[DeviceRows]") -> "DeviceRows":
        return tables[0] if len(tables) == 1 else cls(namespace(tables[0].tensor).cat([rows.tensor for rows in tables]))


def parts(rows: DeviceRows) -> list[slice]:
    """Consecutive rows that take a working block's memory."""
    step = max(1, _CELLS // max(1, rows.shape[1]))
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def here(numbers: Tensor) -> NDArray[Any]:
    return np.asarray(numbers.cpu().numpy())


def total(rows: DeviceRows, step: float, entrywise: "Entrywise", shell: tuple[int, int], cap: int) -> Integers:
    """The sum of all rows, mapped entry by entry, then clipped: what lies between two lengths in steps."""
    torch = namespace(rows.tensor)
    sums = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.tensor.device)
    for part in parts(rows):
        steps, squared = _steps_and_squares(entrywise(rows.tensor[part], slice(None), step), cap)
        sums += _shortened(steps, squared, *shell).sum(0)  # whole numbers below 2^53: exact in any order
    return here(sums.to(torch.int64))


def squares(rows: DeviceRows, step: float, entrywise: "Entrywise", cap: int) -> Floats:
    """Squared norms of the mapped rows, in whole steps: the float nearest to the integer."""
    torch = namespace(rows.tensor)
    found = [_steps_and_squares(entrywise(rows.tensor[part], slice(None), step), cap)[1] for part in parts(rows)]
    return here(torch.cat([*found, torch.zeros(0, dtype=torch.float64, device=rows.tensor.device)]))


def _steps_and_squares(steps: Tensor, cap: int) -> tuple[Tensor, Tensor]:
    """As in `rows.clip`: only rows with a larger sum of squares than cap² can have an entry that must be held."""
    steps.round_()  # half to even, as NumPy's rint
    squared = (steps * steps).sum(1)
    wild = (~(squared <= float(cap) ** 2)).nonzero()[:, 0]
    if len(wild):
        held = steps[wild].nan_to_num_(nan=0.0, posinf=cap, neginf=-cap).clamp_(-cap, cap)
        torch, half = namespace(held), cap.bit_length() - 1  # in halves that cannot overflow, rounded where they meet
        whole = held.to(torch.int64).square_()
        high, low = (whole >> half).sum(1), (whole & (2**half - 1)).sum(1)
        steps[wild], squared[wild] = held, high.to(torch.float64) * 2.0**half + low.to(torch.float64)
    return steps, squared


def _shortened(steps: Tensor, squared: Tensor, inner: int, ball: int) -> Tensor:
    """Shorten rows outside the ball or beyond `inner` by the factor of `clip`; others are times one or times zero."""
    torch = namespace(steps)
    outside = squared > float(inner or ball) ** 2
    if not inner and not outside.any():
        return steps
    length = rooted(torch.where(outside, squared, float(ball) ** 2))
    shrink = length.clamp(max=float(ball)).sub_(inner).div_(length)  # tensor by tensor: a true division
    shrink = torch.where(outside, shrink * (1 - 2.0**-40), 0.0 if inner else 1.0)
    return steps.mul_(shrink[:, None]).trunc_()
