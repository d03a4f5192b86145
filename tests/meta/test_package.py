"""The package and what describes it agree: metadata, sdist, citation, bill of materials, workflow, stability page."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from tools import release_check, sbom

import dimfree
from dimfree._validate import install_command
from dimfree.ledger.store import FORMAT as LEDGER
from dimfree.paper.profiling import FORMAT as PROFILE
from dimfree.results.grouped import FORMAT as MEANS
from dimfree.results.release import FORMAT as RELEASE

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONFIGURATION["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
STABILITY = (ROOT / "docs/reference/compatibility.md").read_text(encoding="utf-8")
FORMATS = (ROOT / "docs/reference/release-file.md").read_text(encoding="utf-8")
TEXTS = {".py", ".md", ".ipynb", ".toml", ".yml", ".yaml", ".j2", ".html", ""}
LEFT_OUT = {".ci", ".gitignore", "LICENSE", "README.md", "pyproject.toml"}  # the build takes the last four by itself


def test_one_version_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert dimfree.__version__ == PROJECT["version"] == str(cited["version"])
    assert cited["license"] == PROJECT["license"]
    assert cited["authors"] == PROJECT["authors"] == [{"name": "dimfree developers"}]


def test_the_pythons_of_the_classifiers_are_those_that_are_tried():
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert said == list(release_check.PYTHONS) == WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={said[0]}"
    assert f"Python {said[0]} to {said[-1]}" in STABILITY


def test_the_core_has_floors_and_no_pins():
    names, floors = zip(*(each.split(">=") for each in PROJECT["dependencies"]), strict=True)
    assert names == release_check.CORE
    assert all(re.fullmatch(r"[\d.]+", floor) for floor in floors)
    for name, floor in zip(names, floors, strict=True):
        assert re.search(rf"\b{name} from {re.escape(floor)}\b", STABILITY, re.IGNORECASE), name


def test_nothing_tracked_is_missing_from_the_sdist():
    try:
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout")
    sdist = CONFIGURATION["tool"]["hatch"]["build"]["targets"]["sdist"]
    included = [pattern.removeprefix("/") for pattern in sdist["include"]]
    top = {path.partition("/")[0] for path in tracked.split()} - LEFT_OUT
    assert {name for name in top if not any(fnmatch(name, pattern) for pattern in included)} == set()


def test_every_locked_package_is_in_the_bill_with_its_hashes():
    bill = sbom.bill(LOCK, PROJECT)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = [f"{each['name']}=={each['version']}" for each in bill["components"]]
    assert listed == re.findall(r"^[^\s;]+==[^\s;]+", LOCK, re.MULTILINE)
    assert sum(len(each["hashes"]) for each in bill["components"]) == LOCK.count("--hash=sha256:")
    assert len({each["bom-ref"] for each in bill["components"]}) == len(bill["components"])


def recipe(target: str) -> list[str]:
    """The commands of a target that run in the environment, as they are written outside of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1].splitlines()
    found = [line.strip().removeprefix("@") for line in lines]
    written = [line.replace("$(RUN)", "python -m").replace("$(BIN)/", "").replace("$(WORKERS)", "2") for line in found]
    return [line for line, before in zip(written, found, strict=True) if before.startswith(("$(RUN)", "$(BIN)/"))]


def test_the_workflow_runs_what_make_test_runs():
    steps = {step.get("if"): step["run"] for step in WORKFLOW["jobs"]["test"]["steps"] if "run" in step}
    assert steps["runner.os != 'Windows'"].split() == ["make", "PYTHON=python", "test"]
    expected = [*recipe("$(STAMP)"), *recipe("lint"), *recipe("test")]
    assert steps["runner.os == 'Windows'"].splitlines() == expected
    assert len(expected) == 7


@pytest.mark.parametrize(
    ("file", "number"),
    [
        ("release file", RELEASE.number),
        ("group means", MEANS.number),
        ("variance profile", PROFILE),
        ("ledger", LEDGER),
    ],
)
def test_the_page_has_the_numbers_of_the_formats(file, number):
    assert re.search(rf"^\| {file}[^|]*\| {number} \|", FORMATS, re.MULTILINE)


# What a message advises to install: packages of others, as the metadata list them; never dimfree by its name


def files():
    for folder in ("src", "docs", "examples", "tests", "proofs", "benchmarks", "tools"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in TEXTS and path.is_file())
    yield from ROOT.glob("*.md")


def test_nobody_is_advised_to_install_dimfree_from_an_index():
    by_name = re.compile(r"pip install (-\S+ )*['\"]?dimfree\b")
    assert [path.name for path in files() if by_name.search(path.read_text(encoding="utf-8", errors="ignore"))] == []


@pytest.mark.parametrize(
    ("extra", "needed"),
    [
        ("files", "pip install 'pyarrow>=17'"),
        ("report", "pip install 'altair>=5.4' 'jinja2>=3.1' 'vl-convert-python>=1.7'"),
        ("dask", "pip install 'dask[array,dataframe,distributed]>=2025.1'"),
    ],
)
def test_the_packages_of_an_extra_are_named(monkeypatch, extra, needed):
    listed = [
        "numpy>=2.0",
        "altair>=5.4; extra == 'dev'",
        "pyarrow>=17; extra == 'files'",
        "altair>=5.4; extra == 'report'",
        "jinja2>=3.1; extra == 'report'",
        'vl-convert-python>=1.7; extra == "report"',
        "dask[array,dataframe,distributed]>=2025.1 ; extra == 'dask'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: listed)
    assert install_command(extra) == needed


def test_without_metadata_the_checkout_is_named(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("files") == "pip install '.[files]' in a checkout of dimfree"


@pytest.mark.parametrize("extra", ["files", "frames", "polars", "charts", "report", "excel", "remote", "zarr", "gpu"])
def test_every_extra_has_packages(extra):
    assert re.fullmatch(r"pip install( '[a-z0-9-]+>=[0-9.]+')+", install_command(extra))
