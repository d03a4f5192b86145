"""Whatever is passed for whatever parameter: success, or an error of ours that quotes no record and no number of rows.

The parameters are read off the signatures of the public names, so that a new one is covered when it is written.
"""

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from foreign import COUNT, SECRETS, foreign_values

import dimfree
from dimfree import paper
from dimfree.accounting.budget import Budget
from dimfree.audit.lower_bound import lower_bound
from dimfree.bases import as_basis
from dimfree.data.records import as_records
from dimfree.errors import DimfreeError
from dimfree.interop import opendp
from dimfree.ledger.spending import Charge
from dimfree.noise import SeededNoise
from dimfree.paper import bounds
from dimfree.paper.bounds import fingerprinting_lower_bound, packing_lower_bound
from dimfree.paper.variance_votes import group_variances, slots
from dimfree.planning.question import measure_public_stddevs
from dimfree.shapes import IsotropicCovariance

dp.enable_features(*opendp.FEATURES)

ROWS = np.random.default_rng(3).normal(size=(24, 3))  # few: a release of them is refused, and quick
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
AIM_ALONE = {"stddevs": np.ones(3), "accuracy": 0.5}
AIM = {**AIM_ALONE, **PROMISE}
MADE = {  # dimfree makes these results, and nobody else calls their constructors; an enumeration's is Python's own
    "Neighbors",
    "Composed", "GroupMeans", "Plan", "Release", "Tradeoff", "VarianceProfile", "EstimatedVariances",
    "EstimatedDirections", "Clipping", "Covariance", "Schema",
}  # fmt: skip
OF_THE_PACKAGE = {"Covariance", "Schema"}  # EXTRA has the methods of theirs that users call
Arguments = dict[str, Any]


def noise() -> SeededNoise:
    return SeededNoise(0)


def public_calls() -> Iterator[str]:
    """The names of all that may be called with arguments: functions, constructors, methods of public classes."""
    for name in dimfree.__all__:
        found = getattr(dimfree, name)
        if inspect.ismodule(found):  # their calls are in EXTRA
            continue
        if not inspect.isclass(found):
            yield name
        elif not issubclass(found, Exception):
            yield from [] if name in MADE or not _parameters(found) else [name]
            yield from (f"{name}.{method}" for method in _methods(found) if name not in OF_THE_PACKAGE)


def _methods(cls: type) -> Iterator[str]:
    for name in sorted({name for base in cls.__mro__ if base.__module__.startswith("dimfree") for name in vars(base)}):
        method = getattr(cls, name)
        if (
            not name.startswith(("_", "set_"))
            and callable(method)
            and len(_parameters(method)) > (not inspect.ismethod(method))
        ):
            yield name


def _parameters(call: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, found in inspect.signature(call).parameters.items() if found.kind not in kinds]


@dataclass(frozen=True)
class Fresh:
    """An argument that is made anew for every call: a path is written once, a generator of noise drawn from."""

    make: Callable[[], Any]


NOISE = Fresh(noise)
TOLD = {"spectrum": "S1", "knowledge": "covariance", **PROMISE}
RELEASED = {**PROMISE, "covariance": IsotropicCovariance(1.0)}
SHAPES = {
    "IsotropicCovariance": (dimfree.shapes.IsotropicCovariance, {"scale": 1.0}),
    "DiagonalCovariance": (dimfree.shapes.DiagonalCovariance, {"variances": np.ones(3)}),
    "DenseCovariance": (dimfree.shapes.DenseCovariance, {"covariance": np.eye(3)}),
    "LowRankCovariance": (
        dimfree.shapes.LowRankCovariance,
        {"basis": np.eye(3)[:, :1], "variances": [2.0], "tail": 1.0},
    ),
}
BY_WIDTH = ("root_diagonal", "spectrum", "covariance_diagonal", "trace_root", "gain", "rotated_gain")
DRAWS = {
    "gaussian": {"stddev": 1.0, "size": 2},
    "laplace": {"scale": 1.0, "size": 2},
    "coin": {"numerator": 1, "denominator": 2},
    "below": {"bound": 5, "size": 2},
}
SIZES = ("easy_instance", "customized", "known_covariance", "folklore", "plan", "unknown_covariance")


