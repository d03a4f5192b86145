"""Rows on a GPU, as a PyTorch tensor: a third kind after dense arrays and sparse entries.

Results are the same, bit for bit: maps act on one entry in correctly rounded float64, one operation at a time, and sums
are of integers. Nothing is fused: a product and a sum in one kernel would be rounded once instead of twice. Results
come back as NumPy arrays. Proof: proofs/data/gpu/clip.md.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers

if TYPE_CHECKING:
    from dimfree.data.blocks import Entrywise

_CELLS = 2**24  # entries of a working block

Tensor: TypeAlias = Any  # PyTorch is an extra: it is imported only for a tensor


def namespace(values: Any) -> Any:
    """Return NumPy, or PyTorch for a tensor; use only names of the array API, which both have."""
    if isinstance(values, np.ndarray | np.generic):
        return np
    import torch

    return torch


def copy_to_device_of(values: Any, public: NDArray[Any]) -> Any:
    """Return public numbers on the device of the values; a copy there, so that no tensor shares read-only memory."""
    return public if isinstance(values, np.ndarray) else namespace(values).tensor(public, device=values.device)


def take_roots(values: Any) -> Any:
    """Overwrite numbers by their correctly rounded square roots; in main memory by NumPy, as PyTorch's are not."""
    if isinstance(values, np.ndarray) or values.device.type == "cpu":
        array = values if isinstance(values, np.ndarray) else values.numpy()
        np.sqrt(array, out=array)
        return values
    return values.sqrt_()


@dataclass(frozen=True, repr=False)
class DeviceRows:
    """Private: rows of integers or floats in a read-only tensor."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    tensor: Tensor

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.tensor.shape[1])

    def __getitem__(self, key: Any) -> "DeviceRows":
        """Return some rows (a slice, a mask, positions), or `[:, columns]`, always as a table."""
        if isinstance(key, slice):
            return DeviceRows(self.tensor[key])
        axis, which = (1, np.asarray(key[1])) if isinstance(key, tuple) else (0, np.asarray(key))
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return DeviceRows(self.tensor.index_select(axis, copy_to_device_of(self.tensor, places)))

    def toarray(self) -> NDArray[Any]:
        return np.array(self.tensor.cpu().numpy())

    def floats(self) -> "DeviceRows":
        return DeviceRows(self.tensor.to(namespace(self.tensor).float64))

    def are_finite(self) -> NDArray[np.bool_]:
        """Return which rows are valid; sums are checked first, since no sum with a non-finite entry is finite."""
        finite = self.tensor.sum(1).isfinite()
        return fetch_array(finite if finite.all() else self.tensor.isfinite().all(1))

    def mark_missing(self) -> "DeviceRows":
        """Return the rows in float64 with NaN for every entry that is not finite."""
        values = self.floats().tensor
        return DeviceRows(values.where(values.isfinite(), float("nan")))

    def peaks(self) -> NDArray[Any]:
        return fetch_array(self.tensor.abs().amax(1)) if len(self) else np.zeros(0)

    def divide_columns(self, units: NDArray[np.float64], most: float) -> "DeviceRows":
        """Divide each column by a public number and clip to ±most."""
        return DeviceRows((self.tensor / copy_to_device_of(self.tensor, units)).clamp_(-most, most))

    def to_steps(self, step: float, edge: float) -> "DeviceRows":
        """Round to steps within ±edge, NaN to 0; divide by a tensor, as PyTorch multiplies by a number's inverse."""
        torch = namespace(self.tensor)
        steps = self.tensor / copy_to_device_of(self.tensor, np.array([step], dtype=np.float64))
        steps = steps.round_().clamp_(-edge, edge)
        return DeviceRows(steps.masked_fill_(steps.isnan(), 0.0).to(torch.int64))

    def __sub__(self, other: "DeviceRows") -> "DeviceRows":
        """Subtract row by row, or a single row from every row."""
        return DeviceRows(self.tensor - other.tensor)

    def __rmatmul__(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Multiply integers: PyTorch has no integer matrix product on a GPU."""
        torch, factors = namespace(self.tensor), copy_to_device_of(self.tensor, weights)
        total = torch.zeros(self.shape[1], dtype=torch.int64, device=self.tensor.device)
        for part in parts(self):
            total += (factors[part, None] * self.tensor[part]).sum(0)
        return fetch_array(total)

    @classmethod
    def stack_rows(cls, tables: "list[DeviceRows]") -> "DeviceRows":
        return tables[0] if len(tables) == 1 else cls(namespace(tables[0].tensor).cat([rows.tensor for rows in tables]))


def parts(rows: DeviceRows) -> list[slice]:
    """Return slices of consecutive rows, each of the size of a working block."""
    step = max(1, _CELLS // max(1, rows.shape[1]))
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def fetch_array(numbers: Tensor) -> NDArray[Any]:
    return np.asarray(numbers.cpu().numpy())


def total(rows: DeviceRows, step: float, entrywise: "Entrywise", shell: tuple[int, int], cap: int) -> Integers:
    """Sum all rows after the map of entries, clipped to the part between two lengths in steps."""
    torch = namespace(rows.tensor)
    sums = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.tensor.device)
    for part in parts(rows):
        steps, squared = _steps_and_squares(entrywise(rows.tensor[part], slice(None), step), cap)
        sums += _shorten(steps, squared, *shell).sum(0)  # integers below 2^53: exact in any order
    return fetch_array(sums.to(torch.int64))


def squares(rows: DeviceRows, step: float, entrywise: "Entrywise", cap: int) -> Floats:
    """Return the squared norms of the mapped rows in steps: the float nearest to each integer."""
    torch = namespace(rows.tensor)
    found = [_steps_and_squares(entrywise(rows.tensor[part], slice(None), step), cap)[1] for part in parts(rows)]
    return fetch_array(torch.cat([*found, torch.zeros(0, dtype=torch.float64, device=rows.tensor.device)]))


def _steps_and_squares(steps: Tensor, cap: int) -> tuple[Tensor, Tensor]:
    """Round and square as in `rows.clip`: only rows with squared norm above cap² can have an entry to clip."""
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


def _shorten(steps: Tensor, squared: Tensor, inner: int, ball: int) -> Tensor:
    """Shorten rows outside the ball or `inner` by the factor of `clip`; multiply other rows by 1 or 0."""
    torch = namespace(steps)
    outside = squared > float(inner or ball) ** 2
    if not inner and not outside.any():
        return steps
    length = take_roots(torch.where(outside, squared, float(ball) ** 2))
    shrink = length.clamp(max=float(ball)).sub_(inner).div_(length)  # tensor by tensor: a true division
    shrink = torch.where(outside, shrink * (1 - 2.0**-40), 0.0 if inner else 1.0)
    return steps.mul_(shrink[:, None]).trunc_()
