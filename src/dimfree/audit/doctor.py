"""Check the installation: versions, floating point, entropy, samplers. No data are read.

*Floating point:* the proofs assume IEEE doubles, rounded to nearest, with subnormals. Loading a library that was built
for speed may have changed this for the whole process, so all libraries of dimfree are loaded first. Arithmetic is
tested in Python and in NumPy, in this and in a new thread; operands are arguments, since constant expressions would be
computed when this file is compiled.

*Randomness:* on a healthy machine each test fails with at most its share of `FALSE_ALARM`, by theorems that hold for
every sample size: exact binomial tails, and the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart. The tests find
gross faults (a scale wrong by a third, a stuck or repeating source).
"""

import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from threading import Thread
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc

from dimfree._types import Floats, Integers
from dimfree._validate.extras import REQUIREMENT, list_requirements, pip_command
from dimfree.noise import Noise, SystemNoise
from dimfree.simulation import public_simulation

OLDEST_PYTHON = (3, 11)
_FOR_DEVELOPERS = ("dev", "docs", "peers")  # peers is for benchmarks and needs an older scikit-learn
FALSE_ALARM = 1e-6  # of all tests here together
TESTS = 8
_SHARE = FALSE_ALARM / TESTS
_DRAWS, _SCALE = 20_000, 2.5
_REMEDY = "Do not release on this machine. Reinstall opendp, and check the random source of the system."
_LOADED = ("scipy.linalg", "scipy.special", "sklearn.utils", "opendp.prelude", "pandas", "pyarrow")
_FASTMATH = (
    "A library in this process changed the processor's floating-point flags (often one built with -ffast-math). Find "
    "it by importing fewer packages, and update or remove it. Guarantees do not hold until then."
)
_PLATFORM = "Guarantees are proved for IEEE doubles, each operation rounded once. Use another machine or build."
Number = Callable[[float], Any]  # a float, or an array of it


@dataclass(frozen=True)
class Finding:
    """One line of the checkup: the result of a check, and its remedy. Public.

    The verdict is "fine", "missing" (an optional package) or "bad" (do not release on this machine).
    """

    topic: str
    check: str
    verdict: str
    found: str
    remedy: str = ""


def judge(topic: str, check: str, fine: bool, found: str, remedy: str) -> Finding:
    """Return a finding that is fine, or bad with its remedy."""
    return Finding(topic, check, "fine" if fine else "bad", found, "" if fine else remedy)


def checkup() -> Iterator[Finding]:
    """Yield every finding; the probability of a false alarm is at most FALSE_ALARM."""
    for check in (check_installation, check_floats, check_entropy, check_samplers):
        yield from check()


def is_healthy(findings: list[Finding]) -> bool:
    """Return whether nothing is bad."""
    return all(finding.verdict != "bad" for finding in findings)


def to_json(findings: list[Finding], dimfree: str) -> str:
    rows = [asdict(finding) for finding in findings]
    document = {"dimfree": dimfree, "healthy": is_healthy(findings), "false_alarm": FALSE_ALARM, "findings": rows}
    return json.dumps(document, indent=2) + "\n"


def summarize(findings: list[Finding]) -> str:
    """Describe the result, and every remedy."""
    bad = [finding for finding in findings if finding.verdict == "bad"]
    missing = [finding.check for finding in findings if finding.verdict == "missing"]
    optional = f" Optional and not installed: {', '.join(missing)}." if missing else ""
    if not bad:
        return f"This installation is fit for release. (Probability of a false alarm: {FALSE_ALARM:g}.){optional}"
    again = f"The probability of a false alarm is at most {FALSE_ALARM:g}."
    steps = "\n".join(f"- {finding.topic}, {finding.check}: {finding.remedy}" for finding in bad)
    return f"Not fit for release; {len(bad)} check(s) failed:\n{steps}\n{again}{optional}"


def check_installation() -> Iterator[Finding]:
    """Compare versions with the requirements. An optional package may be missing, but not too old."""
    enough = sys.version_info >= OLDEST_PYTHON
    remedy = f"Install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer."
    yield judge("installation", "Python", enough, f"{sys.version.split()[0]}, {sys.platform}", remedy)
    yield from check_packages(list_requirements())
    count = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    yield Finding("installation", "cores", "fine", f"{usable} of {count} may be used")


