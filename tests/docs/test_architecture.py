"""The page about the tree lists every package."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_lists_every_package():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "src/dimfree").glob("*/__init__.py")}
    assert packages <= {name.rstrip("/") for name in re.findall(r"`(\w+)/`", page)}
