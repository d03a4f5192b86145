"""`dimfree mean --group-by`: a table in a file becomes one released mean for each group."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from dimfree.cli.ledger import ledger_rows, ledger_words
from dimfree.cli.output import REFUSED, Places, show_card
from dimfree.cli.progress import working
from dimfree.cli.reading import DataOptions
from dimfree.cli.report import page_place, page_text
from dimfree.errors import InvalidParameter

# NumPy and everything above it is imported inside the functions, so that `dimfree --help` answers at once.
if TYPE_CHECKING:
    from dimfree.results.grouped import Means
    from dimfree.results.release import Release

_SHAPE_WORDS = {
    "all groups": "learned once from all groups, within the promise",
    "each group": "the spread of every column is learned by each group for itself",
    "given": "given",
}


@dataclass(frozen=True)
class GroupTask:
    """What is read and where it goes."""

    table: DataOptions
    group_by: str
    groups: Path | None  # None: which groups exist is private
    unit: str | None
    covariance: Path | None
    places: Places
    command: str
    ledger: Path | None
    about: Mapping[str, str]  # what the page says at its top

    def __post_init__(self) -> None:
        """Whatever can fail without the data fails here."""
        from dimfree.results.tables import LONG_TABLES

        if Path(self.places.out).suffix.lower() in (".npy", ".npz"):
            raise InvalidParameter(
                f"Expected --out {self.places.out!r} to end in {' or '.join(LONG_TABLES)} with --group-by: the table "
                "names groups and columns beside the numbers."
            )
        if self.groups is not None and self.groups.resolve() == self.table.path.resolve():
            raise InvalidParameter("Expected --groups to be a file of public names, never DATA itself.")
        inputs = {
            "DATA": self.table.path,
            "--covariance": self.covariance,
            "--groups": self.groups,
            "--ledger": self.ledger,
        }
        self.places.check(inputs, LONG_TABLES)


def check_group_options(
    group_by: str | None, groups: Path | None, unit: str | None, others: Mapping[str, str | None], *, private: bool
) -> tuple[str, Path | None]:
    """Both words about groups; of the other options none may say anything but what groups are given anyway."""
    if not group_by or private == (groups is not None):
        raise InvalidParameter(
            "Expected --group-by COLUMN and --groups FILE together: the column and its public names; or --group-by "
            "COLUMN --private-groups, to find large groups within the budget."
        )
    if group_by == unit:
        raise InvalidParameter(f"Expected --group-by and --unit to name two columns, got {unit!r} for both.")
    for name, value in others.items():
        if value not in (None, "auto", "add-remove"):
            raise InvalidParameter(f"{name} {value} cannot be used with --group-by: leave it out.")
    return group_by, groups


def release_groups(task: GroupTask, given: Mapping[str, Any]) -> None:
    """Read, release, write, tell; `given` are keywords of `release_means`."""
    names = _names(task)
    with working("Reading"):
        from dimfree.data.people.keys import open_keys
        from dimfree.data.read_public import read_covariance

        table = task.table.read((task.group_by,) if task.unit is None else (task.group_by, task.unit))
        records, groups = table.records, table.keys[0]
        whose = None if task.unit is None else open_keys(table.keys[1], task.unit, given["on_missing"])
        matrix = task.table.variances(records.columns)
        if task.covariance is not None:
            matrix = read_covariance(task.covariance, records.columns)
    task.table.confirm(table)
    with working("Releasing") as tell:
        from dimfree.release_groups import release_means

        means = release_means(records, groups=groups, keys=names, unit=whose, covariance=matrix, tell=tell, **given)
    released = len(means.refused) < len(means)
    spending = list(ledger_rows(given.get("ledger")))
    about = {**task.about, **ledger_words(given.get("ledger"))}
    page = partial(page_text, means, command=task.command, rules=vars(given["options"]), spending=spending, **about)
    task.places.write(means, released, page)
    title = "Released" if released and not means.refused else "Released in part" if released else "Refused"
    rows = [*_rows(means, task), *spending, *task.table.rows(table)]
    show_card(title, rows, means.guarantee.private)
    if not released:
        raise typer.Exit(REFUSED)


def _names(task: GroupTask) -> "tuple[str, ...] | Literal['private']":
    """The public names of the groups; what is wrong with them is said before the table is read."""
    from dimfree.data.people.labels import check_group_keys
    from dimfree.data.read_public import read_group_keys

    if task.groups is None:
        return "private"
    names = read_group_keys(task.groups)
    check_group_keys(names)
    return names


def _rows(means: "Means", task: GroupTask) -> Iterator[tuple[str, str]]:
    from dimfree.results.confidence_sets import interval_note
    from dimfree.results.grouped import NO_GROUP, shape_source
    from dimfree.results.reading import delta_warning, noise_line

    done = [release for release in means.values() if not release.refused]
    yield "promise", means.statement()
    if warning := delta_warning(means):
        yield "warning", warning
    yield "estimates", f"{means.guarantee.estimates}, in each group"
    yield "shape", _SHAPE_WORDS[shape_source(means)]
    yield "groups", f"{len(done)} released, {len(means.refused)} refused" if means else NO_GROUP
    yield from (("refused", f"{', '.join(keys)}: {reason}") for reason, keys in _reasons(means).items())
    if means.overall is not None and means.overall.refusal is not None:
        yield "reason", means.overall.refusal
    if done:
        if not any(release.parameters.get("objective") == "relative" for release in done):  # else units differ
            yield "noise", _noise_range(done)
        yield "against spread", f"over all groups, {noise_line(done)}"
        yield "intervals", " ".join(dict.fromkeys(interval_note(release.error_model) for release in done))
    yield from task.places.rows(bool(done))
    yield from page_place(task.places.report)


def _reasons(means: "Means") -> dict[str, list[str]]:
    """Which groups were refused, by the reason; keys are public, but may be any text that the table holds."""
    from dimfree.results.names import shown_name

    reasons: dict[str, list[str]] = {}
    for key in means.refused:
        reasons.setdefault(str(means[key].refusal), []).append(shown_name(key))
    return reasons


def _noise_range(done: "list[Release]") -> str:
    low = min(release.noise_stddev.min() for release in done)
    high = max(release.noise_stddev.max() for release in done)
    return f"standard deviation {low:.4g} to {high:.4g}, {done[0].dimension} coordinate(s) in each group"
