"""Numbers as text for a page."""

import re

from markupsafe import Markup, escape

from dimfree.results.names import typeset


def number(value: float) -> str:
    """Four digits: enough to read; the release record has all of them."""
    size = abs(value)
    text = f"{float(f'{value:.4g}'):,.0f}" if 1e4 <= size < 1e9 else f"{value:.4g}"
    return typeset(text)


def digits(value: float, count: int) -> str:
    """This many digits, also where the last one is 0."""
    return typeset(f"{value:#.{count}g}".rstrip("."))


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
