"""A secret number is in no text: documents, representations, logs, warnings, streams, errors, pickles.

Of an error its message and its printed traceback are checked. The *local variables* of a traceback, and an error that
another one suppresses (`__context__`), may hold records: a tool that prints them (`capture_locals`, a debugger, some
crash reporters) prints the table.
"""

import io
import logging
import pickle
import struct
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.accounting.budget import Budget, Neighbours
from dimfree.audit.numerics.calls import BUDGET, Call, calls, table
from dimfree.audit.numerics.refusals import fitted, spoiled
from dimfree.data.records import as_records
from dimfree.errors import NoiseMisuse, RefusedRelease
from dimfree.interop.mean import PrivateMean
from dimfree.kernel.rows.grid import on_grid
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics.distances import pair_distances
from dimfree.noise import SystemNoise
from dimfree.programs.choose.core import HonestModel
from dimfree.programs.run import Run
from dimfree.release import release_mean
from dimfree.shapes import Isotropic

CANARY = 9182736455463.25
_TEXTS = ("918273645546", "9.18273645", "9.18273646", "9_182_736_455", "9,182,736,455", "9.18274e+12")
_BYTES = tuple(struct.pack(order, CANARY) for order in ("<d", ">d"))
_APART = 1e6  # such records have no friends in a known shape: most releases are refused


def with_canary(spread: float = 1.0) -> Floats:
    """Made-up records, one of which holds the secret in every coordinate."""
    found = spread * table()
    found[11] = CANARY
    return found


def reveals(text: str | bytes) -> bool:
    """Whether a text or stored bytes contain the secret."""
    if isinstance(text, bytes):
        return any(part in text for part in _BYTES) or reveals(text.decode("latin-1"))
    return any(part in text for part in _TEXTS)


def silence(release: Call = release_mean) -> list[str]:
    """Releases and refusals of every kind, their errors and their parts show neither the secret nor the number."""
    complaints = [
        f"{name}: {what}"
        for name, call in (calls(release) | ({"PrivateMean": fitted} if release is release_mean else {})).items()
        for what in _shown(call)
    ]
    return sorted({*complaints, *_errors(release), *_insides()})


def _shown(call: Call) -> Iterator[str]:
    """Complaints about the texts of a release, of a refusal, and about logs, warnings and streams."""
    for spread in (1.0, _APART):
        given = with_canary(spread)
        with captured() as stream:
            found = call(given)
            told = [*texts(found), *_refusal_error(found)]
        if any(map(reveals, told)):
            yield "a document shows the secret"
        said = stream()
        if reveals(said) or str(len(given)) in said:
            yield "a log, a warning or a stream shows the secret"


def texts(found: Any) -> list[str | bytes]:
    """Everything that a release, a refusal or a profile can be turned into."""
    parts = [found.ledger, found.guarantee, dict(getattr(found, "parameters", {})), found.ledger.to_dict()]
    shown = [str(part) for part in (found, *parts)] + [repr(part) for part in (found, *parts)]
    rows = str(found.ledger.summary_rows())
    pickles = [pickle.dumps(part) for part in (found, found.ledger, found.guarantee)]
    return [found.to_json(), *shown, rows, found.guarantee.statement(), *pickles]


def _refusal_error(found: Any) -> list[str]:
    """What is printed where the mean of a refusal is asked for."""
    try:
        _ = found.mean if hasattr(found, "_mean") else found.buckets
    except RefusedRelease as error:
        return ["".join(traceback.format_exception(error))]
    return []


@contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """The text of every logger down to DEBUG, every warning and both streams."""
    stream, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(stream), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(stream), redirect_stderr(stream):
            warnings.simplefilter("always")
            yield lambda: stream.getvalue() + "".join(str(warning.message) for warning in caught)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _errors(release: Call) -> Iterator[str]:
    """Printed tracebacks name parameters and schema, neither values nor how many records there are."""
    good = with_canary()
    for what, spoil in spoiled().items():
        wrong = spoil(good)
        with captured() as stream:
            try:
                release(wrong, epsilon=4.0, delta=1e-3, shape=Isotropic(1.0))
                yield f"a table that cannot be used was used: {what}"
            except Exception as error:  # noqa: BLE001 - no error may show the secret
                said = [str(error), repr(error), repr(error.args)]
                if reveals("".join(traceback.format_exception(error))) or str(len(good)) in "".join(said):
                    yield f"an error about {what} shows the secret"
        if reveals(stream()):
            yield f"a log or a stream about {what} shows the secret"


def _insides() -> Iterator[str]:
    """The parts of a release show nothing when printed; tables and noise are neither copied nor pickled."""
    records = as_records(with_canary())
    space = Space(records, Isotropic(1.0))
    flat, model, budget = np.ones(records.dimension), HonestModel.unknown(0.03), Budget(8.0, 1e-2)
    rest = (Neighbours.ADD_REMOVE, 0.01, False, None, None, (1e-6, 1e6), False, SystemNoise())
    run = Run(space, model, flat, budget, *rest)
    fit = PrivateMean(**BUDGET).fit(with_canary())
    for part in (records, space, run, on_grid(space, 2.0), pair_distances(space, None), fit):
        if any(reveals(text) or str(records.count) in text for text in (repr(part), str(part))):
            yield f"{type(part).__name__}: its representation shows the secret"
    if reveals(pickle.dumps(fit)) or reveals(repr(vars(fit))):
        yield "PrivateMean: its pickle or its fields show the secret"
    for private in (records, space, run, SystemNoise()):
        with suppress(TypeError, NoiseMisuse):
            pickle.dumps(private)
            yield f"{type(private).__name__}: it can be copied"
