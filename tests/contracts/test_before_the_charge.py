"""What an installation or public numbers can forbid fails before anything is charged or drawn."""

import subprocess
import sys
import warnings
from contextlib import suppress

import numpy as np
import pytest
from recording import RecordingNoise

from dimfree.accounting.budget import Budget
from dimfree.accounting.events import has_fine_noise
from dimfree.beliefs import _LOADED_LATE
from dimfree.errors import InstallationError, InvalidParameterError, WeakGuaranteeWarning
from dimfree.ledger.ledger import PrivacyLedger
from dimfree.noise import SeededNoise, SystemNoise, open_noise
from dimfree.paper.profiling import variance_profile
from dimfree.release import release_mean
from dimfree.release_groups import release_group_means
from dimfree.report.rendering import require_report

X = np.random.default_rng(3).normal(size=(600, 2))
LABELS = np.arange(len(X)) % 2


@pytest.fixture
def ledger(tmp_path) -> PrivacyLedger:
    return PrivacyLedger(tmp_path / "study.db", dataset="d", epsilon=2000.0, delta=0.9)


def mean(**asked):
    return release_mean(X, **asked)


def groups(**asked):
    return release_group_means(X, by=LABELS, groups=[0, 1], **asked)


DOORS = pytest.mark.parametrize("door", [mean, groups])


class Hiding:
    """Imports of these modules raise what a broken package may raise."""

    def __init__(self, names: tuple[str, ...], error: Exception) -> None:
        self.names, self.error = names, error

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self.names:
            raise self.error


def broken(monkeypatch, names: tuple[str, ...], error: Exception) -> None:
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Hiding(names, error), *sys.meta_path])


@pytest.mark.system_noise
@pytest.mark.parametrize("error", [ImportError("no OpenDP"), OSError("libopendp.so"), AttributeError("version")])
@DOORS
def test_a_broken_noise_source_costs_nothing(door, error, ledger, monkeypatch) -> None:
    broken(monkeypatch, ("opendp.measurements",), error)
    with pytest.raises(InstallationError, match=r"No budget was charged\.") as caught:
        door(epsilon=1.0, delta=1e-6, ledger=ledger)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert ledger.account().debits == 0


@pytest.mark.system_noise
@pytest.mark.parametrize("draw", ["gaussian", "laplace", "below", "coin"])
def test_every_kind_of_draw_is_tried(draw, monkeypatch) -> None:
    def fails(*_):
        raise RuntimeError("no entropy")

    monkeypatch.setattr(SystemNoise, draw, fails)
    with pytest.raises(InstallationError, match=r"The noise source does not work \(RuntimeError\)"):
        open_noise(None)


def test_seeded_noise_is_not_tried() -> None:
    noise = SeededNoise(5)
    assert open_noise(noise) is noise
    assert noise.gaussian(100.0, 4).tolist() == SeededNoise(5).gaussian(100.0, 4).tolist()
    recording = RecordingNoise()
    assert open_noise(recording).asked == []


@pytest.mark.parametrize("name", _LOADED_LATE)
def test_a_broken_part_of_scipy_costs_nothing(name, ledger, monkeypatch) -> None:
    broken(monkeypatch, (name,), ImportError("libfoo.so"))
    with pytest.raises(InstallationError, match=rf"{name} cannot be loaded \(ImportError\).*No budget was charged\."):
        mean(epsilon=1.0, delta=1e-6, ledger=ledger, noise=SeededNoise(0))
    assert ledger.account().debits == 0


@pytest.mark.parametrize("name", ["altair", "scipy.optimize"])
def test_a_broken_part_of_the_report_costs_nothing(name, monkeypatch) -> None:
    broken(monkeypatch, (name,), ImportError("libfoo.so"))
    with pytest.raises(InvalidParameterError, match="A report needs"):
        require_report()


LOADED = """
import sys, tempfile
import numpy as np
from pathlib import Path
from dimfree import release_mean
from dimfree.ledger.ledger import PrivacyLedger
charge, at_charge = PrivacyLedger.charge, set()
def charging(*given, **said):
    at_charge.update(sys.modules)
    return charge(*given, **said)
PrivacyLedger.charge = charging
ledger = PrivacyLedger(Path(tempfile.mkdtemp()) / "s.db", dataset="d", epsilon=10, delta=1e-2)
X = np.random.default_rng(0).normal(size=(1500, 300))
release_mean(X, epsilon=1, delta=1e-6, ledger=ledger)
print(*sorted(name for name in set(sys.modules) - at_charge if name.split(".")[0] in ("opendp", "scipy")))
"""


def test_nothing_is_loaded_after_the_charge() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


WAYS = [{"covariance": np.ones(2)}, {"objective": "relative", "missing": "complete-case"}, {}]


@pytest.mark.parametrize("asked", WAYS)
@pytest.mark.parametrize("epsilon", [1e-3, 2.5e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 0.03, 0.3, 0.9, 0.999])
def test_a_budget_is_refused_before_any_draw_or_never(asked, epsilon, delta) -> None:
    """Where it was accepted, the discrete noise of whatever was released is paid for: `Costs` checks it."""
    noise = RecordingNoise()
    with suppress(InvalidParameterError):
        release_mean(X, epsilon=epsilon, delta=delta, noise=noise, **asked)
    assert bool(noise.asked) == has_fine_noise(Budget(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 0.5), (4e-3, 0.99), (1e-3, 0.999), (0.1, 0.99)])
@DOORS
def test_noise_too_coarse_for_the_budget_costs_nothing(door, epsilon, delta, ledger) -> None:
    with pytest.raises(InvalidParameterError, match=r"discrete noise .* No budget was charged\."):
        door(epsilon=epsilon, delta=delta, ledger=ledger, noise=SeededNoise(0))
    assert ledger.account().debits == 0
    assert all(has_fine_noise(Budget(usual, 1e-2)) for usual in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e4))


class Unread:
    """A table that must not be looked at."""

    def __getattr__(self, name: str):
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize(("epsilon", "delta", "said"), [(500.0, 1e-6, "epsilon = 500"), (1.0, 0.1, "delta = 0.1")])
def test_a_weak_guarantee_is_warned_of_before_the_table_is_read_and_the_ledger_charged(epsilon, delta, said, ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        for call in (release_mean, variance_profile):
            with pytest.raises(WeakGuaranteeWarning, match=said):
                call(Unread(), epsilon=epsilon, delta=delta)
        for door in (mean, groups):
            with pytest.raises(WeakGuaranteeWarning, match=said):
                door(epsilon=epsilon, delta=delta, ledger=ledger)
    assert ledger.account().debits == 0


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_public_number_of_records_sharpens_the_warning(relation, recwarn) -> None:
    release_mean(X, epsilon=1.0, delta=5e-4, neighbors=relation)
    found = [str(each.message) for each in recwarn if each.category is WeakGuaranteeWarning]
    assert len(found) == (relation == "replace-one")
    assert not any("600" in each for each in found)


def test_usual_budgets_and_seeded_noise_bring_no_warning(recwarn) -> None:
    mean(epsilon=10.0, delta=1e-3)
    mean(epsilon=500.0, delta=0.1, noise=SeededNoise(0))
    assert not [each for each in recwarn if each.category is WeakGuaranteeWarning]
