"""Templates and texts of a report. They hold words and layout; Python supplies the numbers."""

import importlib
import platform
import re
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dimfree._validate import install_command
from dimfree.errors import InvalidParameterError
from dimfree.results.mean_table import typeset

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PACKAGES = ("dimfree", "numpy", "scipy", "opendp")
_NEEDED = ("jinja2", "altair", "vl_convert", "scipy.optimize")  # the last for intervals
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def require_report() -> None:
    """Load the packages that a report needs; call it before any budget is charged."""
    try:
        for name in _NEEDED:
            importlib.import_module(name)
    except Exception:  # noqa: BLE001 - missing, or whatever a broken package raises
        raise InvalidParameterError(
            f"A report needs Jinja and Altair: run {install_command('report')}. No budget was charged."
        ) from None


@cache
def load_words() -> dict[str, Any]:
    """Load words.toml; in [remedies], a key of [advice] stands for its sentence."""
    found = tomllib.loads((files("dimfree.report") / "templates" / "words.toml").read_text(encoding="utf-8"))
    remedies = {
        reason: [found["advice"].get(each, each) for each in steps] for reason, steps in found["remedies"].items()
    }
    return found | {"remedies": remedies}


def fill_template(template: str, **values: Any) -> str:
    """Fill a template; in HTML every value is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from dimfree.report.summary import describe_charges

    environment = Environment(
        loader=PackageLoader("dimfree.report"),
        autoescape=lambda name: name is None or name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": format_number, "power": format_power, "spelt": pluralize, "with_code": mark_code}
    environment.filters["summary_rows"] = describe_charges
    return environment


def list_versions() -> dict[str, str]:
    """Return the versions of the software that writes the report."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            found[name] = "not installed as a package"
    return found


def format_number(value: float) -> str:
    """Format with four digits; the release file has all digits."""
    size = abs(value)
    text = f"{float(f'{value:.4g}'):,.0f}" if 1e4 <= size < 1e9 else f"{value:.4g}"
    return typeset(text)


def format_power(value: float) -> str:
    """Write a small number as a power of ten, exactly: 1e-06 is 10⁻⁶."""
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return repr(value)
    factor = "" if mantissa == "1" else f"{mantissa} · "
    return f"{factor}10{str(int(exponent)).translate(_RAISED)}"


def pluralize(how: str) -> str:
    """Write 1 value, 2 values instead of value(s)."""
    return re.sub(r"\b(\d+) (\w+)\(s\)", lambda found: f"{found[1]} {found[2]}{'' if found[1] == '1' else 's'}", how)


def mark_code(text: str) -> "Markup":
    """Escape a text; backticks mark code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
