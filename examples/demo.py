"""Releases the mean of scikit-learn's breast-cancer table through the command line, as a stranger would.

Writes demo-output/: the table, the assumed variances, mean.csv and release.json. Run by `make demo`.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer

import dimfree

EPSILON = 1.0
DELTA = 1e-6
EXTRA_OPTIONS: tuple[str, ...] = ()  # for instance ("--neighbours", "replace-one")
FOLDER = Path("demo-output")
SHOWN = 8  # coordinates in the summary


def one_significant_digit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    power = 10.0 ** np.floor(np.log10(values))
    return np.round(values / power) * power


def write_inputs() -> tuple[Path, Path]:
    """The table, and a rough covariance.

    In real use the covariance must be public knowledge: an earlier study, a data sheet, a public sample. Reading it
    off the very records that are to be protected, as done here for want of an earlier study, is outside the guarantee.
    One digit is kept because that is about what public knowledge offers.
    """
    table = load_breast_cancer()
    names = [str(name) for name in table.feature_names]
    data, variances = FOLDER / "breast_cancer.parquet", FOLDER / "variances.npy"
    FOLDER.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(zip(names, table.data.T, strict=True))), data)
    np.save(variances, one_significant_digit(table.data.var(axis=0)))
    return data, variances


def run_command_line(data: Path, variances: Path, mean: Path, record: Path) -> int:
    arguments = ["mean", str(data), "--epsilon", f"{EPSILON:g}", "--delta", f"{DELTA:g}"]
    arguments += ["--covariance", str(variances), "-o", str(mean), "--json", str(record), "--force", *EXTRA_OPTIONS]
    print("$ dimfree " + " ".join(arguments), flush=True)
    command = Path(sys.executable).with_name("dimfree")
    return subprocess.run([command, *arguments], check=False).returncode


def summarise(record: Path) -> None:
    release = dimfree.Release.from_json(record.read_text(encoding="utf-8"))
    console = Console()
    console.print(release.guarantee.statement())
    if release.refused:
        console.print(f"Refused: {release.refusal}")
        return
    names = release.columns or tuple(f"column {index}" for index in range(release.dimension))
    table = Table("column", "private mean", "noise (standard deviation)", title=f"first {SHOWN} of {len(names)}")
    for name, value, noise in list(zip(names, release.mean, release.noise_stddev, strict=True))[:SHOWN]:
        table.add_row(name, f"{value:.4g}", f"{noise:.2g}")
    console.print(table)


def main() -> int:
    data, variances = write_inputs()
    mean, record = FOLDER / "mean.csv", FOLDER / "release.json"
    for leftover in (mean, record):
        leftover.unlink(missing_ok=True)  # what is there afterwards was made by this run
    code = run_command_line(data, variances, mean, record)
    if record.exists():
        summarise(record)
    print("Written: " + ", ".join(str(path) for path in (mean, record) if path.exists()))
    return code


if __name__ == "__main__":
    sys.exit(main())
