"""`dimfree mean --device`: a device that cannot be used is missed before the table is read."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree.cli import app

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


def run(*arguments):
    return CliRunner().invoke(app, ["mean", *map(str, arguments), *BUDGET])


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "mps"])
def test_unknown_devices(tmp_path, name):
    result = run(tmp_path / "not-there.npy", "--device", name)
    assert result.exit_code == 2
    assert "must be 'cpu', 'cuda'" in " ".join(result.stderr.split())


def test_a_device_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run(tmp_path / "not-there.npy", "--device", "cuda")
    assert result.exit_code == 2
    assert "pip install 'torch>=" in " ".join(result.stderr.split())


def test_the_cpu_by_name_and_no_groups(tmp_path):
    np.save(tmp_path / "t.npy", np.random.default_rng(3).standard_normal((3, 2)))
    assert run(tmp_path / "t.npy", "--device", "cpu").exit_code == 3  # too few: refused, as without the option
    (tmp_path / "names.txt").write_text("a\nb\n")
    result = run(tmp_path / "t.npy", "--device", "cpu", "--group-by", "g", "--groups", tmp_path / "names.txt")
    assert result.exit_code == 2
    assert "--device cpu cannot be used with --group-by" in " ".join(result.stderr.split())
