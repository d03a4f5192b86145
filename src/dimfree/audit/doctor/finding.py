"""Finding: what one check saw, whether that is fine, and what to do if not. Public."""

from dataclasses import asdict, dataclass
from typing import Any

VERDICTS = ("fine", "missing", "bad")  # missing: something optional; bad: do not release here


@dataclass(frozen=True)
class Finding:
    """One line of the checkup."""

    topic: str
    check: str
    verdict: str
    found: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"Expected verdict={self.verdict!r} to be one of {', '.join(VERDICTS)}.")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def judged(topic: str, check: str, fine: bool, found: str, remedy: str) -> Finding:
    """Fine, or bad with its remedy."""
    return Finding(topic, check, "fine" if fine else "bad", found, "" if fine else remedy)
