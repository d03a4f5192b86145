"""Templates: they hold the words and the layout of a report; Python holds the numbers."""

import importlib
import platform
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from dimfree._validate import install_command
from dimfree.errors import InvalidParameter
from dimfree.results.names import typeset

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PACKAGES = ("dimfree", "numpy", "scipy", "opendp")
_NEEDED = ("jinja2", "altair", "vl_convert", "scipy.optimize")  # the last for intervals; it loads when first used
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def require_report() -> None:
    """Load whatever a report needs beyond a release; call it before any budget is spent."""
    try:
        for name in _NEEDED:
            importlib.import_module(name)
    except Exception:  # noqa: BLE001 - missing, or whatever a broken package raises
        raise InvalidParameter(
            f"A report needs Jinja and Altair: install them with {install_command('report')}."
        ) from None


def rendered(template: str, **values: Any) -> str:
    """Fill in a template; in pages every value is escaped."""
    return _environment().get_template(template).render(**values)


def words(name: str) -> Any:
    """Return one of the lists or dictionaries of words.txt."""
    return getattr(_environment().get_template("words.txt").module, name)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from dimfree.report.charges import spelt

    environment = Environment(
        loader=PackageLoader("dimfree.report"),
        autoescape=lambda name: name is None or name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "power": power, "spelt": spelt, "with_code": with_code}
    return environment


def versions() -> list[tuple[str, str]]:
    """Versions of the software that wrote the page. A record does not say which version made it."""
    return [("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return "not installed as a package"


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


def spanned(low: str, high: str) -> str:
    """From one number to another, or the one that both are."""
    return low if low == high else f"{low} to {high}"


def with_code(text: str) -> "Markup":
    """Escaped text; what is between backticks becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
