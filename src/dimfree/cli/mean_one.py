"""`dimfree mean` without groups: a table in a file becomes a released mean in another."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dimfree.cli.basis import basis_rows, read_basis_option
from dimfree.cli.ledger import ledger_rows, ledger_words
from dimfree.cli.output import REFUSED, Places, show_card
from dimfree.cli.progress import passing
from dimfree.cli.public import gain_row, read_public_shape
from dimfree.cli.reading import DataOptions
from dimfree.cli.report import page_place, page_text

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.data.people.keys import Keys
    from dimfree.data.read import Opened
    from dimfree.results.release import Release


@dataclass(frozen=True)
class MeanTask:
    """What is read and where the release goes."""

    table: DataOptions
    unit: str | None
    scheduler: str | None
    covariance: Path | None
    shape_from: Path | None
    shape: str | None
    basis: str | None
    basis_path: Path | None
    ledger: Path | None
    places: Places
    command: str
    about: Mapping[str, str]  # what the page says at its top

    def __post_init__(self) -> None:
        """Outputs that could not be written are an error before anything is read."""
        inputs = {"DATA": self.table.path, "--covariance": self.covariance, "--shape-from": self.shape_from}
        self.places.check({**inputs, "--basis": self.basis_path, "--ledger": self.ledger})


def release_one(task: MeanTask, given: Mapping[str, Any]) -> None:
    """Read, release, write, tell; `given` are keywords of `release_mean`."""
    with _workers(task.scheduler) as workers:
        with passing("Reading"):
            from dimfree.data.read_public import read_covariance

            table = task.table.read(() if task.unit is None else (task.unit,), workers)
            records, whose = table.records, _persons(table, task.unit, given["on_missing"])
            matrix = task.table.variances(records.columns)
            if task.covariance is not None:
                matrix = read_covariance(task.covariance, records.columns)
            axes = read_basis_option(task.basis, task.basis_path, records)
            chosen, bounds = not task.table.how.is_all, task.table.bounds(records.columns)
            public = read_public_shape(task.shape_from, records.columns, chosen=chosen, bounds=bounds)
        task.table.confirm(table)
        with passing("Releasing"):
            from dimfree.release import release_mean

            known: dict[str, Any] = {"covariance": matrix, "shape": public or task.shape, **axes}
            release = release_mean(records, **given, **known, unit=whose)
    spending = list(ledger_rows(given.get("ledger")))
    about = {**task.about, **ledger_words(given.get("ledger"))}
    page = partial(page_text, release, command=task.command, rules=vars(given["options"]), spending=spending, **about)
    task.places.write(release, not release.refused, page)
    rows = [*_rows(release, task.places), *basis_rows(axes, records, release), *gain_row(task.shape_from, public)]
    rows += [*page_place(task.places.report), *spending, *task.table.rows(table)]
    show_card("Refused" if release.refused else "Released", rows, release.guarantee.private)
    if release.refused:
        raise typer.Exit(REFUSED)


def _workers(scheduler: str | None) -> AbstractContextManager[int]:
    """How many threads of a cluster do the work in here; 0: it is done in this process."""
    if scheduler is None:
        return nullcontext(0)
    from dimfree.data.cluster.scheduler import connected

    return connected(scheduler)


def _persons(table: "Opened", unit: str | None, on_missing: str) -> "Keys | None":
    """Whose the rows are; None where one row is one person."""
    from dimfree.data.people.keys import open_keys

    return None if unit is None else open_keys(table.keys[-1], unit, on_missing)


def _rows(release: "Release", places: Places) -> Iterator[tuple[str, str]]:
    from dimfree.report.by_columns import column_rows
    from dimfree.report.charges import gathered
    from dimfree.results.confidence_sets import interval_note
    from dimfree.results.reading import delta_warning, noise_line

    yield from column_rows(release)
    yield "promise", release.guarantee.statement()
    if warning := delta_warning(release):
        yield "warning", warning
    yield "estimates", release.guarantee.estimates
    yield "spent", f"delta {release.ledger.delta():.3g} at epsilon {release.guarantee.epsilon:g}, in all"
    by_columns = release.reach is not None
    charges = gathered(release.ledger) if by_columns else release.ledger.summary_rows()
    yield "charged", "\n".join(f"{what}: {how}, {cost}" for what, how, cost in charges)
    if release.refusal is not None:
        yield "reason", release.refusal
    else:
        yield "method", release.method
        if not by_columns:  # else units differ, and no range says anything
            yield "noise", _noise_range(release)
        yield "against spread", noise_line([release])
        if not by_columns:  # else among the rows of the columns
            yield "intervals", interval_note(release.error_model)
    yield from places.rows(not release.refused)


def _noise_range(release: "Release") -> str:
    low, high = release.noise_stddev.min(), release.noise_stddev.max()
    return f"standard deviation {low:.4g} to {high:.4g} per coordinate, {release.dimension} coordinate(s)"
