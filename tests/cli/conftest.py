"""Fixtures of the command line: a folder of one's own, and one with a table of people."""

from pathlib import Path

import numpy as np
import pytest

PRIVATE = 271828  # every entry lies near it, so that it would show


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(folder) -> Path:
    """people.csv; staff.csv, the same with a region each; regions.txt; variances.npy. The folder is the current one."""
    X = np.random.default_rng(3).normal(size=(400, 2)) + PRIVATE
    np.savetxt("people.csv", X, delimiter=",", header="age,income", comments="")
    rows = [f"{a},{b},{'north' if i % 2 else 'south'}" for i, (a, b) in enumerate(X.tolist())]
    Path("staff.csv").write_text("\n".join(["age,income,region", *rows]))
    Path("regions.txt").write_text("north\nsouth\n")
    np.save("variances.npy", np.ones(2))
    return folder