def check_packages(requirements: list[str] | None) -> Iterator[Finding]:
    """Yield one finding per requirement, written as in the metadata of a package."""
    if requirements is None:
        yield Finding(
            "installation", "dimfree", "missing", "run from its source; versions are not known", "pip install ."
        )
        return
    for text in requirements:
        name, extras, needed, extra = REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
        if extra in _FOR_DEVELOPERS or extras:
            continue
        needed, remedy = needed.strip(), pip_command(f"{name}{needed.strip()}")
        try:
            installed = version(name)
        except PackageNotFoundError:
            lacking = "bad" if extra is None else "missing"
            yield Finding("installation", name, lacking, f"not installed, needs {needed}", remedy)
        else:
            found = f"{installed}, needs {needed or 'any version'}"
            yield judge("installation", name, _is_enough(installed, needed), found, remedy)


def _is_enough(installed: str, needed: str) -> bool:
    """Return whether every bound with >=, <= , < or == holds; pip checks the others."""
    mine = _numbers(installed)
    for bound in needed.split(","):
        sign, limit = re.match(r"\s*(>=|<=|==|<|>|)\s*(.*)", bound).groups()  # type: ignore[union-attr]
        theirs = _numbers(limit)
        length = max(len(mine), len(theirs))
        left, right = (numbers + (0,) * (length - len(numbers)) for numbers in (mine, theirs))
        if not {">=": left >= right, "<=": left <= right, "==": left == right, "<": left < right}.get(sign, True):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+!-]", text.strip())[0]))


# ---- floating point


def check_floats() -> Iterator[Finding]:
    """Check each property on plain floats and on arrays of them, in this thread and another."""
    loaded, broken = _load()
    ieee = (sys.float_info.mant_dig, sys.float_info.max_exp, sys.float_info.min_exp) == (53, 1024, -1021)
    yield judge("floating point", "format", ieee, "64-bit IEEE doubles" if ieee else "other", _PLATFORM)
    for check, holds, good, bad, remedy in (
        ("rounding", rounds_to_nearest, "to nearest, ties to even", "not to nearest", _FASTMATH),
        ("subnormal numbers", keeps_subnormals, "kept, as operands and as results", "flushed to zero", _FASTMATH),
        ("extended precision", rounds_once, "none: operations round once", "rounded twice, or fused", _PLATFORM),
        ("matrix products", adds_plainly, "exact on integers below 2^53", "wrong on integers below 2^53", _PLATFORM),
    ):
        fine = _holds_everywhere(holds)
        yield judge("floating point", check, fine, good if fine else bad, remedy)
    remedy = "Reinstall what fails to import: its build does not fit the others."
    yield judge("floating point", "loaded beforehand", not broken, ", ".join(broken or loaded), remedy)


def rounds_to_nearest(number: Number) -> bool:
    """Return whether sums round to nearest, ties to even: every other mode fails one of these tests."""
    one, little, half, odd = (number(each) for each in (1.0, 2.0**-60, 2.0**-53, 1.0 + 2.0**-52))
    stays = all(bool(np.all(near == one)) for near in (one + little, one - little, one + half))
    return stays and bool(np.all(-one - little == -one)) and bool(np.all(odd + half == number(1.0 + 2.0**-51)))


def keeps_subnormals(number: Number) -> bool:
    """Return whether subnormal results and operands are kept."""
    smallest = number(sys.float_info.min)
    below = smallest * number(0.5)
    product = number(5e-324) * number(2.0**1000)
    return bool(np.all(below + below == smallest)) and bool(np.all(product == number(2.0**-74)))


def rounds_once(number: Number) -> bool:
    """Return whether operations round once: 80-bit registers and fused multiply-adds fail one of these tests."""
    total, near = number(1e16) + number(2.99999999), number(1.0 + 2.0**-27)
    return bool(np.all(total == number(1e16 + 2))) and bool(np.all(near * near - number(1 + 2.0**-26) == 0))


def adds_plainly(_: Number) -> bool:
    """Return whether products of small integer matrices are exact."""
    draws = public_simulation().integers(-(2**22), 2**22, (2, 65, 65))
    left, right = draws.astype(np.float64)
    return bool(np.array_equal(left @ right, (draws[0] @ draws[1]).astype(np.float64)))


def _holds_everywhere(holds: Callable[[Number], bool]) -> bool:
    """Test floats and arrays that are long enough for vector instructions, in this and in a new thread."""
    answers: list[bool] = []

    def answer() -> None:
        with np.errstate(all="ignore"):
            answers.extend((holds(float), holds(lambda x: np.full(67, x))))

    answer()
    (thread := Thread(target=answer)).start()
    thread.join()
    return len(answers) == 4 and all(answers)


