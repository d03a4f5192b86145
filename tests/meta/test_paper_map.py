"""Every public mechanism has a proof, a test and an audit; what the map and the errata say leads somewhere."""

from pathlib import Path

import pytest
from proofs import map as paper_map
from proofs.digest import ROOT

AUDITS = ("count", "sum, add-remove", "sum, replace-one")
TEST = "../tests/test_count.py"
FILES = {
    "src/dimfree/__init__.py": '_MODULES = {"Budget": "budget", "Fit": "estimator", "count": "mechanisms.count"}\n',
    "src/dimfree/budget.py": "class Budget:\n    epsilon: float\n",
    "src/dimfree/estimator.py": "class Fit:\n    def __init__(self, *, noise=None): ...\n    def fit(self): ...\n",
    "src/dimfree/mechanisms/__init__.py": "",
    "src/dimfree/mechanisms/count.py": "def count(n, *, noise): ...\n\ndef steps(n): ...\n\ndef _add(n, noise): ...\n",
    "proofs/README.md": "# Index\n```functions\ndimfree.estimator:Fit.fit\n```\n",
    "proofs/count.md": "# Count\n```functions\ndimfree.mechanisms.count:count\n```\n",
    "tests/test_count.py": "from dimfree.mechanisms.count import count\n\ndef test_twin_is_caught():\n    count(1)\n",
    "tests/test_fit.py": "from dimfree import Fit\n\nFit()\n",
    "docs/errata.md": "# Errata\n[`test_twin_is_caught`](../tests/test_count.py) and `mechanisms.count:steps`\n",
    "docs/paper_map.md": f"""# Map
| item | code | audit |
|---|---|---|
| a theorem | `mechanisms.count:count` | `sum, add-remove` |

{paper_map.TABLE}

| function | proof | test | audit | broken twin |
|---|---|---|---|---|
| `mechanisms.count:count` | [p](../proofs/count.md) | [t]({TEST}) | `count`, `sum` | [`twin`]({TEST}) |
| `estimator:Fit` | [p](../proofs/README.md) | [t](../tests/test_fit.py) | exempt: does what count does | – |
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project without a gap."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert paper_map.problems(tmp_path, AUDITS) == []
    return tmp_path


def rewrite(project: Path, file: str, old: str, new: str) -> list[str]:
    path = project / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return paper_map.problems(project, AUDITS)


def test_every_public_mechanism_has_all_four() -> None:
    found = paper_map.problems()
    assert not found, "\n".join(["", *found])


def test_public_mechanisms_are_those_that_take_noise(project: Path) -> None:
    assert paper_map.mechanisms(project) == ["estimator:Fit", "mechanisms.count:count"]


def test_the_real_ones_are_seen() -> None:
    found = paper_map.mechanisms(ROOT)
    assert {"release:release_mean", "interop.mean:PrivateMean", "mechanisms.search:noisy_search"} <= set(found)
    assert not {"accounting.budget:Budget", "mechanisms.search:queries", "paper.group_variances:group_variances"} & set(
        found
    )


def test_a_new_mechanism_without_a_row_is_a_gap(project: Path) -> None:
    (project / "src/dimfree/mechanisms/total.py").write_text("def total(x, noise): ...\n")
    assert [line.split(";")[0] for line in paper_map.problems(project, AUDITS)] == ["mechanisms.total:total has no row"]


@pytest.mark.parametrize("source", ["def Budget(x, *, noise): ...\n", "class Budget:\n    noise: object = None\n"])
def test_a_newly_exported_mechanism_without_a_row_is_a_gap(project: Path, source: str) -> None:
    (project / "src/dimfree/budget.py").write_text(source)
    assert any(line.startswith("budget:Budget has no row") for line in paper_map.problems(project, AUDITS))


def test_an_export_that_cannot_be_looked_into_is_a_gap(project: Path) -> None:
    found = rewrite(project, "src/dimfree/__init__.py", '"Budget": "budget"', '"Budget": "mechanisms"')
    assert any("Budget is exported from mechanisms, which does not define it" in line for line in found)


ROW = FILES["docs/paper_map.md"].splitlines()[-2] + "\n"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (ROW, "", "mechanisms.count:count has no row"),
        (ROW, ROW + ROW, "mechanisms.count:count has more than one row"),
        ("[p](../proofs/count.md)", "–", "mechanisms.count:count has no proof"),
        ("../proofs/count.md", "../proofs/README.md", "mechanisms.count:count is not under README.md"),
        ("../proofs/count.md", "../proofs/sum.md", "docs/paper_map.md links to ../proofs/sum.md"),
        ("[t](../tests/test_count.py)", "–", "mechanisms.count:count has no test"),
        ("[t](../tests/test_count.py)", "[t](../tests/test_fit.py)", "mechanisms.count:count is imported by none"),
        ("[t](../tests/test_fit.py)", "[t](../tests/test_sum.py)", "docs/paper_map.md links to ../tests/test_sum.py"),
        ("`sum`", "`mean`", "docs/paper_map.md: the audit has no check called 'mean'"),
        ("`sum`", "`su`", "docs/paper_map.md: the audit has no check called 'su'"),
        ("exempt: does what count does", "–", "estimator:Fit has no audit"),
        ("exempt: does what count does", "exempt: because", "estimator:Fit has no audit"),
        ("`twin`", "`half_the_noise`", "docs/paper_map.md looks for half_the_noise in ../tests/test_count.py"),
        ("theorem | `mechanisms.count:count`", "theorem | `core:lift`", "docs/paper_map.md names core:lift"),
        ("`sum, add-remove`", "`sum, swap`", "docs/paper_map.md: the audit has no check called 'sum, swap'"),
    ],
)
def test_a_damaged_map_is_reported_with_a_remedy(project: Path, old: str, new: str, complaint: str) -> None:
    found = rewrite(project, "docs/paper_map.md", old, new)
    assert any(line.startswith(complaint) for line in found), found
    assert all(";" in line and line.endswith(".") for line in found)


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("proofs/count.md", "count:count", "count:steps", "mechanisms.count:count is not under count.md"),
        ("proofs/README.md", "Fit.fit", "Fitted", "estimator:Fit is not under README.md"),
        ("tests/test_count.py", "import count\n", "import steps\n", ""),
        ("tests/test_count.py", "    count(1)", "    pass", "mechanisms.count:count is imported by none"),
        (
            "tests/test_count.py",
            "dimfree.mechanisms.count",
            "other.count",
            "mechanisms.count:count is imported by none",
        ),
        ("docs/errata.md", "test_twin", "test_other", "docs/errata.md looks for test_other_is_caught"),
        ("docs/errata.md", "count:steps", "count:stride", "docs/errata.md names mechanisms.count:stride"),
    ],
)
def test_a_change_elsewhere_is_noticed(project: Path, file: str, old: str, new: str, complaint: str) -> None:
    found = rewrite(project, file, old, new)
    assert any(line.startswith(complaint) for line in found) if complaint else found == []


def test_missing_pages_are_gaps(project: Path) -> None:
    for page in paper_map.PAGES:
        (project / page).unlink()
    found = paper_map.problems(project, AUDITS)
    assert {f"{page} does not exist; write it." for page in paper_map.PAGES} <= set(found)
    assert any(line.startswith("mechanisms.count:count has no row") for line in found)


@pytest.mark.parametrize(("found", "code"), [([], 0), (["one gap; mend it."], 1)])
def test_the_command_says_what_it_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], found: list[str], code: int
) -> None:
    monkeypatch.setattr(paper_map, "problems", lambda root: found)
    assert paper_map.main([]) == code
    assert capsys.readouterr().out == ("one gap; mend it.\n" if found else "every public mechanism has all four\n")
