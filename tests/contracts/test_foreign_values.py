"""Whatever is passed for whatever parameter: success, or an error of ours that quotes no record and no number of rows.

The parameters are read off the signatures of the public names, so that a new one is covered when it is written.
"""

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
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
from dimfree.paper import sample_sizes
from dimfree.paper.bounds import fingerprinting_lower_bound, packing_lower_bound
from dimfree.paper.grouping import slots
from dimfree.paper.variance_votes import group_variances
from dimfree.planning.spectra import stddevs_of_public
from dimfree.shapes import Isotropic

dp.enable_features(*opendp.FEATURES)

ROWS = np.random.default_rng(3).normal(size=(24, 3))  # few: a release of them is refused, and quick
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
AIM_ALONE = {"stddevs": np.ones(3), "accuracy": 0.5}
AIM = {**AIM_ALONE, **PROMISE}
MADE = {  # dimfree makes these results, and nobody else calls their constructors; an enumeration's is Python's own
    "Neighbours",
    "Composed", "Means", "Plan", "Release", "Tradeoff", "VarianceProfile", "LearnedShape",
    "LearnedDirections", "Reach",
}  # fmt: skip
Arguments = dict[str, Any]


def noise() -> SeededNoise:
    return SeededNoise(0)


def public_calls() -> Iterator[str]:
    """The names of all that may be called with arguments: functions, constructors, methods of public classes."""
    for name in dimfree.__all__:
        found = getattr(dimfree, name)
        if not inspect.isclass(found):
            yield name
        elif not issubclass(found, Exception):
            yield from [] if name in MADE or not _parameters(found) else [name]
            yield from (f"{name}.{method}" for method in _methods(found))


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


