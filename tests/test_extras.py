"""What a message advises to install: packages of others, as the metadata list them; never dimfree by its name."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from dimfree._validate import install_command

ROOT = Path(__file__).parents[1]
TEXTS = {".py", ".md", ".ipynb", ".toml", ".yml", ".yaml", ".j2", ".html", ""}


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
