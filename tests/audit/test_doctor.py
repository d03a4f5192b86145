"""`dimfree doctor`: says fit where all is well, and finds real faults: changed flags, wrong noise, old packages."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stats import sampling
from typer.testing import CliRunner

import dimfree
import dimfree.cli
from dimfree.audit import doctor
from dimfree.audit.doctor import Finding, _is_enough, check_floats, check_packages
from dimfree.noise import SeededNoise

SOURCE = Path(dimfree.__file__).resolve().parent.parent
CHANGED = """
import ctypes, json, struct
from dimfree.audit import doctor
doctor._load()
libm, usual, found = ctypes.CDLL("libm.so.6"), ctypes.create_string_buffer(64), {}
assert libm.fegetenv(usual) == 0
word, = struct.unpack_from("<I", usual.raw, 28)  # MXCSR in glibc's fenv_t on x86-64
for how, bits in {"nothing": 0, "ftz": 1 << 15, "daz": 1 << 6, "up": 2 << 13, "down": 1 << 13, "zero": 3 << 13}.items():
    changed = ctypes.create_string_buffer(usual.raw, 64)
    changed[28:32] = struct.pack("<I", word | bits)
    assert libm.fesetenv(changed) == 0
    found[how] = [finding.check for finding in doctor.check_floats() if finding.verdict == "bad"]
    assert libm.fesetenv(usual) == 0
