"""`dimfree compose`: records in, one promise out."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree import Release, release_mean
from dimfree.cli import app
from dimfree.testing import SeededNoise

runner = CliRunner()


@pytest.fixture(scope="module")
def releases() -> list[Release]:
    X = np.random.default_rng(0).normal(size=(1500, 3))
    return [
        release_mean(X, epsilon=epsilon, delta=1e-6, covariance=np.ones(3), noise=SeededNoise(7))
        for epsilon in (1.0, 0.5)
    ]


@pytest.fixture
def paths(releases: list[Release], tmp_path: Path) -> list[str]:
    files = [tmp_path / f"{index}.json" for index in range(len(releases))]
    for path, release in zip(files, releases, strict=True):
        path.write_text(release.to_json())
    return [str(path) for path in files]


def test_two_records_promise_less_than_their_sum(paths: list[str]) -> None:
    result = runner.invoke(app, ["compose", *paths, "--delta", "2e-6", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert 1.0 < found["epsilon"] < 1.45 < found["added_epsilon"] == pytest.approx(1.5)
    assert found["delta"] == 2e-6
    assert found["releases"] == 2


def test_the_plain_answer_is_a_sentence_with_the_numbers(paths: list[str]) -> None:
    result = runner.invoke(app, ["compose", *paths, "--delta", "2e-6"])
    assert result.exit_code == 0
    assert "2 release(s)" in result.stdout
    assert "not private" in result.stdout.lower()  # these were seeded


def test_a_delta_below_what_the_tests_may_tell_is_an_error_with_the_remedy(paths: list[str]) -> None:
    result = runner.invoke(app, ["compose", *paths, "--delta", "1e-9"])
    assert result.exit_code == 2
    assert "`delta` must exceed" in result.stderr


@pytest.mark.parametrize("content", [None, "not json", "{}", b"\xff\xfe"])
def test_a_file_that_is_no_record_is_named(tmp_path: Path, paths: list[str], content: str | bytes | None) -> None:
    bad = tmp_path / "bad.json"
    if content is not None:
        bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = runner.invoke(app, ["compose", paths[0], str(bad), "--delta", "1e-5"])
    assert result.exit_code == 2
    assert "bad.json" in result.stderr


def test_two_relations_do_not_add_up(releases: list[Release], paths: list[str], tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(1500, 3))
    other = release_mean(X, epsilon=1, delta=1e-6, covariance=np.ones(3), neighbors="replace-one", noise=SeededNoise(1))
    (tmp_path / "other.json").write_text(other.to_json())
    result = runner.invoke(app, ["compose", paths[0], str(tmp_path / "other.json"), "--delta", "1e-5"])
    assert result.exit_code == 2
    assert "share the neighboring relation" in result.stderr
