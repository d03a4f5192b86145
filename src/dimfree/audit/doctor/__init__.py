"""Check the installation: versions, entropy, floating point, samplers. No data are read."""

from dataclasses import dataclass

VERDICTS = ("fine", "missing", "bad")  # missing: something optional; bad: do not release here


@dataclass(frozen=True)
class Finding:
    """One line of the checkup: what was found, and what to do if that is not fine. Public."""

    topic: str
    check: str
    verdict: str
    found: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"Expected verdict={self.verdict!r} to be one of {', '.join(VERDICTS)}.")


def judge(topic: str, check: str, fine: bool, found: str, remedy: str) -> Finding:
    """Return a finding that is fine, or bad with its remedy."""
    return Finding(topic, check, "fine" if fine else "bad", found, "" if fine else remedy)
