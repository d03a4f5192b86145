"""Records about a centre on a GPU: products, friend counts and squared distances, by large tiles.

Whole numbers of norm at most NEAR have exact products in any order (friends); of floats the error is covered by the
bound of `distances`, whatever the order. Proofs: proofs/statistics/friends.md,
proofs/data/gpu/clip.md.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dimfree._types import Floats, Integers
from dimfree.data.blocks import Mask
from dimfree.data.gpu.rows import DeviceRows, Tensor, beside, here, namespace, parts
from dimfree.kernel.rows.grid import RADIUS

_ROWS = 4096  # tile of rows


@dataclass(frozen=True, repr=False)
class DeviceOffsets:
    """Private: a tensor of float64, all at once."""

    tensor: Tensor

    @classmethod
    def of(cls, records: DeviceRows, which: Integers, centre: NDArray[np.generic]) -> "DeviceOffsets":
        chosen = records if len(which) == len(records) else records[which]  # `which` is in order, none twice
        return cls((chosen - DeviceRows(beside(chosen.tensor, centre[None]))).floats().tensor)

    def squares(self) -> Floats:
        torch, rows = namespace(self.tensor), DeviceRows(self.tensor)
        found = [self.tensor[part].square().sum(1) for part in parts(rows)]
        return here(torch.cat([*found, torch.zeros(0, dtype=torch.float64, device=self.tensor.device)]))

    def products(self, rows: Integers, columns: Integers) -> Floats:
        left, right = (DeviceRows(self.tensor)[which].tensor for which in (rows, columns))
        return here(left @ right.T)

    def friend_counts(self, inside: Integers, squares: Floats) -> Integers:
        """Among near records, by symmetric tiles of exact products: 2x·y >= |x|² + (|y|² - R²)."""
        torch, near = namespace(self.tensor), DeviceRows(self.tensor)[inside].tensor
        lengths = beside(near, squares)
        counts = torch.zeros(len(near), dtype=torch.int64, device=near.device)
        tiles = [slice(start, start + _ROWS) for start in range(0, len(near), _ROWS)]
        for place, row in enumerate(tiles):
            for column in tiles[place:]:
                limits = lengths[row, None] + (lengths[None, column] - float(RADIUS) ** 2)
                friends = (near[row] @ near[column].T).mul_(2) >= limits
                counts[row] += friends.sum(1)
                if column != row:
                    counts[column] += friends.sum(0)
        return here(counts)

    def squared_distances(self, squares: Floats, rows: slice, columns: slice) -> Tensor:
        """Of every pair of two rows, by float sums."""
        lengths = beside(self.tensor, squares)
        return lengths[rows, None] + lengths[columns] - (self.tensor[rows] @ self.tensor[columns].T).mul_(2)


def within_radius(offsets: DeviceRows) -> Mask:
    """|offset|² <= RADIUS² for whole-number rows, as in `friends`."""
    near = offsets.tensor.abs().clamp_(max=RADIUS + 1).to(namespace(offsets.tensor).float64)
    return here(near.square_().sum(1) <= float(RADIUS) ** 2)
