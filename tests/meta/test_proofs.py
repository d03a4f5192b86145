"""No function under proof changes silently: the pages in proofs/ say what they lean on, and were read against it."""

import json
import shutil
from pathlib import Path

import pytest
from proofs import digest as proofs

SOURCE = '''
"""A module."""
LIMIT = 2  # why two

def bound(n: int) -> float:
    """A promise."""
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
dimfree.core:bound
dimfree.core:LIMIT
dimfree.core:Branch.profile
```
"""
INDEX = PAGE.replace("# A bound", "# Index\n[a bound](core.md)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project in which nothing is stale."""
    (tmp_path / "src" / "dimfree").mkdir(parents=True)
    (tmp_path / "proofs").mkdir()
    (tmp_path / "src" / "dimfree" / "core.py").write_text(SOURCE)
    (tmp_path / "proofs" / "core.md").write_text(PAGE)
    (tmp_path / "proofs" / "README.md").write_text(INDEX)
    for page in ("core.md", "README.md"):
        proofs.accept(tmp_path, page)
    assert proofs.problems(tmp_path) == []
    return tmp_path


def rewrite(project: Path, file: str, old: str, new: str) -> None:
    path = project / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_every_proof_was_read_against_the_code_as_it_is() -> None:
    found = proofs.problems()
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("LIMIT / n", "LIMIT / (n + 1)", "dimfree.core:bound"),
        ("LIMIT = 2", "LIMIT = 3", "dimfree.core:LIMIT"),
        ("return x", "return -x", "dimfree.core:Branch.profile"),
        ("return x", "return None", "dimfree.core:Branch.profile"),
        ("def bound(n: int)", "def bound(n: int = 1)", "dimfree.core:bound"),
    ],
)
def test_a_changed_definition_is_reported(project: Path, old: str, new: str, name: str) -> None:
    rewrite(project, "src/dimfree/core.py", old, new)
    found = proofs.problems(project)
    assert any(line.startswith(f"{name} changed since proofs/core.md was read") for line in found)
    assert all("--accept" in line for line in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# P5", "# another comment"),
        ('"""A promise."""', '"""Another promise."""'),
        ('    """A promise."""\n', ""),
        ("LIMIT / n", "LIMIT /  n"),
    ],
)
def test_words_about_the_code_are_not_the_code(project: Path, old: str, new: str) -> None:
    rewrite(project, "src/dimfree/core.py", old, new)
    assert proofs.problems(project) == []


def test_a_changed_definition_outside_the_kernel_is_nobodys_business(project: Path) -> None:
    (project / "src" / "dimfree" / "programs.py").write_text("def choose():\n    return 1\n")
    rewrite(project, "proofs/core.md", "dimfree.core:LIMIT", "dimfree.core:LIMIT\ndimfree.programs:choose")
    rewrite(project, "src/dimfree/programs.py", "return 1", "return 2")
    assert proofs.problems(project) == []
    rewrite(project, "src/dimfree/programs.py", "choose", "pick")
    assert proofs.problems(project) == ["proofs/core.md names dimfree.programs:choose, which does not exist."]


def test_a_missing_definition_is_reported(project: Path) -> None:
    rewrite(project, "src/dimfree/core.py", "def bound", "def limit")
    assert "proofs/core.md names dimfree.core:bound, which does not exist." in proofs.problems(project)


@pytest.mark.parametrize(
    ("old", "section"), [("## Statement", "Statement"), ("## Assumptions", "Assumptions"), ("∎", "Proof")]
)
def test_a_missing_section_is_reported(project: Path, old: str, section: str) -> None:
    rewrite(project, "proofs/core.md", old, "")
    assert f"proofs/core.md lacks a section: {section}." in proofs.problems(project)


def test_a_page_without_functions_is_reported(project: Path) -> None:
    rewrite(project, "proofs/core.md", "```functions", "```text")
    assert any("names no function" in line for line in proofs.problems(project))


def test_a_newly_named_function_must_be_read(project: Path) -> None:
    rewrite(project, "proofs/core.md", "dimfree.core:LIMIT", "dimfree.core:LIMIT\ndimfree.core:Branch")
    assert any("dimfree.core:Branch was never read" in line for line in proofs.problems(project))


def test_a_dropped_function_is_reported(project: Path) -> None:
    rewrite(project, "proofs/core.md", "dimfree.core:LIMIT\n", "")
    assert any("no longer names it" in line for line in proofs.problems(project))


def test_an_unlisted_page_is_reported(project: Path) -> None:
    shutil.copy(project / "proofs" / "core.md", project / "proofs" / "other.md")
    assert "proofs/README.md does not link to other.md." in proofs.problems(project)


def test_a_citation_of_a_missing_page_is_reported(project: Path) -> None:
    rewrite(project, "src/dimfree/core.py", "A module.", "A module. Proof: proofs/nowhere.md.")
    assert "src/dimfree/core.py cites proofs/nowhere.md, which does not exist." in proofs.problems(project)


def test_accepting_a_page_or_a_name_settles_exactly_that(project: Path) -> None:
    rewrite(project, "src/dimfree/core.py", "LIMIT / n", "LIMIT / (n + 1)")
    proofs.accept(project, "core.md")
    assert [line for line in proofs.problems(project) if "core.md" in line] == []
    assert any("README.md was read" in line for line in proofs.problems(project))
    proofs.accept(project, "dimfree.core:bound")
    assert proofs.problems(project) == []


def test_the_index_may_speak_for_another_page(project: Path) -> None:
    rewrite(project, "proofs/core.md", "```functions", "```text")
    rewrite(project, "proofs/README.md", "```functions", "```functions core.md")
    assert proofs.claims(project) == {
        "core.md": ["dimfree.core:bound", "dimfree.core:LIMIT", "dimfree.core:Branch.profile"]
    }


def test_stored_digests_are_digests() -> None:
    for entries in proofs.stored(proofs.ROOT).values():
        assert all(len(value) == 64 and int(value, 16) >= 0 for value in entries.values())


def test_a_change_in_the_real_code_is_caught(tmp_path: Path) -> None:
    for folder in ("src", "proofs"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(proofs.ROOT / folder, tmp_path / folder, ignore=ignored)
    before = set(proofs.problems(tmp_path))
    rewrite(tmp_path, "src/dimfree/kernel/statistics/stable.py", "count >= 2 * (budget - 1)", "count >= budget - 1")
    assert {line.split()[0] for line in set(proofs.problems(tmp_path)) - before} == {
        "dimfree.kernel.statistics.stable:admissible"
    }


def test_the_command_reports_and_accepts(project: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(proofs, "ROOT", project)
    rewrite(project, "src/dimfree/core.py", "LIMIT / n", "LIMIT / (n + 1)")
    assert proofs.main([]) == 1
    assert "changed since" in capsys.readouterr().out
    assert proofs.main(["--accept", "dimfree.core:bound"]) == 0
    assert proofs.main([]) == 0
    assert proofs.main(["--accept", "nobody"]) == 2
    assert json.loads((project / "proofs" / "digests.json").read_text())["core.md"]
