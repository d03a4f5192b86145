"""What an installation without extras does, and what a first release loads and wakes.

`make release-check` does the former with the real wheel; here the packages of the extras are hidden.
"""

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BEHIND = {"markupsafe", "attr", "attrs", "narwhals", "jsonschema", "pandas", "yaml"}  # what the extras bring along
HIDE = """
import json, sys
hidden, argv = json.loads(sys.argv[1]), json.loads(sys.argv[2])
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Hiding, sys.meta_path)
"""
LIBRARY = """
import numpy as np, dimfree
X = np.random.default_rng(0).normal(size=(3000, 5))
fixed = dict(epsilon=2.0, delta=1e-6, noise=dimfree.testing.SeededNoise(7))
first = dimfree.release_mean(X, **fixed)
groups = dimfree.release_group_means(X, by=np.arange(3000) % 2, groups=[0, 1], **fixed)
together = dimfree.compose([first, first])
print(first.mean.size, len(groups), together.epsilon(1e-4) < 4)
"""
COMMAND = "from dimfree.cli import main; sys.argv[:] = ['dimfree', *argv]; main()"


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9_.-]+", requirement)[0].lower()


@cache
def hidden() -> list[str]:
    """The modules of every package that an extra names, but for those of the core."""
    named = {name_of(each) for extra in PROJECT["optional-dependencies"].values() for each in extra}
    optional = named - {name_of(each) for each in PROJECT["dependencies"]} - {"dimfree", "pytest"}
    modules = packages_distributions().items()
    found = {module for module, owners in modules if {owner.lower() for owner in owners} & optional}
    return sorted((found | BEHIND) - {"_pytest", "py"})


def without_extras(code: str, *argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", HIDE + code, json.dumps(hidden()), json.dumps(argv)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True)


def test_what_is_hidden_would_be_missed(tmp_path):
    assert {"pandas", "pyarrow", "altair", "jinja2", "dp_accounting"} <= set(hidden())
    assert not {"numpy", "scipy", "sklearn", "opendp", "typer", "rich"} & set(hidden())
    assert "No module named 'pandas'" in without_extras("import pandas", cwd=tmp_path).stderr


def test_arrays_groups_and_compositions_need_no_extra(tmp_path):
    done = without_extras(LIBRARY, cwd=tmp_path)
    assert done.stdout.split() == ["5", "2", "True"], done.stderr


def test_a_csv_needs_no_extra(tmp_path):
    (tmp_path / "people.csv").write_text("age,income\n" + "30.5,1000\n31.5,2000\n" * 1500, encoding="utf-8")
    done = without_extras(COMMAND, "mean", "people.csv", "--epsilon", "4", "--delta", "1e-6", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr  # real noise: one in hundreds is refused
    assert done.returncode == 3 or done.stdout.startswith(
        "name,mean,noise_stddev,ci_low,ci_high,ci_covers,noise_to_sd\nage,"
    )


@pytest.mark.parametrize(
    ("options", "package"),
    [
        (["people.csv", "--report", "page.html"], "altair"),
        (["people.parquet"], "pyarrow"),
        (["people.xlsx"], "openpyxl"),
    ],
)
def test_what_needs_an_extra_says_which(tmp_path, options, package):
    (tmp_path / options[0]).write_text("age,income\n" + "30.5,1000\n31.5,2000\n" * 1500, encoding="utf-8")
    words = ["mean", *options, "--epsilon", "1", "--delta", "1e-6"]
    done = without_extras(COMMAND, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert f"pip install '{package}>=" in done.stderr


FIRST = """
import sys, time
import numpy as np, opendp.domains, opendp.measurements, opendp.metrics
start = time.process_time()
import dimfree
dimfree.release_mean(np.arange(6000.0).reshape(2000, 3), epsilon=1, delta=1e-6)  # by columns, whatever the noise is
print(time.process_time() - start)
print(*sorted(sys.modules))
"""
HEAVY = {
    "altair", "anndata", "dask", "pandas", "polars", "pyarrow", "rich", "scipy.sparse", "scipy.stats", "sklearn",
    "typer", "zarr",
}  # fmt: skip


def output(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_a_first_release_imports_no_optional_package():
    """In few CPU seconds beyond those of NumPy and OpenDP."""
    seconds, modules = output(FIRST).splitlines()
    assert "scipy.special" in modules.split()
    assert not HEAVY & set(modules.split())
    assert float(seconds) < 2  # 0.5 on an idle machine; a busy one is slower


def test_a_sparse_table_is_known_as_one_whether_scipy_has_been_asked_or_not():
    script = """
import sys
from dimfree.data.extras import sparse
assert not sparse.issparse([[1.0]]) and "scipy.sparse" not in sys.modules
from scipy.sparse import coo_matrix, csr_array
assert all(map(sparse.issparse, (csr_array((2, 2)), coo_matrix((2, 2))))) and not sparse.issparse([[1.0]])
"""
    output(script)


def test_a_small_release_wakes_no_threads_of_blas():
    """Once woken, the threads of OpenBLAS wait busily: more than the release itself takes."""
    script = """
import time
import numpy as np
from dimfree import release_mean
def release(): release_mean(np.random.default_rng(0).normal(size=(600, 20)), epsilon=1.0, delta=1e-6)
release()
time.sleep(0.5)  # until those threads rest that started with the libraries
others = time.process_time() - time.thread_time()
release()
time.sleep(0.2)
print(time.process_time() - time.thread_time() - others)
"""
    assert float(output(script)) < 0.01
