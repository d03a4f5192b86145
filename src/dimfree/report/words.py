"""What methods and public parameters mean, in a sentence each."""

import math
import re

from markupsafe import Markup, escape

from dimfree.result import Release

METHODS = {
    "auto": "Nothing was known beforehand. Number, scale, location and variances of the records were learned inside "
    "the budget: a stable core found the records that agree with most others, then all records were clipped about it "
    "again and again, in a shape that follows the learned variances, in the coordinates that promised the least noise.",
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
    "forecast_dct": "the same for one along the cosine transform of the columns",
    "forecast_learned": "the same for one along learned directions; 0: not to be learned at this budget",
    "forecast_refined": "noise of the shape along the columns over that of one with learned directions; 0: as above",
    "promised_gain": "noise without the learned directions over that with them, as predicted from what was released",
    "directions": "directions that stood out of the noise",
    "estimates": "what the released mean is a mean of",
    "top": "coordinates with a variance of their own",
    "group_size": "records in each group that voted",
    "groups": "groups that voted",
    "stddev": "bound on the standard deviation of a column",
}


def method_words(release: Release) -> str:
    return METHODS.get(release.method, _BASELINE)


def parameter_rows(release: Release) -> list[tuple[str, str, str]]:
    """(name, value, meaning)."""
    return [(name, _value(value), PARAMETERS.get(name, "")) for name, value in release.parameters.items()]


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
