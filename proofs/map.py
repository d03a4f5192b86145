"""Tells which public mechanism lacks a proof, a test or an audit, and which words of the paper map lead nowhere.

The second table of docs/paper_map.md has one row for each mechanism: the function, its proof page, its tests, the names
of its audit checks (or `exempt:` and why), the broken twins. A public mechanism is what `dimfree` exports, or
`dimfree.mechanisms` defines, and takes `noise`. Code is named `module:name`, without the package.

    python -m proofs.map      # every gap with its remedy, one a line; exit 1 if there is any
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from proofs.digest import ROOT, claims, digest

MAP = "docs/paper_map.md"
PAGES = (MAP, "docs/errata.md")
TABLE = "## Mechanisms and estimators"
COLUMNS = ("function", "proof", "test", "audit", "broken twin")
_PACKAGE = "dimfree"
_EXEMPT = re.compile(r"\bexempt: +(\S+ +\S+ +\S.*)")  # a reason has three words at least
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"`([\w.]+:[\w.]+)`")


@dataclass(frozen=True)
class Row:
    """What the table says of one mechanism; links as (text, target), targets relative to docs/."""

    function: str
    proofs: list[tuple[str, str]]
    tests: list[tuple[str, str]]
    audit: str


def mechanisms(root: Path) -> list[str]:
    """`module:name` of everything public that takes noise."""
    exported = {f"{module}:{name}" for name, module in _modules(root).items()}
    folder = root / "src" / _PACKAGE / "mechanisms"
    files = {f"mechanisms.{path.stem}": path for path in folder.glob("*.py") if path.stem != "__init__"}
    local = {f"{module}:{node.name}" for module, path in files.items() for node in _definitions(path)}
    public = {name for name in exported | local if not name.partition(":")[2].startswith("_")}
    return sorted(name for name in public if _takes_noise(root, name))


def _modules(root: Path) -> dict[str, str]:
    """Public name → module, as `dimfree/__init__.py` lists them."""
    tree = _parsed(root / "src" / _PACKAGE / "__init__.py")
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "_MODULES" for t in node.targets):
            return dict(ast.literal_eval(node.value))
    return {}


def _parsed(path: Path) -> ast.Module:
    return _parsed_once(path, path.stat().st_mtime_ns, path.stat().st_size)


@lru_cache(maxsize=256)
def _parsed_once(path: Path, _changed: int, _size: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _definitions(path: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    body = _parsed(path).body if path.is_file() else []
    return [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _takes_noise(root: Path, name: str) -> bool:
    """A function with a parameter `noise`, or a class that is built with one."""
    module, _, wanted = name.partition(":")
    path = root / "src" / _PACKAGE / Path(*module.split(".")).with_suffix(".py")
    return any(node.name == wanted and "noise" in _parameters(node) for node in _definitions(path))


def _parameters(node: ast.stmt) -> set[str]:
    """Of a function; of a class those of its constructor, or its fields."""
    if isinstance(node, ast.FunctionDef):
        return {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    inside = node.body if isinstance(node, ast.ClassDef) else []
    built = [n for n in inside if isinstance(n, ast.AnnAssign) or getattr(n, "name", "") == "__init__"]
    return {name for each in built for name in _parameters(each)}


def rows(root: Path) -> list[Row]:
    """The rows of the table, in order."""
    path = root / MAP
    _, found, table = path.read_text(encoding="utf-8").partition(TABLE) if path.is_file() else ("", "", "")
    cells = [_cells(line) for line in table.splitlines()] if found else []
    named = [(_NAME.findall(row[0]), row) for row in cells if len(row) == len(COLUMNS)]
    return [Row(name[0], _LINK.findall(row[1]), _LINK.findall(row[2]), row[3]) for name, row in named if name]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def problems(root: Path = ROOT, audits: Sequence[str] | None = None) -> list[str]:
    """Every gap, one sentence each. `audits`: what `dimfree audit --list` prints; None asks it."""
    known, table, proved = audit_names() if audits is None else audits, rows(root), claims(root)
    found = [*_missing(root, table)]
    for row in table:
        found += [*_proof_gaps(proved, row), *_test_gaps(root, row), *_audit_gaps(row)]
    return [*found, *_unknown_audits(root, known), *(line for page in PAGES for line in _dead_ends(root, page))]


def audit_names() -> list[str]:
    from dimfree.audit.run import names  # calibrates; needed only here

    return names()


def _missing(root: Path, table: Sequence[Row]) -> Iterator[str]:
    named = [row.function for row in table]
    for name, module in _modules(root).items():
        if digest(root, f"{_PACKAGE}.{module}:{name}") is None:
            yield f"{name} is exported from {module}, which does not define it; export it from the module that does."
    for name in mechanisms(root):
        if name not in named:
            yield f"{name} has no row; add one to the table of {MAP}: {' | '.join(COLUMNS)}."
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield f"{name} has more than one row in {MAP}; join them."


def _proof_gaps(proved: dict[str, list[str]], row: Row) -> Iterator[str]:
    """A page that names the function, or a method of it, in its Lines."""
    full = f"{_PACKAGE}.{row.function}"
    pages = [target.partition("proofs/")[2] for _, target in row.proofs]
    if not pages:
        yield f"{row.function} has no proof in {MAP}; link its page in proofs/."
    elif not any(name == full or name.startswith(f"{full}.") for page in pages for name in proved.get(page, [])):
        yield f"{row.function} is not under {', '.join(pages)}; name {full} in the Lines of the page that proves it."


def _test_gaps(root: Path, row: Row) -> Iterator[str]:
    """A test file that imports the function or its module, and speaks of the function."""
    files = [(root / MAP).parent / target for _, target in row.tests]
    if not files:
        yield f"{row.function} has no test in {MAP}; link a file in tests/."
    elif not any(_tests(path, row.function) for path in files if path.is_file()):
        yield f"{row.function} is imported by none of its tests; link the file in tests/ that tests it."


def _tests(path: Path, function: str) -> bool:
    module, _, name = function.partition(":")
    nodes = list(ast.walk(_parsed(path)))
    words = {getattr(node, "id", getattr(node, "attr", None)) for node in nodes}
    return name in words and any(_imports(node, f"{_PACKAGE}.{module}", name) for node in nodes)


def _imports(node: ast.AST, module: str, name: str) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name == module for alias in node.names)
    if not isinstance(node, ast.ImportFrom):
        return False
    parent, _, leaf = module.rpartition(".")
    taken = {alias.name for alias in node.names}
    by_name = node.module == _PACKAGE and name in taken
    return node.module == module or by_name or (node.module == parent and leaf in taken)


def _audit_gaps(row: Row) -> Iterator[str]:
    """Names of checks, or a reason why there is none."""
    if not _named_audits(row.audit) and not _EXEMPT.search(row.audit):
        yield f"{row.function} has no audit in {MAP}; name its check, or write exempt: and the reason."


def _named_audits(cell: str) -> list[str]:
    return _CODE.findall(cell.partition("exempt:")[0])


def _unknown_audits(root: Path, known: Sequence[str]) -> Iterator[str]:
    """In every column `audit` of the map: a check by its whole name, or up to a comma (`scores` for both relations)."""
    place = None
    for line in (root / MAP).read_text(encoding="utf-8").splitlines() if (root / MAP).is_file() else []:
        cells = _cells(line)
        place = cells.index("audit") if "audit" in cells else place if cells else None
        for name in _named_audits(cells[place]) if place is not None and place < len(cells) else []:
            if not any(each == name or each.startswith(f"{name},") for each in known):
                yield f"{MAP}: the audit has no check called {name!r}; see dimfree audit --list."


def _dead_ends(root: Path, page: str) -> Iterator[str]:
    """Links to no file, code that does not exist, names that the linked file does not contain."""
    path = root / page
    if not path.is_file():
        yield f"{page} does not exist; write it."
        return
    text = path.read_text(encoding="utf-8")
    for words, target in _LINK.findall(text):
        if target.startswith(("http", "#")):
            continue
        end = path.parent / target.partition("#")[0]
        code = _CODE.fullmatch(words)
        if not end.exists():
            yield f"{page} links to {target}, which does not exist; correct the link."
        elif end.suffix == ".py" and code and code[1] not in end.read_text(encoding="utf-8"):
            yield f"{page} looks for {code[1]} in {target}, which does not contain it; correct the name."
    for name in sorted(set(_NAME.findall(text))):
        if digest(root, f"{_PACKAGE}.{name}") is None:
            yield f"{page} names {name}, which does not exist; correct the name."


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(
        prog="python -m proofs.map", description="Has every public mechanism a proof, a test and an audit?"
    ).parse_args(arguments)
    found = problems(ROOT)
    sys.stdout.write("".join(f"{line}\n" for line in found) or "every public mechanism has all four\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
