"""The table of tuning constants: every entry has a unit and a reason, and is used."""

import ast
import re
from pathlib import Path

import pytest

import dimfree
from dimfree.programs.choose import constants

PACKAGE = Path(dimfree.__file__).parent
TABLE = Path(constants.__file__)
LINES = TABLE.read_text(encoding="utf-8").splitlines()
ENTRIES = {
    leaf.id: node.lineno
    for node in ast.parse("\n".join(LINES)).body
    if isinstance(node, ast.Assign)
    for leaf in ast.walk(node.targets[0])
    if isinstance(leaf, ast.Name)
}


def test_the_table_is_read():
    assert len(ENTRIES) > 100


@pytest.fixture(scope="module")
def elsewhere():
    """All names in the code of the package but the table."""
    paths = [path for path in PACKAGE.rglob("*.py") if path != TABLE]
    return {name for path in paths for name in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


def test_every_entry_has_a_unit_and_a_reason():
    bare = [name for name, line in ENTRIES.items() if not re.match(r"# \[[^]]+\] .+", LINES[line - 2])]
    assert bare == []


def test_every_entry_is_used(elsewhere):
    assert sorted(set(ENTRIES) - elsewhere) == []
