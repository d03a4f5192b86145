"""What every release owes whatever it draws: deterministic checks of one call, on public tables and seeded noise.

Each check yields its complaints, none if all is well.
"""

import pickle
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from dimfree._types import Floats, Integers
from dimfree.accounting.budget import Neighbours
from dimfree.accounting.events import COUNT_STEPS, Gaussian
from dimfree.accounting.several_runs import costs_from_dict
from dimfree.audit.calls import DELTA, HUGE, Call
from dimfree.errors import DimfreeError
from dimfree.noise import SeededNoise
from dimfree.release import release_mean
from dimfree.results.grouped import Means
from dimfree.results.release import Release

_ROUNDING = 1e-9
_SECRET = 9182736455463.25
_TEXTS = ("918273645546", "9.18273645", "9.18273646", "9_182_736_455", "9,182,736,455", "9.18274e+12")
_TOO_FEW = 12  # records: every call refuses, or names no group


class NotedNoise(SeededNoise):
    """Seeded noise that notes how many Gaussian numbers of each standard deviation were drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn: Counter[float] = Counter()

    def gaussian(self, stddev: float, size: int) -> Integers:
        self.drawn[stddev] += size
        return super().gaussian(stddev, size)


def complain_of_charges(call: Call, epsilon: float) -> Iterator[str]:
    """The charges compose to at most the budget, and are for the noise that was drawn."""
    noise, charged = NotedNoise(3), Counter[float]()
    for release in _releases(call.release(call.table(), epsilon, noise)):
        costs = costs_from_dict(release.ledger.to_dict())
        if costs.budget.epsilon > epsilon or costs.budget.delta > DELTA or not costs.delta() <= DELTA:
            yield "the charges exceed the budget"
        gaussians = [event for event in costs.events if isinstance(event, Gaussian)]
        for event in gaussians:
            charged[event.stddev] += event.dimension
            if not event.mu >= event.sensitivity / event.stddev * (1 - _ROUNDING):
                yield "a charge is lower than its noise requires"
        yield from _complain_of_count(call, release, gaussians)
    if set(noise.drawn) != set(charged) or any(noise.drawn[each] > charged[each] for each in charged):
        yield "the noise that was drawn is not the noise that is charged"


def _releases(outcome: Release | Means) -> list[Release]:
    found = [*outcome.values(), outcome.overall] if isinstance(outcome, Means) else [outcome]
    return [release for release in found if release is not None]


def _complain_of_count(call: Call, release: Release, gaussians: list[Gaussian]) -> Iterator[str]:
    """Under add-remove the number of records is charged, and lies on the grid of its charge."""
    counts = [event for event in gaussians if event.step == 1 / COUNT_STEPS and event.dimension == 1]
    if call.relation is Neighbours.ADD_REMOVE and "count" in release.parameters:
        if not counts:
            yield "the number of records is not charged"
        elif len(counts) == 1 and not (float(release.parameters["count"]) * COUNT_STEPS).is_integer():
            yield "the released number of records is not on its grid"


def complain_of_storage(call: Call, epsilon: float) -> Iterator[str]:
    """The release is the same bits whatever the order, the container and the chunks of the records."""
    table = call.table()
    table[:, :-1] = table[:, :-1].astype(np.float32)  # single precision holds the same numbers

    def write(rows: Floats, store: Callable[[Floats], Any] = np.asarray) -> str:
        return call.release(rows, epsilon, SeededNoise(5), store).to_json()

    expected = write(table)
    if not call.draws_coins and write(table[::-1]) != expected:
        yield "the order of the records changes the release"
    with tempfile.TemporaryDirectory() as folder:
        for name, store in _stores(call, Path(folder) / "table.npy").items():
            if write(table, store) != expected:
                yield f"a table stored as {name} changes the release"


def _stores(call: Call, path: Path) -> dict[str, Callable[[Floats], Any]]:
    def save(rows: Floats) -> str:
        np.save(path, rows)
        return str(path)

    def cut(rows: Floats) -> Any:
        import dask.array

        return dask.array.from_array(rows, chunks=(50, -1))

    stores: dict[str, Callable[[Floats], Any]] = {
        "float32, by column": lambda rows: np.asfortranarray(rows.astype(np.float32)),
        "sparse matrix": sparse.csr_array,
    }
    if call.door is release_mean:
        stores |= {"file": save} if find_spec("dask") is None else {"file": save, "chunks": cut}
    return stores


def complain_of_texts(call: Call, epsilon: float) -> Iterator[str]:
    """No text shows a record; errors and refusals on neighboring tables are the same text."""
    for size in (call.size, _TOO_FEW):
        outcome = call.release(_with_secret(call.table(size)), epsilon, SeededNoise(5))
        if any(secret in text for text in _texts(outcome) for secret in _TEXTS):
            yield "a release shows a record"
    few = call.table(_TOO_FEW)
    tables = few, _with_secret(few), np.vstack([few[:-1], [*[HUGE] * call.columns, 0]])
    outcomes = [call.release(table, epsilon, SeededNoise(5)) for table in tables]
    if len({" ".join(str(release.refusal) for release in _releases(outcome)) for outcome in outcomes}) > 1:
        yield "a refusal depends on a record"
    for name, spoil in _SPOILED.items():
        texts = {_error(call, table, epsilon, spoil) for table in (call.table(), _with_secret(call.table()))}
        if len(texts) > 1:
            yield f"an error about {name} depends on a record"


def _with_secret(table: Floats) -> Floats:
    found = table.copy()
    found[len(table) // 2, :-1] = _SECRET
    return found


def _texts(outcome: Release | Means) -> Iterator[str]:
    """Everything that an outcome can be turned into."""
    yield outcome.to_json()
    for part in (outcome, *(each for release in _releases(outcome) for each in (release, release.ledger))):
        yield from (repr(part), str(part))
    for release in _releases(outcome):
        yield pickle.dumps(release).decode("latin-1")


def _error(call: Call, table: Floats, epsilon: float, spoil: Callable[[Floats], Any]) -> str:
    """Return the text of the error, or that there was none."""
    try:
        call.release(table, epsilon, SeededNoise(5), spoil)
    except DimfreeError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - of NumPy, say: it may quote a record
        return "".join(traceback.format_exception(error))
    return "no error"


_SPOILED: dict[str, Callable[[Floats], Any]] = {
    "missing values": lambda rows: np.where(np.arange(rows.shape[1]) == 0, np.nan, rows),
    "a vector": lambda rows: rows[:, 0],
    "text": lambda rows: rows.astype(str),
    "complex numbers": lambda rows: rows + 1j,
    "ragged rows": lambda rows: [*rows.tolist()[1:], rows.tolist()[0][:1]],
}

INVARIANTS: dict[str, Callable[[Call, float], Iterator[str]]] = {
    "charges": complain_of_charges,
    "order and storage": complain_of_storage,
    "texts": complain_of_texts,
}
