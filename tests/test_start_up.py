"""A first release imports little."""

import subprocess
import sys

_SCRIPT = """
import sys, time
import numpy as np, opendp.domains, opendp.measurements, opendp.metrics
start = time.process_time()
import dimfree
dimfree.release_mean(np.arange(6000.0).reshape(2000, 3), epsilon=1, delta=1e-6)  # by columns, whatever the noise is
print(time.process_time() - start)
print(*sorted(sys.modules))
"""
HEAVY = {
    "altair",
    "anndata",
    "dask",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "scipy.linalg",
    "scipy.stats",
    "sklearn",
    "typer",
    "zarr",
}


def first_release() -> tuple[float, set[str]]:
    """CPU seconds beyond those of NumPy and OpenDP, and the modules that were imported."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    seconds, modules = done.stdout.splitlines()
    return float(seconds), set(modules.split())


def test_a_first_release_imports_no_optional_package():
    seconds, modules = first_release()
    assert "scipy.special" in modules
    assert not HEAVY & modules
    assert seconds < 2  # 0.5 on an idle machine; a busy one is slower