def fitted(kind: type) -> Callable[..., Any]:
    def fit(**given: Any) -> Any:
        return kind(**given).fit(ROWS)

    fit.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return fit


def public_subjects() -> dict[str, Any]:
    """Calls that need no result of another call: name → (call, arguments that it takes)."""
    layout, voted = slots(24, 6, 4, noise()), {"groups": group_variances(as_records(ROWS), slots(24, 6, 4, noise()))}
    voted |= {**PROMISE, "noise": NOISE}
    cells = {"cells": ["a"] * 9, **PROMISE, "noise": NOISE}
    asked = {"queries": np.arange(9), "threshold": 5.0, "most": 2, **PROMISE, "noise": NOISE}
    space = {"input_domain": dp.numpy.array2_domain(T=float, num_columns=3), "input_metric": dp.symmetric_distance()}
    promise = {**PROMISE, "neighbors": "add-remove", "private": True}
    found = {
        "release_mean": (dimfree.release_mean, {"X": ROWS, **RELEASED}),
        "release_mean, learned": (dimfree.release_mean, {"X": ROWS, **PROMISE}),
        "release_group_means": (
            dimfree.release_group_means,
            {"X": ROWS, "by": [1, 2] * 12, "groups": [1, 2], **RELEASED},
        ),
        "variance_profile": (paper.variance_profile, {"X": ROWS, **PROMISE}),
        "algorithm1": (paper.algorithm1, {"X": ROWS, **PROMISE, "radius": 5.0}),
        "algorithm2": (paper.algorithm2, {"X": ROWS, **PROMISE}),
        "opendp.make_private_mean": (opendp.make_private_mean, {**space, **RELEASED}),
        "opendp.group_loss": (opendp.group_loss, {"budget": Budget(1.0, 1e-6), "steps": 2}),
        "Options": (dimfree.Options, {}),
        "plan": (dimfree.plan, {"n": 300, "d": 3, **TOLD}),
        "plan, for n": (dimfree.plan, {"accuracy": 0.5, "d": 3, **TOLD}),
        "plan, curve": (dimfree.plan, {**TOLD, "n": [300, 600], "d": 3}),
        "Covariance.from_public": (dimfree.Covariance.from_public, {"public_X": ROWS}),
        "Covariance.diagonal": (dimfree.Covariance.diagonal, {"variances": np.ones(3)}),
        "Covariance.isotropic": (dimfree.Covariance.isotropic, {"sd": 1.0}),
        "Covariance.dense": (dimfree.Covariance.dense, {"matrix": np.eye(3)}),
        "Covariance.low_rank": (
            dimfree.Covariance.low_rank,
            {"basis": np.eye(3)[:, :1], "variances": [2.0], "tail": 1.0},
        ),
        "Schema.from_arguments": (dimfree.Schema.from_arguments, {}),
        "measure_public_stddevs": (measure_public_stddevs, {"table": ROWS}),
        "as_basis": (as_basis, {"basis": "dct", "dimension": 3}),
        "lower_bound": (lower_bound, {"here": ROWS[:, 0], "there": ROWS[:, 1], "delta": 0.01, "failure": 0.01}),
        "packing_lower_bound": (packing_lower_bound, {**AIM_ALONE, "epsilon": 1.0, "radius": 9.0}),
        "fingerprinting_lower_bound": (fingerprinting_lower_bound, AIM),
        "heaviest_cell": (paper.heaviest_cell, cells),
        "stable_histogram": (paper.stable_histogram, cells),
        "sparse_vector": (paper.sparse_vector, asked),
        "coordinate_variances": (paper.coordinate_variances, {**voted, "coordinates": [0, 1]}),
        "variance_sum": (paper.variance_sum, {**voted, "coordinates": [0, 1]}),
        "find_kth_largest_variance": (paper.find_kth_largest_variance, {**voted, "k": 1}),
        "top_variances": (paper.top_variances, {**voted, "k": 1, "threshold": 1.0}),
        "group_variances": (paper.group_variances, {"records": as_records(ROWS), "layout": layout}),
        "SeededNoise": (SeededNoise, {"seed": 0}),
        "Budget": (Budget, PROMISE),
        "Budget.split": (Budget(1.0, 1e-6).split, {"shares": 2}),
        "Neighbors.parse": (dimfree.accounting.budget.Neighbors.parse, {"value": "add-remove"}),
        "Guarantee": (dimfree.accounting.guarantee.Guarantee, promise),
        "Guarantee.from_dict": (
            dimfree.accounting.guarantee.Guarantee.from_dict,
            {"document": dimfree.accounting.guarantee.Guarantee(**promise).to_dict()},
        ),
    }
    for each in SIZES:
        found[f"{each}_records"] = (getattr(bounds, f"{each}_records"), AIM)
    for kind in (dimfree.PrivateMean, dimfree.PrivateStandardScaler):
        found[kind.__name__] = (fitted(kind), RELEASED)
        found[f"{kind.__name__}.fit"] = (kind(**RELEASED).fit, {"X": ROWS})
    for source, (method, given) in product((noise(), dimfree.noise.SystemNoise()), DRAWS.items()):
        found[f"{type(source).__name__}.{method}"] = (getattr(source, method), given)
    for name, (kind, given) in SHAPES.items():
        shape = kind(**given)
        found[name] = (kind, given)
        found[f"{name}.rescale"] = (shape.rescale, {"rows": ROWS})
        found[f"{name}.restore"] = (shape.restore, {"vector": np.ones(3)})
        found[f"{name}.measured"] = (shape.with_measured_gains, {"gain": 1.0, "rotated_gain": 1.0})
        found |= {f"{name}.{method}": (getattr(shape, method), {"dimension": 3}) for method in BY_WIDTH}
    return found


