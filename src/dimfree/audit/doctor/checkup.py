"""The whole checkup, in the order in which one thing rests on another; first of all versions of Python and packages."""

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version

from dimfree._validate.extras import REQUIREMENT, listed_requirements, pip_command
from dimfree.audit.doctor import Finding, judge
from dimfree.audit.doctor.floats import check_floats
from dimfree.audit.doctor.samplers import FALSE_ALARM, check_entropy, check_samplers

TOPIC = "installation"
OLDEST_PYTHON = (3, 11)
_FOR_DEVELOPERS = ("dev", "docs", "peers")  # peers is for benchmarks, and wants an older scikit-learn than a user has


def checkup() -> Iterator[Finding]:
    """Yield every finding; a healthy machine is called bad with probability at most FALSE_ALARM."""
    yield from check_installation()
    yield from check_floats()
    yield from check_entropy()
    yield from check_samplers()


def is_healthy(findings: list[Finding]) -> bool:
    """Return whether nothing is bad; what is optional may be missing."""
    return all(finding.verdict != "bad" for finding in findings)


def to_json(findings: list[Finding], dimfree: str) -> str:
    rows = [asdict(finding) for finding in findings]
    document = {"dimfree": dimfree, "healthy": is_healthy(findings), "false_alarm": FALSE_ALARM, "findings": rows}
    return json.dumps(document, indent=2) + "\n"


def summarize(findings: list[Finding]) -> str:
    """Write one sentence, and one for each thing to do."""
    bad = [finding for finding in findings if finding.verdict == "bad"]
    missing = [finding.check for finding in findings if finding.verdict == "missing"]
    optional = f" Optional and not installed: {', '.join(missing)}." if missing else ""
    if not bad:
        return f"This installation is fit for release. (Chance of a false alarm: {FALSE_ALARM:g}.){optional}"
    again = f"Samplers of a healthy machine are called bad once in {1 / FALSE_ALARM:.0f} checkups at most."
    steps = "\n".join(f"- {finding.topic}, {finding.check}: {finding.remedy}" for finding in bad)
    return f"Not fit for release, {len(bad)} thing(s) to fix:\n{steps}\n{again}{optional}"


def check_installation() -> Iterator[Finding]:
    """Compare versions with what dimfree requires. An optional package may be missing, but not be too old."""
    enough = sys.version_info >= OLDEST_PYTHON
    remedy = f"Install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer."
    yield judge(TOPIC, "Python", enough, f"{sys.version.split()[0]}, {sys.platform}", remedy)
    yield from check_packages(listed_requirements())
    count = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    yield Finding(TOPIC, "cores", "fine", f"{usable} of {count} may be used")


def check_packages(requirements: list[str] | None) -> Iterator[Finding]:
    """Yield one finding for each requirement, written as in a package's metadata."""
    if requirements is None:
        yield Finding(TOPIC, "dimfree", "missing", "run from its source; versions are not known", "pip install .")
        return
    for text in requirements:
        name, extras, needed, extra = REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
        if extra not in _FOR_DEVELOPERS and not extras:
            yield _check_package(name, needed.strip(), extra)


def _check_package(name: str, needed: str, extra: str | None) -> Finding:
    remedy = pip_command(f"{name}{needed}")
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Finding(TOPIC, name, "bad" if extra is None else "missing", f"not installed, needs {needed}", remedy)
    return judge(TOPIC, name, _is_enough(installed, needed), f"{installed}, needs {needed or 'any version'}", remedy)


def _is_enough(installed: str, needed: str) -> bool:
    """Return whether every bound of the kind >=, < or == holds, by the numbers of a release; others are pip's."""
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
