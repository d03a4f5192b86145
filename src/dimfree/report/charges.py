"""What a release was charged, summed by purpose: a short table above the full list."""

import re

from dimfree.accounting.events import Branch, Gaussian, Tested
from dimfree.accounting.losses import Loss
from dimfree.accounting.precision import compose
from dimfree.accounting.several_runs.costs import AnyCosts

_NUMBER = re.compile(r" \d+$")  # "stage 3" is one of several stages
_PLAIN = {
    "friend radius": "how far apart records are",
    "mean": "mean of the core",
    "unit of the scores": "scale of the variances",
    "variances": "variances of the coordinates",
    "clipping radius": "radii for clipping",
    "unevenness of the coordinates": "choice of coordinates: how unequal the columns are",
    "weight of the coordinates": "choice of coordinates: total variance, for comparison",
    "spread in the basis": "choice of coordinates: variance that the cosine transform concentrates",
    "togetherness of the coordinates": "choice of coordinates: correlation of the columns (one number)",
    "basis": "directions of the records",
    "stage": "means of clipped records, stage by stage",
    "stability test": "stability test that was chosen",
    "noisy lower bound": "lower bound on the weight of the records",
}

Row = tuple[str, str, str]
Event = Gaussian | Branch | Loss


def gathered(ledger: AnyCosts) -> list[Row]:
    """(purpose, how, cost): Gaussian releases of one purpose add up by precision, mu².

    Of several prepared tests the most expensive one counts; other costs are listed one by one.
    """
    found: dict[object, list[tuple[Event, Row]]] = {}
    for place, (event, row) in enumerate(zip(ledger.events, ledger.summary_rows(), strict=True)):
        alike = isinstance(event, Gaussian | Tested)
        found.setdefault((type(event), _NUMBER.sub("", row[0])) if alike else place, []).append((event, row))
    return [_together(parts) for parts in found.values()]


def _together(parts: list[tuple[Event, Row]]) -> Row:
    event, (purpose, how, cost) = parts[0]
    purpose = _NUMBER.sub("", purpose) if len(parts) > 1 else purpose
    shown = _PLAIN.get(purpose, purpose)
    if len(parts) == 1:
        return shown, spelt(how), cost
    mus = [each.mu for each, _ in parts if isinstance(each, Gaussian | Tested)]
    if isinstance(event, Tested):
        return shown, f"one bit, {len(parts)} prepared", f"then mu <= {max(mus):.4g}"
    return shown, f"discrete Gaussian, {len(parts)} times", f"mu = {compose(mus):.4g} together"


def spelt(how: str) -> str:
    """1 value, 2 values."""
    return re.sub(r"\b(\d+) (\w+)\(s\)", lambda found: f"{found[1]} {found[2]}{'' if found[1] == '1' else 's'}", how)
