"""Refusals and errors do not depend on the values of the records, and no value raises an exception.

Texts are compared: the same call on other values, or on another number of records, must give the same text.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dimfree._types import Floats
from dimfree.audit.noise_doubles import ZeroNoise
from dimfree.audit.numerics.calls import COLUMNS, Call, calls, table
from dimfree.errors import DimfreeError
from dimfree.interop.mean import PrivateMean, RefusalWarning
from dimfree.noise import SeededNoise
from dimfree.paper import algorithm2 as paper
from dimfree.paper import variance_profile as profile_of_variances
from dimfree.programs import run

SENTENCES = {
    *(run.TOO_FEW, run.UNSTABLE, run.NO_SCALE, run.LOW_WEIGHT, run.OUT_OF_RANGE),
    *(paper.NO_VOTE, paper.NO_SCALE, paper.LOW_WEIGHT, paper.FAR),
    *(profile_of_variances.NO_SCALE, profile_of_variances.INCOMPLETE),
}  # all the reasons there are, written down before any record was seen


_TYPED = "a typed error", "no error"


@dataclass
class TailsNoise(ZeroNoise):
    """No noise, and every coin on tails: whatever follows a bit is refused."""

    def coin(self, numerator: int, denominator: int) -> bool:
        return False


def _tables() -> Iterator[Floats]:
    """As many records, other values: honest, with numbers out of range, constant, of two kinds."""
    honest = table()
    yield honest
    yield np.concatenate([[[1.7e308, -1.7e308, 5e-324, -0.0]], honest[1:]])
    yield np.zeros_like(honest)
    yield np.where(np.arange(len(honest))[:, None] % 2, honest, honest + 100.0)


def refusals(wanted: Mapping[str, Call] | None = None) -> list[str]:
    """A refusal is a sentence known beforehand; those with the same sentence differ in released numbers only."""
    complaints = []
    for name, call in (calls() if wanted is None else wanted).items():
        found = [refused for each in _tables() if (refused := call(each, noise=TailsNoise())).refused]
        if not {refused.refusal for refused in found} <= SENTENCES:
            complaints.append(f"{name}: a refusal has a text of its own")
        if len({_form(refused) for refused in found}) > len({refused.refusal for refused in found}):
            complaints.append(f"{name}: refusals for the same reason differ")
    return complaints


def _form(refused: Any) -> tuple[Any, ...]:
    """Everything but released numbers."""
    method, parameters = getattr(refused, "method", ""), getattr(refused, "parameters", {})
    return refused.refusal, method, tuple(parameters), refused.dimension, len(refused.ledger.events)


def spoiled() -> dict[str, Callable[[Floats], Any]]:
    """What can be wrong with a table, as maps of a good one."""
    return {
        "not finite": lambda good: np.where(np.arange(COLUMNS) == 1, np.nan, good),
        "not finite, sparse": lambda good: sparse.csr_array(np.where(np.arange(COLUMNS) == 1, np.inf, good)),
        "a vector": lambda good: good[:, 0],
        "a cube": lambda good: good[None],
        "text": lambda good: good.astype(str),
        "objects": lambda good: good.astype(object),
        "complex": lambda good: good + 1j,
        "ragged": lambda good: [*good.tolist(), [float(good[0, 0])]],
        "numbers as text": lambda good: [[str(each) for each in row] for row in good.tolist()],
        "no columns": lambda good: good[:, :0],
        "a damaged matrix": _damaged,
        "masked": lambda good: np.ma.masked_array(good, mask=good > good.mean()),
    }


def _damaged(good: Floats) -> Any:
    matrix = sparse.csr_array(good)
    matrix.indices[len(good) // 2] = COLUMNS
    return matrix


def errors(wanted: Mapping[str, Call] | None = None) -> list[str]:
    """An error about a table says the same for other values and another number of records."""
    few = ("soft", "auto", "variance profile")
    found = {name: call for name, call in calls().items() if name in few} | {"PrivateMean": fitted}
    complaints = []
    for name, call in (found if wanted is None else wanted).items():
        for what, spoil in spoiled().items():
            said = {_said(call, spoil(good)) for good in (table(), 1e6 * table(461, seed=8))}
            if len(said) > 1 or any(kind not in _TYPED for kind, *_ in said):
                complaints.append(f"{name}: errors about {what} depend on the table, or are not typed")
    return complaints


def _said(call: Call, wrong: Any) -> tuple[str, ...]:
    """The text of the error and of whatever is printed with it, or that there was none."""
    try:
        call(wrong, noise=ZeroNoise())
    except DimfreeError as error:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return _TYPED[0], type(error).__name__, str(error), repr(cause)
    except Exception as error:  # noqa: BLE001 - whatever is raised must say the same
        return type(error).__name__, str(error)
    return (_TYPED[1],)


def fitted(X: Any, **options: Any) -> Any:
    """The release inside a fit; that it was refused is released, so its warning may be heard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefusalWarning)
        return PrivateMean(epsilon=4.0, delta=1e-3, **options).fit(X).release_


def extremes(wanted: Mapping[str, Call] | None = None) -> list[str]:
    """Records at the ends of the range of floats give no warning and no exception, even where NumPy raises all."""
    found = (calls() | {"PrivateMean": fitted}) if wanted is None else wanted
    return [f"{name}: {what}" for name, call in found.items() for what in _met(call)]


def _met(call: Call) -> list[str]:
    """What a caller who turned every warning into an error would see."""
    wild = table()
    wild[:6] = np.array([1.7e308, -1.7e308, 5e-324, -0.0, 1e-300, 1e200])[:, None]
    wild[6] = 1.7e308, -1.7e308, 1e-308, 0.0
    expected = call(wild, noise=SeededNoise(3)).to_json()
    try:
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            strict = call(wild, noise=SeededNoise(3)).to_json()
    except Exception as error:  # noqa: BLE001 - that any is raised is the complaint
        return [f"numbers out of range raise {type(error).__name__}"]
    return [] if strict == expected else ["numbers out of range change the release where warnings are errors"]


def invalid_rows(wanted: Mapping[str, Call] | None = None) -> list[str]:
    """Under on_missing="drop" all invalid records are one and the same, whatever else stands in their row."""
    complaints = []
    for name, call in (calls() if wanted is None else wanted).items():
        said = {call(each, on_missing="drop", noise=SeededNoise(3)).to_json() for each in _invalid()}
        if len(said) > 1:
            complaints.append(f"{name}: invalid records are told apart")
    return complaints


def _invalid() -> Iterator[Any]:
    good = table()
    for row in ([np.nan] * 4, [np.inf, 0.0, 0.0, 0.0], [1e308, 5.0, -np.inf, 7.0], [3.0, np.nan, -1e308, 1e-320]):
        bad = good.copy()
        bad[7] = row
        yield bad
    yield sparse.csr_array(bad)
