"""The floating-point arithmetic that the proofs take for granted: IEEE doubles, rounded to nearest, subnormals kept.

A library that was built for speed may have switched that off for the whole process when it was loaded, so everything
dimfree may load is loaded first. Arithmetic is tried in Python and in NumPy, here and in a fresh thread; operands come
in as arguments, since a constant expression would be computed when this file is compiled.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np

from dimfree.audit.doctor import Finding, judge
from dimfree.simulation import public_simulation

TOPIC = "floating point"
_NEIGHBORS = ("scipy.linalg", "scipy.special", "sklearn.utils", "opendp.prelude", "pandas", "pyarrow")
_FASTMATH = (
    "A library in this process changed the processor's floating-point flags (often one built with -ffast-math): find it"
    " by importing fewer packages, update or remove it. Guarantees do not hold until then."
)
_PLATFORM = "Guarantees are proved for IEEE doubles, each operation rounded once: use another machine or build."
Number = Callable[[float], Any]  # a float, or an array of it


def check_floats() -> Iterator[Finding]:
    """Check each property on plain floats and on arrays of them, in this thread and another."""
    loaded, broken = _load()
    ieee = (sys.float_info.mant_dig, sys.float_info.max_exp, sys.float_info.min_exp) == (53, 1024, -1021)
    yield judge(TOPIC, "format", ieee, "64-bit IEEE doubles" if ieee else "other", _PLATFORM)
    for check, holds, good, bad, remedy in (
        ("rounding", rounds_to_nearest, "to nearest, ties to even", "not to nearest", _FASTMATH),
        ("subnormal numbers", keeps_subnormals, "kept, as operands and as results", "flushed to zero", _FASTMATH),
        ("extended precision", rounds_once, "none: operations round once", "rounded twice, or fused", _PLATFORM),
        ("matrix products", adds_plainly, "exact on integers below 2^53", "wrong on integers below 2^53", _PLATFORM),
    ):
        fine = _holds_everywhere(holds)
        yield judge(TOPIC, check, fine, good if fine else bad, remedy)
    remedy = "Reinstall what fails to import: its build does not fit the others."
    yield judge(TOPIC, "loaded beforehand", not broken, ", ".join(broken or loaded), remedy)


def rounds_to_nearest(number: Number) -> bool:
    """In every other mode one of these rounds away, or a tie goes to the odd neighbor."""
    one, little, half, odd = (number(each) for each in (1.0, 2.0**-60, 2.0**-53, 1.0 + 2.0**-52))
    stays = all(bool(np.all(near == one)) for near in (one + little, one - little, one + half))
    return stays and bool(np.all(-one - little == -one)) and bool(np.all(odd + half == number(1.0 + 2.0**-51)))


def keeps_subnormals(number: Number) -> bool:
    """Results below the smallest normal number are not zero, and such operands are not taken for zero."""
    smallest = number(sys.float_info.min)
    below = smallest * number(0.5)
    product = number(5e-324) * number(2.0**1000)
    return bool(np.all(below + below == smallest)) and bool(np.all(product == number(2.0**-74)))


def rounds_once(number: Number) -> bool:
    """80-bit registers would round 1e16 + 2.99999999 twice; a fused multiply-add would keep a square's last bits."""
    total, near = number(1e16) + number(2.99999999), number(1.0 + 2.0**-27)
    return bool(np.all(total == number(1e16 + 2))) and bool(np.all(near * near - number(1 + 2.0**-26) == 0))


def adds_plainly(_: Number) -> bool:
    """A product of integer matrices whose partial sums all fit is exact, whatever library multiplies."""
    draws = public_simulation().integers(-(2**22), 2**22, (2, 65, 65))
    left, right = draws.astype(np.float64)
    return bool(np.array_equal(left @ right, (draws[0] @ draws[1]).astype(np.float64)))


def _holds_everywhere(holds: Callable[[Number], bool]) -> bool:
    """On floats and on arrays long enough for vector instructions; here and in a thread that starts now."""
    answers: list[bool] = []

    def answer() -> None:
        with np.errstate(all="ignore"):
            answers.extend((holds(float), holds(lambda x: np.full(67, x))))

    answer()
    thread = Thread(target=answer)
    thread.start()
    thread.join()
    return len(answers) == 4 and all(answers)


def _load() -> tuple[list[str], list[str]]:
    """Return what could be loaded, and what is installed but fails; another check reports what is missing."""
    loaded, broken = set(), set()
    for name in _NEIGHBORS:
        package = name.partition(".")[0]
        try:
            importlib.import_module(name)
            loaded.add(package)
        except ModuleNotFoundError:
            continue
        except Exception as error:  # noqa: BLE001 - builds that do not fit fail in many ways
            broken.add(f"{package} fails to import ({type(error).__name__})")
    return sorted(loaded), sorted(broken)
