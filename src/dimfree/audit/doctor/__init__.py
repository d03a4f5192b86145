"""Check the installation: versions, entropy, floating point, samplers. No data are read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the checkup: what was found, and what to do if that is not fine. Public.

    The verdict is "fine", "missing" (something optional) or "bad" (do not release here).
    """

    topic: str
    check: str
    verdict: str
    found: str
    remedy: str = ""


def judge(topic: str, check: str, fine: bool, found: str, remedy: str) -> Finding:
    """Return a finding that is fine, or bad with its remedy."""
    return Finding(topic, check, "fine" if fine else "bad", found, "" if fine else remedy)
