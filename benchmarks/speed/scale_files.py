"""Tables for the benchmark of scale, written block by block, so that the writer never holds one as a whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from dimfree._types import Floats
from dimfree.comparison.spectra import DISTANCE, spectrum

SPECTRUM = "S3"  # standard deviations i^-1/2
ROW_GROUP = 10_000  # rows of a Parquet row group: 400 MB of 10 000 float32 columns
PBMC = 2700, 32_738, 0.0259  # cells, genes, and the share of counts that are not zero
_BLOCK_ENTRIES = 2**23
_PER_CELL = 1e4  # counts are read as counts per so many of a cell


def stddevs(dimension: int) -> Floats:
    return spectrum(SPECTRUM, dimension)


def blocks(count: int, dimension: int, dtype: str, seed: int, rows: int) -> Iterator[NDArray[Any]]:
    """Gaussian records about a mean that is far from the origin."""
    generator, scale = np.random.default_rng(seed), stddevs(dimension)
    direction = generator.normal(size=dimension)
    mean = direction * (DISTANCE * np.linalg.norm(scale) / np.linalg.norm(direction))
    for start in range(0, count, rows):
        block = generator.standard_normal((min(rows, count - start), dimension), dtype=np.dtype(dtype).type)
        block *= scale.astype(dtype)
        block += mean.astype(dtype)
        yield block


def write_npy(path: Path, count: int, dimension: int, dtype: str, seed: int) -> None:
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (count, dimension)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks(count, dimension, dtype, seed, max(1, _BLOCK_ENTRIES // dimension)):
            file.write(block.data)


def write_parquet(path: Path, count: int, dimension: int, dtype: str, seed: int) -> None:
    """One column for each coordinate, with the writer's own settings but for the size of a row group."""
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    names = [f"c{place}" for place in range(dimension)]
    schema = arrow.schema([(name, arrow.from_numpy_dtype(np.dtype(dtype))) for name in names])
    with ParquetWriter(path, schema) as writer:
        for block in blocks(count, dimension, dtype, seed, min(count, ROW_GROUP)):
            writer.write_table(arrow.table([arrow.array(column) for column in block.T.copy()], schema=schema))


def cells_of(path: Path | None, seed: int) -> sparse.csr_array:
    """Counts per 10 000 of every cell: of the table given, an .npz of a CSR matrix; without one, of made-up cells."""
    counts = _made_up_cells(seed) if path is None else _read_cells(path)
    counts = counts.astype(np.float64)
    per_cell = _PER_CELL / np.maximum(counts.sum(axis=1), 1.0)
    counts.data *= np.repeat(per_cell, np.diff(counts.indptr))
    return counts


def _read_cells(path: Path) -> sparse.csr_array:
    with np.load(path, allow_pickle=False) as parts:
        return sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))


def _made_up_cells(seed: int) -> sparse.csr_array:
    """Of the shape and density of pbmc3k: genes are expressed at rates that fall by a power."""
    count, dimension, density = PBMC
    generator = np.random.default_rng(seed)
    rates = 1.0 / np.arange(1, dimension + 1) ** 0.9
    low, high = 0.0, 1e6
    for _ in range(60):  # the factor at which the share of cells that store an entry is as wanted
        middle = (low + high) / 2
        low, high = (middle, high) if -np.expm1(-middle * rates).mean() < density else (low, middle)
    drawn = [sparse.csr_array(generator.poisson(high * rates, (100, dimension))) for _ in range(count // 100)]
    return sparse.csr_array(sparse.vstack(drawn, format="csr"))
