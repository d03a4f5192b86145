"""The page about the tree lists every package, and what must be trusted stays small."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/internals/architecture.md").read_text(encoding="utf-8")
MAX_TRUSTED = 5400


def test_the_page_lists_every_package():
    packages = {path.parent.name for path in (ROOT / "src/dimfree").glob("*/__init__.py")}
    assert packages <= {name.rstrip("/") for name in re.findall(r"`(\w+)/`", PAGE)}


def test_the_trusted_files_have_no_more_lines_than_the_page_states():
    """Each row states at least its own lines, every file of the kernel is in a row, all have at most MAX_TRUSTED."""
    counted: dict[Path, int] = {}
    rows = re.findall(r"^\| ((?:`[\w/*]+\.py` ?)+)\| (\d+) \|", PAGE, re.MULTILINE)
    for patterns, stated in rows:
        files = {file for pattern in patterns.split() for file in (ROOT / "src/dimfree").glob(pattern.strip("`"))}
        lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
        assert 0 < sum(lines.values()) <= int(stated), patterns
        counted |= lines
    assert len(rows) == 6
    assert set((ROOT / "src/dimfree/kernel").rglob("*.py")) <= set(counted)
    assert sum(counted.values()) <= MAX_TRUSTED
