"""`dimfree mean --basis`: public coordinates by their name or in a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.records import Records
    from dimfree.results.release import Release

OWN = "none"  # the columns as they are
_FORECASTS = {"forecast_own_axes": "columns", "forecast_dct": "dct", "forecast_learned": "learned"}


def check_basis_option(basis: str | None, data: Path, others: Mapping[str, object]) -> Path | None:
    """Whatever can fail without the files fails here; gives the file of the basis."""
    path = _basis_file(basis)
    for name, value in others.items():
        if basis is not None and value is not None:
            raise InvalidParameter(f"Expected --basis without {name}: a basis is for one spread that is learned.")
    if path is not None and path.resolve() == data.resolve():
        raise InvalidParameter("Expected --basis to be a file of public numbers, never DATA itself.")
    return path


def _basis_file(basis: str | None) -> Path | None:
    """Where the basis is written down; None where it has a name, or nothing is said."""
    if basis is None:
        return None
    from dimfree.bases import AUTO, NAMED
    from dimfree.data.endings import TABLES

    names = (AUTO, OWN, *NAMED)
    if basis in names:
        return None
    if Path(basis).suffix.lower() not in TABLES:
        raise InvalidParameter(
            f"Expected --basis {basis!r} to be {', '.join(names)}, or the path of an orthonormal matrix that ends in "
            f"{' or '.join(TABLES)}."
        )
    return Path(basis)


def read_basis_option(basis: str | None, path: Path | None, records: "Records") -> dict[str, Any]:
    """What `release_mean` is told: nothing where nothing was said, so that its own default holds."""
    if basis is None:
        return {}
    if path is None:
        return {"basis": None if basis == OWN else basis}
    from dimfree.data.read_public import read_basis

    return {"basis": read_basis(path, records.columns)}


def basis_rows(asked: Mapping[str, Any], records: "Records", release: "Release") -> Iterator[tuple[str, str]]:
    """For the card: the coordinates, and what they take in memory where the table is sparse, from the schema alone."""
    chosen = str(release.parameters.get("basis", ""))
    if chosen:
        yield "basis", chosen + _forecasts(release.parameters)
    width = _turned_width(asked.get("basis", "auto"), chosen, records.dimension)
    if records.is_sparse and width is not None:
        from dimfree.bases import memory_needed

        yield "memory", memory_needed(width)


def _forecasts(told: Mapping[str, Any]) -> str:
    """What was released to choose by, where anything was."""
    gains = [
        f"{name} {told[word]:.3g}" if told[word] else f"{name} not at this budget"
        for word, name in _FORECASTS.items()
        if word in told
    ]
    return f" (forecast gains over spherical noise: {', '.join(gains)})" if gains else ""


def _turned_width(basis: Any, chosen: str, dimension: int) -> int | None:
    """How many coordinates turned records have; None where they were left as they are."""
    left_open = isinstance(basis, str) and basis == "auto"
    if basis is None or (left_open and chosen not in ("dct", "learned")):
        return None
    return dimension