def result_subjects(folder: Path) -> dict[str, Any]:
    """Constructors and methods of results, and calls that write files."""
    numbers, many = count(), np.random.default_rng(3).normal(size=(2000, 3))
    (folder / "table.csv").write_text("a,b\n1,2\n3,4\n")
    told = {"epsilon": 4.0, "delta": 1e-6, "noise": noise()}
    release = dimfree.release_mean(many, **told)
    means = dimfree.release_group_means(
        many, **told, by=[1, 2] * 1000, groups=[1, 2], covariance=IsotropicCovariance(1.0)
    )
    profile = paper.variance_profile(np.random.default_rng(3).normal(size=(4000, 3)), **PROMISE)
    scaler = dimfree.PrivateStandardScaler(**told, covariance=IsotropicCovariance(1.0)).fit(many)
    ledger = dimfree.PrivacyLedger(folder / "study.db", "study", epsilon=50.0, delta=1e-3)
    composed, curve = dimfree.compose([release]), dimfree.plan(**TOLD, n=[300, 600], d=3)
    learned, clipping = (
        dimfree.results.error_model.EstimatedVariances(np.ones(3), np.ones(3)),
        dimfree.results.error_model.Clipping(2.0, np.zeros(3), np.ones(3)),
    )
    ways = dimfree.results.error_model.EstimatedDirections(np.eye(3)[:1], np.ones(1) / 2, np.ones(1), np.ones(3))
    common = {"guarantee": release.guarantee, "charges": release.charges, "method": "stable", "dimension": 3}
    common |= {"parameters": {}}
    saved = folder / "release.json"
    saved.write_text(release.to_json(), encoding="utf-8")
    page, database = (Fresh(lambda end=end: folder / f"{next(numbers)}{end}") for end in (".html", ".db"))
    found = {
        "PrivateStandardScaler.transform": (scaler.transform, {"X": ROWS}),
        "PrivateStandardScaler.inverse_transform": (scaler.inverse_transform, {"X": ROWS}),
        "Release.write_report": (release.write_report, {"path": page}),
        "GroupMeans.write_report": (means.write_report, {"path": page}),
        "load": (dimfree.load, {"path": saved}),
        "read_table": (dimfree.read_table, {"path": folder / "table.csv"}),
        "compose": (dimfree.compose, {"releases": [release]}),
        "PrivacyLedger": (dimfree.PrivacyLedger, {"path": database, "dataset": "study", **PROMISE}),
        "PrivacyLedger, again": (dimfree.PrivacyLedger, {"path": ledger.path, "dataset": "study"}),
        "PrivacyLedger.debit": (ledger.debit, {"epsilon": 0.01, "delta": 1e-9}),
        "PrivacyLedger.charge": (ledger.charge, {"charge": Charge(Budget(0.01, 1e-9)), "terms": ledger.terms}),
        "PrivacyLedger.verify": (ledger.verify, {"head": ledger.head}),
        "Release.with_estimated_variances": (release.with_estimated_variances, {"earlier": release}),
        "Release.released": (dimfree.Release.released, {"mean": np.ones(3), "noise_stddev": np.ones(3), **common}),
        "Release.from_refusal": (dimfree.Release.from_refusal, {"reason": "none", **common}),
        "ConfidenceBall.contains": (release.confidence_ball().contains, {"point": np.ones(3)}),
        "ConfidenceBox.contains": (release.confidence_box().contains, {"point": np.ones(3)}),
        "VarianceProfile.cost_after_learning": (profile.cost_after_learning, {"k": 1}),
        "Composed.delta": (composed.delta, {"epsilon": 1.0}),
    }
    optional = ("error_radius", "confidence_interval", "confidence_ball", "confidence_box", "to_frame", "plot")
    found |= {f"Release.{method}": (getattr(release, method), {}) for method in optional}
    found |= {f"GroupMeans.{method}": (getattr(means, method), {}) for method in ("to_frame", "plot")}
    for method in ("epsilon", "statement", "to_dict"):
        found[f"Composed.{method}"] = (getattr(composed, method), {"delta": 1e-5})
    for each in (release, means, profile, curve):
        found[f"{type(each).__name__}.from_json"] = (type(each).from_json, {"text": each.to_json()})
    for each in (learned, clipping, ways):
        found[f"{type(each).__name__}.freeze"] = (each.freeze, {"dimension": 3})
        found[f"{type(each).__name__}.from_dict"] = (type(each).from_dict, {"data": each.to_dict()})
    return found


