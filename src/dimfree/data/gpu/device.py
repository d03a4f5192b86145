"""Where rows are processed: in the main memory, or on a GPU named as in PyTorch. It changes the speed, never a bit."""

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
from dimfree.data.gpu.rows import DeviceRows, Tensor, here, rooted
from dimfree.errors import InvalidRecords, OutOfMemory, raise_alone

BLOCK_ENTRIES = 2**24  # of a table that lies there, worked on at a time
COPIED_ENTRIES = 2**21  # of one that is copied over block by block: a few are on their way at once
_ROOM = 0.5  # of the free memory, for a table that is copied over once and for all
_GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo one are spread evenly, and every bit of them is used


@dataclass(frozen=True)
class Place:
    """A device by PyTorch's name for it. Public."""

    name: str

    def rows(self, block: NDArray[Any] | DeviceRows) -> DeviceRows:
        tensor = block.tensor.to(self.name) if isinstance(block, DeviceRows) else self._copied(block)
        return DeviceRows(tensor).floats()

    def table(self, array: NDArray[Any]) -> DeviceRows:
        """A whole array there, in its own precision."""
        there = torch.empty(array.shape, dtype=_dtype_for(array), device=self.name)
        step = max(1, BLOCK_ENTRIES // max(1, array.shape[1]))
        for start in range(0, len(array), step):
            there[start : start + step] = self._copied(array[start : start + step])
        return DeviceRows(there)

    def has_room(self, array: NDArray[Any]) -> bool:
        """Whether the array may lie there all the while."""
        return self.name == "cpu" or array.size * 8 <= _ROOM * torch.cuda.mem_get_info(self.name)[0]

    def _copied(self, block: NDArray[Any]) -> Tensor:
        """Float32 travels as it is, anything else as float64; by way of memory that the GPU reads by itself."""
        waiting = torch.empty(block.shape, dtype=_dtype_for(block), pin_memory=self.name != "cpu")
        with np.errstate(all="ignore"):  # a warning could reveal records
            np.copyto(waiting.numpy(), block, casting="unsafe")
        return waiting.to(self.name)


def block_rows(rows: int, dimension: int, there: bool) -> int:
    """How many rows are worked on at a time: more than elsewhere, as starting the work costs more."""
    return max(1, rows, (BLOCK_ENTRIES if there else COPIED_ENTRIES) // dimension)


def place_of(device: str | None) -> Place | None:
    """The device asked for; None: the machine's own memory, or where the table lies."""
    name = check_device(device)
    if name in (None, "cpu"):
        return None
    try:
        is_available = torch.cuda.is_available()
    except ImportError:
        raise reject_device(name, f"PyTorch is not installed: {install_command('gpu')}") from None
    if not is_available:
        raise reject_device(name, "PyTorch finds no CUDA device on this machine: leave device out, or use 'cpu'")
    index = torch.device(name).index
    if index is not None and index >= torch.cuda.device_count():
        raise reject_device(name, f"this machine has {torch.cuda.device_count()} CUDA device(s), counted from 0")
    place = Place(name if index is not None else f"cuda:{torch.cuda.current_device()}")
    require_same_bits(place)
    return place


def lies_at(rows: DeviceRows) -> Place:
    require_same_bits(place := Place(str(rows.tensor.device)))
    return place


def from_tensor(X: Tensor) -> NDArray[Any] | DeviceRows:
    """A tensor as it lies, without its history: in the machine's memory as an array, on a GPU as it is."""
    tensor = X.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise InvalidRecords("Expected a dense tensor: pass X.to_dense(), or a scipy sparse matrix.")
    if tensor.device.type not in ("cpu", "cuda"):
        raise InvalidRecords(f"A tensor on {tensor.device.type!r} cannot be read: pass X.cpu().")
    if tensor.device.type == "cuda":
        return DeviceRows(tensor)
    small = tensor.is_floating_point() and tensor.element_size() <= 2  # bfloat16 and smaller: NumPy has no such floats
    return np.asarray((tensor.to(torch.float32) if small else tensor).numpy(force=True))


@contextmanager
def device_memory_unspoken() -> Iterator[None]:
    """Replace PyTorch's error about a full GPU, whose text reveals the size of the table."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        told = "There is not enough memory on the GPU: use device='cpu' (--device cpu), a smaller core_sample, or free "
        raise_alone(OutOfMemory(f"{told}some of it. Count the budget as spent."))


def require_same_bits(place: Place) -> None:
    """An error unless the device rounds as NumPy does; friend counts also need products that are not emulated."""
    if os.environ.get(name := "CUBLAS_EMULATE_DOUBLE_PRECISION", "0") not in ("", "0"):
        raise reject_device(place.name, f"the environment variable {name} makes products inexact: unset it")
    if not _has_same_bits(place):
        raise reject_device(place.name, "its arithmetic differs from NumPy's in the last bit: use 'cpu'")


@lru_cache
def _has_same_bits(place: Place) -> bool:
    """Tried on public numbers: differences, products, quotients, roots, rounding, and a product of whole numbers."""
    left, right = np.exp2(60 * (np.arange(1, 2 * 999 * 8 + 1) * _GOLDEN % 1).reshape(2, 999, 8) - 30)
    x, y = place.table(left), place.table(right)
    whole = np.rint(left[:600] / left[:600].max() * 2**23)
    pairs = [
        (left - right, (x - y).tensor),
        (left * right, x.tensor * y.tensor),
        (left / right, x.tensor / y.tensor),
        (np.sqrt(left), rooted(x.tensor.clone())),
        (np.rint(left), x.tensor.round()),
        (left / 49.0, x.over(np.full(8, 49.0), 1e300).tensor),
        (np.rint(left / 49.0), x.to_steps(49.0, 2.0**61).tensor),
        (whole @ whole.T, place.table(whole).tensor @ place.table(whole).tensor.T),
    ]
    return all(np.array_equal(plain, here(there)) for plain, there in pairs)


def _dtype_for(array: NDArray[Any]) -> Any:
    return torch.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else torch.float64
