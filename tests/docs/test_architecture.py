"""The page about the tree says what the tree is."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dimfree

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src/dimfree"


def entered(call) -> set[str]:
    """The packages and root modules of dimfree in which some function ran; a first call does the imports."""
    found: set[str] = set()
    call()

    def watch(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("dimfree."):
            found.add(module.split(".")[1])

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


EITHER = {"release", "request", "data", "geometry", "mechanisms", "estimators", "results"}


def traced(X, method: str) -> set[str]:
    released = []
    found = entered(
        lambda: released.append(dimfree.release_mean(X, epsilon=6.0, delta=1e-6, noise=dimfree.SeededNoise(1)))
    )
    assert [release.method for release in released] == [method, method]
    assert len(found) <= 15
    assert found <= set(re.findall(r"\w+", PAGE))
    return found


def test_the_default_call_enters_the_packages_that_the_page_names():
    found = traced(np.random.default_rng(0).normal(size=(700, 60)), "auto")
    assert f"enters {len(found)} packages" in PAGE
    assert EITHER | {"core"} <= found


def test_so_does_a_release_of_every_column_by_itself():
    found = traced(pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3)), columns=["a", "b", "c"]), "columns")
    assert f"by columns it enters {len(found)} (" in PAGE
    assert found >= EITHER


def test_the_root_has_at_most_nine_modules_and_the_page_lists_every_package():
    assert len(list(PACKAGE.glob("*.py"))) <= 9
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= {name.rstrip("/") for name in re.findall(r"`(\w+)/`", PAGE)}