class Subjects:
    """Every call with arguments that it takes, made anew: a path is written once, a generator read once."""

    def __init__(self, folder) -> None:
        self.folder, self.numbers = folder, count()
        (folder / "table.csv").write_text("a,b\n1,2\n3,4\n")
        many, told = np.random.default_rng(3).normal(size=(2000, 3)), {"epsilon": 4.0, "delta": 1e-6, "noise": noise()}
        self.release = dimfree.release_mean(many, **told)
        self.groups = group_variances(as_records(ROWS), slots(24, 6, 4, noise()))
        self.ledger = dimfree.Ledger(folder / "study.db", "study", epsilon=50.0, delta=1e-3)
        self.profile = paper.variance_profile(np.random.default_rng(3).normal(size=(4000, 3)), **PROMISE)
        self.means = dimfree.release_means(many, **told, groups=[1, 2] * 1000, keys=[1, 2], shape=Isotropic(1.0))
        self.scaler = dimfree.PrivateStandardScaler(epsilon=4.0, delta=1e-6, shape=Isotropic(1.0), noise=noise())
        self.scaler.fit(many)

    def new_file(self, ending: str):
        return self.folder / f"{next(self.numbers)}{ending}"

    def all(self) -> dict[str, tuple[Callable[..., Any], Callable[[], Arguments]]]:
        return {**self._releases(), **self._planned(), **self._mechanisms(), **self._values(), **self._results()}

    def _releases(self) -> dict[str, Any]:
        known = {**PROMISE, "shape": Isotropic(1.0)}
        groups = {"X": ROWS, "groups": [1, 2] * 12, "keys": [1, 2]}
        baseline = {"X": ROWS, **PROMISE}
        array, metric = dp.numpy.array2_domain(T=float, num_columns=3), dp.symmetric_distance()
        metric_space = {"input_domain": array, "input_metric": metric}
        found = {
            "release_mean": (dimfree.release_mean, {"X": ROWS, **known}),
            "release_mean, learned": (dimfree.release_mean, {"X": ROWS, **PROMISE}),
            "release_means": (dimfree.release_means, {**groups, **known}),
            "variance_profile": (paper.variance_profile, baseline),
            "algorithm1": (paper.algorithm1, {**baseline, "radius": 5.0}),
            "algorithm2": (paper.algorithm2, baseline),
            "PrivateMean": (self.fitted(dimfree.PrivateMean), known),
            "PrivateMean.fit": (dimfree.PrivateMean(**known).fit, {"X": ROWS}),
            "PrivateStandardScaler": (self.fitted(dimfree.PrivateStandardScaler), known),
            "PrivateStandardScaler.fit": (dimfree.PrivateStandardScaler(**known).fit, {"X": ROWS}),
            "PrivateStandardScaler.transform": (self.scaler.transform, {"X": ROWS}),
            "PrivateStandardScaler.inverse_transform": (self.scaler.inverse_transform, {"X": ROWS}),
            "opendp.make_private_mean": (opendp.make_private_mean, {**metric_space, **known}),
            "Options": (dimfree.Options, {}),
            "opendp.group_loss": (opendp.group_loss, {"budget": Budget(1.0, 1e-6), "steps": 2}),
        }
        return {name: (call, lambda given=given: dict(given)) for name, (call, given) in found.items()}

    @staticmethod
    def fitted(kind: type) -> Callable[..., Any]:
        def fit(**given: Any) -> Any:
            return kind(**given).fit(ROWS)

        fit.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
        return fit

    def _planned(self) -> dict[str, Any]:
        told = {"spectrum": "S1", "knowledge": "covariance", **PROMISE}
        found = {
            "plan": (dimfree.plan, {"n": 300, "d": 3, **told}),
            "plan, for n": (dimfree.plan, {"accuracy": 0.5, "d": 3, **told}),
            "tradeoff": (dimfree.tradeoff, {**told, "n": [300, 600], "d": 3}),
            "shape_from": (dimfree.shape_from, {"public_X": ROWS}),
            "stddevs_of_public": (stddevs_of_public, {"table": ROWS}),
            "as_basis": (as_basis, {"basis": "dct", "dimension": 3}),
            "lower_bound": (lower_bound, {"here": ROWS[:, 0], "there": ROWS[:, 1], "delta": 0.01, "failure": 0.01}),
            "packing_lower_bound": (packing_lower_bound, {**AIM_ALONE, "epsilon": 1.0, "radius": 9.0}),
            "fingerprinting_lower_bound": (fingerprinting_lower_bound, AIM),
            "easy_instance_records": (sample_sizes.easy_instance_records, AIM),
            "customised_records": (sample_sizes.customised_records, AIM),
        }  # fmt: skip
        for call in (
            sample_sizes.known_covariance_records,
            sample_sizes.folklore_records,
            sample_sizes.plan_records,
            sample_sizes.unknown_covariance_records,
        ):
            found[call.__name__] = (call, AIM)
        return {name: (call, lambda given=given: dict(given)) for name, (call, given) in found.items()}

    def _mechanisms(self) -> dict[str, Any]:
        cells = ["a"] * 9
        voted = {"groups": self.groups, **PROMISE}
        found = {
            "heaviest_cell": (paper.heaviest_cell, {"cells": cells, **PROMISE}),
            "stable_histogram": (paper.stable_histogram, {"cells": cells, **PROMISE}),
            "sparse_vector": (paper.sparse_vector, {"queries": np.arange(9), "threshold": 5.0, "most": 2, **PROMISE}),
            "coordinate_variances": (paper.coordinate_variances, {**voted, "coordinates": [0, 1]}),
            "variance_sum": (paper.variance_sum, {**voted, "coordinates": [0, 1]}),
            "find_kth_largest_variance": (paper.find_kth_largest_variance, {**voted, "k": 1}),
            "top_variances": (paper.top_variances, {**voted, "k": 1, "threshold": 1.0}),
        }
        drawn = {name: (call, lambda given=given: {**given, "noise": noise()}) for name, (call, given) in found.items()}
        layout = slots(24, 6, 4, noise())
        groups = (paper.group_variances, lambda: {"records": as_records(ROWS), "layout": layout})
        return {**drawn, "group_variances": groups, **self._noises()}

    def _noises(self) -> dict[str, Any]:
        asked = {
            "gaussian": {"stddev": 1.0, "size": 2},
            "laplace": {"scale": 1.0, "size": 2},
            "coin": {"numerator": 1, "denominator": 2},
            "below": {"bound": 5, "size": 2},
        }
        noises = {"SeededNoise": noise(), "SystemNoise": dimfree.SystemNoise()}
        calls = {
            f"{name}.{method}": (getattr(noise_source, method), lambda given=given: dict(given))
            for name, noise_source in noises.items()
            for method, given in asked.items()
        }
        return {**calls, "SeededNoise": (SeededNoise, lambda: {"seed": 0})}

    def _values(self) -> dict[str, Any]:
        shapes = {
            "Isotropic": (dimfree.Isotropic, {"scale": 1.0}),
            "Diagonal": (dimfree.Diagonal, {"variances": np.ones(3)}),
            "Dense": (dimfree.Dense, {"covariance": np.eye(3)}),
            "LowRank": (dimfree.LowRank, {"basis": np.eye(3)[:, :1], "variances": [2.0], "tail": 1.0}),
        }
        found = {name: (call, lambda given=given: dict(given)) for name, (call, given) in shapes.items()}
        for name, (kind, given) in shapes.items():
            shape, width = kind(**given), {"dimension": 3}
            found[f"{name}.rescale"] = (shape.rescale, lambda: {"rows": ROWS})
            found[f"{name}.restore"] = (shape.restore, lambda: {"vector": np.ones(3)})
            found[f"{name}.measured"] = (shape.measured, lambda: {"gain": 1.0, "rotated_gain": 1.0})
            for method in ("root_diagonal", "spectrum", "covariance_diagonal", "trace_root", "gain", "rotated_gain"):
                found[f"{name}.{method}"] = (getattr(shape, method), lambda width=width: dict(width))
        promise = {**PROMISE, "neighbours": "add-remove", "private": True}
        return found | {
            "Budget": (Budget, lambda: dict(PROMISE)),
            "Budget.split": (Budget(1.0, 1e-6).split, lambda: {"shares": 2}),
            "Neighbours.parse": (dimfree.Neighbours.parse, lambda: {"value": "add-remove"}),
            "Guarantee": (dimfree.Guarantee, lambda: dict(promise)),
            "Guarantee.from_dict": (
                dimfree.Guarantee.from_dict,
                lambda: {"document": dimfree.Guarantee(**promise).to_dict()},
            ),
        }

    def _results(self) -> dict[str, Any]:
        release, ledger, composed = self.release, self.ledger, dimfree.compose([self.release])
        ball_set, box = release.confidence_ball(), release.confidence_box()
        curve = dimfree.tradeoff(n=[300, 600], d=3, spectrum="S1", knowledge="covariance", **PROMISE)
        learned, text = dimfree.LearnedShape(np.ones(3), np.ones(3)), release.to_json()
        ways = dimfree.LearnedDirections(np.eye(3)[:1], np.ones(1) / 2, np.ones(1), np.ones(3))
        reach = dimfree.Reach(2.0, np.zeros(3), np.ones(3))
        made = {"mean": np.ones(3), "noise_stddev": np.ones(3)}
        common = {
            "guarantee": release.guarantee,
            "ledger": release.ledger,
            "method": "stable",
            "dimension": 3,
            "parameters": {},
        }
        one = {
            "write_report": (dimfree.write_report, lambda: {"release": release, "path": self.new_file(".html")}),
            "read_table": (dimfree.read_table, lambda: {"path": self.folder / "table.csv"}),
            "compose": (dimfree.compose, lambda: {"releases": [release]}),
            "Ledger": (dimfree.Ledger, lambda: {"path": self.new_file(".db"), "dataset": "study", **PROMISE}),
            "Ledger, again": (dimfree.Ledger, lambda: {"path": ledger.path, "dataset": "study"}),
            "Ledger.debit": (ledger.debit, lambda: {"epsilon": 0.01, "delta": 1e-9}),
            "Ledger.charge": (
                ledger.charge,
                lambda: {"charge": Charge(Budget(0.01, 1e-9)), "terms": ledger.terms},
            ),
            "Ledger.verify": (ledger.verify, lambda: {"head": ledger.head}),
            "Release.error_radius": (release.error_radius, dict),
            "Release.confidence_interval": (release.confidence_interval, dict),
            "Release.confidence_ball": (release.confidence_ball, dict),
            "Release.confidence_box": (release.confidence_box, dict),
            "Release.to_frame": (release.to_frame, dict),
            "Release.plot": (release.plot, dict),
            "Release.with_learned": (release.with_learned, lambda: {"earlier": release}),
            "Release.from_json": (dimfree.Release.from_json, lambda: {"text": text}),
            "Release.released": (dimfree.Release.released, lambda: {**made, **common}),
            "Release.refused_because": (dimfree.Release.refused_because, lambda: {"reason": "none", **common}),
            "ConfidenceBall.contains": (ball_set.contains, lambda: {"point": np.ones(3)}),
            "ConfidenceBox.contains": (box.contains, lambda: {"point": np.ones(3)}),
            "Means.to_frame": (self.means.to_frame, dict),
            "Means.plot": (self.means.plot, dict),
            "Means.from_json": (dimfree.Means.from_json, lambda: {"text": self.means.to_json()}),
            "VarianceProfile.from_json": (paper.VarianceProfile.from_json, lambda: {"text": self.profile.to_json()}),
            "VarianceProfile.cost_after_learning": (self.profile.cost_after_learning, lambda: {"k": 1}),
            "Tradeoff.from_json": (dimfree.Tradeoff.from_json, lambda: {"text": curve.to_json()}),
            "LearnedShape.frozen": (learned.frozen, lambda: {"dimension": 3}),
            "LearnedShape.from_dict": (dimfree.LearnedShape.from_dict, lambda: {"data": learned.to_dict()}),
            "Reach.frozen": (reach.frozen, lambda: {"dimension": 3}),
            "Reach.from_dict": (dimfree.Reach.from_dict, lambda: {"data": reach.to_dict()}),
            "LearnedDirections.from_dict": (dimfree.LearnedDirections.from_dict, lambda: {"data": ways.to_dict()}),
            "LearnedDirections.frozen": (ways.frozen, lambda: {"dimension": 3}),
        }
        for method in ("epsilon", "statement", "to_dict"):
            one[f"Composed.{method}"] = (getattr(composed, method), lambda: {"delta": 1e-5})
        return {**one, "Composed.delta": (composed.delta, lambda: {"epsilon": 1.0})}