def _load() -> tuple[list[str], list[str]]:
    """Return the packages that were loaded, and those that are installed but fail to load."""
    loaded, broken = set(), set()
    for name in _LOADED:
        package = name.partition(".")[0]
        try:
            importlib.import_module(name)
            loaded.add(package)
        except ModuleNotFoundError:
            pass
        except Exception as error:  # noqa: BLE001 - builds that do not fit fail in many ways
            broken.add(f"{package} fails to import ({type(error).__name__})")
    return sorted(loaded), sorted(broken)


# ---- randomness


def check_entropy(source: Callable[[int], bytes] = os.urandom) -> Iterator[Finding]:
    """Check that the random source of the system is ready, does not repeat, and has fair bits."""
    yield judge("entropy", "source ready", _is_ready(), "getrandom" if hasattr(os, "getrandom") else "urandom", _REMEDY)
    blocks = [source(32) for _ in range(1000)]  # two alike with probability below 2^-236
    ones = sum(int.from_bytes(block, "little").bit_count() for block in blocks)
    fair = frequency_fits(ones, 256 * len(blocks), 0.5, _SHARE) and len(set(blocks)) == len(blocks)
    yield judge("entropy", "bits", fair, "fair" if fair else "not fair", _REMEDY)


def check_samplers(noise: Noise | None = None) -> Iterator[Finding]:
    """Check every kind of draw of a release, with the noise of releases."""
    noise = SystemNoise() if noise is None else noise
    values = np.arange(-400.0, 401.0)  # the tail has mass below e^-160
    yield from _check_law("discrete Gaussian", noise.gaussian(_SCALE, _DRAWS), np.exp(-((values / _SCALE) ** 2) / 2))
    yield from _check_law("discrete Laplace", noise.laplace(_SCALE, _DRAWS), np.exp(-np.abs(values) / _SCALE))
    wide = noise.gaussian(2.0**40, 1000)
    odd = int((wide & 1).sum())
    yield _check_fit("wide Gaussian, last bit", frequency_fits(odd, len(wide), 0.5, _SHARE), f"{len(wide)} draws")
    heads = sum(noise.coin(1, 3) for _ in range(3000))
    yield _check_fit("coins", frequency_fits(heads, 3000, 1 / 3, _SHARE), "3000 coins of 1/3")
    sixes = int((noise.below(6, 3000) == 5).sum())
    yield _check_fit("uniform integers", frequency_fits(sixes, 3000, 1 / 6, _SHARE), "3000 throws of a die")


def _check_law(name: str, draws: Integers, weights: Floats) -> Iterator[Finding]:
    """Check the whole distribution, and that successive draws are independent."""
    law = weights / weights.sum()
    yield _check_fit(name, distribution_fits(draws, np.cumsum(law), _SHARE), f"{len(draws)} draws")
    alike = int((draws[::2] == draws[1::2]).sum())
    fits = frequency_fits(alike, len(draws) // 2, float((law**2).sum()), _SHARE)
    yield _check_fit(f"{name}, in pairs", fits, f"{len(draws) // 2} pairs")


def _check_fit(check: str, fits: bool, sample: str) -> Finding:
    found = "fits its distribution" if fits else "does not fit its distribution"
    return judge("samplers", check, fits, f"{found}, in {sample}", _REMEDY)


def distribution_fits(draws: Integers, cdf: Floats, false_alarm: float) -> bool:
    """Return whether the empirical distribution of integers is within its confidence band around `cdf` on -m … m."""
    band = math.sqrt(math.log(2 / false_alarm) / (2 * len(draws)))
    largest = len(cdf) // 2
    counts = np.bincount(np.clip(draws, -largest, largest) + largest, minlength=len(cdf))
    return bool(np.abs(np.cumsum(counts) / len(draws) - cdf).max() <= band)


def frequency_fits(successes: int, trials: int, probability: float, false_alarm: float) -> bool:
    """Return whether a number of successes fits a probability, by the exact binomial tails."""
    low = bdtr(successes, trials, probability)
    high = bdtrc(successes - 1, trials, probability) if successes else 1.0
    return bool(min(low, high) > false_alarm / 2)


def _is_ready() -> bool:
    """Return whether the operating system has gathered enough entropy since it started."""
    try:
        return not hasattr(os, "getrandom") or len(os.getrandom(16, os.GRND_NONBLOCK)) == 16  # elsewhere urandom waits
    except OSError:
        return False
