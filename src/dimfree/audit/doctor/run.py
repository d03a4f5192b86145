"""The whole checkup, in the order in which one thing rests on another."""

import json
from collections.abc import Iterator

from dimfree.audit.doctor.finding import Finding
from dimfree.audit.doctor.floats import floats
from dimfree.audit.doctor.installation import installation
from dimfree.audit.doctor.samplers import FALSE_ALARM, entropy, samplers


def checkup() -> Iterator[Finding]:
    """Every finding, as it comes; a healthy machine is called bad with probability at most FALSE_ALARM."""
    yield from installation()
    yield from floats()
    yield from entropy()
    yield from samplers()


def healthy(findings: list[Finding]) -> bool:
    """Nothing is bad; what is optional may be missing."""
    return all(finding.verdict != "bad" for finding in findings)


def to_json(findings: list[Finding], version: str) -> str:
    document = {
        "dimfree": version,
        "healthy": healthy(findings),
        "false_alarm": FALSE_ALARM,
        "findings": [finding.to_dict() for finding in findings],
    }
    return json.dumps(document, indent=2) + "\n"


def summary(findings: list[Finding]) -> str:
    """One sentence, and one for each thing to do."""
    bad = [finding for finding in findings if finding.verdict == "bad"]
    missing = [finding.check for finding in findings if finding.verdict == "missing"]
    optional = f" Optional and not there: {', '.join(missing)}." if missing else ""
    if not bad:
        return f"This installation is fit for release. (Chance of a false alarm: {FALSE_ALARM:g}.){optional}"
    again = f"Bad samplers are bad luck once in {1 / FALSE_ALARM:.0f} checkups at most."
    steps = "\n".join(f"- {finding.topic}, {finding.check}: {finding.remedy}" for finding in bad)
    return f"Not fit for release, {len(bad)} thing(s) to mend:\n{steps}\n{again}{optional}"
