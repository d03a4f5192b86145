"""Numbers as text for a page."""

import math
import re

from markupsafe import Markup, escape


def number(value: float) -> str:
    """Four digits: enough to read; the release record has all of them."""
    size = abs(value)
    text = f"{float(f'{value:.4g}'):,.0f}" if 1e4 <= size < 1e9 else f"{value:.4g}"
    return _typeset(text)


def with_noise_digits(noise: float, value: float) -> str:
    """As many decimals as give the noise two digits: more would be meaningless."""
    if not 1e-6 <= noise < 1e9 or abs(value) >= 1e12:
        return _typeset(f"{value:.4g}")
    decimals = max(0, 1 - math.floor(math.log10(noise)))
    return _typeset(f"{round(value, decimals) + 0.0:,.{decimals}f}")  # + 0.0: no sign before a zero


def digits(value: float, count: int) -> str:
    """This many digits, also where the last one is 0."""
    return _typeset(f"{value:#.{count}g}".rstrip("."))


def power(value: float) -> str:
    """A small number as a power of ten, exactly: 1e-06 is 10⁻⁶."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return repr(value)
    factor = "" if mantissa == "1" else f"{mantissa} · "
    return f"{factor}10{str(int(exponent)).translate(_RAISED)}"


def with_code(text: str) -> Markup:
    """Escaped text; what is between backticks becomes code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _typeset(text: str) -> str:
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}").replace("-", "\N{MINUS SIGN}")
