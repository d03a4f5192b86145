"""Tables for the benchmark of speed: drawn in memory, or written block by block, so that none is held as a whole."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dimfree._types import Floats
from dimfree.comparison.spectra import DISTANCE, spectrum

SPECTRUM = "S3"  # standard deviations i^-1/2
_BLOCK_ENTRIES = 2**23
_GROUP_ENTRIES = 2**28  # of a Parquet row group: 2 GiB of float64; Arrow keeps 1 kB for each column of each group


def stddevs(dimension: int) -> Floats:
    return spectrum(SPECTRUM, dimension)


def blocks(count: int, dimension: int, seed: int, rows: int) -> Iterator[Floats]:
    """Gaussian records about a mean that is far from the origin."""
    generator, scale = np.random.default_rng(seed), stddevs(dimension)
    direction = generator.normal(size=dimension)
    mean = direction * (DISTANCE * np.linalg.norm(scale) / np.linalg.norm(direction))
    for start in range(0, count, rows):
        block = generator.standard_normal((min(rows, count - start), dimension))
        block *= scale
        block += mean
        yield block


def drawn(count: int, dimension: int, seed: int) -> Floats:
    (X,) = blocks(count, dimension, seed, count)
    return X


def write_npy(path: Path, count: int, dimension: int, seed: int) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": (count, dimension)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks(count, dimension, seed, max(1, _BLOCK_ENTRIES // dimension)):
            file.write(block.data)


def write_parquet(path: Path, count: int, dimension: int, seed: int) -> None:
    """One column for each coordinate, with the writer's own settings but for the size of a row group."""
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    schema = arrow.schema([(f"c{place}", arrow.float64()) for place in range(dimension)])
    with ParquetWriter(path, schema) as writer:
        for block in blocks(count, dimension, seed, max(1, _GROUP_ENTRIES // dimension)):
            writer.write_table(arrow.table([arrow.array(column) for column in block.T.copy()], schema=schema))


def write_csv(path: Path, count: int, dimension: int, seed: int) -> None:
    import pyarrow as arrow
    from pyarrow import csv

    X = drawn(count, dimension, seed)
    csv.write_csv(arrow.table({f"c{place}": column for place, column in enumerate(X.T.copy())}), path)
