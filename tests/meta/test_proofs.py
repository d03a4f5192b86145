"""No trusted definition changes silently: the pages in proofs/ list what they are about, and were read against it."""

from pathlib import Path

import pytest
from proofs import digest as proofs

SOURCE = '''
"""A module."""
LIMIT = 2  # why two

def bound(n: int) -> float:
    """A bound."""
    return LIMIT / n  # P5

class Branch:
    def profile(self, x):
        return x
'''
PAGE = """# A bound
## Statement
s
## Assumptions
a
## Proof
p ∎
## Lines
```functions
dimfree.kernel.bounds:bound
dimfree.kernel.bounds:LIMIT
dimfree.kernel.bounds:Branch.profile
dimfree.programs:choose
```
"""
PAGES = {"bounds.md": PAGE, "README.md": PAGE.replace("# A bound", "# Index\n[a bound](bounds.md)")}
CODE, PROGRAM = "src/dimfree/kernel/bounds.py", "src/dimfree/programs.py"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project in which nothing is stale."""
    texts = {CODE: SOURCE, PROGRAM: "def choose():\n    return 1\n"}
    for file, text in {**texts, **{f"proofs/{page}": text for page, text in PAGES.items()}}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    for page in PAGES:
        assert proofs.accept(tmp_path, page) == 3
    assert proofs.problems(tmp_path) == []
    return tmp_path


def rewrite(project: Path, file: str, old: str, new: str) -> list[str]:
    path = project / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return proofs.problems(project)


def test_every_proof_was_read_against_the_current_code() -> None:
    found = proofs.problems()
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("LIMIT / n", "LIMIT / (n + 1)", "bound"),
        ("LIMIT = 2", "LIMIT = 3", "LIMIT"),
        ("return x", "return -x", "Branch.profile"),
        ("return x", "return None", "Branch.profile"),
        ("def bound(n: int)", "def bound(n: int = 1)", "bound"),
    ],
)
def test_a_changed_trusted_definition_is_reported_until_its_page_is_accepted(project, old, new, name):
    found = rewrite(project, CODE, old, new)
    assert [line.partition(";")[0] for line in found] == [
        f"dimfree.kernel.bounds:{name} changed since it was read against proofs/{page}"
        for page in ("README.md", "bounds.md")
    ]
    proofs.accept(project, "bounds.md")
    assert len(proofs.problems(project)) == 1


@pytest.mark.parametrize(
    ("old", "new"), [("# P5", "# more"), ('"""A bound."""', '"""Another."""'), ("LIMIT / n", "LIMIT /  n")]
)
def test_comments_docstrings_and_layout_do_not_count(project, old, new):
    assert rewrite(project, CODE, old, new) == []


def test_other_definitions_only_have_to_exist(project):
    assert rewrite(project, PROGRAM, "return 1", "return 2") == []
    assert "proofs/bounds.md names dimfree.programs:choose, which does not exist." in rewrite(
        project, PROGRAM, "choose", "pick"
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("proofs/bounds.md", "## Statement", "", "lacks a section: Statement"),
        ("proofs/bounds.md", "## Assumptions", "", "lacks a section: Assumptions"),
        ("proofs/bounds.md", "∎", "", "lacks a section: Proof"),
        ("proofs/bounds.md", "```functions", "```text", "names no function"),
        ("proofs/bounds.md", "dimfree.kernel.bounds:LIMIT\n", "", "no longer names"),
        ("proofs/bounds.md", "bounds:LIMIT", "bounds:LIMIT\ndimfree.kernel.bounds:Branch", "Branch was never read"),
        ("proofs/README.md", "(bounds.md)", "", "does not link to bounds.md"),
        (CODE, "A module.", "A module. Proof: proofs/nowhere.md.", "cites proofs/nowhere.md, which does not exist"),
    ],
)
def test_broken_pages_are_reported(project, file, old, new, problem):
    assert any(problem in line for line in rewrite(project, file, old, new))
