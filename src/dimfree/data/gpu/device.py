"""The device that processes rows: main memory, or a GPU by its PyTorch name. It changes the speed, never a bit."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_device, install_command, reject_device
from dimfree.data.extras import torch
from dimfree.data.gpu.rows import DeviceRows, Tensor, fetch_array, take_roots
from dimfree.errors import InvalidDataError, OutOfMemoryError, raise_alone

BLOCK_ENTRIES = 2**24  # processed at a time, of a table on the device
COPIED_ENTRIES = 2**21  # the same of a table that is copied block by block: several blocks are in transit
_ROOM = 0.5  # share of the free memory for a table that is copied once
_GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 are distributed evenly and use every bit


@dataclass(frozen=True)
class Place:
    """A device by its PyTorch name. Public."""

    name: str

    def rows(self, block: NDArray[Any] | DeviceRows) -> DeviceRows:
        tensor = block.tensor.to(self.name) if isinstance(block, DeviceRows) else self._copy_rows(block)
        return DeviceRows(tensor).floats()

    def table(self, array: NDArray[Any]) -> DeviceRows:
        """Copy a whole array to the device, in its own precision."""
        there = torch.empty(array.shape, dtype=_dtype_for(array), device=self.name)
        step = max(1, BLOCK_ENTRIES // max(1, array.shape[1]))
        for start in range(0, len(array), step):
            there[start : start + step] = self._copy_rows(array[start : start + step])
        return DeviceRows(there)

    def has_room(self, array: NDArray[Any]) -> bool:
        """Return whether the array may stay on the device."""
        return self.name == "cpu" or array.size * 8 <= _ROOM * torch.cuda.mem_get_info(self.name)[0]

    def _copy_rows(self, block: NDArray[Any]) -> Tensor:
        """Copy float32 unchanged, anything else as float64, through pinned memory."""
        waiting = torch.empty(block.shape, dtype=_dtype_for(block), pin_memory=self.name != "cpu")
        with np.errstate(all="ignore"):  # a warning could reveal records
            np.copyto(waiting.numpy(), block, casting="unsafe")
        return waiting.to(self.name)


def block_rows(rows: int, dimension: int, there: bool) -> int:
    """Return the number of rows per block: more than on a CPU, since starting the work costs more."""
    return max(1, rows, (BLOCK_ENTRIES if there else COPIED_ENTRIES) // dimension)


def select_device(device: str | None) -> Place | None:
    """Return the requested device; None for the main memory or the device of the table."""
    name = check_device(device)
    if name in (None, "cpu"):
        return None
    try:
        is_available = torch.cuda.is_available()
    except ImportError:
        raise reject_device(name, f"PyTorch is not installed: {install_command('gpu')}") from None
    if not is_available:
        raise reject_device(name, "PyTorch finds no CUDA device on this machine: leave device out, or pass 'cpu'")
    index = torch.device(name).index
    if index is not None and index >= torch.cuda.device_count():
        raise reject_device(name, f"this machine has {torch.cuda.device_count()} CUDA device(s), counted from 0")
    place = Place(name if index is not None else f"cuda:{torch.cuda.current_device()}")
    require_same_bits(place)
    return place


def find_device(rows: DeviceRows) -> Place:
    require_same_bits(place := Place(str(rows.tensor.device)))
    return place


def from_tensor(X: Tensor) -> NDArray[Any] | DeviceRows:
    """Return a tensor without its history: an array if it is in main memory, DeviceRows if it is on a GPU."""
    tensor = X.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise InvalidDataError("The tensor must be dense: pass X.to_dense(), or a SciPy sparse matrix.")
    if tensor.device.type not in ("cpu", "cuda"):
        raise InvalidDataError(f"A tensor on {tensor.device.type!r} cannot be read: pass X.cpu().")
    if tensor.device.type == "cuda":
        return DeviceRows(tensor)
    small = tensor.is_floating_point() and tensor.element_size() <= 2  # bfloat16 and smaller: NumPy has no such floats
    return np.asarray((tensor.to(torch.float32) if small else tensor).numpy(force=True))


@contextmanager
def redact_device_memory_errors() -> Iterator[None]:
    """Replace PyTorch's error about a full GPU, whose text reveals the size of the table."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        remedy = "pass device='cpu' (--device cpu) or a smaller core_sample, or free GPU memory"
        raise_alone(OutOfMemoryError(f"There is not enough memory on the GPU: {remedy}. Count the budget as spent."))


def require_same_bits(place: Place) -> None:
    """Raise an error unless the device rounds like NumPy; friend counts also need products without emulation."""
    if os.environ.get(name := "CUBLAS_EMULATE_DOUBLE_PRECISION", "0") not in ("", "0"):
        raise reject_device(place.name, f"the environment variable {name} makes products inexact: unset it")
    if not _has_same_bits(place):
        raise reject_device(place.name, "its arithmetic differs from NumPy's in the last bit: pass 'cpu'")


@lru_cache
def _has_same_bits(place: Place) -> bool:
    """Compare with NumPy on public numbers: differences, products, quotients, roots, rounding, integer matrices."""
    left, right = np.exp2(60 * (np.arange(1, 2 * 999 * 8 + 1) * _GOLDEN % 1).reshape(2, 999, 8) - 30)
    x, y = place.table(left), place.table(right)
    whole = np.rint(left[:600] / left[:600].max() * 2**23)
    pairs = [
        (left - right, (x - y).tensor),
        (left * right, x.tensor * y.tensor),
        (left / right, x.tensor / y.tensor),
        (np.sqrt(left), take_roots(x.tensor.clone())),
        (np.rint(left), x.tensor.round()),
        (left / 49.0, x.divide_columns(np.full(8, 49.0), 1e300).tensor),
        (np.rint(left / 49.0), x.to_steps(49.0, 2.0**61).tensor),
        (whole @ whole.T, place.table(whole).tensor @ place.table(whole).tensor.T),
    ]
    return all(np.array_equal(plain, fetch_array(there)) for plain, there in pairs)


def _dtype_for(array: NDArray[Any]) -> Any:
    return torch.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else torch.float64
