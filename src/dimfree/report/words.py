"""What methods and public parameters mean, in a sentence each."""

import math
import re

from markupsafe import Markup, escape

from dimfree.results.release import Release

METHODS = {
    "auto": "Nothing was known beforehand. Number, scale, location and variances of the records were learned inside "
    "the budget: a stable core found the records that agree with most others, then all records were clipped about it "
    "again and again, in a shape learned on the way.",
    "recentred": "The spread of the records was known. A stable core found the records that agree with most others; "
    "all records were then clipped about it, stage by stage, and all outputs combined by their precision.",
    "stable": "The spread of the records was known. A stable core averaged the records that agree with most others, "
    "behind a one-bit test of its own stability.",
    "soft": "The spread of the records was known, and records were few: each was weighted by how many others are near, "
    "and the noise rests on a released lower bound of the total weight.",
    "basic": "The paper's filter: each record was kept by a coin that depends on how many others are near.",
    "paper": "The paper's Algorithm 2 with sound constants: groups of one random half voted on the variances, the "
    "other half was averaged. The mean is about that half.",
}
_COORDINATES = " `basis` below says in which coordinates."
_BASELINE = "Somebody else's estimator, kept for comparison."

PARAMETERS = {
    "count": "number of records: with noise under add-remove, public under replace-one",
    "count_at_least": "the number of records exceeds this with high probability",
    "averaged_at_least": "records behind the mean, at least, with high probability",
    "weight_lower_bound": "total weight of the records, at least",
    "radius": "records nearer than this count as friends",
    "full_share": "a record with this share of friends has full weight",
    "scale": "by how much the stated standard deviations were multiplied",
    "stages": "times that all records were clipped and averaged again",
    "block": "coordinates that the stages looked at together",
    "basis": "coordinates in which the noise was shaped",
    "forecast_own_axes": "noise of a spherical shape over that of one along the columns, read cautiously",
    "forecast_dct": "noise of a spherical shape over that of one along the cosine transform of the columns, read "
    "cautiously",
    "forecast_learned": "noise of a spherical shape over that of one along learned directions, read cautiously; 0: not "
    "to be learned at this budget and width",
    "forecast_refined": "noise of a shape along the columns over that of one along learned directions, read "
    "cautiously; 0: not to be learned at this budget and width",
    "promised_gain": "noise without the learned directions over that with them, as predicted from what was released",
    "directions": "directions that stood out of the noise",
    "estimates": "what the released mean is a mean of",
    "top": "coordinates with a variance of their own",
    "group_size": "records in each group that voted",
    "groups": "groups that voted",
    "stddev": "bound on the standard deviation of a column",
}
BASES = {
    "own axes": "noise follows the variances of the columns",
    "spherical": "noise alike in all columns: nothing promised to pay",
    "dct": "noise follows variances in the cosine transform over the order of the columns",
    "haar": "noise follows variances in the Haar wavelets over the order of the columns",
    "hadamard": "noise follows variances in the Walsh–Hadamard transform of the columns",
    "given": "noise follows variances along the public axes that were given",
    "learned": "noise follows directions learned from the records",
}
MOST_DIRECTIONS = 5  # told in words; the release holds all of them
_LEFT_OUT = "those that are mostly the released centre's own error are left out"


def method_words(release: Release) -> str:
    words = METHODS.get(release.method, _BASELINE)
    return words + _COORDINATES if "basis" in release.parameters else words


def parameter_rows(release: Release) -> list[tuple[str, str, str]]:
    """(name, value, meaning)."""
    return [(name, _value(value), _meaning(release, name)) for name, value in release.parameters.items()]


def _meaning(release: Release, name: str) -> str:
    words = PARAMETERS.get(name, "")
    if name == "basis":
        return BASES.get(str(release.parameters[name]), words)
    return f"{words}{_told_directions(release)}" if name == "directions" else words


def _told_directions(release: Release) -> str:
    """Share and angle of the strongest; one that stood out and is not in the release was mostly the centre's error."""
    if release.parameters.get("basis") != "learned":
        return "; they promised too little to shape the noise"
    found = None if release.shape is None else release.shape.directions
    pairs = [] if found is None else list(zip(found.shares.tolist(), found.angles.tolist(), strict=True))
    told = [f"{_percent(share)} of the spread, turned by at most {_degrees(angle)}" for share, angle in pairs]
    more = [f"and {len(told) - MOST_DIRECTIONS} more"] if len(told) > MOST_DIRECTIONS else []
    fewer = [_LEFT_OUT] if len(told) < int(release.parameters["directions"]) else []
    return f": {'; '.join(told[:MOST_DIRECTIONS] + more + fewer)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "below 1 %"


def _degrees(angle: float) -> str:
    """A bound, so rounded up, but for what the change of units adds."""
    return f"{math.ceil(math.degrees(angle) - 1e-9)}°"


def _value(value: float | int | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Four digits: enough to read, too few to mistake for the record, which has them all."""
    size = abs(value)
    text = f"{float(f'{value:.4g}'):,.0f}" if 1e4 <= size < 1e9 else f"{value:.4g}"
    return _typeset(text)


def beside(noise: float, value: float) -> str:
    """As many decimals as give the noise two digits: more would be made up."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return _typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return _typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def digits(value: float, count: int) -> str:
    """So many digits, the last one shown even where it is 0."""
    return _typeset(f"{value:#.{count}g}".rstrip("."))


def power(value: float) -> str:
    """A small number as a power of ten, exactly: 1e-06 is 10⁻⁶."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return repr(value)
    factor = "" if mantissa == "1" else f"{mantissa} · "
    return f"{factor}10{str(int(exponent)).translate(_RAISED)}"


def with_code(text: str) -> Markup:
    """Escaped text in which what stands between backticks is set as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _typeset(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