@contextmanager
def strictly(strict: bool = True) -> Iterator[None]:
    """Floating-point errors and warnings end a call, as some programs ask for."""
    with warnings.catch_warnings(), np.errstate(all="raise" if strict else "warn"):
        warnings.simplefilter("error" if strict else "ignore")
        yield


@pytest.fixture(scope="module")
def subjects(tmp_path_factory) -> dict[str, Any]:
    with strictly():
        return Subjects(tmp_path_factory.mktemp("foreign")).all()


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


def sweep(subject: Any) -> list[str]:
    call, given = subject
    found = []
    for name in _parameters(call):
        for what, value in foreign_values().items():
            if name == "tell" and callable(value):
                continue  # the caller's own function, and its own errors
            width = name == "X" and "transposed" in what  # there the number is that of its columns, which is schema
            said = complaint(call, {**given(), name: value}, () if width else (str(COUNT),))
            if said:
                found.append(f"{name} = {what}: {said}")
    return found


EXTRA = (
    "release_mean, learned", "plan, for n", "Ledger, again",
    "opendp.make_private_mean", "opendp.group_loss",
    "stddevs_of_public", "as_basis", "lower_bound",
    "packing_lower_bound", "fingerprinting_lower_bound", "easy_instance_records", "customised_records",
    "known_covariance_records", "folklore_records", "plan_records", "unknown_covariance_records",
    "ConfidenceBall.contains", "ConfidenceBox.contains",
)  # fmt: skip


