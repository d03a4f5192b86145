"""What methods and public parameters mean: one sentence each."""

import math

from dimfree.results.names import shown_name
from dimfree.results.release import Release

METHODS = {
    "auto": "Nothing was known beforehand. Number, scale, location and variances of the records were learned inside "
    "the budget: a stable core found the records that agree with most others, then all records were clipped around it "
    "in several stages, in a shape learned from released values.",
    "columns": "Nothing was known beforehand. Magnitude, place and spread of every column were read from noisy "
    "histograms of that column alone. All records were then averaged about this centre, those beyond a radius drawn in "
    "to it; a noisy histogram of their distances chose the radius. Every step adds Gaussian noise: there is no test of "
    "the records, and no refusal that depends on their values.",
    "recentred": "The spread of the records was known. A stable core found the records that agree with most others; "
    "all records were then clipped around it in several stages, and the outputs were averaged, weighted by their "
    "precision.",
    "stable": "The spread of the records was known. A stable core averaged the records that agree with most others, "
    "after a private test (one bit) that the core is stable.",
    "soft": "The spread of the records was known, and records were few: each was weighted by how many others are near, "
    "and the noise is scaled by a released lower bound on the total weight.",
    "basic": "The paper's filter: each record was kept with a probability that depends on how many others are near.",
    "paper": "The paper's Algorithm 2 with sound constants: the variances were estimated privately from groups of one "
    "random half of the records, and the mean from the other half.",
}
_COORDINATES = " `basis` below says in which coordinates."
_BASELINE = "An estimator by other authors, for comparison."

PARAMETERS = {
    "count": "number of records: with noise under add-remove, public under replace-one",
    "count_at_least": "the number of records exceeds this with high probability",
    "averaged_at_least": "records behind the mean, at least, with high probability",
    "weight_lower_bound": "total weight of the records, at least",
    "objective": "what is kept small: the error of every column beside that column's own spread (relative), or the "
    "error over all columns together (total)",
    "radius": "two records closer than this count as close",
    "full_share": "a record that is close to this share of the others has full weight",
    "scale": "factor by which the stated standard deviations were multiplied",
    "stages": "number of times that all records were clipped and averaged",
    "block": "coordinates that are rotated together in the stages",
    "basis": "coordinates in which the noise was shaped",
    "forecast_own_axes": "noise of a spherical shape over that of one along the columns, a cautious estimate",
    "forecast_dct": "noise of a spherical shape over that of one along the cosine transform of the columns, a "
    "cautious estimate",
    "forecast_learned": "noise of a spherical shape over that of one along learned directions, a cautious estimate; 0: "
    "cannot be learned at this budget and width",
    "forecast_refined": "noise of a shape along the columns over that of one along learned directions, a "
    "cautious estimate; 0: not to be learned at this budget and width",
    "promised_gain": "noise without the learned directions over that with them, as predicted from what was released",
    "directions": "directions that are stronger than the noise",
    "bounds": "public bounds of columns: an entry beyond counted as the bound; the mean is that of the entries so held",
    "estimates": "what the released mean is a mean of",
    "top": "coordinates whose variances were estimated one by one",
    "group_size": "records in each group",
    "groups": "number of groups",
    "stddev": "bound on the standard deviation of a column",
}
BASES = {
    "own axes": "noise follows the variances of the columns",
    "spherical": "the same noise in all columns: no shape was predicted to reduce it",
    "dct": "noise follows variances in the cosine transform over the order of the columns",
    "given": "noise follows variances along the public axes that were given",
    "learned": "noise follows directions learned from the records",
}
_LONGEST_VALUE = 1000  # characters; bounds may be many
MOST_DIRECTIONS = 5  # described on the page; the release holds all of them
_LEFT_OUT = "those that consist mostly of the error of the released centre are left out"


def method_meaning(release: Release) -> str:
    """What the method did, in one or two sentences."""
    text = METHODS.get(release.method, _BASELINE)
    return text + _COORDINATES if "basis" in release.parameters else text


def parameter_rows(release: Release) -> list[tuple[str, str, str]]:
    """(name, value, meaning)."""
    return [(name, _value(value), _meaning(release, name)) for name, value in release.parameters.items()]


def _meaning(release: Release, name: str) -> str:
    text = PARAMETERS.get(name, "")
    if name == "basis":
        return BASES.get(str(release.parameters[name]), text)
    return f"{text}{_directions(release)}" if name == "directions" else text


def _directions(release: Release) -> str:
    """Share and angle of the strongest. A direction that is missing in the release was mostly error of the centre."""
    if release.parameters.get("basis") != "learned":
        return "; they were predicted to reduce the noise too little to be used"
    found = None if release.shape is None else release.shape.directions
    pairs = [] if found is None else list(zip(found.shares.tolist(), found.angles.tolist(), strict=True))
    shown = [f"{_percent(share)} of the spread, turned by at most {_degrees(angle)}" for share, angle in pairs]
    more = [f"and {len(shown) - MOST_DIRECTIONS} more"] if len(shown) > MOST_DIRECTIONS else []
    fewer = [_LEFT_OUT] if len(shown) < int(release.parameters["directions"]) else []
    return f": {'; '.join(shown[:MOST_DIRECTIONS] + more + fewer)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "below 1 %"


def _degrees(angle: float) -> str:
    """An upper bound, so it is rounded up."""
    return f"{math.ceil(math.degrees(angle) - 1e-9)}°"


def _value(value: float | int | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown_name(value, _LONGEST_VALUE)
