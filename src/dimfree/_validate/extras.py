"""The packages of an extra, from the metadata of this installation.

No message names dimfree as a package to install: on a package index this name may belong to another project.
"""

import re

REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(\[[^]]*\])?\s*([^;]*)(?:;.*?extra == ['\"]([^'\"]+)['\"])?")


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    packages = [required for required, of in map(_parse_requirement, list_requirements() or ()) if of == extra]
    return pip_command(*packages) if packages else f"pip install '.[{extra}]' in a checkout of dimfree"


def pip_command(*packages: str) -> str:
    """Return the command that installs these packages."""
    return " ".join(["pip install", *map(repr, packages)])


def list_requirements() -> list[str] | None:
    """List the requirements of this installation, extras included; None if it has no metadata."""
    from importlib.metadata import PackageNotFoundError, requires  # not for every start of the command

    try:
        return requires("dimfree") or []
    except PackageNotFoundError:
        return None


def _parse_requirement(text: str) -> tuple[str, str | None]:
    """Split a requirement into the text for pip and its extra."""
    name, extras, version, extra = REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
    return f"{name}{extras or ''}{version.strip()}", extra
