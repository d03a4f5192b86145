"""Frames in and out: names survive, whichever library holds the table; a release becomes a frame of its own."""

import importlib

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import norm

from dimfree import PrivateMean, Release, release_group_means, release_mean
from dimfree.data.records import as_records
from dimfree.errors import InvalidDataError, InvalidParameterError, RefusedReleaseError
from dimfree.results.tables import LIBRARIES
from dimfree.testing import SeededNoise

NAMES = ["age", "größe", "a,b"]
BUDGET = {"epsilon": 5.0, "delta": 1e-5, "covariance": np.ones(3)}
SHOWN = ["name", "mean", "noise_stddev", "ci_low", "ci_high", "ci_covers", "noise_to_sd"]


@pytest.fixture
def table():
    return np.random.default_rng(42).normal([1.0, 2.0, 3.0], 1.0, (600, 3))


def released(X, **changes):
    return release_mean(X, **{**BUDGET, "noise": SeededNoise(42), **changes})


def build_columns(frame) -> dict[str, list]:
    return frame.to_pydict() if hasattr(frame, "to_pydict") else {name: list(frame[name]) for name in frame.columns}


def make(library, table):
    module = pytest.importorskip(library)
    columns = dict(zip(NAMES, table.T, strict=True))
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def same(left: Release, right: Release) -> bool:
    return bool(np.array_equal(left.mean, right.mean) and np.array_equal(left.noise_stddev, right.noise_stddev))


# Out


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_release_becomes_a_frame_of_the_library(table, library):
    module = pytest.importorskip(library)
    release = released(make(library, table))
    assert release.columns == tuple(NAMES)
    frame = release.to_frame(library)
    assert isinstance(frame, module.Table if library == "pyarrow" else module.DataFrame)
    columns = build_columns(frame)
    assert list(columns) == SHOWN
    assert columns["name"] == NAMES
    assert columns["mean"] == release.mean.tolist()
    assert columns["noise_stddev"] == release.noise_stddev.tolist()
    sampling = 1 / np.sqrt(release.error_model.records)  # the stated standard deviations are 1
    clipping = norm.ppf(0.975) * np.hypot(
        release.noise_stddev * np.hypot(1, release.error_model.clipping_bias), sampling
    )
    assert np.allclose(columns["ci_low"], release.mean - clipping, rtol=1e-9)
    assert np.allclose(columns["ci_high"], release.mean + clipping, rtol=1e-9)
    assert columns["ci_covers"] == ["population mean"] * 3


def test_the_intervals_are_those_that_were_asked_for(table):
    release = released(table)
    every = {"level": 0.8, "simultaneous": True, "target": "sample"}
    low, high = release.confidence_interval(0.8, simultaneous=True, target="sample")
    frame = release.to_frame(**every)
    assert isinstance(frame, pd.DataFrame)
    assert frame["name"].tolist() == ["0", "1", "2"]
    assert all(frame[name].dtype == np.float64 for name in SHOWN[1:] if name != "ci_covers")
    with pytest.raises(RefusedReleaseError):
        released(np.zeros((2, 3))).to_frame()
    assert frame["ci_low"].tolist() == low.tolist()
    assert frame["ci_high"].tolist() == high.tolist()
    assert frame["ci_covers"].tolist() == ["sample mean"] * 3
    assert (frame["ci_high"] - release.to_frame(level=0.5, target="sample")["ci_high"] > 0).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_library_is_named_with_its_extra(table, library, monkeypatch):
    importing = importlib.import_module

    def missing(name, *rest):
        if name == library:
            raise ImportError(name)
        return importing(name, *rest)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InvalidParameterError, match=rf"library='{library}'.*pip install '{library}>="):
        released(table).to_frame(library)
    for unknown in ("excel", None, ""):
        with pytest.raises(InvalidParameterError, match="library"):
            released(table).to_frame(unknown)


@pytest.mark.parametrize("library", LIBRARIES)
def test_means_of_groups_become_one_long_frame(table, library):
    pytest.importorskip(library)
    whose = np.array(["north", "south"])[np.arange(600) % 2]
    means = release_group_means(
        pd.DataFrame(table, columns=NAMES),
        by=whose,
        groups=["north", "south", "nobody"],
        epsilon=20.0,
        delta=1e-4,
        covariance=np.ones(3),
        noise=SeededNoise(42),
    )
    assert means.refused == ("nobody",)
    columns = build_columns(means.to_frame(library, level=0.9))
    assert list(columns) == ["group", *SHOWN]
    assert columns["group"] == ["north"] * 3 + ["south"] * 3
    assert columns["name"] == NAMES * 2
    assert columns["mean"] == [*means["north"].mean.tolist(), *means["south"].mean.tolist()]
    assert columns["ci_high"][3:] == means["south"].confidence_interval(0.9)[1].tolist()


# In


@pytest.mark.parametrize("library", LIBRARIES)
def test_names_and_bits_survive_the_way_in(table, library):
    frame = make(library, table)
    fitted = PrivateMean(**BUDGET, noise=SeededNoise(42)).fit(frame)
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.release_.columns == tuple(NAMES)
    assert same(fitted.release_, released(table))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, "backed"])
def test_variables_of_an_anndata_are_columns_and_obs_says_whose_each_row_is(table, kind, tmp_path):
    anndata = pytest.importorskip("anndata")
    number, persons = [str(row) for row in range(len(table))], [f"d{row % 300}" for row in range(len(table))]
    donors = pd.DataFrame({"donor": persons, "secret": 1.0}, index=number)
    matrix = sparse.csr_matrix(table) if kind == "backed" else kind(table)
    cells = anndata.AnnData(matrix, obs=donors, var=pd.DataFrame(index=NAMES))
    before = cells.X.copy()
    if kind == "backed":
        with anndata.settings.override(allow_write_nullable_strings=True):  # pandas 3 makes such strings
            cells.write_h5ad(tmp_path / "cells.h5ad")
        cells = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    release = released(cells)
    assert release.columns == tuple(NAMES)
    assert same(release, released(table))
    if kind != "backed":  # a view is read and not written
        two = {"covariance": np.ones(2)}
        assert same(released(cells[:400, [0, 2]], **two), released(table[:400][:, [0, 2]], **two))
        assert abs(before - cells.X).sum() == 0
    owned = released(cells, privacy_unit="donor")
    assert owned.guarantee.privacy_id == "donor"
    assert same(owned, released(table, privacy_unit=persons))
    fitted = PrivateMean(**BUDGET, noise=SeededNoise(42), privacy_unit="donor").fit(cells)
    assert fitted.feature_names_in_.tolist() == NAMES
    assert same(fitted.release_, owned)
    with pytest.raises(InvalidParameterError, match="no column has this name"):
        released(cells, privacy_unit="patient")


def test_what_only_looks_like_anndata_is_no_table():
    fake = type("Raw", (), {"__module__": "anndata._core.raw"})()
    with pytest.raises(InvalidDataError, match="anndata Raw is not a table"):
        as_records(fake)
