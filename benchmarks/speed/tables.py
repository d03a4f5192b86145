"""Tables for the benchmark of speed: drawn in memory, or written block by block to save memory."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree.planning.question import DISTANCE, spectrum

SPECTRUM = "S3"  # standard deviations i^-1/2
_BLOCK_ENTRIES = 2**23
_GROUP_ENTRIES = 2**25  # of a Parquet row group: 256 MiB of float64, which the reader puts together at once


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
    from pyarrow.parquet import ParquetWriter

    groups = _arrow_tables(count, dimension, seed)
    first = next(groups)
    with ParquetWriter(path, first.schema) as writer:
        for group in chain([first], groups):
            writer.write_table(group)


def write_parts(folder: Path, count: int, dimension: int, seed: int) -> None:
    """The same in many files, a row group each, with the writer's own settings."""
    from pyarrow.parquet import write_table

    folder.mkdir()
    for number, group in enumerate(_arrow_tables(count, dimension, seed)):
        write_table(group, folder / f"part-{number:04}.parquet")


def _arrow_tables(count: int, dimension: int, seed: int) -> Iterator[Any]:
    import pyarrow as arrow

    schema = arrow.schema([(f"c{place}", arrow.float64()) for place in range(dimension)])
    for block in blocks(count, dimension, seed, max(1, _GROUP_ENTRIES // dimension)):
        yield arrow.table([arrow.array(column) for column in block.T.copy()], schema=schema)


def write_csv(path: Path, count: int, dimension: int, seed: int) -> None:
    import pyarrow as arrow
    from pyarrow import csv

    X = drawn(count, dimension, seed)
    csv.write_csv(arrow.table({f"c{place}": column for place, column in enumerate(X.T.copy())}), path)
