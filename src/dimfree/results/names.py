"""Names and numbers as short text: names whatever they contain, numbers with no more digits than their noise leaves."""

import math
import unicodedata
from collections.abc import Iterable, Sequence

LONGEST = 120  # characters of a name in a table
_TURNING = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)  # would reverse the direction of other text
_UNSEEN = ("Cc", "Cs", "Co", "Cn")  # control characters, lone surrogates, private and unassigned characters


def shown_name(name: object, longest: int = LONGEST) -> str:
    """One line without control characters, cut where it grows too long; wide letters count twice."""
    line = " ".join("".join(_visible(letter) for letter in str(name)).split())
    width = 0
    kept: list[str] = []
    for letter in line:
        width += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if width > longest:
            return "".join(kept[: max(len(kept) - 1, 1)]) + "…"
        kept.append(letter)
    return line or "(no name)"


def shown_names(columns: Sequence[str] | None, places: Iterable[int]) -> list[str]:
    """Of the columns at these places; numbers from 0 where the table had no names."""
    return [f"column {place}" if columns is None else shown_name(columns[place]) for place in places]


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    unseen = letter in _TURNING or unicodedata.category(letter) in _UNSEEN
    return "\N{REPLACEMENT CHARACTER}" if unseen else letter


def with_noise_digits(noise: float, value: float) -> str:
    """As many decimals as give the noise two digits: more would be meaningless."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def typeset(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