def with_fresh(given: Arguments) -> Callable[[], Arguments]:
    return lambda: {name: each.make() if isinstance(each, Fresh) else each for name, each in given.items()}


@contextmanager
def strictly(strict: bool = True) -> Iterator[None]:
    """Floating-point errors and warnings end a call, as some programs ask for."""
    with warnings.catch_warnings(), np.errstate(all="raise" if strict else "warn"):
        warnings.simplefilter("error" if strict else "ignore")
        yield


@pytest.fixture(scope="module")
def subjects(tmp_path_factory) -> dict[str, Any]:
    with strictly():
        found = public_subjects() | result_subjects(tmp_path_factory.mktemp("foreign"))
        return {name: (call, with_fresh(given)) for name, (call, given) in found.items()}


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch) -> None:
    """Some foreign values are taken for the path of a new file."""
    monkeypatch.chdir(tmp_path)


def texts_of(error: BaseException) -> list[str]:
    """All that a traceback shows of an error and of those it was raised from."""
    shown = [str(error), repr(error), repr(error.args), *getattr(error, "__notes__", [])]
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return shown + (texts_of(before) if before is not None else [])


def complaint(call: Callable[..., Any], given: Arguments, numbers: tuple[str, ...] = (str(COUNT),)) -> str | None:
    """What is wrong with how a call takes its arguments; None where it succeeds or says in our words what is wrong."""
    try:
        call(**given)
    except DimfreeError as error:
        text = " ".join(texts_of(error))
        told = [secret for secret in (*SECRETS, *numbers) if secret in text]
        shown = "".join(traceback.format_exception(error))
        told += [secret for secret in SECRETS if secret in shown]
        return f"quotes {told}: {error}" if told else None
    except UserWarning as warning:  # asked for with -W error; its words are ours or scikit-learn's
        return f"quotes: {warning}" if any(secret in str(warning) for secret in SECRETS) else None
    except Exception as error:  # noqa: BLE001 - not ours, so it may say anything
        at = traceback.extract_tb(error.__traceback__)
        ours = next((frame for frame in reversed(at) if "/dimfree/" in frame.filename), at[-1])
        return f"{type(error).__name__} at {ours.filename.partition('/dimfree/')[2]}:{ours.lineno}: {str(error)[:70]}"
    return None


