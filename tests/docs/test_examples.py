"""Every example runs in time, with about the error that it predicts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = ("clinical", "genotypes", "single_cell", "images", "embeddings", "own_program")
SECONDS = 150  # a few on an idle machine
MAX_RATIO = 1.6  # of error and predicted error, which covers 95% of the noise; clipping is not in it
# Fixed coins instead of the system's, so that one refusal in hundreds of runs is no false alarm.
SEEDED = """
import runpy, sys
import dimfree.noise
from dimfree.testing import SeededNoise
dimfree.noise.SystemNoise = lambda: SeededNoise(7)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
ERROR = re.compile(r"^error (?P<error>[\d.]+), predicted (?P<predicted>[\d.]+) \(95%\)", re.MULTILINE)


def output_of(script: str) -> str:
    command = [sys.executable, "-c", SEEDED, str(EXAMPLES / f"{script}.py")]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ratio(output: str) -> float:
    """Return the error divided by the predicted error."""
    found = ERROR.search(output)
    assert found, output
    return float(found["error"]) / float(found["predicted"])


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_errs_by_what_it_predicts(script):
    output = output_of(script)
    assert "epsilon=1.0 and delta=1e-06" in output.splitlines()[0]
    assert 0.1 < ratio(output) < MAX_RATIO
    if script == "images":  # the basis is what this one is about
        plain = re.search(r"without the basis: error ([\d.]+)", output)
        assert plain
        assert float(ERROR.search(output)["error"]) < 0.7 * float(plain[1])


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SCRIPTS, "demo"}
