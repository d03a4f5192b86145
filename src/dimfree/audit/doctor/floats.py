"""The floating-point arithmetic that the proofs take for granted: IEEE doubles, rounded to nearest, subnormals kept.

A library that was built for speed may have switched that off for the whole process when it was loaded, so everything
dimfree may load is loaded first. Arithmetic is tried out, in Python and in NumPy, here and in a fresh thread; operands
come in as arguments, since a constant expression would be computed when this file is compiled.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np

from dimfree.audit.doctor.finding import Finding, judged
from dimfree.simulation import public_simulation

TOPIC = "floating point"
_NEIGHBOURS = ("scipy.linalg", "scipy.special", "sklearn.utils", "opendp.prelude", "pandas", "pyarrow")
_FASTMATH = (
    "A library in this process changed the processor's floating-point flags (often one built with -ffast-math): find it"
    " by importing fewer packages, update or remove it. Guarantees do not hold until then."
)
_PLATFORM = "Guarantees are proved for IEEE doubles, each operation rounded once: use another machine or build."


def floats() -> Iterator[Finding]:
    """Each property on plain floats and on arrays of them, in this thread and another."""
    loaded, broken = _load()
    yield judged(TOPIC, "format", _is_binary64(), "64-bit IEEE doubles" if _is_binary64() else "other", _PLATFORM)
    for check, holds, remedy in (
        ("rounding", rounds_to_nearest, _FASTMATH),
        ("subnormal numbers", keeps_subnormals, _FASTMATH),
        ("extended precision", rounds_once, _PLATFORM),
        ("matrix products", adds_plainly, _PLATFORM),
    ):
        fine = _everywhere(holds)
        said = _GOOD[check] if fine else _BAD[check]
        yield judged(TOPIC, check, fine, said, remedy)
    remedy = "Reinstall what fails to import: its build does not fit the others."
    yield judged(TOPIC, "loaded before looking", not broken, ", ".join(broken or loaded), remedy)


_GOOD = {
    "rounding": "to nearest, ties to even",
    "subnormal numbers": "kept, as operands and as results",
    "extended precision": "none: every operation is rounded once",
    "matrix products": "exact on integers below 2^53",
}
_BAD = {
    "rounding": "not to nearest",
    "subnormal numbers": "flushed to zero",
    "extended precision": "operations are rounded twice or fused",
    "matrix products": "wrong on integers below 2^53",
}


def rounds_to_nearest(as_number: Callable[[float], Any]) -> bool:
    """In every other mode one of these rounds away, or a tie goes to the odd neighbour."""
    one, little, half = as_number(1.0), as_number(2.0**-60), as_number(2.0**-53)
    odd = as_number(1.0 + 2.0**-52)
    stays = all(bool(np.all(near == one)) for near in (one + little, one - little, one + half))
    return stays and bool(np.all(-one - little == -one)) and bool(np.all(odd + half == as_number(1.0 + 2.0**-51)))


def keeps_subnormals(as_number: Callable[[float], Any]) -> bool:
    """Results below the smallest normal number are not zero, and such operands are not taken for zero."""
    smallest, half = as_number(sys.float_info.min), as_number(0.5)
    below = smallest * half
    tiny, large = as_number(5e-324), as_number(2.0**1000)
    return bool(np.all(below + below == smallest)) and bool(np.all(tiny * large == as_number(2.0**-74)))


def rounds_once(as_number: Callable[[float], Any]) -> bool:
    """80-bit registers would round 1e16 + 2.99999999 twice; a fused multiply-add would keep a square's last bits."""
    sum_ = as_number(1e16) + as_number(2.99999999)
    near = as_number(1.0 + 2.0**-27)
    return bool(np.all(sum_ == as_number(1e16 + 2))) and bool(np.all(near * near - as_number(1 + 2.0**-26) == 0))


def adds_plainly(_: Callable[[float], Any]) -> bool:
    """A product of whole-number matrices whose partial sums all fit is exact, whatever library multiplies."""
    draws = public_simulation().integers(-(2**22), 2**22, (2, 65, 65))
    left, right = draws.astype(np.float64)
    return bool(np.array_equal(left @ right, (draws[0] @ draws[1]).astype(np.float64)))


def _everywhere(holds: Callable[[Callable[[float], Any]], bool]) -> bool:
    """On floats and on arrays long enough for vector instructions; here and in a thread that starts now."""
    answers: list[bool] = []

    def ask() -> None:
        with np.errstate(all="ignore"):
            answers.extend((holds(float), holds(lambda x: np.full(67, x))))

    ask()
    thread = Thread(target=ask)
    thread.start()
    thread.join()
    return len(answers) == 4 and all(answers)


def _is_binary64() -> bool:
    return (sys.float_info.mant_dig, sys.float_info.max_exp, sys.float_info.min_exp) == (53, 1024, -1021)


def _load() -> tuple[list[str], list[str]]:
    """What could be loaded, and what is there but fails; what is not there is for another check to tell."""
    loaded, broken = set(), set()
    for name in _NEIGHBOURS:
        package = name.partition(".")[0]
        try:
            importlib.import_module(name)
            loaded.add(package)
        except ModuleNotFoundError:
            continue
        except Exception as error:  # noqa: BLE001 - builds that do not fit fail in many ways
            broken.add(f"{package} fails to import ({type(error).__name__})")
    return sorted(loaded), sorted(broken)
