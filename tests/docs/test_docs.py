"""The pages hold together: links lead somewhere, commands run, pictures and names are the code's, the site builds."""

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

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
TOLD = {"README.md", "docs/index.md", "docs/guide.md"}  # pages with blocks to run


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


def outputs(page: str) -> list[str]:
    """Runs every marked block of a page, in order and in the current folder; what the commands printed."""
    printed = []
    for block in RUN.finditer((ROOT / page).read_text(encoding="utf-8")):
        if block["language"] == "python":
            exec(compile(block["code"], page, "exec"), {"__name__": "a block to run"})
            continue
        for words in commands(block["code"]):
            done = CliRunner().invoke(dimfree.cli.app, words)
            assert done.exit_code == 0, (words, done.output, done.exception)
            printed.append(done.output)
    return printed


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another folder, and fixed coins: a release in hundreds is refused, which is no fault of a page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dimfree.noise.SystemNoise", lambda: dimfree.SeededNoise(7))
    return tmp_path


def test_the_guide_runs_as_it_stands(elsewhere):
    text = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    printed = outputs("docs/guide.md")
    assert {path.name for path in elsewhere.iterdir()} >= {"mean.csv", "release.json", "report.html", "study.db"}
    planned = next(output for output in printed if output.startswith("error (found)"))
    for line in re.findall(r"^(error \(found\)|made of|refused below|privacy) +(.+)$", text, re.MULTILINE):
        assert "\t".join(line) in planned  # what the guide shows is what comes out


def test_the_first_blocks_run_as_they_stand(elsewhere):
    outputs("docs/index.md")
    assert not (elsewhere / "mean.csv").exists()
    outputs("README.md")
    assert (elsewhere / "mean.csv").exists()


def test_blocks_to_run_are_where_they_are_looked_for():
    marked = {str(page.relative_to(ROOT)) for page in PAGES if RUN.search(page.read_text(encoding="utf-8"))}
    assert marked == TOLD


def test_a_block_that_fails_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("<!-- run -->\n```sh\ndimfree mean none.csv\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        outputs("page.md")


def test_pictures_are_what_the_script_draws():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs/pictures.py")
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    for draw in (pictures.friends, pictures.stages, pictures.shape, pictures.coordinates):
        assert (ROOT / f"docs/pictures/{draw.__name__}.svg").read_text(encoding="utf-8") == draw()


def test_every_public_name_is_described():
    described = set(re.findall(r"^\.\. auto\w+:: dimfree\.(?:\w+\.)?(\w+)$", (ROOT / "docs/api.md").read_text(), re.M))
    assert set(dimfree.__all__) - described == set()


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_asks_nobody(tmp_path):
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason="the documentation needs the extra docs")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").exists()
    for page in (tmp_path / "docs").glob("*.html"):
        assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//', page.read_text(encoding="utf-8"))
