"""A secret number shows in no text that leaves: documents, representations, logs, warnings, streams, errors, pickles.

What is promised of an error is its words and its printed traceback. A traceback's *local variables*, and the error
that another one suppresses (`__context__`), may hold records, as those of any program do: whoever prints them
(`capture_locals`, a debugger, some crash reporters) prints the table.
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
from dimfree.estimators.choose.core import HonestModel
from dimfree.estimators.learn.scale import pair_distances
from dimfree.estimators.run import Run
from dimfree.geometry.grid import on_grid
from dimfree.geometry.shape import Isotropic
from dimfree.geometry.space import Space
from dimfree.interop.mean import PrivateMean
from dimfree.noise import SystemNoise
from dimfree.release import release_mean

CANARY = 9182736455463.25
_SONGS = ("918273645546", "9.18273645", "9.18273646", "9_182_736_455", "9,182,736,455", "9.18274e+12")
_BYTES = tuple(struct.pack(order, CANARY) for order in ("<d", ">d"))
_APART = 1e6  # such records have no friends in a known shape: most releases are refused


def with_canary(spread: float = 1.0) -> Floats:
    """Made-up records, one of which holds the secret in every coordinate."""
    found = spread * table()
    found[11] = CANARY
    return found


def sings(text: str | bytes) -> bool:
    """Whether the secret can be read off, as printed or as stored."""
    if isinstance(text, bytes):
        return any(song in text for song in _BYTES) or sings(text.decode("latin-1"))
    return any(song in text for song in _SONGS)


def silence(release: Call = release_mean) -> list[str]:
    """Releases and refusals of every kind, their errors and what they are made of keep the secret and the number."""
    complaints = [
        f"{name}: {what}"
        for name, call in (calls(release) | ({"PrivateMean": fitted} if release is release_mean else {})).items()
        for what in _overheard(call)
    ]
    return sorted({*complaints, *_errors(release), *_insides()})


def _overheard(call: Call) -> Iterator[str]:
    """What is wrong with the texts of a release, of a refusal, and with what is said on the way."""
    for spread in (1.0, _APART):
        given = with_canary(spread)
        with listening() as heard:
            found = call(given)
            told = [*texts(found), *_refusal_error(found)]
        if any(map(sings, told)):
            yield "a document sings"
        said = heard()
        if sings(said) or str(len(given)) in said:
            yield "a log, a warning or a stream sings"


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
def listening() -> Iterator[Callable[[], str]]:
    """Hears every logger down to DEBUG, every warning and both streams."""
    heard, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(heard), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(heard), redirect_stderr(heard):
            warnings.simplefilter("always")
            yield lambda: heard.getvalue() + "".join(str(warning.message) for warning in caught)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def _errors(release: Call) -> Iterator[str]:
    """Printed tracebacks name parameters and schema, neither values nor how many records there are."""
    good = with_canary()
    for what, spoil in spoiled().items():
        wrong = spoil(good)
        with listening() as heard:
            try:
                release(wrong, epsilon=4.0, delta=1e-3, shape=Isotropic(1.0))
                yield f"a table that cannot be used was used: {what}"
            except Exception as error:  # noqa: BLE001 - whatever is raised must be silent
                said = [str(error), repr(error), repr(error.args)]
                if sings("".join(traceback.format_exception(error))) or str(len(good)) in "".join(said):
                    yield f"an error about {what} sings"
        if sings(heard()):
            yield f"a log or a stream about {what} sings"


def _insides() -> Iterator[str]:
    """What a release is made of shows nothing when printed; tables and doors are neither copied nor pickled."""
    records = as_records(with_canary())
    space = Space(records, Isotropic(1.0))
    flat, model, budget = np.ones(records.dimension), HonestModel.unknown(0.03), Budget(8.0, 1e-2)
    rest = (Neighbours.ADD_REMOVE, 0.01, False, None, None, (1e-6, 1e6), False, SystemNoise())
    run = Run(space, model, flat, budget, *rest)
    fit = PrivateMean(**BUDGET).fit(with_canary())
    for part in (records, space, run, on_grid(space, 2.0), pair_distances(space, None), fit):
        if any(sings(text) or str(records.count) in text for text in (repr(part), str(part))):
            yield f"{type(part).__name__}: its representation sings"
    if sings(pickle.dumps(fit)) or sings(repr(vars(fit))):
        yield "PrivateMean: its pickle or its fields sing"
    for private in (records, space, run, SystemNoise()):
        with suppress(TypeError, NoiseMisuse):
            pickle.dumps(private)
            yield f"{type(private).__name__}: it can be copied"
