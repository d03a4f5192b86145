"""The pages hold together: links lead somewhere, commands run, pictures and names are the code's, the site builds."""

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dimfree
import dimfree.cli
import dimfree.release
import dimfree.release_groups

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "docs/decisions", "proofs", "benchmarks/results")
PAGES = sorted({page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md") if "_build" not in page.parts})
PAGES += sorted(ROOT.glob("*.md"))
LINK = re.compile(r"(?<!`)\[[^\]\[]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RUN = re.compile(r"^<!-- run -->\n```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
TUTORIALS = ("docs/tutorial/python.md", "docs/tutorial/command-line.md")
WITH_BLOCKS = {"README.md", "docs/index.md", *TUTORIALS}
OUTPUT = re.compile(r"^```(?:text)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # what the block before prints


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as links write them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    targets = [match["target"] for match in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8")))]
    return [target for target in targets if not target.startswith(("http:", "https:")) and not leads(page, target)]


def leads(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    return file.exists() and (not anchor or anchor in anchors(file))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "other.md").write_text("# Here\n\n## What's ε?\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#whats-ε) [b](other.md#where) [c](gone.md)\n```\n[d](code.md)\n```\n", encoding="utf-8"
    )
    assert broken_links(page) == ["other.md#where", "gone.md"]


def commands(code: str) -> list[list[str]]:
    """The words of each command; nothing but dimfree is called."""
    found = [shlex.split(line) for line in code.replace("\\\n", " ").splitlines() if line.strip()]
    assert all(words[0] == "dimfree" for words in found), found
    return [words[1:] for words in found]


def run_blocks(page: str) -> list[str]:
    """Run every marked block of a page in order, in the current folder; return what each command and block prints."""
    printed: list[str] = []
    names: dict[str, object] = {"__name__": "a block to run"}
    for block in RUN.finditer((ROOT / page).read_text(encoding="utf-8")):
        if block["language"] == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block["code"], page, "exec"), names)
            printed.append(out.getvalue())
            continue
        for words in commands(block["code"]):
            done = CliRunner().invoke(dimfree.cli.app, words)
            assert done.exit_code == 0, (words, done.output, done.exception)
            printed.append(done.output)
    return printed


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another folder, and fixed noise: one release in hundreds is refused, and the outputs on the pages are fixed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: dimfree.testing.SeededNoise(7))
    return tmp_path


def shown_after(page: str, start: str) -> str:
    """The printed output that a page shows after the block that begins with `start`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return OUTPUT.search(text, RUN.search(text, text.index("<!-- run -->\n" + start)).end())[1]


def test_the_tutorials_run(elsewhere):
    """The command line's uses the table of Python's; both make a release file and a ledger."""
    run_blocks(TUTORIALS[0])
    made = {"release.json", "report.html", "study.db"}
    assert {path.name for path in elsewhere.iterdir()} == made | {"clinic.parquet"}
    for name in made:
        (elsewhere / name).unlink()
    printed = run_blocks(TUTORIALS[1])
    assert {path.name for path in elsewhere.iterdir()} >= made | {"mean.csv", "means-again.csv"}
    shown = shown_after(TUTORIALS[1], "```sh\ndimfree plan").splitlines()
    assert [line for line in shown if line not in printed[0].splitlines()] == []


def test_the_readme_runs_and_shows_what_it_prints(elsewhere):
    assert "refused" not in "".join(run_blocks("docs/index.md"))
    people = pd.DataFrame(np.random.default_rng(1).normal(size=(2000, 3)), columns=["age", "bmi", "stay"])
    people.to_csv("people.csv", index=False)
    printed = run_blocks("README.md")
    assert printed[0] == shown_after("README.md", "```python")
    assert {path.name for path in elsewhere.iterdir()} >= {"mean.csv", "release.json", "report.html", "people.html"}


def test_blocks_to_run_are_on_the_pages_that_the_tests_run():
    marked = {str(page.relative_to(ROOT)) for page in PAGES if RUN.search(page.read_text(encoding="utf-8"))}
    assert marked == WITH_BLOCKS


def test_a_block_that_fails_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("<!-- run -->\n```sh\ndimfree mean none.csv\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_blocks("page.md")


def test_pictures_are_those_of_the_script():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs/pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    for draw in (pictures.friends, pictures.stages, pictures.shape, pictures.coordinates):
        assert (ROOT / f"docs/pictures/{draw.__name__}.svg").read_text(encoding="utf-8") == draw()


def test_every_public_name_is_described():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md"))
    described = set(re.findall(r"^\.\. auto\w+:: dimfree\.(\w+)", pages, re.MULTILINE))
    assert set(dimfree.__all__) - described == set()


def test_every_page_is_in_a_table_of_contents():
    trees = re.compile(r"^```{toctree}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    listed = {
        found.resolve()
        for page in PAGES
        for tree in trees.findall(page.read_text(encoding="utf-8"))
        for line in tree.splitlines()
        if line and not line.startswith(":")
        for found in page.parent.glob(line + ".md")
    }
    pages = {page for page in PAGES if "docs" in page.parts} - {
        ROOT / "docs/index.md",
        ROOT / "docs/decisions/template.md",
    }
    assert pages - listed == set()


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_links_to_no_server(tmp_path):
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="the documentation needs the extra docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").exists()
    for page in (tmp_path / "docs").glob("*.html"):
        assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//', page.read_text(encoding="utf-8"))
