"""Report which trusted definitions have changed since their proof was last read against them.

Every page lists the definitions it is about in a fenced block marked `functions`, one `module:name` a line: a function,
a method, a class or a constant. `digests.json` keeps, for each page, the digest that each trusted definition had when
page and code were last read together. Comments, docstrings and layout do not count. Of all other definitions it is
checked that they exist.

    python -m proofs.digest                                 # report what is stale; exit 1 if anything is
    python -m proofs.digest --accept statistics/stable.md   # after re-reading this page against the code
"""

import argparse
import ast
import hashlib
import json
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX, STORE = "README.md", "digests.json"
TRUSTED = (  # modules of dimfree, and all below them, whose code is under digest
    "kernel",
    "noise",
    "shapes.exact_product",
    *(f"accounting.{each}" for each in ("events", "ladder", "discrete", "precision")),
    *(f"accounting.{each}" for each in ("losses", "several_runs", "sharing")),
)
REMEDY = "re-read the page against the code, then: python -m proofs.digest --accept"

_BLOCK = re.compile(r"^```functions\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SECTIONS = {"Statement": r"^## (Statement|Claim)\b", "Assumptions": r"^## .*\b[Aa]ssum", "Proof": r"∎"}
_LAYOUT_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}


def pages(root: Path) -> dict[str, str]:
    """Return the text of every page, named relative to proofs/."""
    folder = root / "proofs"
    found = sorted(folder.rglob("*.md"))
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def claims(text: str) -> list[str]:
    """Return the definitions that a page is about."""
    return [name for body in _BLOCK.findall(text) for name in body.split()]


def is_trusted(name: str) -> bool:
    """Return whether a change of this definition must be read against its proof."""
    module = name.partition(":")[0].partition(".")[2]
    return any(module == each or module.startswith(f"{each}.") for each in TRUSTED)


def digest(root: Path, name: str) -> str | None:
    """Return the SHA-256 of a definition's syntax without docstrings, comments and layout; None if there is none."""
    module, _, qualified = name.partition(":")
    path = root / "src" / Path(*module.split("."))
    source = next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)
    if source is None or not qualified:
        return None
    node: ast.AST | None = _parsed(source.read_text(encoding="utf-8"))
    for part in qualified.split("."):
        node = _definition(node, part)
    return None if node is None else hashlib.sha256(_canonical(node).encode()).hexdigest()


_parsed = cache(ast.parse)


def _definition(scope: ast.AST | None, name: str) -> ast.AST | None:
    """Return the last statement directly inside the scope that defines the name."""
    found: ast.AST | None = None
    for node in getattr(scope, "body", []):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found = node if node.name == name else found
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
            found = node if name in names else found
    return found


def _canonical(value: object) -> str:
    """Return the syntax tree as text, the same under every supported Python: no empty fields, no docstrings."""
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if not isinstance(value, ast.AST):
        return repr(value)
    fields = []
    for field, content in ast.iter_fields(value):
        if field == "body" and isinstance(value, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            content = content[1:] if ast.get_docstring(value, clean=False) is not None else content
        if content is not None and content != [] and field not in _LAYOUT_FIELDS:
            # a literal None is a Constant without a value here, which nothing else is
            fields.append(f"{field}={_canonical(content)}")
    return f"{type(value).__name__}({','.join(fields)})"


def stored(root: Path) -> dict[str, dict[str, str]]:
    path = root / "proofs" / STORE
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def problems(root: Path = ROOT) -> list[str]:
    """Return everything that is wrong between pages, stored digests and code, one sentence each."""
    texts = pages(root)
    found = [problem for page, text in texts.items() for problem in _problems_of(page, text, texts.get(INDEX, ""))]
    return [*found, *_stale(root, texts), *_broken_citations(root, texts)]


def _problems_of(page: str, text: str, index: str) -> list[str]:
    missing = [title for title, pattern in _SECTIONS.items() if not re.search(pattern, text, re.MULTILINE)]
    found = [f"proofs/{page} lacks a section: {title}." for title in missing]
    if not claims(text):
        found.append(f"proofs/{page} names no function; list them in a fenced block marked `functions`.")
    if page != INDEX and f"({page})" not in index:
        found.append(f"proofs/{INDEX} does not link to {page}.")
    return found


def _stale(root: Path, texts: dict[str, str]) -> list[str]:
    found, accepted = [], stored(root)
    for page, text in texts.items():
        for name in claims(text):
            now, read = digest(root, name), accepted.get(page, {}).get(name)
            if now is None:
                found.append(f"proofs/{page} names {name}, which does not exist.")
            elif is_trusted(name) and now != read:
                what = "was never read against" if read is None else "changed since it was read against"
                found.append(f"{name} {what} proofs/{page}; {REMEDY} {page}")
    for page in sorted(accepted):
        if set(accepted[page]) - set(claims(texts.get(page, ""))):
            found.append(f"{STORE} keeps definitions that proofs/{page} no longer names; {REMEDY} {page}")
    return found


def _broken_citations(root: Path, texts: dict[str, str]) -> list[str]:
    """Return the docstrings in src/ that send the reader to a page that does not exist."""
    found = []
    for source in sorted((root / "src").rglob("*.py")):
        for page in sorted(set(re.findall(r"proofs/([\w/]+\.md)", source.read_text(encoding="utf-8"))) - set(texts)):
            found.append(f"{source.relative_to(root).as_posix()} cites proofs/{page}, which does not exist.")
    return found


def accept(root: Path, page: str) -> int:
    """Store today's digests of one page, or forget a page that is gone; return how many were stored."""
    store, names = stored(root), claims(pages(root).get(page, ""))
    read = {name: found for name in sorted(names) if is_trusted(name) and (found := digest(root, name)) is not None}
    store = {**store, page: read}
    kept = {each: store[each] for each in sorted(store) if store[each]}
    (root / "proofs" / STORE).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return len(read)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m proofs.digest", description="List the stale proofs.")
    parser.add_argument("--accept", metavar="PAGE", nargs="+", default=[], help="pages that were just re-read")
    accepted = parser.parse_args(arguments).accept
    for page in accepted:
        sys.stdout.write(f"accepted {accept(ROOT, page)} definitions of {page}\n")
    found = problems(ROOT)
    sys.stdout.write("".join(f"{line}\n" for line in found) or "every proof was read against the current code\n")
    return 1 if found and not accepted else 0


if __name__ == "__main__":
    sys.exit(main())
