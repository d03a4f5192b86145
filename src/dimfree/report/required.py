"""What a report loads beyond a release. Nothing of it is imported here, so that its absence can be told."""

import importlib

from dimfree._validate import install_command
from dimfree.errors import InvalidParameter

_NEEDED = ("jinja2", "altair", "vl_convert", "scipy.optimize")  # the last for intervals; it loads when first used


def require_report() -> None:
    """Load whatever a report needs beyond a release; call it before any budget is spent."""
    try:
        for name in _NEEDED:
            importlib.import_module(name)
    except Exception:  # noqa: BLE001 - missing, or whatever a broken package raises
        raise InvalidParameter(
            f"A report needs Jinja and Altair: install them with {install_command('report')}."
        ) from None
