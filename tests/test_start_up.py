"""A first release imports little, and of dimfree what it needs."""

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
    "scipy.sparse",
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


def test_a_sparse_table_is_known_as_one_whether_scipy_has_been_asked_or_not():
    script = """
import sys
from dimfree.data.sparse import issparse
assert not issparse([[1.0]]) and "scipy.sparse" not in sys.modules
import scipy.sparse
assert issparse(scipy.sparse.csr_array((2, 2))) and issparse(scipy.sparse.coo_matrix((2, 2))) and not issparse([[1.0]])
"""
    subprocess.run([sys.executable, "-c", script], check=True)


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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.01
