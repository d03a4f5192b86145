"""What to install for an extra: the packages of others, as the metadata of this installation list them.

No message advises to install dimfree itself by name: that name on a package index may belong to somebody else.
"""

import re

REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(\[[^]]*\])?\s*([^;]*)(?:;.*?extra == ['\"]([^'\"]+)['\"])?")


def install_command(extra: str) -> str:
    """Word the command that installs the packages of an extra."""
    packages = [required for required, of in map(_parsed, listed_requirements() or ()) if of == extra]
    return pip_command(*packages) if packages else f"pip install '.[{extra}]' in a checkout of dimfree"


def pip_command(*packages: str) -> str:
    """Word the command that installs these packages."""
    return " ".join(["pip install", *map(repr, packages)])


def listed_requirements() -> list[str] | None:
    """List what this installation requires, extras included; None if it has no metadata."""
    from importlib.metadata import PackageNotFoundError, requires  # not for every start of the command

    try:
        return requires("dimfree") or []
    except PackageNotFoundError:
        return None


def _parsed(text: str) -> tuple[str, str | None]:
    """Split a requirement into what pip installs and the extra it belongs to."""
    name, extras, version, extra = REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
    return f"{name}{extras or ''}{version.strip()}", extra
