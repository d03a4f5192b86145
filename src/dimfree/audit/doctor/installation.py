"""Python, the packages that are needed and those that are optional, and the cores there are."""

import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from dimfree._validate.extras import REQUIREMENT, listed_requirements, pip_command
from dimfree.audit.doctor.finding import Finding, judged

TOPIC = "installation"
OLDEST_PYTHON = (3, 11)
_FOR_DEVELOPERS = ("dev", "docs", "peers")  # peers is for benchmarks, and wants an older scikit-learn than a user has


def installation() -> Iterator[Finding]:
    """Versions against what dimfree asks for. A package that is optional may be missing, but not be too old."""
    yield judged(
        TOPIC,
        "Python",
        sys.version_info >= OLDEST_PYTHON,
        f"{sys.version.split()[0]}, {sys.platform}",
        f"Install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer.",
    )
    yield from packages(listed_requirements())
    yield Finding(TOPIC, "cores", "fine", f"{_usable_cores()} of {os.cpu_count() or 1} may be used")


def packages(asked: list[str] | None) -> Iterator[Finding]:
    """One finding for each requirement, written as in a package's metadata."""
    if asked is None:
        yield Finding(
            TOPIC, "dimfree", "missing", "run from its source, so that versions are not known", "pip install ."
        )
        return
    for text in asked:
        name, extras, needed, extra = REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
        if extra not in _FOR_DEVELOPERS and not extras:
            yield _package(name, needed.strip(), extra)


def _package(name: str, needed: str, extra: str | None) -> Finding:
    remedy = pip_command(f"{name}{needed}")
    try:
        there = version(name)
    except PackageNotFoundError:
        return Finding(TOPIC, name, "bad" if extra is None else "missing", f"not there, needs {needed}", remedy)
    return judged(TOPIC, name, _new_enough(there, needed), f"{there}, needs {needed or 'any version'}", remedy)


def _new_enough(there: str, needed: str) -> bool:
    """Whether every bound of the kind >=, < or == holds, by the numbers of a release; other bounds are pip's affair."""
    mine = _numbers(there)
    for bound in needed.split(","):
        sign, _, limit = re.match(r"\s*(>=|<=|==|<|>|)(\s*)(.*)", bound).groups()  # type: ignore[union-attr]
        theirs = _numbers(limit)
        length = max(len(mine), len(theirs))
        left, right = (numbers + (0,) * (length - len(numbers)) for numbers in (mine, theirs))
        if not {">=": left >= right, "<=": left <= right, "==": left == right, "<": left < right}.get(sign, True):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+!-]", text.strip())[0]))


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