print(json.dumps(found))
"""
X86 = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="changes the flags of an x86-64 with glibc"
)


class Off(SeededNoise):
    """A mutant: Gaussian and Laplace noise two thirds as wide, coins that are a little heavy."""

    def gaussian(self, stddev, size):
        return super().gaussian(stddev / 1.5, size)

    def laplace(self, scale, size):
        return super().laplace(scale / 1.5, size)

    def coin(self, numerator, denominator):
        return super().coin(2 * numerator + 1, 2 * denominator)

    def below(self, bound, size):
        return super().below(bound - 1, size)


class Stuck(SeededNoise):
    """A mutant: every draw comes twice, and wide noise is even."""

    def gaussian(self, stddev, size):
        return np.repeat(super().gaussian(stddev, size // 2), 2) * (2 if stddev > 2**30 else 1)

    def laplace(self, scale, size):
        return np.repeat(super().laplace(scale, size // 2), 2)


def verdicts(findings):
    return {finding.check: finding.verdict for finding in findings}


@sampling(false_alarm=doctor.FALSE_ALARM)
def test_the_real_noise_is_fine():
    found = list(doctor.check_samplers())
    assert {finding.verdict for finding in found} == {"fine"}
    assert len(found) == doctor.TESTS - 1  # and the bits of the system


@sampling(false_alarm=doctor.FALSE_ALARM / doctor.TESTS)
def test_the_entropy_is_fine_and_a_bad_source_is_not():
    assert verdicts(doctor.check_entropy()) == {"source ready": "fine", "bits": "fine"}
    assert verdicts(doctor.check_entropy(lambda size: b"\x55" * size))["bits"] == "bad"  # fair, but always the same
    biased = np.random.default_rng(42)
    thin = lambda size: bytes(biased.integers(0, 256, size, dtype=np.uint8) & biased.integers(0, 256, size))  # noqa: E731
    assert verdicts(doctor.check_entropy(thin))["bits"] == "bad"


@pytest.mark.parametrize(
    ("mutant", "checks"),
    [
        (Off, ("discrete Gaussian", "discrete Laplace", "coins", "uniform integers")),
        (Stuck, ("discrete Gaussian, in pairs", "discrete Laplace, in pairs", "wide Gaussian, last bit")),
    ],
)
def test_noise_that_is_off_or_repeats_itself_is_found(seed, mutant, checks):
    found = verdicts(doctor.check_samplers(mutant(seed)))
    assert {found[check] for check in checks} == {"bad"}


def test_the_helpers_keep_their_rate():
    # of 100 fair coins 75 heads have a tail of 2.8e-7, 74 heads one of 9e-7
    assert not doctor.frequency_fits(75, 100, 0.5, 1e-6)
    assert doctor.frequency_fits(74, 100, 0.5, 1e-6)
    assert not doctor.frequency_fits(0, 100, 0.5, 1e-6)
    # a band of sqrt(log(2 / 0.02) / 200) = 0.1517 about the fair die on -1, 0, 1
    cdf = np.array([1, 2, 3]) / 3
    for low, fits in ((33, True), (48, True), (49, False)):
        draws = np.repeat([-1, 0, 1], [low, 66 - low + 1, 33])
        assert doctor.distribution_fits(draws, cdf, 0.02) is fits


def test_the_arithmetic_here_is_fine():
    found = list(check_floats())
    assert {finding.verdict for finding in found} == {"fine"}
    assert "scipy" in found[-1].found


@X86
def test_changed_flags_are_found():
    done = subprocess.run(
        [sys.executable, "-c", CHANGED],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["nothing"] == []
    assert found["ftz"] == found["daz"] == ["subnormal numbers"]
    assert all("rounding" in found[mode] for mode in ("up", "down", "zero"))


def test_a_build_that_does_not_fit_is_found(monkeypatch):
    importing = importlib.import_module

    def fail(name, *rest):
        if name == "pandas":
            raise ValueError("numpy.dtype size changed")
        return importing(name, *rest)

    monkeypatch.setattr(importlib, "import_module", fail)
    last = list(check_floats())[-1]
    assert last.verdict == "bad"
    assert last.found == "pandas fails to import (ValueError)"


def test_what_benchmarks_want_is_no_fault_of_an_installation():
    """The extra peers holds scikit-learn below a version that everybody else gets."""
    assert list(check_packages(["scikit-learn<0.1; extra == 'peers'"])) == []
    assert [found.verdict for found in check_packages(["scikit-learn<0.1; extra == 'files'"])] == ["bad"]


def test_packages_that_are_old_missing_or_optional():
    asked = [
        "numpy>=2.0",
        "scipy>=99",
        "no-such-package>=1",
        'no-such-extra>=1.2; extra == "files"',
        'pyarrow>=999; extra == "files"',
        'dimfree[files]; extra == "dev"',
        "no-such-tool; extra == 'dev'",
    ]
    found = {finding.check: finding for finding in check_packages(asked)}
    assert {check: finding.verdict for check, finding in found.items()} == {
        "numpy": "fine",
        "scipy": "bad",
        "no-such-package": "bad",
        "no-such-extra": "missing",
        "pyarrow": "missing" if "not installed" in found["pyarrow"].found else "bad",
    }
    assert found["no-such-extra"].remedy == "pip install 'no-such-extra>=1.2'"
    assert found["scipy"].remedy == "pip install 'scipy>=99'"
    assert verdicts(check_packages(None)) == {"dimfree": "missing"}


@pytest.mark.parametrize(
    ("there", "needed", "enough"),
    [
        ("2.0", ">=2.0.0", True),
        ("2.10", ">=2.9", True),
        ("0.35.2", ">=0.35,<0.36", True),
        ("0.36", ">=0.35,<0.36", False),
        ("3.0rc1", ">=3", True),
        ("1.9.1+local", "", True),
        ("1.2", "==1.3", False),
    ],
)
def test_versions_compare_by_their_numbers(there, needed, enough):
    assert _is_enough(there, needed) is enough


@sampling(false_alarm=doctor.FALSE_ALARM)
def test_the_command_tells_a_program():
    done = CliRunner().invoke(dimfree.cli.app, ["doctor", "--json"])
    document = json.loads(done.stdout)
    assert done.exit_code == 0
    assert document["healthy"] is True
    assert document["false_alarm"] <= 1e-6
    assert {"installation", "floating point", "entropy", "samplers"} == {f["topic"] for f in document["findings"]}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_something_bad_is_exit_1_and_a_remedy(monkeypatch, options):
    findings = [
        Finding("samplers", "coins", "bad", "does not follow its law", "Do not release."),
        Finding("installation", "altair", "missing", "not there", "pip install 'altair>=5.4'"),
    ]
    monkeypatch.setattr(doctor, "checkup", lambda: iter(findings))
    done = CliRunner().invoke(dimfree.cli.app, ["doctor", *options])
    assert done.exit_code == 1
    assert "Do not release." in done.output
    assert options == [] or json.loads(done.stdout)["healthy"] is False
