"""`bounds` in the schema file of `dimfree mean`: checked before DATA is opened, told on the card."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dimfree.errors import InvalidFile, InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.bounds import Bounds

_SHOWN = 8  # columns on the card


def checked_bounds(path: Path, given: object) -> "Bounds":
    """The bounds in a schema file; an error names the file and what is wrong in it."""
    from dimfree.data.bounds import Bounds

    try:
        return Bounds.checked(given)
    except InvalidParameter as error:
        raise InvalidFile(f"{path} cannot be used: {error}") from None


def bounds_rows(bounds: "Bounds") -> Iterator[tuple[str, str]]:
    """Which columns were held, and what that means, for the card."""
    from dimfree.results.names import shown_name

    if bounds.ends:
        told = [f"{shown_name(name)} {low:.15g} to {high:.15g}" for name, (low, high) in bounds.ends.items()]
        more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        yield (
            "bounds",
            f"{'; '.join(told[:_SHOWN])}{more}: public. An entry beyond counts as the bound, and the mean is that of "
            "the entries so held; a missing one stays missing",
        )
