"""`dimfree mean --shape-from`: what is known of the spread of DATA from a file of public records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dimfree.errors import InvalidFile, InvalidParameter, InvalidRecords

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.bounds import Bounds
    from dimfree.shapes import Shape


def check_public(shape_from: Path | None, data: Path, others: Mapping[str, object]) -> None:
    """Whatever can fail without the files fails here."""
    if shape_from is None:
        return
    for name, value in others.items():
        if value is not None:
            raise InvalidParameter(f"Expected --shape-from or {name}, not both. Drop one of them.")
    if shape_from.resolve() == data.resolve():
        raise InvalidParameter("Expected --shape-from to be a file of public records, never DATA itself.")


def read_public_shape(
    shape_from: Path | None, columns: Sequence[str] | None, *, chosen: bool, bounds: "Bounds"
) -> "Shape | None":
    """The shape of a table of public records; names that are not those of DATA, in their order, are refused.

    Where columns of DATA were `chosen` by name, the public table is read with the same. Its entries are held
    within the same bounds.
    """
    if shape_from is None:
        return None
    from dimfree._validate import check_same_columns
    from dimfree.data.read import read_table
    from dimfree.shapes.from_public import shape_from as fitted

    public = read_table(shape_from, columns=list(columns) if chosen and columns else None, bounds=bounds.ends)
    check_same_columns(str(shape_from), public.columns, columns)
    try:
        return fitted(public)
    except InvalidRecords as error:
        raise InvalidFile(f"{shape_from} cannot be used: {error}") from None


def gain_row(shape_from: Path | None, shape: "Shape | None") -> Iterator[tuple[str, str]]:
    """What the public records promise, for the card."""
    if shape is not None:
        yield (
            "public shape",
            f"{shape_from}: {shape.gain():.3g} times less noise than spherical, {shape.rotated_gain():.3g} times less "
            "than from the variances alone, by public rows left out",
        )
