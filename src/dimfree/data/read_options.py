"""`ReadOptions`: everything public that says how a file becomes records."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dimfree.data.columns import Selection, require_names
from dimfree.data.dialect import Dialect
from dimfree.data.formats.bounded import Bounds
from dimfree.errors import InvalidFile


@dataclass(frozen=True)
class ReadOptions:
    """Which columns are coordinates and which are keys, how text is written, and how much may be kept in memory.

    `bounds` hold the entries of some coordinates.
    """

    ending: str = ""  # the format, such as ".csv.gz"; most formats have one ending and need not ask
    keys: tuple[str, ...] = ()  # columns that say whose a row is or to which group it belongs, and may hold text
    selection: Selection = field(default_factory=Selection)
    dialect: Dialect = field(default_factory=Dialect)
    bounds: Bounds = field(default_factory=Bounds)
    most_bytes: float = 0  # of numbers kept after a first pass; a larger table is read again on every pass

    def split(self, names: Sequence[str] | None, width: int) -> tuple[list[int], list[int]]:
        """Where the columns of keys and the coordinates stand."""
        if self.keys and names is None:
            raise InvalidFile(f"it has no line of names, expected one with {', '.join(map(repr, self.keys))}.")
        require_names(names or (), self.keys)
        apart = [list(names or ()).index(key) for key in self.keys]
        if self.selection.is_all:
            return apart, [place for place in range(width) if place not in apart]
        return apart, self.selection.places(names, apart)
