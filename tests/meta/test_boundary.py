"""Programs import the kernel's public names alone, and touch no name that begins with an underscore.

What tach cannot see. `SECURITY.md` asks the same of a third party's program.
"""

import ast
from pathlib import Path

import pytest

from dimfree import kernel

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "src/dimfree/programs").rglob("*.py"))
OPEN = ("accounting", "results", "shapes", "errors", "_types", "progress", "threads", "simulation", "programs")
REFLECTION = {"getattr", "setattr", "vars", "eval", "exec", "compile", "globals", "__import__"}
MODULES = {"gc", "inspect", "ctypes", "pickle", "copyreg", "sys", "importlib"}


def trespasses(source: str) -> list[str]:
    """Every import and name of a program that could reach records, coins or noise."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found += _imported(node.module or "", [alias.name for alias in node.names])
        elif isinstance(node, ast.Import):
            found += [problem for alias in node.names for problem in _imported(alias.name, [])]
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            found += [] if owner in ("self", "cls") else [f".{node.attr}"]
        elif isinstance(node, ast.Name) and node.id in REFLECTION:
            found.append(node.id)
    return found


def _imported(module: str, names: list[str]) -> list[str]:
    package, _, rest = module.partition(".")
    if package != "dimfree":
        return [module] if package in MODULES else []
    if rest.startswith("kernel"):
        private = rest != "kernel" or not names
        return [module] if private else [name for name in names if name not in kernel.__all__]
    return [] if rest.split(".")[0] in OPEN else [module]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_imports_public_names_and_touches_no_other(path):
    assert trespasses(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("package", ["kernel", "accounting", "data", "shapes"])
def test_what_programs_stand_on_does_not_import_them(package):
    for path in (ROOT / "src/dimfree" / package).rglob("*.py"):
        assert "dimfree.programs" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    "mistake",
    [
        "from dimfree.kernel.rows.space import Space",
        "from dimfree.kernel import Space",
        "import dimfree.kernel.session",
        "from dimfree.noise import SystemNoise",
        "from dimfree.data.records import Records",
        "def f(view): return view._space.records",
        "def f(view): return view.pairs(3)._pairs",
        "def f(view): return getattr(view, '_space')",
        "import gc",
    ],
)
def test_a_trespass_is_found(mistake):
    assert trespasses(mistake)
