"""`dimfree mean --basis`: a name or a file of public axes, and what is refused before the table is read."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sparse
from routes import through_the_core
from typer.testing import CliRunner

import dimfree.release
from dimfree import bases
from dimfree.cli import app
from dimfree.cli.reading import describe_basis
from dimfree.data.records import as_records
from dimfree.kernel.rows import space
from dimfree.noise import SeededNoise

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]


@pytest.fixture
def bases_asked(monkeypatch):
    """Hands everything on, without axes, and remembers what they were."""
    asked, whole = [], dimfree.release.release_mean

    def released(X, **options):
        asked.append(options.pop("basis", None))
        return whole(X, **options)

    monkeypatch.setattr(dimfree.release, "release_mean", released)
    return asked


@pytest.fixture
def folder(folder, rng):
    rows = rng.normal(size=(40, 3))
    np.save("data.npy", rows)
    np.savetxt("data.csv", rows, delimiter=",", header="a,b,c", comments="")
    sparse.save_npz("data.npz", sparse.csr_array(rows))
    np.save("axes.npy", TURN)
    np.savez("axes.npz", basis=TURN, other=np.ones((2, 2)))
    np.savetxt("axes.csv", TURN, delimiter=",", header="a,b,c", comments="")
    np.savetxt("swapped.csv", TURN, delimiter=",", header="b,a,c", comments="")
    np.savetxt("foreign.csv", TURN, delimiter=",", header="a,b,x", comments="")
    np.savetxt("unnamed.csv", TURN, delimiter=",")
    np.save("vector.npy", np.ones(3))
    np.save("turned.npy", TURN * 1j)
    return folder


def run(*options, data="data.npy", expect=3):
    """Forty rows are too few for any core: refused, exit code 3, and nothing else is wrong."""
    with through_the_core():
        result = CliRunner().invoke(app, ["mean", data, *BUDGET, "--verbose", *map(str, options)])
    assert result.exit_code == expect, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("name", ["dct", "auto"])
def test_a_name_is_handed_on(folder, bases_asked, name):
    run("--basis", name)
    assert bases_asked == [name]


def test_where_nothing_is_said_the_default_of_the_library_holds(folder, bases_asked):
    run()
    run("--basis", "none")
    assert bases_asked == ["auto", None]


@pytest.mark.parametrize(
    ("file", "data"),
    [("axes.npz", "data.csv"), ("axes.csv", "data.csv"), ("unnamed.csv", "data.csv"), ("foreign.csv", "data.npy")],
)
def test_a_matrix_comes_from_a_file(folder, bases_asked, file, data):
    """By position where one of the two has no names."""
    run("--basis", file, data=data)
    assert bases_asked[0] == pytest.approx(TURN)


BAD = {
    "a name that is none": (["--basis", "cosine"], "`--basis` must be auto, none, dct, or a file"),
    "an ending": (["--basis", "axes.txt"], "ends in .npy or .npz or .csv or .parquet"),
    "no file": (["--basis", "none.npy"], "none.npy does not exist"),
    "a vector": (
        ["--basis", "vector.npy"],
        "vector.npy cannot be used: it must contain a matrix (d, d) whose rows are",
    ),
    "complex": (["--basis", "turned.npy"], "turned.npy cannot be used: it must contain a matrix (d, d)"),
    "the table itself": (["--basis", "data.csv"], "never DATA"),
    "another order": (
        ["--basis", "swapped.csv"],
        "in the same order: column 1 of the records is 'a'",
    ),
    "other names": (["--basis", "foreign.csv"], "foreign.csv` must have the names of the columns"),
    "a known spread": (["--basis", "dct", "--covariance", "vector.npy"], "--basis and --covariance exclude each other"),
    "public records": (["--basis", "dct", "--covariance-from", "axes.npy"], "--basis and --covariance-from exclude"),
    "groups": (["--basis", "dct", "--by", "a", "--groups", "x.txt"], "--basis and --by exclude each other"),
    "the output": (["--basis", "axes.npy", "--out", "axes.npy", "--force"], "must differ from --basis"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_used_is_said_and_nothing_is_released(folder, bases_asked, case):
    options, words = BAD[case]
    assert words in run(*options, data="data.csv", expect=2)
    assert bases_asked == []


@pytest.mark.parametrize(("basis", "width"), [("dct", 3), ("axes.npy", 3)])
def test_the_card_says_what_rotated_sparse_rows_take(folder, bases_asked, basis, width):
    words = f"Rotated rows are dense, {8 * width} bytes each ({width} coordinates of 8 bytes): up to 2 GiB of them"
    assert words in run("--basis", basis, data="data.npz")
    assert "Rotated rows" not in run("--basis", basis)
    assert "Rotated rows" not in run(data="data.npz")


FORECASTS = {"forecast_own_axes": 1.084, "forecast_dct": 1.44, "forecast_learned": 1.071}
OVER = "predicted gain over isotropic noise"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (FORECASTS, f"dct ({OVER}: columns 1.08, dct 1.44, learned 1.07)"),
        ({**FORECASTS, "forecast_learned": 0.0}, f"dct ({OVER}: columns 1.08, dct 1.44, learned not at this budget)"),
        ({}, "dct"),
    ],
)
def test_the_card_tells_what_the_choice_was_made_by(told, words):
    release = SimpleNamespace(parameters={"basis": "dct", **told})
    assert list(describe_basis({}, as_records(np.ones((2, 3))), release)) == [("basis", words)]


def test_the_card_of_a_release_that_chose(folder, rng, monkeypatch):
    whole = dimfree.release.release_mean
    monkeypatch.setattr(dimfree.release, "release_mean", lambda X, **given: whole(X, **given, noise=SeededNoise(5)))
    np.save("walks.npy", rng.normal(size=(1500, 64)).cumsum(axis=1))
    assert f"({OVER}: columns " in run(data="walks.npy", expect=0)


def test_as_many_rotated_rows_are_kept_as_is_said():
    assert space.KEPT_BYTES == bases.KEPT_BYTES
