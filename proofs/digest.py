"""Report which functions of the privacy kernel have changed since their proof was last read against them.

Every page lists the definitions it speaks about in a fenced block marked `functions`, one `module:name` a line: a
function, a method, a class or a constant. `digests.json` keeps, for each page, the digest each definition had when
somebody last read page and code side by side. Comments, docstrings and layout do not count. Only definitions that
privacy rests on (`KERNEL`) have digests; of the others it is checked that they exist.

    python -m proofs.digest                              # report what is stale; exit 1 if anything is
    python -m proofs.digest --accept core/stable.md      # after re-reading this page against the code
    python -m proofs.digest --accept dimfree.kernel.statistics.stable:core_sensitivity    # … on every page that names it
"""

import argparse
import ast
import hashlib
import json
import re
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = "README.md"
STORE = "digests.json"
KERNEL = (
    "kernel",
    "noise",
    "accounting",
    "core",
    "geometry",
    "mechanisms",
)  # packages of dimfree whose code is under digest
REMEDY = "re-read the page against the code, then: python -m proofs.digest --accept"

_BLOCK = re.compile(r"^```functions(?: +(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SECTIONS = {
    "Statement": r"^## (Statement|Claim)\b",
    "Assumptions": r"^## .*\b[Aa]ssum",
    "Proof": r"∎",
}
_LAYOUT_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}


def pages(root: Path) -> list[str]:
    """All pages, relative to proofs/, the index included."""
    folder = root / "proofs"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))


def claims(root: Path) -> dict[str, list[str]]:
    """page → the definitions under its proof. A block in the index may speak for another page by naming it."""
    found: dict[str, list[str]] = {}
    for page in pages(root):
        text = (root / "proofs" / page).read_text(encoding="utf-8")
        for owner, body in _BLOCK.findall(text):
            found.setdefault(owner or page, []).extend(body.split())
    return found


def in_kernel(name: str) -> bool:
    """Return whether a change of this definition must be read against its proof."""
    return name.partition(":")[0].split(".")[1] in KERNEL


def digest(root: Path, name: str) -> str | None:
    """SHA-256 of a definition's syntax without docstrings, comments and layout; None if there is no such definition."""
    module, _, qualified = name.partition(":")
    path = root / "src" / Path(*module.split("."))
    source = next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)
    if source is None or not qualified:
        return None
    node: ast.AST | None = _parsed(source, source.stat().st_mtime_ns, source.stat().st_size)
    for part in qualified.split("."):
        node = _definition(node, part)
    return None if node is None else hashlib.sha256(canonical(node).encode()).hexdigest()


@lru_cache(maxsize=128)
def _parsed(source: Path, _changed: int, _size: int) -> ast.Module:
    return ast.parse(source.read_text(encoding="utf-8"))


def _definition(scope: ast.AST | None, name: str) -> ast.AST | None:
    """The last statement directly inside the scope that defines the name."""
    found: ast.AST | None = None
    for node in getattr(scope, "body", []):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = node if node.name == name else found
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
            found = node if name in names else found
    return found


def canonical(value: object) -> str:
    """The syntax tree as text that is the same under every supported Python: empty fields and docstrings left out."""
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = []
    for field, content in ast.iter_fields(value):
        if field == "body" and isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            content = content[1:] if ast.get_docstring(value, clean=False) is not None else content
        if content is None or content == [] or field in _LAYOUT_FIELDS:
            # a literal None is a Constant without a value here, which nothing else is
            continue
        fields.append(f"{field}={canonical(content)}")
    return f"{type(value).__name__}({','.join(fields)})"


def stored(root: Path) -> dict[str, dict[str, str]]:
    path = root / "proofs" / STORE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def problems(root: Path = ROOT) -> list[str]:
    """Everything that is wrong between pages, stored digests and code, one sentence each."""
    return [*_page_problems(root), *_claim_problems(root), *_citation_problems(root)]


def _page_problems(root: Path) -> list[str]:
    found, named = [], claims(root)
    index = root / "proofs" / INDEX
    listed = index.read_text(encoding="utf-8") if index.is_file() else ""
    for page in pages(root):
        text = (root / "proofs" / page).read_text(encoding="utf-8")
        missing = [title for title, pattern in _SECTIONS.items() if not re.search(pattern, text, re.MULTILINE)]
        found += [f"proofs/{page} lacks a section: {title}." for title in missing]
        if not named.get(page):
            found.append(f"proofs/{page} names no function; list them in a fenced block marked `functions`.")
        if page != INDEX and f"({page})" not in listed:
            found.append(f"proofs/{INDEX} does not link to {page}.")
    return found


def _claim_problems(root: Path) -> list[str]:
    found, accepted, named = [], stored(root), claims(root)
    for page, names in named.items():
        for name in names:
            now, read = digest(root, name), accepted.get(page, {}).get(name)
            if now is None:
                found.append(f"proofs/{page} names {name}, which does not exist.")
            elif not in_kernel(name):
                continue
            elif read is None:
                found.append(f"{name} was never read against proofs/{page}; {REMEDY} {page}")
            elif now != read:
                found.append(f"{name} changed since proofs/{page} was read; {REMEDY} {page}")
    for page, entries in accepted.items():
        gone = sorted(set(entries) - {name for name in named.get(page, []) if in_kernel(name)})
        found += [f"{STORE} keeps {name} for {page}, which no longer names it; {REMEDY} {page}" for name in gone]
    return found


def _citation_problems(root: Path) -> list[str]:
    """A docstring in src/ that sends the reader to a page must send them to one that exists."""
    found = []
    for source in sorted((root / "src").rglob("*.py")):
        for page in sorted(set(re.findall(r"proofs/([\w/]+\.md)", source.read_text(encoding="utf-8")))):
            if not (root / "proofs" / page).is_file():
                found.append(f"{source.relative_to(root).as_posix()} cites proofs/{page}, which does not exist.")
    return found


def accept(root: Path, what: str) -> list[str]:
    """Stores today's digests for one page, or for one definition on every page naming it; returns what was stored."""
    named, store = claims(root), stored(root)
    chosen = {page: names if page == what else [n for n in names if n == what] for page, names in named.items()}
    if what in store and what not in named:
        del store[what]
    done = []
    for page, names in chosen.items():
        kept = store.setdefault(page, {})
        for name in names:
            if in_kernel(name) and (now := digest(root, name)) is not None:
                kept[name] = now
                done.append(f"{page}: {name}")
        store[page] = {name: kept[name] for name in sorted(kept) if name in named[page] and in_kernel(name)}
    store = {page: store[page] for page in sorted(store) if store[page]}
    (root / "proofs" / STORE).write_text(json.dumps(store, indent=1) + "\n", encoding="utf-8")
    return done


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m proofs.digest", description="Are the proofs still about this code?"
    )
    parser.add_argument("--accept", metavar="NAME", nargs="+", help="a page, or module:name, that was just re-read")
    wanted = parser.parse_args(arguments).accept
    for what in wanted or []:
        done = accept(ROOT, what)
        sys.stdout.write("".join(f"accepted {line}\n" for line in done) or f"nothing is called {what}\n")
        if not done:
            return 2
    found = problems(ROOT)
    sys.stdout.write("".join(f"{line}\n" for line in found) or "every proof was read against the code as it is\n")
    return 1 if found and not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
