"""Which code a results page was measured by: three digests, written into the page.

- `estimators`: the syntax of all of `src/dimfree` that a release runs through, or that says how sure it is. Docstrings,
  comments, layout, and texts (strings with a blank) do not count.
- `bench`: the same of the benchmark's own modules, found by following its imports; those that only judge figures or
  write them down do not count.
- `releases`: of the seeded releases that `tests/contracts/release_cases.json` holds.

A page is current if `estimators` and `bench` are the code's. After a change that changes no release it can be declared
current (`python -m benchmarks.stale --accept`): that is refused unless `releases` is still the same, and the reason is
written into the page. So the seeded releases alone make no page current: they are some hundred small tables.
"""

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from proofs.digest import canonical

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src/dimfree"
RELEASES = ROOT / "tests/contracts/release_cases.json"
NOT_COUNTED = (  # what no array's release runs through, or only to be checked, shown, stored or charged
    "__init__.py",
    "_types.py",
    "_validate",
    "audit",
    "cli",
    "comparison",  # counts for the benchmarks that import it
    "data/cluster",
    "data/dialect.py",
    "data/endings.py",
    "data/formats",
    "data/gpu",
    "data/locate.py",
    "data/progress.py",
    "data/read.py",
    "data/read_options.py",
    "data/read_public.py",
    "errors.py",
    "interop",
    "ledger",
    "planning",  # likewise
    "report",
    "results/composed.py",
    "results/drafts.py",
    "results/frames.py",
    "results/notebook.py",
    "results/plot.py",
    "results/reading.py",
    "results/release_json.py",
    "results/writing.py",
)
_JUDGING = ("bars", "drawing", "record", "registry", "report", "resolving", "running", "stamp", "tables", "verdicts")
_JUDGING += ("pages", "writing")  # ends of names of modules that make something of figures, and measure none
_FOLLOWED = ("benchmarks.", "dimfree.comparison.", "dimfree.planning.")
_BY_THEOREM = "dimfree.planning.paper_bounds."  # stated beside figures; nothing measured comes from there


def counted() -> list[Path]:
    """The files of the package that `estimators` is of."""
    files = sorted(PACKAGE.rglob("*.py"))
    return [path for path in files if not any(_within(path, name) for name in NOT_COUNTED)]


def _within(path: Path, name: str) -> bool:
    place = path.relative_to(PACKAGE)
    return place == Path(name) or Path(name) in place.parents


@cache
def estimators_digest() -> str:
    return _of_files(counted())


@cache
def bench_digest(module: str) -> str:
    """Of the modules that the benchmark's figures come from."""
    return _of_files(sorted(_imported(module)))


@cache
def releases_digest() -> str:
    """Of the stored digests: a test of its own says whether they are the code's."""
    stored = json.loads(RELEASES.read_text(encoding="utf-8"))
    return _short("".join(f"{name} {stored[name]['digest']}\n" for name in sorted(stored)))


def stamp(module: str) -> dict[str, Any]:
    """Of a page that is written now."""
    return {
        "estimators": estimators_digest(),
        "bench": bench_digest(module),
        "releases": releases_digest(),
        "accepted": [],
    }


def changed(given: dict[str, Any], module: str) -> list[str]:
    """The parts of a page's stamp that are not the code's; none where the page is current."""
    now = {"estimators": estimators_digest(), "bench": bench_digest(module)}
    vouched = [given, *given.get("accepted", [])]
    if any(all(each.get(part) == digest for part, digest in now.items()) for each in vouched):
        return []
    return [part for part, digest in now.items() if vouched[-1].get(part) != digest]


def _imported(module: str) -> set[Path]:
    """The files of a module and of all that it imports from the benchmarks, the comparison and the plans."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        path = _file(waiting.pop())
        if path is None or path in found or path.stem.endswith(_JUDGING):
            continue
        found.add(path)
        waiting += _imports(ast.parse(path.read_text(encoding="utf-8")))
    return found


def _imports(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or f"{node.module}.".startswith(_BY_THEOREM):
            continue
        if f"{node.module}.".startswith(_FOLLOWED):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _file(module: str) -> Path | None:
    place = Path(*module.split("."))
    roots = [ROOT / place, ROOT / "src" / place]
    files = [path for root in roots for path in (root.with_suffix(".py"), root / "__main__.py")]
    return next((path for path in files if path.is_file()), None)


def _of_files(files: Iterable[Path]) -> str:
    return _short("\n".join(f"{path.relative_to(ROOT)} {syntax(path.read_text(encoding='utf-8'))}" for path in files))


def syntax(source: str) -> str:
    """A module as text, the same for every layout and wording of it."""
    return canonical(_Bare().visit(ast.parse(source)))


class _Bare(ast.NodeTransformer):
    """Texts for people become empty: strings with a blank, which covers every docstring but a single word."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        wordy = isinstance(node.value, str) and (" " in node.value or "\n" in node.value)
        return ast.Constant("") if wordy else node


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
