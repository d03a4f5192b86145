"""What several mechanisms share: a public centre, and a public scale that offsets from it are divided by."""

from dataclasses import dataclass, replace
from typing import Self

from dimfree._types import Floats


@dataclass(frozen=True)
class Centred:
    """Public: a centre, and what the offset of each coordinate from it is divided by."""

    centre: Floats
    scale: Floats | float

    def before(self, units: Floats | None) -> Self:
        """The same for records whose coordinates are not yet divided by the public `units`; None: nothing to divide."""
        if units is None or (units == 1).all():
            return self
        return replace(self, centre=self.centre * units, scale=self.scale * units)
