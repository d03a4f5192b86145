"""What a release was charged, summed by purpose: a short table above the full list."""

import re
from collections.abc import Mapping

from dimfree.accounting.composition import Composition
from dimfree.accounting.events import Branch, Costs, Gaussian, OnlyGaussian, Tested
from dimfree.accounting.losses import Loss
from dimfree.accounting.precision import compose
from dimfree.accounting.several_runs import AnyCosts, runs_of

_NUMBER = re.compile(r" \d+$")  # "stage 3" is one of several stages
_PLAIN = {
    "friend radius": "how far apart records are",
    "lengths on the ring": "how far apart neighbours on a secret ring are",
    "unit of the ring's scores": "scale of the variances, from neighbours on the ring",
    "variances on the ring": "variances of the coordinates, from neighbours on the ring",
    "mean": "mean of the core",
    "unit of the scores": "scale of the variances",
    "variances": "variances of the coordinates",
    "lengths of the records": "how long the records are, for the radius of clipping",
    "unevenness of the coordinates": "choice of coordinates: how unequal the columns are",
    "weight of the coordinates": "choice of coordinates: total variance, for comparison",
    "spread in the basis": "choice of coordinates: variance that the cosine transform concentrates",
    "togetherness of the coordinates": "choice of coordinates: correlation of the columns (one number)",
    "basis": "directions of the records",
    "stage": "means of clipped records, stage by stage",
    "stability test": "stability test that was chosen",
    "noisy lower bound": "lower bound on the weight of the records",
    "no test": "another way, without a test, that was prepared",
}
_BY_COLUMNS = _PLAIN | {  # where the way without a test was chosen
    "no test": "everything below, together",
    "stability test": "stability tests that were prepared; none was needed",
    "magnitudes of columns in doubt": "magnitudes of columns in doubt, once more",
    "places of the columns": "where the records lie in each column",
    "centre": "centre of the records",
    "variances": "spreads of the columns",
    "lengths of the records": "distances of the records from the centre",
    "mean": "mean of all records, within reach",
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
    names = _BY_COLUMNS if any(map(_by_columns, runs_of(ledger))) else _PLAIN
    return [_together(parts, names) for parts in found.values()]


def _by_columns(run: Costs | Composition) -> bool:
    """Whether a run was made of Gaussian releases alone."""
    return isinstance(run, Costs) and run.chosen is not None and isinstance(run.menu[run.chosen], OnlyGaussian)


def _together(parts: list[tuple[Event, Row]], names: Mapping[str, str]) -> Row:
    event, (purpose, how, cost) = parts[0]
    purpose = _NUMBER.sub("", purpose) if len(parts) > 1 else purpose
    shown = names.get(purpose, purpose)
    if len(parts) == 1:
        return shown, spelt(how), cost
    mus = [each.mu for each, _ in parts if isinstance(each, Gaussian | Tested)]
    if isinstance(event, Tested):
        return shown, f"one bit, {len(parts)} prepared", f"then mu <= {max(mus):.4g}"
    return shown, f"discrete Gaussian, {len(parts)} times", f"mu = {compose(mus):.4g} together"


def spelt(how: str) -> str:
    """1 value, 2 values."""
    return re.sub(r"\b(\d+) (\w+)\(s\)", lambda found: f"{found[1]} {found[2]}{'' if found[1] == '1' else 's'}", how)
