"""The documentation, docstrings, messages and help texts use the field's language."""

import ast
import html
import re
from pathlib import Path

import pytest

import dimfree
import dimfree.errors

ROOT = Path(__file__).parents[2]
BANNED = re.compile(
    r"drawn in\b|told nothing|whose each|\bby itself|(?<!there )\bis no (?!longer)|beside (?:its|the)\b|\bspeaks? of"
    r"|unspoken|as it stands|promise",
    re.IGNORECASE,
)
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)]
SOURCES = sorted((ROOT / "src/dimfree").rglob("*.py"))
TEMPLATES = sorted((ROOT / "src/dimfree").rglob("templates/*"))
TERMS = {  # what readers search for -> the page that answers
    "confidence interval": "explanation/accuracy.md",
    "privacy budget": "how-to/epsilon-and-delta.md",
    "privacy unit": "how-to/privacy-unit.md",
    "clipping": "explanation/how-it-works.md",
    "composition": "explanation/accounting.md",
    "missing values": "how-to/missing-values.md",
    "standard error": "explanation/accuracy.md",
    "partition selection": "how-to/group-means.md",
    "privacy ledger": "how-to/ledger.md",
}


def texts_of(path: Path) -> list[str]:
    """Return what users of a file read: a page as it is, the string literals of source code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [html.unescape(text)]
    return [
        node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant) and type(node.value) is str
    ]


def banned_phrases(path: Path) -> list[str]:
    flat = (" ".join(text.split()) for text in texts_of(path))
    return [text[max(0, found.start() - 30) : found.end() + 20] for text in flat for found in BANNED.finditer(text)]


@pytest.mark.parametrize("path", [*PAGES, *SOURCES, *TEMPLATES], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_banned_phrase_occurs(path):
    assert banned_phrases(path) == []


def test_a_banned_phrase_is_found(tmp_path):
    page, code = tmp_path / "page.md", tmp_path / "code.py"
    page.write_text("Each column by\nitself.\n")
    code.write_text('def f():\n    """A promise."""\n    raise ValueError(f"{f} is no " "number")\n')
    assert len(banned_phrases(page)) == 1
    assert len(banned_phrases(code)) == 2


@pytest.mark.parametrize(("term", "page"), TERMS.items())
def test_a_search_term_is_at_the_top_of_its_page(term, page):
    """In a heading or in the first lines, where a search finds it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = "\n".join([*re.findall(r"^#+ .*$", text, re.MULTILINE), *text.splitlines()[:8]])
    assert term in shown.lower()


def test_the_glossary_defines_what_the_pages_search_for():
    glossary = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8").lower()
    assert [term for term in TERMS if term.rstrip("s") not in glossary] == []


def test_the_readme_is_one_page():
    assert (ROOT / "README.md").stat().st_size < 8000


def test_there_are_few_public_names():
    assert len(dimfree.__all__) <= 25


def test_errors_and_warnings_end_as_such():
    found = [each for each in vars(dimfree.errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    assert [each.__name__ for each in found if not each.__name__.endswith(("Error", "Warning"))] == []
    assert len(found) > 10