LONG = ("release_means", "PrivateMean", "release_mean, learned", "write_report", "plan, for n")  # seconds
NAMES = [*public_calls(), *EXTRA]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in NAMES]
)
def test_a_foreign_value_is_taken_or_refused_in_our_words(subjects, name):
    call, given = subjects[name]  # a new public name: give it arguments above
    with strictly():
        assert complaint(call, given()) is None
        assert sweep(subjects[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_where_warnings_and_floating_point_errors_are_let_go(subjects, name):
    with strictly(False):
        assert sweep(subjects[name]) == []


def test_the_sweep_hears_a_record_and_a_foreign_error():
    """Otherwise it would pass whatever is written in an error."""

    def quoting(value: object) -> None:
        raise dimfree.InvalidParameter(f"Expected value={value!r} to be a number.")

    def raw(value: Any) -> None:
        bool(value == "auto")

    def chained(value: Any) -> None:
        try:
            float(value)
        except (TypeError, ValueError):
            raise dimfree.InvalidParameter("Expected a number.")  # noqa: B904 - the chain is the point

    assert len(sweep((quoting, lambda: {"value": 1}))) > 40
    assert len(sweep((raw, lambda: {"value": 1}))) > 10
    assert any("a long text: quotes" in said for said in sweep((chained, lambda: {"value": 1})))