def sweep(subject: Any, step: int = 1) -> list[str]:
    call, given = subject
    found = []
    for place, name in enumerate(_parameters(call)):
        for what, value in list(foreign_values().items())[place % step :: step]:
            if name == "tell" and callable(value):
                continue  # the caller's own function, and its own errors
            width = name == "X" and "transposed" in what  # there the number is that of its columns, which is schema
            said = complaint(call, {**given(), name: value}, () if width else (str(COUNT),))
            if said:
                found.append(f"{name} = {what}: {said}")
    return found


EXTRA = (
    *(f"Covariance.{method}" for method in ("from_public", "diagonal", "isotropic", "dense", "low_rank")),
    "SeededNoise", "variance_profile", "algorithm1", "algorithm2", "Schema.from_arguments",
    "release_mean, learned", "plan, for n", "plan, curve", "PrivacyLedger, again",
    "opendp.make_private_mean", "opendp.group_loss",
    "measure_public_stddevs", "as_basis", "lower_bound",
    "packing_lower_bound", "fingerprinting_lower_bound", "easy_instance_records", "customized_records",
    "known_covariance_records", "folklore_records", "plan_records", "unknown_covariance_records",
    "ConfidenceBall.contains", "ConfidenceBox.contains",
)  # fmt: skip


LONG = ("release_group_means", "PrivateMean", "release_mean, learned", "Release.write_report", "plan, for n")  # seconds
NAMES = [*public_calls(), *EXTRA]


@pytest.mark.parametrize("name", [each for each in NAMES if each not in LONG])
def test_a_foreign_value_is_taken_or_refused_in_our_words(subjects, name):
    """The others, and all values where this takes every seventh, are in the slow test below."""
    call, given = subjects[name]  # a new public name: give it arguments above
    with strictly():
        assert complaint(call, given()) is None
        assert sweep(subjects[name], step=7 if name in ("plan", "plan, curve") else 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_all_values_also_where_warnings_and_floating_point_errors_are_let_go(subjects, name, strict):
    with strictly(strict):
        assert sweep(subjects[name]) == []


def test_the_sweep_hears_a_record_and_a_foreign_error():
    """Otherwise it would pass whatever is written in an error."""

    def quoting(value: object) -> None:
        raise dimfree.InvalidParameterError(f"Expected value={value!r} to be a number.")

    def raw(value: Any) -> None:
        bool(value == "auto")

    def chained(value: Any) -> None:
        try:
            float(value)
        except (TypeError, ValueError):
            raise dimfree.InvalidParameterError("Expected a number.")  # noqa: B904 - the chain is the point

    assert len(sweep((quoting, lambda: {"value": 1}))) > 40
    assert len(sweep((raw, lambda: {"value": 1}))) > 10
    assert any("a long text: quotes" in said for said in sweep((chained, lambda: {"value": 1})))
